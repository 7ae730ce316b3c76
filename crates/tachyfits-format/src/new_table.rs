//! The header of a new table: its columns, and the cards copied from another header. [`crate::Hdu::table`] restores the
//! same columns.

use crate::card::{Card, numbered};
use crate::code::Code;
use crate::error::{FormatError, Place, quoted};
use crate::header::Header;
use crate::image::ValueType;
use crate::new_image::{NO_CHECKSUM, number};
use crate::table::{Column, MOST_COLUMNS, Null, TableKind, TableLayout, product};
use crate::table::{Element, Field, Substrings, TextForm};
use crate::tile_keywords::{TileContent, claims_tiles, is_of_compression};
use crate::value::Value;

options! {
    /// A new table extension.
    #[derive(Clone, Debug, PartialEq)]
    pub struct NewTable {
        /// BINTABLE or TABLE.
        pub kind: TableKind,
        /// EXTNAME; if `None`, that of the carried cards stays.
        pub name: Option<String>,
        /// Columns in the order of their numbers.
        pub columns: Vec<NewColumn>,
        /// NAXIS2.
        pub rows: u64,
        /// NAXIS1, if larger than the columns need.
        pub row_bytes: Option<u64>,
        /// Bytes between the rows and the heap; THEAP is written if this is not 0.
        pub heap_gap: u64,
        /// Bytes of the heap.
        pub heap_bytes: u64,
        /// Whether to reserve DATASUM and CHECKSUM cards, valid for no data; see [`Header::set`].
        pub checksum: bool,
    }
}

options! {
    /// One column of a new table.
    #[derive(Clone, Debug, PartialEq)]
    pub struct NewColumn {
        /// TTYPEn; not written if empty.
        pub name: String,
        /// TFORMn; unsigned integers and signed bytes also get the TZEROn of their convention.
        pub field: Field,
        /// TSCALn and TZEROn of scaled values; `None` for unsigned integers and signed bytes.
        pub scaling: Option<(f64, f64)>,
        /// TNULLn.
        pub null: Option<Null>,
        /// TDIMn in FITS order; not written if empty.
        pub dimensions: Vec<u64>,
        /// Separator of strings of any length in a field of characters; excludes dimensions.
        pub substrings: Option<Substrings>,
        /// TUNITn.
        pub unit: Option<String>,
        /// TDISPn.
        pub display: Option<String>,
        /// For an ASCII table, characters of the row before the field (TBCOLn - 1); if `None`, the field follows the
        /// preceding field after a blank.
        pub start: Option<u64>,
    }
}

impl NewColumn {
    /// Creates a column without scaling, null, dimensions, unit and display.
    #[must_use]
    pub fn new(name: &str, field: Field) -> Self {
        NewColumn {
            name: name.to_owned(),
            field,
            scaling: None,
            null: None,
            dimensions: Vec::new(),
            substrings: None,
            unit: None,
            display: None,
            start: None,
        }
    }

    /// Converts a column for a table of this kind.
    #[must_use]
    pub fn of(column: &Column, kind: TableKind) -> Self {
        NewColumn {
            name: if column.is_named { column.name.clone() } else { String::new() },
            field: column.field,
            scaling: column.scaled.then_some((column.scale, column.zero)),
            null: column.null.clone(),
            dimensions: column.dimensions.clone(),
            substrings: column.substrings,
            unit: column.unit.clone(),
            display: column.display.clone(),
            start: (kind == TableKind::Ascii).then_some(column.offset),
        }
    }

    /// TZEROn of the conventions for unsigned integers and signed bytes (Table 19).
    fn convention(&self) -> Option<f64> {
        match self.field {
            Field::Fixed { element, .. } | Field::Variable { element, .. } => element.convention(),
            Field::Text { .. } => None,
        }
    }

    /// TFORMn.
    fn form(&self) -> String {
        self.field.form(&self.dimensions)
    }

