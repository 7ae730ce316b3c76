//! Public guarantees of the crate: rules derived from real files (numbered as in the list
//! `fits-traps.md` beside the trap files), coordinates, cards, and arbitrary bytes.
//!
//! Each rule is tested with a small file built here, and with the trap file of that name if the
//! real files are available (see [`shared`]).

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
