//! Selection of many ranks in a long list, which can be cancelled between steps.

/// Number of values selected from in one step; sorting them takes a few milliseconds.
const STEP: usize = 128 << 10;

/// Maximum number of ranks selected one by one; more are selected by halving the values.
const FEW: usize = 4;

/// Calls `give` with each of `ranks`, which must be sorted, and the value at that index of sorted `values`.
///
/// Values are compared by `Ord` because the compiler could not inline a comparison passed as a function.
/// `check` is called before each step, at least once for every [`STEP`] sorted values, and may cancel.
pub(super) fn select<T: Copy + Ord, E>(
    values: &mut [T],
    ranks: &[usize],
    check: &dyn Fn() -> Result<(), E>,
    give: &mut dyn FnMut(usize, T),
) -> Result<(), E> {
    RankSearch { check, give }.part(values, 0, ranks)
}

/// Sorts `values`; calls `check` as [`select`] does.
pub(crate) fn sort<T: Copy + Ord, E>(
    values: &mut [T],
    check: &dyn Fn() -> Result<(), E>,
) -> Result<(), E> {
    check()?;
    if values.len() <= STEP {
        values.sort_unstable();
        return Ok(());
    }
    let (low, _, high) = values.select_nth_unstable(values.len() / 2);
    sort(low, check)?;
    sort(high, check)
}

struct RankSearch<'a, T, E> {
    check: &'a dyn Fn() -> Result<(), E>,
    give: &'a mut dyn FnMut(usize, T),
}

impl<T: Copy + Ord, E> RankSearch<'_, T, E> {
    /// Selects from the values of the ranks `first..`.
    fn part(&mut self, values: &mut [T], first: usize, ranks: &[usize]) -> Result<(), E> {
        if ranks.is_empty() {
            return Ok(());
        }
        (self.check)()?;
        if values.len() <= STEP && ranks.len() > FEW {
            values.sort_unstable();
            ranks.iter().for_each(|&rank| (self.give)(rank, values[rank - first]));
            return Ok(());
        }
        let middle = match ranks.len() {
            ..=FEW => ranks[ranks.len() / 2],
            _ => first + values.len() / 2,
        };
        let (low, &mut value, high) = values.select_nth_unstable(middle - first);
        let below = ranks.partition_point(|&rank| rank < middle);
        let above = ranks.partition_point(|&rank| rank <= middle);
        self.part(low, first, &ranks[..below])?;
        ranks[below..above].iter().for_each(|&rank| (self.give)(rank, value));
        self.part(high, middle + 1, &ranks[above..])
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn scattered(count: usize, distinct: u64) -> Vec<u64> {
        let mix = |index: u64| (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        (0..count as u64).map(|index| mix(index) % distinct).collect()
    }

    fn selected(values: &[u64], ranks: &[usize]) -> (Vec<(usize, u64)>, usize) {
        let (mut results, checks) = (Vec::new(), Cell::new(0));
        let check = || {
            checks.set(checks.get() + 1);
            Ok::<(), ()>(())
        };
        let mut values = values.to_vec();
        select(&mut values, ranks, &check, &mut |rank, value| results.push((rank, value))).unwrap();
        (results, checks.get())
    }

    #[test]
    fn selects_what_a_sort_puts_there() {
        for (count, distinct) in
            [(1, 5), (7, 3), (1000, 10), (5 * STEP + 3, 1 << 40), (3 * STEP, 2)]
        {
            let values = scattered(count, distinct);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            for step in [1, 2, 997, count] {
                let ranks: Vec<usize> = (0..count).step_by(step).collect();
                let expected: Vec<_> = ranks.iter().map(|&rank| (rank, sorted[rank])).collect();
                assert!(selected(&values, &ranks).0 == expected, "{count} values, step {step}");
            }
        }
    }

    #[test]
    fn sorts_as_the_library_does() {
        for (count, distinct) in [(0, 1), (1000, 10), (STEP + 1, 3), (5 * STEP + 3, 1 << 40)] {
            let (mut values, mut expected) =
                (scattered(count, distinct), scattered(count, distinct));
            expected.sort_unstable();
            let checks = Cell::new(0);
            let check = || {
                checks.set(checks.get() + 1);
                Ok::<(), ()>(())
            };
            sort(&mut values, &check).unwrap();
            assert!(values == expected && checks.get() >= count / STEP, "{count} values");
        }
        assert_eq!(sort(&mut scattered(9, 9), &|| Err("stop")), Err("stop"));
    }

    #[test]
    fn asks_whether_to_go_on_before_each_step() {
        let values = scattered(16 * STEP, 1 << 40);
        let ranks: Vec<usize> = (0..values.len()).step_by(1000).collect();
        assert!(selected(&values, &ranks).1 >= 16);
        assert!(selected(&values, &ranks[..3]).1 >= 3);
    }

    #[test]
    fn stops_at_the_first_refusal() {
        let mut values = scattered(4 * STEP, 1 << 40);
        let ranks: Vec<usize> = (0..values.len()).collect();
        let mut calls = 0;
        let stopped = select(&mut values, &ranks, &|| Err("stop"), &mut |_, _| calls += 1);
        assert_eq!((stopped, calls), (Err("stop"), 0));
    }
}
