//! Pixels: reading, statistics, reductions, and images computed when they are read.

use tachyfits::expression::{ExpressionInput, ExpressionPixels, InputValue};
use tachyfits::smooth::{Smoothing, SmoothingKernel};
use tachyfits::statistics::OrderStatistic;
use tachyfits::{
    AxisRange, Image, OutputPixels, PixelType, ReadAs, Region, Section, Statistic, Stats, Values,
    evaluate,
};

use super::convert::convert;
use super::{Call, FileHandle, Outcome};
use crate::failure::Failure;
use crate::types::{CStats, TACHYFITS_STORED, code_of};

/// The pixels that a call is about.
pub(crate) struct Part<'a> {
    pub(crate) image: Image,
    /// One range for each axis; None for all pixels.
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

    /// Reads pixels as a type into an array of the caller.
    pub(crate) fn read(&self, pixel: PixelType, out: &mut [u8], call: &Call<'_>) -> Outcome<()> {
        read(&self.image, &self.section()?, pixel, out, call)
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
        let (reduced, _) =
            self.image.order(&statistics, &axes, &section, self.regions(), &call.run())?;
        for (place, values) in out.iter_mut().zip(&reduced.values) {
            *place = number_at(values, 0);
        }
        Ok(())
    }

    /// Counts the pixels of bins; `rest` takes the undefined, lower and higher ones.
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
        let values = match order_statistic(statistic)? {
            Some(statistic) => {
                self.image.order(&[statistic], axes, &section, self.regions(), &run)?.0.values
            }
            None => {
                let statistic: Statistic = statistic.parse()?;
                let reduced =
                    self.image.reduce(&[statistic], axes, &section, self.regions(), 0, &run)?;
                reduced.0.values
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

/// Reads a run of pixels in the order of the file.
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

/// Pixels that are converted at a time.
const BLOCK: u64 = 1 << 19;

/// Reads pixels in their own type, block by block, and converts them to one that holds each of them.
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
        let mut numbers = vec![0.0_f64; (count as usize * own.bytes()).div_ceil(8)];
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

/// "median", "mad" and "percentile90" or another number.
fn order_statistic(name: &str) -> Outcome<Option<OrderStatistic>> {
    Ok(match name {
        "median" => Some(OrderStatistic::Median),
        "mad" => Some(OrderStatistic::Mad),
        _ => match name.strip_prefix("percentile") {
            None => None,
            Some(number) => {
                let hint = "write percentile and a number: \"percentile90\"";
                let invalid = |_| Failure::argument("statistic", format!("'{name}'"), hint, hint);
                Some(OrderStatistic::Percentile(number.parse().map_err(invalid)?))
            }
        },
    })
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

/// An image computed from others when it is read: a file of one HDU.
pub(crate) fn evaluated(expression: &str, inputs: Vec<(String, Image)>) -> Outcome<FileHandle> {
    let inputs: Vec<_> = inputs
        .into_iter()
        .map(|(name, image)| ExpressionInput { name, value: InputValue::Image(image) })
        .collect();
    Ok(FileHandle(evaluate(expression, &inputs, ExpressionPixels::Automatic, None)?))
}

/// An image smoothed along an axis when it is read: "hanning", "boxcar" of an odd width or "gaussian" of a sigma.
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
