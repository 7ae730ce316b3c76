//! New files and changes of existing ones.

use std::ffi::{c_char, c_int, c_void};

use tachyfits::Header;
use tachyfits::table::ColumnInput;

use super::{
    call, check_bytes, guarded, infallible, mutable, optional_text, path, put_handle, reference,
    slice, taken, text, write_card,
};
use crate::failure::Failure;
use crate::handles::header_handle::real;
use crate::handles::new_files::new_column;
use crate::handles::{EditorHandle, FileHandle, HeaderHandle, Outcome, WriterHandle};
use crate::types::{CCells, CError, CNewColumn, COptions, pixel_of};

/// Begin a new file, which appears under its name with tachyfits_commit. An existing one is an error without the flag
/// TACHYFITS_OVERWRITE.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_create(
    path_name: *const c_char,
    options: *const COptions,
    writer: *mut *mut WriterHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put_handle(writer, "writer", || WriterHandle::create(path(path_name)?, &call(options)?))
    })
}

fn cards(header: *const HeaderHandle, empty: &Header) -> Outcome<&Header> {
    match header.is_null() {
        true => Ok(empty),
        false => Ok(&reference(header, "header")?.0),
    }
}

/// Write an image as the next HDU. `axes` has `naxis` lengths, NAXIS1 first; `header`, which may be NULL, its cards besides
/// those of the structure; `compression` is NULL, or "RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1".
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
        let pixel_type = pixel_of(pixel).ok_or_else(|| {
            let hint = "use TACHYFITS_UINT8 to TACHYFITS_DOUBLE";
            Failure::argument("type", pixel, "a type of numbers, 1 to 10", hint)
        })?;
        let pixels = slice(pixels.cast::<u8>(), bytes, "pixels")?;
        let image = (pixels, pixel_type, slice(axes, naxis, "axes")?);
        let codec = optional_text(compression, "compression")?;
        mutable(writer, "writer")?.image(header, image, codec, &call(options)?)
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
        let mut inputs = Vec::new();
        for cells in slice(cells, count, "cells")? {
            let values = slice(cells.values.cast::<u8>(), cells.bytes, "values")?;
            let input = ColumnInput::new(values);
            let nulls = match cells.nulls.is_null() {
                true => None,
                false => Some(slice(cells.nulls, rows as usize, "nulls")?),
            };
            inputs.push(input.nulls(nulls));
        }
        mutable(writer, "writer")?.rows(&inputs, rows, &call(options)?)
    })
}

/// End a table; the next HDU and tachyfits_commit do so, too.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_end_table(writer: *mut WriterHandle, error: *mut CError) -> i32 {
    guarded(error, || mutable(writer, "writer")?.end_table())
}

/// Copy an HDU of a file, also one that is computed, as the next HDU.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_copy_hdu(
    writer: *mut WriterHandle,
    file: *const FileHandle,
    hdu: usize,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        mutable(writer, "writer")?.copy(reference(file, "file")?, hdu, &call(options)?)
    })
}

/// Give the new file its name, and free the writer; after an error nothing was written.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_commit(writer: *mut WriterHandle, error: *mut CError) -> i32 {
    guarded(error, || match taken(writer) {
        Some(writer) => writer.commit(),
        None => Err(super::is_null("writer")),
    })
}

/// Free a writer without writing its file.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_abandon(writer: *mut WriterHandle) {
    infallible((), || drop(taken(writer)));
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

/// Set a card of an HDU to an integer; `comment` may be NULL, which keeps the comment that is there.
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

/// Remove the cards of a keyword; TACHYFITS_ABSENT without any.
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

/// Write all changes and free the editor; after an error the file is unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_edit_commit(
    editor: *mut EditorHandle,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || match taken(editor) {
        Some(editor) => editor.commit(&call(options)?),
        None => Err(super::is_null("editor")),
    })
}

/// Free an editor without changing the file.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_edit_abandon(editor: *mut EditorHandle) {
    infallible((), || drop(taken(editor)));
}
