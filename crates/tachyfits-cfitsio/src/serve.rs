//! Answers requests in the caller's memory.

use std::sync::Arc;

use tachyfits::PixelType;
use tachyfits::io::Storage;
use tachyfits::strided::{Encoding, NullOutput, NullRule, StridedArray};
use tachyfits::{Job, RunOptions};

use crate::cfitsio::{ColumnFacts, Functions, Handle, Library};
use crate::files;
use crate::report::Reason;
use crate::request::{Found, NULL_DOUBLE, NULL_SINGLE, NullWish, Place, Request, fits};
use crate::settings::Settings;
use crate::shared::executor;

/// CFITSIO's null value for integers without one.
const NO_NULL: i64 = 1_234_554_321;

/// Size below which the calling thread fills the array alone: about two milliseconds.
const ONE_THREAD_BYTES: usize = 4 << 20;

/// HDU types, as numbered by CFITSIO.
const IMAGE: i32 = 0;
const BINARY_TABLE: i32 = 2;

/// Serves a request; returns an error if CFITSIO must do it. The array may have been changed in this case, except for
/// null elements that keep their content.
pub(crate) fn serve(
    library: &Library,
    file: Handle,
    request: &Request,
    values: &mut [u8],
    flags: Option<&mut [u8]>,
    settings: &Settings,
) -> Result<Found, Reason> {
    let functions = library.functions().ok_or(Reason::Library)?;
    functions.settle(file);
    let is_image = !matches!(request.place, Place::Column { .. });
    if is_image && functions.is_compressed(file).ok_or(Reason::Refused)? {
        let tiled = files::tiled(library, functions, file)?;
        return tiled.serve(functions, file, request, values, flags, settings);
    }
    let elements = Elements::find(functions, file, request)?;
    if request.kind == PixelType::U64 && elements.encoding != Encoding::plain(PixelType::U64) {
        // Whether CFITSIO clips negative numbers depends on null values and the stored type.
        return Err(Reason::Value);
    }
    if request.kind == PixelType::I8
        && request.nulls != NullWish::Ignore
        && elements.encoding.blank.is_some()
    {
        // CFITSIO does not clip such bytes.
        return Err(Reason::Value);
    }
    let is_section = matches!(request.place, Place::Section { .. });
    if is_section && !fits(&elements.encoding, request.kind) {
        // CFITSIO stops at the first row with a number that does not fit.
        return Err(Reason::Value);
    }
    let count = (values.len() / request.kind.bytes()) as u64;
    let range = elements.array.extent(elements.first..elements.first + count);
    let storage: Arc<dyn Storage> = files::storage(library, functions, file, range)?;
    elements.read(&*storage, request, values, flags, settings)
}

/// Elements of an image or a column.
#[derive(Debug, PartialEq)]
struct Elements {
    array: StridedArray,
    encoding: Encoding,
    first: u64,
}

impl Elements {
    /// Queries the position and encoding of the elements from CFITSIO.
    fn find(functions: &Functions, file: Handle, request: &Request) -> Result<Elements, Reason> {
        let column = |column, row, element, count| {
            functions.column(file, column, row, element, count).ok_or(Reason::Refused)
        };
        match &request.place {
            Place::Column { column: number, row, element, count } => {
                let facts = column(*number, *row, *element, *count)?;
                Elements::run(&facts, BINARY_TABLE, *count)
            }
            Place::Run { group, first, count } => {
                Elements::run(&column(2, (*group).max(1), *first, *count)?, IMAGE, *count)
            }
            Place::Pixels { first, count } => {
                let axes = functions.axes(file).ok_or(Reason::Refused)?;
                if axes[0] == 0 {
                    return Err(Reason::Form);
                }
                let (mut element, mut step) = (1i64, 1i64);
                for (&first, &length) in first.iter().zip(&axes) {
                    let along = (first - 1).checked_mul(step).ok_or(Reason::Arguments)?;
                    element = element.checked_add(along).ok_or(Reason::Arguments)?;
                    step = step.checked_mul(length).ok_or(Reason::Arguments)?;
                }
                Elements::run(&column(2, 1, element, *count)?, IMAGE, *count)
            }
            Place::Section { group, first, last, step, axes: stated } => {
                let axes = functions.axes(file).ok_or(Reason::Refused)?;
                let is_within = last.iter().zip(&axes).all(|(last, length)| last <= length);
                let is_stated = stated.as_ref().is_none_or(|stated| *stated == axes);
                if *group != 1 || first.len() != axes.len() || !is_stated || !is_within {
                    return Err(Reason::Arguments);
                }
                Elements::section(&column(2, 1, 1, 1)?, &axes, first, last, step)
            }
        }
    }

