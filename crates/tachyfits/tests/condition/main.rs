//! Rows by condition: a twin that goes row by row with plain code, the words of the language, and what is refused.

#[path = "../common/mod.rs"]
mod common;
mod refused;
mod twin;
mod words;

use tachyfits::{Error, RunOptions, Table};

/// The rows for which a condition is true, on one thread.
fn rows(table: &Table, condition: &str) -> Result<Vec<u64>, Error> {
    let options = RunOptions::default().threads(1);
    table.rows_where(condition, 0..table.layout().rows, &options).map(|(rows, _)| rows)
}
