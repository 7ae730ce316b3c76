//! When two numbers are the same, and the differences of many: how many, the largest and where, the first few.

use tachyfits_kernels::PixelType;

tachyfits_io::options! {
    /// How two files are compared.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DiffOptions {
        /// Numbers are the same if they differ by no more than this.
        pub absolute: f64,
        /// Numbers are the same if they differ by no more than this times the larger magnitude of the two.
        pub relative: f64,
        /// Keywords that are not compared; one that ends in `*` stands for all that begin so.
        pub ignore: Vec<String>,
        /// Comments of cards are not compared.
        pub ignore_comments: bool,
        /// How many different values of each array or column are listed.
        pub places: usize,
    }
}

impl Default for DiffOptions {
    fn default() -> Self {
        let (absolute, relative) = (0.0, 0.0);
        DiffOptions { absolute, relative, ignore: Vec::new(), ignore_comments: false, places: 10 }
    }
}

/// A value that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DifferentValue {
    /// Where: of pixels their indices in FITS order, x first, from 0; of cells the row from 0 and the number of the
    /// element in the cell, from 0.
    pub at: Vec<u64>,
    /// The values as text.
    pub values: [String; 2],
}

/// How the pixels of two images, or the cells of two columns, differ.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ValuesDifference {
    /// The column; none for pixels.
    pub column: Option<String>,
    /// Values compared.
    pub compared: u64,
    /// Values that differ by more than the tolerances.
    pub different: u64,
    /// The largest difference of two numbers that differ by more than the tolerances; NaN where no two numbers do.
    pub largest: f64,
    /// Where it is, as [`DifferentValue::at`]; empty where there is none.
    pub largest_at: Vec<u64>,
    /// Values that are undefined in one alone, which have no difference.
    pub undefined: u64,
    /// The first values that differ.
    pub places: Vec<DifferentValue>,
}

/// A difference of the data of two HDUs.
#[derive(Clone, Debug, PartialEq)]
pub enum DataDifference {
    /// One is an image or a table and the other is not: values are not compared.
    Kind([String; 2]),
    /// The axes differ, in FITS order; for data of unknown meaning, their numbers of bytes.
    Shape([Vec<u64>; 2]),
    /// The numbers of rows of tables differ. Rows that both have are compared.
    Rows([u64; 2]),
    /// Columns that one table has alone.
    Columns([Vec<String>; 2]),
    /// The columns of both, if paired columns are in another order.
    Order([Vec<String>; 2]),
    /// The cells of a column are of types, or of shapes, that cannot be compared.
    Cells {
        /// The column.
        column: String,
        /// Type of their cells.
        cells: [String; 2],
    },
    /// Pixels, or the cells of a column.
    Values(ValuesDifference),
}

/// A value of a cell or a pixel.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Integer(i128),
    /// Shown as a 32-bit float if it is one.
    Real {
        value: f64,
        single: bool,
    },
    Complex(f64, f64),
    Bool(bool),
    Text(String),
    Null,
}

/// 2^127, from which on no integer is.
const LARGEST: f64 = 170141183460469231731687303715884105728.0;

impl Scalar {
    /// The number of native bytes of a type.
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

    /// The number, if it is whole and as large as integers are.
    fn whole(&self) -> Option<i128> {
        match self {
            Scalar::Integer(value) => Some(*value),
            Scalar::Real { value, .. } if value.fract() == 0.0 && value.abs() < LARGEST => {
                Some(*value as i128)
            }
            _ => None,
        }
    }

    /// The size of the difference, 0 only for equal numbers; `None` if it is not defined.
    fn distance(&self, other: &Scalar) -> Option<f64> {
        // Integers beyond 2^53 that round to one float are distinguished from each other and from
        // that float.
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

    /// The value as text; `single`: a float has the digits that one of 32 bits needs.
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
    /// Numbers are the same within the tolerances; NaN is NaN, and infinities of one sign are the same.
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

/// The differences found so far, in the order of the values.
#[derive(Clone, Debug, Default)]
pub(super) struct Differences {
    pub(super) compared: u64,
    different: u64,
    undefined: u64,
    largest: Option<(f64, Vec<u64>)>,
    places: Vec<DifferentValue>,
}

impl Differences {
    /// No differences among `compared` values.
    pub(super) fn of(compared: u64) -> Differences {
        Differences { compared, ..Differences::default() }
    }

    /// Two values that differ.
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
            // Of two floats that differ both have the digits of the wider one.
            let single = !a.is_double() && !b.is_double();
            self.places.push(DifferentValue { at: at(), values: [a.text(single), b.text(single)] });
        }
    }

    /// Adds those of later values.
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

    /// The differences; `None` if there are none.
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
