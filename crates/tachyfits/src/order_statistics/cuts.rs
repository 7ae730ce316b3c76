//! Selection of many ranks at once: cuts divide the ordered pixels into bins. One pass counts the pixels of
//! all bins, and keeps pixels of the bins that probably contain a rank while memory allows. Results are as
//! exact as with separate ranges: cuts determine the number of passes, never the result.

use std::collections::BTreeMap;

use tachyfits_kernels::{KeyCuts, key_of, value_of_key};
use tachyfits_memory::{self as memory, NoMemory};

use super::rank_pass::{KeyRange, Open, list};
use super::select::select;

/// Cuts of a pass, and the bins whose pixels it keeps.
#[derive(Debug)]
pub(super) struct Cuts {
    cuts: KeyCuts,
    /// Index of each bin among the kept bins.
    kept: Vec<Option<u32>>,
    keeps: usize,
}

impl Cuts {
    /// Creates bins that begin at these keys, each with a flag whether its pixels are kept.
    fn new(firsts: &BTreeMap<u64, bool>) -> Cuts {
        let mut keeps = 0;
        let mut place = |keep: bool| {
            keep.then(|| {
                keeps += 1;
                keeps - 1
            })
        };
        let kept = std::iter::once(None).chain(firsts.values().map(|&keep| place(keep))).collect();
        let cuts = KeyCuts::new(firsts.keys().copied().collect());
        Cuts { cuts, kept, keeps: keeps as usize }
    }

    /// Returns the first key of each bin from the second on, each with a flag whether its pixels are kept.
    pub(super) fn to_words(&self) -> impl Iterator<Item = u64> {
        let flags = self.kept[1..].iter().map(|place| u64::from(place.is_some()));
        self.cuts.firsts().iter().copied().zip(flags).flat_map(|(first, flag)| [first, flag])
    }

    /// Returns the cuts of words, or `None` unless they are rising keys with flags.
    pub(super) fn from_words(words: &[u64]) -> Option<Cuts> {
        let (pairs @ [_, ..], []) = words.as_chunks() else { return None };
        let is_rising = pairs.is_sorted_by(|[key, _], [next, _]| key < next);
        let firsts = pairs.iter().map(|&[key, keep]| (key, keep == 1)).collect();
        (is_rising && u32::try_from(pairs.len()).is_ok()).then(|| Cuts::new(&firsts))
    }

    /// Returns the first cuts. `ranges` are sorted and disjoint, each with the fraction of all pixels it
    /// probably contains. If there is `room` for the pixels of all ranges, they are kept; otherwise about
    /// `most` cuts divide a `sorted` sample evenly.
    pub(super) fn first(
        ranges: &[((f64, f64), f64)],
        sorted: &[f64],
        pixels: f64,
        room: f64,
        most: usize,
    ) -> Cuts {
        // Pixels equal to an end of a range with a single value need not be kept.
        let parts = ranges.iter().filter(|((low, high), _)| low < high).map(|(_, part)| part);
        let keep = parts.sum::<f64>() * pixels <= 0.9 * room;
        let mut firsts = BTreeMap::new();
        for ((low, high), _) in ranges {
            // Each end is a bin of its own: a value that many pixels share is identified by its count alone.
            let (low, high) = (key_of(*low), key_of(*high));
            firsts.insert(low, false);
            firsts.insert(low + 1, keep && low + 1 < high);
            firsts.insert(high, false);
            firsts.entry(high + 1).or_insert(false);
        }
        if !keep {
            for value in sorted.iter().step_by((sorted.len() / most.max(1)).max(1)) {
                firsts.entry(key_of(*value)).or_insert(false);
                firsts.entry(key_of(*value) + 1).or_insert(false);
            }
        }
        Cuts::new(&firsts)
    }

    /// Returns the next cuts: bins with the fewest pixels are kept while there is room, the others are
    /// divided evenly.
    pub(super) fn next(within: &[KeyRange], mut room: u64, most: usize) -> Cuts {
        let mut pieces: Vec<&KeyRange> = within.iter().collect();
        pieces.sort_by_key(|piece| (piece.end - piece.below, piece.first));
        let parts = (most / pieces.len().max(1)).max(2) as u64;
        let mut firsts = BTreeMap::new();
        for piece in pieces {
            let count = piece.end - piece.below;
            let keep = count <= room;
            if keep {
                room -= count;
            } else {
                let step = ((piece.last - piece.first) / parts).saturating_add(1);
                let inside =
                    (1..parts).map_while(|part| step.checked_mul(part)?.checked_add(piece.first));
                for first in inside.take_while(|first| *first <= piece.last) {
                    firsts.entry(first).or_insert(false);
                }
            }
            firsts.insert(piece.first, keep);
            firsts.entry(piece.last.saturating_add(1)).or_insert(false);
        }
        Cuts::new(&firsts)
    }
}

