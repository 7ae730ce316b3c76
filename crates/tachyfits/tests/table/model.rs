//! The twin: a column with the contents of its cards, whose cells are decoded one element after another by
//! plain code.

use tachyfits::table::TextAs;

/// Values of TSCALn and TZEROn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    None,
    /// The convention for unsigned integers, or for signed bytes.
    Flipped,
    By(f64, f64),
}

/// A column of a binary table.
#[derive(Clone, Debug)]
pub struct Spec {
    pub letter: char,
    pub repeat: usize,
    pub scaling: Scaling,
    pub null: Option<i64>,
    /// TDIMn, or empty: its product is at most the repeat.
    pub dimensions: Vec<usize>,
    /// P or Q if the elements are in the heap.
    pub pointer: Option<char>,
}

/// Expected cells: the values, and a null flag for each element.
pub type Cells = (Vec<u8>, Vec<u8>);

impl Spec {
    pub fn element_bytes(&self) -> usize {
        match self.letter {
            'L' | 'A' | 'B' => 1,
            'I' => 2,
            'J' | 'E' => 4,
            'K' | 'D' | 'C' => 8,
            'M' => 16,
            other => panic!("elements of {other} have no bytes"),
        }
    }

    /// Returns the bytes of `elements` elements in the file.
    pub fn bytes_of(&self, elements: usize) -> usize {
        if self.letter == 'X' { elements.div_ceil(8) } else { elements * self.element_bytes() }
    }

    /// Returns the bytes of the field in a row.
    pub fn field_bytes(&self) -> usize {
        match self.pointer {
            Some('P') => 8 * self.repeat,
            Some(_) => 16 * self.repeat,
            None => self.bytes_of(self.repeat),
        }
    }

    pub fn is_integer(&self) -> bool {
        "BIJK".contains(self.letter)
    }

    /// Returns TZERO of the convention.
    fn flipped_zero(&self) -> i128 {
        match self.letter {
            'B' => -128,
            'I' => 1 << 15,
            'J' => 1 << 31,
            'K' => 1 << 63,
            other => panic!("{other} has no convention"),
        }
    }

    /// Returns the cards of the column with this number.
    pub fn cards(&self, number: usize) -> Vec<String> {
        let Spec { letter, repeat, .. } = self;
        let form = match self.pointer {
            Some(pointer) => format!("{repeat}{pointer}{letter}"),
            None => format!("{repeat}{letter}"),
        };
        let mut cards = vec![format!("TFORM{number:<3}= '{form:<8}'")];
        let mut card = |root: &str, value: String| {
            cards.push(format!("{:<8}= {value:>20}", format!("{root}{number}")));
        };
        match self.scaling {
            Scaling::None => {}
            Scaling::Flipped => card("TZERO", self.flipped_zero().to_string()),
            Scaling::By(scale, zero) => {
                card("TSCAL", format!("{scale:?}"));
                card("TZERO", format!("{zero:?}"));
            }
        }
        if let Some(null) = self.null {
            card("TNULL", null.to_string());
        }
        if !self.dimensions.is_empty() {
            let sizes: Vec<_> = self.dimensions.iter().map(usize::to_string).collect();
            card("TDIM", format!("'({})'", sizes.join(",")));
        }
        cards
    }

    /// Decodes the cell of a field.
    pub fn cell(&self, field: &[u8], raw: bool, text: TextAs) -> Cells {
        let dimensions = self.dimensions_read(raw);
        let elements = match dimensions.is_empty() {
            true => self.repeat,
            false => dimensions.iter().product(),
        };
        match (self.letter, raw) {
            ('X', true) => (field.to_vec(), vec![0; field.len()]),
            ('A', _) => {
                let mut values = Vec::new();
                for string in self.strings(field, raw) {
                    values.extend(string_as(string, raw, text));
                }
                let strings = dimensions.iter().skip(1).product();
                (values, vec![0; strings])
            }
            _ => self.elements(field, elements, raw),
        }
    }

    /// Returns the dimensions of a cell. Dimensions with fewer elements than the repeat do not apply to
    /// stored values or a single string.
    fn dimensions_read(&self, raw: bool) -> &[usize] {
        let leaves_over = self.dimensions.iter().product::<usize>() < self.repeat;
        let is_string = self.letter == 'A' && self.dimensions.len() == 1;
        if leaves_over && (raw || is_string) { &[] } else { &self.dimensions }
    }

