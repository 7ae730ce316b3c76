//! Pixels: reading, statistics, reductions, and images computed on reading.

use tachyfits::expression::{ExpressionInput, ExpressionPixels, InputValue};
use tachyfits::smooth::{Smoothing, SmoothingKernel};
use tachyfits::statistics::{OrderStatistic, UnknownStatistic, statistics};
use tachyfits::{
    AxisRange, Image, OutputPixels, PixelType, ReadAs, Region, Section, Statistic, Stats, Values,
    evaluate,
};
use tachyfits_arrow::AlignedBytes;
use tachyfits_memory as memory;

use super::convert::convert;
use super::{Call, FileHandle, Outcome};
use crate::failure::Failure;
use crate::types::{CStats, TACHYFITS_STORED, code_of};

/// A section of an image, the subject of a call.
pub(crate) struct Part<'a> {
    pub(crate) image: Image,
    /// One range per axis; None for all pixels.
    pub(crate) ranges: Option<&'a [AxisRange]>,
    pub(crate) region: Option<Region>,
}

impl Part<'_> {
    fn section(&self) -> Outcome<Section> {
        match self.ranges {
            None => Ok(self.image.whole()),
            Some(ranges) => Ok(self.image.section(ranges)?),
        }
    }

    fn regions(&self) -> Option<&[Region]> {
        self.region.as_ref().map(std::slice::from_ref)
    }

    /// Reads pixels as a type into the caller's array.
    pub(crate) fn read(&self, pixel: PixelType, out: &mut [u8], call: &Call<'_>) -> Outcome<()> {
        read(&self.image, &self.section()?, pixel, out, call)
    }

    /// Reads pixels into new memory; returns it with the lengths of the section's axes.
    pub(crate) fn read_new(
        &self,
        pixel: PixelType,
        call: &Call<'_>,
    ) -> Outcome<(AlignedBytes, Vec<u64>)> {
        let section = self.section()?;
        let bytes = section.pixels().checked_mul(pixel.bytes() as u64);
        let mut memory = AlignedBytes::zeros(bytes.unwrap_or(u64::MAX))?;
        read(&self.image, &section, pixel, memory.bytes_mut(), call)?;
        Ok((memory, section.ranges().iter().map(|range| range.count).collect()))
    }

    pub(crate) fn stats(&self, call: &Call<'_>) -> Outcome<CStats> {
        let (states, _) = self.image.stats(&self.section()?, self.regions(), &call.run())?;
        Ok(states.first().map_or_else(|| stats_of(&Stats::default()), stats_of))
    }

    pub(crate) fn quantiles(
        &self,
        fractions: &[f64],
        out: &mut [f64],
        call: &Call<'_>,
    ) -> Outcome<()> {
        let percent = |fraction: &f64| OrderStatistic::Percentile(fraction * 100.0);
        let statistics: Vec<_> = fractions.iter().map(percent).collect();
        let axes: Vec<_> = (0..self.image.axes().len()).collect();
        let section = self.section()?;
        let (result, _) =
            self.image.order(&statistics, &axes, &section, self.regions(), &call.run())?;
        for (place, values) in out.iter_mut().zip(&result.values) {
            *place = number_at(values, 0);
        }
        Ok(())
    }

    /// Counts the pixels in bins; `rest` receives the counts of undefined, lower and higher pixels.
    pub(crate) fn histogram(
        &self,
        range: (f64, f64),
        counts: &mut [u64],
        rest: Option<&mut [u64; 3]>,
        call: &Call<'_>,
    ) -> Outcome<()> {
        let section = self.section()?;
        let (histogram, _) =
            self.image.histogram(range, counts.len(), &section, self.regions(), &call.run())?;
        counts.iter_mut().zip(histogram.counts()).for_each(|(out, count)| *out = count);
        if let Some(rest) = rest {
            *rest = [histogram.nan(), histogram.below(), histogram.above()];
        }
        Ok(())
    }

    /// Reduces axes by a statistic; the array has a number for each pixel of the other axes.
    pub(crate) fn reduce(
        &self,
        axes: &[usize],
        statistic: &str,
        out: &mut [f64],
        call: &Call<'_>,
    ) -> Outcome<()> {
        let section = self.section()?;
        let run = call.run();
        let values = match OrderStatistic::of_name(statistic) {
            Some(statistic) => {
                self.image.order(&[statistic], axes, &section, self.regions(), &run)?.0.values
            }
            None => {
                let statistic: Statistic = statistic.parse().map_err(unknown_statistic)?;
                let result =
                    self.image.reduce(&[statistic], axes, &section, self.regions(), 0, &run)?;
                result.0.values
            }
        };
        let Some(values) = values.first() else { return Ok(()) };
        let count = match values {
            Values::Integers(values) => values.len(),
            Values::Floats(values) => values.len(),
        };
        if count != out.len() {
            let expected = format!("{count} numbers, one for each pixel of the axes that are kept");
            let hint = "give an array with a number for each output";
            return Err(Failure::argument("room", out.len(), &expected, hint));
        }
        for (index, place) in out.iter_mut().enumerate() {
            *place = number_at(values, index);
        }
        Ok(())
    }

    pub(crate) fn cut(&self) -> Outcome<FileHandle> {
        Ok(FileHandle(self.image.cut(&self.section()?, &[])?))
    }
}

