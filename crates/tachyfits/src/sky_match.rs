//! Matches of positions on the sky: the nearest one, or all within an angle, with a k-d tree of unit vectors.
//!
//! Chords decide which position is nearest; of two equal ones, the lower row is used. Angles use Vincenty's
//! formula, as in astropy.

use std::sync::{Mutex, PoisonError};

use tachyfits_io::operation::RunOptions;
use tachyfits_io::{PipelineOptions, Report, run_tasks};
use tachyfits_memory::{self as memory, NoMemory};

use crate::error::{Error, Reason};

/// Row number of a missing partner.
pub const NO_ROW: i64 = -1;

/// Positions per task: some milliseconds.
const TASK_ROWS: usize = 1 << 13;
/// Maximum number of positions of a node that are searched one by one.
const BUCKET: usize = 8;
/// Approximate height of a latitude band, in mean distances of positions.
const IN_BAND: f64 = 8.0;
/// Number of parts into which the tree is divided before threads share the work.
const PARTS: usize = 16;
/// Tolerance of chords beyond the limit: within it, the angle decides.
const SLACK: f64 = 1.0 + 1e-9;
/// Rounding error of chords between unit vectors.
const CHORD_ERROR: f64 = 1e-15;

const WHAT: &str = "the positions to match";

/// Positions in degrees. A position that is not finite, or has a latitude beyond 90, matches nothing.
#[derive(Clone, Copy, Debug)]
pub struct SkyPositions<'a> {
    /// Longitudes.
    pub longitude: &'a [f64],
    /// Latitudes, one per longitude.
    pub latitude: &'a [f64],
}

/// Nearest partner of each position.
#[derive(Clone, Debug, PartialEq)]
pub struct NearestRows {
    /// Row of the partner, or [`NO_ROW`].
    pub rows: Vec<i64>,
    /// Angle to the partner in degrees; NaN without a partner.
    pub separations: Vec<f64>,
}

/// Pairs within an angle, sorted by row of the first positions, then by angle, then by row of the second
/// positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatchedPairs {
    /// Rows of the first positions.
    pub left: Vec<i64>,
    /// Rows of the second positions.
    pub right: Vec<i64>,
    /// Angles in degrees.
    pub separations: Vec<f64>,
}

type Vector = [f64; 3];

impl SkyPositions<'_> {
    fn len(&self) -> usize {
        self.longitude.len()
    }

    fn check(&self) -> Result<(), Error> {
        if self.latitude.len() == self.len() {
            return Ok(());
        }
        let expected = format!("{} latitudes, one for each longitude", self.len());
        Err(Error::refused(Reason::Rows, expected, self.latitude.len().to_string()))
    }

    /// Returns the direction of a row.
    fn vector(&self, row: usize) -> Option<Vector> {
        let (longitude, latitude) = (self.longitude[row], self.latitude[row]);
        let is_valid = longitude.is_finite() && (-90.0..=90.0).contains(&latitude);
        is_valid.then(|| {
            let (sin, cos) = latitude.to_radians().sin_cos();
            let (y, x) = longitude.to_radians().sin_cos();
            [cos * x, cos * y, sin]
        })
    }

    /// Returns the rows sorted by bands of latitude, then by longitude: consecutive searches are then close
    /// to each other, and find the tree in the CPU caches.
    fn neighbours_together(&self) -> Result<Vec<usize>, NoMemory> {
        let is_valid = |latitude: &&f64| (-90.0..=90.0).contains(*latitude);
        let ends =
            self.latitude.iter().filter(is_valid).fold((90.0f64, -90.0f64), |ends, &latitude| {
                (ends.0.min(latitude), ends.1.max(latitude))
            });
        let bands = (self.len() as f64 / IN_BAND).sqrt().ceil();
        let scale = bands / (ends.1 - ends.0).max(f64::MIN_POSITIVE);
        let key = |row: usize| {
            let band = ((self.latitude[row] - ends.0) * scale).clamp(0.0, bands) as u32;
            // Longitude from 0 to 360 degrees, in units of 1e-7 degrees.
            (band, (self.longitude[row].rem_euclid(360.0) * 1e7) as u32, row)
        };
        let mut keys = memory::collected((0..self.len()).map(key), WHAT)?;
        keys.sort_unstable();
        memory::collected(keys.into_iter().map(|(.., row)| row), WHAT)
    }

    /// Returns the angle between a row and a row of other positions, in degrees.
    fn separation(&self, row: usize, others: &SkyPositions<'_>, other: usize) -> f64 {
        let (sin, cos) = self.latitude[row].to_radians().sin_cos();
        let (other_sin, other_cos) = others.latitude[other].to_radians().sin_cos();
        let apart = others.longitude[other].to_radians() - self.longitude[row].to_radians();
        let (sin_apart, cos_apart) = apart.sin_cos();
        let across = other_cos * sin_apart;
        let along = cos * other_sin - sin * other_cos * cos_apart;
        across.hypot(along).atan2(sin * other_sin + cos * other_cos * cos_apart).to_degrees()
    }
}

