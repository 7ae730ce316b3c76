//! Rows with updated cells. The rows themselves are not changed; each read replaces the updated bytes.
//!
//! Updates of few cells are stored as one sorted list of bytes; lists of similar length are merged,
//! so that the cost of each of many single updates grows only logarithmically with their number.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use tachyfits_io::{Id, IoError, Profile, Storage, push_coalesced};

use tachyfits_memory::{self as memory, NoMemory};

use super::content::{KeptBytes, NEAR_BYTES, PARTS, Rope, Source};

/// Rows with updated cells.
#[derive(Clone)]
pub(crate) struct Overlay {
    base: Rope,
    /// Later patches take precedence over earlier ones.
    patches: Vec<Arc<Patch>>,
}

/// Bytes that replace bytes of rows.
#[derive(Debug)]
pub(crate) enum Patch {
    /// The same field of consecutive rows.
    Fields {
        /// Offset of the first field.
        first: u64,
        stride: u64,
        width: u64,
        count: u64,
        /// The new fields, contiguous.
        bytes: Rope,
    },
    /// Fields or runs of pixels at any positions, without overlap.
    Scattered {
        /// Offset of each, its length, and the offset of its bytes; sorted.
        places: Vec<(u64, u32, usize)>,
        bytes: Vec<u8>,
    },
}

impl fmt::Debug for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Overlay({:?}, {} patches)", self.base, self.patches.len())
    }
}

impl Overlay {
    /// Adds a patch to rows.
    ///
    /// # Errors
    /// If memory runs out.
    pub(crate) fn over(rows: &Rope, patch: Patch) -> Result<Rope, NoMemory> {
        let bytes = rows.bytes();
        // Rows with patches get another patch, not another layer.
        let existing = rows.whole_source().and_then(|source| source.as_overlay());
        let mut overlay = existing
            .cloned()
            .unwrap_or_else(|| Overlay { base: rows.clone(), patches: Vec::new() });
        overlay.add(patch)?;
        Ok(Rope::of(Arc::new(overlay), 0..bytes))
    }

    fn add(&mut self, patch: Patch) -> Result<(), NoMemory> {
        self.patches.push(Arc::new(patch));
        while let [.., older, newer] = &self.patches[..] {
            let Some(merged) = older.merged(newer)? else { break };
            let remaining = self.patches.len() - 2;
            self.patches.truncate(remaining);
            self.patches.push(Arc::new(merged));
        }
        Ok(())
    }
}

impl Patch {
    /// Merges two lists, if the newer one is not much shorter.
    fn merged(&self, newer: &Patch) -> Result<Option<Patch>, NoMemory> {
        let (
            Patch::Scattered { places: old, bytes: old_bytes },
            Patch::Scattered { places: new, bytes: new_bytes },
        ) = (self, newer)
        else {
            return Ok(None);
        };
        if new.len() * 2 < old.len() {
            return Ok(None);
        }
        const WHAT: &str = "replaced cells or pixels";
        // A newer piece splits at most one older piece, and the merged bytes are at most those of both.
        let mut places = memory::with_room(old.len() + 2 * new.len(), WHAT)?;
        let mut bytes = memory::with_room(old_bytes.len() + new_bytes.len(), WHAT)?;
        let mut put = |at: u64, piece: &[u8]| {
            if !piece.is_empty() {
                places.push((at, piece.len() as u32, bytes.len()));
                bytes.extend_from_slice(piece);
            }
        };
        let mut newer = new.iter().peekable();
        for &(at, length, begin) in old {
            let (mut at, end) = (at, at + u64::from(length));
            let piece = |from: u64, to: u64| {
                let begin = begin + (from + u64::from(length) - end) as usize;
                &old_bytes[begin..begin + (to - from) as usize]
            };
            // The part not covered by newer cells.
            while let Some(&(over, length, begin)) =
                newer.next_if(|(over, length, _)| *over < end && over + u64::from(*length) <= end)
            {
                if over > at {
                    put(at, piece(at, over));
                }
                put(over, &new_bytes[begin..begin + length as usize]);
                at = at.max(over + u64::from(length));
            }
            let until = newer.peek().map_or(end, |(over, ..)| end.min(*over));
            if at < until {
                put(at, piece(at, until));
            }
        }
        newer.for_each(|&(over, length, begin)| {
            put(over, &new_bytes[begin..begin + length as usize])
        });
        Ok(Some(Patch::Scattered { places, bytes }))
    }

