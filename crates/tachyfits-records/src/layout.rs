//! Layout of records of equal length: fields, each a run of numbers, repeated for arrays of derived types, and the
//! copies between records and items.
//!
//! A repeated field is a single field. So a record of 10^5 derived types is described and copied at the cost of one.

use std::ops::Range;

use tachyfits_kernels::{Fields, Tier, Transfer};

use crate::error::{Code, Error};

/// Bytes per task of a thread: half of a second-level cache, their source included.
pub(crate) const BLOCK_BYTES: u64 = 256 << 10;

/// Records of several fields above this size are read, converted and written field by field.
pub(crate) const LONG_RECORD: u64 = 1 << 20;

/// Derived types above this size are handled field by field as well.
const LONG_TYPE: u64 = 256 << 10;

/// A part of each record, and its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordField {
    /// Offset in the record.
    pub offset: u64,
    /// Bytes per number: 1, 2, 4, 8 or 16. The parts of a complex number count as separate numbers.
    pub size: u64,
    /// Number of contiguous numbers.
    pub elements: u64,
    /// Offset in the item.
    pub to: u64,
    /// Number of repetitions.
    pub repeats: u64,
    /// Bytes from one repetition to the next in the record; ignored without repetition.
    pub step: u64,
    /// Bytes from one repetition to the next in the item.
    pub to_step: u64,
}

/// Position of a field in a buffer: offset of the first repetition, distance to the next repetition in the same record,
/// and distance to the next record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldPlace {
    pub(crate) offset: u64,
    pub(crate) step: u64,
    pub(crate) stride: u64,
}

/// A repetition: its count, and the strides in source and destination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    pub(crate) count: u64,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// Contiguous numbers: bytes of each, their count, and whether to swap bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberRun {
    pub(crate) size: u64,
    pub(crate) elements: u64,
    pub(crate) swap: bool,
}

impl NumberRun {
    /// Copies the numbers for all nested repetitions: the kernel loops over the longest one.
    pub(crate) fn run(
        self,
        steps: &[Steps],
        (from, from_offset): (&[u8], u64),
        (to, to_offset): (&mut [u8], u64),
        tier: Tier,
    ) {
        let once = Steps { count: 1, from: 0, to: 0 };
        let longest = steps.iter().enumerate().rev().max_by_key(|(_, steps)| steps.count);
        let (longest, along) = longest.map_or((0, once), |(number, steps)| (number, *steps));
        let others = || steps.iter().enumerate().filter(|&(number, _)| number != longest);
        let calls = others().map(|(_, steps)| steps.count).product::<u64>();
        if self.elements == 0 || along.count == 0 {
            return;
        }
        for call in 0..calls {
            let (mut rest, mut from_at, mut to_at) = (call, from_offset, to_offset);
            for (_, steps) in others() {
                from_at += rest % steps.count * steps.from;
                to_at += rest % steps.count * steps.to;
                rest /= steps.count;
            }
            let fields = |offset: u64, stride: u64| Fields {
                offset: offset as usize,
                stride: stride as usize,
                elements: self.elements as usize,
            };
            let transfer = Transfer {
                size: self.size as usize,
                swap: self.swap && self.size > 1,
                count: along.count as usize,
                from: fields(from_at, along.from),
                to: fields(to_at, along.to),
            };
            transfer.run(from, to, tier);
        }
    }
}

impl RecordField {
    /// Creates a field that occurs once in a record.
    pub fn once(offset: u64, size: u64, elements: u64, to: u64) -> RecordField {
        RecordField { offset, size, elements, to, repeats: 1, step: 0, to_step: 0 }
    }

    /// Bytes of the contiguous numbers.
    pub(crate) fn run_bytes(&self) -> u64 {
        self.size * self.elements
    }

    /// Bytes from the first number to the end of the last in the record.
    fn span(&self) -> u64 {
        self.repeats.saturating_sub(1) * self.step + self.run_bytes()
    }

    /// Bytes from the first number to the end of the last in the item.
    fn item_span(&self) -> u64 {
        self.repeats.saturating_sub(1) * self.to_step + self.run_bytes()
    }

    /// Range of the first contiguous numbers in the item.
    fn first_to(&self) -> Range<u64> {
        self.to..self.to + self.run_bytes()
    }

    /// Returns the field for items that contain nothing else.
    pub(crate) fn alone(self) -> RecordField {
        RecordField { to: 0, to_step: self.run_bytes(), ..self }
    }

    /// Position of the field in records `stride` bytes apart, the first of which begins at `begin`.
    pub(crate) fn in_records(&self, begin: u64, stride: u64) -> FieldPlace {
        FieldPlace { offset: begin + self.offset, step: self.step, stride }
    }

    /// Position of the field in items.
    pub(crate) fn in_items(&self, stride: u64) -> FieldPlace {
        FieldPlace { offset: self.to, step: self.to_step, stride }
    }

