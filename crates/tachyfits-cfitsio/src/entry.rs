//! The exported names, and all unsafe code of the calls: converts arguments of C and Fortran to requests, and requests
//! to calls of CFITSIO's functions.
//!
//! The safety of the blocks below rests on the duties that CFITSIO imposes on callers: files are open, arrays have room
//! for the elements of the call, and only one thread uses a file at a time.
#![expect(
    unsafe_code,
    reason = "the border to CFITSIO: see DESIGN.md, \"Where is unsafe code allowed?\""
)]

mod arguments;
mod shape;
mod table;

use std::arch::naked_asm;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arguments::{Arguments, Call, Registers};
use shape::{Entry, Shape};
use table::ENTRIES;
use tachyfits_memory as memory;

use crate::cfitsio::{Library, library_of};
use crate::report::{self, Outcome, Reason};
use crate::serve::serve;
use crate::settings::{Mode, Settings};
use crate::{checksum, decompress, files, reserve, tiles};

/// Whether a call was served, and otherwise the function to forward it to.
#[repr(C)]
struct Decision {
    /// Address of the function that gets the call; 0 if it was served.
    function: usize,
    /// Result of a served call.
    result: u64,
}

/// Saves the arguments, calls `decide`, and either jumps to the real function with the same registers and stack, or
/// returns the result. EAX contains the row of the table.
#[unsafe(naked)]
unsafe extern "C" fn enter() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 176",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "movups [rsp + 48], xmm0",
        "movups [rsp + 64], xmm1",
        "movups [rsp + 80], xmm2",
        "movups [rsp + 96], xmm3",
        "movups [rsp + 112], xmm4",
        "movups [rsp + 128], xmm5",
        "movups [rsp + 144], xmm6",
        "movups [rsp + 160], xmm7",
        "mov edi, eax",
        "mov rsi, rsp",
        "lea rdx, [rbp + 8]",
        "call {decide}",
        "test rax, rax",
        "jz 2f",
        "mov r11, rax",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "movups xmm0, [rsp + 48]",
        "movups xmm1, [rsp + 64]",
        "movups xmm2, [rsp + 80]",
        "movups xmm3, [rsp + 96]",
        "movups xmm4, [rsp + 112]",
        "movups xmm5, [rsp + 128]",
        "movups xmm6, [rsp + 144]",
        "movups xmm7, [rsp + 160]",
        "leave",
        ".cfi_remember_state",
        ".cfi_def_cfa rsp, 8",
        "jmp r11",
        "2:",
        ".cfi_restore_state",
        "mov rax, rdx",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        decide = sym decide,
    )
}

/// Decides whether to serve or forward a call. `frame` points to the return address, which the stack arguments follow.
extern "C" fn decide(row: u32, registers: *const Registers, frame: *const u64) -> Decision {
    let row = row as usize;
    // SAFETY: the stub passes the address of the return address.
    let address = unsafe { frame.read() } as usize;
    let (library, is_own) = library_of(address, ENTRIES.len());
    let forward = Decision { function: library.real(row, ENTRIES[row].name), result: 0 };
    let settings = Settings::get();
    // Functions of CFITSIO call each other by name: only calls from outside are served.
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
            report::count(name(row), Outcome::Forwarded(Reason::Panic));
            forward
        }
    }
}

/// Serves a call; `None` if it must be forwarded.
fn take(
    library: &'static Library,
    row: usize,
    arguments: Arguments,
    settings: &Settings,
) -> Option<u64> {
    let entry = &ENTRIES[row];
    if reserve::is_memory_short() {
        return forwarded(row, Reason::Memory);
    }
    match entry.shape {
        Shape::Close => {
            files::forget(library, arguments.handle());
            return None;
        }
        Shape::Scale | Shape::NullValue => {
            note_change(library, entry, arguments);
            return None;
        }
        Shape::Decompress => return decompress(library, row, arguments, settings),
        Shape::Checksum => return update_checksums(library, row, arguments, settings),
        _ => {}
    }
    let outcome = match arguments.call(entry, library, settings.least) {
        Err(reason) => Err(reason),
        Ok(call) if settings.mode == Mode::Check => return check(library, row, &call, arguments),
        Ok(call) => answer(library, &call, settings),
    };
    match outcome {
        Ok((status, bytes)) => {
            report::count(name(row), Outcome::Served(bytes));
            Some(status)
        }
        Err(reason) => forwarded(row, reason),
    }
}

/// Counts a forwarded call.
fn forwarded(row: usize, reason: Reason) -> Option<u64> {
    report::count(name(row), Outcome::Forwarded(reason));
    None
}

/// Records that a program changes the scaling or the null value of a compressed image.
fn note_change(library: &'static Library, entry: &Entry, arguments: Arguments) {
    let file = arguments.handle();
    let is_compressed = !file.is_null()
        && arguments.has_no_error(entry)
        && library.functions().and_then(|functions| functions.is_compressed(file)) == Some(true);
    match (is_compressed, entry.shape) {
        (false, _) => {}
        (true, Shape::Scale) => {
            let [scale, zero] = arguments.doubles();
            tiles::note_scaling(scale, zero);
        }
        (true, _) => tiles::note_null_value(),
    }
}

