//! Compressed HDUs (Sect. 10): where the tiles of an image lie in its table, and what their numbers mean. Not the streams
//! of tiles, which are [`crate::codec`].

mod grid;
mod quantised;
mod stored_tile;
mod tiled_layout;

pub use grid::{TileBox, TileGrid};
pub use quantised::{Dither, Quantisation, TileQuantisation, TileValue};
pub use stored_tile::{StoredTile, TileForm};
pub use tiled_layout::{TileColumns, TiledLayout};
