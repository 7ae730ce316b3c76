//! Rules for the fields of a row: logical values, text, descriptors, and numbers as text. The
//! caller selects the bytes to read.

use std::ops::Range;

use tachyfits_format::{
    Column, Element, Field, Finding, Null, Rule, TableKind, TableLayout, TextForm,
};

use super::ascii;
use super::tally::{Tally, TallyKind, in_cell};

/// Checks of the rows of a table.
pub(super) struct RowCheck<'a> {
    layout: &'a TableLayout,
    columns: Vec<CheckedColumn<'a>>,
    /// Parts of an ASCII table's row outside all fields.
    gaps: Vec<Range<usize>>,
}

/// A column with a rule.
#[derive(Clone, Copy)]
pub(super) struct CheckedColumn<'a> {
    /// Number of the column, from 0.
    pub(super) column: usize,
    definition: &'a Column,
    rule: FieldRule<'a>,
}

#[derive(Clone, Copy)]
enum FieldRule<'a> {
    Logical,
    /// Strings of this many bytes.
    Text(usize),
    /// Bit fields; this many bits of the last byte are unused.
    Bits(u32),
    Descriptor {
        element: Element,
        most: Option<u64>,
    },
    Ascii {
        text: TextForm,
        null: Option<&'a str>,
    },
}

impl<'a> RowCheck<'a> {
    pub(super) fn new(layout: &'a TableLayout) -> RowCheck<'a> {
        let columns = layout.columns.iter().enumerate().filter_map(|(column, definition)| {
            let rule = match &definition.field {
                Field::Fixed { element: Element::Logical, .. } => FieldRule::Logical,
                Field::Fixed { element: Element::Character, width, .. } => {
                    FieldRule::Text(usize::try_from(*width).unwrap_or(usize::MAX).max(1))
                }
                Field::Fixed { element: Element::Bit, repeat, .. } if repeat % 8 > 0 => {
                    FieldRule::Bits(8 - (repeat % 8) as u32)
                }
                Field::Variable { element, repeat: 1, most, .. } if layout.heap_error.is_none() => {
                    FieldRule::Descriptor { element: *element, most: *most }
                }
                Field::Text { text, .. } => {
                    let null = match &definition.null {
                        Some(Null::Text(null)) => Some(null.as_str()),
                        _ => None,
                    };
                    FieldRule::Ascii { text: *text, null }
                }
                _ => return None,
            };
            (definition.field.row_bytes() > 0).then_some(CheckedColumn { column, definition, rule })
        });
        RowCheck { layout, columns: columns.collect(), gaps: gaps(layout) }
    }

    pub(super) fn layout(&self) -> &'a TableLayout {
        self.layout
    }

