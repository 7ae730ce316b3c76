//! Payloads as storages: numbers in native byte order, and items. They can be read like every other
//! storage.

use std::ops::Range;

use tachyfits_io::{Id, IoError, Profile, Storage};
use tachyfits_kernels::Tier;
use tachyfits_memory as memory;

use crate::layout::{BLOCK_BYTES, FieldGroup, RecordField};
use crate::payload::Payload;

/// Bytes of records, optionally swapped.
#[derive(Debug)]
pub(crate) struct PayloadView<'a> {
    pub(crate) payload: &'a Payload<'a>,
    /// Bytes per number to swap; 1 for none.
    pub(crate) swap: u64,
    pub(crate) tier: Tier,
}

impl Storage for PayloadView<'_> {
    fn id(&self) -> &Id {
        self.payload.storage().id()
    }

    fn profile(&self) -> Profile {
        Profile { alignment: 1, ..self.payload.storage().profile() }
    }

    fn bytes(&self) -> u64 {
        self.payload.bytes()
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        self.payload.read(offset, buffer, self.swap, self.tier)
    }

    fn kind(&self) -> &'static str {
        self.payload.storage().kind()
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.payload.storage().check_unchanged()
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        is_resident(self.payload, range)
    }
}

/// Records of equal length as items; only whole items can be read.
#[derive(Debug)]
pub(crate) struct ItemsView<'a> {
    pub(crate) payload: &'a Payload<'a>,
    pub(crate) record_bytes: u64,
    pub(crate) item_bytes: u64,
    pub(crate) fields: &'a [RecordField],
    pub(crate) swap: bool,
    pub(crate) tier: Tier,
}

impl ItemsView<'_> {
    fn position(&self, offset: u64) -> u64 {
        offset / self.item_bytes * self.record_bytes
    }
}

impl Storage for ItemsView<'_> {
    fn id(&self) -> &Id {
        self.payload.storage().id()
    }

    fn profile(&self) -> Profile {
        Profile { alignment: 1, ..self.payload.storage().profile() }
    }

    fn bytes(&self) -> u64 {
        self.payload.bytes() / self.record_bytes * self.item_bytes
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let mut position = self.position(offset);
        let mut out = buffer;
        while !out.is_empty() {
            let items = out.len() as u64 / self.item_bytes;
            let Some(together) = self.payload.together(position, items) else {
                let (name, size) = (self.name().to_owned(), self.bytes());
                return Err(IoError::Short { name, offset, expected: out.len() as u64, size });
            };
            let (part, later) = out.split_at_mut((together.count * self.item_bytes) as usize);
            let (fields, item) = (self.fields, self.item_bytes);
            self.payload.read_items(&together, fields, item, self.swap, self.tier, part)?;
            position += together.count * self.record_bytes;
            out = later;
        }
        Ok(())
    }

    fn kind(&self) -> &'static str {
        self.payload.storage().kind()
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.payload.storage().check_unchanged()
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        is_resident(self.payload, self.position(range.start)..self.position(range.end))
    }
}

/// Derived types of one long record as items; only whole items can be read.
#[derive(Debug)]
pub(crate) struct GroupView<'a> {
    pub(crate) payload: &'a Payload<'a>,
    /// Position of the record in the payload.
    pub(crate) begin: u64,
    pub(crate) group: &'a FieldGroup,
    pub(crate) fields: &'a [RecordField],
    pub(crate) swap: bool,
    pub(crate) tier: Tier,
}

impl GroupView<'_> {
    /// Range in the payload of the derived types that fill a range of item bytes.
    fn positions(&self, range: Range<u64>) -> Range<u64> {
        let (step, to_step) = self.group.steps();
        let (first, end) = (range.start / to_step, range.end.div_ceil(to_step));
        let begin = self.begin + self.group.in_record().start + first * step;
        begin..begin + self.group.bytes_of(end - first)
    }
}

impl Storage for GroupView<'_> {
    fn id(&self) -> &Id {
        self.payload.storage().id()
    }

    fn profile(&self) -> Profile {
        Profile { alignment: 1, ..self.payload.storage().profile() }
    }

    fn bytes(&self) -> u64 {
        let items = self.group.in_item();
        items.end - items.start
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let (step, to_step) = self.group.steps();
        let together = (BLOCK_BYTES / step).max(1) * to_step;
        let mut types = Vec::new();
        let mut begin = offset;
        for items in buffer.chunks_mut(together as usize) {
            let end = begin + items.len() as u64;
            let count = end.div_ceil(to_step) - begin / to_step;
            let positions = self.positions(begin..end);
            let length = (positions.end - positions.start) as usize;
            memory::resize(&mut types, length, 0, "derived types of a record")?;
            self.payload.read(positions.start, &mut types, 1, self.tier)?;
            for field in self.fields {
                let from = (&types[..], field.in_records(0, step));
                let to = (&mut *items, field.in_items(to_step));
                field.run(count, self.swap, from, to, self.tier);
            }
            begin = end;
        }
        Ok(())
    }

    fn kind(&self) -> &'static str {
        self.payload.storage().kind()
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.payload.storage().check_unchanged()
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        is_resident(self.payload, self.positions(range))
    }
}

fn is_resident(payload: &Payload<'_>, range: Range<u64>) -> bool {
    let last = range.end.max(range.start + 1) - 1;
    let file = payload.place(range.start)..payload.place(last) + 1;
    file.is_empty() || payload.storage().is_resident(file)
}
