//! Writes a long record, or a record of several subrecords: markers separately, and numbers piece by piece at their
//! places.

use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{Fields, Transfer};
use tachyfits_memory as memory;

use crate::error::Error;
use crate::layout::{BLOCK_BYTES, FieldGroup, RecordLayout};
use crate::write::{Target, in_turn};

impl Target<'_> {
    /// Writes one record, field by field, piece by piece.
    pub(crate) fn write_long(
        &self,
        item: &[u8],
        layout: &RecordLayout,
        options: &RunOptions<'_>,
    ) -> Result<(), Error> {
        self.write_markers(layout.record_bytes)?;
        let groups = layout.groups();
        // Bytes between the fields of derived types are written along, so they must not belong to other fields.
        let is_behind = |pair: &[FieldGroup]| pair[0].in_record().end <= pair[1].in_record().start;
        let apart = !groups.windows(2).all(is_behind);
        let mut write = |group: &FieldGroup| {
            let (begin, range) = (group.in_record().start, group.in_item());
            let values = &item[range.start as usize..range.end as usize];
            match group.number() {
                None => self.write_group(group, values, options),
                Some(size) if self.swap => self.write_turned(begin, values, size, options),
                Some(_) => self.write_unchanged(begin, values, options),
            }
        };
        groups.iter().try_for_each(|group| group.each(apart, &mut write))
    }

    /// Writes derived types of a record, as many at a time as fit in a block.
    fn write_group(
        &self,
        group: &FieldGroup,
        values: &[u8],
        options: &RunOptions<'_>,
    ) -> Result<(), Error> {
        let (step, to_step) = group.steps();
        let in_block = (BLOCK_BYTES / step).clamp(1, group.repeats());
        let tasks = group.repeats().div_ceil(in_block);
        let fields = group.fields();
        let make = |block: &mut Vec<u8>, fresh: bool, task: u64| {
            let count = in_block.min(group.repeats() - task * in_block);
            // Reused blocks keep their gaps.
            if fresh {
                block.clear();
            }
            memory::resize(block, group.bytes_of(count) as usize, 0, "a part of a record")?;
            let items = &values[(task * in_block * to_step) as usize..];
            for field in &fields {
                let from = (items, field.in_items(to_step));
                let to = (&mut block[..], field.in_records(0, step));
                field.run(count, self.swap, from, to, self.tier);
            }
            Ok(count * to_step)
        };
        in_turn(options, true, (tasks, values.len() as u64), make, |task, block| {
            self.write_payload(group.in_record().start + task * in_block * step, block)
        })
    }

    /// Writes numbers of a record in the other byte order.
    fn write_turned(
        &self,
        offset: u64,
        values: &[u8],
        size: u64,
        options: &RunOptions<'_>,
    ) -> Result<(), Error> {
        let pieces = values.chunks(BLOCK_BYTES as usize);
        let pieces = memory::collected(pieces, "the pieces of a record")?;
        let make = |turned: &mut Vec<u8>, _: bool, task: u64| {
            let piece = pieces[task as usize];
            memory::resize(turned, piece.len(), 0, "a part of a record")?;
            let elements = piece.len() / size as usize;
            let stride = piece.len();
            let fields = Fields { offset: 0, stride, elements };
            let (size, swap) = (size as usize, self.swap);
            let transfer = Transfer { size, swap, count: 1, from: fields, to: fields };
            transfer.run(piece, turned, self.tier);
            Ok(piece.len() as u64)
        };
        let all = (pieces.len() as u64, values.len() as u64);
        in_turn(options, true, all, make, |task, block| {
            self.write_payload(offset + task * BLOCK_BYTES, block)
        })
    }

    /// Writes bytes of a record directly from memory.
    fn write_unchanged(
        &self,
        offset: u64,
        values: &[u8],
        options: &RunOptions<'_>,
    ) -> Result<(), Error> {
        let (mut done, total) = (0, values.len() as u64);
        for piece in values.chunks(BLOCK_BYTES as usize) {
            self.write_payload(offset + done, piece)?;
            done += piece.len() as u64;
            options.check(done, total)?;
        }
        Ok(())
    }

    /// Writes the markers of all subrecords of a record, and the last byte of a record without markers, so that the
    /// file has its full length.
    pub(crate) fn write_markers(&self, record_bytes: u64) -> Result<(), Error> {
        let Some(markers) = self.markers else {
            if record_bytes > 0 {
                self.sink.write_all_at(self.at + record_bytes - 1, &[0])?;
            }
            return Ok(());
        };
        let width = markers.bytes();
        let mut at = self.at;
        for part in markers.subrecords(record_bytes, markers.longest()) {
            self.sink.write_all_at(at, &markers.write(part.leading)[..width])?;
            at += width as u64 + part.bytes;
            self.sink.write_all_at(at, &markers.write(part.trailing)[..width])?;
            at += width as u64;
        }
        Ok(())
    }

    /// Writes bytes of a record at an offset within the record.
    pub(crate) fn write_payload(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let Some(markers) = self.markers else {
            return Ok(self.sink.write_all_at(self.at + offset, bytes)?);
        };
        let (width, longest) = (markers.bytes() as u64, markers.longest());
        let (mut offset, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let count = (longest - offset % longest).min(rest.len() as u64);
            let (part, later) = rest.split_at(count as usize);
            let at = self.at + offset + width * (1 + 2 * (offset / longest));
            self.sink.write_all_at(at, part)?;
            (offset, rest) = (offset + count, later);
        }
        Ok(())
    }
}
