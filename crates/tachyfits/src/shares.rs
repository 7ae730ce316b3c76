//! The share of each pixel that is inside a region, exactly: of ellipses by sectors and triangles, of boxes and polygons by
//! integrals along their sides. Areas are those of pixels in the plane, as in photutils and astropy-regions.

use tachyfits_io::operation::RunOptions;
use tachyfits_memory as memory;

use crate::error::{Error, Reason};
use crate::region::{Part, Region, RegionShape};

/// The most pixels of the box around a region: 256 MiB of shares.
const MOST_PIXELS: u64 = 1 << 25;

/// By how much the share of a pixel in the hole of a ring may exceed its share in the outer shape, for rounding.
const HOLE_SLACK: f64 = 1e-3;

const WHAT: &str = "the shares of pixels";

/// A point in pixels, or in the units of an ellipse.
type Point = (f64, f64);

/// The shares of the pixels of the box around a region.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// First column of the box.
    pub x: u64,
    /// First row.
    pub y: u64,
    /// Columns.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// The share of each pixel, from 0 to 1, row by row.
    pub values: Vec<f64>,
}

impl Shares {
    /// The share of a pixel of the box, and those that follow.
    pub(crate) fn from(&self, x: u64, y: u64) -> &[f64] {
        &self.values[((y - self.y) * self.width + (x - self.x)) as usize..]
    }
}

impl Region {
    /// The share of each pixel that is inside, on a plane of this size. A ring is an ellipse, a box or a polygon without
    /// one inside it.
    ///
    /// ```
    /// use tachyfits::{Region, RunOptions};
    /// let shares = Region::rectangle(1.0, 1.0, 2.0, 0.5, 0.0)?.shares(5, 5, &RunOptions::default())?;
    /// assert_eq!((shares.x, shares.y, shares.width, shares.height), (0, 1, 3, 1));
    /// assert_eq!(shares.values, [0.25, 0.5, 0.25]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Weights`] for another region, [`Reason::Memory`] for a box of more than 2^25 pixels, and cancelling.
    pub fn shares(
        &self,
        width: u64,
        height: u64,
        options: &RunOptions<'_>,
    ) -> Result<Shares, Error> {
        let RegionShape::Combined(parts) = self.shape() else {
            return shares_of_shape(self, [width, height], options);
        };
        let [(Part::Include, outer), (Part::Exclude, inner)] = &parts[..] else {
            return Err(refused("a single shape, or a ring", "another combination"));
        };
        let mut shares = shares_of_shape(outer, [width, height], options)?;
        let hole = shares_of_shape(inner, [width, height], options)?;
        if hole.values.is_empty() {
            return Ok(shares);
        }
        let is_within =
            |first: u64, count: u64, of: u64, all: u64| first >= of && first + count <= of + all;
        let is_inside = is_within(hole.x, hole.width, shares.x, shares.width)
            && is_within(hole.y, hole.height, shares.y, shares.height);
        let not_a_ring = || refused("a ring whose hole is inside", "one that is not");
        if !is_inside {
            return Err(not_a_ring());
        }
        for (row, shares_of_hole) in hole.values.chunks(hole.width as usize).enumerate() {
            let first = (hole.y - shares.y + row as u64) * shares.width + (hole.x - shares.x);
            let of_row = &mut shares.values[first as usize..];
            for (share, part) in of_row.iter_mut().zip(shares_of_hole) {
                if *part > *share + HOLE_SLACK {
                    return Err(not_a_ring());
                }
                *share = (*share - part).clamp(0.0, 1.0);
            }
        }
        Ok(shares)
    }
}

fn refused(expected: &str, found: &str) -> Error {
    Error::refused(Reason::Weights, expected, found)
}

