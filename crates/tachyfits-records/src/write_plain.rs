//! Writes records of numbers of one size: the items in memory with markers between them. Any part of such a file can be
//! assembled independently.

use std::ops::Range;

use tachyfits_io::AppendBlock;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{Fields, Transfer};

use crate::error::Error;
use crate::markers::RecordMarkers;
use crate::write::{RecordPart, Target, stored_bytes};

impl Target<'_> {
    /// Writes records of numbers of `size` bytes at `end`.
    pub(crate) fn write_plain(
        &self,
        part: &RecordPart<'_>,
        size: u64,
        end: &mut AppendBlock,
        options: &RunOptions<'_>,
    ) -> Result<(), Error> {
        let record_bytes = part.layout.record_bytes;
        let stored = stored_bytes(self.markers, record_bytes);
        let records = PlainRecords { to: self, items: part.items, record_bytes, stored, size };
        let (all, total) = (part.count * stored, part.items.len() as u64);
        let make = |part: Range<u64>, room: &mut [u8]| records.make(&part, room);
        end.append(all, options, make, |offset, bytes| {
            self.sink.write_all_at(offset, bytes)?;
            let done = (offset + bytes.len() as u64).saturating_sub(self.at);
            options.check(done / stored * record_bytes, total).map_err(Error::from)
        })?;
        Ok(options.check(total, total)?)
    }
}

/// Records of numbers of one size as stored in a file; the first begins at byte 0.
#[derive(Debug)]
struct PlainRecords<'a> {
    to: &'a Target<'a>,
    items: &'a [u8],
    record_bytes: u64,
    stored: u64,
    /// Bytes per number.
    size: u64,
}

impl PlainRecords<'_> {
    /// Assembles a part in a buffer that has [`AppendBlock::SLACK`] bytes before and after it: markers and numbers at
    /// its ends are written whole.
    fn make(&self, part: &Range<u64>, room: &mut [u8]) {
        let whole = part.start.div_ceil(self.stored)..part.end / self.stored;
        if whole.start > whole.end {
            return self.make_cut(whole.end, part, room);
        }
        if part.start < whole.start * self.stored {
            self.make_cut(whole.start - 1, part, room);
        }
        if !whole.is_empty() {
            self.make_whole(&whole, part, room);
        }
        if whole.end * self.stored < part.end {
            self.make_cut(whole.end, part, room);
        }
    }

    /// Assembles the records that are entirely within the part.
    fn make_whole(&self, records: &Range<u64>, part: &Range<u64>, room: &mut [u8]) {
        let count = records.end - records.start;
        let block = &mut room[place(records.start * self.stored, part)..];
        let block = &mut block[..(count * self.stored) as usize];
        self.to.mark(block, self.record_bytes, self.stored);
        let items = &self.items[(records.start * self.record_bytes) as usize..];
        let elements = (self.record_bytes / self.size) as usize;
        let fields =
            |offset: usize, stride: u64| Fields { offset, stride: stride as usize, elements };
        let (from, to) = (fields(0, self.record_bytes), fields(self.width() as usize, self.stored));
        self.put(self.size, count, (items, from), (block, to));
    }

    /// Assembles a record that is only partly within the part.
    fn make_cut(&self, record: u64, part: &Range<u64>, room: &mut [u8]) {
        let (begin, width) = (record * self.stored, self.width());
        let numbers = begin + width..begin + width + self.record_bytes;
        for at in [begin, numbers.end] {
            if at < part.end && part.start < at + width {
                let marker = self.marker();
                room[place(at, part)..][..width as usize]
                    .copy_from_slice(&marker[..width as usize]);
            }
        }
        // Without swapping, bytes can be divided anywhere.
        let size = if self.to.swap { self.size } else { 1 };
        let first = part.start.saturating_sub(numbers.start) / size;
        let end = part.end.min(numbers.end).saturating_sub(numbers.start).div_ceil(size);
        if first < end {
            let items = &self.items[(record * self.record_bytes + first * size) as usize..];
            let bytes = ((end - first) * size) as usize;
            let fields = Fields { offset: 0, stride: bytes, elements: (end - first) as usize };
            let room = &mut room[place(numbers.start + first * size, part)..][..bytes];
            self.put(size, 1, (items, fields), (room, fields));
        }
    }

    fn put(
        &self,
        size: u64,
        count: u64,
        (items, from): (&[u8], Fields),
        (room, to): (&mut [u8], Fields),
    ) {
        if from.elements > 0 {
            let (size, count, swap) = (size as usize, count as usize, self.to.swap);
            Transfer { size, swap, count, from, to }.run(items, room, self.to.tier);
        }
    }

    fn marker(&self) -> [u8; 8] {
        self.to.markers.map_or([0; 8], |markers| markers.write(self.record_bytes as i64))
    }

    fn width(&self) -> u64 {
        self.to.markers.map_or(0, RecordMarkers::bytes) as u64
    }
}

