//! Positions of the records of a file, as runs of records of equal length.

use std::ops::Range;

use tachyfits_memory::{self as memory, NoMemory};

use crate::error::{Code, Problem};

/// Maximum gap between records that is read along rather than skipped by a separate read.
const NEAR_BYTES: u64 = 4 << 10;
/// Purpose of the memory, for errors.
pub(crate) const RUNS: &str = "runs of records of equal length";

/// Records of equal length at equal distances, or one record of several subrecords.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordRun {
    /// Number of the first record, from 0.
    pub first: u64,
    /// Number of records.
    pub count: u64,
    /// Offset of the first record's bytes, after its marker.
    pub offset: u64,
    /// Bytes of a record, without markers.
    pub bytes: u64,
    /// Distance from one record to the next.
    pub stride: u64,
    /// Byte ranges of a record that consists of subrecords; otherwise empty.
    pub pieces: Box<[Range<u64>]>,
}

impl RecordRun {
    /// Returns the byte ranges of a record, by its number within the run.
    pub fn payload(&self, within: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        let start = self.offset + within * self.stride;
        let whole = self.pieces.is_empty().then_some(start..start + self.bytes);
        whole.into_iter().chain(self.pieces.iter().cloned())
    }
}

/// All records of a file, or those before the first damage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordIndex {
    pub(crate) runs: Vec<RecordRun>,
    pub(crate) records: u64,
    pub(crate) end: u64,
    pub(crate) damage: Option<Problem>,
    pub(crate) skipped: Vec<(Range<u64>, Problem)>,
}

impl RecordIndex {
    /// Creates the index of direct access: records of equal length without markers. A partial record at the end is
    /// damage; with `recover` it is skipped.
    ///
    /// ```
    /// let index = tachyfits_records::RecordIndex::direct(10, 35, false);
    /// assert_eq!((index.len(), index.end()), (3, 30));
    /// assert_eq!(index.payload(2), [20..30]);
    /// assert_eq!(index.damage().unwrap().code.as_str(), "record-cut");
    /// assert_eq!(tachyfits_records::RecordIndex::direct(10, 35, true).skipped()[0].0, 30..35);
    /// ```
    #[must_use]
    pub fn direct(record_bytes: u64, file_bytes: u64, recover: bool) -> RecordIndex {
        let mut index = RecordIndex::default();
        let count = file_bytes.checked_div(record_bytes).unwrap_or(0);
        index.push(0, record_bytes, record_bytes, count);
        index.end = count * record_bytes;
        if index.end < file_bytes {
            let expected = format!("a record of {record_bytes} bytes");
            let found = format!("{} bytes before the file ends", file_bytes - index.end);
            let error = Problem::new(Code::Cut, expected, found).at(count + 1, index.end);
            match recover {
                true => index.skipped.push((index.end..file_bytes, error)),
                false => index.damage = Some(error),
            }
        }
        index
    }

    /// Creates the index of stream access: one record, unless the file is empty.
    #[must_use]
    pub fn stream(file_bytes: u64) -> RecordIndex {
        RecordIndex::direct(file_bytes, file_bytes, false)
    }

