//! Selection of rows by condition: a twin that tests row by row, the words of the language, and errors.

#[path = "../common/mod.rs"]
mod common;
mod refused;
mod twin;
mod words;

use tachyfits::{Error, RunOptions, Table};

/// Returns the rows that match a condition, on one thread.
fn rows(table: &Table, condition: &str) -> Result<Vec<u64>, Error> {
    let options = RunOptions::default().threads(1);
    table.rows_where(condition, 0..table.layout().rows, &options).map(|(rows, _)| rows)
}