/// Result of a pass or of one worker.
#[derive(Debug)]
pub(super) struct Sorted {
    counts: Vec<u64>,
    keys: Vec<Vec<u64>>,
}

impl Sorted {
    pub(super) fn new(cuts: &Cuts) -> Sorted {
        // There are at most 2^17 cuts: the bins of all ranges.
        Sorted { counts: vec![0; cuts.kept.len()], keys: vec![Vec::new(); cuts.keeps] }
    }

    /// Adds values and returns the number of values kept; none are kept without `room`.
    ///
    /// # Errors
    /// If there is too little memory.
    pub(super) fn take(
        &mut self,
        cuts: &Cuts,
        values: &[f64],
        room: bool,
    ) -> Result<u64, NoMemory> {
        let mut count = 0;
        for &value in values.iter().filter(|value| !value.is_nan()) {
            let key = key_of(value);
            let piece = cuts.cuts.piece(key);
            self.counts[piece] += 1;
            if let Some(place) = cuts.kept[piece].filter(|_| room) {
                memory::push(&mut self.keys[place as usize], key, "pixels near the results")?;
                count += 1;
            }
        }
        Ok(count)
    }

    pub(super) fn merge(&mut self, other: Sorted) -> Result<(), NoMemory> {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        for (keys, more) in self.keys.iter_mut().zip(other.keys) {
            match keys.is_empty() {
                true => *keys = more,
                false => memory::extend(keys, &more, "pixels near the results")?,
            }
        }
        Ok(())
    }

    /// Appends the counts of all bins, and the keys of each kept bin.
    pub(super) fn push_words(&self, words: &mut Vec<u64>) {
        for list in std::iter::once(&self.counts).chain(&self.keys) {
            words.push(list.len() as u64);
            words.extend(list);
        }
    }

    /// Takes the result of a pass with these cuts from the front of words.
    pub(super) fn of_words(cuts: &Cuts, words: &mut &[u64]) -> Option<Sorted> {
        let counts = list(words).filter(|counts| counts.len() == cuts.kept.len())?.to_vec();
        let keys = (0..cuts.keeps).map(|_| Some(list(words)?.to_vec())).collect::<Option<_>>()?;
        Some(Sorted { counts, keys })
    }

    /// Total number of defined pixels.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Narrows every rank; ranks with a determined value move from `opens` to `values`. `whole` means that
    /// every pixel that should be kept was kept. `check` is called regularly and may cancel.
    pub(super) fn narrow<E>(
        mut self,
        cuts: &Cuts,
        whole: bool,
        opens: &mut Vec<Open>,
        values: &mut Vec<(u64, f64)>,
        check: &dyn Fn() -> Result<(), E>,
    ) -> Result<(), E> {
        let firsts = cuts.cuts.firsts();
        let mut end = 0;
        let ends: Vec<u64> = self.counts.iter().map(|count| (end += count, end).1).collect();
        // There are at most 2^17 cuts.
        let mut ranks = vec![(0, Vec::new()); self.keys.len()];
        opens.retain_mut(|open| {
            let at = ends.partition_point(|&end| end <= open.rank());
            if at == ends.len() {
                return true;
            }
            let piece = KeyRange {
                first: if at == 0 { 0 } else { firsts[at - 1] },
                last: firsts.get(at).map_or(u64::MAX, |next| next - 1),
                below: ends[at] - self.counts[at],
                end: ends[at],
            };
            if let Some(place) = cuts.kept[at].filter(|_| whole) {
                let (first, places) = &mut ranks[place as usize];
                *first = piece.below;
                places.push((open.rank() - piece.below) as usize);
                return false;
            }
            let value = open.within(piece);
            values.extend(value.map(|value| (open.rank(), value)));
            value.is_none()
        });
        for (keys, (first, places)) in self.keys.iter_mut().zip(ranks) {
            select(keys, &places, check, &mut |place, key| {
                values.push((first + place as u64, value_of_key(key)));
            })?;
        }
        Ok(())
    }
}
