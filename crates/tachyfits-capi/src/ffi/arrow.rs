//! Rows of tables as Arrow streams.

use std::ffi::c_char;
use std::sync::Arc;

use tachyfits_arrow::{ArrowArrayStream, Request, TableStream, exported};

use super::{call, guarded, optional_text, put, reference, slice};
use crate::handles::FileHandle;
use crate::types::{CError, COptions};

/// Export rows of a table as a stream of Arrow batches, for pyarrow, polars, DuckDB and others: `count` columns, or all
/// if `columns` is NULL; of `rows` rows from `first` (UINT64_MAX: to the end) those that satisfy `condition`, which may
/// be NULL; `batch_rows` rows are read at a time (0: 100000). The consumer releases the stream; the file may be closed
/// before.
///
/// Array cells are fixed-size lists, nested in C order, cells of different lengths large lists, complex numbers lists
/// of two floats, text UTF-8. Units, descriptions and TFORMn are in the metadata of the fields.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_export_arrow(
    file: *const FileHandle,
    hdu: usize,
    columns: *const i32,
    count: usize,
    condition: *const c_char,
    first: u64,
    rows: u64,
    batch_rows: u64,
    stream: *mut ArrowArrayStream,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put(stream, "stream", || {
            let table = Arc::new(reference(file, "file")?.table(hdu)?);
            let columns = match columns.is_null() {
                true => None,
                // A negative number converts to a column that no table has.
                false => {
                    Some(slice(columns, count, "columns")?.iter().map(|&column| column as usize))
                }
            };
            let call = call(options)?;
            let request = Request {
                columns: columns.map(Iterator::collect),
                condition: optional_text(condition, "condition")?.map(str::to_owned),
                rows: first..first.saturating_add(rows),
                batch_rows,
                threads: call.run().threads,
                job: call.job.map(|job| job.0.clone()),
                ..Request::default()
            };
            Ok(exported(TableStream::new(table, request)?))
        })
    })
}
