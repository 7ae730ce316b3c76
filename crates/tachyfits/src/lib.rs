//! The engine: from a FITS file to numbers in one pass over its big-endian bytes.
//!
//! - [`FitsFile`] opens a file and knows its HDUs; [`Image`] is the pixels of one of them, read on
//!   request.
//! - An operation makes a *plan*: the pixels it needs, in which order, in pieces whose size and
//!   order depend on the section and the regions alone. The block pipeline of `tachyfits-io` reads
//!   the bytes, the kernels of `tachyfits-kernels` reduce each piece to a mergeable state, and the
//!   states are merged in the order of the plan. So a result has the same bits for any number of
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
mod checksum;
mod computed;
mod cut;
mod diff;
mod edit;
mod error;
mod expression;
mod file;
mod file_writer;
mod grid;
mod groups;
mod hdu_storage;
mod hdu_writer;
mod histogram;
mod image;
mod line_fold;
mod lines;
mod moment;
mod native;
mod number;
mod order_statistics;
mod path_cut;
mod read_pixels;
mod rebin;
mod reduce;
mod region;
mod region_lines;
mod reorder;
mod result_cards;
mod robust;
mod row_fold;
mod row_spans;
mod section;
mod smooth;
mod statistic;
mod stored_type;
mod survival;
mod table;
mod tile_batch;
mod tiled;
mod typed;
mod verify;
mod workers;
mod write_image;

pub use array::Array;
pub use checksum::{Agreement, Checksum};
pub use cut::Margin;
pub use diff::{
    CardChange, CardDifference, DataDifference, DiffOptions, DifferentValue, FileDifference,
    HduDifference, HduLabel, ValuesDifference, diff,
};
pub use edit::{Committed, Editor};
pub use error::{Error, ErrorCode, ExpressionError, Reason, Refusal, error_codes};
pub use expression::{
    ExpressionFunction, ExpressionInput, ExpressionPixels, InputValue, evaluate,
    expression_functions, expression_mixed_units, expression_names,
};
pub use file::{FitsFile, OpenOptions};
pub use file_writer::{FileWriter, NewPixels, WriteOptions};
pub use groups::GroupParameters;
pub use image::Image;
pub use moment::Coordinates;
#[doc(hidden)]
pub use order_statistics::OrderLimits;
pub use order_statistics::OrderStatistic;
pub use path_cut::PathCut;
pub use read_pixels::{OutputPixels, ReadAs};
pub use rebin::{BlockStatistic, Rebinning};
pub use reduce::Reduced;
pub use region::{Part, Region};
pub use row_spans::RowSpan;
pub use section::{AxisRange, Section};
pub use smooth::{BeamSmoothing, Edge, PlaneKernel, PlaneSmoothing, Smoothing, SmoothingKernel};
pub use statistic::{Statistic, Values};
pub use survival::ChannelBeam;
pub use table::{
    Arrays, CellKind, Cells, ColumnInput, ColumnOutput, CsvCells, CsvColumn, CsvValues,
    FoundColumn, FoundRows, Rows, Table, TableWriter, TextAs, WantedColumn, csv_rows,
};
pub use tile_batch::decode_tiles;
pub use tiled::{DamagedTiles, TableCompression, TileCompression};
pub use typed::Scalar;
pub use verify::{Verification, VerifyOptions, verify};

pub use tachyfits_format::{
    Card, Code, Column, ColumnKeyword, Context, Dither, Element, Fate, Field, Finding, Fix,
    FormatError, Hdu, HduKind, Header, ImageLayout, Integer, Limits, LinearAxis, NewColumn,
    NewTable, Null, Place, Real, Rule, Severity, StoredType, Substrings, TableKind, TableLayout,
    TextForm, Value, ValueType, Warning, column_keyword, is_structural,
};
pub use tachyfits_io::operation::RunOptions;
pub use tachyfits_io::{
    Budget, Buffering, CancelToken, Compression, ErrorKind, Executor, Id, IoError, Job, Latency,
    Lend, Note, Notes, Notice, OutputFile, Priority, Profile, Recovery, Report, Request, Source,
    SpoolOptions, Storage, StorageKind, Watch, spool, without_permit,
};
pub use tachyfits_kernels::{
    Blanks, Common, Compensated, Extremum, Histogram, HistogramRange, PixelType, Stats, Sum, Tier,
};
