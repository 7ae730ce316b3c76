//! Records of unformatted Fortran files: how they are found, read and written, and what is refused.

#![expect(clippy::disallowed_methods, reason = "tests read files directly")]

mod codes;
mod files;
mod large;
mod walks;
