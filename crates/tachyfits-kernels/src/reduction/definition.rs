//! The parts of a reduction: a state, its statistics, and how pixels get into it.

use std::fmt;

use crate::isa::Tier;
use crate::source::Encoding;

/// The mergeable state of the pixels of an output. Undefined pixels (NaN) are ignored.
pub trait Reduction: Copy + Default + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// Its statistics, in the order in which they are shown.
    const STATISTICS: &'static [Definition<Self>];

    /// Line form: adds the pixels of `bytes`, which come after all others. Bytes after the last whole pixel are ignored.
    fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding, tier: Tier);

    /// Row form: the states of outputs side by side, each of which has one pixel of every row.
    fn slab(outputs: usize, rows: &[&[u8]], encoding: &Encoding, tier: Tier) -> Vec<Self>;

    /// Adds the state of later pixels. The order of merging is part of the result's last bits.
    fn merge(&mut self, later: &Self);

    /// Twin of [`Reduction::accumulate`], from decoded pixels.
    fn naive_line(values: &[f64]) -> Self;

    /// Twin of [`Reduction::slab`] for one output, from its decoded pixels.
    fn naive_column(values: &[f64]) -> Self;
}

/// A statistic that is computed from a state.
#[derive(Clone, Copy, Debug)]
pub struct Definition<S: 'static> {
    /// The name that people type.
    pub name: &'static str,
    /// Its definition, in one line.
    pub meaning: &'static str,
    /// Its unit.
    pub unit: StatisticUnit,
    /// Its value.
    pub finish: Finish<S>,
}

/// Unit of a statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatisticUnit {
    /// The unit of the pixels: it is multiplied by a factor above 0 if all pixels are.
    Pixels,
    /// None: a count, an index or a ratio.
    None,
}

/// How a statistic is computed from a state; the second argument is ddof.
#[derive(Clone, Copy, Debug)]
pub enum Finish<S: 'static> {
    /// Counts and positions.
    Integer(fn(&S) -> i64),
    /// Everything else.
    Float(fn(&S, u64) -> f64),
}

impl<S> Finish<S> {
    /// The value of a state.
    #[inline]
    pub(crate) fn value(&self, state: &S, ddof: u64) -> StatisticValue {
        match self {
            Finish::Integer(value) => StatisticValue::Integer(value(state)),
            Finish::Float(value) => StatisticValue::Float(value(state, ddof)),
        }
    }
}

/// Value of a statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StatisticValue {
    /// A count or a position.
    Integer(i64),
    /// Any other number.
    Float(f64),
}