fn shares_of_shape(
    region: &Region,
    size: [u64; 2],
    options: &RunOptions<'_>,
) -> Result<Shares, Error> {
    let (corners, ellipse) = match region.shape() {
        RegionShape::Ellipse { x, y, semi_x, semi_y, cos, sin } => {
            let half = ((semi_x * cos).hypot(semi_y * sin), (semi_x * sin).hypot(semi_y * cos));
            let ends = vec![(x - half.0, y - half.1), (x + half.0, y + half.1)];
            let units =
                EllipseUnits { centre: (*x, *y), axes: (*semi_x, *semi_y), turn: (*cos, *sin) };
            (ends, Some(units))
        }
        RegionShape::Box { x, y, half_width, half_height, cos, sin, .. } => {
            let corner = |(u, v): Point| {
                let (u, v) = (u * half_width, v * half_height);
                (x + (u * cos - v * sin), y + (u * sin + v * cos))
            };
            (
                vec![(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
                    .into_iter()
                    .map(corner)
                    .collect(),
                None,
            )
        }
        RegionShape::Polygon(corners) => (memory::copied(corners, WHAT)?, None),
        _ => return Err(refused("a circle, an ellipse, a box or a polygon", "another region")),
    };
    let mut shares = box_around(&corners, size)?;
    match ellipse {
        Some(ellipse) => ellipse.fill(&mut shares, options)?,
        None => fill_polygon(&corners, &mut shares, options)?,
    }
    Ok(shares)
}

/// The pixels that a shape with these corners touches, their shares 0.
fn box_around(corners: &[Point], size: [u64; 2]) -> Result<Shares, Error> {
    let along = |pick: fn(&Point) -> f64, length: u64| {
        let (low, high) = corners
            .iter()
            .map(pick)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |ends, at| (ends.0.min(at), ends.1.max(at)));
        let pixel = |at: f64| (at + 0.5).floor().clamp(-1.0, length as f64);
        let (first, end) = (pixel(low).max(0.0) as u64, ((pixel(high) + 1.0) as u64).min(length));
        (first, end.saturating_sub(first))
    };
    let (x, width) = along(|point| point.0, size[0]);
    let (y, height) = along(|point| point.1, size[1]);
    let pixels = width.saturating_mul(height);
    if pixels > MOST_PIXELS {
        let expected = format!("exact weights of at most {MOST_PIXELS} pixels");
        return Err(Error::refused(Reason::Memory, expected, format!("{width} x {height} pixels")));
    }
    Ok(Shares { x, y, width, height, values: memory::filled(pixels as usize, 0.0, WHAT)? })
}

/// The units of an ellipse, in which it is the unit circle.
struct EllipseUnits {
    centre: Point,
    axes: Point,
    turn: Point,
}

impl EllipseUnits {
    fn place(&self, x: f64, y: f64) -> Point {
        let (dx, dy) = (x - self.centre.0, y - self.centre.1);
        let (cos, sin) = self.turn;
        ((dx * cos + dy * sin) / self.axes.0, (dy * cos - dx * sin) / self.axes.1)
    }

    fn fill(&self, shares: &mut Shares, options: &RunOptions<'_>) -> Result<(), Error> {
        let (area, width) = (self.axes.0 * self.axes.1, shares.width as usize);
        let is_inside = |(u, v): &Point| u * u + v * v < 1.0;
        for (y, row) in (shares.y..).zip(shares.values.chunks_mut(width.max(1))) {
            options.check(0, 0)?;
            let (low, high) = (y as f64 - 0.5, y as f64 + 0.5);
            let at = |x: f64| (self.place(x, low), self.place(x, high));
            let mut left = at(shares.x as f64 - 0.5);
            for (x, share) in (shares.x..).zip(row) {
                let right = at(x as f64 + 0.5);
                let corners = [left.0, right.0, right.1, left.1];
                // Ellipses are convex: a pixel whose corners are inside is inside.
                *share = match corners.iter().all(is_inside) {
                    true => 1.0,
                    false => {
                        let sides = (0..4).map(|n| (corners[n], corners[(n + 1) % 4]));
                        let total: f64 = sides.map(|(p, q)| in_unit_circle(p, q)).sum();
                        (total * area).clamp(0.0, 1.0)
                    }
                };
                left = right;
            }
        }
        Ok(())
    }
}

/// The signed area between the origin and the way from p to q that is in the unit circle.
fn in_unit_circle(p: Point, q: Point) -> f64 {
    let (dx, dy) = (q.0 - p.0, q.1 - p.1);
    let square = dx * dx + dy * dy;
    let along = p.0 * dx + p.1 * dy;
    let beyond = p.0 * p.0 + p.1 * p.1 - 1.0;
    let root = along * along - square * beyond;
    if root <= 0.0 || square == 0.0 {
        return sector(p, q);
    }
    let step = root.sqrt();
    // The end is q itself, not p + (q - p): beside the centre a rounding error is a wide angle.
    let place = |part: f64| match part < 1.0 {
        true => (p.0 + part * dx, p.1 + part * dy),
        false => q,
    };
    let one = place(((-along - step) / square).clamp(0.0, 1.0));
    let other = place(((-along + step) / square).clamp(0.0, 1.0));
    sector(p, one) + 0.5 * (one.0 * other.1 - one.1 * other.0) + sector(other, q)
}

/// The signed area of the sector of the unit circle between two directions.
fn sector(p: Point, q: Point) -> f64 {
    if p == q {
        return 0.0;
    }
    0.5 * (p.0 * q.1 - p.1 * q.0).atan2(p.0 * q.0 + p.1 * q.1)
}

/// The shares of a simple polygon: for each side, the area of each pixel below it.
fn fill_polygon(
    corners: &[Point],
    shares: &mut Shares,
    options: &RunOptions<'_>,
) -> Result<(), Error> {
    let width = shares.width as usize;
    if shares.values.is_empty() {
        return Ok(());
    }
    let others = corners.iter().cycle().skip(1);
    for (&(x0, y0), &(x1, y1)) in corners.iter().zip(others) {
        if x0 == x1 {
            continue;
        }
        options.check(0, 0)?;
        let (low, high) = (x0.min(x1), x0.max(x1));
        let slope = (y1 - y0) / (x1 - x0);
        let column = |at: f64| (at + 0.5).floor() - shares.x as f64;
        let columns =
            column(low).clamp(0.0, width as f64)..=column(high).clamp(-1.0, width as f64 - 1.0);
        let (mut number, last) = (*columns.start() as usize, *columns.end());
        while number as f64 <= last {
            let x = (shares.x + number as u64) as f64;
            let (begin, end) = ((x - 0.5).max(low), (x + 0.5).min(high));
            let part = (end - begin).copysign(x0 - x1);
            if end > begin {
                let heights = [begin, end].map(|at| y0 + slope * (at - x0));
                for row in 0..shares.height {
                    // Height of the side above the lower edge of the pixel, where it enters and leaves.
                    let floor = (shares.y + row) as f64 - 0.5;
                    let mean = mean_clipped(heights[0] - floor, heights[1] - floor);
                    shares.values[row as usize * width + number] += part * mean;
                }
            }
            number += 1;
        }
    }
    shares.values.iter_mut().for_each(|share| *share = share.abs().min(1.0));
    Ok(())
}

/// The mean of a number that goes from one value to another, clipped to 0 and 1. The parts between 0 and 1 and above 1 have
/// their share of the way, which is exact however short the way is: integrals of both values would cancel where a side is
/// nearly level.
fn mean_clipped(one: f64, other: f64) -> f64 {
    let (low, high) = (one.min(other), one.max(other));
    let (begin, end) = (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0));
    if high == low {
        return begin;
    }
    let above = (high - low.max(1.0)).max(0.0);
    ((end - begin) * (begin + end) / 2.0 + above) / (high - low)
}
