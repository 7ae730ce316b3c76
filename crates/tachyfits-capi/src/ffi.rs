//! The exported functions, and all the unsafe code of this crate: pointers of C become references here and nowhere else.
//!
//! The header of C has the duties of callers: pointers are NULL or point to what their type says, arrays have the
//! lengths given beside them, handles come from this library and were not freed, and no other thread writes to an array while a
//! call uses it. Those are the reasons of the blocks below.
#![expect(
    unsafe_code,
    reason = "the border to C: see DESIGN.md, \"Where is unsafe code allowed?\""
)]

mod arrow;
mod dlpack;
mod files;
mod headers;
mod images;
mod jobs;
mod tables;
mod writing;

use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::failure::Failure;
use crate::handles::{Call, Outcome};
use crate::types::{CError, COptions, JobHandle, TACHYFITS_OK};

/// Runs the body of a function: its outcome as a number, its error in the caller's struct, a panic as an error.
fn guarded(error: *mut CError, body: impl FnOnce() -> Outcome<()>) -> i32 {
    let outcome = catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|panic| Err(Failure::internal(&*panic)));
    match outcome {
        Ok(()) => TACHYFITS_OK,
        Err(failure) => {
            // SAFETY: the caller's struct, or NULL.
            if let Some(error) = unsafe { error.as_mut() } {
                error.take(&failure);
            }
            failure.number()
        }
    }
}

/// Runs the body of a function that cannot fail; `otherwise` after a panic.
fn infallible<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

fn is_null(name: &str) -> Failure {
    Failure::argument(name, "NULL", "a pointer that is not NULL", "pass it")
}

/// A handle or struct of the caller.
fn reference<'a, T>(pointer: *const T, name: &str) -> Outcome<&'a T> {
    // SAFETY: NULL, or what the type says.
    unsafe { pointer.as_ref() }.ok_or_else(|| is_null(name))
}

/// A handle or struct of the caller, to be changed.
fn mutable<'a, T>(pointer: *mut T, name: &str) -> Outcome<&'a mut T> {
    // SAFETY: NULL, or what the type says, used by one thread.
    unsafe { pointer.as_mut() }.ok_or_else(|| is_null(name))
}

/// Writes a card with a handle of the caller; a comment that is NULL is an empty one.
fn write_card<T>(
    handle: *mut T,
    name: &str,
    keyword: *const c_char,
    comment: *const c_char,
    write: impl FnOnce(&mut T, &str, &str) -> Outcome<()>,
) -> Outcome<()> {
    let comment = optional_text(comment, "comment")?.unwrap_or("");
    write(mutable(handle, name)?, text(keyword, "keyword")?, comment)
}

/// An array of the caller; NULL stands for an empty one.
fn slice<'a, T>(pointer: *const T, count: usize, name: &str) -> Outcome<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check_array(pointer, count, name)?;
    // SAFETY: checked above; the caller's array has as many elements as it says.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// An array of the caller that is filled.
fn slice_mut<'a, T>(pointer: *mut T, count: usize, name: &str) -> Outcome<&'a mut [T]> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_array(pointer, count, name)?;
    // SAFETY: checked above; the caller's array has as many elements as it says, and the types are plain numbers, so that
    // memory which was never written is only written.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) })
}

fn check_array<T>(pointer: *const T, count: usize, name: &str) -> Outcome<()> {
    if pointer.is_null() {
        return Err(is_null(name));
    }
    if !pointer.is_aligned()
        || count.checked_mul(size_of::<T>()).is_none_or(|n| n > isize::MAX as usize)
    {
        let expected = "an aligned array that fits into memory";
        return Err(Failure::argument(
            name,
            format!("of {count} elements"),
            expected,
            "check its size",
        ));
    }
    Ok(())
}

/// Text of the caller.
fn text<'a>(pointer: *const c_char, name: &str) -> Outcome<&'a str> {
    optional_text(pointer, name)?.ok_or_else(|| is_null(name))
}

