//! Tables: read beside a slow twin that decodes one element after another, on generated tables of every type; real tables;
//! files that are traps; damaged ones.

mod arrays;
mod ascii;
#[path = "../common/mod.rs"]
mod common;
mod made;
mod model;
mod read;
mod shared;
mod traps;
