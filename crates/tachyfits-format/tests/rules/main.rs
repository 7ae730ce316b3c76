//! Public promises of the crate: the rules that real files teach (numbered as in the list
//! `fits-traps.md` beside the trap files), coordinates, cards, and bytes of any kind.
//!
//! Each rule is tried on a small file built here, and on the trap file of that name where the real
//! files are (see [`shared`]).

mod array_rules;
mod ascii_rules;
mod axes;
mod build;
mod card_rules;
mod codes;
mod cutouts;
mod fixed;
mod hostile;
mod hostile_tables;
mod image_rules;
mod new_tables;
mod real_files;
mod shapes;
mod shared;
mod structure_rules;
mod table_rules;
mod tiled_choices;
mod tiled_rules;
mod verified;
mod worlds;
mod written_cards;
