//! Tables: read beside a slow twin that decodes one element after another, on generated tables of every type; real tables;
//! files that are traps; damaged ones.

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

/// Memory limit of this program: the largest table has some ten megabytes, and tests run in
/// parallel.
const MEMORY: usize = 512 << 20;

/// Asking for more ends the program: a file that makes the engine do so is a failure that cannot be overlooked.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, MEMORY);
