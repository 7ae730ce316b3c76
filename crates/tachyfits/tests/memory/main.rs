//! Too little memory: each operation on files of each kind gives an error or the right result, whichever large request for
//! memory is refused.

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

/// Several threads, each with blocks of its own.
const RUN: RunOptions<'static> = RunOptions::new().threads(2).buffering(Buffering::Single);

/// Run an operation with each of its large requests refused in turn.
fn check<T: PartialEq + std::fmt::Debug>(name: &str, operation: impl Fn() -> Result<T, Error>) {
    allocator::check(name, |error: &Error| error.kind() == ErrorKind::Limit, operation);
}

/// A few digits that differ if any byte does.
fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
