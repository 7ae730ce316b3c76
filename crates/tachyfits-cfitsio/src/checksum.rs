//! `ffpcks`: this library sums the data in large reads, CFITSIO does the rest.

use std::ops::Range;

use tachyfits::Tier;
use tachyfits::checksum::OnesComplement;
use tachyfits_memory as memory;

use crate::cfitsio::{Functions, Handle, Library};
use crate::report::Reason;
use crate::settings::Settings;

/// Bytes read at a time: whole blocks.
const READ_BYTES: usize = 360 * 2880;

/// Returns the functions that update the checksums of the current HDU, and the range of its data; an error if CFITSIO
/// must do all of it.
pub(crate) fn plan<'a>(
    library: &'a Library,
    file: Handle,
    settings: &Settings,
) -> Result<(&'a Functions, u64), Reason> {
    let functions = library.functions().ok_or(Reason::Library)?;
    functions.settle(file);
    let [_, data, end] = functions.offsets(file).ok_or(Reason::Refused)?;
    let bytes = end.saturating_sub(data);
    if bytes < (settings.least as u64).max(1) {
        return Err(Reason::Small);
    }
    let (kind, is_writable) = functions.kind_and_mode(file).ok_or(Reason::Refused)?;
    if !is_writable {
        return Err(Reason::File);
    }
    if kind != 0 || functions.is_compressed(file) != Some(false) {
        return Err(Reason::Form);
    }
    let functions = library.checksum_functions().ok_or(Reason::Library)?;
    functions.datasum(file).map_err(|()| Reason::Value)?;
    Ok((functions, bytes))
}

/// Updates the checksums; returns the status.
pub(crate) fn update(functions: &Functions, file: Handle) -> i32 {
    functions.update_checksums(file, |data| sum(functions, file, data))
}

/// Compares DATASUM, as updated by CFITSIO, with the sum of the data; describes a difference.
pub(crate) fn compare(functions: &Functions, file: Handle) -> Option<String> {
    let [_, data, end] = functions.offsets(file)?;
    let (ours, theirs) = (sum(functions, file, data..end), functions.datasum(file).ok().flatten());
    (ours != theirs).then(|| format!("DATASUM {theirs:?} and {ours:?}"))
}

/// Sums bytes read through CFITSIO.
fn sum(functions: &Functions, file: Handle, range: Range<u64>) -> Option<u32> {
    let mut sum = OnesComplement::default();
    let length = usize::try_from(range.end - range.start).ok()?.min(READ_BYTES);
    let mut buffer = memory::filled(length, 0u8, "data to be summed").ok()?;
    for offset in range.clone().step_by(READ_BYTES) {
        let part = &mut buffer[..length.min((range.end - offset) as usize)];
        if !functions.read(file, offset, part) {
            return None;
        }
        sum.accumulate(0, part, Tier::current());
    }
    Some(sum.sum())
}