/// Counts the undefined pixels among pixels that were read, and marks them with 1 in `flags`.
pub(crate) fn undefined(
    image: &Image,
    pixel: PixelType,
    pixels: &[u8],
    flags: Option<&mut [u8]>,
    call: &Call<'_>,
) -> Outcome<u64> {
    let count = pixels.len() / pixel.bytes();
    if let Some(flags) = &flags
        && flags.len() != count
    {
        let hint = "give a byte for each pixel";
        return Err(Failure::argument("nulls.room", flags.len(), &format!("{count} bytes"), hint));
    }
    let blank = image.layout().blank.filter(|_| !pixel.is_float());
    let blank = blank.map(|blank| integer_bytes(blank, pixel, call.has(TACHYFITS_STORED)));
    let is_undefined = |bytes: &[u8]| match (pixel, &blank) {
        (PixelType::F32, _) => f32::from_ne_bytes(bytes.try_into().unwrap_or_default()).is_nan(),
        (PixelType::F64, _) => f64::from_ne_bytes(bytes.try_into().unwrap_or_default()).is_nan(),
        (_, Some(blank)) => bytes == &blank[..bytes.len()],
        (_, None) => false,
    };
    let pixels = pixels.chunks_exact(pixel.bytes());
    let Some(flags) = flags else {
        return Ok(pixels.filter(|bytes| is_undefined(bytes)).count() as u64);
    };
    let mut count = 0;
    for (flag, bytes) in flags.iter_mut().zip(pixels) {
        *flag = u8::from(is_undefined(bytes));
        count += u64::from(*flag);
    }
    Ok(count)
}

/// Encodes a stored integer as a pixel in memory: with the unsigned conventions, unless pixels are read as stored.
fn integer_bytes(stored: i64, pixel: PixelType, is_stored: bool) -> [u8; 8] {
    let offset = match pixel {
        _ if is_stored => 0,
        PixelType::I8 => -(1 << 7),
        PixelType::U16 => 1 << 15,
        PixelType::U32 => 1 << 31,
        PixelType::U64 => i64::MIN,
        _ => 0,
    };
    // The low bytes are equal for signed and unsigned integers of any width.
    let bytes = stored.wrapping_add(offset).to_le_bytes();
    let mut own = [0; 8];
    let size = pixel.bytes();
    own[..size].copy_from_slice(&bytes[..size]);
    if cfg!(target_endian = "big") {
        own[..size].reverse();
    }
    own
}

/// Reads a run of pixels in file order.
pub(crate) fn read_run(
    image: &Image,
    (first, count): (u64, u64),
    pixel: PixelType,
    out: &mut [u8],
    call: &Call<'_>,
) -> Outcome<()> {
    let line = image.flattened();
    let section = line.section(&[AxisRange { first, count, step: 1 }])?;
    read(&line, &section, pixel, out, call)
}

fn read(
    image: &Image,
    section: &Section,
    pixel: PixelType,
    out: &mut [u8],
    call: &Call<'_>,
) -> Outcome<()> {
    let run = call.run();
    let raw = call.has(TACHYFITS_STORED);
    let how = match pixel {
        _ if raw => ReadAs::Raw,
        PixelType::F32 => ReadAs::Float32,
        PixelType::F64 => ReadAs::Float64,
        _ if image.layout().scaled => ReadAs::Float64,
        _ => ReadAs::Exact,
    };
    let own = image.read_type(how)?;
    if own != pixel {
        return read_converted(image, section, (how, own), (pixel, out), call);
    }
    let unaligned = |_| {
        let expected = "memory aligned for numbers of this type, and as many bytes as they take";
        Failure::argument("out", "", expected, "use memory of malloc or an array of the type")
    };
    let out = match pixel {
        PixelType::F32 => {
            OutputPixels::Float32(bytemuck::try_cast_slice_mut(out).map_err(unaligned)?)
        }
        PixelType::F64 => {
            OutputPixels::Float64(bytemuck::try_cast_slice_mut(out).map_err(unaligned)?)
        }
        _ => OutputPixels::Bytes(out),
    };
    image.read(section, how, out, &run)?;
    Ok(())
}

/// Pixels converted at a time.
const BLOCK: u64 = 1 << 19;

