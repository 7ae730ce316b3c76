//! New files, and changes of existing files.

use std::ffi::{c_char, c_int, c_void};

use tachyfits::table::ColumnInput;
use tachyfits::{Header, NewPixels, Rows};

use super::images::{pixel_type, ranges_of};
use super::tables::number;
use super::{
    call, check_bytes, guarded, infallible, into_box, mutable, optional_text, path, put_handle,
    reference, slice, text, write_card,
};
use crate::failure::Failure;
use crate::handles::header_handle::real;
use crate::handles::new_files::{cells_input, new_column};
use crate::handles::{EditorHandle, FileHandle, HeaderHandle, Outcome, WriterHandle};
use crate::types::{CCells, CEncoding, CError, CNewColumn, COptions, CRange};

/// Create a new file, which appears under its name with tachyfits_commit. An existing file is an error without the flag
/// TACHYFITS_OVERWRITE. NULL creates a temporary file without a name, for tachyfits_commit_open.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_create(
    path_name: *const c_char,
    options: *const COptions,
    writer: *mut *mut WriterHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put_handle(writer, "writer", || {
            let path = if path_name.is_null() { None } else { Some(path(path_name)?) };
            WriterHandle::create(path, &call(options)?)
        })
    })
}

fn cards(header: *const HeaderHandle, empty: &Header) -> Outcome<&Header> {
    match header.is_null() {
        true => Ok(empty),
        false => Ok(&reference(header, "header")?.0),
    }
}

fn encoding_of(encoding: *const CEncoding) -> Outcome<Option<NewPixels>> {
    if encoding.is_null() {
        return Ok(None);
    }
    let encoding = reference(encoding, "encoding")?;
    check_bytes(encoding.bytes, size_of::<CEncoding>(), "encoding")?;
    let CEncoding { scale, zero, blank, .. } = *encoding;
    let pixels = NewPixels::new(pixel_type(encoding.pixel_type)?);
    let scaling = (encoding.is_scaled != 0).then_some((scale, zero));
    Ok(Some(pixels.scaling(scaling).blank((encoding.has_blank != 0).then_some(blank))))
}

/// Converts the cells of columns; `elements` returns the number of elements in a cell of a column.
fn inputs<'a>(
    cells: &'a [CCells],
    rows: u64,
    elements: impl Fn(usize) -> Outcome<u64>,
) -> Outcome<Vec<ColumnInput<'a>>> {
    let mut inputs = Vec::new();
    for (column, cells) in cells.iter().enumerate() {
        let values = slice(cells.values.cast::<u8>(), cells.bytes, "values")?;
        let offsets = match cells.offsets.is_null() {
            true => None,
            false => Some(slice(cells.offsets, (rows as usize).saturating_add(1), "offsets")?),
        };
        let count = match offsets {
            Some(offsets) => offsets.last().map_or(0, |&end| end.max(0) as u64),
            None => rows.saturating_mul(elements(column)?),
        };
        let nulls = match cells.nulls.is_null() {
            true => None,
            false => Some(slice(cells.nulls, count as usize, "nulls")?),
        };
        inputs.push(cells_input(values, nulls, offsets));
    }
    Ok(inputs)
}

/// Write an image as the next HDU. `axes` has `naxis` lengths, NAXIS1 first; `header`, which may be NULL, contains its
/// cards except those of the structure; `compression` is NULL, or "RICE_1", "GZIP_1", "GZIP_2", "PLIO_1",
/// "HCOMPRESS_1". `encoding` of the options determines how pixels are stored.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_write_image(
    writer: *mut WriterHandle,
    header: *const HeaderHandle,
    pixel: i32,
    naxis: usize,
    axes: *const u64,
    pixels: *const c_void,
    bytes: usize,
    compression: *const c_char,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let empty = Header::new();
        let header = cards(header, &empty)?;
        let pixel_type = pixel_type(pixel)?;
        let pixels = slice(pixels.cast::<u8>(), bytes, "pixels")?;
        let image = (pixels, pixel_type, slice(axes, naxis, "axes")?);
        let codec = optional_text(compression, "compression")?;
        let call = call(options)?;
        let how = (encoding_of(call.encoding)?, codec);
        mutable(writer, "writer")?.image(header, image, how, &call)
    })
}