    /// Returns the elements of consecutive rows, starting with the first.
    fn run(facts: &ColumnFacts, hdu_type: i32, count: i64) -> Result<Elements, Reason> {
        let (encoding, offset) = facts.encoding(hdu_type)?;
        let number = |value: i64| u64::try_from(value).map_err(|_| Reason::Form);
        let (first, repeat) = (number(facts.element)?, number(facts.repeat)?);
        let end = first.checked_add(number(count)?).ok_or(Reason::Form)?;
        if repeat == 0 {
            return Err(Reason::Form);
        }
        let axes =
            [(repeat, number(facts.step)?), (end.div_ceil(repeat), number(facts.row_bytes)?)];
        // The rows of an image are its groups; most images have one.
        let axes = if end <= repeat { &axes[..1] } else { &axes[..] };
        let array = StridedArray::new(offset, encoding, axes).ok_or(Reason::Form)?;
        Ok(Elements { array, encoding, first })
    }

    /// Returns the pixels of a section, whose ends are within the axes.
    fn section(
        facts: &ColumnFacts,
        axes: &[i64],
        first: &[i64],
        last: &[i64],
        step: &[i64],
    ) -> Result<Elements, Reason> {
        let (encoding, offset) = facts.encoding(IMAGE)?;
        let number = |value: i64| u64::try_from(value).map_err(|_| Reason::Arguments);
        let mut stride = encoding.pixel_bytes() as u64;
        let (mut begin, mut parts) = (offset, Vec::new());
        for (((&first, &last), &step), &length) in first.iter().zip(last).zip(step).zip(axes) {
            let (first, step) = (number(first - 1)?, number(step)?);
            let count = (number(last - 1)? - first) / step + 1;
            let of = |count: u64| count.checked_mul(stride).ok_or(Reason::Arguments);
            begin = begin.checked_add(of(first)?).ok_or(Reason::Arguments)?;
            parts.push((count, of(step)?));
            stride = of(number(length)?)?;
        }
        let array = StridedArray::new(begin, encoding, &parts).ok_or(Reason::Arguments)?;
        Ok(Elements { array, encoding, first: 0 })
    }

    fn read(
        &self,
        storage: &dyn Storage,
        request: &Request,
        values: &mut [u8],
        flags: Option<&mut [u8]>,
        settings: &Settings,
    ) -> Result<Found, Reason> {
        let Encoding { pixel, blank, .. } = self.encoding;
        let rule = match (request.nulls, pixel.is_float(), blank) {
            (NullWish::Ignore, _, _) | (_, false, None) => NullRule::Nothing,
            (_, true, _) => NullRule::NotFinite,
            (_, false, Some(_)) => NullRule::Nan,
        };
        let nulls = match (request.nulls, flags) {
            (NullWish::Value(value), _) => NullOutput::Value(value),
            (NullWish::Flags, Some(flags)) => {
                NullOutput::Flags { flags, value: self.marked(request) }
            }
            (NullWish::Ignore, _) | (NullWish::Flags, None) => NullOutput::Value(0),
        };
        let threads = if values.len() < ONE_THREAD_BYTES { 1 } else { settings.threads };
        let executor = executor(settings.threads).ok_or(Reason::Busy)?;
        let job = Job::on(&executor);
        let options = RunOptions::new().threads(threads).job(Some(&job));
        let result =
            self.array.read(storage, self.first, request.kind, rule, nulls, values, &options);
        let (report, counts) = result.map_err(|_| Reason::Reading)?;
        if counts.odd > 0 {
            return Err(Reason::Value);
        }
        let (any_null, overflow) = (counts.nulls > 0, counts.clipped > 0);
        Ok(Found { any_null, overflow, bytes: report.bytes })
    }

    /// Returns the bits for flagged null elements; `None` if they keep the content of the array.
    fn marked(&self, request: &Request) -> Option<u64> {
        let (stored, kind) = (self.encoding.pixel, request.kind);
        match (stored, kind) {
            (PixelType::F32, PixelType::F32) => Some(NULL_SINGLE.to_bits().into()),
            (PixelType::F64, PixelType::F64) => Some(NULL_DOUBLE.to_bits()),
            _ if stored.is_float() || kind.is_float() || request.is_long => None,
            // CFITSIO reads integers of the same size into the array and converts them there.
            _ if stored.bytes() == kind.bytes() => self.encoding.blank.map(|blank| blank as u64),
            _ => None,
        }
    }
}

