//! The engine: reduces FITS files to numbers in one pass over their big-endian bytes.
//!
//! - [`FitsFile`] opens a file and lists its HDUs; [`Image`] is the pixels of an HDU, read on request.
//! - An operation creates a *plan*: the pixels it needs, in pieces whose size and order depend only
//!   on the section and the regions. The block pipeline of `tachyfits-io` reads the bytes, the
//!   kernels of `tachyfits-kernels` reduce each piece to a mergeable state, and the states are
//!   merged in the order of the plan. Therefore a result has the same bits for any number of
//!   threads, vector tier and storage.
//! - Axes are in FITS order here: axis 0 is NAXIS1, the fastest. Indices are 0-based.
//!
//! ```
//! use tachyfits::{Array, Header, RunOptions};
//! let file = Array::new(&[1i16, 2, 6], &[3]).to_file("three pixels", &Header::new())?;
//! let image = file.image(0)?;
//! let (stats, _report) = image.stats(&image.whole(), None, &RunOptions::default())?;
//! assert_eq!((stats[0].count, stats[0].mean(), stats[0].max.unwrap().position), (3, 3.0, 2));
//! # Ok::<(), tachyfits::Error>(())
//! ```

mod array;
mod byte_sums;
mod channel_gaps;
pub mod checksum;
mod chunks;
mod computed;
pub mod cut;
pub mod diff;
pub mod edit;
pub mod error;
pub mod expression;
mod file;
mod file_writer;
pub mod fit;
mod grid;
pub mod groups;
mod hdu_storage;
mod hdu_writer;
mod histogram;
mod image;
mod image_elements;
mod line_fold;
mod lines;
mod merging;
mod moment;
mod native;
mod number;
mod order_statistics;
mod output_tiles;
pub mod path_cut;
mod read_pixels;
pub mod rebin;
mod reduce;
pub mod region;
mod region_lines;
mod reorder;
mod result_cards;
mod robust;
mod row_fold;
mod row_spans;
mod section;
mod shares;
pub mod sky_match;
pub mod smooth;
mod statistic;
mod stored_type;
pub mod strided;
mod survival;
pub mod table;
mod tile_batch;
pub mod tiled;
mod typed;
pub mod verify;
mod weighted;
mod workers;
mod write_image;

pub use array::Array;
pub use chunks::Chunks;
pub use diff::diff;
pub use edit::Editor;
pub use error::{Error, Reason};
pub use expression::evaluate;
pub use file::{FitsFile, ImageAt, OpenOptions, for_fits};
pub use file_writer::{FileWriter, NewPixels, WriteOptions};
pub use image::Image;
pub use read_pixels::{OutputPixels, ReadAs};
pub use region::Region;
pub use section::{AxisRange, Section};
pub use statistic::Values;
pub use survival::ChannelBeam;
pub use table::{Rows, Table};
#[doc(hidden)]
pub use tile_batch::decode_tiles;
pub use typed::NativeNumber;
pub use verify::verify;

pub use tachyfits_format::{Card, Hdu, HduKind, Header, Value};
pub use tachyfits_io::operation::RunOptions;
pub use tachyfits_io::{CancelToken, ErrorKind, Executor, Job, Report, Source, StorageKind};
pub use tachyfits_kernels::{ByteOrder, PixelType, Statistic, Stats, Tier};

/// Pixels and axes as described by headers, and the parts of cards.
pub mod header {
    pub use tachyfits_format::{
        ColumnKeyword, Context, Dither, Fate, ImageLayout, Integer, Limits, LinearAxis, Real,
        StoredType, ValueType, column_keyword, is_structural,
    };
}

/// Storages, options for reading them, and the limits and notes of requests.
pub mod io {
    #[cfg(target_os = "linux")]
    pub use tachyfits_io::append_text;
    pub use tachyfits_io::{
        Budget, Buffering, Compression, FileStorage, Id, IoError, Latency, Lend, Note, Notes,
        Notice, OutputFile, Priority, Profile, Recovery, RemoteEntry, RemoteUrl, Request,
        SpoolOptions, Stamp, Storage, Watch, allow_maps, index_cache, set_index_cache, spool,
        without_permit,
    };
}

/// Requests and results of reductions.
pub mod statistics {
    pub use crate::moment::Coordinates;
    #[doc(hidden)]
    pub use crate::order_statistics::OrderLimits;
    pub use crate::order_statistics::{OrderStatistic, RankCounts, RankPass, RunPass};
    pub use crate::reduce::Reduced;
    pub use crate::shares::Shares;
    pub use crate::statistic::{StatisticFacts, statistics};
    pub use crate::weighted::Weighted;
    pub use tachyfits_kernels::{
        Common, Compensated, Extremum, Histogram, HistogramRange, StatisticUnit, Sum, Total, Unit,
        UnknownStatistic,
    };
}