    /// Replaces bytes of `out`, which begins at `offset`.
    fn lay(&self, offset: u64, out: &mut [u8]) -> Result<(), IoError> {
        let end = offset + out.len() as u64;
        match self {
            Patch::Scattered { places, bytes } => {
                let first =
                    places.partition_point(|(at, length, _)| at + u64::from(*length) <= offset);
                for &(at, length, from) in places[first..].iter().take_while(|(at, ..)| *at < end) {
                    let field = &bytes[from..from + length as usize];
                    lay_field(field, at, offset, out);
                }
            }
            Patch::Fields { first, stride, width, count, bytes } => {
                let rows = self.rows(offset..end);
                if rows.is_empty() || *count == 0 {
                    return Ok(());
                }
                let length = ((rows.end - rows.start) * width) as usize;
                let mut fields = memory::filled(length, 0, "replaced fields")?;
                bytes.read(rows.start * width, &mut fields)?;
                for (row, field) in rows.zip(fields.chunks(*width as usize)) {
                    lay_field(field, first + row * stride, offset, out);
                }
            }
        }
        Ok(())
    }

    /// Returns the rows, counted from the first, whose fields overlap these bytes.
    fn rows(&self, range: Range<u64>) -> Range<u64> {
        let Patch::Fields { first, stride, width, count, .. } = self else { return 0..0 };
        // The field of row n begins at first + n * stride.
        let before = |at: u64| at.saturating_sub(*first).div_ceil(*stride).min(*count);
        let past_first = range.start.saturating_sub(first + width - 1);
        let start =
            if range.start < first + width { 0 } else { past_first.div_ceil(*stride).min(*count) };
        start..before(range.end).max(start)
    }

    /// Calls `visit` with the ranges of replaced bytes, in ascending order.
    fn ranges(&self, within: Range<u64>, mut visit: impl FnMut(Range<u64>)) {
        match self {
            Patch::Scattered { places, .. } => {
                let first = places
                    .partition_point(|(at, length, _)| at + u64::from(*length) <= within.start);
                for &(at, length, _) in
                    places[first..].iter().take_while(|(at, ..)| *at < within.end)
                {
                    visit(at..at + u64::from(length));
                }
            }
            Patch::Fields { first, stride, width, .. } => {
                for row in self.rows(within) {
                    visit(first + row * stride..first + row * stride + width);
                }
            }
        }
    }

    fn reads_own(&self) -> bool {
        match self {
            Patch::Fields { bytes, .. } => bytes.reads_own(0..bytes.bytes()),
            Patch::Scattered { .. } => false,
        }
    }
}

/// Copies the overlapping part of a field that begins at `at` into `out`, which begins at `offset`.
fn lay_field(field: &[u8], at: u64, offset: u64, out: &mut [u8]) {
    let start = at.max(offset);
    let end = (at + field.len() as u64).min(offset + out.len() as u64);
    if start < end {
        let part = &field[(start - at) as usize..(end - at) as usize];
        out[(start - offset) as usize..(end - offset) as usize].copy_from_slice(part);
    }
}

impl Storage for Overlay {
    fn id(&self) -> &Id {
        static ID: Id = Id::named("updated rows");
        &ID
    }

    fn profile(&self) -> Profile {
        Profile::DEVICE
    }

    fn bytes(&self) -> u64 {
        self.base.bytes()
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        self.base.read(offset, buffer)?;
        self.patches.iter().try_for_each(|patch| patch.lay(offset, buffer))
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.base.check_unchanged()
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        self.base.is_resident(range)
    }
}

impl Source for Overlay {
    fn kept(&self, range: Range<u64>, parts: &mut Vec<KeptBytes>) -> Result<(), NoMemory> {
        let mut base = Vec::new();
        self.base.kept(range.clone(), &mut base)?;
        for patch in &self.patches {
            let (mut ranges, mut reserved) = (Vec::new(), Ok(()));
            patch.ranges(range.clone(), |range| {
                if reserved.is_ok() && ranges.len() == ranges.capacity() {
                    reserved = memory::reserve(&mut ranges, 1, PARTS);
                }
                if reserved.is_ok() {
                    push_coalesced(&mut ranges, range, NEAR_BYTES);
                }
            });
            reserved?;
            base = without(&base, &ranges)?;
        }
        memory::extend(parts, &base, PARTS)
    }

    fn reads_own(&self) -> bool {
        self.base.reads_own(0..self.base.bytes())
            || self.patches.iter().any(|patch| patch.reads_own())
    }

    fn depth(&self) -> usize {
        self.base.depth() + 1
    }

    fn as_overlay(&self) -> Option<&Overlay> {
        Some(self)
    }
}

/// Returns the parts outside the ranges; both lists are sorted.
fn without(parts: &[KeptBytes], ranges: &[Range<u64>]) -> Result<Vec<KeptBytes>, NoMemory> {
    let mut outside = memory::with_room(parts.len() + ranges.len(), PARTS)?;
    let mut first = 0;
    for part in parts {
        let end = part.at + part.bytes;
        let mut at = part.at;
        let mut keep = |from: u64, to: u64| {
            if from < to {
                let offset = part.offset + (from - part.at);
                outside.push(KeptBytes { at: from, offset, bytes: to - from });
            }
        };
        while first < ranges.len() && ranges[first].end <= at {
            first += 1;
        }
        for range in ranges[first..].iter().take_while(|range| range.start < end) {
            keep(at, range.start);
            at = at.max(range.end);
        }
        keep(at, end);
    }
    Ok(outside)
}
