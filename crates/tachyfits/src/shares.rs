//! Exact shares of pixels inside a region: sectors and triangles for ellipses, integrals along the sides for
//! boxes and polygons. Areas are measured in the plane of pixels, as in photutils and astropy-regions.

use tachyfits_io::operation::RunOptions;
use tachyfits_memory as memory;

use crate::error::{Error, Reason};
use crate::region::{Part, Region, RegionShape};

/// Maximum number of pixels of the box around a region: 256 MiB of shares.
const MOST_PIXELS: u64 = 1 << 25;

/// Tolerance for rounding: maximum excess of a pixel's share in the hole of a ring over its share in the
/// outer shape.
const HOLE_SLACK: f64 = 1e-3;

const WHAT: &str = "the shares of pixels";

/// A point in pixels, or in the units of an ellipse.
type Point = (f64, f64);

/// Shares of the pixels in the bounding box of a region.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// First column of the box.
    pub x: u64,
    /// First row.
    pub y: u64,
    /// Number of columns.
    pub width: u64,
    /// Number of rows.
    pub height: u64,
    /// Share of each pixel, from 0 to 1, row by row.
    pub values: Vec<f64>,
}

impl Shares {
    /// Returns the share of a pixel of the box, followed by those of the next pixels.
    pub(crate) fn from(&self, x: u64, y: u64) -> &[f64] {
        &self.values[((y - self.y) * self.width + (x - self.x)) as usize..]
    }
}

impl Region {
    /// Computes the share of each pixel inside the region, on a plane of this size. The region must be an
    /// ellipse, a box, a polygon, or a ring: one of them with another one removed from its inside.
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
    /// [`Reason::Weights`] for another region, [`Reason::Memory`] for a box of more than 2^25 pixels, and if
    /// the run is cancelled.
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

fn refused(expected: &str, actual: &str) -> Error {
    Error::refused(Reason::Weights, expected, actual)
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

/// Returns the box of pixels that a shape with these corners touches, with shares of 0.
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

/// Units in which an ellipse is the unit circle.
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
                // Ellipses are convex: if all corners of a pixel are inside, the pixel is.
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

/// Returns the signed area between the origin and the part of the path from p to q inside the unit circle.
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
    // The end is q itself, not p + (q - p): near the centre a rounding error changes the angle much.
    let place = |part: f64| match part < 1.0 {
        true => (p.0 + part * dx, p.1 + part * dy),
        false => q,
    };
    let enter = place(((-along - step) / square).clamp(0.0, 1.0));
    let leave = place(((-along + step) / square).clamp(0.0, 1.0));
    sector(p, enter) + 0.5 * (enter.0 * leave.1 - enter.1 * leave.0) + sector(leave, q)
}

/// Returns the signed area of the sector of the unit circle between two directions.
fn sector(p: Point, q: Point) -> f64 {
    if p == q {
        return 0.0;
    }
    0.5 * (p.0 * q.1 - p.1 * q.0).atan2(p.0 * q.0 + p.1 * q.1)
}

/// Computes the shares of a simple polygon by adding, for each side, the signed area of each pixel below it.
fn fill_polygon(
    corners: &[Point],
    shares: &mut Shares,
    options: &RunOptions<'_>,
) -> Result<(), Error> {
    let width = shares.width as usize;
    if shares.values.is_empty() {
        return Ok(());
    }
    let next_corners = corners.iter().cycle().skip(1);
    for (&(x0, y0), &(x1, y1)) in corners.iter().zip(next_corners) {
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
                    // Height of the side above the lower edge of the pixel, at both ends.
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

/// Returns the mean of a number that changes linearly between two values, clipped to 0 and 1. The parts
/// between 0 and 1 and above 1 are weighted with their fractions, which is exact for any difference: a
/// difference of integrals would cancel if a side is nearly level.
fn mean_clipped(start: f64, stop: f64) -> f64 {
    let (low, high) = (start.min(stop), start.max(stop));
    let (begin, end) = (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0));
    if high == low {
        return begin;
    }
    let above = (high - low.max(1.0)).max(0.0);
    ((end - begin) * (begin + end) / 2.0 + above) / (high - low)
}
