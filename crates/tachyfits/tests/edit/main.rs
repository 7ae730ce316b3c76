//! Editing and writing. Headers and HDUs are compared with a twin that edits a list of HDUs and writes the
//! whole file; tables with the written cells, and with a twin that edits the cells.
#![expect(clippy::disallowed_methods, reason = "the tests read the bytes of files directly")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../table/made.rs"]
#[allow(dead_code, reason = "each test takes what it needs")]
mod made;
#[path = "../table/model.rs"]
#[allow(dead_code, reason = "each test takes what it needs")]
mod model;

mod cells;
mod damage;
mod hdus;
mod heap;
mod places;
mod tables;
mod written;
