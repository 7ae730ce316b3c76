//! Blocks of a file that another thread computes while this one writes earlier blocks.
//!
//! The kernel lets a single writer into a file, so another core prepares blocks (swaps bytes) ahead of it. Neither
//! thread signals the other, because signals cost the writer more than they save: the preparing thread sleeps for a
//! fixed time if it is far enough ahead, and the writer prepares a block itself if the other thread has not reached it
//! (`python -m bench --only 25`).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::append::{BLOCK, UnwrittenBlock, end_of_block};
use crate::executor::{Job, Team, Threads, Worker, work_together};

/// Number of blocks in memory: those prepared ahead, and the one being written.
pub(crate) const BLOCKS: usize = 4;

/// Sleep of the preparing thread if it is far enough ahead: half the time of writing a block.
const NAP: Duration = Duration::from_micros(50);

/// Memory for blocks that are prepared ahead.
#[derive(Debug, Default)]
pub(crate) struct Made {
    slots: [Mutex<Slot>; BLOCKS],
}

#[derive(Debug, Default)]
struct Slot {
    block: UnwrittenBlock,
    /// Number of the block in this slot, once it is complete.
    holds: Option<u64>,
}

impl Made {
    /// Writes a range of a file block by block, in order, on this thread. `make` receives the part of the range within
    /// a block and its buffer, as for [`crate::AppendBlock::append`].
    pub(crate) fn write<E: Send>(
        &mut self,
        range: Range<u64>,
        job: Option<&Job>,
        make: impl Fn(Range<u64>, &mut [u8]) + Sync,
        write: impl FnMut(u64, &[u8]) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        for slot in &mut self.slots {
            slot.get_mut().expect("no one panicked with a block").holds = None;
        }
        let first = range.start / BLOCK;
        let shared = Shared {
            slots: &self.slots,
            count: range.end.div_ceil(BLOCK) - first,
            first,
            range,
            make,
            write: Mutex::new(write),
            claimed: AtomicU64::new(0),
            written: AtomicU64::new(0),
            is_alone: AtomicBool::new(true),
        };
        let threads = Threads { workers: 2, ..Threads::default() };
        work_together(&shared, job, threads).into_iter().collect()
    }
}

/// State shared by the two threads. Blocks are counted from the start of the range.
struct Shared<'a, M, W> {
    slots: &'a [Mutex<Slot>; BLOCKS],
    range: Range<u64>,
    first: u64,
    count: u64,
    make: M,
    write: Mutex<W>,
    /// Blocks before this one are prepared, or being prepared.
    claimed: AtomicU64,
    /// Blocks before this one are written.
    written: AtomicU64,
    /// Whether no other thread prepares blocks.
    is_alone: AtomicBool,
}

impl<M, W, E> Team for Shared<'_, M, W>
where
    M: Fn(Range<u64>, &mut [u8]) + Sync,
    W: FnMut(u64, &[u8]) -> Result<(), E> + Send,
    E: Send,
{
    type Output = Result<(), E>;

    fn work(&self, worker: &Worker<'_>) -> Result<(), E> {
        if worker.is_calling() {
            // The preparing thread ends even if writing fails or panics.
            let _end = End(&self.claimed);
            let mut write = self.write.lock().unwrap_or_else(PoisonError::into_inner);
            return self.write_in_order(worker, &mut *write);
        }
        self.is_alone.store(false, Ordering::Relaxed);
        self.make_ahead(worker);
        self.is_alone.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl<M: Fn(Range<u64>, &mut [u8]) + Sync, W> Shared<'_, M, W> {
    /// Prepares blocks. Ends early if another run should have the permit: the writer then prepares the rest.
    fn make_ahead(&self, worker: &Worker<'_>) {
        while !worker.is_wanted_elsewhere() {
            let next = self.claimed.load(Ordering::Acquire);
            if next >= self.count {
                return;
            }
            if next >= self.written.load(Ordering::Acquire) + BLOCKS as u64 {
                thread::sleep(NAP);
            } else if self.claim(next) {
                self.make(next);
            }
        }
    }

    fn write_in_order<E>(
        &self,
        worker: &Worker<'_>,
        write: &mut impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for block in 0..self.count {
            if self.claim(block) {
                self.make(block);
            }
            let part = self.part(block);
            write(part.start, self.made(block).block.bytes(&part))?;
            self.written.store(block + 1, Ordering::Release);
            // Otherwise this thread might keep the only permit of the two.
            if self.is_alone.load(Ordering::Relaxed) {
                worker.between_tasks();
            }
        }
        Ok(())
    }

    /// Claims a block for preparation; returns whether it was free.
    fn claim(&self, block: u64) -> bool {
        let (relaxed, acquire_release) = (Ordering::Relaxed, Ordering::AcqRel);
        self.claimed.compare_exchange(block, block + 1, acquire_release, relaxed).is_ok()
    }

    /// Prepares a claimed block. The previous block in its slot is written already.
    fn make(&self, block: u64) {
        let mut slot = self.slot(block);
        let part = self.part(block);
        (self.make)(part.clone(), slot.block.room(&part));
        slot.holds = Some(block);
    }

    /// Waits until a block is prepared, and returns its slot.
    fn made(&self, block: u64) -> MutexGuard<'_, Slot> {
        loop {
            let slot = self.slot(block);
            if slot.holds == Some(block) {
                return slot;
            }
            // The other thread has claimed the block but not yet locked its slot.
            drop(slot);
            thread::yield_now();
        }
    }

    fn slot(&self, block: u64) -> MutexGuard<'_, Slot> {
        let slot = &self.slots[block as usize % BLOCKS];
        slot.lock().expect("the other thread made its block")
    }

    fn part(&self, block: u64) -> Range<u64> {
        let start = (self.first + block) * BLOCK;
        start.max(self.range.start)..end_of_block(start).min(self.range.end)
    }
}

/// Prevents further claims when dropped.
struct End<'a>(&'a AtomicU64);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(u64::MAX, Ordering::Release);
    }
}
