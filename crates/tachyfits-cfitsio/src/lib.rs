//! A library that is loaded before CFITSIO (`LD_PRELOAD`) and serves large reads of images and columns with the engine
//! of tachyfits. All other and all doubtful calls are forwarded to the program's CFITSIO with the same arguments.
//!
//! - `entry` has the exported names and reads their arguments, `cfitsio` calls CFITSIO's functions, `reserve` is the
//!   allocator for a process without memory: these contain all unsafe code.
//! - `request` describes a call, `serve` answers it, `files` manages the descriptors, `settings` reads the environment,
//!   `report` has the counts.
//! - `decompress` and `checksum` serve calls that write.
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
