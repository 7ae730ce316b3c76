//! The allocator of the library: where the system has no memory, small blocks come from a reserve.
//!
//! Rust ends the process where a small vector finds no memory; CFITSIO goes on or returns an error. So the library forwards
//! calls while memory is short, and the reserve serves the call that found it short.
#![expect(unsafe_code, reason = "an allocator: see DESIGN.md, \"Where is unsafe code allowed?\"")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the reserve: a few of the largest vectors that cannot fail. They take no memory until they are used.
const RESERVE_BYTES: usize = 4 << 20;

/// Larger blocks are those that may fail.
const MOST_BYTES: usize = 1 << 20;

/// Memory is not short if the system has this much.
const PROBE_BYTES: usize = 256 << 10;

#[global_allocator]
static ALLOCATOR: Reserve =
    Reserve { bytes: Block(UnsafeCell::new([0; RESERVE_BYTES])), state: AtomicU64::new(0) };

/// Whether memory is short: the reserve is in use, and the system has little.
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

/// A block of memory with the alignment of every usual type.
#[repr(align(64))]
struct Block(UnsafeCell<[u8; RESERVE_BYTES]>);

// SAFETY: parts are handed out once each, by an atomic operation.
unsafe impl Sync for Block {}

/// Blocks follow each other; the memory is free again when the last of them is.
struct Reserve {
    bytes: Block,
    /// Blocks in use in the upper half, bytes that were handed out in the lower one.
    state: AtomicU64,
}

impl Reserve {
    fn start(&self) -> *mut u8 {
        self.bytes.0.get().cast()
    }

    /// Returns a block, or NULL without a free one.
    fn take(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MOST_BYTES || layout.align() > align_of::<Block>() {
            return null_mut();
        }
        let mut begin = 0;
        let taken = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            begin = (state as u32 as usize).next_multiple_of(layout.align());
            let end = begin + layout.size();
            let blocks = (state >> 32) + 1;
            (end <= RESERVE_BYTES).then_some(blocks << 32 | end as u64)
        });
        // SAFETY: within the reserve.
        if taken.is_ok() { unsafe { self.start().add(begin) } } else { null_mut() }
    }

    fn has(&self, block: *mut u8) -> bool {
        (self.start().addr()..self.start().addr() + RESERVE_BYTES).contains(&block.addr())
    }

    /// Takes a block back.
    fn give(&self, block: *mut u8, bytes: usize) {
        let begin = (block.addr() - self.start().addr()) as u64;
        // The state is never without an answer.
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            let (blocks, used) = ((state >> 32) - 1, state & u64::from(u32::MAX));
            let is_last = begin + bytes as u64 == used;
            let used = if is_last { begin } else { used };
            Some(if blocks == 0 { 0 } else { blocks << 32 | used })
        });
    }
}

// SAFETY: blocks are the system's, or parts of the reserve that no other block has.
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
            // SAFETY: a block of the system, as the caller's layout says.
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
            // SAFETY: both blocks have this many bytes, and the new one is another.
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
        // The last one is free again at once, all when none is used.
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