/// Reads pixels in their own type, block by block, and converts them to another type without loss.
fn read_converted(
    image: &Image,
    section: &Section,
    (how, own): (ReadAs, PixelType),
    (pixel, out): (PixelType, &mut [u8]),
    call: &Call<'_>,
) -> Outcome<()> {
    let ranges = section.ranges();
    let count = ranges.iter().map(|range| range.count).product::<u64>();
    let expected = usize::try_from(count).ok().and_then(|count| count.checked_mul(pixel.bytes()));
    if expected != Some(out.len()) {
        let expected = format!("{count} pixels of {} bytes", pixel.bytes());
        let name = "out of";
        let hint = "give an array with as many elements as the section has pixels";
        return Err(Failure::argument(name, format!("{} bytes", out.len()), &expected, hint));
    }
    let Some(axis) = ranges.iter().rposition(|range| range.count > 1 && count > BLOCK) else {
        let words = (count as usize * own.bytes()).div_ceil(8);
        let mut numbers = memory::filled(words, 0.0_f64, "pixels before their conversion")?;
        let bytes = &mut bytemuck::cast_slice_mut(&mut numbers)[..count as usize * own.bytes()];
        read(image, section, own, bytes, call)?;
        return convert((bytes, own), (out, pixel), &[]).map_err(|value| {
            let expected = format!("one that holds the pixel {value}");
            let hint = "read a wider type, or TACHYFITS_DOUBLE";
            Failure::argument("type", code_of(pixel), &expected, hint)
        });
    };
    let mut halves = [ranges.to_vec(), ranges.to_vec()];
    let whole = ranges[axis];
    let half = whole.count / 2;
    halves[0][axis].count = half;
    halves[1][axis].count = whole.count - half;
    halves[1][axis].first = whole.first.wrapping_add_signed(whole.step * half as i64);
    let (first, second) = out.split_at_mut(out.len() / whole.count as usize * half as usize);
    for (ranges, out) in halves.iter().zip([first, second]) {
        read_converted(image, &image.section(ranges)?, (how, own), (pixel, out), call)?;
    }
    Ok(())
}

/// Reads all pixels as stored, in native byte order.
pub(crate) fn read_stored(image: &Image, out: &mut [u8], call: &Call<'_>) -> Outcome<()> {
    let flags = call.flags | TACHYFITS_STORED;
    read(image, &image.whole(), image.stored_type(), out, &Call { flags, ..*call })
}

fn unknown_statistic(unknown: UnknownStatistic) -> Failure {
    let names: Vec<_> = statistics().map(|facts| facts.name).collect();
    let expected = format!("{} or percentile90 (any number)", names.join(", "));
    Failure::argument("statistic", format!("'{}'", unknown.name), &expected, "use one of these")
}

fn number_at(values: &Values, index: usize) -> f64 {
    match values {
        Values::Integers(values) => values[index] as f64,
        Values::Floats(values) => values[index],
    }
}

fn stats_of(stats: &Stats) -> CStats {
    let position = |at: Option<tachyfits::statistics::Extremum>| {
        at.map_or((f64::NAN, -1), |at| (at.value, at.position as i64))
    };
    let ((min, min_position), (max, max_position)) = (position(stats.min), position(stats.max));
    CStats {
        bytes: size_of::<CStats>() as u32,
        reserved: 0,
        count: stats.count,
        undefined: stats.nan,
        sum: stats.sum.value(),
        mean: stats.mean(),
        rms: stats.rms(),
        std: stats.std(0),
        min,
        max,
        min_position,
        max_position,
    }
}

/// Creates an image that is computed from others on reading: a file of one HDU.
pub(crate) fn evaluated(expression: &str, inputs: Vec<(String, Image)>) -> Outcome<FileHandle> {
    let inputs: Vec<_> = inputs
        .into_iter()
        .map(|(name, image)| ExpressionInput { name, value: InputValue::Image(image) })
        .collect();
    Ok(FileHandle(evaluate(expression, &inputs, ExpressionPixels::Automatic, None)?))
}

/// Reorders the axes of an image: the new axis n is `order[n]`, 0 for NAXIS1.
pub(crate) fn reordered(image: &Image, order: &[usize]) -> Outcome<FileHandle> {
    Ok(FileHandle(image.reorder(order)?))
}

/// Creates an image that is smoothed along an axis on reading: "hanning", "boxcar" of an odd width or "gaussian" of a
/// sigma.
pub(crate) fn smoothed(
    image: &Image,
    axis: usize,
    kernel: &str,
    width: f64,
) -> Outcome<FileHandle> {
    let kernel = match kernel {
        "hanning" => SmoothingKernel::Hanning,
        "gaussian" => SmoothingKernel::Gaussian(width),
        "boxcar" if width.fract() == 0.0 && (1.0..1e9).contains(&width) => {
            SmoothingKernel::Boxcar(width as usize)
        }
        "boxcar" => {
            let hint = "give the number of pixels of the boxcar";
            return Err(Failure::argument("width", width, "an odd whole number", hint));
        }
        other => {
            let hint = "use one of these names";
            let expected = "hanning, boxcar or gaussian";
            return Err(Failure::argument("kernel", format!("'{other}'"), expected, hint));
        }
    };
    Ok(FileHandle(image.smooth(&Smoothing::new(axis, kernel.weights()?))?))
}
