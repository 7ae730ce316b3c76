//! Files, and facts about their HDUs.

use std::ffi::c_char;

use super::{
    call, check_bytes, guarded, infallible, into_box, mutable, optional_text, owned_text, path,
    put, put_handle, reference, slice, text,
};
use crate::handles::FileHandle;
use crate::types::{CError, CFacts, COptions};

/// Open a file and read its headers. gzip content is inflated. Free it with tachyfits_close.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_open(
    path_name: *const c_char,
    options: *const COptions,
    file: *mut *mut FileHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put_handle(file, "file", || FileHandle::open(path(path_name)?, &call(options)?))
    })
}

/// Open the bytes of a file, which are copied; `name` is used in messages and may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_open_memory(
    bytes: *const u8,
    count: usize,
    name: *const c_char,
    options: *const COptions,
    file: *mut *mut FileHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put_handle(file, "file", || {
            let bytes = slice(bytes, count, "bytes")?;
            FileHandle::of_bytes(
                optional_text(name, "name")?.unwrap_or("memory"),
                bytes,
                &call(options)?,
            )
        })
    })
}

/// Create another handle of an open file, to be closed separately: for copies of objects in C++ and other languages.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_file_copy(
    file: *const FileHandle,
    copy: *mut *mut FileHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put_handle(copy, "copy", || Ok(FileHandle(reference(file, "file")?.0.clone())))
    })
}

/// Close a file.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_close(file: *mut FileHandle) {
    infallible((), || drop(into_box(file)));
}

/// Return the number of HDUs; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_hdus(file: *const FileHandle) -> usize {
    infallible(0, || reference(file, "file").map_or(0, |file| file.0.hdus().len()))
}

/// Find the first HDU with this EXTNAME, in either case, and with this EXTVER unless it is 0.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_find(
    file: *const FileHandle,
    extname: *const c_char,
    extver: i64,
    hdu: *mut usize,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put(hdu, "hdu", || reference(file, "file")?.find(text(extname, "extname")?, extver))
    })
}

/// Describe an HDU. Set facts.bytes to sizeof(tachyfits_facts) first.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_describe(
    file: *const FileHandle,
    hdu: usize,
    facts: *mut CFacts,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let facts = mutable(facts, "facts")?;
        check_bytes(facts.bytes, size_of::<CFacts>(), "facts")?;
        *facts = reference(file, "file")?.facts(hdu)?;
        Ok(())
    })
}

/// Store the lengths of an image's axes, NAXIS1 first, as many as fit in `room`, and their number.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_axes(
    file: *const FileHandle,
    hdu: usize,
    lengths: *mut u64,
    room: usize,
    naxis: *mut usize,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let image = reference(file, "file")?.image(hdu)?;
        for (place, length) in
            super::slice_mut(lengths, room, "lengths")?.iter_mut().zip(image.axes())
        {
            *place = *length;
        }
        put(naxis, "naxis", || Ok(image.axes().len()))
    })
}

/// Return a warning about the file, by number from 0; NULL after the last one. Free it with tachyfits_text_free.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_warning(file: *const FileHandle, number: usize) -> *mut c_char {
    infallible(std::ptr::null_mut(), || {
        let warning = reference(file, "file").ok().and_then(|file| file.warning(number));
        warning.map_or(std::ptr::null_mut(), |warning| owned_text(&warning))
    })
}
