//! Data of an edited HDU: a rope of pieces, each a part of a readable source. Cutting and
//! concatenating ropes moves no bytes.
//!
//! A piece may consist of bytes of the edited file itself; the rope lists these parts, so that an
//! edit in place writes only the others.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use tachyfits_io::{Id, IoError, Lend, Profile, Request, Storage};
use tachyfits_memory::{self as memory, NoMemory};

use super::edited_cells::Overlay;

/// Purpose of the allocation, for error messages.
pub(super) const PARTS: &str = "the parts of an edited file";

/// Ranges separated by at most this many bytes are written as one: less than a page of the page cache.
pub(super) const NEAR_BYTES: u64 = 4096 - 1;

/// Pieces of one source separated by at most this many bytes are read together.
const GAP_BYTES: u64 = 32 << 10;
/// Maximum bytes that are read together.
const TOGETHER_BYTES: u64 = 1 << 20;

/// The source of a piece.
pub(crate) trait Source: Storage {
    /// Appends the parts that are bytes of the edited file, in ascending order; parts outside `range` may be omitted.
    ///
    /// # Errors
    /// If memory runs out.
    fn kept(&self, range: Range<u64>, parts: &mut Vec<KeptBytes>) -> Result<(), NoMemory>;

    /// Whether reading it reads the edited file.
    fn reads_own(&self) -> bool;

    /// Whether it is the edited file.
    fn is_own(&self) -> bool {
        false
    }

    /// Nesting depth of sources.
    fn depth(&self) -> usize {
        0
    }

    /// Returns itself, if it is rows with updated cells.
    fn as_overlay(&self) -> Option<&Overlay> {
        None
    }
}

/// A part of some data that consists of bytes of the edited file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptBytes {
    /// Offset in the data.
    pub(crate) at: u64,
    /// Offset in the edited file.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// A storage as a source.
#[derive(Debug)]
pub(crate) struct StoredSource {
    pub(crate) storage: Arc<dyn Storage>,
    /// Whether it is the edited file.
    pub(crate) own: bool,
    /// Whether reading it may read the edited file, as for an image computed from that file.
    pub(crate) reads_own: bool,
}

impl Source for StoredSource {
    fn kept(&self, range: Range<u64>, parts: &mut Vec<KeptBytes>) -> Result<(), NoMemory> {
        if self.own && !range.is_empty() {
            let (at, bytes) = (range.start, range.end - range.start);
            memory::push(parts, KeptBytes { at, offset: at, bytes }, PARTS)?;
        }
        Ok(())
    }

    fn reads_own(&self) -> bool {
        self.reads_own
    }

    fn is_own(&self) -> bool {
        self.own
    }
}

/// Implements `Storage` by delegation to a field.
macro_rules! storage_of {
    ($type:ty, $field:ident) => {
        impl Storage for $type {
            fn id(&self) -> &Id {
                self.$field.id()
            }

            fn bytes(&self) -> u64 {
                self.$field.bytes()
            }

            fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
                self.$field.read_exact_at(offset, buffer)
            }

            fn read_ranges(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
                self.$field.read_ranges(requests)
            }

            fn profile(&self) -> Profile {
                Profile { alignment: 1, ..self.$field.profile() }
            }

            fn check_unchanged(&self) -> Result<(), IoError> {
                self.$field.check_unchanged()
            }

            fn is_resident(&self, range: Range<u64>) -> bool {
                self.$field.is_resident(range)
            }

            fn lend(&self) -> Option<&dyn Lend> {
                Some(self)
            }
        }

        impl Lend for $type {
            fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
                self.$field.slice(range)
            }

            fn reads_far_ahead(&self) -> bool {
                self.$field.reads_far_ahead()
            }

            fn will_need(&self, range: Range<u64>) {
                self.$field.will_need(range)
            }
        }
    };
}
storage_of!(StoredSource, storage);

/// Data as a sequence of pieces.
#[derive(Clone, Default)]
pub(crate) struct Rope {
    /// Offset of each piece, and the piece.
    pieces: Vec<(u64, RopePiece)>,
    bytes: u64,
}

#[derive(Clone)]
struct RopePiece {
    source: Arc<dyn Source>,
    /// Offset of the piece in its source.
    from: u64,
    bytes: u64,
}

impl fmt::Debug for Rope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rope({} bytes in {} pieces)", self.bytes, self.pieces.len())
    }
}

impl Rope {
    /// Creates a rope from a part of a source.
    pub(crate) fn of(source: Arc<dyn Source>, range: Range<u64>) -> Rope {
        let mut rope = Rope::default();
        rope.push(RopePiece { source, from: range.start, bytes: range.end - range.start });
        rope
    }

