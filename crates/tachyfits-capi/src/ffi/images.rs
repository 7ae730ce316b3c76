//! Pixels: reading, statistics, reductions, and images computed on reading.
//!
//! `ranges` has one range for each axis, NAXIS1 first; NULL means the whole image. `region` may be NULL.

use std::ffi::{c_char, c_void};

use tachyfits::{AxisRange, Image, PixelType, Region};

use super::dlpack::{DLManagedTensorVersioned, exported};
use super::{
    call, check_bytes, guarded, mutable, optional_text, put, put_handle, reference, slice,
    slice_mut, text,
};
use crate::failure::Failure;
use crate::handles::pixels::{Part, evaluated, read_run, reordered, smoothed, undefined};
use crate::handles::{Call, FileHandle, HeaderHandle, Outcome};
use crate::types::{
    CError, CNulls, COptions, CRange, CRegion, CStats, TACHYFITS_BOX, TACHYFITS_CIRCLE,
    TACHYFITS_ELLIPSE, TACHYFITS_NULLS_NAN, TACHYFITS_POLYGON, pixel_of,
};

/// Converts the ranges of all axes; a step of 0 becomes 1.
pub(super) fn ranges_of(ranges: *const CRange, naxis: usize) -> Outcome<Option<Vec<AxisRange>>> {
    if ranges.is_null() {
        return Ok(None);
    }
    let range = |range: &CRange| AxisRange {
        first: range.first,
        count: range.count,
        step: if range.step == 0 { 1 } else { range.step },
    };
    Ok(Some(slice(ranges, naxis, "ranges")?.iter().map(range).collect()))
}

fn region_of(region: *const CRegion) -> Outcome<Option<Region>> {
    if region.is_null() {
        return Ok(None);
    }
    let region = reference(region, "region")?;
    check_bytes(region.bytes, size_of::<CRegion>(), "region")?;
    let CRegion { x, y, a, b, angle, .. } = *region;
    Ok(Some(match region.shape {
        TACHYFITS_CIRCLE => Region::circle(x, y, a)?,
        TACHYFITS_ELLIPSE => Region::ellipse(x, y, a, b, angle)?,
        TACHYFITS_BOX => Region::rectangle(x, y, a, b, angle)?,
        TACHYFITS_POLYGON => {
            let count = region.corner_count.saturating_mul(2);
            let numbers = slice(region.corners, count, "region.corners")?;
            let corners: Vec<_> = numbers.chunks_exact(2).map(|at| (at[0], at[1])).collect();
            Region::polygon(&corners)?
        }
        other => {
            let hint = "use TACHYFITS_CIRCLE, _ELLIPSE, _BOX or _POLYGON";
            return Err(Failure::argument("region.shape", other, "1 to 4", hint));
        }
    }))
}

/// Runs an operation on a section of an image.
fn with_part<T>(
    (file, hdu): (*const FileHandle, usize),
    ranges: *const CRange,
    region: *const CRegion,
    operate: impl FnOnce(&Part<'_>) -> Outcome<T>,
) -> Outcome<T> {
    let image = reference(file, "file")?.image(hdu)?;
    let ranges = ranges_of(ranges, image.axes().len())?;
    operate(&Part { image, ranges: ranges.as_deref(), region: region_of(region)? })
}

pub(super) fn pixel_type(code: i32) -> Outcome<PixelType> {
    pixel_of(code).ok_or_else(|| {
        let hint = "use TACHYFITS_UINT8 to TACHYFITS_DOUBLE";
        Failure::argument("type", code, "a type of numbers, 1 to 10", hint)
    })
}

/// Returns the caller's struct for undefined pixels, validated before reading; `None` if it is NULL.
fn nulls_of<'a>(call: &Call<'_>) -> Outcome<Option<&'a mut CNulls>> {
    if call.nulls.is_null() {
        return Ok(None);
    }
    let nulls = mutable(call.nulls, "nulls")?;
    check_bytes(nulls.bytes, size_of::<CNulls>(), "nulls")?;
    if nulls.policy == TACHYFITS_NULLS_NAN {
        return Ok(Some(nulls));
    }
    let hint = "use TACHYFITS_NULLS_NAN";
    Err(Failure::argument("nulls.policy", nulls.policy, "a policy of the header", hint))
}

