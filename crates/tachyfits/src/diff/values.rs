//! Equality of numbers within tolerances, and a summary of differences: their number, the largest one and the
//! first few.

use tachyfits_kernels::PixelType;

tachyfits_io::options! {
    /// Options of a comparison.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DiffOptions {
        /// Absolute tolerance of numbers.
        pub absolute: f64,
        /// Relative tolerance: the maximum difference as a fraction of the larger magnitude.
        pub relative: f64,
        /// Keywords that are not compared; a trailing `*` matches any ending.
        pub ignore: Vec<String>,
        /// Ignore comments of cards.
        pub ignore_comments: bool,
        /// Maximum number of different values listed per array or column.
        pub places: usize,
    }
}

impl Default for DiffOptions {
    fn default() -> Self {
        let (absolute, relative) = (0.0, 0.0);
        DiffOptions { absolute, relative, ignore: Vec::new(), ignore_comments: false, places: 10 }
    }
}

/// A difference of two values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DifferentValue {
    /// Position. For pixels: indices in FITS order, x first, from 0. For cells: the row and the element in
    /// the cell, from 0.
    pub at: Vec<u64>,
    /// Both values as text.
    pub values: [String; 2],
}

/// Differences between the pixels of two images, or the cells of two columns.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ValuesDifference {
    /// Name of the column; `None` for pixels.
    pub column: Option<String>,
    /// Number of compared values.
    pub compared: u64,
    /// Number of values that differ by more than the tolerances.
    pub different: u64,
    /// The largest difference among numbers that differ by more than the tolerances; NaN if there are none.
    pub largest: f64,
    /// Position of the largest difference, as in [`DifferentValue::at`]; empty if there is none.
    pub largest_at: Vec<u64>,
    /// Number of values that are undefined on only one side, and so have no difference.
    pub undefined: u64,
    /// The first values that differ.
    pub places: Vec<DifferentValue>,
}

/// A difference of the data of two HDUs.
#[derive(Clone, Debug, PartialEq)]
pub enum DataDifference {
    /// Only one of the two is an image or a table: values are not compared.
    Kind([String; 2]),
    /// The axes differ, in FITS order. For data of unknown meaning: the numbers of bytes.
    Shape([Vec<u64>; 2]),
    /// The numbers of rows of two tables. Rows that both have are compared.
    Rows([u64; 2]),
    /// Columns that only one table has.
    Columns([Vec<String>; 2]),
    /// Column names of both tables, if paired columns are in different orders.
    Order([Vec<String>; 2]),
    /// The types or shapes of a column's cells cannot be compared.
    Cells {
        /// Name of the column.
        column: String,
        /// Types of both columns' cells.
        cells: [String; 2],
    },
    /// Values of pixels, or of the cells of a column.
    Values(ValuesDifference),
}

/// Value of a cell or a pixel.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Integer(i128),
    /// A float, with the precision in which it is shown.
    Real {
        value: f64,
        single: bool,
    },
    Complex(f64, f64),
    Bool(bool),
    Text(String),
    Null,
}

/// 2^127, above every integer.
const LARGEST: f64 = 170141183460469231731687303715884105728.0;

impl Scalar {
    /// Returns the number in native bytes of a type.
    pub(super) fn number(pixel: PixelType, bytes: &[u8]) -> Scalar {
        macro_rules! integer {
            ($type:ty) => {
                Scalar::Integer(<$type>::from_ne_bytes(array(bytes)).into())
            };
        }
        match pixel {
            PixelType::U8 => integer!(u8),
            PixelType::I8 => integer!(i8),
            PixelType::I16 => integer!(i16),
            PixelType::U16 => integer!(u16),
            PixelType::I32 => integer!(i32),
            PixelType::U32 => integer!(u32),
            PixelType::I64 => integer!(i64),
            PixelType::U64 => integer!(u64),
            PixelType::F32 => {
                Scalar::Real { value: f32::from_ne_bytes(array(bytes)).into(), single: true }
            }
            PixelType::F64 => {
                Scalar::Real { value: f64::from_ne_bytes(array(bytes)), single: false }
            }
        }
    }

    fn as_f64(&self) -> Option<f64> {
        match self {
            Scalar::Integer(value) => Some(*value as f64),
            Scalar::Real { value, .. } => Some(*value),
            _ => None,
        }
    }

    fn is_undefined(&self) -> bool {
        match self {
            Scalar::Null => true,
            Scalar::Real { value, .. } => value.is_nan(),
            Scalar::Complex(re, im) => re.is_nan() || im.is_nan(),
            _ => false,
        }
    }

    /// Returns the value if it is a whole number in the range of integers.
    fn whole(&self) -> Option<i128> {
        match self {
            Scalar::Integer(value) => Some(*value),
            Scalar::Real { value, .. } if value.fract() == 0.0 && value.abs() < LARGEST => {
                Some(*value as i128)
            }
            _ => None,
        }
    }

