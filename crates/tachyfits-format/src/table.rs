//! Layout of a table's columns and meaning of their fields (Sect. 7). Does not read or decode rows.

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

/// Position of the rows, columns and heap of a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableLayout {
    /// BINTABLE or TABLE.
    pub kind: TableKind,
    /// Columns in the order of their numbers.
    pub columns: Vec<Column>,
    /// NAXIS2.
    pub rows: u64,
    /// Whole rows in the file, fewer than `rows` if it is truncated.
    pub rows_present: u64,
    /// NAXIS1: bytes from one row to the next.
    pub row_bytes: u64,
    /// Byte offset of the first row in the file.
    pub data_offset: u64,
    /// Heap of variable-length arrays; empty in an ASCII table, and if the header states an invalid position: see
    /// [`TableLayout::heap`].
    pub heap: Heap,
    /// Reason why the heap cannot be used.
    pub heap_error: Option<FormatError>,
    /// Index of the HDU, for messages.
    pub hdu: usize,
    /// Warnings about tolerated faults.
    pub warnings: Vec<Warning>,
}

/// Kind of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableKind {
    /// BINTABLE: big-endian numbers (Sect. 7.3).
    Binary,
    /// TABLE: text (Sect. 7.2).
    Ascii,
}

/// Position of the heap (Sect. 7.3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// Byte offset in the file: `data_offset` + THEAP.
    pub offset: u64,
    /// Length in bytes: PCOUNT without the gap before the heap.
    pub bytes: u64,
    /// Bytes of the heap in the file.
    pub bytes_present: u64,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Column {
    /// TTYPEn without trailing blanks; `colN` (N from 1) if absent or blank.
    pub name: String,
    /// Whether the name comes from TTYPEn.
    pub is_named: bool,
    /// Name in results: the name, with `_N` appended if another column has the same name in either case. The first
    /// column with exactly this TTYPEn keeps it.
    pub key: String,
    /// TFORMn as in the header, without surrounding blanks.
    pub form: String,
    /// Byte offset of the field in a row.
    pub offset: u64,
    /// Type of the field.
    pub field: Field,
    /// TSCALn.
    pub scale: f64,
    /// TZEROn.
    pub zero: f64,
    /// Whether values are `zero + scale * stored`, in f64 (for a complex number TZEROn is added only to the real part);
    /// otherwise they are `stored`, which may have its sign bit flipped: see [`Element::Number`].
    pub scaled: bool,
    /// TNULLn.
    pub null: Option<Null>,
    /// TDIMn in FITS order, the first the fastest; empty if absent. Their product is at most the number of elements;
    /// the remaining elements are undefined (Sect. 7.3.2). A single size of characters equals the field.
    pub dimensions: Vec<u64>,
    /// Separator of strings of any length in a field of characters that TDIMn does not divide.
    pub substrings: Option<Substrings>,
    /// TUNITn, unless absent or blank.
    pub unit: Option<String>,
    /// TDISPn, unless absent or blank.
    pub display: Option<String>,
}

/// A field of characters with strings of any length: a delimiter separates them, and a NUL or the end of the field ends
/// the last one. A field that begins with a NUL is empty. `rA:SSTRw/nnn` declares it, a registered convention that
/// fitsverify rejects. `TSSTRn = 'SSTRw/nnn'` beside `rA` declares the same and is accepted by all programs; this form
/// is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Substrings {
    /// Maximum characters of one string, as claimed by TFORMn: not reliable.
    pub most: u64,
    /// Separator of two strings, never NUL.
    pub delimiter: u8,
}

/// Content of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `repeat` elements in the row; 0 is allowed.
    Fixed {
        /// Type of the elements.
        element: Element,
        /// Number of elements: bits for `Element::Bit`, bytes for `Element::Character`.
        repeat: u64,
        /// For characters, the bytes of one string if the field contains several of one width (`rAw`, or TDIMn),
        /// otherwise `repeat`. For other elements 1.
        width: u64,
    },
    /// A descriptor in the row, which locates an array in the heap.
    Variable {
        /// Type of the array's elements.
        element: Element,
        /// Whether a descriptor is two 64-bit integers (`Q`) or two 32-bit integers (`P`).
        wide: bool,
        /// Number of descriptors in the row: 1, or 0 for a column without bytes.
        repeat: u64,
        /// Maximum number of elements, as claimed by TFORMn: not reliable.
        most: Option<u64>,
    },
    /// A value as text (ASCII tables).
    Text {
        /// Form of the text.
        text: TextForm,
        /// Characters of the field.
        width: u32,
        /// Digits after the implied decimal point, for a number without a point (`w.d`).
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

/// Elements of a binary table's field (Table 18), after the conventions for unsigned integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// `L`: T, F, or 0 for null.
    Logical,
    /// `X`: bits, the most significant first.
    Bit,
    /// `A`
    Character,
    /// `B`, `I`, `J`, `K`, `E`, `D`: numbers; for unsigned and signed-byte conventions the stored sign bit is flipped.
    Number(ValueType),
    /// `C`: two 32-bit floats.
    Complex32,
    /// `M`: two 64-bit floats.
    Complex64,
}

/// Representation of an undefined element (TNULLn).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Null {
    /// Stored integer, before its sign bit is flipped or it is scaled.
    Stored(i64),
    /// Text of an ASCII field; trailing blanks are ignored.
    Text(String),
}

impl TableLayout {
    /// Returns the same layout with the whole field of each column as its cell: TDIMn and the width of strings may
    /// exclude elements at its end, which are copied with the others.
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

    /// Returns the index of the column of this name or key; trailing blanks are ignored. An exact match takes
    /// precedence over a match in another case, and a name from TTYPEn over a generated one.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        let name = name.trim_end();
        let spelled =
            |column: &Column| column.key == name || (column.is_named && column.name == name);
        let alike = |column: &Column| column.key.eq_ignore_ascii_case(name);
        let columns = || self.columns.iter();
        columns().position(spelled).or_else(|| columns().position(alike))
    }

    /// Returns the heap, for readers of arrays.
    ///
    /// # Errors
    /// [`crate::Code::HeapPlace`] if THEAP is among the rows or after the data, which would give wrong arrays;
    /// [`crate::Code::NumericText`] and similar codes if THEAP is not an integer.
    pub fn heap(&self) -> Result<Heap, FormatError> {
        self.heap_error.clone().map_or(Ok(self.heap), Err)
    }
}

impl Element {
    /// Bytes of one element in the file; 0 for bits, because eight share one byte: see [`Field::row_bytes`].
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

    /// Bytes of `count` elements in the file; `None` beyond 64 bits.
    #[must_use]
    pub const fn total_bytes(self, count: u64) -> Option<u64> {
        match self {
            Element::Bit => Some(count.div_ceil(8)),
            _ => self.bytes().checked_mul(count),
        }
    }
}

impl Field {
    /// Bytes of the field in a row. A layout contains only fields whose bytes fit 64 bits.
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

    /// Whether it contains numbers, which can be scaled.
    #[must_use]
    pub const fn is_number(self) -> bool {
        match self {
            Field::Fixed { element, .. } | Field::Variable { element, .. } => {
                matches!(element, Element::Number(_) | Element::Complex32 | Element::Complex64)
            }
            Field::Text { text, .. } => !matches!(text, TextForm::Characters),
        }
    }

    /// Stored type of numbers that are not complex, in a binary table.
    #[must_use]
    pub const fn stored(self) -> Option<StoredType> {
        match self {
            Field::Fixed { element, .. } | Field::Variable { element, .. } => element.stored(),
            Field::Text { .. } => None,
        }
    }
}
