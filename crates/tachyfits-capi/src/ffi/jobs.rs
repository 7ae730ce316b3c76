//! The library, jobs, and memory that callers free.

use std::ffi::{CString, c_char, c_int};

use super::{guarded, infallible, into_box, mutable, put_handle, reference};
use crate::failure::{Failure, described_code};
use crate::handles::call::set_default_threads;
use crate::types::{CError, JobHandle, TACHYFITS_OK};

/// Return the version of the library as static text, which must not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Return the version of the interface: a program compiled with another version is incompatible.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_abi() -> u32 {
    0
}

/// Set the default number of threads in this process, for operations whose options have 0; 0 means one per core.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_set_threads(threads: u32) {
    infallible((), || set_default_threads(threads));
}

/// Permit (not 0, the default) or forbid memory maps in this process: if forbidden, TACHYFITS_STORAGE_AUTO reads, and
/// TACHYFITS_STORAGE_MAP is an error.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_allow_maps(allowed: c_int) {
    infallible((), || tachyfits::io::allow_maps(allowed != 0));
}

/// Describe an error code of the library, by number from 0: its kind, code, meaning (`message`) and hint. Return
/// TACHYFITS_ABSENT after the last one.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_error_code(number: usize, entry: *mut CError) -> i32 {
    let described = infallible(Err(Failure::Absent), || described_code(number));
    match (described, mutable(entry, "entry")) {
        (Ok(described), Ok(entry)) => {
            entry.take(&described);
            TACHYFITS_OK
        }
        (Err(failure), _) | (_, Err(failure)) => failure.number(),
    }
}

/// Create a job, which tachyfits_job_cancel can end from another thread.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_job_new(job: *mut *mut JobHandle, error: *mut CError) -> i32 {
    guarded(error, || put_handle(job, "job", || Ok(JobHandle::new())))
}

/// Cancel every operation of a job; each ends soon with TACHYFITS_ERROR_CANCELLED.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_job_cancel(job: *const JobHandle) {
    infallible((), || {
        if let Ok(job) = reference(job, "job") {
            job.cancel();
        }
    });
}

/// Free a job that no operation uses any more.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_job_free(job: *mut JobHandle) {
    infallible((), || drop(into_box(job)));
}

/// Free text that the library returned.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: text created by `owned_text`, freed once, as the header requires.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Panic, for the test that a panic becomes an error.
#[cfg(feature = "test-panic")]
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_test_panic(error: *mut CError) -> i32 {
    guarded(error, || panic!("a panic of the test"))
}
