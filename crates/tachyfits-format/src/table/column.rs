//! Converts the keywords of one column to a [`Column`]: name, scaling, null, dimensions, unit (Sect. 7.2, 7.3).
//! [`super::layout`] computes the position of the column in a row.

use std::fmt::Write;

use super::form::{self, Form};
use super::{Column, Element, Field, Null, Substrings, TableKind};
use crate::code::Code;
use crate::error::{FormatError, Place, Warning, Warnings, quoted};
use crate::hdu::StoredType;
use crate::header::Header;
use crate::image::{converted_type, stored_integer};
use crate::value::Value;

/// Reads columns, with a warning for each tolerated fault.
pub(super) struct ColumnReader<'a> {
    pub(super) header: &'a Header,
    pub(super) kind: TableKind,
    pub(super) warnings: Warnings,
    /// Keyword of the latest lookup.
    keyword: String,
    /// ZTABLE = T: keywords of columns with ZFORMn describe the original column (Sect. 10.3.1).
    is_compressed: bool,
}

impl<'a> ColumnReader<'a> {
    pub(super) fn new(header: &'a Header, kind: TableKind) -> Self {
        let is_compressed = header.get("ZTABLE") == Some(&Value::Logical(true));
        let (warnings, keyword) = (Warnings::default(), String::new());
        ColumnReader { header, kind, warnings, keyword, is_compressed }
    }

    /// Reads the column of this number, from 1; the caller sets its key and its place in the row.
    pub(super) fn column(&mut self, number: usize) -> Result<Column, FormatError> {
        let (form, mut field, substrings) = self.form(number)?;
        let scale = self.scaling("TSCAL", number, field)?.unwrap_or(1.0);
        let zero = self.scaling("TZERO", number, field)?.unwrap_or(0.0);
        let scaled = self.convert(number, &mut field, scale, zero);
        let null = self.null(number, field)?;
        let substrings = substrings.or_else(|| self.substrings(number, field));
        let dimensions = self.dimensions(number, &mut field);
        if let Field::Fixed { element: Element::Character, repeat, width } = field
            && dimensions.is_empty()
            && repeat.checked_rem(width).is_some_and(|rest| rest > 0)
        {
            let expected = format!("strings that divide {repeat} characters");
            let found = format!("{form}: the last {} characters are not read", repeat % width);
            self.warn(Code::DimensionsShort, &format!("TFORM{number}"), &expected, found);
        }
        let name = self.text("TTYPE", number).map(|name| name.trim_end().to_owned());
        let is_named = name.is_some();
        Ok(Column {
            name: name.unwrap_or_else(|| format!("col{number}")),
            is_named,
            key: String::new(),
            form,
            offset: 0,
            field,
            scale,
            zero,
            scaled,
            null,
            substrings: substrings.filter(|_| dimensions.is_empty()),
            dimensions,
            unit: self.text("TUNIT", number).map(|unit| unit.trim().to_owned()),
            display: self.text("TDISP", number).map(|display| display.trim().to_owned()),
        })
    }

    fn form(&mut self, number: usize) -> Result<(String, Field, Option<Substrings>), FormatError> {
        let keyword = format!("TFORM{number}");
        let Some(text) = self.header.get_text(&keyword)? else {
            return Err(self.header.missing(&keyword, "the form of the column"));
        };
        let (result, expected) = match self.kind {
            TableKind::Binary => (form::binary(text), "a form such as 1J, 20A or 1PE(8)"),
            TableKind::Ascii => {
                (form::ascii(text), "a form such as A20, I10, F10.3, E15.7 or D25.17")
            }
        };
        let Some(Form { field, substrings, irregular }) = result else {
            let place = self.header.place(&keyword);
            return Err(FormatError::new(Code::ColumnForm, place, expected, quoted(text)));
        };
        if irregular {
            self.warn(Code::ColumnFormIrregular, &keyword, expected, quoted(text));
        }
        Ok((text.trim().to_owned(), field, substrings))
    }

    /// Reads TSSTRn: the separator of a field of characters, unless TFORMn already divides the field.
    fn substrings(&mut self, number: usize, field: Field) -> Option<Substrings> {
        let is_text = matches!(
            field,
            Field::Fixed { element: Element::Character, repeat, width } if repeat == width
        );
        let text = self.text("TSSTR", number).filter(|_| is_text)?;
        Substrings::of(text.trim().as_bytes())
    }

    /// Reads TSCALn or TZEROn, if the column can be scaled.
    fn scaling(
        &mut self,
        root: &str,
        number: usize,
        field: Field,
    ) -> Result<Option<f64>, FormatError> {
        if self.look(root, number).is_none() {
            return Ok(None);
        }
        let keyword = self.keyword.clone();
        if field.is_number() {
            return self.header.get_f64(&keyword);
        }
        let harmless = matches!(
            (root, self.header.get_f64(&keyword)),
            ("TSCAL", Ok(Some(1.0))) | ("TZERO", Ok(Some(0.0)))
        );
        if !harmless {
            let found = self.header.get(&keyword).map_or_else(String::new, Value::to_string);
            let expected = "no scaling of strings, logicals or bits";
            self.warn(Code::ScalingIgnored, &keyword, expected, found);
        }
        Ok(None)
    }

