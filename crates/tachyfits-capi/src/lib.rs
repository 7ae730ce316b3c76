//! The C interface of tachyfits: files, headers, images, tables and new files, for C, C++ and Fortran programs.
//!
//! - `types` has the structs that cross the border, `failure` the errors.
//! - `handles` has the types of the opaque pointers: safe Rust on the engine.
//! - `ffi` has the exported functions and all the unsafe code: each turns pointers into references, calls the safe part
//!   and turns the outcome into a number and the caller's error. A panic becomes an error of the kind "internal".
//!
//! `include/tachyfits.h` is made of these sources by cbindgen and committed; the checks compare the two.

mod failure;
mod ffi;
mod handles;
mod types;