    /// Whether there is nothing to check.
    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty() && self.gaps.is_empty()
    }

    /// Whether a rule applies to bytes between the fields.
    pub(super) fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }

    /// Number of columns of the table.
    pub(super) fn len(&self) -> usize {
        self.layout.columns.len()
    }

    /// Iterates over the checked columns, with their bytes in a row.
    pub(super) fn fields(&self) -> impl Iterator<Item = (CheckedColumn<'a>, Range<u64>)> {
        self.columns.iter().map(|checked| {
            let begin = checked.definition.offset;
            (*checked, begin..begin + checked.definition.field.row_bytes())
        })
    }

    /// Checks a row.
    pub(super) fn row(&self, row: u64, bytes: &[u8], tally: &mut Tally) {
        for checked in &self.columns {
            let begin = checked.definition.offset as usize;
            let end = begin + checked.definition.field.row_bytes() as usize;
            self.field(*checked, row, &bytes[begin..end], tally);
        }
        if !self.gaps.is_empty() && !bytes.is_ascii() {
            self.gaps(row, bytes, tally);
        }
    }

    /// Checks the field of a column in a row.
    pub(super) fn field(
        &self,
        checked: CheckedColumn<'_>,
        row: u64,
        bytes: &[u8],
        tally: &mut Tally,
    ) {
        match checked.rule {
            FieldRule::Logical => self.logical(checked.column, row, bytes, tally),
            FieldRule::Text(width) => self.text(checked.column, row, bytes, width, tally),
            FieldRule::Bits(unused) => self.bits(checked.column, row, bytes, unused, tally),
            FieldRule::Descriptor { element, most } => {
                self.descriptor(checked.column, row, bytes, (element, most), tally);
            }
            FieldRule::Ascii { text, null } => {
                self.ascii(checked.column, row, bytes, (text, null), tally);
            }
        }
    }

    /// Allows T, F, or 0 for null (Standard 4.0, section 7.3.3.1); also used for arrays in the heap.
    pub(super) fn logical(&self, column: usize, row: u64, bytes: &[u8], tally: &mut Tally) {
        for byte in bytes.iter().filter(|byte| !matches!(byte, b'T' | b'F' | 0)) {
            tally.hit(column, TallyKind::Value, || {
                let found = format!("0x{byte:02x}");
                in_cell(self, Rule::LogicalValue, column, row, "'T', 'F' or a byte of 0", found)
            });
        }
    }

    /// Allows printable ASCII up to the first NUL; the bytes after it are undefined.
    pub(super) fn text(
        &self,
        column: usize,
        row: u64,
        bytes: &[u8],
        width: usize,
        tally: &mut Tally,
    ) {
        if bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) {
            return;
        }
        for string in bytes.chunks(width) {
            let text = string.split(|&byte| byte == 0).next().unwrap_or_default();
            let wrong = text.iter().find(|byte| !matches!(byte, b' '..=b'~'));
            if let Some(byte) = wrong {
                tally.hit(column, TallyKind::Value, || {
                    let found = format!("0x{byte:02x}");
                    in_cell(self, Rule::TextValue, column, row, "printable ASCII", found)
                });
            }
        }
    }

    /// Bits after the data must be 0 (Standard 4.0, section 7.3.3.1).
    fn bits(&self, column: usize, row: u64, bytes: &[u8], unused: u32, tally: &mut Tally) {
        let fill = bytes.last().map_or(0, |byte| byte & ((1 << unused) - 1));
        if fill != 0 {
            tally.hit(column, TallyKind::Value, || {
                let expected = format!("{unused} unused bits of 0");
                in_cell(self, Rule::BitFill, column, row, &expected, format!("0b{fill:b}"))
            });
        }
    }

    fn descriptor(
        &self,
        column: usize,
        row: u64,
        bytes: &[u8],
        (element, most): (Element, Option<u64>),
        tally: &mut Tally,
    ) {
        match self.layout.descriptor(column, row, bytes) {
            Err(error) => {
                tally.hit(column, TallyKind::Descriptor, || Finding::of_problem(error.problem()));
            }
            Ok(descriptor) => {
                let size = element.total_bytes(descriptor.count).unwrap_or(u64::MAX);
                tally.heap_bytes[column] += u128::from(size);
                if most.is_some_and(|most| descriptor.count > most) {
                    tally.hit(column, TallyKind::Length, || {
                        let expected = format!("at most {} elements", most.unwrap_or_default());
                        let found = descriptor.count.to_string();
                        in_cell(self, Rule::DescriptorLength, column, row, &expected, found)
                    });
                }
            }
        }
    }

    fn ascii(
        &self,
        column: usize,
        row: u64,
        bytes: &[u8],
        (text, null): (TextForm, Option<&str>),
        tally: &mut Tally,
    ) {
        let (right, rule, expected) = match text {
            TextForm::Characters => {
                let right = bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
                (right, Rule::AsciiText, "printable ASCII")
            }
            TextForm::Integer => (ascii::is_integer(bytes), Rule::AsciiEntry, "an integer"),
            _ => (ascii::is_real(bytes), Rule::AsciiEntry, "a number"),
        };
        let is_null = || null.is_some_and(|null| bytes.trim_ascii_end() == null.as_bytes());
        if !right && !is_null() {
            tally.hit(column, TallyKind::Value, || {
                let found = format!("{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(40)]));
                in_cell(self, rule, column, row, expected, found)
            });
        }
        let pointless = text.has_decimals() && !bytes.contains(&b'.');
        if right && pointless && !bytes.trim_ascii().is_empty() && !is_null() {
            tally.hit(column, TallyKind::Point, || {
                let found = format!("{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(40)]));
                let expected = "a number with a decimal point";
                in_cell(self, Rule::AsciiPoint, column, row, expected, found)
            });
        }
    }

    /// Between fields, any 7-bit character is allowed.
    fn gaps(&self, row: u64, bytes: &[u8], tally: &mut Tally) {
        for gap in &self.gaps {
            for at in gap.clone().filter(|&at| !bytes[at].is_ascii()) {
                tally.hit(self.len(), TallyKind::Value, || {
                    let offset = self.layout.data_offset + row * self.layout.row_bytes + at as u64;
                    let place = tachyfits_format::Place {
                        row: Some(row + 1),
                        offset: Some(offset),
                        ..tachyfits_format::Place::default()
                    };
                    let found = format!("0x{:02x}", bytes[at]);
                    Finding::of_rule(Rule::AsciiGap, place, "7-bit ASCII", found)
                });
            }
        }
    }

    /// Returns the columns whose arrays in the heap have a rule, and whether they hold logical values.
    pub(super) fn arrays(&self) -> Vec<(usize, bool)> {
        let of = |checked: &CheckedColumn<'_>| match checked.rule {
            FieldRule::Descriptor { element: Element::Logical, .. } => Some((checked.column, true)),
            FieldRule::Descriptor { element: Element::Character, .. } => {
                Some((checked.column, false))
            }
            _ => None,
        };
        self.columns.iter().filter_map(of).collect()
    }
}

/// Returns the byte ranges outside fields, for an ASCII table whose rows fit in memory.
fn gaps(layout: &TableLayout) -> Vec<Range<usize>> {
    let mut gaps = Vec::new();
    if layout.kind != TableKind::Ascii {
        return gaps;
    }
    let mut fields: Vec<Range<u64>> = layout
        .columns
        .iter()
        .map(|column| column.offset..column.offset + column.field.row_bytes())
        .collect();
    fields.sort_unstable_by_key(|field| field.start);
    let mut end = 0;
    for field in fields {
        if field.start > end {
            gaps.push(end as usize..field.start as usize);
        }
        end = end.max(field.end);
    }
    if layout.row_bytes > end {
        gaps.push(end as usize..layout.row_bytes as usize);
    }
    gaps
}
