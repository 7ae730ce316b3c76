//! Records of unformatted Fortran files: layout, reading, writing and errors.

#![expect(clippy::disallowed_methods, reason = "tests read files directly")]

mod codes;
mod files;
mod large;
mod walks;
