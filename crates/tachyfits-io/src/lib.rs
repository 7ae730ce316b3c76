//! Bytes from anywhere: storages, the coalescing of ranges, the pipeline that overlaps reading and computing, output
//! files that appear only when they are complete, and atomic changes in place. The crate knows nothing of FITS and
//! pixels.
//!
//! - A [`Source`] can be opened, which gives a [`Storage`]. [`spool`] creates a storage from a stream.
//! - [`run`] reads the ranges of many [`Tasks`], processes them on several threads and merges the results in order.
//! - An [`Executor`] has the permits to compute that runs share; a [`Job`] has the priority and the limits of a
//!   request, and the [`CancelToken`] that cancels it; its [`Notes`] list the faults that did not stop its runs.
//! - [`fill`] reads one range directly into its destination.
//! - [`OutputFile`] gives a file its name when it is complete, [`AppendBlock`] buffers sequential writes,
//!   [`PlacedBuffer`] is a buffer for writes at any offset; [`Patch`] changes a file in place, and restores it if the
//!   change is not completed.
//!
//! Storages of other crates implement [`Storage`]; with the feature `conformance` their tests can call
//! `conformance::storage_suite`.
//!
//! Every error is an [`IoError`] and names the file.

#[macro_use]
mod options;

mod aligned;
mod append;
mod backend;
mod coalesce;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod coordinator;
#[cfg(target_os = "linux")]
mod descriptors;
mod error;
mod executor;
mod fetch;
mod fill;
mod flusher;
mod gzip_output;
mod index_cache;
mod lend;
mod made;
mod notes;
pub mod operation;
mod output;
mod patch;
mod pipeline;
mod placed_buffer;
mod profile;
mod read_ahead;
mod remote_entry;
mod remote_url;
mod report;
mod source;
mod spool;
mod spool_file;
mod storage;
mod system;
mod unfinished;

pub use append::AppendBlock;
pub use backend::cached::CachedStorage;
pub use backend::direct::DirectStorage;
pub use backend::file::FileStorage;
pub use backend::joined::JoinedStorage;
pub use backend::memory::MemoryStorage;
pub use backend::mmap::allow_maps;
#[cfg(feature = "remote")]
pub use backend::remote::RemoteStorage;
pub use coalesce::push_coalesced;
#[cfg(target_os = "linux")]
pub use descriptors::append_text;
pub use error::{Budget, ErrorKind, IoError, Pending};
pub use executor::{CancelToken, Executor, Job, Priority, without_permit};
pub use fetch::{Extent, Fetched, fetch};
pub use fill::{enter_large_pages, fill, fills_at_once};
pub use gzip_output::gzip;
pub use index_cache::{index_cache, set_index_cache};
pub use lend::Lend;
pub use notes::{FirstFew, Note, Notes, note};
pub use output::OutputFile;
pub use patch::{Held, Notice, Patch, Recovery, Stamp};
pub use pipeline::{Buffering, NoReads, PipelineOptions, Tasks, Watch, run, run_tasks};
pub use placed_buffer::PlacedBuffer;
pub use profile::{Latency, Profile};
pub use read_ahead::ReadAhead;
pub use remote_entry::RemoteEntry;
pub use remote_url::RemoteUrl;
pub use report::Report;
pub use source::{Purpose, Source, SourceOptions, StorageKind, open};
pub use spool::{Compression, SpoolOptions, SpoolWriter, compression_of, spool};
pub use spool_file::SpoolFile;
pub use storage::{Id, Request, Storage};
