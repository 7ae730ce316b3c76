//! Compressed HDUs (Sect. 10): position of the tiles of an image in its table, and interpretation of their numbers.
//! [`crate::codec`] decodes their streams.

mod choice;
mod compressed_table;
mod directives;
mod grid;
mod new_compressed_table;
mod new_tiled;
mod quantised;
mod restored;
mod stored_tile;
mod tile_cards;
mod tiled_layout;

pub use choice::{
    QuantisationLevel, TileRange, dither_seed, hcompress_divisor, hcompress_tile_shape,
    suits_hcompress, tile_shape,
};
pub use compressed_table::{CompressedTable, StoredArray, StoredArrays};
pub use directives::{Directives, SeedDirective, TileDirective};
pub use grid::{TileBox, TileGrid};
pub use new_compressed_table::{NewCompressedTable, encode_descriptors};
pub use new_tiled::{NewQuantisation, NewTiledImage};
pub use quantised::{Dither, Quantisation, TileQuantisation, TileValue};
pub use restored::RestoredHeader;
pub use stored_tile::{StoredTile, TileForm};
pub use tiled_layout::{TileColumns, TiledLayout};