/// Finds the nearest of other positions for each position, at most `radius` degrees away.
///
/// ```
/// use tachyfits::RunOptions;
/// use tachyfits::sky_match::{SkyPositions, nearest};
/// let positions = SkyPositions { longitude: &[10.0, 359.9], latitude: &[0.0, 0.0] };
/// let catalogue = SkyPositions { longitude: &[0.0, 90.0], latitude: &[0.0, 89.0] };
/// let (matches, _) = nearest(positions, catalogue, Some(1.0), &RunOptions::default())?;
/// assert_eq!(matches.rows, [-1, 0]);
/// # Ok::<(), tachyfits::Error>(())
/// ```
///
/// # Errors
/// [`Reason::Rows`] for different numbers of longitudes and latitudes, and if memory is insufficient or the
/// run is cancelled.
pub fn nearest(
    positions: SkyPositions<'_>,
    others: SkyPositions<'_>,
    radius: Option<f64>,
    options: &RunOptions<'_>,
) -> Result<(NearestRows, Report), Error> {
    positions.check()?;
    let tree = Tree::new(others, options)?;
    let mut rows = memory::filled(positions.len(), NO_ROW, WHAT)?;
    let mut separations = memory::filled(positions.len(), f64::NAN, WHAT)?;
    let limit = radius.map_or(f64::INFINITY, squared_chord);
    let order = positions.neighbours_together()?;
    let report = in_parts(
        positions.len(),
        options,
        |range| {
            let mut partners = memory::with_room(range.len(), WHAT)?;
            for &row in &order[range] {
                let Some(at) = positions.vector(row) else { continue };
                let Some(partner) = tree.nearest(&at, limit) else { continue };
                let angle = positions.separation(row, &others, partner);
                if radius.is_none_or(|radius| angle <= radius) {
                    partners.push((row, partner, angle));
                }
            }
            Ok(partners)
        },
        |partners: Vec<(usize, usize, f64)>| {
            for (row, partner, angle) in partners {
                (rows[row], separations[row]) = (partner as i64, angle);
            }
            Ok(())
        },
    )?;
    Ok((NearestRows { rows, separations }, report))
}

