//! The exported names, and all the unsafe code of this crate: arguments of C and Fortran become requests here, and requests
//! become calls of CFITSIO's functions.
//!
//! The callers' duties are those that CFITSIO states: files are open, arrays have room for as many elements as a call
//! says, and one thread uses a file at a time. Those are the reasons of the blocks below.
#![expect(
    unsafe_code,
    reason = "the border to CFITSIO: see DESIGN.md, \"Where is unsafe code allowed?\""
)]

mod arguments;
mod functions;
mod library;
mod stub;
mod table;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) use functions::{ColumnFacts, Functions, Handle};
pub(crate) use library::Library;

use arguments::{Arguments, Call};
use library::library_of;
use stub::{Decision, Registers};
use table::{ENTRIES, Shape};

use crate::files;
use crate::report::{self, Outcome, Reason};
use crate::serve::serve;
use crate::settings::{Mode, Settings};
use crate::tiles;

/// Decides what becomes of a call. `frame` points to the return address, after which the arguments on the stack follow.
extern "C" fn decide(row: u32, registers: *const Registers, frame: *const u64) -> Decision {
    let row = row as usize;
    // SAFETY: the stub points to the return address of the call.
    let address = unsafe { frame.read() } as usize;
    let (library, is_own) = library_of(address);
    let forward = Decision { function: library.real(row), result: 0 };
    let settings = Settings::get();
    // Functions of CFITSIO call each other by their names: only calls from outside are served.
    if is_own || settings.mode == Mode::Off {
        return forward;
    }
    // SAFETY: the arguments on the stack follow the return address.
    let stack = unsafe { frame.add(1) };
    // SAFETY: the stub saved the registers.
    let arguments = unsafe { Arguments::new(registers, stack) };
    let outcome = catch_unwind(AssertUnwindSafe(|| take(library, row, arguments, settings)));
    match outcome {
        Ok(Some(result)) => Decision { function: 0, result },
        Ok(None) => forward,
        Err(_) => {
            report::count(row, Outcome::Forwarded(Reason::Panic));
            forward
        }
    }
}

/// Serves a call; `None` if it is to be forwarded.
fn take(
    library: &'static Library,
    row: usize,
    arguments: Arguments,
    settings: &Settings,
) -> Option<u64> {
    let entry = &ENTRIES[row];
    if entry.shape == Shape::Close {
        files::forget(library, arguments.handle());
        return None;
    }
    if matches!(entry.shape, Shape::Scale | Shape::Override) {
        let file = arguments.handle();
        if !file.is_null()
            && arguments.has_no_error(entry)
            && library.functions().and_then(|functions| functions.is_compressed(file)) == Some(true)
        {
            tiles::note_override();
        }
        return None;
    }
    let outcome = match arguments.call(entry, library, settings.least) {
        Err(reason) => Err(reason),
        Ok(call) if settings.mode == Mode::Check => return check(library, row, &call, arguments),
        Ok(call) => answer(library, &call, settings),
    };
    match outcome {
        Ok((status, bytes)) => {
            report::count(row, Outcome::Served(bytes));
            Some(status)
        }
        Err(reason) => {
            report::count(row, Outcome::Forwarded(reason));
            None
        }
    }
}

/// Serves a call in the caller's memory: the status, and the bytes read.
fn answer(
    library: &'static Library,
    call: &Call,
    settings: &Settings,
) -> Result<(u64, u64), Reason> {
    // SAFETY: the caller's arrays have as many elements as the call says.
    let (values, flags) = unsafe { call.arrays() };
    let served = serve(library, call.file, &call.request, values, flags, settings)?;
    if served.overflow
        && let Some(functions) = library.functions()
    {
        functions.report_overflow();
    }
    // SAFETY: the caller's places for the results.
    Ok((unsafe { call.finish(served) }, served.bytes))
}

/// Serves a call in copies of the caller's memory, lets CFITSIO answer it too, and compares.
fn check(library: &'static Library, row: usize, call: &Call, arguments: Arguments) -> Option<u64> {
    let settings = Settings::get();
    // SAFETY: the caller's arrays have as many elements as the call says; nothing else uses them before the next block.
    let (values, flags) = unsafe { call.arrays() };
    let (mut values_copy, mut flags_copy) = (values.to_vec(), flags.as_deref().map(<[u8]>::to_vec));
    let copies = (&mut values_copy[..], flags_copy.as_deref_mut());
    let served = serve(library, call.file, &call.request, copies.0, copies.1, settings);
    // SAFETY: the same arguments that the caller passed.
    let result = unsafe { arguments.forward(library.real(row)) };
    let outcome = match served {
        Err(reason) => Outcome::Forwarded(reason),
        Ok(served) => {
            // SAFETY: as above, after the call.
            let (values, flags) = unsafe { call.arrays() };
            // SAFETY: the caller's places for the results.
            let (any_null, status) = unsafe { call.results() };
            let expected = served.status();
            let is_same = values == &values_copy[..]
                && flags.as_deref() == flags_copy.as_deref()
                && any_null.is_none_or(|any_null| any_null == i32::from(served.any_null))
                && (status, result as i32) == (expected, expected);
            match is_same {
                true => Outcome::Served(served.bytes),
                false => Outcome::Differs(report::difference(
                    &call.request,
                    (values, &values_copy),
                    (flags.as_deref(), flags_copy.as_deref()),
                    (any_null, served.any_null.into()),
                    (status, expected),
                )),
            }
        }
    };
    report::count(row, outcome);
    Some(result)
}

/// The name of the function of a row.
pub(crate) fn name(row: usize) -> &'static str {
    ENTRIES[row].name.to_str().unwrap_or_default()
}

/// Runs a function when the process ends.
pub(crate) fn at_exit(function: fn()) {
    static FUNCTION: std::sync::OnceLock<fn()> = std::sync::OnceLock::new();
    extern "C" fn run() {
        if let Some(function) = FUNCTION.get() {
            let _ = catch_unwind(function);
        }
    }
    if FUNCTION.set(function).is_ok() {
        // SAFETY: a function of this library, which is never unloaded before the end.
        unsafe { libc::atexit(run) };
    }
}
