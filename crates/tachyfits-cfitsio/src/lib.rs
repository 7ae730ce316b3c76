//! A library that is loaded before CFITSIO (`LD_PRELOAD`) and serves large reads of images and columns by the engine of
//! tachyfits. Everything else, and every doubt, goes to the CFITSIO that the program loaded, with the same arguments.
//!
//! - `entry` has the exported names and reads their arguments, `cfitsio` calls CFITSIO's functions, `reserve` is for a
//!   process without memory: all the unsafe code.
//! - `request` says what a call asks for, `serve` answers it, `files` has the descriptors, `settings` the environment,
//!   `report` the counts.
//! - `decompress` and `checksum` answer the calls that write.
//!
//! Linux on x86-64 only: elsewhere the library defines nothing.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod cfitsio;
mod checksum;
mod decompress;
mod entry;
mod files;
mod report;
mod request;
mod reserve;
mod serve;
mod settings;
mod shared;
mod tiles;
