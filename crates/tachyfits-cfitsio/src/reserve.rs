//! The allocator of the library: if the system has no memory, small blocks come from a reserve.
//!
//! Rust ends the process if a small vector cannot be allocated; CFITSIO continues or returns an error. So the library
//! forwards calls while memory is short, and the reserve serves the call that detected the shortage.
#![expect(unsafe_code, reason = "an allocator: see DESIGN.md, \"Where is unsafe code allowed?\"")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the reserve: a few of the largest vectors whose allocation must not fail. They take no memory until they
/// are used.
const RESERVE_BYTES: usize = 4 << 20;

/// Size above which an allocation may fail.
const MOST_BYTES: usize = 1 << 20;

/// Memory is not short if the system can allocate this many bytes.
const PROBE_BYTES: usize = 256 << 10;

#[global_allocator]
static ALLOCATOR: Reserve =
    Reserve { bytes: Block(UnsafeCell::new([0; RESERVE_BYTES])), state: AtomicU64::new(0) };

/// Whether memory is short: the reserve is in use, and a test allocation fails.
pub(crate) fn is_memory_short() -> bool {
    if ALLOCATOR.state.load(Ordering::Relaxed) == 0 {
        return false;
    }
    let layout = Layout::new::<[u8; PROBE_BYTES]>();
    // SAFETY: the layout has a size.
    let block = unsafe { System.alloc(layout) };
    if !block.is_null() {
        // SAFETY: the block above.
        unsafe { System.dealloc(block, layout) };
    }
    block.is_null()
}

/// Memory with the alignment of all usual types.
#[repr(align(64))]
struct Block(UnsafeCell<[u8; RESERVE_BYTES]>);

// SAFETY: an atomic operation hands out each part once.
unsafe impl Sync for Block {}

/// Reserve of consecutive blocks; the memory becomes free when all blocks are.
struct Reserve {
    bytes: Block,
    /// Number of blocks in use in the upper half, bytes handed out in the lower half.
    state: AtomicU64,
}

impl Reserve {
    fn start(&self) -> *mut u8 {
        self.bytes.0.get().cast()
    }

    /// Returns a block, or NULL if the reserve is exhausted.
    fn take(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MOST_BYTES || layout.align() > align_of::<Block>() {
            return null_mut();
        }
        let mut begin = 0;
        let result = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            begin = (state as u32 as usize).next_multiple_of(layout.align());
            let end = begin + layout.size();
            let blocks = (state >> 32) + 1;
            (end <= RESERVE_BYTES).then_some(blocks << 32 | end as u64)
        });
        // SAFETY: within the reserve.
        if result.is_ok() { unsafe { self.start().add(begin) } } else { null_mut() }
    }

    fn has(&self, block: *mut u8) -> bool {
        (self.start().addr()..self.start().addr() + RESERVE_BYTES).contains(&block.addr())
    }

    /// Returns a block to the reserve.
    fn give(&self, block: *mut u8, bytes: usize) {
        let begin = (block.addr() - self.start().addr()) as u64;
        // The closure always returns a state, so the update succeeds.
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            let (blocks, used) = ((state >> 32) - 1, state & u64::from(u32::MAX));
            let is_last = begin + bytes as u64 == used;
            let used = if is_last { begin } else { used };
            Some(if blocks == 0 { 0 } else { blocks << 32 | used })
        });
    }
}

// SAFETY: blocks come from the system, or are parts of the reserve that no other block overlaps.
unsafe impl GlobalAlloc for Reserve {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() { self.take(layout) } else { block }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            return block;
        }
        let block = self.take(layout);
        if !block.is_null() {
            // SAFETY: a new block of this size.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if self.has(block) {
            self.give(block, layout.size());
        } else {
            // SAFETY: a block of the system, with the caller's layout.
            unsafe { System.dealloc(block, layout) };
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.has(block) {
            // SAFETY: a block of the system, and the caller's size.
            let longer = unsafe { System.realloc(block, layout, size) };
            if !longer.is_null() {
                return longer;
            }
        }
        let Ok(new) = Layout::from_size_align(size, layout.align()) else { return null_mut() };
        // SAFETY: the size is not 0.
        let longer = unsafe { self.alloc(new) };
        if !longer.is_null() {
            // SAFETY: both blocks have at least this many bytes, and do not overlap.
            unsafe { longer.copy_from_nonoverlapping(block, layout.size().min(size)) };
            // SAFETY: the caller's block.
            unsafe { self.dealloc(block, layout) };
        }
        longer
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, MOST_BYTES, RESERVE_BYTES, Reserve};
    use std::alloc::Layout;
    use std::cell::UnsafeCell;
    use std::sync::atomic::{AtomicU64, Ordering};

    static RESERVE: Reserve =
        Reserve { bytes: Block(UnsafeCell::new([0; RESERVE_BYTES])), state: AtomicU64::new(0) };

    #[test]
    fn reserve_hands_out_blocks_until_it_is_used_up() {
        let layout = |bytes| Layout::from_size_align(bytes, 8).unwrap();
        let (first, second) = (RESERVE.take(layout(3)), RESERVE.take(layout(8)));
        assert!(RESERVE.has(first) && second.addr() - first.addr() == 8);
        // The last block is free again at once; the whole reserve when no block is in use.
        RESERVE.give(second, 8);
        assert_eq!(RESERVE.take(layout(100)), second);
        assert!(RESERVE.take(layout(MOST_BYTES + 1)).is_null());
        let large: Vec<_> = (0..5).map(|_| RESERVE.take(layout(MOST_BYTES))).collect();
        assert!(!large[2].is_null() && large[3].is_null() && large[4].is_null());
        for (block, bytes) in [(first, 3), (second, 100)] {
            RESERVE.give(block, bytes);
        }
        large[..3].iter().for_each(|&block| RESERVE.give(block, MOST_BYTES));
        assert_eq!(RESERVE.state.load(Ordering::Relaxed), 0);
    }
}
