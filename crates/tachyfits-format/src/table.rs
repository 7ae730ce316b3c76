//! How the columns of a table lie in the file and what their fields mean (Sect. 7). Rows are neither read nor decoded
//! here.

mod column;
mod descriptor;
mod form;
mod layout;
mod number_cell;
pub mod text;

pub use descriptor::Descriptor;
pub(crate) use descriptor::stored_pair;
pub(crate) use form::{
    Form, ascii as ascii_form, binary as binary_form, product, regular as regular_form,
};
pub(crate) use layout::MOST_COLUMNS;
pub use number_cell::NumberCell;

use crate::error::{FormatError, Warning};
use crate::hdu::StoredType;
use crate::image::ValueType;

/// Where the rows, columns and heap of a table are.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableLayout {
    /// BINTABLE or TABLE.
    pub kind: TableKind,
    /// The columns in the order of their numbers.
    pub columns: Vec<Column>,
    /// NAXIS2.
    pub rows: u64,
    /// Whole rows that the file holds, less than `rows` if it is cut off.
    pub rows_present: u64,
    /// NAXIS1: from one row to the next.
    pub row_bytes: u64,
    /// Byte offset of the first row in the file.
    pub data_offset: u64,
    /// The heap of variable-length arrays; empty in an ASCII table, and where the header gives a
    /// wrong position: see [`TableLayout::heap`].
    pub heap: Heap,
    /// Why the heap cannot be used.
    pub heap_error: Option<FormatError>,
    /// Index of the HDU, for messages.
    pub hdu: usize,
    /// Warnings about tolerated faults.
    pub warnings: Vec<Warning>,
}

/// The two kinds of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableKind {
    /// BINTABLE: big-endian numbers (Sect. 7.3).
    Binary,
    /// TABLE: text (Sect. 7.2).
    Ascii,
}

/// Where the heap is (Sect. 7.3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// Byte offset of its first byte in the file: `data_offset` + THEAP.
    pub offset: u64,
    /// Its bytes: PCOUNT without the gap before it.
    pub bytes: u64,
    /// Bytes of it that the file holds.
    pub bytes_present: u64,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Column {
    /// TTYPEn without trailing blanks; `colN` (N from 1) where it is absent or blank.
    pub name: String,
    /// TTYPEn gave the name.
    pub is_named: bool,
    /// Its name in results: the name, with `_N` appended if another column has the same name in
    /// either case. The first column with exactly this TTYPEn keeps it.
    pub key: String,
    /// TFORMn as the header has it, without blanks around.
    pub form: String,
    /// Byte offset of the field in a row.
    pub offset: u64,
    /// Type of the field.
    pub field: Field,
    /// TSCALn and TZEROn.
    pub scale: f64,
    /// TZEROn.
    pub zero: f64,
    /// Values are `zero + scale * stored`, in f64 (of a complex number: times TSCALn, TZEROn added to the real part);
    /// otherwise `stored`, which may have its sign bit flipped: see [`Element::Number`].
    pub scaled: bool,
    /// TNULLn.
    pub null: Option<Null>,
    /// TDIMn in FITS order, the first the fastest; empty without. Their product is at most the number of elements, the
    /// rest of which is undefined (Sect. 7.3.2); one size of characters is that of the field.
    pub dimensions: Vec<u64>,
    /// Separator of the strings of any length in a field of characters, where TDIMn does not divide
    /// it.
    pub substrings: Option<Substrings>,
    /// TUNITn, if there is one that is not blank.
    pub unit: Option<String>,
    /// TDISPn, if there is one that is not blank.
    pub display: Option<String>,
}

/// A field of characters with strings of any length: a delimiter separates them, and a NUL or the
/// end of the field follows the last one. A field that begins with a NUL is empty. `rA:SSTRw/nnn`
/// declares it, a registered convention that fitsverify refuses. `TSSTRn = 'SSTRw/nnn'` beside
/// `rA`, which is written, declares the same and is accepted by all programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Substrings {
    /// The most characters of one string, as TFORMn claims it: to be taken as advice only.
    pub most: u64,
    /// The separator of two strings, never NUL.
    pub delimiter: u8,
}

/// Content of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `repeat` elements in the row; 0 is allowed.
    Fixed {
        /// The elements.
        element: Element,
        /// How many; of `Element::Bit` bits, of `Element::Character` bytes.
        repeat: u64,
        /// Of characters: the bytes of one string, where the field holds several of one width (`rAw`, or TDIMn); else
        /// `repeat`. Of others 1.
        width: u64,
    },
    /// A descriptor in the row, of an array in the heap.
    Variable {
        /// The elements of the array.
        element: Element,
        /// A descriptor is two 64-bit integers (`Q`), not 32-bit ones (`P`).
        wide: bool,
        /// Number of descriptors in the row: 1, or 0 for a column without bytes.
        repeat: u64,
        /// The largest number of elements, as TFORMn claims it: to be taken as advice only.
        most: Option<u64>,
    },
    /// Text that states a value (ASCII tables).
    Text {
        /// The form of the text.
        text: TextForm,
        /// Characters of the field.
        width: u32,
        /// Digits after the implied decimal point of a number without one (`w.d`).
        decimals: u32,
    },
}