/// Begin a binary table as the next HDU; rows follow with tachyfits_write_rows.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_begin_table(
    writer: *mut WriterHandle,
    header: *const HeaderHandle,
    columns: *const CNewColumn,
    count: usize,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let empty = Header::new();
        let header = cards(header, &empty)?;
        let mut new = Vec::new();
        for column in slice(columns, count, "columns")? {
            check_bytes(column.bytes, size_of::<CNewColumn>(), "column")?;
            let unit = optional_text(column.unit, "unit")?;
            new.push(new_column(text(column.name, "name")?, text(column.form, "form")?, unit)?);
        }
        mutable(writer, "writer")?.begin_table(header, new)
    })
}

/// Write rows: the cells of every column.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_write_rows(
    writer: *mut WriterHandle,
    cells: *const CCells,
    count: usize,
    rows: u64,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let writer = mutable(writer, "writer")?;
        let cells = slice(cells, count, "cells")?;
        let inputs = inputs(cells, rows, |column| Ok(writer.elements(column)))?;
        writer.rows(&inputs, rows, &call(options)?)
    })
}

/// End a table. The next HDU and tachyfits_commit end it as well.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_end_table(writer: *mut WriterHandle, error: *mut CError) -> i32 {
    guarded(error, || mutable(writer, "writer")?.end_table())
}

/// Copy an HDU of a file, which may be a computed one, as the next HDU.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_copy_hdu(
    writer: *mut WriterHandle,
    file: *const FileHandle,
    hdu: usize,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    tachyfits_copy_with_header(writer, file, hdu, std::ptr::null(), options, error)
}

/// Copy an HDU with other cards, except those of its structure and scaling.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_copy_with_header(
    writer: *mut WriterHandle,
    file: *const FileHandle,
    hdu: usize,
    header: *const HeaderHandle,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let header = match header.is_null() {
            true => None,
            false => Some(reference(header, "header")?),
        };
        let from = (reference(file, "file")?, hdu);
        mutable(writer, "writer")?.copy(from, header, &call(options)?)
    })
}

/// Give the new file its name, and free the writer; after an error no file is created or replaced.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_commit(writer: *mut WriterHandle, error: *mut CError) -> i32 {
    guarded(error, || match into_box(writer) {
        Some(writer) => writer.commit(),
        None => Err(super::is_null("writer")),
    })
}

/// Complete the new file, open it, and free the writer. A file without a name exists until it is closed.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_commit_open(
    writer: *mut WriterHandle,
    file: *mut *mut FileHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let writer = into_box(writer).ok_or_else(|| super::is_null("writer"))?;
        put_handle(file, "file", || writer.open())
    })
}

/// Free a writer without writing its file.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_abandon(writer: *mut WriterHandle) {
    infallible((), || drop(into_box(writer)));
}

/// Begin changes of a file, which tachyfits_edit_commit writes: all, or none.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_edit(
    path_name: *const c_char,
    editor: *mut *mut EditorHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || put_handle(editor, "editor", || EditorHandle::open(path(path_name)?)))
}

/// Set a card of an HDU to an integer; a NULL `comment` keeps the existing comment.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_edit_i64(
    editor: *mut EditorHandle,
    hdu: usize,
    keyword: *const c_char,
    value: i64,
    comment: *const c_char,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        write_card(editor, "editor", keyword, comment, |edit, key, text| {
            edit.set(hdu, key, value, text)
        })
    })
}

/// Set a card of an HDU to a number.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_edit_f64(
    editor: *mut EditorHandle,
    hdu: usize,
    keyword: *const c_char,
    value: f64,
    comment: *const c_char,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        write_card(editor, "editor", keyword, comment, |edit, key, text| {
            edit.set(hdu, key, real(key, value)?, text)
        })
    })
}

