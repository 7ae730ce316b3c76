//! Columns of tables.

use std::ffi::c_char;

use tachyfits::Rows;

use super::{call, check_bytes, guarded, infallible, mutable, put, reference, slice_mut, text};
use crate::failure::Failure;
use crate::handles::columns::{Output, facts, read, type_of};
use crate::handles::{FileHandle, Outcome};
use crate::types::{CArrays, CColumn, CColumnFacts, CError, COptions};

/// Find a column by its name, in either case.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_column_find(
    file: *const FileHandle,
    hdu: usize,
    name: *const c_char,
    column: *mut i32,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put(column, "column", || {
            let table = reference(file, "file")?.table(hdu)?;
            Ok(table.column(text(name, "name")?)? as i32)
        })
    })
}

/// Describe a column. Set facts.bytes to sizeof(tachyfits_column_facts) first.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_column_describe(
    file: *const FileHandle,
    hdu: usize,
    column: i32,
    column_facts: *mut CColumnFacts,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let place = mutable(column_facts, "facts")?;
        check_bytes(place.bytes, size_of::<CColumnFacts>(), "facts")?;
        *place = facts(&reference(file, "file")?.table(hdu)?, number(column)?)?;
        Ok(())
    })
}

pub(super) fn number(column: i32) -> Outcome<usize> {
    let hint = "count columns from 0";
    let refused = |_| Failure::argument("column", column, "a number from 0", hint);
    usize::try_from(column).map_err(refused)
}

/// Read columns of `rows` rows from `first`, all in one pass over the rows, into the arrays of `columns`.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_read_columns(
    file: *const FileHandle,
    hdu: usize,
    columns: *mut CColumn,
    count: usize,
    first: u64,
    rows: u64,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let table = reference(file, "file")?.table(hdu)?;
        let columns = slice_mut(columns, count, "columns")?;
        let mut outputs = Vec::new();
        for column in columns.iter() {
            check_bytes(column.bytes, size_of::<CColumn>(), "column")?;
            let index = number(column.column)?;
            let cells = table.cells(index, column.stored != 0)?;
            let elements = rows.checked_mul(cells.elements()).and_then(|n| usize::try_from(n).ok());
            let nulls = match (column.nulls.is_null(), elements) {
                (false, Some(elements)) => Some(slice_mut(column.nulls, elements, "nulls")?),
                _ => None,
            };
            outputs.push(Output {
                column: index,
                cell_type: column.cell_type,
                stored: column.stored != 0,
                values: slice_mut(column.values.cast::<u8>(), column.room, "values")?,
                nulls,
                null_count: 0,
            });
        }
        read(&table, &mut outputs, (first, rows), &call(options)?)?;
        for (column, output) in columns.iter_mut().zip(&outputs) {
            column.null_count = output.null_count;
        }
        Ok(())
    })
}

/// Find the rows from `first` that satisfy a condition, such as "MAG < 20 && CLASS == 'STAR'": store their numbers from
/// 0, freed with tachyfits_rows_free.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_rows_where(
    file: *const FileHandle,
    hdu: usize,
    condition: *const c_char,
    first: u64,
    rows: u64,
    found: *mut *mut u64,
    count: *mut usize,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let table = reference(file, "file")?.table(hdu)?;
        let (found, count) = (mutable(found, "rows")?, mutable(count, "count")?);
        let end = first.saturating_add(rows).min(table.layout().rows);
        let range = first.min(end)..end;
        let (numbers, _) =
            table.rows_where(text(condition, "condition")?, range, &call(options)?.run())?;
        *count = numbers.len();
        *found = leaked(numbers);
        Ok(())
    })
}

/// Free the numbers of rows.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_rows_free(rows: *mut u64, count: usize) {
    infallible((), || free(rows, count));
}

/// Read the arrays of a variable-length column; free them with tachyfits_arrays_free.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_read_arrays(
    file: *const FileHandle,
    hdu: usize,
    column: i32,
    first: u64,
    rows: u64,
    arrays: *mut CArrays,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put(arrays, "arrays", || {
            let table = reference(file, "file")?.table(hdu)?;
            let range = Rows::Range(first..first.saturating_add(rows));
            let (result, _) =
                table.read_arrays(number(column)?, false, &range, &call(options)?.run())?;
            let nulls = result.nulls.unwrap_or_default();
            Ok(CArrays {
                offset_count: result.offsets.len(),
                offsets: leaked(result.offsets),
                value_bytes: result.values.len(),
                values: leaked(result.values),
                null_bytes: nulls.len(),
                nulls: leaked(nulls),
                cell_type: type_of(result.cells.kind),
            })
        })
    })
}

/// Free the arrays that tachyfits_read_arrays stored.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_arrays_free(arrays: *mut CArrays) {
    infallible((), || {
        if let Ok(arrays) = mutable(arrays, "arrays") {
            free(arrays.offsets, arrays.offset_count);
            free(arrays.values, arrays.value_bytes);
            free(arrays.nulls, arrays.null_bytes);
            (arrays.offsets, arrays.values, arrays.nulls) = Default::default();
            (arrays.offset_count, arrays.value_bytes, arrays.null_bytes) = (0, 0, 0);
        }
    });
}

/// Allocates numbers for the caller; NULL if there are none.
fn leaked<T>(numbers: Vec<T>) -> *mut T {
    match numbers.is_empty() {
        true => std::ptr::null_mut(),
        false => Box::into_raw(numbers.into_boxed_slice()).cast(),
    }
}

fn free<T>(numbers: *mut T, count: usize) {
    if !numbers.is_null() && count > 0 {
        let slice = std::ptr::slice_from_raw_parts_mut(numbers, count);
        // SAFETY: numbers from `leaked`, with their count, freed once, as the header requires.
        drop(unsafe { Box::from_raw(slice) });
    }
}