/// Finds every pair of positions at most `radius` degrees apart.
///
/// # Errors
/// As [`nearest`].
pub fn pairs(
    positions: SkyPositions<'_>,
    others: SkyPositions<'_>,
    radius: f64,
    options: &RunOptions<'_>,
) -> Result<(MatchedPairs, Report), Error> {
    positions.check()?;
    let tree = Tree::new(others, options)?;
    let limit = squared_chord(radius);
    let mut pairs = MatchedPairs::default();
    let report = in_parts(
        positions.len(),
        options,
        |range| {
            let mut partners: Vec<(usize, f64, usize)> = Vec::new();
            for row in range {
                let Some(at) = positions.vector(row) else { continue };
                let first = partners.len();
                tree.within(&at, limit, &mut |partner| {
                    let angle = positions.separation(row, &others, partner);
                    if angle <= radius {
                        memory::push(&mut partners, (row, angle, partner), WHAT)?;
                    }
                    Ok(())
                })?;
                partners[first..].sort_by(|a, b| a.1.total_cmp(&b.1).then(a.2.cmp(&b.2)));
            }
            Ok(partners)
        },
        |partners: Vec<(usize, f64, usize)>| {
            memory::reserve(&mut pairs.left, partners.len(), WHAT)?;
            memory::reserve(&mut pairs.right, partners.len(), WHAT)?;
            memory::reserve(&mut pairs.separations, partners.len(), WHAT)?;
            for (row, angle, partner) in partners {
                pairs.left.push(row as i64);
                pairs.right.push(partner as i64);
                pairs.separations.push(angle);
            }
            Ok(())
        },
    )?;
    Ok((pairs, report))
}

/// Runs `part` over ranges of rows on several threads, and passes the results to `take` in order.
fn in_parts<R: Send>(
    rows: usize,
    options: &RunOptions<'_>,
    part: impl Fn(std::ops::Range<usize>) -> Result<R, Error> + Sync,
    mut take: impl FnMut(R) -> Result<(), Error> + Send,
) -> Result<Report, Error> {
    run_tasks(
        rows.div_ceil(TASK_ROWS) as u64,
        &PipelineOptions::default().threads(options.threads).job(options.job),
        || (),
        |(), task| {
            let first = task as usize * TASK_ROWS;
            part(first..rows.min(first + TASK_ROWS))
        },
        |_task, result| take(result),
    )
}

/// Returns the squared chord of an angle, with a tolerance: no pair within the angle exceeds it.
fn squared_chord(degrees: f64) -> f64 {
    if degrees >= 180.0 {
        return f64::INFINITY;
    }
    let chord = 2.0 * (degrees.max(0.0) / 2.0).to_radians().sin();
    (chord * SLACK + CHORD_ERROR).powi(2)
}

fn squared_distance(a: &Vector, b: &Vector) -> f64 {
    let [x, y, z] = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    x * x + y * y + z * z
}

/// A position of the tree.
#[derive(Clone, Copy)]
struct TreePoint {
    at: Vector,
    row: usize,
}

/// A balanced k-d tree in place: the middle position of a range divides it along an axis.
struct Tree {
    leaves: Vec<TreePoint>,
    /// Axis of each middle position.
    axes: Vec<u8>,
}

/// A range of the tree that one thread divides.
type TreePart<'a> = (&'a mut [TreePoint], &'a mut [u8]);

impl Tree {
    fn new(positions: SkyPositions<'_>, options: &RunOptions<'_>) -> Result<Tree, Error> {
        positions.check()?;
        let mut leaves = memory::with_room(positions.len(), WHAT)?;
        in_parts(
            positions.len(),
            options,
            |range| {
                let mut part = memory::with_room(range.len(), WHAT)?;
                part.extend(
                    range.filter_map(|row| Some(TreePoint { at: positions.vector(row)?, row })),
                );
                Ok(part)
            },
            |part: Vec<TreePoint>| {
                leaves.extend(part);
                Ok(())
            },
        )?;
        let mut axes = memory::filled(leaves.len(), 0, WHAT)?;
        let mut parts: Vec<TreePart<'_>> = vec![(&mut leaves, &mut axes)];
        while parts.len() < PARTS {
            parts = parts.into_iter().flat_map(|part| divide(part).into_iter().flatten()).collect();
            if parts.is_empty() {
                break;
            }
        }
        let parts: Vec<_> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
        run_tasks(
            parts.len() as u64,
            &PipelineOptions::default().threads(options.threads).job(options.job),
            || (),
            |(), task| {
                let part =
                    parts[task as usize].lock().unwrap_or_else(PoisonError::into_inner).take();
                part.into_iter().for_each(build);
                Ok::<(), Error>(())
            },
            |_task, ()| Ok(()),
        )?;
        drop(parts);
        Ok(Tree { leaves, axes })
    }

