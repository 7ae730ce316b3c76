//! Tables: generated tables of every type, compared with a slow twin that decodes one element after another;
//! real tables; files with pitfalls; damaged files.

mod arrays;
mod ascii;
#[path = "../common/mod.rs"]
mod common;
mod damage;
mod made;
mod model;
mod read;
mod same;
mod shared;
mod traps;

use std::alloc::System;

use cap::Cap;

/// Memory limit of this program: the largest table has some ten megabytes, and tests run in parallel.
const MEMORY: usize = 512 << 20;

/// Exceeding the limit ends the program, so that such a failure cannot be overlooked.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, MEMORY);
