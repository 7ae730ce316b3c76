//! Insufficient memory: every operation on every kind of file returns an error or the right result, whichever
//! large request for memory is refused.

#![allow(clippy::disallowed_methods, reason = "the test makes files of its own")]

mod allocator;
#[path = "../common/mod.rs"]
mod common;
mod files;
mod images;
mod tables;

use std::hash::{DefaultHasher, Hash, Hasher};

use tachyfits::io::Buffering;
use tachyfits::{Error, ErrorKind, RunOptions};

#[global_allocator]
static ALLOCATOR: allocator::Refusing = allocator::Refusing;

/// Several threads, each with its own blocks.
const RUN: RunOptions<'static> = RunOptions::new().threads(2).buffering(Buffering::Single);

/// Runs an operation repeatedly, with a different large request refused each time.
fn check<T: PartialEq + std::fmt::Debug>(name: &str, operation: impl Fn() -> Result<T, Error>) {
    allocator::check(name, |error: &Error| error.kind() == ErrorKind::Limit, operation);
}

/// Returns a hash of the bytes.
fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