/// Fills the caller's struct for undefined pixels.
fn take_nulls(
    nulls: Option<&mut CNulls>,
    (image, pixel, pixels): (&Image, PixelType, &[u8]),
    call: &Call<'_>,
) -> Outcome<()> {
    let Some(nulls) = nulls else { return Ok(()) };
    let flags = match nulls.flags.is_null() {
        true => None,
        false => Some(slice_mut(nulls.flags, nulls.room, "nulls.flags")?),
    };
    nulls.count = undefined(image, pixel, pixels, flags, call)?;
    Ok(())
}

/// Read pixels into an array of `bytes` bytes, the first axis the fastest.
///
/// TACHYFITS_FLOAT and TACHYFITS_DOUBLE are physical values, NaN if undefined (NaN or BLANK). An integer type must
/// represent every pixel, or an error is returned; to read without conversion, use pixel_type of tachyfits_describe, or
/// stored_type with the flag TACHYFITS_STORED. `nulls` of the options receives the number of undefined pixels, and a
/// flag for each pixel.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_read(
    file: *const FileHandle,
    hdu: usize,
    ranges: *const CRange,
    pixel: i32,
    out: *mut c_void,
    bytes: usize,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        with_part((file, hdu), ranges, std::ptr::null(), |part| {
            let out = slice_mut(out.cast::<u8>(), bytes, "out")?;
            let (pixel, call) = (pixel_type(pixel)?, call(options)?);
            let nulls = nulls_of(&call)?;
            part.read(pixel, out, &call)?;
            take_nulls(nulls, (&part.image, pixel, out), &call)
        })
    })
}

/// Read a run of pixels in file order, by the number of the first pixel and their count, like tachyfits_read.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_read_run(
    file: *const FileHandle,
    hdu: usize,
    first: u64,
    count: u64,
    pixel: i32,
    out: *mut c_void,
    bytes: usize,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let image = reference(file, "file")?.image(hdu)?;
        let out = slice_mut(out.cast::<u8>(), bytes, "out")?;
        let (pixel, call) = (pixel_type(pixel)?, call(options)?);
        let nulls = nulls_of(&call)?;
        read_run(&image, (first, count), pixel, out, &call)?;
        take_nulls(nulls, (&image, pixel, out), &call)
    })
}

/// Read pixels, like tachyfits_read, into new memory with type and shape, in C order (NAXIS1 is the last axis): for
/// NumPy, PyTorch and others. Its `deleter` frees it.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_read_dlpack(
    file: *const FileHandle,
    hdu: usize,
    ranges: *const CRange,
    pixel: i32,
    tensor: *mut *mut DLManagedTensorVersioned,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put(tensor, "tensor", || {
            with_part((file, hdu), ranges, std::ptr::null(), |part| {
                let pixel = pixel_type(pixel)?;
                let call = call(options)?;
                let nulls = nulls_of(&call)?;
                let (memory, lengths) = part.read_new(pixel, &call)?;
                take_nulls(nulls, (&part.image, pixel, memory.bytes()), &call)?;
                Ok(exported(memory, pixel, &lengths))
            })
        })
    })
}

/// Compute statistics in one pass. Set stats.bytes to sizeof(tachyfits_stats) first.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_statistics(
    file: *const FileHandle,
    hdu: usize,
    ranges: *const CRange,
    region: *const CRegion,
    stats: *mut CStats,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let stats = mutable(stats, "stats")?;
        check_bytes(stats.bytes, size_of::<CStats>(), "stats")?;
        *stats = with_part((file, hdu), ranges, region, |part| part.stats(&call(options)?))?;
        Ok(())
    })
}

/// Compute exact quantiles: `fractions` are from 0 to 1, 0.5 is the median; store one number for each, NaN if no pixel
/// is defined.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_quantiles(
    file: *const FileHandle,
    hdu: usize,
    ranges: *const CRange,
    region: *const CRegion,
    fractions: *const f64,
    out: *mut f64,
    count: usize,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        with_part((file, hdu), ranges, region, |part| {
            let fractions = slice(fractions, count, "fractions")?;
            part.quantiles(fractions, slice_mut(out, count, "out")?, &call(options)?)
        })
    })
}