fn optional_text<'a>(pointer: *const c_char, name: &str) -> Outcome<Option<&'a str>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: text of C ends with NUL.
    let text = unsafe { CStr::from_ptr(pointer) };
    let shown = || text.to_string_lossy().into_owned();
    text.to_str().map(Some).map_err(|_| Failure::argument(name, shown(), "UTF-8", "encode it so"))
}

/// A path of the caller: any bytes that the system allows.
fn path<'a>(pointer: *const c_char) -> Outcome<&'a Path> {
    if pointer.is_null() {
        return Err(is_null("path"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        // SAFETY: text of C ends with NUL.
        let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
        Ok(Path::new(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    text(pointer, "path").map(Path::new)
}

/// Stores a result where the caller wants it.
fn put<T>(place: *mut T, name: &str, value: impl FnOnce() -> Outcome<T>) -> Outcome<()> {
    if place.is_null() {
        return Err(is_null(name));
    }
    let value = value()?;
    // SAFETY: not NULL; a place of the caller for a value of this type, whatever it held before.
    unsafe { place.write(value) };
    Ok(())
}

/// Stores a new handle where the caller wants it.
fn put_handle<T>(place: *mut *mut T, name: &str, make: impl FnOnce() -> Outcome<T>) -> Outcome<()> {
    put(place, name, || Ok(Box::into_raw(Box::new(make()?))))
}

/// Takes a handle back from the caller; NULL gives none.
fn taken<T>(handle: *mut T) -> Option<Box<T>> {
    // SAFETY: a handle that `put_handle` made and that is freed once, as the header says.
    (!handle.is_null()).then(|| unsafe { Box::from_raw(handle) })
}

/// Copies text with its NUL into an array of the caller, cut at its end; stores its whole length.
fn put_text(value: &str, buffer: *mut c_char, room: usize, length: *mut usize) -> Outcome<()> {
    if room > 0 {
        crate::failure::fill(slice_mut(buffer, room, "buffer")?, value);
    }
    // SAFETY: NULL, or a place of the caller.
    if let Some(length) = unsafe { length.as_mut() } {
        *length = value.len();
    }
    Ok(())
}

/// The options of a call; those that an older caller does not know are the defaults.
fn call<'a>(options: *const COptions) -> Outcome<Call<'a>> {
    // SAFETY: the first member, its size, is there in every version of the struct; NULL has none.
    let Some(bytes) = (unsafe { options.cast::<u32>().as_ref() }) else {
        return Ok(Call::default());
    };
    let bytes = *bytes as usize;
    let mut whole = COptions::new();
    if bytes < COptions::LEAST {
        let expected = format!("sizeof(tachyfits_options), {}", whole.bytes);
        return Err(Failure::argument("options.bytes", bytes, &expected, "set it before the call"));
    }
    let known = bytes.min(size_of::<COptions>());
    // SAFETY: the caller's struct has as many bytes as it says; those after them stay the defaults.
    unsafe { options.cast::<u8>().copy_to_nonoverlapping((&raw mut whole).cast(), known) };
    // SAFETY: NULL, or a job that the caller frees after the call.
    let job: Option<&JobHandle> = unsafe { whole.job.as_ref() };
    let COptions { threads, storage, flags, nulls, encoding, .. } = whole;
    Ok(Call { threads, storage, flags, job, nulls, encoding })
}

/// Checks the size that a caller wrote into its struct, which the library fills or reads.
fn check_bytes(found: u32, whole: usize, name: &str) -> Outcome<()> {
    if found as usize == whole {
        return Ok(());
    }
    let expected = format!("its size, {whole}");
    Err(Failure::argument(&format!("{name}.bytes"), found, &expected, "set it before the call"))
}

/// Text for the caller, which frees it.
fn owned_text(text: &str) -> *mut c_char {
    // Text of FITS files has no NUL: it would end the text here.
    CString::new(text.replace('\0', "")).unwrap_or_default().into_raw()
}