/// Index of byte `at` of the file in the buffer for a part.
fn place(at: u64, part: &Range<u64>) -> usize {
    (at + AppendBlock::SLACK as u64 - part.start) as usize
}

#[cfg(test)]
mod tests {
    use crate::markers::{FileOrder, RecordMarkers};
    use proptest::prelude::*;
    use tachyfits_io::{AppendBlock, IoError};
    use tachyfits_kernels::Tier;

    use super::PlainRecords;
    use crate::write::{Sink, Target};

    #[derive(Debug)]
    struct Nowhere;

    impl Sink for Nowhere {
        fn write_all_at(&self, _offset: u64, _bytes: &[u8]) -> Result<(), IoError> {
            unreachable!("only rooms are filled")
        }
    }

    /// Creates the file byte by byte.
    fn twin(items: &[u8], size: usize, record: usize, order: FileOrder, width: usize) -> Vec<u8> {
        let mut file = Vec::new();
        for item in items.chunks(record) {
            let marker = match (width, order) {
                (0, _) => vec![],
                (4, FileOrder::Big) => (record as u32).to_be_bytes().to_vec(),
                (4, FileOrder::Little) => (record as u32).to_le_bytes().to_vec(),
                (_, FileOrder::Big) => (record as u64).to_be_bytes().to_vec(),
                (_, FileOrder::Little) => (record as u64).to_le_bytes().to_vec(),
            };
            file.extend(&marker);
            for number in item.chunks(size) {
                match order == FileOrder::NATIVE {
                    true => file.extend(number),
                    false => file.extend(number.iter().rev()),
                }
            }
            file.extend(&marker);
        }
        file
    }

    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|at| (at * 7 % 253) as u8).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn any_part_is_made_by_itself(
            size in prop::sample::select(vec![1usize, 2, 4, 8, 16]),
            numbers in 1usize..12,
            count in 1usize..20,
            width in prop::sample::select(vec![0usize, 4, 8]),
            big in any::<bool>(),
            cuts in prop::collection::vec(0.0f64..1.0, 0..12),
        ) {
            let order = if big { FileOrder::Big } else { FileOrder::Little };
            let record = size * numbers;
            let items = bytes(record * count);
            let expected = twin(&items, size, record, order, width);
            let to = Target {
                sink: &Nowhere,
                at: 0,
                markers: (width > 0).then(|| RecordMarkers::new(width, order).unwrap()),
                swap: order != FileOrder::NATIVE,
                tier: Tier::SCALAR,
            };
            let (record_bytes, stored) = (record as u64, (record + 2 * width) as u64);
            let records = PlainRecords { to: &to, items: &items, record_bytes, stored, size: size as u64 };
            let mut ends: Vec<_> = cuts.iter().map(|cut| (cut * expected.len() as f64) as usize).collect();
            ends.push(expected.len());
            ends.sort_unstable();
            ends.dedup();
            let mut start = 0;
            for end in ends.into_iter().filter(|&end| end > 0) {
                let mut room = vec![99; end - start + 2 * AppendBlock::SLACK];
                records.make(&(start as u64..end as u64), &mut room);
                prop_assert_eq!(&room[AppendBlock::SLACK..][..end - start], &expected[start..end]);
                start = end;
            }
        }
    }
}