/// Count pixels in equal bins from `low` to `high`, including the upper edge; `rest`, which may be NULL, receives 3
/// numbers: the undefined pixels, those below and those above.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_histogram(
    file: *const FileHandle,
    hdu: usize,
    ranges: *const CRange,
    region: *const CRegion,
    low: f64,
    high: f64,
    counts: *mut u64,
    bins: usize,
    rest: *mut u64,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        with_part((file, hdu), ranges, region, |part| {
            let counts = slice_mut(counts, bins, "counts")?;
            let rest = match rest.is_null() {
                true => None,
                false => slice_mut(rest, 3, "rest")?.first_chunk_mut(),
            };
            part.histogram((low, high), counts, rest, &call(options)?)
        })
    })
}

/// Reduce axes (0 is NAXIS1) by a statistic: "mean", "std", "median", "percentile90" and others; the error of an
/// unknown name lists them. `out` has space for `room` numbers, one for each pixel of the other axes; a region is in
/// the plane of NAXIS1 and NAXIS2, both of which are then reduced.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_reduce(
    file: *const FileHandle,
    hdu: usize,
    ranges: *const CRange,
    region: *const CRegion,
    axes: *const usize,
    axis_count: usize,
    statistic: *const c_char,
    out: *mut f64,
    room: usize,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        with_part((file, hdu), ranges, region, |part| {
            let axes = slice(axes, axis_count, "axes")?;
            let out = slice_mut(out, room, "out")?;
            part.reduce(axes, text(statistic, "statistic")?, out, &call(options)?)
        })
    })
}

/// Create an image from an expression such as "where(a > 3 * b, a, nan)" of named images: a file of one HDU whose
/// pixels are computed on reading. The input files may be closed before it.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_evaluate(
    expression: *const c_char,
    names: *const *const c_char,
    files: *const *const FileHandle,
    hdus: *const usize,
    count: usize,
    result: *mut *mut FileHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put_handle(result, "result", || {
            let names = slice(names, count, "names")?;
            let files = slice(files, count, "files")?;
            let hdus = slice(hdus, count, "hdus")?;
            let mut inputs = Vec::new();
            for ((name, file), hdu) in names.iter().zip(files).zip(hdus) {
                let image = reference(*file, "file")?.image(*hdu)?;
                inputs.push((text(*name, "name")?.to_owned(), image));
            }
            evaluated(text(expression, "expression")?, inputs)
        })
    })
}

/// Cut a section out of an image: a file of one HDU, with its coordinates, read on use.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_cut(
    file: *const FileHandle,
    hdu: usize,
    ranges: *const CRange,
    result: *mut *mut FileHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put_handle(result, "result", || {
            with_part((file, hdu), ranges, std::ptr::null(), |part| part.cut())
        })
    })
}

/// Reorder the axes of an image: the new axis n is axis `order[n]`, 0 for NAXIS1, of `naxis` axes; a file of one HDU,
/// with its coordinates, read on use.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_reorder(
    file: *const FileHandle,
    hdu: usize,
    order: *const usize,
    naxis: usize,
    result: *mut *mut FileHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put_handle(result, "result", || {
            let image = reference(file, "file")?.image(hdu)?;
            reordered(&image, slice(order, naxis, "order")?)
        })
    })
}

/// Replace the cards of an image, except those of its structure and scaling; a file of one HDU, read on use.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_with_header(
    file: *const FileHandle,
    hdu: usize,
    header: *const HeaderHandle,
    result: *mut *mut FileHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put_handle(result, "result", || {
            reference(file, "file")?.with_header(hdu, reference(header, "header")?)
        })
    })
}

/// Smooth an image along an axis: "hanning", "boxcar" (`width` pixels) or "gaussian" (`width` is its sigma in pixels);
/// a file of one HDU, computed on reading.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_smooth(
    file: *const FileHandle,
    hdu: usize,
    axis: usize,
    kernel: *const c_char,
    width: f64,
    result: *mut *mut FileHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put_handle(result, "result", || {
            let image = reference(file, "file")?.image(hdu)?;
            let kernel = optional_text(kernel, "kernel")?.unwrap_or("hanning");
            smoothed(&image, axis, kernel, width)
        })
    })
}