    /// Creates a rope from a whole storage other than the edited file.
    pub(crate) fn of_storage(storage: Arc<dyn Storage>) -> Rope {
        let bytes = storage.bytes();
        Rope::of(Arc::new(StoredSource { storage, own: false, reads_own: false }), 0..bytes)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn push(&mut self, piece: RopePiece) {
        if piece.bytes == 0 {
            return;
        }
        let begin = self.bytes;
        self.bytes += piece.bytes;
        if let Some((_, last)) = self.pieces.last_mut()
            && Arc::ptr_eq(&last.source, &piece.source)
            && last.from + last.bytes == piece.from
        {
            last.bytes += piece.bytes;
            return;
        }
        self.pieces.push((begin, piece));
    }

    /// Appends another rope.
    pub(crate) fn append(&mut self, other: Rope) {
        other.pieces.into_iter().for_each(|(_, piece)| self.push(piece));
    }

    /// Appends a part of another rope.
    pub(crate) fn append_part(&mut self, other: &Rope, range: Range<u64>) {
        for index in other.first_piece(range.start)..other.pieces.len() {
            let (begin, piece) = &other.pieces[index];
            if *begin >= range.end {
                break;
            }
            let start = range.start.max(*begin);
            let end = range.end.min(begin + piece.bytes);
            let source = Arc::clone(&piece.source);
            self.push(RopePiece { source, from: piece.from + start - begin, bytes: end - start });
        }
    }

    /// Returns a part of the data.
    pub(crate) fn part(&self, range: Range<u64>) -> Rope {
        let mut part = Rope::default();
        part.append_part(self, range);
        part
    }

    /// Appends the parts of `range` that are bytes of the edited file, in ascending order.
    ///
    /// # Errors
    /// If memory runs out.
    pub(crate) fn kept(
        &self,
        range: Range<u64>,
        parts: &mut Vec<KeptBytes>,
    ) -> Result<(), NoMemory> {
        for index in self.first_piece(range.start)..self.pieces.len() {
            let (begin, piece) = &self.pieces[index];
            if *begin >= range.end {
                break;
            }
            let within = piece.from..piece.from + piece.bytes;
            let first = parts.len();
            piece.source.kept(within.clone(), parts)?;
            let mut next = first;
            for index in first..parts.len() {
                let part = parts[index];
                let start = part.at.max(within.start);
                let end = (part.at + part.bytes).min(within.end);
                // Offset in the rope, clipped to the range.
                let at = (start.max(within.start) - within.start + begin).max(range.start);
                let stop = (end.max(start) - within.start + begin).min(range.end);
                if at < stop {
                    let skipped = at + within.start - begin - part.at;
                    parts[next] = KeptBytes { at, offset: part.offset + skipped, bytes: stop - at };
                    next += 1;
                }
            }
            parts.truncate(next);
        }
        Ok(())
    }

    /// Whether reading the range reads the edited file.
    pub(crate) fn reads_own(&self, range: Range<u64>) -> bool {
        let pieces = &self.pieces[self.first_piece(range.start)..];
        let within = pieces.iter().take_while(|(begin, _)| *begin < range.end);
        within.into_iter().any(|(_, piece)| piece.source.reads_own())
    }

    /// Returns the source, if the data are exactly the whole of one.
    pub(crate) fn whole_source(&self) -> Option<&dyn Source> {
        match &self.pieces[..] {
            [(_, piece)] if piece.from == 0 && piece.bytes == piece.source.bytes() => {
                Some(&*piece.source)
            }
            _ => None,
        }
    }

    /// Maximum nesting depth of sources.
    pub(crate) fn depth(&self) -> usize {
        self.pieces.iter().map(|(_, piece)| piece.source.depth()).max().unwrap_or(0)
    }

    /// Returns the index of the piece that contains byte `at`.
    fn first_piece(&self, at: u64) -> usize {
        self.pieces.partition_point(|(begin, piece)| begin + piece.bytes <= at)
    }

    /// Fills `buffer` with the bytes from `offset` on; all must be within the rope.
    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let end = offset + buffer.len() as u64;
        let mut index = self.first_piece(offset);
        let mut at = offset;
        let mut scratch = Vec::new();
        while at < end {
            let count = self.together(index, at, end);
            let (begin, first) = &self.pieces[index];
            let (last_begin, last) = &self.pieces[index + count - 1];
            let stop = end.min(last_begin + last.bytes);
            let from = first.from + at - begin;
            let out = &mut buffer[(at - offset) as usize..(stop - offset) as usize];
            if count == 1 {
                first.source.read_exact_at(from, out)?;
            } else {
                let length = (last.from + stop - last_begin - from) as usize;
                memory::resize(&mut scratch, length, 0, "pieces of an edited file")?;
                first.source.read_exact_at(from, &mut scratch)?;
                for (begin, piece) in &self.pieces[index..index + count] {
                    let (start, ends) = (at.max(*begin), stop.min(begin + piece.bytes));
                    let source = (piece.from + start - begin - from) as usize;
                    let length = (ends - start) as usize;
                    out[(start - at) as usize..][..length]
                        .copy_from_slice(&scratch[source..source + length]);
                }
            }
            at = stop;
            index += count;
        }
        Ok(())
    }

