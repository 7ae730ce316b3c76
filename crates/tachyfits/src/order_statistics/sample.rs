//! A sample of a population, which predicts the value of a rank. It determines how often pixels are read,
//! never the result.

use tachyfits_kernels::{LEAF_PIXELS, Tier, deviate, key_of, value_of_key};
use tachyfits_memory::{self as memory, NoMemory};

use super::select::sort;
use crate::lines::{Line, LineGroup, Lines, Stretch};

/// Half-width of a range in standard errors: it misses the value once in 10 000 times, which costs another
/// pass.
const ERRORS: f64 = 4.0;

/// Maximum number of standard errors computed for one sample.
const MOST_ERRORS: usize = 33;

/// A range of values, and the fraction of all pixels that it probably contains.
pub(crate) type Part = ((f64, f64), f64);

/// Returns the range around a position of a sample, and the fraction of the sample inside.
fn range(sorted: &[f64], place: f64, error: f64) -> Part {
    let count = sorted.len() as f64;
    let error = ERRORS * error * count + 2.0;
    let (from, to) = (place - error, place + error);
    let low = if from < 0.0 { f64::NEG_INFINITY } else { sorted[from as usize] };
    let high = if to >= count { f64::INFINITY } else { sorted[to as usize] };
    let part = (to.min(count) - from.max(0.0)) / count;
    ((low + 0.0, high + 0.0), part)
}

/// Sample of pixel runs, taken from several tasks.
pub(crate) struct SampledLines<'a> {
    lines: &'a dyn Lines,
    tasks: u64,
    /// Approximate number of pixels of a task.
    pixels: u64,
}

impl<'a> SampledLines<'a> {
    /// Samples about `pixels` pixels, at no more positions than there are tasks, or leaves in the sample.
    pub(crate) fn new(lines: &'a dyn Lines, pixels: u64) -> SampledLines<'a> {
        let places = (pixels * 4 / LEAF_PIXELS as u64).max(1);
        let tasks = lines.tasks().min(places).max(1);
        SampledLines { lines, tasks, pixels: pixels.div_ceil(tasks) }
    }
}

/// Returns a pseudo-random number that depends only on `index` (the finalizer of SplitMix64).
fn scattered(index: u64) -> u64 {
    let x = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 31)
}

impl Lines for SampledLines<'_> {
    fn tasks(&self) -> u64 {
        self.tasks
    }

    fn groups(&self, task: u64, group: &mut dyn FnMut(&LineGroup<'_>)) {
        // In u128, because the product may exceed u64.
        let spread = u128::from(task) * u128::from(self.lines.tasks()) / u128::from(self.tasks);
        let source_task = spread as u64;
        let mut all = 0;
        self.lines.visit(source_task, &mut |whole| all += whole.stretch.count);
        let mut index = 0;
        self.lines.visit(source_task, &mut |whole| {
            let Stretch { first, count, stride } = whole.stretch;
            index += 1;
            if count == 0 {
                return;
            }
            let share = u128::from(count) * u128::from(self.pixels) / u128::from(all.max(1));
            let sampled = (share as u64).clamp(1, count);
            let before = scattered(task << 20 ^ index) % (count - sampled + 1);
            let first = first.wrapping_add_signed(stride * before as i64);
            let stretch = Stretch { first, count: sampled, stride };
            let line = Line { stretch, position: whole.position + before, ..whole };
            group(&LineGroup::of_line(&line));
        });
    }

    fn is_sequential(&self) -> bool {
        self.lines.is_sequential()
    }

    fn pixels(&self) -> u64 {
        self.pixels * self.tasks
    }
}

/// Purpose of the memory, for errors.
const SAMPLE: &str = "a sample of the pixels";

/// Defined values from several positions. The values of a position are a cluster: neighbours are alike.
#[derive(Default)]
pub(crate) struct Sample {
    values: Vec<f64>,
    /// End of each cluster.
    ends: Vec<usize>,
}

impl Sample {
    /// Adds the values of a position.
    ///
    /// # Errors
    /// If there is too little memory.
    pub(crate) fn push(&mut self, values: &[f64]) -> Result<(), NoMemory> {
        memory::reserve(&mut self.values, values.len(), SAMPLE)?;
        self.values.extend(values.iter().filter(|x| !x.is_nan()));
        memory::push(&mut self.ends, self.values.len(), SAMPLE)
    }

    /// Returns a sample of the distances to a value, at the same positions.
    ///
    /// # Errors
    /// If there is too little memory.
    pub(crate) fn deviations(&self, center: f64, tier: Tier) -> Result<Sample, NoMemory> {
        let mut values = memory::copied(&self.values, SAMPLE)?;
        deviate(&mut values, center, tier);
        Ok(Sample { values, ends: memory::copied(&self.ends, SAMPLE)? })
    }

    /// Returns, for each fraction, the range that probably contains the value with this fraction of all
    /// values below it, and the fraction of values that the range probably contains. `check` is called before
    /// each pass over the sample and may cancel.
    pub(crate) fn ranges<E: From<NoMemory>>(
        &self,
        fractions: &[f64],
        check: &dyn Fn() -> Result<(), E>,
    ) -> Result<Vec<Part>, E> {
        let sorted = self.sorted(check)?;
        let count = sorted.len() as f64;
        let place = |fraction: f64| (fraction * count).clamp(0.0, count - 1.0);
        let error = |fraction| -> Result<f64, E> {
            check()?;
            Ok(self.error(sorted[place(fraction) as usize]))
        };
        if fractions.len() <= MOST_ERRORS {
            let range = |&fraction: &f64| Ok(range(&sorted, place(fraction), error(fraction)?));
            return fractions.iter().map(range).collect();
        }
        // A standard error costs a pass over the whole sample: if there are many fractions, each uses the
        // larger error of its neighbours.
        let steps = MOST_ERRORS as f64 - 1.0;
        let errors = (0..MOST_ERRORS).map(|step| error(step as f64 / steps));
        let errors: Vec<f64> = errors.collect::<Result<_, E>>()?;
        let range = |&fraction: &f64| {
            let step = fraction.clamp(0.0, 1.0) * steps;
            let error = errors[step.floor() as usize].max(errors[step.ceil() as usize]);
            range(&sorted, place(fraction), error)
        };
        Ok(fractions.iter().map(range).collect())
    }

    /// Returns the sorted values.
    pub(crate) fn sorted<E: From<NoMemory>>(
        &self,
        check: &dyn Fn() -> Result<(), E>,
    ) -> Result<Vec<f64>, E> {
        let mut keys = memory::collected(self.values.iter().map(|&x| key_of(x)), SAMPLE)?;
        sort(&mut keys, check)?;
        Ok(keys.into_iter().map(value_of_key).collect())
    }

    /// Returns the standard error of the fraction below a value, from the differences between clusters.
    fn error(&self, value: f64) -> f64 {
        let count = self.values.len() as f64;
        let half = |x: &f64| f64::from(u8::from(*x < value)) + f64::from(u8::from(*x <= value));
        let clusters = || {
            let begins = std::iter::once(0).chain(self.ends.iter().copied());
            begins.zip(&self.ends).map(|(begin, &end)| {
                let cluster = &self.values[begin..end];
                (cluster.len() as f64, cluster.iter().map(half).sum::<f64>() / 2.0)
            })
        };
        let below: f64 = clusters().map(|(_, below)| below).sum();
        let mean = below / count;
        let squares: f64 = clusters().map(|(size, below)| (below - mean * size).powi(2)).sum();
        squares.sqrt() / count
    }

    /// Whether the sample is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}
