//! The C interface of tachyfits: files, headers, images, tables and new files, for C, C++ and Fortran programs.
//!
//! - `types` contains the structs of the interface, `failure` the errors.
//! - `handles` contains the types of the opaque pointers: safe Rust on the engine.
//! - `ffi` contains the exported functions and all unsafe code: each function converts pointers to references, calls
//!   the safe part, and returns the result code and the caller's error. A panic becomes an error of the kind
//!   "internal".
//!
//! cbindgen generates `include/tachyfits.h` from these sources; it is committed, and the checks compare the two.

mod failure;
mod ffi;
mod handles;
mod types;