    /// Applies the conventions for unsigned integers and signed bytes, for arrays in the heap as well; returns whether
    /// the values are scaled.
    fn convert(&mut self, number: usize, field: &mut Field, scale: f64, zero: f64) -> bool {
        if let Field::Fixed { element, .. } | Field::Variable { element, .. } = field
            && let Some(stored) = element.stored()
            && let Some(value) = converted_type(stored, scale, self.look("TZERO", number))
        {
            *element = Element::Number(value);
            return false;
        }
        scale != 1.0 || zero != 0.0
    }

    fn null(&mut self, number: usize, field: Field) -> Result<Option<Null>, FormatError> {
        let Some(value) = self.look("TNULL", number) else { return Ok(None) };
        let keyword = self.keyword.clone();
        if matches!(value, Value::Undefined) {
            return Ok(None);
        }
        if let Field::Text { width, .. } = field {
            let text = self.header.get_text(&keyword)?.unwrap_or_default().trim();
            if text.len() > width as usize {
                let expected = format!("a text of at most {width} characters");
                self.warn(Code::NullIgnored, &keyword, &expected, quoted(text));
                return Ok(None);
            }
            return Ok(Some(Null::Text(text.to_owned())));
        }
        let Some((least, greatest)) = field.stored().and_then(StoredType::integer_range) else {
            let expected = "TNULL of integers only";
            self.warn(Code::NullIgnored, &keyword, expected, value.to_string());
            return Ok(None);
        };
        let null = stored_integer(self.header, &keyword, value)?;
        let null = null.filter(|null| (least..=greatest).contains(null));
        if null.is_none() {
            let expected = format!("a number from {least} to {greatest}");
            self.warn(Code::NullIgnored, &keyword, &expected, value.to_string());
        }
        Ok(null.map(Null::Stored))
    }

    /// Reads TDIMn; for strings its first size is their width.
    fn dimensions(&mut self, number: usize, field: &mut Field) -> Vec<u64> {
        let Some(text) = self.text("TDIM", number) else { return Vec::new() };
        let sizes = form::dimensions(text);
        let fits = |dimensions: &Vec<u64>| match *field {
            Field::Fixed { repeat: 0, .. } => form::product(dimensions) == Some(0),
            Field::Fixed { repeat, .. } => {
                form::product(dimensions).is_some_and(|size| (1..=repeat).contains(&size))
            }
            // Descriptors contain the lengths of arrays.
            Field::Variable { .. } => form::product(dimensions).is_some_and(|size| size > 0),
            Field::Text { .. } => false,
        };
        // Sizes beside a 0 cannot be compared with a number of elements.
        let bounded = |sizes: &Vec<u64>| {
            let others: Vec<u64> = sizes.iter().copied().filter(|&size| size > 0).collect();
            form::product(&others).is_some_and(|product| product <= u64::from(u32::MAX))
        };
        let fits = |sizes: &Vec<u64>| fits(sizes) && (!sizes.contains(&0) || bounded(sizes));
        // A size shorter than the field for a single string: some programs write this (CasJobs), and other readers
        // return the whole field.
        let is_cut = |sizes: &Vec<u64>| match (*field, &sizes[..]) {
            (Field::Fixed { element: Element::Character, repeat, .. }, [size]) => *size < repeat,
            _ => false,
        };
        let Some(dimensions) = sizes.filter(|sizes| fits(sizes) && !is_cut(sizes)) else {
            let expected = match *field {
                Field::Fixed { element: Element::Character, repeat, .. } => {
                    format!("sizes (l,m,...) of the {repeat} characters of the field")
                }
                Field::Fixed { repeat, .. } => {
                    format!("sizes (l,m,...) of at most {repeat} elements")
                }
                Field::Variable { .. } => "sizes (l,m,...)".to_owned(),
                Field::Text { .. } => "no dimensions in an ASCII table".to_owned(),
            };
            let found = quoted(text);
            self.warn(Code::DimensionsIgnored, &format!("TDIM{number}"), &expected, found);
            return Vec::new();
        };
        if let Field::Fixed { element: Element::Character, repeat, width } = field {
            *width = dimensions[0];
            let product = form::product(&dimensions).unwrap_or(0);
            if product < *repeat {
                let expected = format!("sizes of all {repeat} characters of the field");
                let found = format!("{text}, {product} characters: the others are not read");
                self.warn(Code::DimensionsShort, &format!("TDIM{number}"), &expected, found);
            }
        }
        dimensions
    }

    /// Reads a string that is not blank; another type is ignored with a warning, because these keywords only describe.
    fn text(&mut self, root: &str, number: usize) -> Option<&'a str> {
        let value = self.look(root, number)?;
        match value {
            Value::Text(text) => Some(text.as_str()).filter(|text| !text.trim().is_empty()),
            Value::Undefined => None,
            other => {
                let found = format!("{} {other}", other.type_name());
                let keyword = self.keyword.clone();
                self.warn(Code::ReservedType, &keyword, "a string", found);
                None
            }
        }
    }

    /// Returns the value of a keyword of this column.
    fn look(&mut self, root: &str, number: usize) -> Option<&'a Value> {
        let is_of_original = self.is_compressed
            && root != "TTYPE"
            && self.header.get(&format!("ZFORM{number}")).is_some();
        if is_of_original {
            return None;
        }
        self.keyword.clear();
        write!(self.keyword, "{root}{number}").expect("a string takes text");
        self.header.get(&self.keyword)
    }

    pub(super) fn warn(&mut self, code: Code, keyword: &str, expected: &str, found: String) {
        let place: Place = self.header.place(keyword);
        self.warnings.push(Warning::new(code, place, expected, found));
    }
}
