//! FITS structure, sans I/O: converts bytes to cards, headers, HDUs, pixel layouts and back. It never reads a file: the
//! caller supplies the bytes that [`Walker`] requests, from any source. It does not decode uncompressed pixels either.
//!
//! - [`Header`] and [`Card`]: the content of a header, with its raw bytes.
//! - [`Walker`]: walks from HDU to HDU and returns an [`Hdu`] for each.
//! - [`ImageLayout`], [`RandomGroups`] and [`TableLayout`]: position and interpretation of the numbers.
//! - [`TiledLayout`] and [`TileCodec`]: position and decoding of the tiles of compressed images.
//! - [`verify_header`]: checks a header against every rule of the Standard, with a [`Finding`] for each fault;
//!   [`fixed_header`] repairs it.
//! - [`LinearAxis`] and [`cutout_header`]: the coordinates of an axis and of a part of an image; [`reordered_header`],
//!   [`rebinned_header`] and [`path_header`] handle other shapes, [`result_cards`] numbers computed from an image that
//!   have some of its axes.
//!
//! Files are untrusted: sizes are computed in 128 bits and compared with [`Limits`] before any allocation. Section
//! numbers refer to the FITS Standard 4.0.
#![forbid(unsafe_code)]

#[macro_use]
mod options;

mod axis;
mod card;
mod card_writer;
mod code;
mod codec;
mod cutout;
mod error;
mod groups;
mod hdu;
mod header;
mod image;
mod limits;
mod new_image;
mod new_table;
mod reserved;
mod scan;
mod survival;
mod table;
mod text_encoding;
mod tile_keywords;
mod tiled;
mod value;
mod verify;
mod walk;
mod wcs;

pub use axis::LinearAxis;
pub use card::Card;
pub use code::{Code, Kind, codes};
pub use codec::{
    CodecError, CodecFacts, CodecParameters, CodecScratch, Gzip, Hcompress, Pixels, PixelsMut,
    PlainTile, Plio, Rice, SlabAlgorithm, SlabCodec, Tile, TileCodec, Verbatim, codec_facts,
    codec_names, codecs, sized, tile_codec,
};
pub use cutout::{
    AxisBlocks, AxisSelection, Fate, OffsetAxis, ResultAxis, arrays_header, coordinate_tables,
    cutout_header, lookup_tables, path_header, rebinned_header, reordered_header, result_cards,
};
pub use error::{FormatError, Place, Problem, Warning};
pub use groups::{GroupParameter, RandomGroups};
pub use hdu::{Hdu, HduKind, StoredType};
pub use header::{ColumnKeyword, Context, Header, column_keyword, is_structural};
pub use image::{ImageLayout, ValueType};
pub use limits::{BLOCK_BYTES, CARD_BYTES, Limits, ReadOptions, padded};
pub use new_image::{NO_CHECKSUM, NewImage, reserve_checksums};
pub use new_table::{NewColumn, NewTable};
pub use table::text;
pub use table::{
    Column, Descriptor, Element, Field, Heap, Null, NumberCell, Substrings, TableKind, TableLayout,
    TextForm,
};
pub use text_encoding::TextEncoding;
pub use tiled::{
    CompressedTable, Directives, Dither, NewCompressedTable, NewQuantisation, NewTiledImage,
    Quantisation, QuantisationLevel, RestoredHeader, SeedDirective, StoredArray, StoredArrays,
    StoredTile, TileBox, TileColumns, TileDirective, TileForm, TileGrid, TileQuantisation,
    TileRange, TileValue, TiledLayout, dither_seed, encode_descriptors, hcompress_divisor,
    hcompress_tile_shape, suits_hcompress, tile_shape,
};
pub use value::{Integer, Real, Value};
pub use verify::{Finding, Fix, Rule, Severity, fixed_header, verify_header};
pub use walk::{Step, Walker, begins_fits};