    /// Returns the strings of a field of characters.
    fn strings<'a>(&self, field: &'a [u8], raw: bool) -> impl Iterator<Item = &'a [u8]> {
        let dimensions = self.dimensions_read(raw);
        let width = dimensions.first().copied().unwrap_or(self.repeat);
        let elements = match dimensions.is_empty() {
            true => self.repeat,
            false => dimensions.iter().product(),
        };
        field[..elements].chunks(width.max(1))
    }

    /// Returns the number of strings of a field with bytes outside ASCII.
    pub fn odd_strings(&self, field: &[u8]) -> u64 {
        let strings = self.strings(field, false);
        strings.filter(|string| !string_as(string, false, TextAs::Bytes).is_ascii()).count() as u64
    }

    /// Decodes contiguous elements.
    pub fn elements(&self, bytes: &[u8], count: usize, raw: bool) -> Cells {
        let (mut values, mut nulls) = (Vec::new(), Vec::new());
        for index in 0..count {
            let (value, null) = if self.letter == 'X' {
                (vec![u8::from(bytes[index / 8] & (0x80 >> (index % 8)) != 0)], false)
            } else {
                let size = self.element_bytes();
                self.element(&bytes[index * size..][..size], raw)
            };
            values.extend(value);
            nulls.push(u8::from(null));
        }
        (values, nulls)
    }

    fn element(&self, bytes: &[u8], raw: bool) -> (Vec<u8>, bool) {
        match self.letter {
            'A' => (bytes.to_vec(), false),
            'L' if raw => (bytes.to_vec(), false),
            'L' => match bytes[0] {
                b'T' | 1 => (vec![1], false),
                b'F' => (vec![0], false),
                _ => (vec![0], true),
            },
            'E' | 'D' | 'C' | 'M' => (self.floats(bytes, raw), false),
            _ => self.integer(bytes, raw),
        }
    }

    fn floats(&self, bytes: &[u8], raw: bool) -> Vec<u8> {
        let size = if "EC".contains(self.letter) { 4 } else { 8 };
        let mut out = Vec::new();
        for (part, bytes) in bytes.chunks(size).enumerate() {
            let mut native = bytes.to_vec();
            if cfg!(target_endian = "little") {
                native.reverse();
            }
            match self.scaling {
                Scaling::By(scale, zero) if !raw => {
                    let value = if size == 4 {
                        f64::from(f32::from_be_bytes(bytes.try_into().unwrap()))
                    } else {
                        f64::from_be_bytes(bytes.try_into().unwrap())
                    };
                    // TZERO applies only to the real part.
                    let scaled = if part == 0 { zero + scale * value } else { scale * value };
                    out.extend(scaled.to_ne_bytes());
                }
                _ => out.extend(native),
            }
        }
        out
    }

    fn integer(&self, bytes: &[u8], raw: bool) -> (Vec<u8>, bool) {
        let mut integer = bytes.iter().fold(0i128, |value, &byte| value << 8 | i128::from(byte));
        if self.letter != 'B' && bytes[0] >= 0x80 {
            integer -= 1 << (8 * bytes.len());
        }
        let is_null = self.null.is_some_and(|null| i128::from(null) == integer);
        let native = |value: i128| {
            let mut native = value.to_le_bytes()[..bytes.len()].to_vec();
            if cfg!(target_endian = "big") {
                native.reverse();
            }
            native
        };
        match self.scaling {
            _ if raw => (native(integer), false),
            Scaling::None => (native(integer), is_null),
            Scaling::Flipped => (native(integer + self.flipped_zero()), is_null),
            Scaling::By(scale, zero) => {
                let value = if is_null { f64::NAN } else { zero + scale * integer as f64 };
                (value.to_ne_bytes().to_vec(), false)
            }
        }
    }
}

/// Returns one string, padded to the length of its field.
fn string_as(stored: &[u8], raw: bool, text: TextAs) -> Vec<u8> {
    let mut string = stored.to_vec();
    if !raw {
        let end = string.iter().position(|&byte| byte == 0).unwrap_or(string.len());
        let length = String::from_utf8_lossy(&string[..end]).trim_end_matches(' ').len();
        // `from_utf8_lossy` replaces a byte beyond ASCII by three bytes.
        let length = if string.is_ascii() { length } else { trimmed(&string[..end]) };
        string[length..].fill(0);
    }
    match text {
        TextAs::Bytes => string,
        TextAs::Ucs4 => string.iter().flat_map(|&byte| u32::from(byte).to_ne_bytes()).collect(),
        other => panic!("no expected value of {other:?}"),
    }
}

fn trimmed(string: &[u8]) -> usize {
    string.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1)
}

/// Whether cells are equal; the bits of a computed NaN are arbitrary.
pub fn same_values(spec: &Spec, actual: &[u8], expected: &[u8]) -> bool {
    let computed = matches!(spec.scaling, Scaling::By(..));
    let same = |(a, b): (&[u8], &[u8])| {
        let value = |bytes: &[u8]| f64::from_ne_bytes(bytes.try_into().unwrap());
        a == b || (value(a).is_nan() && value(b).is_nan())
    };
    match computed {
        true if actual.len().is_multiple_of(8) => {
            actual.len() == expected.len() && actual.chunks(8).zip(expected.chunks(8)).all(same)
        }
        _ => actual == expected,
    }
}