/// Set a card of an HDU to T (not 0) or F.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_edit_logical(
    editor: *mut EditorHandle,
    hdu: usize,
    keyword: *const c_char,
    value: c_int,
    comment: *const c_char,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        write_card(editor, "editor", keyword, comment, |edit, key, text| {
            edit.set(hdu, key, value != 0, text)
        })
    })
}

/// Set a card of an HDU to text.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_edit_text(
    editor: *mut EditorHandle,
    hdu: usize,
    keyword: *const c_char,
    value: *const c_char,
    comment: *const c_char,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let value = text(value, "value")?;
        write_card(editor, "editor", keyword, comment, |edit, key, comment| {
            edit.set(hdu, key, value, comment)
        })
    })
}

/// Remove the cards of a keyword; return TACHYFITS_ABSENT if there are none.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_edit_remove(
    editor: *mut EditorHandle,
    hdu: usize,
    keyword: *const c_char,
    error: *mut CError,
) -> i32 {
    guarded(error, || match mutable(editor, "editor")?.remove(hdu, text(keyword, "keyword")?)? {
        0 => Err(Failure::Absent),
        _ => Ok(()),
    })
}

/// Replace pixels of a section; `ranges`, whose steps must not be negative, may be NULL for all pixels. `type` is the
/// image's own (pixel_type of tachyfits_describe, or stored_type with the flag TACHYFITS_STORED), or TACHYFITS_FLOAT or
/// TACHYFITS_DOUBLE for physical values, which are scaled and rounded, NaN to BLANK. DATAMIN and DATAMAX are removed.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_edit_pixels(
    editor: *mut EditorHandle,
    hdu: usize,
    ranges: *const CRange,
    naxis: usize,
    pixel: i32,
    pixels: *const c_void,
    bytes: usize,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let ranges = ranges_of(ranges, naxis)?;
        let pixels = (slice(pixels.cast::<u8>(), bytes, "pixels")?, pixel_type(pixel)?);
        let place = (hdu, ranges.as_deref());
        mutable(editor, "editor")?.pixels(place, pixels, &call(options)?)
    })
}

/// Replace cells of a column: in `count` rows, whose numbers from 0 are in `rows`, or from row `first` on if `rows` is
/// NULL.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_edit_cells(
    editor: *mut EditorHandle,
    hdu: usize,
    column: i32,
    rows: *const u64,
    first: u64,
    count: u64,
    cells: *const CCells,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let (editor, column) = (mutable(editor, "editor")?, number(column)?);
        let selection = match rows.is_null() {
            true => Rows::Range(first..first.saturating_add(count)),
            false => Rows::List(slice(rows, count as usize, "rows")?),
        };
        let cells = std::slice::from_ref(reference(cells, "cells")?);
        let inputs = inputs(cells, count, |_| editor.elements(hdu, column))?;
        editor.cells((hdu, column), &selection, &inputs[0], &call(options)?)
    })
}

/// Append rows to a table: the cells of every column.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_append_rows(
    editor: *mut EditorHandle,
    hdu: usize,
    cells: *const CCells,
    count: usize,
    rows: u64,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let editor = mutable(editor, "editor")?;
        let cells = slice(cells, count, "cells")?;
        let inputs = inputs(cells, rows, |column| editor.elements(hdu, column))?;
        editor.append_rows(hdu, &inputs, rows, &call(options)?)
    })
}

/// Write all changes and free the editor; after an error the file is unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_edit_commit(
    editor: *mut EditorHandle,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || match into_box(editor) {
        Some(editor) => editor.commit(&call(options)?),
        None => Err(super::is_null("editor")),
    })
}

/// Free an editor without changing the file.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_edit_abandon(editor: *mut EditorHandle) {
    infallible((), || drop(into_box(editor)));
}
