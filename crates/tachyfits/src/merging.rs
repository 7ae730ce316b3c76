//! Merges pieces in order on the threads that computed them: threads merge different sums at the same time,
//! and each sum has the same bits as if one thread had merged all pieces.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// States of tiles that all have the same number of pieces.
pub(crate) struct Merging<S> {
    pieces: u64,
    tiles: Mutex<HashMap<u64, MergedTile<S>>>,
}

struct MergedTile<S> {
    /// Number of the next piece to merge.
    next: u64,
    merged: Option<S>,
    /// Pieces that were computed before their predecessors.
    waiting: Vec<(u64, S)>,
    /// Whether a thread is merging this tile. That thread also merges the pieces that others add meanwhile.
    is_merging: bool,
}

impl<S> Merging<S> {
    /// Creates an empty set of tiles.
    pub(crate) fn new(pieces: u64) -> Merging<S> {
        Merging { pieces, tiles: Mutex::default() }
    }

    /// Merges a piece and the pieces waiting for it, in order. If a predecessor is missing or another thread
    /// is merging the tile, the piece is queued.
    pub(crate) fn add(&self, tile: u64, number: u64, state: S, merge: impl Fn(&mut S, &S)) {
        let mut tiles = self.lock();
        let entry = tiles.entry(tile).or_insert_with(MergedTile::new);
        entry.waiting.push((number, state));
        if entry.is_merging {
            return;
        }
        entry.is_merging = true;
        let mut merged = entry.merged.take();
        loop {
            let entry = tiles.get_mut(&tile).expect("a tile stays while a thread merges it");
            let Some(state) = entry.take_next() else {
                (entry.merged, entry.is_merging) = (merged, false);
                return;
            };
            drop(tiles);
            match &mut merged {
                Some(merged) => merge(merged, &state),
                first => *first = Some(state),
            }
            tiles = self.lock();
        }
    }

    /// Returns and removes the state of a tile if all its pieces are merged.
    pub(crate) fn take(&self, tile: u64) -> Option<S> {
        let mut tiles = self.lock();
        let entry = tiles.get(&tile)?;
        if entry.is_merging || entry.next < self.pieces {
            return None;
        }
        tiles.remove(&tile)?.merged
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, MergedTile<S>>> {
        self.tiles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> MergedTile<S> {
    fn new() -> MergedTile<S> {
        MergedTile { next: 0, merged: None, waiting: Vec::new(), is_merging: false }
    }

    /// Returns the next piece if it was computed.
    fn take_next(&mut self) -> Option<S> {
        let place = self.waiting.iter().position(|(number, _)| *number == self.next)?;
        self.next += 1;
        Some(self.waiting.swap_remove(place).1)
    }
}

#[cfg(test)]
mod tests {
    use super::Merging;
    use proptest::prelude::*;
    use std::sync::Mutex;

    /// Records the order of the merged pieces: merging is not commutative.
    fn merge(state: &mut Vec<u64>, later: &Vec<u64>) {
        state.extend(later);
    }

    #[test]
    fn a_tile_can_be_taken_once_all_its_pieces_are_merged() {
        let merging = Merging::new(3);
        assert_eq!(merging.take(7), None);
        merging.add(7, 2, vec![2], merge);
        merging.add(7, 0, vec![0], merge);
        assert_eq!(merging.take(7), None);
        merging.add(7, 1, vec![1], merge);
        assert_eq!(merging.take(7), Some(vec![0, 1, 2]));
        assert_eq!(merging.take(7), None);
    }

    proptest! {
        /// The reference merges all pieces in order on one thread.
        #[test]
        fn threads_merge_each_tile_in_order(
            order in Just((0..200u64).collect::<Vec<_>>()).prop_shuffle(),
            threads in 1usize..6,
        ) {
            let merging = Merging::new(40);
            let order = Mutex::new(order);
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        loop {
                            let Some(piece) = order.lock().unwrap().pop() else { break };
                            merging.add(piece % 5, piece / 5, vec![piece / 5], merge);
                        }
                    });
                }
            });
            for tile in 0..5 {
                prop_assert_eq!(merging.take(tile), Some((0..40).collect()));
            }
        }
    }
}