    /// Returns the first invalid property, as words for "expected" and "found".
    fn misfit(&self, kind: TableKind) -> Option<(&'static str, String)> {
        let text = matches!(self.field, Field::Text { .. });
        let form = || self.form();
        if text != (kind == TableKind::Ascii) {
            return Some(("a form of this kind of table", form()));
        }
        // Text without characters is accepted, because reading it gives only a warning and such tables can be copied.
        let narrow = matches!(self.field, Field::Text { width: 0, text, .. } if text != TextForm::Characters);
        if matches!(self.field, Field::Variable { repeat: 2.., .. })
            || narrow
            || self.field.row_bytes() == u64::MAX
        {
            return Some(("a form of the Standard", form()));
        }
        // Existing fields may be narrower: their digits are read without a point.
        if let Field::Text { text, width, decimals } = self.field
            && self.start.is_none()
            && text.has_decimals()
            && decimals >= width
        {
            return Some(("a width with room for the decimals and their point", form()));
        }
        if self.scaling.is_some() && (!self.field.is_number() || self.convention().is_some()) {
            return Some(("scaling of numbers without an unsigned convention", form()));
        }
        let divided = matches!(self.field, Field::Fixed { element: Element::Character, repeat, width }
            if repeat == width && self.dimensions.is_empty());
        if self.substrings.is_some() && !divided {
            return Some(("a field of characters without another separator", form()));
        }
        // NUL ends the last string. Other delimiters outside the convention are read with a warning, so that such
        // tables can be copied.
        if self.substrings.is_some_and(|substrings| substrings.delimiter == 0) {
            return Some(("strings with a separator other than NUL", form()));
        }
        if !self.null_fits() {
            let null = match &self.null {
                Some(Null::Stored(value)) => value.to_string(),
                Some(Null::Text(text)) => quoted(text),
                None => String::new(),
            };
            return Some(("a null that the column can hold", format!("{null} of {}", form())));
        }
        let elements = match self.field {
            Field::Fixed { repeat, .. } => repeat,
            Field::Variable { .. } => u64::MAX,
            Field::Text { .. } => 0,
        };
        let size = product(&self.dimensions).filter(|size| *size <= elements);
        // Readers ignore the size of a single string that differs from the field.
        let is_cut = matches!(
            (self.field, &self.dimensions[..]),
            (Field::Fixed { element: Element::Character, repeat, .. }, [size]) if *size < repeat
        );
        let fit = size.is_some() && !is_cut;
        if !self.dimensions.is_empty() && !fit {
            return Some((
                "dimensions of at most the elements",
                format!("{:?} of {}", self.dimensions, form()),
            ));
        }
        None
    }

    fn null_fits(&self) -> bool {
        match (&self.null, self.field) {
            (None, _) => true,
            (Some(Null::Text(text)), Field::Text { width, .. }) => text.len() <= width as usize,
            (Some(Null::Stored(value)), _) => {
                let range = self.field.stored().and_then(|stored| stored.integer_range());
                range.is_some_and(|(least, greatest)| (least..=greatest).contains(value))
            }
            (Some(Null::Text(_)), _) => false,
        }
    }

    /// Returns the keywords of column `number`, and TBCOLn for a field that begins at `offset`.
    fn cards(
        &self,
        number: usize,
        offset: u64,
        kind: TableKind,
        carried: &Header,
    ) -> Result<Vec<Card>, FormatError> {
        let text = |text: &Option<String>| text.clone().map(Value::from);
        let scaling = self.scaling.or(self.convention().map(|zero| (1.0, zero)));
        let numbers = scaling.map(|(scale, zero)| {
            Ok::<_, FormatError>((
                number_of("TSCAL", number, scale)?,
                number_of("TZERO", number, zero)?,
            ))
        });
        let (scale, zero) = numbers.transpose()?.unzip();
        let null = self.null.as_ref().map(|null| match null {
            Null::Stored(value) => Value::from(*value),
            Null::Text(text) => Value::from(text.as_str()),
        });
        let sizes: Vec<String> = self.dimensions.iter().map(u64::to_string).collect();
        let values = [
            ("TTYPE", Some(self.name.as_str()).filter(|name| !name.is_empty()).map(Value::from)),
            ("TBCOL", (kind == TableKind::Ascii).then(|| Value::from(offset + 1))),
            ("TFORM", Some(Value::from(self.form()))),
            ("TUNIT", text(&self.unit)),
            ("TSSTR", self.substrings.map(|substrings| Value::from(substrings.to_string()))),
            ("TDIM", (!sizes.is_empty()).then(|| Value::from(format!("({})", sizes.join(","))))),
            ("TNULL", null),
            ("TSCAL", scale),
            ("TZERO", zero),
            ("TDISP", text(&self.display)),
        ];
        let entries = values.into_iter().filter_map(|(root, value)| Some((root, value?)));
        entries
            .map(|(root, value)| kept_or_new(&format!("{root}{number}"), value, carried))
            .collect()
    }
}

/// Returns the carried card, with its comment, if keyword and value are equal, otherwise a new card.
fn kept_or_new(keyword: &str, value: Value, carried: &Header) -> Result<Card, FormatError> {
    let same = carried.position(keyword).map(|at| &carried.cards()[at]);
    match same.filter(|card| card.value() == Some(&value) && card.keyword() == keyword) {
        Some(card) => Ok(card.clone()),
        None => Card::new(keyword, value, ""),
    }
}

