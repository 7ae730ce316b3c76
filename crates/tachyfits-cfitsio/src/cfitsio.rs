//! CFITSIO as this library sees it: which one a caller is linked with, and its functions, behind safe signatures.
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
        // SAFETY: a function of this library, which is never unloaded before the end.
        unsafe { libc::atexit(run) };
    }
}
