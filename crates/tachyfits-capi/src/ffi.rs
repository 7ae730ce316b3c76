//! The exported functions, and all unsafe code of this crate: only here are C pointers converted to references.
//!
//! The C header documents the duties of callers: pointers are NULL or point to valid values of their type, arrays have
//! the specified lengths, handles come from this library and are not freed yet, and no other thread writes to an array
//! during a call. The unsafe blocks below rely on this.
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

/// Runs the body of a function: returns its result code, stores its error in the caller's struct, and converts a panic
/// to an error.
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

/// Runs the body of a function that cannot fail; returns `otherwise` after a panic.
fn infallible<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

fn is_null(name: &str) -> Failure {
    Failure::argument(name, "NULL", "a pointer that is not NULL", "pass it")
}

/// Dereferences a handle or struct of the caller.
fn reference<'a, T>(pointer: *const T, name: &str) -> Outcome<&'a T> {
    // SAFETY: NULL, or a valid value of its type.
    unsafe { pointer.as_ref() }.ok_or_else(|| is_null(name))
}

/// Dereferences a handle or struct of the caller for modification.
fn mutable<'a, T>(pointer: *mut T, name: &str) -> Outcome<&'a mut T> {
    // SAFETY: NULL, or a valid value of its type, used by one thread.
    unsafe { pointer.as_mut() }.ok_or_else(|| is_null(name))
}

/// Writes a card through a handle of the caller; a NULL comment means an empty one.
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

/// Converts an array of the caller; NULL means an empty array.
fn slice<'a, T>(pointer: *const T, count: usize, name: &str) -> Outcome<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check_array(pointer, count, name)?;
    // SAFETY: checked above; the caller's array has the specified number of elements.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Converts an array of the caller to fill.
fn slice_mut<'a, T>(pointer: *mut T, count: usize, name: &str) -> Outcome<&'a mut [T]> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_array(pointer, count, name)?;
    // SAFETY: checked above; the caller's array has the specified number of elements, and the types are plain numbers,
    // so uninitialised memory is only written.
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

/// Converts text of the caller.
fn text<'a>(pointer: *const c_char, name: &str) -> Outcome<&'a str> {
    optional_text(pointer, name)?.ok_or_else(|| is_null(name))
}

fn optional_text<'a>(pointer: *const c_char, name: &str) -> Outcome<Option<&'a str>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: C text ends with NUL.
    let text = unsafe { CStr::from_ptr(pointer) };
    let printable = || text.to_string_lossy().into_owned();
    text.to_str()
        .map(Some)
        .map_err(|_| Failure::argument(name, printable(), "UTF-8", "encode it so"))
}

/// Converts a path of the caller: any bytes that the system permits.
fn path<'a>(pointer: *const c_char) -> Outcome<&'a Path> {
    if pointer.is_null() {
        return Err(is_null("path"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        // SAFETY: C text ends with NUL.
        let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
        Ok(Path::new(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    text(pointer, "path").map(Path::new)
}

/// Writes a result to the caller's memory.
fn put<T>(place: *mut T, name: &str, value: impl FnOnce() -> Outcome<T>) -> Outcome<()> {
    if place.is_null() {
        return Err(is_null(name));
    }
    let value = value()?;
    // SAFETY: not NULL; memory of the caller for a value of this type; its old content is not read.
    unsafe { place.write(value) };
    Ok(())
}

/// Creates a handle, and writes it to the caller's memory.
fn put_handle<T>(place: *mut *mut T, name: &str, make: impl FnOnce() -> Outcome<T>) -> Outcome<()> {
    put(place, name, || Ok(Box::into_raw(Box::new(make()?))))
}

/// Takes a handle back from the caller; `None` for NULL.
fn into_box<T>(handle: *mut T) -> Option<Box<T>> {
    // SAFETY: a handle created by `put_handle` and freed once, as the header requires.
    (!handle.is_null()).then(|| unsafe { Box::from_raw(handle) })
}

/// Copies text with its NUL into an array of the caller, truncated at its end; stores the whole length.
fn put_text(value: &str, buffer: *mut c_char, room: usize, length: *mut usize) -> Outcome<()> {
    if room > 0 {
        crate::failure::fill(slice_mut(buffer, room, "buffer")?, value);
    }
    // SAFETY: NULL, or memory of the caller.
    if let Some(length) = unsafe { length.as_mut() } {
        *length = value.len();
    }
    Ok(())
}

/// Reads the options of a call; members that an older caller lacks get their defaults.
fn call<'a>(options: *const COptions) -> Outcome<Call<'a>> {
    // SAFETY: every version of the struct begins with its size; NULL is handled.
    let Some(bytes) = (unsafe { options.cast::<u32>().as_ref() }) else {
        return Ok(Call::default());
    };
    let bytes = *bytes as usize;
    let mut whole = COptions::new();
    if bytes < COptions::LEAST {
        let expected = format!("sizeof(tachyfits_options), {}", whole.bytes);
        return Err(Failure::argument("options.bytes", bytes, &expected, "set it before the call"));
    }
    let size = bytes.min(size_of::<COptions>());
    // SAFETY: the caller's struct has the stated size; the remaining bytes keep the defaults.
    unsafe { options.cast::<u8>().copy_to_nonoverlapping((&raw mut whole).cast(), size) };
    // SAFETY: NULL, or a job that the caller frees after the call.
    let job: Option<&JobHandle> = unsafe { whole.job.as_ref() };
    let COptions { threads, storage, flags, nulls, encoding, .. } = whole;
    Ok(Call { threads, storage, flags, job, nulls, encoding })
}

/// Checks the size that a caller stored in its struct, which the library fills or reads.
fn check_bytes(found: u32, whole: usize, name: &str) -> Outcome<()> {
    if found as usize == whole {
        return Ok(());
    }
    let expected = format!("its size, {whole}");
    Err(Failure::argument(&format!("{name}.bytes"), found, &expected, "set it before the call"))
}

/// Allocates text that the caller frees.
fn owned_text(text: &str) -> *mut c_char {
    // Text of FITS files has no NUL, which would end it.
    CString::new(text.replace('\0', "")).unwrap_or_default().into_raw()
}
