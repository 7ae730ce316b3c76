//! The caller's CFITSIO: the library that a caller is linked with, and its functions, with safe signatures.
#![expect(
    unsafe_code,
    reason = "the border to CFITSIO: see DESIGN.md, \"Where is unsafe code allowed?\""
)]

mod functions;
mod library;
mod writing;

use std::panic::catch_unwind;
use std::sync::OnceLock;

pub(crate) use functions::{ColumnFacts, Functions, Handle};
pub(crate) use library::{Library, library_of};
pub(crate) use writing::TilePlace;

/// Runs a function when the process ends.
pub(crate) fn at_exit(function: fn()) {
    static FUNCTION: OnceLock<fn()> = OnceLock::new();
    extern "C" fn run() {
        if let Some(function) = FUNCTION.get() {
            let _ = catch_unwind(function);
        }
    }
    if FUNCTION.set(function).is_ok() {
        // SAFETY: a function of this library, which is not unloaded before the process ends.
        unsafe { libc::atexit(run) };
    }
}
