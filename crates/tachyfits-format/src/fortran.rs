//! Unformatted files of Fortran programs, sans I/O: how records lie in the bytes. What the numbers in
//! a record are is not written in such a file; who reads it has to know.
//!
//! - [`RecordMarkers`]: a sequential record stands between two markers that say its length, of 4 or 8
//!   bytes in either byte order. With markers of 4 bytes a record of more than 2 147 483 639 bytes is
//!   written as several subrecords: the leading marker is negative where another one follows, the
//!   trailing marker where one went before. gfortran and ifort agree on this ("File format of
//!   unformatted sequential files" in the manual of gfortran, "Record Types" in that of ifort).
//! - [`MarkerDetector`] finds out width and order from the bytes, and says what speaks for each.
//! - [`RecordWalker`] goes from marker to marker and gives a [`RecordIndex`]: a run for records of
//!   one length that follow each other, so that 10^8 of them cost what one does. Records of direct
//!   access (one length, no markers) are such a run as well.
//! - [`RecordForm`]: what a record is made of, in a short notation: `i4,3f8,a16`.

mod bytes;
mod detect;
mod form;
mod index;
mod markers;
mod walk;

pub use detect::{Detection, MarkerDetector, MarkerEvidence};
pub use form::{ItemKind, RecordForm, RecordItem};
pub use index::{RecordIndex, RecordRun};
pub use markers::{FileOrder, RecordMarkers, Subrecord};
pub use walk::{RecordLimits, RecordStep, RecordWalker};
