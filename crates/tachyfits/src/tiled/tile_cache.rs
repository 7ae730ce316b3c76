//! Decoded tiles that were used in part, kept for the reads of the other parts: bounded in bytes, shared by threads.
//!
//! A tile that one thread is decoding is not decoded by another one: it waits for the first.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Decoded content of a tile: how many bytes it has in memory, about.
pub(crate) trait Weighed {
    fn bytes(&self) -> u64;
}

/// Pixels, as a file would have them.
impl Weighed for Vec<u8> {
    fn bytes(&self) -> u64 {
        self.len() as u64
    }
}

/// See the module. `K` says which tile, and which part of it; `V` is what it is decoded to.
#[derive(Debug)]
pub(crate) struct TileCache<K = u64, V = Vec<u8>> {
    kept: Mutex<CachedTiles<K, V>>,
    /// A tile was decoded, or given up.
    ended: Condvar,
    /// The most bytes that are kept. The tile that came last is kept in any case.
    most: u64,
}

#[derive(Debug)]
struct CachedTiles<K, V> {
    tiles: HashMap<K, Slot<V>>,
    bytes: u64,
    /// Counts uses.
    clock: u64,
}

#[derive(Debug)]
enum Slot<V> {
    /// A thread is decoding it.
    UnderWay,
    Decoded {
        content: Arc<V>,
        used: u64,
    },
}

/// The state of a tile in the cache.
#[derive(Debug)]
pub(crate) enum Lookup<V = Vec<u8>> {
    /// Its content.
    Decoded(Arc<V>),
    /// Nothing: the caller is to decode it, and to say when it has.
    Claimed,
    /// Another thread is decoding it.
    UnderWay,
}

impl<K: Copy + Eq + Hash, V: Weighed> TileCache<K, V> {
    pub(crate) fn new(most: u64) -> TileCache<K, V> {
        let kept = CachedTiles { tiles: HashMap::new(), bytes: 0, clock: 0 };
        TileCache { kept: Mutex::new(kept), ended: Condvar::new(), most }
    }

    /// Looks for a tile, and claims it if no thread has: then [`TileCache::put`] or [`TileCache::give_up`] must follow.
    pub(crate) fn claim(&self, tile: K) -> Lookup<V> {
        let mut kept = self.lock();
        match kept.find(tile) {
            Some(found) => found,
            None => {
                kept.tiles.insert(tile, Slot::UnderWay);
                Lookup::Claimed
            }
        }
    }

    /// The content of a tile, if it is decoded.
    pub(crate) fn get(&self, tile: K) -> Option<Arc<V>> {
        match self.lock().find(tile) {
            Some(Lookup::Decoded(content)) => Some(content),
            _ => None,
        }
    }

    /// Waits for a tile that another thread is decoding. `None` if that thread gave up.
    pub(crate) fn wait(&self, tile: K) -> Option<Arc<V>> {
        let mut kept = self.lock();
        loop {
            match kept.find(tile) {
                Some(Lookup::Decoded(content)) => return Some(content),
                Some(_) => kept = self.ended.wait(kept).unwrap_or_else(PoisonError::into_inner),
                None => return None,
            }
        }
    }

    /// Keeps the content of a tile, and forgets those used longest ago if there are too many.
    pub(crate) fn put(&self, tile: K, content: Arc<V>) {
        let mut kept = self.lock();
        let used = kept.tick();
        kept.bytes += content.bytes();
        if kept.bytes > self.most {
            kept.forget(self.most / 4 * 3);
        }
        let old = kept.tiles.insert(tile, Slot::Decoded { content, used });
        if let Some(Slot::Decoded { content, .. }) = old {
            kept.bytes -= content.bytes();
        }
        self.ended.notify_all();
    }

    /// A claimed tile cannot be decoded.
    pub(crate) fn give_up(&self, tile: K) {
        let mut kept = self.lock();
        if let Some(Slot::UnderWay) = kept.tiles.get(&tile) {
            kept.tiles.remove(&tile);
        }
        self.ended.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, CachedTiles<K, V>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Copy + Eq + Hash, V: Weighed> CachedTiles<K, V> {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn find(&mut self, tile: K) -> Option<Lookup<V>> {
        let now = self.tick();
        Some(match self.tiles.get_mut(&tile)? {
            Slot::UnderWay => Lookup::UnderWay,
            Slot::Decoded { content, used } => {
                *used = now;
                Lookup::Decoded(Arc::clone(content))
            }
        })
    }

    /// Forgets decoded tiles, those used longest ago first, until at most `most` bytes are kept.
    fn forget(&mut self, most: u64) {
        let decoded = |(&tile, slot): (&K, &Slot<V>)| match slot {
            Slot::Decoded { content, used } => Some((*used, tile, content.bytes())),
            Slot::UnderWay => None,
        };
        let mut tiles: Vec<_> = self.tiles.iter().filter_map(decoded).collect();
        tiles.sort_unstable_by_key(|(used, ..)| *used);
        for (_, tile, bytes) in tiles {
            if self.bytes <= most {
                break;
            }
            self.tiles.remove(&tile);
            self.bytes -= bytes;
        }
    }
}

/// Tiles that a thread has claimed; what is left of them when it goes, by an error or not, is given up.
pub(crate) struct Claims<'a, K: Copy + Eq + Hash = u64, V: Weighed = Vec<u8>> {
    cache: &'a TileCache<K, V>,
    open: Vec<K>,
}

impl<'a, K: Copy + Eq + Hash, V: Weighed> Claims<'a, K, V> {
    pub(crate) fn new(cache: &'a TileCache<K, V>) -> Claims<'a, K, V> {
        Claims { cache, open: Vec::new() }
    }

    /// Notes that a tile is claimed.
    pub(crate) fn add(&mut self, tile: K) {
        self.open.push(tile);
    }

    /// Keeps a tile if it is claimed; without content, for which there was no memory, it is given up.
    pub(crate) fn settle(&mut self, tile: K, content: impl FnOnce() -> Option<Arc<V>>) {
        if let Some(at) = self.open.iter().position(|&open| open == tile)
            && let Some(content) = content()
        {
            self.cache.put(tile, content);
            self.open.swap_remove(at);
        }
    }
}

impl<K: Copy + Eq + Hash, V: Weighed> Drop for Claims<'_, K, V> {
    fn drop(&mut self) {
        self.open.iter().for_each(|&tile| self.cache.give_up(tile));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(bytes: usize) -> Arc<Vec<u8>> {
        Arc::new(vec![7; bytes])
    }

    #[test]
    fn tiles_used_longest_ago_are_forgotten_first() {
        let cache: TileCache = TileCache::new(100);
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
        let cache: TileCache = TileCache::new(100);
        cache.put(1, pixels(50));
        cache.put(2, pixels(1000));
        assert!(cache.get(1).is_none());
        assert_eq!(cache.get(2).map(|pixels| pixels.len()), Some(1000));
        cache.put(3, pixels(10));
        assert!(cache.get(2).is_none() && cache.get(3).is_some());
    }

    #[test]
    fn a_tile_is_decoded_by_one_thread_at_a_time() {
        let cache: TileCache = TileCache::new(1 << 20);
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
        let cache: TileCache = TileCache::new(100);
        assert!(matches!(cache.claim(5), Lookup::Claimed));
        assert!(matches!(cache.claim(5), Lookup::UnderWay));
        cache.give_up(5);
        assert!(cache.wait(5).is_none());
        assert!(matches!(cache.claim(5), Lookup::Claimed));
    }
}
