//! Cache of decoded tiles that were read in part: bounded in bytes, shared by threads.
//!
//! Only one thread decodes a tile; other threads that need the tile wait for it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Content with a size: its approximate bytes in memory.
pub(crate) trait Weighed {
    fn bytes(&self) -> u64;
}

/// Pixels as stored in a file.
impl Weighed for Vec<u8> {
    fn bytes(&self) -> u64 {
        self.len() as u64
    }
}

/// Cache of decoded tiles. `K` identifies a tile, or a part of one; `V` is the decoded content.
#[derive(Debug)]
pub(crate) struct TileCache<K = u64, V = Vec<u8>> {
    tiles: Mutex<CachedTiles<K, V>>,
    /// Notified when a tile is decoded or given up.
    ended: Condvar,
    /// Maximum bytes in the cache. The latest tile is always cached.
    most: u64,
}

#[derive(Debug)]
struct CachedTiles<K, V> {
    tiles: HashMap<K, Slot<V>>,
    bytes: u64,
    /// Number of uses, as a clock.
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

/// State of a tile in the cache.
#[derive(Debug)]
pub(crate) enum Lookup<V = Vec<u8>> {
    /// The content of the tile.
    Decoded(Arc<V>),
    /// Not cached: the caller must decode the tile, then call [`TileCache::put`] or [`TileCache::give_up`].
    Claimed,
    /// Another thread is decoding it.
    UnderWay,
}

impl<K: Copy + Eq + Hash, V: Weighed> TileCache<K, V> {
    pub(crate) fn new(most: u64) -> TileCache<K, V> {
        let tiles = CachedTiles { tiles: HashMap::new(), bytes: 0, clock: 0 };
        TileCache { tiles: Mutex::new(tiles), ended: Condvar::new(), most }
    }

    /// Looks up a tile, and claims it if no thread has: then [`TileCache::put`] or
    /// [`TileCache::give_up`] must follow.
    pub(crate) fn claim(&self, tile: K) -> Lookup<V> {
        let mut cache = self.lock();
        match cache.find(tile) {
            Some(lookup) => lookup,
            None => {
                cache.tiles.insert(tile, Slot::UnderWay);
                Lookup::Claimed
            }
        }
    }

    /// Returns the content of a tile if it is decoded.
    pub(crate) fn get(&self, tile: K) -> Option<Arc<V>> {
        match self.lock().find(tile) {
            Some(Lookup::Decoded(content)) => Some(content),
            _ => None,
        }
    }

    /// Waits for a tile that another thread is decoding. Returns `None` if that thread gave up.
    pub(crate) fn wait(&self, tile: K) -> Option<Arc<V>> {
        let mut cache = self.lock();
        loop {
            match cache.find(tile) {
                Some(Lookup::Decoded(content)) => return Some(content),
                Some(_) => cache = self.ended.wait(cache).unwrap_or_else(PoisonError::into_inner),
                None => return None,
            }
        }
    }

    /// Caches the content of a tile, and evicts the least recently used tiles if the cache is full.
    pub(crate) fn put(&self, tile: K, content: Arc<V>) {
        let mut cache = self.lock();
        let used = cache.tick();
        cache.bytes += content.bytes();
        if cache.bytes > self.most {
            cache.forget(self.most / 4 * 3);
        }
        let old = cache.tiles.insert(tile, Slot::Decoded { content, used });
        if let Some(Slot::Decoded { content, .. }) = old {
            cache.bytes -= content.bytes();
        }
        self.ended.notify_all();
    }

    /// Releases a claimed tile that cannot be decoded.
    pub(crate) fn give_up(&self, tile: K) {
        let mut cache = self.lock();
        if let Some(Slot::UnderWay) = cache.tiles.get(&tile) {
            cache.tiles.remove(&tile);
        }
        self.ended.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, CachedTiles<K, V>> {
        self.tiles.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Evicts decoded tiles, least recently used first, until at most `most` bytes are cached.
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

/// Tiles claimed by a thread. Dropping it, after an error or not, gives up the unsettled ones.
pub(crate) struct Claims<'a, K: Copy + Eq + Hash = u64, V: Weighed = Vec<u8>> {
    cache: &'a TileCache<K, V>,
    open: Vec<K>,
}

impl<'a, K: Copy + Eq + Hash, V: Weighed> Claims<'a, K, V> {
    pub(crate) fn new(cache: &'a TileCache<K, V>) -> Claims<'a, K, V> {
        Claims { cache, open: Vec::new() }
    }

    /// Whether no tile is claimed.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Adds a claimed tile.
    pub(crate) fn add(&mut self, tile: K) {
        self.open.push(tile);
    }

    /// Caches a tile if it is claimed; without content, because memory was short, it is given up later.
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
        let is_cached: Vec<bool> = (0..4).map(|tile| cache.get(tile).is_some()).collect();
        assert_eq!(is_cached, [true, false, false, true]);
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
                        let pixels = match cache.claim(tile) {
                            Lookup::Decoded(pixels) => pixels,
                            Lookup::UnderWay => cache.wait(tile).expect("it is not given up"),
                            Lookup::Claimed => {
                                decoded.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                                cache.put(tile, pixels(tile as usize));
                                continue;
                            }
                        };
                        assert_eq!(pixels.len() as u64, tile);
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
