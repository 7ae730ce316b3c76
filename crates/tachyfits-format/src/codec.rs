//! Tile compression (Sect. 10): each codec converts a byte stream to the pixels of one tile and back.

mod bits;
mod codec_error;
mod gzip;
mod hcompress;
mod inflate;
mod parameters;
mod plio;
mod quadtree;
mod registry;
mod rice;
mod room;
mod slab;
mod tile;
mod verbatim;
mod wavelet;

pub use codec_error::CodecError;
pub use gzip::Gzip;
pub use hcompress::Hcompress;
pub(crate) use inflate::MOST_RATIO;
pub use parameters::CodecParameters;
pub use plio::Plio;
pub use registry::{CodecFacts, codec_facts, codec_names, codecs, tile_codec};
pub use rice::Rice;
pub use room::sized;
pub use slab::{SlabAlgorithm, SlabCodec};
pub use tile::{CodecScratch, Pixels, PixelsMut, PlainTile, Tile, TileCodec};
pub use verbatim::Verbatim;