impl ColumnFacts {
    /// Returns the encoding of an element, and the offset of the first row.
    fn encoding(&self, hdu_type: i32) -> Result<(Encoding, u64), Reason> {
        let stored = match self.code {
            11 => PixelType::U8,
            21 => PixelType::I16,
            41 => PixelType::I32,
            81 => PixelType::I64,
            42 => PixelType::F32,
            82 => PixelType::F64,
            _ => return Err(Reason::Form),
        };
        // CFITSIO treats a column of single numbers as one row of numbers with a stride.
        let size = stored.bytes() as i64;
        if self.hdu_type != hdu_type || self.step < size || (hdu_type == IMAGE && self.step > size)
        {
            return Err(Reason::Form);
        }
        let (scale, zero) = (self.scale, self.zero);
        // With a zero of -0.0, or a scale that is not finite, the bits depend on the order of operations.
        let is_plain =
            scale.is_finite() && zero.is_finite() && zero.to_bits() != (-0.0f64).to_bits();
        if !is_plain {
            return Err(Reason::Value);
        }
        let offset = u64::try_from(self.start).map_err(|_| Reason::Form)?;
        let (pixel, scaling) = match (stored, scale, zero) {
            (_, 1.0, 0.0) => (stored, None),
            (PixelType::U8, 1.0, -128.0) => (PixelType::I8, None),
            (PixelType::I16, 1.0, 32_768.0) => (PixelType::U16, None),
            (PixelType::I32, 1.0, 2_147_483_648.0) => (PixelType::U32, None),
            (PixelType::I64, 1.0, 9_223_372_036_854_775_808.0) => (PixelType::U64, None),
            _ => (stored, Some((scale, zero))),
        };
        let blank = match stored {
            _ if self.null == NO_NULL => None,
            PixelType::U8 => u8::try_from(self.null).ok().map(i64::from),
            PixelType::I16 => i16::try_from(self.null).ok().map(i64::from),
            // CFITSIO compares only the lower half.
            PixelType::I32 => Some((self.null as i32).into()),
            PixelType::I64 => Some(self.null),
            _ => None,
        };
        Ok((Encoding { scaling, blank, ..Encoding::plain(pixel) }, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::{BINARY_TABLE, Elements, IMAGE, NO_NULL};
    use crate::cfitsio::ColumnFacts;
    use crate::report::Reason;
    use tachyfits::PixelType;
    use tachyfits::strided::{Encoding, StridedArray};

    fn facts() -> ColumnFacts {
        ColumnFacts {
            scale: 1.0,
            zero: 0.0,
            code: 21,
            start: 2880,
            element: 2,
            step: 2,
            repeat: 5,
            row_bytes: 30,
            hdu_type: BINARY_TABLE,
            null: NO_NULL,
        }
    }

    #[test]
    fn elements_of_columns_go_on_in_the_next_row() {
        let elements = Elements::run(&facts(), BINARY_TABLE, 10).unwrap();
        let encoding = Encoding::plain(PixelType::I16);
        let array = StridedArray::new(2880, encoding, &[(5, 2), (3, 30)]).unwrap();
        assert_eq!(elements, Elements { array, encoding, first: 2 });
    }

    #[test]
    fn sections_skip_pixels() {
        let facts = ColumnFacts { hdu_type: IMAGE, ..facts() };
        let elements = Elements::section(&facts, &[10, 7], &[2, 3], &[9, 6], &[3, 2]).unwrap();
        let encoding = Encoding::plain(PixelType::I16);
        let begin = 2880 + 2 * (2 * 10 + 1);
        let array = StridedArray::new(begin, encoding, &[(3, 6), (2, 40)]).unwrap();
        assert_eq!(elements, Elements { array, encoding, first: 0 });
    }

    #[test]
    fn scaling_and_null_values_become_an_encoding() {
        let of = |facts: ColumnFacts| facts.encoding(BINARY_TABLE).map(|encoding| encoding.0);
        let plain = Encoding::plain(PixelType::I16);
        assert_eq!(of(facts()), Ok(plain));
        let unsigned = of(ColumnFacts { zero: 32_768.0, null: -1, ..facts() });
        assert_eq!(unsigned, Ok(Encoding { blank: Some(-1), ..Encoding::plain(PixelType::U16) }));
        let scaled = of(ColumnFacts { scale: 2.0, null: 40_000, ..facts() });
        assert_eq!(scaled, Ok(Encoding { scaling: Some((2.0, 0.0)), ..plain }));
        let wide = of(ColumnFacts { code: 41, step: 4, null: (1 << 32) + 7, ..facts() });
        assert_eq!(wide, Ok(Encoding { blank: Some(7), ..Encoding::plain(PixelType::I32) }));
        // An ASCII table, text, another stride, and a scale of NaN.
        let refused = [
            (ColumnFacts { hdu_type: 1, ..facts() }, Reason::Form),
            (ColumnFacts { code: 16, ..facts() }, Reason::Form),
            (ColumnFacts { step: 1, ..facts() }, Reason::Form),
            (ColumnFacts { scale: f64::NAN, ..facts() }, Reason::Value),
            (ColumnFacts { zero: -0.0, ..facts() }, Reason::Value),
        ];
        for (facts, reason) in refused {
            assert_eq!(of(facts), Err(reason));
        }
    }
}
