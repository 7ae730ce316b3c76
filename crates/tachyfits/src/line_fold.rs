//! Folding lines into states, for reductions whose innermost loop is reduced.

use std::ops::Range;

use tachyfits_io::operation::RunOptions;
use tachyfits_io::{Extent, Report, Tasks};
use tachyfits_kernels::{Encoding, Needs, OutputState, Stats, Sum, Tier};

use crate::error::Error;
use crate::image::{Image, filled};
use crate::lines::{LeafPlace, Line, LineReads, Lines};

/// Maximum bytes of states that wait for a slow task: waking threads that wait takes longer than a task.
const WAITING_BYTES: u64 = 1 << 20;

/// Operation on the pixels of a line.
pub(crate) trait LineFold: Sync {
    type State: Default + Clone + Send;
    /// Whether states contain positions, which [`LineFold::place`] replaces.
    const HAS_POSITIONS: bool;
    /// Returns the bytes of a line's pixels for [`LineFold::accumulate`].
    fn pixels<'a>(&self, _line: &Line, bytes: &'a [u8], _buffer: &'a mut Vec<u8>) -> &'a [u8] {
        bytes
    }
    /// Adds the pixels of a line; `position` is the linear index of the first one among the reduced pixels.
    fn accumulate(&self, state: &mut Self::State, bytes: &[u8], position: u64);
    /// Adds the state of later pixels.
    fn merge(&self, state: &mut Self::State, later: &Self::State);
    /// Replaces positions that count the pixels of a leaf by linear indices.
    fn place(&self, state: &mut Self::State, rows: &LeafRows);
}

/// Rows of a leaf.
#[derive(Default)]
pub(crate) struct LeafRows {
    /// For each row: the number of pixels of the leaf before it, and the linear index of its first pixel.
    rows: Vec<(u64, u64)>,
}

impl LeafRows {
    /// Returns the linear index of a pixel of the leaf.
    fn position(&self, pixel: u64) -> u64 {
        let after = self.rows.partition_point(|&(before, _)| before <= pixel);
        let (before, position) = self.rows[after.saturating_sub(1)];
        position + (pixel - before)
    }

    fn place(&self, stats: &mut Stats) {
        for extremum in [&mut stats.min, &mut stats.max].into_iter().flatten() {
            extremum.position = self.position(extremum.position);
        }
    }
}

/// Computes count and sum.
pub(crate) struct SumFold {
    pub(crate) encoding: Encoding,
    pub(crate) tier: Tier,
}

impl LineFold for SumFold {
    type State = Sum;
    const HAS_POSITIONS: bool = false;

    fn accumulate(&self, state: &mut Sum, bytes: &[u8], _position: u64) {
        state.accumulate_exactly(bytes, &self.encoding, self.tier);
    }

    fn merge(&self, state: &mut Sum, later: &Sum) {
        state.merge(later);
    }

    fn place(&self, _state: &mut Sum, _rows: &LeafRows) {}
}

/// Computes all statistics.
pub(crate) struct StatsFold {
    pub(crate) encoding: Encoding,
    pub(crate) tier: Tier,
}

impl LineFold for StatsFold {
    type State = Stats;
    const HAS_POSITIONS: bool = true;

    fn accumulate(&self, state: &mut Stats, bytes: &[u8], position: u64) {
        state.accumulate_exactly(bytes, &self.encoding, self.tier, position);
    }

    fn merge(&self, state: &mut Stats, later: &Stats) {
        state.merge(later);
    }

    fn place(&self, state: &mut Stats, rows: &LeafRows) {
        rows.place(state);
    }
}

/// Computes all statistics and the other states that are needed.
pub(crate) struct OutputFold {
    pub(crate) needs: Needs,
    pub(crate) encoding: Encoding,
    pub(crate) tier: Tier,
}

impl LineFold for OutputFold {
    type State = OutputState;
    const HAS_POSITIONS: bool = true;

    fn accumulate(&self, state: &mut OutputState, bytes: &[u8], position: u64) {
        state.accumulate(&self.needs, bytes, &self.encoding, self.tier, position);
    }

    fn merge(&self, state: &mut OutputState, later: &OutputState) {
        state.merge(later);
    }

    fn place(&self, state: &mut OutputState, rows: &LeafRows) {
        rows.place(&mut state.stats);
    }
}

