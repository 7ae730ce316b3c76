//! Unformatted files of Fortran programs, sans I/O: the positions of records in the bytes. Such a
//! file does not store the types of the numbers, so its reader has to know them.
//!
//! - [`RecordMarkers`]: a sequential record is enclosed by two markers with its length, of 4 or 8
//!   bytes in either byte order. With markers of 4 bytes a record of more than 2 147 483 639 bytes
//!   is written as several subrecords: the leading marker is negative if another one follows, the
//!   trailing marker if one precedes. gfortran and ifort agree on this ("File format of unformatted
//!   sequential files" in the manual of gfortran, "Record Types" in that of ifort).
//! - [`MarkerDetector`] detects width and byte order from the bytes, and gives the evidence for
//!   each.
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