impl NewTable {
    /// Creates a table without rows, name, heap and checksum, whose rows are as short as its columns permit.
    #[must_use]
    pub fn new(kind: TableKind, columns: Vec<NewColumn>) -> Self {
        let (name, row_bytes) = (None, None);
        let (rows, heap_gap, heap_bytes, checksum) = (0, 0, 0, false);
        NewTable { kind, name, columns, rows, row_bytes, heap_gap, heap_bytes, checksum }
    }

    /// Creates a new table with the same columns and rows.
    #[must_use]
    pub fn of(layout: &TableLayout) -> Self {
        let end = layout.data_offset + layout.row_bytes * layout.rows;
        NewTable {
            kind: layout.kind,
            name: None,
            columns: layout
                .columns
                .iter()
                .map(|column| NewColumn::of(column, layout.kind))
                .collect(),
            rows: layout.rows,
            row_bytes: Some(layout.row_bytes),
            heap_gap: if layout.heap.bytes == 0 { 0 } else { layout.heap.offset - end },
            heap_bytes: layout.heap.bytes,
            checksum: false,
        }
    }

    /// Returns the offset of each field in the row, and the bytes of a row.
    ///
    /// # Errors
    /// [`Code::NewColumn`] if a column is invalid for this kind of table, or the columns are too many or too wide.
    pub fn row(&self) -> Result<(Vec<u64>, u64), FormatError> {
        if self.columns.len() > MOST_COLUMNS {
            let expected = format!("at most {MOST_COLUMNS} columns");
            return Err(refused(self.columns.len(), "", &expected, self.columns.len().to_string()));
        }
        let mut offsets = Vec::with_capacity(self.columns.len());
        let (mut next, mut row_bytes) = (0u64, self.row_bytes.unwrap_or(0));
        let most = crate::Limits::default().max_data_bytes;
        for (number, column) in (1..).zip(&self.columns) {
            if let Some((expected, found)) = column.misfit(self.kind) {
                return Err(refused(number, &column.name, expected, found));
            }
            let offset = column.start.filter(|_| self.kind == TableKind::Ascii).unwrap_or(next);
            let end = offset.checked_add(column.field.row_bytes()).filter(|end| *end <= most);
            let Some(end) = end else {
                let expected = format!("a row of at most {most} bytes");
                return Err(refused(number, &column.name, &expected, column.field.form(&[])));
            };
            offsets.push(offset);
            next = end + u64::from(self.kind == TableKind::Ascii);
            row_bytes = row_bytes.max(end);
        }
        Ok((offsets, row_bytes))
    }

    /// Creates the header: mandatory cards, columns, then the cards of `carried` that do not describe structure or
    /// columns (as defined in Sect. 7). A carried card of a column with the same value as the new card is kept with its
    /// comment.
    ///
    /// # Errors
    /// See [`NewTable::row`]; [`Code::CardText`] if a name or unit is not printable ASCII.
    ///
    /// ```
    /// use tachyfits_format::{Element, Field, Header, NewColumn, NewTable, TableKind, ValueType};
    /// let element = Element::Number(ValueType::U16);
    /// let count = NewColumn::new("COUNT", Field::Fixed { element, repeat: 1, width: 1 });
    /// let table = NewTable::new(TableKind::Binary, vec![count]).name(Some("EVENTS".into())).rows(10);
    /// let header = table.header(&Header::new())?;
    /// assert_eq!((header.get_text("TFORM1")?, header.get_i64("TZERO1")?), (Some("1I"), Some(32768)));
    /// assert_eq!(header.get_i64("NAXIS1")?, Some(2));
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    pub fn header(&self, carried: &Header) -> Result<Header, FormatError> {
        let (offsets, row_bytes) = self.row()?;
        let xtension = match self.kind {
            TableKind::Binary => ("BINTABLE", "binary table"),
            TableKind::Ascii => ("TABLE", "ASCII table"),
        };
        let mut cards = vec![
            Card::new("XTENSION", xtension.0, xtension.1)?,
            Card::new("BITPIX", 8, "bytes")?,
            Card::new("NAXIS", 2, "rows of bytes")?,
            Card::new("NAXIS1", row_bytes, "bytes of a row")?,
            Card::new("NAXIS2", self.rows, "number of rows")?,
            Card::new(
                "PCOUNT",
                self.heap_gap.saturating_add(self.heap_bytes),
                "bytes after the rows",
            )?,
            Card::new("GCOUNT", 1, "")?,
            Card::new("TFIELDS", self.columns.len(), "number of columns")?,
        ];
        for ((number, column), offset) in (1..).zip(&self.columns).zip(offsets) {
            cards.extend(column.cards(number, offset, self.kind, carried)?);
        }
        if self.heap_gap > 0 {
            let start = row_bytes.saturating_mul(self.rows).saturating_add(self.heap_gap);
            cards.push(Card::new("THEAP", start, "bytes before the heap")?);
        }
        if let Some(name) = &self.name {
            cards.push(kept_or_new("EXTNAME", Value::from(name.as_str()), carried)?);
        }
        let is_replaced_name =
            |card: &Card| self.name.is_some() && card.keyword().eq_ignore_ascii_case("EXTNAME");
        // Cards of compressed tiles are kept only if the rows are tiles; otherwise they would be false.
        let tiles = self.tiles(carried);
        let copies = carried.cards().iter().filter(|card| match is_of_compression(card) {
            true => tiles.is_some() || !claims_tiles(carried),
            false => {
                let of_pixels = tiles == Some(TileContent::Image) && is_of_pixels(card);
                (is_of_any_table(card) || of_pixels) && !is_replaced_name(card)
            }
        });
        cards.extend(copies.cloned());
        let mut header = Header::from_cards(cards);
        if self.checksum {
            header.set("DATASUM", "0", "sum of the data")?;
            header.set("CHECKSUM", NO_CHECKSUM, "sum of the HDU")?;
        }
        Ok(header)
    }
}