    /// Number of whole records.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.records
    }

    /// Whether there are no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Records as runs, in the order of the file.
    #[must_use]
    pub fn runs(&self) -> &[RecordRun] {
        &self.runs
    }

    /// End of the last whole record, its marker included.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Reason why the records end before the file does.
    #[must_use]
    pub fn damage(&self) -> Option<&Problem> {
        self.damage.as_ref()
    }

    /// Bytes skipped after damage, and the reason.
    #[must_use]
    pub fn skipped(&self) -> &[(Range<u64>, Problem)] {
        &self.skipped
    }

    /// Returns the index in [`RecordIndex::runs`] of the run that contains a record, and the record's number within
    /// that run.
    #[must_use]
    pub fn find(&self, record: u64) -> Option<(usize, u64)> {
        if record >= self.records {
            return None;
        }
        let place = self.runs.partition_point(|run| run.first <= record) - 1;
        Some((place, record - self.runs[place].first))
    }

    /// Bytes of a record.
    #[must_use]
    pub fn bytes(&self, record: u64) -> Option<u64> {
        self.find(record).map(|(place, _)| self.runs[place].bytes)
    }

    /// Returns the byte ranges of a record; empty if the record does not exist.
    #[must_use]
    pub fn payload(&self, record: u64) -> Vec<Range<u64>> {
        let hit = self.find(record);
        hit.map_or(Vec::new(), |(place, within)| self.runs[place].payload(within).collect())
    }

    /// Returns the index of every `step`th record from `first`, at most `count` records. Damage and the end of the
    /// records remain with this index.
    ///
    /// ```
    /// let index = tachyfits_records::RecordIndex::direct(10, 90, false);
    /// let chosen = index.every(1, 3, 3)?;
    /// assert_eq!((chosen.len(), chosen.payload(2)), (3, vec![70..80]));
    /// assert_eq!((chosen.runs().len(), index.every(1, 4, 3)?.len()), (1, 2));
    /// # Ok::<(), tachyfits_memory::NoMemory>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if there is too little memory.
    pub fn every(&self, first: u64, step: u64, count: u64) -> Result<RecordIndex, NoMemory> {
        let step = step.max(1);
        let mut selection = RecordIndex::default();
        let mut next = first;
        let Some((place, _)) = self.find(first) else { return Ok(selection) };
        for run in &self.runs[place..] {
            // Fewer if records of this run are skipped, or `count` is reached.
            let available = (run.first + run.count).saturating_sub(next).div_ceil(step);
            let length = available.min(count - selection.records);
            if length > 0 {
                let begin = run.offset + (next - run.first) * run.stride;
                let stride = if length > 1 { run.stride * step } else { run.bytes };
                selection.push_apart(run, begin, stride, length)?;
                next = next.saturating_add(length.saturating_mul(step));
            }
            if selection.records == count {
                break;
            }
        }
        Ok(selection)
    }

    /// Adds records of a run, the first at `offset`: as part of the preceding run, if they continue it at the same
    /// stride and are close together.
    fn push_apart(
        &mut self,
        run: &RecordRun,
        offset: u64,
        stride: u64,
        count: u64,
    ) -> Result<(), NoMemory> {
        if count > 1 && stride > NEAR_BYTES {
            let mut places = (0..count).map(|n| offset + n * stride);
            return places.try_for_each(|place| self.push_apart(run, place, run.bytes, 1));
        }
        let first = self.records;
        self.records += count;
        let bytes = run.bytes;
        if let Some(last) = self.runs.last_mut()
            && last.pieces.is_empty()
            && run.pieces.is_empty()
            && last.bytes == bytes
        {
            let distance = offset - (last.offset + (last.count - 1) * last.stride);
            let as_before = last.count == 1 || last.stride == distance;
            let as_behind = count == 1 || stride == distance;
            if as_before && as_behind && distance <= NEAR_BYTES {
                (last.count, last.stride) = (last.count + count, distance);
                return Ok(());
            }
        }
        let pieces = memory::copied(&run.pieces, RUNS)?.into_boxed_slice();
        memory::push(
            &mut self.runs,
            RecordRun { first, count, offset, bytes, stride, pieces },
            RUNS,
        )
    }

    /// Reserves memory for one more run.
    ///
    /// # Errors
    /// Returns an error if there is too little.
    pub(crate) fn reserve(&mut self) -> Result<(), NoMemory> {
        memory::reserve(&mut self.runs, 1, RUNS)
    }

    /// Adds records of equal length, the first of which has its bytes at `offset`.
    pub(crate) fn push(&mut self, offset: u64, bytes: u64, stride: u64, count: u64) {
        if count == 0 {
            return;
        }
        let first = self.records;
        self.records += count;
        if let Some(last) = self.runs.last_mut()
            && last.pieces.is_empty()
            && last.bytes == bytes
            && last.stride == stride
            && last.offset + last.count * stride == offset
        {
            last.count += count;
            return;
        }
        self.runs.push(RecordRun { first, count, offset, bytes, stride, pieces: Box::default() });
    }

    /// Adds a record of several subrecords.
    pub(crate) fn push_pieces(&mut self, pieces: Vec<Range<u64>>) {
        let bytes = pieces.iter().map(|piece| piece.end - piece.start).sum();
        let offset = pieces.first().map_or(0, |piece| piece.start);
        let (first, stride, pieces) = (self.records, 0, pieces.into_boxed_slice());
        self.records += 1;
        self.runs.push(RecordRun { first, count: 1, offset, bytes, stride, pieces });
    }
}
