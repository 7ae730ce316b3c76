//! Decoded tiles that were used in part, kept for the reads of the other parts: bounded in bytes, shared by threads.
//!
//! A tile that one thread is decoding is not decoded by another one: it waits for the first.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The decoded pixels of a tile, as a file would have them.
pub(crate) type TilePixels = Arc<Vec<u8>>;

/// See the module.
#[derive(Debug)]
pub(crate) struct TileCache {
    kept: Mutex<CachedTiles>,
    /// A tile was decoded, or given up.
    ended: Condvar,
    /// The most bytes that are kept. The tile that came last is kept in any case.
    most: u64,
}

#[derive(Debug, Default)]
struct CachedTiles {
    tiles: HashMap<u64, Slot>,
    bytes: u64,
    /// Counts uses.
    clock: u64,
}

#[derive(Debug)]
enum Slot {
    /// A thread is decoding it.
    UnderWay,
    Decoded {
        pixels: TilePixels,
        used: u64,
    },
}

/// The state of a tile in the cache.
#[derive(Debug)]
pub(crate) enum Lookup {
    /// The pixels.
    Decoded(TilePixels),
    /// Nothing: the caller is to decode it, and to say when it has.
    Claimed,
    /// Another thread is decoding it.
    UnderWay,
}

impl TileCache {
    pub(crate) fn new(most: u64) -> TileCache {
        TileCache { kept: Mutex::default(), ended: Condvar::new(), most }
    }

    /// Looks for a tile, and claims it if no thread has: then [`TileCache::put`] or [`TileCache::give_up`] must follow.
    pub(crate) fn claim(&self, tile: u64) -> Lookup {
        let mut kept = self.lock();
        match kept.find(tile) {
            Some(found) => found,
            None => {
                kept.tiles.insert(tile, Slot::UnderWay);
                Lookup::Claimed
            }
        }
    }

    /// The pixels of a tile, if it is decoded.
    pub(crate) fn get(&self, tile: u64) -> Option<TilePixels> {
        match self.lock().find(tile) {
            Some(Lookup::Decoded(pixels)) => Some(pixels),
            _ => None,
        }
    }

    /// Waits for a tile that another thread is decoding. `None` if that thread gave up.
    pub(crate) fn wait(&self, tile: u64) -> Option<TilePixels> {
        let mut kept = self.lock();
        loop {
            match kept.find(tile) {
                Some(Lookup::Decoded(pixels)) => return Some(pixels),
                Some(_) => kept = self.ended.wait(kept).unwrap_or_else(PoisonError::into_inner),
                None => return None,
            }
        }
    }

    /// Keeps the pixels of a tile, and forgets those used longest ago if there are too many.
    pub(crate) fn put(&self, tile: u64, pixels: TilePixels) {
        let mut kept = self.lock();
        let used = kept.tick();
        kept.bytes += pixels.len() as u64;
        if kept.bytes > self.most {
            kept.forget(self.most / 4 * 3);
        }
        let old = kept.tiles.insert(tile, Slot::Decoded { pixels, used });
        if let Some(Slot::Decoded { pixels, .. }) = old {
            kept.bytes -= pixels.len() as u64;
        }
        self.ended.notify_all();
    }

    /// A claimed tile cannot be decoded.
    pub(crate) fn give_up(&self, tile: u64) {
        let mut kept = self.lock();
        if let Some(Slot::UnderWay) = kept.tiles.get(&tile) {
            kept.tiles.remove(&tile);
        }
        self.ended.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, CachedTiles> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedTiles {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn find(&mut self, tile: u64) -> Option<Lookup> {
        let now = self.tick();
        Some(match self.tiles.get_mut(&tile)? {
            Slot::UnderWay => Lookup::UnderWay,
            Slot::Decoded { pixels, used } => {
                *used = now;
                Lookup::Decoded(Arc::clone(pixels))
            }
        })
    }

    /// Forgets decoded tiles, those used longest ago first, until at most `most` bytes are kept.
    fn forget(&mut self, most: u64) {
        let decoded = |(&tile, slot): (&u64, &Slot)| match slot {
            Slot::Decoded { pixels, used } => Some((*used, tile, pixels.len() as u64)),
            Slot::UnderWay => None,
        };
        let mut tiles: Vec<_> = self.tiles.iter().filter_map(decoded).collect();
        tiles.sort_unstable();
        for (_, tile, bytes) in tiles {
            if self.bytes <= most {
                break;
            }
            self.tiles.remove(&tile);
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(bytes: usize) -> TilePixels {
        Arc::new(vec![7; bytes])
    }

    #[test]
    fn tiles_used_longest_ago_are_forgotten_first() {
        let cache = TileCache::new(100);
        for tile in 0..4 {
            assert!(matches!(cache.claim(tile), Lookup::Claimed));
            cache.put(tile, pixels(30));
            assert!(cache.get(0).is_some(), "used after each other one");
        }
        let kept: Vec<bool> = (0..4).map(|tile| cache.get(tile).is_some()).collect();
        assert_eq!(kept, [true, false, false, true]);
        assert_eq!(cache.lock().bytes, 60);
    }

    #[test]
    fn a_tile_larger_than_the_cache_is_kept_alone() {
        let cache = TileCache::new(100);
        cache.put(1, pixels(50));
        cache.put(2, pixels(1000));
        assert!(cache.get(1).is_none());
        assert_eq!(cache.get(2).map(|pixels| pixels.len()), Some(1000));
        cache.put(3, pixels(10));
        assert!(cache.get(2).is_none() && cache.get(3).is_some());
    }

    #[test]
    fn a_tile_is_decoded_by_one_thread_at_a_time() {
        let cache = TileCache::new(1 << 20);
        let decoded = std::sync::atomic::AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for tile in 0..100 {
                        let found = match cache.claim(tile) {
                            Lookup::Decoded(pixels) => pixels,
                            Lookup::UnderWay => cache.wait(tile).expect("it is not given up"),
                            Lookup::Claimed => {
                                decoded.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                                cache.put(tile, pixels(tile as usize));
                                continue;
                            }
                        };
                        assert_eq!(found.len() as u64, tile);
                    }
                });
            }
        });
        assert_eq!(decoded.into_inner(), 100);
    }

    #[test]
    fn a_tile_that_was_given_up_can_be_claimed_again() {
        let cache = TileCache::new(100);
        assert!(matches!(cache.claim(5), Lookup::Claimed));
        assert!(matches!(cache.claim(5), Lookup::UnderWay));
        cache.give_up(5);
        assert!(cache.wait(5).is_none());
        assert!(matches!(cache.claim(5), Lookup::Claimed));
    }
}