    /// Counts the pieces from `index` on to read together: close to each other in one source.
    fn together(&self, index: usize, at: u64, end: u64) -> usize {
        let (begin, first) = &self.pieces[index];
        let from = first.from + at - begin;
        let mut count = 1;
        let mut last_end = first.from + first.bytes;
        for (begin, piece) in &self.pieces[index + 1..] {
            let near = *begin < end
                && Arc::ptr_eq(&piece.source, &first.source)
                && piece.from >= last_end
                && piece.from - last_end <= GAP_BYTES
                && piece.from + piece.bytes - from <= TOGETHER_BYTES;
            if !near {
                break;
            }
            last_end = piece.from + piece.bytes;
            count += 1;
        }
        count
    }

    /// Checks every source once, as [`Storage::check_unchanged`], except the edited file, which the
    /// editor checks before changing it.
    pub(crate) fn check_unchanged(&self) -> Result<(), IoError> {
        let sources = || self.pieces.iter().map(|(_, piece)| &piece.source);
        let before = std::iter::once(None).chain(sources().map(Some));
        let is_next = |(source, before): &(&Arc<dyn Source>, Option<&Arc<dyn Source>>)| {
            !source.is_own() && !before.is_some_and(|before| Arc::ptr_eq(before, source))
        };
        sources().zip(before).filter(is_next).try_for_each(|(source, _)| source.check_unchanged())
    }

    /// Borrows bytes, if a piece has all of them in memory.
    pub(crate) fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        let (begin, piece) = self.pieces.get(self.first_piece(range.start))?;
        let within = *begin <= range.start && range.end <= begin + piece.bytes;
        let from = (piece.from + range.start).checked_sub(*begin)?;
        within.then(|| piece.source.lend()?.slice(from..from + (range.end - range.start)))?
    }

    /// Whether the beginning of a range seems to be in memory.
    pub(crate) fn is_resident(&self, range: Range<u64>) -> bool {
        self.pieces.get(self.first_piece(range.start)).is_none_or(|(begin, piece)| {
            let end = range.end.min(begin + piece.bytes);
            let from = piece.from + range.start.saturating_sub(*begin);
            piece.source.is_resident(from..from + end.saturating_sub(range.start))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tachyfits_io::MemoryStorage;

    fn stored(content: &[u8], own: bool) -> Arc<dyn Source> {
        let storage = Arc::new(MemoryStorage::new("made", content.to_vec()));
        Arc::new(StoredSource { storage, own, reads_own: own })
    }

    fn all(rope: &Rope) -> Vec<u8> {
        let mut bytes = vec![0; rope.bytes() as usize];
        rope.read(0, &mut bytes).unwrap();
        bytes
    }

    proptest! {
        /// Ropes behave as vectors when cut and concatenated; pieces marked as kept are bytes of the file.
        #[test]
        fn ropes_are_what_vectors_are(
            cuts in prop::collection::vec((0usize..300, 0usize..300, 0usize..300, any::<bool>()), 1..20),
            from in 0usize..400,
            length in 0usize..400,
        ) {
            let old: Vec<u8> = (0..=255).collect();
            let new: Vec<u8> = (0..200).map(|n| (n * 7) as u8).collect();
            let (own, other) = (stored(&old, true), stored(&new, false));
            let mut rope = Rope::of(Arc::clone(&own), 0..256);
            let mut twin = old.clone();
            for (a, b, c, keep) in cuts {
                let (begin, end) = (a.min(b).min(twin.len()), a.max(b).min(twin.len()));
                let at = c.min(new.len());
                let mut next = rope.part(0..begin as u64);
                next.append(Rope::of(Arc::clone(&other), at as u64 / 2..at as u64));
                let mut vector = [&twin[..begin], &new[at / 2..at]].concat();
                if keep {
                    next.append_part(&rope, end as u64..rope.bytes());
                    vector.extend(&twin[end..]);
                } else {
                    next.append_part(&rope, begin as u64..end as u64);
                    vector.extend(&twin[begin..end]);
                }
                (rope, twin) = (next, vector);
                if twin.len() > 2000 {
                    break;
                }
            }
            prop_assert_eq!(rope.bytes() as usize, twin.len());
            prop_assert_eq!(&all(&rope), &twin);
            let from = from.min(twin.len());
            let to = (from + length).min(twin.len());
            let mut part = vec![0; to - from];
            rope.read(from as u64, &mut part).unwrap();
            prop_assert_eq!(&part[..], &twin[from..to]);
            if let Some(slice) = rope.slice(from as u64..to as u64) {
                prop_assert_eq!(slice, &twin[from..to]);
            }
            let mut parts = Vec::new();
            rope.kept(from as u64..to as u64, &mut parts).unwrap();
            let mut last_end = from as u64;
            for KeptBytes { at, offset, bytes } in parts {
                prop_assert!(at >= last_end && at + bytes <= to as u64 && bytes > 0);
                last_end = at + bytes;
                let (at, offset) = (at as usize, offset as usize);
                prop_assert_eq!(&twin[at..at + bytes as usize], &old[offset..offset + bytes as usize]);
            }
        }
    }
}