/// Serves `fits_img_decompress`, or compares CFITSIO's output.
fn decompress(
    library: &'static Library,
    row: usize,
    arguments: Arguments,
    settings: &Settings,
) -> Option<u64> {
    let entry = &ENTRIES[row];
    let (input, output) = (arguments.handle(), arguments.second_handle());
    // -1 requests a primary array.
    let status = arguments.status(entry).filter(|status| matches!(status, 0 | -1));
    let plan = match (status, library.functions()) {
        (None, _) => Err(Reason::Status),
        (_, None) => Err(Reason::Library),
        _ if input.is_null() || output.is_null() => Err(Reason::Arguments),
        (Some(status), Some(functions)) => {
            decompress::plan(library, input, settings).map(|image| (functions, image, status))
        }
    };
    match plan {
        Err(reason) => {
            tiles::note_scaling(1.0, 0.0);
            forwarded(row, reason)
        }
        Ok((functions, image, _)) if settings.mode == Mode::Check => {
            // SAFETY: the arguments passed by the caller.
            let result = unsafe { arguments.forward(library.real(row, entry.name)) };
            tiles::note_scaling(1.0, 0.0);
            let outcome = match arguments.status(entry) {
                Some(0) => match decompress::compare(functions, output, &image, settings) {
                    Err(reason) => Outcome::Forwarded(reason),
                    Ok((bytes, None)) => Outcome::Served(bytes),
                    Ok((_, Some(at))) => {
                        Outcome::Differs(format!("the decompressed pixels from byte {at} on"))
                    }
                },
                _ => Outcome::Forwarded(Reason::Refused),
            };
            report::count(name(row), outcome);
            Some(result)
        }
        Ok((functions, image, status)) => {
            let files = (input, output);
            let (status, bytes) =
                decompress::decompress(functions, files, &image, status, settings);
            report::count(name(row), Outcome::Served(bytes));
            // SAFETY: the caller's variable, from which the status was read.
            unsafe { arguments.set_status(entry, status) };
            Some(status as u64)
        }
    }
}

/// Serves `ffpcks`, or compares CFITSIO's output.
fn update_checksums(
    library: &'static Library,
    row: usize,
    arguments: Arguments,
    settings: &Settings,
) -> Option<u64> {
    let (entry, file) = (&ENTRIES[row], arguments.handle());
    if !arguments.has_no_error(entry) {
        return forwarded(row, Reason::Status);
    }
    if file.is_null() {
        return forwarded(row, Reason::Arguments);
    }
    let (functions, bytes) = match checksum::plan(library, file, settings) {
        Err(reason) => return forwarded(row, reason),
        Ok(plan) => plan,
    };
    if settings.mode == Mode::Check {
        // SAFETY: the arguments passed by the caller.
        let result = unsafe { arguments.forward(library.real(row, entry.name)) };
        let difference = checksum::compare(functions, file);
        report::count(name(row), difference.map_or(Outcome::Served(bytes), Outcome::Differs));
        return Some(result);
    }
    let status = checksum::update(functions, file);
    report::count(name(row), Outcome::Served(bytes));
    // SAFETY: the caller's variable, from which the status was read.
    unsafe { arguments.set_status(entry, status) };
    Some(status as u64)
}

/// Serves a call in the caller's memory; returns the status, and the number of bytes read.
fn answer(
    library: &'static Library,
    call: &Call,
    settings: &Settings,
) -> Result<(u64, u64), Reason> {
    // SAFETY: the caller's arrays have the number of elements in the call.
    let (values, flags) = unsafe { call.arrays() };
    let served = serve(library, call.file, &call.request, values, flags, settings)?;
    if served.overflow
        && let Some(functions) = library.functions()
    {
        functions.report_overflow();
    }
    // SAFETY: the caller's variables for the results.
    Ok((unsafe { call.finish(served) }, served.bytes))
}

/// Serves a call in copies of the caller's memory, forwards it to CFITSIO too, and compares the results.
fn check(library: &'static Library, row: usize, call: &Call, arguments: Arguments) -> Option<u64> {
    let settings = Settings::get();
    // SAFETY: the caller's arrays have the number of elements in the call; nothing else uses them before the next
    // block.
    let (values, flags) = unsafe { call.arrays() };
    let copy = |bytes: &[u8]| memory::copied(bytes, "a copy of the array");
    let copies =
        copy(values).and_then(|values| Ok((values, flags.as_deref().map(copy).transpose()?)));
    let Ok((mut values_copy, mut flags_copy)) = copies else {
        return forwarded(row, Reason::Memory);
    };
    let copies = (&mut values_copy[..], flags_copy.as_deref_mut());
    let served = serve(library, call.file, &call.request, copies.0, copies.1, settings);
    // SAFETY: the arguments passed by the caller.
    let result = unsafe { arguments.forward(library.real(row, ENTRIES[row].name)) };
    let outcome = match served {
        Err(reason) => Outcome::Forwarded(reason),
        Ok(served) => {
            // SAFETY: as above, after the call.
            let (values, flags) = unsafe { call.arrays() };
            // SAFETY: the caller's variables for the results.
            let (any_null, status) = unsafe { call.results() };
            let expected = served.status();
            // Functions for Fortran are subroutines: the result register is undefined.
            let returns = !ENTRIES[row].name.to_bytes().ends_with(b"_");
            let is_same = values == &values_copy[..]
                && flags.as_deref() == flags_copy.as_deref()
                && any_null.is_none_or(|any_null| any_null == i32::from(served.any_null))
                && status == expected
                && (!returns || result as i32 == expected);
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
    report::count(name(row), outcome);
    Some(result)
}

/// Returns the name of the function in a row.
fn name(row: usize) -> &'static str {
    ENTRIES[row].name.to_str().unwrap_or_default()
}