    /// Copies the field of `count` records.
    pub(crate) fn run(
        &self,
        count: u64,
        swap: bool,
        (from, from_place): (&[u8], FieldPlace),
        (to, to_place): (&mut [u8], FieldPlace),
        tier: Tier,
    ) {
        let steps = [
            Steps { count, from: from_place.stride, to: to_place.stride },
            Steps { count: self.repeats, from: from_place.step, to: to_place.step },
        ];
        let numbers = NumberRun { size: self.size, elements: self.elements, swap };
        numbers.run(&steps, (from, from_place.offset), (to, to_place.offset), tier);
    }

    /// Whether the field fits in record and item, and its repetitions do not overlap.
    fn fits(&self, record_bytes: u64, item_bytes: u64) -> bool {
        let within = |offset: u64, step: u64, all: u64| {
            let bytes = self.size.checked_mul(self.elements)?;
            let apart = self.repeats < 2 || step >= bytes;
            let last = self.repeats.saturating_sub(1).checked_mul(step)?.checked_add(offset)?;
            Some(apart && last.checked_add(bytes)? <= all)
        };
        let there = within(self.offset, self.step, record_bytes) == Some(true)
            && within(self.to, self.to_step, item_bytes) == Some(true);
        matches!(self.size, 1 | 2 | 4 | 8 | 16) && (self.repeats == 0 || there)
    }
}

/// Layout of records of equal length, and of the items made from them, such as rows of a structured array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordLayout {
    /// Bytes of a record.
    pub record_bytes: u64,
    /// Bytes of an item.
    pub item_bytes: u64,
    /// The fields; bytes of the item outside of fields are left unchanged.
    pub fields: Vec<RecordField>,
}

impl RecordLayout {
    /// Creates the layout of numbers of one size, with items that contain the same numbers.
    pub fn plain(record_bytes: u64, size: u64) -> RecordLayout {
        let field = RecordField::once(0, size, record_bytes / size.max(1), 0);
        RecordLayout { record_bytes, item_bytes: record_bytes, fields: vec![field] }
    }

    /// Returns the size of the numbers if an item is the record, except for the byte order.
    pub(crate) fn is_plain(&self) -> Option<u64> {
        match self.fields.as_slice() {
            [field]
                if self.item_bytes == self.record_bytes
                    && (field.offset, field.to, field.repeats) == (0, 0, 1)
                    && field.run_bytes() == self.record_bytes =>
            {
                Some(field.size)
            }
            _ => None,
        }
    }

    /// Checks that fields fit in record and item.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let (record_bytes, item_bytes) = (self.record_bytes, self.item_bytes);
        match self.fields.iter().find(|field| !field.fits(record_bytes, item_bytes)) {
            None => Ok(()),
            Some(field) => {
                let expected = format!(
                    "fields within records of {record_bytes} bytes and items of {item_bytes}"
                );
                Err(Error::refused(Code::Type, expected, format!("{field:?}")))
            }
        }
    }

    /// Returns the fields in the order of the record; fields of the same derived types are grouped.
    pub(crate) fn groups(&self) -> Vec<FieldGroup> {
        let mut fields: Vec<_> = self.fields.iter().filter(|field| field.elements > 0).collect();
        fields.retain(|field| field.repeats > 0);
        fields.sort_by_key(|field| field.offset);
        let mut groups: Vec<FieldGroup> = Vec::new();
        for field in fields {
            match groups.last_mut().filter(|group| group.takes(field)) {
                Some(group) => group.take(*field),
                None => groups.push(FieldGroup::of(*field)),
            }
        }
        groups
    }
}

/// Fields with the same repetitions: the members of an array of derived types. At least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldGroup {
    fields: Vec<RecordField>,
    /// Range of the first derived type's fields in the item.
    first_to: Range<u64>,
}

impl FieldGroup {
    fn of(field: RecordField) -> FieldGroup {
        FieldGroup { fields: vec![field], first_to: field.first_to() }
    }

    /// Whether a field, which does not begin before these, has the same repetitions and belongs to the group.
    fn takes(&self, field: &RecordField) -> bool {
        let steps = |field: &RecordField| (field.repeats, field.step, field.to_step);
        let first = &self.fields[0];
        field.repeats > 1
            && steps(first) == steps(field)
            && field.offset + field.run_bytes() <= first.offset + first.step
            && field.to + field.run_bytes() <= self.first_to.start + first.to_step
            && self.first_to.end <= field.to + first.to_step
    }

    fn take(&mut self, field: RecordField) {
        let to = field.first_to();
        self.first_to = self.first_to.start.min(to.start)..self.first_to.end.max(to.end);
        self.fields.push(field);
    }

    fn is_long(&self) -> bool {
        let (step, to_step) = self.steps();
        self.repeats() > 1 && step.max(to_step) > LONG_TYPE
    }

