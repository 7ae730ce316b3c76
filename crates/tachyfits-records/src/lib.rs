//! Unformatted files of Fortran programs: records are indexed once, then read at random, many of
//! them as one array, directly from the file's byte order; also reduced, written, appended and
//! converted. Such a file does not store the types of the numbers, so its reader must know them.
//!
//! Sans I/O, from bytes that the caller supplies:
//!
//! - [`RecordMarkers`]: a sequential record is enclosed by two markers with its length, of 4 or 8
//!   bytes in either byte order. With markers of 4 bytes a record of more than 2 147 483 639 bytes
//!   is written as several subrecords: the leading marker is negative if another one follows, the
//!   trailing marker if one precedes. gfortran and ifort agree on this ("File format of unformatted
//!   sequential files" in the manual of gfortran, "Record Types" in that of ifort).
//! - [`MarkerDetector`] detects width and byte order from the bytes, and returns the evidence for
//!   each.
//! - [`RecordWalker`] walks from marker to marker and builds a [`RecordIndex`]: consecutive records
//!   of equal length form one run, so 10^8 of them cost as much as one. Records of direct access
//!   (one length, no markers) form one run as well.
//! - [`RecordForm`]: the items of a record in a short notation: `i4,3f8,a16`.
//!
//! On storages of `tachyfits-io`:
//!
//! - [`RecordFile`] reads, reduces and converts records. The bytes of the records, concatenated
//!   without their markers, are the *payload*. Views of it are storages, so that reading in
//!   parallel, reductions and progress work as for every other file.
//! - [`RecordWriter`] makes a new file, [`append_records`] adds to one.
#![forbid(unsafe_code)]

mod ahead;
mod bytes;
mod convert;
mod detect;
mod error;
mod file;
mod form;
mod index;
mod layout;
mod markers;
mod payload;
mod read;
mod stats;
mod stretches;
mod views;
mod walk;
mod write;
mod write_long;
mod write_plain;

pub use convert::{Conversion, Narrowing};
pub use detect::{Detection, MarkerDetector, MarkerEvidence};
pub use error::{Code, Error, Problem};
pub use file::{RecordAccess, RecordFile, RecordOptions};
pub use form::{ItemKind, RecordForm, RecordItem, record_items, record_least_bytes};
pub use index::{RecordIndex, RecordRun};
pub use layout::{RecordField, RecordLayout};
pub use markers::{FileOrder, RecordMarkers, Subrecord};
pub use stats::RecordNumber;
pub use walk::{RecordLimits, RecordStep, RecordWalker};
pub use write::{NewRecords, RecordPart, RecordWriter, append_records};

pub use tachyfits_io::operation::RunOptions;
pub use tachyfits_io::{ErrorKind, IoError, Notice, Report, SpoolOptions, StorageKind};
pub use tachyfits_kernels::{PixelType, Stats};
