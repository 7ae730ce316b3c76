//! The edited file as one rope of headers, data and fill. It can be read as a file before anything
//! is written, and determines which bytes the old file already has at the same position.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use tachyfits_io::{Id, IoError, Lend, Profile, Storage, push_coalesced};
use tachyfits_memory::{self as memory, NoMemory};

use super::content::{KeptBytes, NEAR_BYTES, PARTS, Rope, Source};
use super::edited_hdu::{EditedHdu, memory};
use crate::error::{Error, Reason};

/// Content of the edited file.
pub(crate) struct EditPlan {
    id: Id,
    pub(crate) rope: Rope,
    /// Current size of the file.
    old_bytes: u64,
    /// The edited file, if the plan may only be read while that is unchanged.
    checked: Option<Arc<dyn Source>>,
}

impl fmt::Debug for EditPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EditPlan({:?}, {:?})", self.id.name(), self.rope)
    }
}

impl EditPlan {
    /// Lays the HDUs out one after another. `rest` is the end of the last HDU of the old file: the
    /// bytes after it stay as long as the same HDU precedes them.
    pub(crate) fn new(
        name: &str,
        units: &[EditedHdu],
        own: &Arc<dyn Source>,
        rest: Rest,
    ) -> Result<EditPlan, Error> {
        let mut rope = Rope::default();
        for (index, unit) in units.iter().enumerate() {
            let is_last = index + 1 == units.len();
            let old = unit.origin.as_ref().filter(|_| unit.own);
            match (&unit.changed, &unit.origin) {
                (None, Some(hdu)) if unit.own && hdu.data_offset <= own.bytes() => {
                    rope.append(Rope::of(Arc::clone(own), hdu.header_offset..hdu.data_offset));
                }
                _ => {
                    let mut header = unit.header().clone();
                    if let Some(hdu) = old {
                        header.fit(hdu.data_offset - hdu.header_offset);
                    }
                    rope.append(memory(header.to_bytes()));
                }
            }
            let at_place = old.is_some_and(|hdu| hdu.data_offset == rope.bytes());
            rope.append(unit.data.clone());
            if unit.missing() > 0 {
                if !is_last || !at_place {
                    let expected =
                        format!("{} bytes more of the data of HDU {index}", unit.missing());
                    let found = "the end of the file";
                    return Err(
                        Error::refused(Reason::DataMissing, expected, found).at(name, index)
                    );
                }
                continue;
            }
            rope.append(unit.fill());
        }
        let keeps_rest = rest.begin == rope.bytes() && units.last().is_some_and(|unit| unit.own);
        if rest.begin < own.bytes() && keeps_rest {
            rope.append(Rope::of(Arc::clone(own), rest.begin..own.bytes()));
        } else if rest.begin < own.bytes() && rest.unreadable {
            let expected = "readable HDUs, where they are moved";
            let found = format!("{} bytes from byte {} on", own.bytes() - rest.begin, rest.begin);
            let last = units.len().saturating_sub(1);
            return Err(Error::refused(Reason::Edit, expected, found).at(name, last));
        }
        let id = Id::new(name.to_owned(), None);
        Ok(EditPlan { id, rope, old_bytes: own.bytes(), checked: None })
    }

    /// Makes reading fail if the edited file changes.
    pub(crate) fn checking(self, own: &Arc<dyn Source>) -> EditPlan {
        EditPlan { checked: Some(Arc::clone(own)), ..self }
    }

    /// Wraps a rope as a storage.
    pub(crate) fn of_rope(rope: Rope) -> EditPlan {
        EditPlan { id: Id::named("edited data"), rope, old_bytes: 0, checked: None }
    }

    /// Returns the ranges that the old file does not have at the same position; close ones are merged.
    ///
    /// # Errors
    /// If memory runs out.
    pub(crate) fn dirty(&self) -> Result<Vec<Range<u64>>, NoMemory> {
        let mut parts = Vec::new();
        self.rope.kept(0..self.rope.bytes(), &mut parts)?;
        let mut dirty: Vec<Range<u64>> = memory::with_room(parts.len() + 1, PARTS)?;
        let mut clean_end = 0;
        let mut add = |range: Range<u64>| {
            if !range.is_empty() {
                push_coalesced(&mut dirty, range, NEAR_BYTES);
            }
        };
        for KeptBytes { at, offset, bytes } in parts {
            if at == offset {
                add(clean_end..at);
                clean_end = at + bytes;
            }
        }
        add(clean_end..self.rope.bytes());
        Ok(dirty)
    }

    /// Returns the cost of a change in place.
    pub(crate) fn cost(&self, dirty: &[Range<u64>]) -> Cost {
        let length = |range: &Range<u64>| range.end - range.start;
        let old = |range: &Range<u64>| range.end.min(self.old_bytes).saturating_sub(range.start);
        Cost {
            overwritten: dirty.iter().map(old).sum(),
            written: dirty.iter().map(length).sum(),
            kept_first: dirty
                .iter()
                .filter(|range| self.rope.reads_own((*range).clone()))
                .map(length)
                .sum(),
        }
    }
}

/// Cost of a change in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) overwritten: u64,
    pub(crate) written: u64,
    /// Bytes that must be spooled before anything is written.
    pub(crate) kept_first: u64,
}

impl Cost {
    /// Bytes read and written for a change in place.
    pub(crate) fn in_place(self) -> u64 {
        2 * self.overwritten + 2 * self.written + 2 * self.kept_first
    }
}

/// Bytes after the last HDU of the old file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    pub(crate) begin: u64,
    /// Whether they are an unreadable HDU, not trailing junk.
    pub(crate) unreadable: bool,
}

impl Storage for EditPlan {
    fn id(&self) -> &Id {
        &self.id
    }

    fn profile(&self) -> Profile {
        Profile::DEVICE
    }

    fn bytes(&self) -> u64 {
        self.rope.bytes()
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        self.check_within(offset, buffer.len() as u64)?;
        self.rope.read(offset, buffer)
    }

    fn kind(&self) -> &'static str {
        "edited"
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.checked.as_ref().map_or(Ok(()), |own| own.check_unchanged())
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        self.rope.is_resident(range)
    }

    fn lend(&self) -> Option<&dyn Lend> {
        Some(self)
    }
}

impl Lend for EditPlan {
    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        self.rope.slice(range)
    }
}