    pub(crate) fn repeats(&self) -> u64 {
        self.fields[0].repeats
    }

    /// Bytes per number, if the group is a single field without repetition.
    pub(crate) fn number(&self) -> Option<u64> {
        (self.repeats() == 1).then_some(self.fields[0].size)
    }

    /// Bytes from one derived type to the next in the record, and in the item.
    pub(crate) fn steps(&self) -> (u64, u64) {
        (self.fields[0].step, self.fields[0].to_step)
    }

    /// Range in the record.
    pub(crate) fn in_record(&self) -> Range<u64> {
        let end = self.fields.iter().map(|field| field.offset + field.span()).max().unwrap_or(0);
        self.fields[0].offset..end
    }

    /// Range in the item.
    pub(crate) fn in_item(&self) -> Range<u64> {
        let begin = self.fields.iter().map(|field| field.to).min().unwrap_or(0);
        begin..self.fields.iter().map(|field| field.to + field.item_span()).max().unwrap_or(0)
    }

    /// Bytes in the record from the first field to the end of `count` derived types.
    pub(crate) fn bytes_of(&self, count: u64) -> u64 {
        let range = self.in_record();
        count.saturating_sub(1) * self.fields[0].step + (range.end - range.start)
            - (self.repeats() - 1) * self.fields[0].step
    }

    /// Bytes of the items that fit in about `bytes` bytes of record and item.
    pub(crate) fn items_of(&self, bytes: u64) -> u64 {
        let (step, to_step) = self.steps();
        (bytes / step.max(to_step)).max(1) * to_step
    }

    /// Returns the fields of a record, and an item, of a single derived type.
    pub(crate) fn fields(&self) -> Vec<RecordField> {
        let (offset, to) = (self.in_record().start, self.in_item().start);
        let alone = |field: &RecordField| {
            RecordField::once(field.offset - offset, field.size, field.elements, field.to - to)
        };
        self.fields.iter().map(alone).collect()
    }

    /// Passes the whole group to `act`, or, if `apart` is true or the derived types are long, each field of each type
    /// in turn: a list could be as long as the numbers of the record.
    pub(crate) fn each(
        &self,
        apart: bool,
        mut act: impl FnMut(&FieldGroup) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !apart && !self.is_long() {
            return act(self);
        }
        for n in 0..self.repeats() {
            for field in &self.fields {
                let (offset, to) = (field.offset + n * field.step, field.to + n * field.to_step);
                let once = RecordField::once(offset, field.size, field.elements, to);
                act(&FieldGroup::of(once))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(offset: u64, to: u64, step: u64) -> RecordField {
        RecordField { repeats: 1 << 40, step, to_step: step, ..RecordField::once(offset, 4, 1, to) }
    }

    #[test]
    fn a_derived_type_of_very_many_fields_is_one_group() {
        // Comparing each field with all preceding ones would take 5 * 10^11 steps.
        let count = 1 << 20;
        // The second half of the record is the first half of the item.
        let to = |n: u64| 8 * if n < count / 2 { n + count / 2 } else { n - count / 2 };
        let fields = (0..count).map(|n| repeated(8 * n, to(n), 8 * count)).collect();
        let layout = RecordLayout { record_bytes: 1 << 63, item_bytes: 1 << 63, fields };
        let groups = layout.groups();
        assert_eq!((groups.len(), groups[0].fields.len() as u64), (1, count));
        assert_eq!(groups[0].first_to, 0..8 * count - 4);
    }

    #[test]
    fn a_field_that_reaches_into_the_next_type_of_the_item_is_not_of_the_group() {
        let group = |to: [u64; 3]| {
            let field = |(n, to): (usize, u64)| RecordField {
                to_step: 12,
                ..repeated(8 * n as u64, to, 24)
            };
            let fields = to.into_iter().enumerate().map(field).collect();
            RecordLayout { record_bytes: 24, item_bytes: 24, fields }.groups().len()
        };
        assert_eq!([[0, 4, 8], [8, 4, 0], [4, 8, 0], [28, 24, 20]].map(group), [1; 4]);
        assert_eq!([[0, 4, 9], [9, 4, 0], [4, 0, 9], [4, 9, 0], [0, 12, 4]].map(group), [2; 5]);
    }

    #[test]
    fn numbers_of_derived_types_are_taken_apart_one_by_one() {
        let mut group = FieldGroup::of(repeated(0, 4, 8));
        group.take(repeated(4, 0, 8));
        let mut calls = Vec::new();
        let stopped = group.each(true, |part| {
            calls.push((part.in_record(), part.in_item()));
            match calls.len() {
                3 => Err(Error::refused(Code::Records, "three", "no more")),
                _ => Ok(()),
            }
        });
        assert!(stopped.is_err());
        assert_eq!(calls, [(0..4, 4..8), (4..8, 0..4), (8..12, 12..16)]);
    }
}
