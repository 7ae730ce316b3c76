//! Bytes from anywhere: storages, the coalescing of ranges, the pipeline that overlaps reading and computing, output
//! files that appear only when they are complete, and changes in place that happen wholly or not at all. It knows no FITS and no pixels.
//!
//! - A [`Source`] is what can be opened; opening it gives a [`Storage`]. [`spool`] makes one of a stream.
//! - [`run`] reads the ranges of many [`Tasks`], computes on them on several threads and merges in order.
//! - [`fill`] reads one range straight into its destination.
//! - [`OutputFile`] gives a file its name when it is complete, [`AppendBlock`] collects what is written to it one after the
//!   other, [`PlacedBuffer`] is memory for what is written anywhere; [`Patch`] changes a file in place and puts it
//!   back as it was if it does not come to the end.
//!
//! A storage of another crate implements [`Storage`]; with the feature `conformance` its tests call
//! `conformance::storage_suite`.
//!
//! Every error is an [`IoError`] and names the file.

mod aligned;
mod append;
mod cached;
mod coalesce;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod coordinator;
mod direct;
mod entered;
mod error;
mod fetch;
mod file;
mod fill;
mod flusher;
mod joined;
mod lend;
mod made;
mod memory;
mod mmap;
pub mod operation;
mod output;
mod patch;
mod pipeline;
mod placed_buffer;
mod profile;
mod report;
mod source;
mod spool;
mod spool_file;
mod storage;
mod system;
mod unfinished;

pub use append::AppendBlock;
pub use cached::CachedStorage;
pub use direct::DirectStorage;
pub use error::{ErrorKind, IoError, Pending};
pub use fetch::{Fetched, fetch};
pub use file::FileStorage;
pub use fill::{OtherWay, enter_large_pages, fill, fill_either_way};
pub use joined::JoinedStorage;
pub use lend::Lend;
pub use memory::MemoryStorage;
pub use output::OutputFile;
pub use patch::{Held, Notice, Patch, Recovery, Stamp};
pub use pipeline::{Buffering, RunOptions, Tasks, Watch, run, threads_or_all};
pub use placed_buffer::PlacedBuffer;
pub use profile::{Latency, Profile};
pub use report::Report;
pub use source::{Purpose, Source, SourceOptions, StorageKind, open};
pub use spool::{Compression, SharedWatch, SpoolOptions, SpoolWriter, compression_of, spool};
pub use spool_file::SpoolFile;
pub use storage::{Id, Request, Storage};