    /// Returns the absolute difference, 0 only for equal numbers; `None` if it is undefined.
    fn distance(&self, other: &Scalar) -> Option<f64> {
        // Integers beyond 2^53 that round to the same float differ from each other and from that float.
        if let (Some(a), Some(b)) = (self.whole(), other.whole()) {
            return Some(a.abs_diff(b) as f64);
        }
        match (self, other) {
            (Scalar::Complex(a, b), Scalar::Complex(c, d)) => Some((a - c).hypot(b - d)),
            _ => Some((self.as_f64()? - other.as_f64()?).abs()),
        }
    }

    fn magnitude(&self) -> f64 {
        match self {
            Scalar::Complex(re, im) => re.hypot(*im),
            other => other.as_f64().unwrap_or(0.0).abs(),
        }
    }

    fn is_double(&self) -> bool {
        matches!(self, Scalar::Real { single: false, .. })
    }

    /// Formats the value; `single` selects the digits of a 32-bit float.
    fn text(&self, single: bool) -> String {
        match self {
            Scalar::Integer(value) => value.to_string(),
            Scalar::Real { value, .. } if single => format!("{:?}", *value as f32),
            Scalar::Real { value, .. } => format!("{value:?}"),
            Scalar::Complex(re, im) => format!("({re:?}, {im:?})"),
            Scalar::Bool(value) => if *value { "T" } else { "F" }.to_owned(),
            Scalar::Text(text) => format!("{text:?}"),
            Scalar::Null => "undefined".to_owned(),
        }
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("the caller gives the bytes of an element")
}

impl DiffOptions {
    /// Whether numbers are equal within the tolerances; NaN equals NaN, and infinities of the same sign are
    /// equal.
    pub(super) fn same_numbers(&self, a: f64, b: f64) -> bool {
        if a == b || (a.is_nan() && b.is_nan()) {
            return true;
        }
        let distance = (a - b).abs();
        distance.is_finite()
            && (distance <= self.absolute || distance <= self.relative * a.abs().max(b.abs()))
    }

    pub(super) fn same(&self, a: &Scalar, b: &Scalar) -> bool {
        if a == b || (a.is_undefined() && b.is_undefined()) {
            return true;
        }
        if a.is_undefined() || b.is_undefined() {
            return false;
        }
        match (a, b) {
            (Scalar::Real { value: a, .. }, Scalar::Real { value: b, .. }) => {
                self.same_numbers(*a, *b)
            }
            _ => {
                let distance = a.distance(b).unwrap_or(f64::INFINITY);
                distance.is_finite()
                    && (distance <= self.absolute
                        || distance <= self.relative * a.magnitude().max(b.magnitude()))
            }
        }
    }
}

/// Differences found so far, in the order of the values.
#[derive(Clone, Debug, Default)]
pub(super) struct Differences {
    pub(super) compared: u64,
    different: u64,
    undefined: u64,
    largest: Option<(f64, Vec<u64>)>,
    places: Vec<DifferentValue>,
}

impl Differences {
    /// Returns `compared` values without differences.
    pub(super) fn of(compared: u64) -> Differences {
        Differences { compared, ..Differences::default() }
    }

    /// Adds two values that differ.
    pub(super) fn add(
        &mut self,
        options: &DiffOptions,
        at: &dyn Fn() -> Vec<u64>,
        a: &Scalar,
        b: &Scalar,
    ) {
        self.different += 1;
        if a.is_undefined() != b.is_undefined() {
            self.undefined += 1;
        } else if let Some(distance) = a.distance(b).filter(|distance| !distance.is_nan())
            && self.largest.as_ref().is_none_or(|(largest, _)| distance > *largest)
        {
            self.largest = Some((distance, at()));
        }
        if self.places.len() < options.places {
            // If one of the floats is a double, both are shown as doubles.
            let single = !a.is_double() && !b.is_double();
            self.places.push(DifferentValue { at: at(), values: [a.text(single), b.text(single)] });
        }
    }

    /// Adds the differences of later values.
    pub(super) fn merge(&mut self, options: &DiffOptions, later: Differences) {
        self.compared += later.compared;
        self.different += later.different;
        self.undefined += later.undefined;
        if let Some((distance, at)) = later.largest
            && self.largest.as_ref().is_none_or(|(largest, _)| distance > *largest)
        {
            self.largest = Some((distance, at));
        }
        let room = options.places - self.places.len();
        self.places.extend(later.places.into_iter().take(room));
    }

    /// Returns the differences; `None` if there are none.
    pub(super) fn finish(self, column: Option<String>) -> Option<ValuesDifference> {
        let (largest, largest_at) = self.largest.unwrap_or((f64::NAN, Vec::new()));
        (self.different > 0).then_some(ValuesDifference {
            column,
            compared: self.compared,
            different: self.different,
            largest,
            largest_at,
            undefined: self.undefined,
            places: self.places,
        })
    }
}
