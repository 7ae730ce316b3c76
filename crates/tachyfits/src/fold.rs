//! Folding lines into states: the way every reduction goes whose innermost loop is reduced.

use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{Encoding, Stats, Sum, Tier};

use crate::error::Error;
use crate::image::{Image, filled};
use crate::lines::{LineReads, Lines};
use crate::statistic::OutputState;

/// Operation on the pixels of a line.
pub(crate) trait LineFold: Sync {
    type State: Default + Clone + Send;
    /// Adds the pixels of a line, the first of which has the linear index `position` among the reduced ones.
    fn accumulate(&self, state: &mut Self::State, bytes: &[u8], position: u64);
    /// Adds the state of later pixels.
    fn merge(&self, state: &mut Self::State, later: &Self::State);
}

/// Count and sum.
pub(crate) struct SumFold {
    pub(crate) encoding: Encoding,
    pub(crate) tier: Tier,
}

impl LineFold for SumFold {
    type State = Sum;

    fn accumulate(&self, state: &mut Sum, bytes: &[u8], _position: u64) {
        state.accumulate_exactly(bytes, &self.encoding, self.tier);
    }

    fn merge(&self, state: &mut Sum, later: &Sum) {
        state.merge(later);
    }
}

/// The full statistics.
pub(crate) struct StatsFold {
    pub(crate) encoding: Encoding,
    pub(crate) tier: Tier,
}

impl LineFold for StatsFold {
    type State = Stats;

    fn accumulate(&self, state: &mut Stats, bytes: &[u8], position: u64) {
        state.accumulate_exactly(bytes, &self.encoding, self.tier, position);
    }

    fn merge(&self, state: &mut Stats, later: &Stats) {
        state.merge(later);
    }
}

/// The full statistics and the moments of higher order.
pub(crate) struct ShapeFold(pub(crate) StatsFold);

impl LineFold for ShapeFold {
    type State = OutputState;

    fn accumulate(&self, state: &mut OutputState, bytes: &[u8], position: u64) {
        self.0.accumulate(&mut state.stats, bytes, position);
        state.shape.accumulate(bytes, &self.0.encoding, self.0.tier);
    }

    fn merge(&self, state: &mut OutputState, later: &OutputState) {
        self.0.merge(&mut state.stats, &later.stats);
        state.shape.merge(&later.shape);
    }
}

/// Folds every line and hands the state of each output to `finish`, in order, each once.
pub(crate) fn fold_lines<F: LineFold>(
    image: &Image,
    lines: &dyn Lines,
    fold: &F,
    outputs: u64,
    options: &RunOptions<'_>,
    mut finish: impl FnMut(&F::State) + Send,
) -> Result<Report, Error> {
    let states = States::<F>::new(lines.is_sequential(), outputs);
    let mut states = states.map_err(|error| image.place(error))?;
    let pixels = image.pixel_bytes();
    let report = image.run(
        &LineReads { lines, pixels },
        lines.pixels(),
        options,
        Vec::new,
        |gathered, task, fetched| {
            let mut piece = 0;
            let mut folded: Vec<(u64, F::State)> = Vec::new();
            lines.visit(task, &mut |line| {
                let bytes = line.stretch.collect(fetched, &mut piece, pixels.size, gathered);
                let mut state = F::State::default();
                fold.accumulate(&mut state, bytes, line.position);
                folded.push((line.output, state));
            });
            Ok(folded)
        },
        |_task, folded| {
            for (output, state) in &folded {
                states.merge(fold, *output, state, &mut finish);
            }
            Ok(())
        },
    )?;
    states.finish(outputs, &mut finish);
    Ok(report)
}

/// The states of the outputs that are not finished: one when the lines of each follow each other, or all.
enum States<F: LineFold> {
    Current { output: u64, state: F::State },
    All(Vec<F::State>),
}

impl<F: LineFold> States<F> {
    fn new(sequential: bool, outputs: u64) -> Result<States<F>, Error> {
        let empty = F::State::default();
        match sequential {
            true => Ok(States::Current { output: 0, state: empty }),
            false => Ok(States::All(filled(outputs, empty, "the states of the outputs")?)),
        }
    }

    fn merge(&mut self, fold: &F, of: u64, later: &F::State, finish: &mut impl FnMut(&F::State)) {
        self.finish_before(of, finish);
        let state = match self {
            States::Current { state, .. } => state,
            States::All(states) => &mut states[of as usize],
        };
        fold.merge(state, later);
    }

    /// Finishes what comes before an output.
    fn finish_before(&mut self, end: u64, finish: &mut impl FnMut(&F::State)) {
        if let States::Current { output, state } = self {
            while *output < end {
                finish(state);
                *state = F::State::default();
                *output += 1;
            }
        }
    }

    fn finish(mut self, outputs: u64, finish: &mut impl FnMut(&F::State)) {
        self.finish_before(outputs, finish);
        if let States::All(states) = &self {
            states.iter().for_each(finish);
        }
    }
}