impl NewTable {
    /// Returns the content of the tiles that a header claims, if the columns are those of tiles.
    fn tiles(&self, carried: &Header) -> Option<TileContent> {
        let is_true = |keyword| carried.get(keyword) == Some(&Value::Logical(true));
        let of_bytes = |column: &NewColumn| {
            let bytes = Element::Number(ValueType::U8);
            matches!(column.field, Field::Variable { element, .. } if element == bytes)
        };
        let is_of_image = |column: &NewColumn| {
            let name = column.name.to_ascii_uppercase();
            name.ends_with("COMPRESSED_DATA") && matches!(column.field, Field::Variable { .. })
        };
        if is_true("ZIMAGE") && self.columns.iter().any(is_of_image) {
            return Some(TileContent::Image);
        }
        let is_table = is_true("ZTABLE") && self.columns.iter().all(of_bytes);
        is_table.then_some(TileContent::Table)
    }
}

fn number_of(root: &str, n: usize, value: f64) -> Result<Value, FormatError> {
    number(&format!("{root}{n}"), value)
}

fn refused(number: usize, name: &str, expected: &str, found: String) -> FormatError {
    let place = Place { column: Some((number, name.to_owned())), ..Place::default() };
    FormatError::new(Code::NewColumn, place, expected, found)
}

/// Keywords of pixels: a table has none, unless its rows are the tiles of a compressed image (Sect. 10.1.2).
const OF_PIXELS: [&str; 5] = ["BSCALE", "BZERO", "BLANK", "DATAMIN", "DATAMAX"];

pub(crate) fn is_of_pixels(card: &Card) -> bool {
    has_keyword(card, &OF_PIXELS)
}

fn has_keyword(card: &Card, keywords: &[&str]) -> bool {
    keywords.iter().any(|keyword| keyword.eq_ignore_ascii_case(card.keyword()))
}

/// Whether the card describes neither structure, nor columns as defined in Sect. 7, nor pixels or the old file.
pub(crate) fn is_of_any_table(card: &Card) -> bool {
    const PLAIN: [&str; 14] = [
        "SIMPLE", "XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "GROUPS", "EXTEND", "TFIELDS",
        "THEAP", "NEXTEND", "BLOCKED", "CHECKSUM", "DATASUM",
    ];
    const INDEXED: [&str; 11] = [
        "NAXIS", "TTYPE", "TFORM", "TUNIT", "TDIM", "TNULL", "TSCAL", "TZERO", "TDISP", "TBCOL",
        "TSSTR",
    ];
    let keyword = card.keyword().to_ascii_uppercase();
    let (root, index) = numbered(&keyword);
    let indexed = !index.is_empty() && INDEXED.contains(&root);
    !(indexed || has_keyword(card, &PLAIN) || is_of_pixels(card))
}

impl Element {
    /// TZEROn that declares integers as unsigned, or bytes as signed (Table 19).
    #[must_use]
    pub const fn convention(self) -> Option<f64> {
        use crate::image::ValueType::{I8, U16, U32, U64};
        match self {
            Element::Number(I8) => Some(-128.0),
            Element::Number(U16) => Some(32_768.0),
            Element::Number(U32) => Some(2_147_483_648.0),
            Element::Number(U64) => Some(9_223_372_036_854_775_808.0),
            _ => None,
        }
    }
}
