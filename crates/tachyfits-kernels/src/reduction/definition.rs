//! Parts of a reduction: a state, its statistics, and functions that add pixels to it.

use std::fmt;

use crate::isa::Tier;
use crate::source::Encoding;

/// Mergeable state of the pixels of an output. Undefined pixels (NaN) are ignored.
pub trait Reduction: Copy + Default + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// Statistics, in display order.
    const STATISTICS: &'static [Definition<Self>];

    /// Line form: adds the pixels of `bytes`, which follow all earlier ones. Trailing bytes that do not fill a pixel
    /// are ignored.
    fn accumulate(&mut self, bytes: &[u8], encoding: &Encoding, tier: Tier);

    /// Row form: returns the states of neighbouring outputs, each of which has one pixel in every row.
    fn slab(outputs: usize, rows: &[&[u8]], encoding: &Encoding, tier: Tier) -> Vec<Self>;

    /// Merges the state of later pixels. The order of merging affects the last bits of the result.
    fn merge(&mut self, later: &Self);

    /// Twin of [`Reduction::accumulate`], from decoded pixels.
    fn naive_line(values: &[f64]) -> Self;

    /// Twin of [`Reduction::slab`] for one output, from its decoded pixels.
    fn naive_column(values: &[f64]) -> Self;
}

/// Statistic that is computed from a state.
#[derive(Clone, Copy, Debug)]
pub struct Definition<S: 'static> {
    /// Name, as users write it.
    pub name: &'static str,
    /// Definition, in one line.
    pub meaning: &'static str,
    /// Unit.
    pub unit: StatisticUnit,
    /// Function that computes the value.
    pub finish: Finish<S>,
}

/// Unit of a statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatisticUnit {
    /// The unit of the pixels: multiplying all pixels by a positive factor multiplies the statistic by it.
    Pixels,
    /// No unit: a count, an index or a ratio.
    None,
}

/// Computation of a statistic from a state; the second argument is ddof.
#[derive(Clone, Copy, Debug)]
pub enum Finish<S: 'static> {
    /// Counts and positions.
    Integer(fn(&S) -> i64),
    /// Everything else.
    Float(fn(&S, u64) -> f64),
}

impl<S> Finish<S> {
    /// Computes the value from a state.
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