    /// Returns the row of the nearest position closer than a limit; the lowest row of equal ones.
    fn nearest(&self, at: &Vector, limit: f64) -> Option<usize> {
        let mut best = (limit, usize::MAX);
        self.search_nearest(at, 0, self.leaves.len(), &mut best);
        (best.1 != usize::MAX).then_some(best.1)
    }

    fn search_nearest(&self, at: &Vector, low: usize, high: usize, best: &mut (f64, usize)) {
        let mut look = |leaf: &TreePoint| {
            let distance = squared_distance(at, &leaf.at);
            if distance < best.0 || (distance == best.0 && leaf.row < best.1) {
                *best = (distance, leaf.row);
            }
        };
        if high - low <= BUCKET {
            self.leaves[low..high].iter().for_each(look);
            return;
        }
        let middle = low.midpoint(high);
        let (leaf, axis) = (&self.leaves[middle], self.axes[middle] as usize);
        look(leaf);
        let beyond = at[axis] - leaf.at[axis];
        let (near, far) = match beyond < 0.0 {
            true => ((low, middle), (middle + 1, high)),
            false => ((middle + 1, high), (low, middle)),
        };
        self.search_nearest(at, near.0, near.1, best);
        if beyond * beyond <= best.0 {
            self.search_nearest(at, far.0, far.1, best);
        }
    }

    /// Calls a function with the row of every position within a limit.
    fn within(
        &self,
        at: &Vector,
        limit: f64,
        visit: &mut impl FnMut(usize) -> Result<(), NoMemory>,
    ) -> Result<(), NoMemory> {
        // Stack of ranges to search: the tree is at most 64 deep, and each level adds one range.
        let mut ranges = vec![(0, self.leaves.len())];
        while let Some((low, high)) = ranges.pop() {
            let mut look = |leaf: &TreePoint| match squared_distance(at, &leaf.at) <= limit {
                true => visit(leaf.row),
                false => Ok(()),
            };
            if high - low <= BUCKET {
                self.leaves[low..high].iter().try_for_each(look)?;
                continue;
            }
            let middle = low.midpoint(high);
            let (leaf, axis) = (&self.leaves[middle], self.axes[middle] as usize);
            look(leaf)?;
            let beyond = at[axis] - leaf.at[axis];
            let is_near = beyond * beyond <= limit;
            if beyond <= 0.0 || is_near {
                ranges.push((low, middle));
            }
            if beyond >= 0.0 || is_near {
                ranges.push((middle + 1, high));
            }
        }
        Ok(())
    }
}

/// Divides a range at its middle position, along its longest axis; `None` for a bucket.
fn divide((leaves, axes): TreePart<'_>) -> Option<[TreePart<'_>; 2]> {
    if leaves.len() <= BUCKET {
        return None;
    }
    let mut ends = [(f64::INFINITY, f64::NEG_INFINITY); 3];
    for leaf in leaves.iter() {
        for (end, at) in ends.iter_mut().zip(leaf.at) {
            *end = (end.0.min(at), end.1.max(at));
        }
    }
    let length = |axis: usize| ends[axis].1 - ends[axis].0;
    let axis = (1..3).fold(0, |best, axis| if length(axis) > length(best) { axis } else { best });
    let middle = leaves.len() / 2;
    leaves.select_nth_unstable_by(middle, |a, b| a.at[axis].total_cmp(&b.at[axis]));
    axes[middle] = axis as u8;
    let (low, upper) = leaves.split_at_mut(middle);
    let (low_axes, rest_axes) = axes.split_at_mut(middle);
    Some([(low, low_axes), (&mut upper[1..], &mut rest_axes[1..])])
}

/// Divides a range down to buckets.
fn build(part: TreePart<'_>) {
    divide(part).into_iter().flatten().for_each(build);
}