/// Text format of an ASCII table's field (Table 15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextForm {
    /// `Aw`
    Characters,
    /// `Iw`
    Integer,
    /// `Fw.d`
    Fixed,
    /// `Ew.d`
    Exponent,
    /// `Dw.d`
    Double,
}

/// The elements of a binary table's field (Table 18), conventions for unsigned integers resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// `L`: T, F, or 0 for null.
    Logical,
    /// `X`: bits, the most significant first.
    Bit,
    /// `A`
    Character,
    /// `B`, `I`, `J`, `K`, `E`, `D`: numbers; those of unsigned and signed-byte conventions are stored with the sign bit flipped.
    Number(ValueType),
    /// `C`: two 32-bit floats.
    Complex32,
    /// `M`: two 64-bit floats.
    Complex64,
}

/// Representation of an undefined element (TNULLn).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Null {
    /// The stored integer, before the sign bit is flipped or anything scaled.
    Stored(i64),
    /// The text of an ASCII field, trailing blanks not counting.
    Text(String),
}

impl TableLayout {
    /// The same layout with the whole field of each column as its cell: TDIMn and the width of strings may leave out elements
    /// at its end, which are copied with the others.
    #[must_use]
    pub fn with_whole_fields(&self) -> TableLayout {
        let mut whole = self.clone();
        for column in &mut whole.columns {
            if let Field::Fixed { element, repeat, width } = &mut column.field {
                column.dimensions.clear();
                column.substrings = None;
                if *element == Element::Character {
                    *width = *repeat;
                }
            }
        }
        whole
    }

    /// The index of the column of this name or key, trailing blanks not significant: the first that is spelled so, or else
    /// the first in letters of either case. A name that TTYPEn gives goes before one made up for a column without.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        let name = name.trim_end();
        let spelled =
            |column: &Column| column.key == name || (column.is_named && column.name == name);
        let alike = |column: &Column| column.key.eq_ignore_ascii_case(name);
        let columns = || self.columns.iter();
        columns().position(spelled).or_else(|| columns().position(alike))
    }

    /// The heap, for those who read it.
    ///
    /// # Errors
    /// [`crate::Code::HeapPlace`] if THEAP puts it among the rows or after the data, which would
    /// give other bytes than the arrays; [`crate::Code::NumericText`] and similar codes if THEAP is
    /// not an integer.
    pub fn heap(&self) -> Result<Heap, FormatError> {
        self.heap_error.clone().map_or(Ok(self.heap), Err)
    }
}

impl Element {
    /// Bytes of one element in the file; of bits none, as eight share one: see [`Field::row_bytes`].
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Element::Bit => 0,
            Element::Logical | Element::Character => 1,
            Element::Number(value) => match value {
                ValueType::U8 | ValueType::I8 => 1,
                ValueType::I16 | ValueType::U16 => 2,
                ValueType::I32 | ValueType::U32 | ValueType::F32 => 4,
                ValueType::I64 | ValueType::U64 | ValueType::F64 => 8,
            },
            Element::Complex32 => 8,
            Element::Complex64 => 16,
        }
    }

    /// Bytes of `elements` elements in the file; `None` if they do not fit 64 bits.
    #[must_use]
    pub const fn total_bytes(self, count: u64) -> Option<u64> {
        match self {
            Element::Bit => Some(count.div_ceil(8)),
            _ => self.bytes().checked_mul(count),
        }
    }
}

impl Field {
    /// Bytes of the field in a row. A layout has only fields whose bytes fit 64 bits.
    #[must_use]
    pub const fn row_bytes(self) -> u64 {
        match self {
            Field::Fixed { element, repeat, .. } => match element.total_bytes(repeat) {
                Some(bytes) => bytes,
                None => u64::MAX,
            },
            Field::Variable { wide, repeat, .. } => {
                repeat.saturating_mul(if wide { 16 } else { 8 })
            }
            Field::Text { width, .. } => width as u64,
        }
    }

    /// It holds numbers, which can be scaled.
    #[must_use]
    pub const fn is_number(self) -> bool {
        match self {
            Field::Fixed { element, .. } | Field::Variable { element, .. } => {
                matches!(element, Element::Number(_) | Element::Complex32 | Element::Complex64)
            }
            Field::Text { text, .. } => !matches!(text, TextForm::Characters),
        }
    }

    /// The type in the file of numbers that are not complex, in a binary table.
    #[must_use]
    pub const fn stored(self) -> Option<StoredType> {
        match self {
            Field::Fixed { element, .. } | Field::Variable { element, .. } => element.stored(),
            Field::Text { .. } => None,
        }
    }
}