/// Leaf that a task is filling with rows.
#[derive(Default)]
struct OpenLeaf {
    output: u64,
    pixels: u64,
    bytes: Vec<u8>,
    rows: LeafRows,
}

impl OpenLeaf {
    fn add<F: LineFold>(&mut self, line: &Line, bytes: &[u8]) {
        self.output = line.output;
        if F::HAS_POSITIONS {
            self.rows.rows.push((self.pixels, line.position));
        }
        self.pixels += line.stretch.count;
        self.bytes.extend_from_slice(bytes);
    }

    /// Folds the rows, if there are any, and empties the leaf.
    fn fold<F: LineFold>(&mut self, fold: &F, folded: &mut Vec<(u64, F::State)>) {
        if self.pixels == 0 {
            return;
        }
        let mut state = F::State::default();
        fold.accumulate(&mut state, &self.bytes, 0);
        fold.place(&mut state, &self.rows);
        folded.push((self.output, state));
        self.pixels = 0;
        self.bytes.clear();
        self.rows.rows.clear();
    }
}

/// Folds every line, and passes the state of each output to `finish`, in order.
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
    let report = fold_tasks(image, lines, fold, outputs, 0..lines.tasks(), options, |folded| {
        for (output, state) in &folded {
            states.merge(fold, *output, state, &mut finish);
        }
    })?;
    states.finish(outputs, &mut finish);
    Ok(report)
}

/// Tasks in a range of the tasks of lines.
struct TasksOf<'a> {
    reads: LineReads<'a>,
    tasks: Range<u64>,
}

impl Tasks for TasksOf<'_> {
    fn len(&self) -> u64 {
        self.tasks.end - self.tasks.start
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        self.reads.ranges(self.tasks.start + index, ranges);
    }

    fn extent(&self, index: u64) -> Option<Extent> {
        self.reads.extent(self.tasks.start + index)
    }
}

/// Folds the lines of a range of tasks, and passes the output and state of each to `take`, in order.
pub(crate) fn fold_tasks<F: LineFold>(
    image: &Image,
    lines: &dyn Lines,
    fold: &F,
    outputs: u64,
    tasks: Range<u64>,
    options: &RunOptions<'_>,
    mut take: impl FnMut(Vec<(u64, F::State)>) + Send,
) -> Result<Report, Error> {
    let pixels = image.pixel_bytes();
    let outputs_of_task = outputs.div_ceil(lines.tasks().max(1)).max(1);
    let waiting = WAITING_BYTES / outputs_of_task / size_of::<(u64, F::State)>() as u64;
    // If the states of a task are large, the pipeline's default allows more tasks.
    let waiting = if waiting < 100 { 0 } else { waiting };
    let start = tasks.start;
    image.run_with(
        |run| run.waiting(waiting as usize),
        &TasksOf { reads: LineReads { lines, pixels }, tasks },
        lines.pixels(),
        options,
        <(Vec<u8>, Vec<u8>, OpenLeaf)>::default,
        |(gathered, buffer, leaf), task, fetched| {
            let task = start + task;
            let mut piece = 0;
            let mut folded: Vec<(u64, F::State)> = Vec::new();
            lines.groups(task, &mut |group| {
                group.prefetch(fetched, pixels);
                for line in group.lines() {
                    let bytes = line.stretch.collect(fetched, &mut piece, pixels, gathered);
                    let bytes = fold.pixels(&line, bytes, buffer);
                    if line.leaf != LeafPlace::Next {
                        leaf.fold(fold, &mut folded);
                    }
                    if line.leaf == LeafPlace::Alone {
                        let mut state = F::State::default();
                        fold.accumulate(&mut state, bytes, line.position);
                        folded.push((line.output, state));
                    } else {
                        leaf.add::<F>(&line, bytes);
                    }
                }
            });
            leaf.fold(fold, &mut folded);
            Ok(folded)
        },
        |_task, folded| {
            take(folded);
            Ok(())
        },
    )
}

/// States of unfinished outputs: a single one if the lines of each output are consecutive, otherwise all.
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

    fn merge(
        &mut self,
        fold: &F,
        output: u64,
        later: &F::State,
        finish: &mut impl FnMut(&F::State),
    ) {
        self.finish_before(output, finish);
        let state = match self {
            States::Current { state, .. } => state,
            States::All(states) => &mut states[output as usize],
        };
        fold.merge(state, later);
    }

    /// Finishes all outputs before an output.
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
