//! Groups the records of a conversion into tasks, with bounded memory for any number and length of records.

use crate::layout::BLOCK_BYTES;

/// Maximum blocks planned at a time.
const MOST_TASKS: usize = 4096;
/// Maximum stretches per block, and in total: if forms or lengths alternate, each record is a stretch.
const MOST_OF_TASK: usize = 1024;
const MOST_STRETCHES: usize = if cfg!(test) { 5000 } else { 1 << 16 };

/// Consecutive records of one length and form, and their destination.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) record: u64,
    pub(crate) count: u64,
    /// Bytes of a record, of its converted form, and of that with markers.
    pub(crate) bytes: u64,
    pub(crate) new_bytes: u64,
    pub(crate) stored: u64,
    pub(crate) form: usize,
    /// Position of the first record in the payload, and its offset in the new file.
    pub(crate) position: u64,
    pub(crate) at: u64,
}

impl Stretch {
    /// Bytes of source or destination, whichever is larger.
    fn most_bytes(&self) -> u64 {
        self.count * self.stored.max(self.bytes)
    }
}

/// Consecutive stretches, in tasks of about one block each.
#[derive(Debug, Default)]
pub(crate) struct Stretches {
    tasks: Vec<Vec<Stretch>>,
    count: usize,
    /// Bytes of the last task.
    last_bytes: u64,
}

impl Stretches {
    pub(crate) fn push(&mut self, stretch: Stretch) {
        let bytes = stretch.most_bytes();
        self.count += 1;
        match self.tasks.last_mut() {
            Some(task) if task.len() < MOST_OF_TASK && self.last_bytes < BLOCK_BYTES / 2 => {
                self.last_bytes += bytes;
                task.push(stretch);
            }
            _ => {
                self.last_bytes = bytes;
                self.tasks.push(vec![stretch]);
            }
        }
    }

    /// Whether the planned stretches must be converted before more are added.
    pub(crate) fn are_many(&self) -> bool {
        self.tasks.len() >= MOST_TASKS || self.count >= MOST_STRETCHES
    }

    /// Removes and returns the stretches of each task.
    pub(crate) fn take(&mut self) -> Vec<Vec<Stretch>> {
        std::mem::take(self).tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts stretches and blocks planned before a conversion, for records of `bytes` bytes.
    fn planned(bytes: u64, count: u64) -> (usize, usize) {
        let mut stretches = Stretches::default();
        let mut numbers = 0..;
        while !stretches.are_many() {
            let (new_bytes, form, at) = (bytes, 0, 0);
            let record = numbers.next().unwrap();
            stretches.push(Stretch {
                record,
                count,
                bytes,
                new_bytes,
                stored: bytes,
                form,
                position: 0,
                at,
            });
        }
        let tasks = stretches.take();
        assert!(stretches.take().is_empty());
        let records: Vec<u64> = tasks.iter().flatten().map(|stretch| stretch.record).collect();
        assert!(records.iter().copied().eq(0..numbers.start));
        assert!(tasks.iter().all(|task| task.len() <= MOST_OF_TASK));
        let of_task = |task: &Vec<Stretch>| task.iter().map(Stretch::most_bytes).sum::<u64>();
        assert!(tasks.iter().all(|task| of_task(task) < BLOCK_BYTES / 2 + count * bytes));
        (records.len(), tasks.len())
    }

    #[test]
    fn plans_of_short_records_need_no_more_memory() {
        assert_eq!(planned(8, 1), (MOST_STRETCHES, MOST_STRETCHES.div_ceil(MOST_OF_TASK)));
        assert_eq!(planned(0, 1), planned(8, 1));
        assert_eq!(planned(8, BLOCK_BYTES / 8), (MOST_TASKS, MOST_TASKS));
        assert_eq!(planned(BLOCK_BYTES / 4, 1), (MOST_STRETCHES, MOST_STRETCHES / 2));
    }
}
