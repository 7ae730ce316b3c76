//! The library, jobs, and memory that callers free.

use std::ffi::{CString, c_char};

use super::{guarded, infallible, put_handle, reference, taken};
use crate::types::{CError, JobHandle};

/// Return the version of the library as text, which need not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Return the version of the interface: programs compiled with another one do not fit.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_abi() -> u32 {
    0
}

/// Begin a job, which tachyfits_job_cancel ends from another thread.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_job_new(job: *mut *mut JobHandle, error: *mut CError) -> i32 {
    guarded(error, || put_handle(job, "job", || Ok(JobHandle::new())))
}

/// Cancel every operation of a job: it ends soon, with TACHYFITS_ERROR_CANCELLED.
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
    infallible((), || drop(taken(job)));
}

/// Free text of the library.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: text that `owned_text` made, freed once, as the header says.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Panic, for the test that a panic becomes an error.
#[cfg(feature = "test-panic")]
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_test_panic(error: *mut CError) -> i32 {
    guarded(error, || panic!("a panic of the test"))
}
