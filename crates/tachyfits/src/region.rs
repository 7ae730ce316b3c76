//! Regions of the sky plane in pixels: those whose centre lies inside, borders included. A region is a set of row
//! spans; how they are read is `region_lines`.

use crate::error::{Error, Reason};

/// A region of the plane of the first two axes, in 0-based pixel coordinates whose integers are pixel centres.
///
/// ```
/// use tachyfits::{Region, RowSpan};
/// let spans = Region::circle(2.0, 1.0, 1.0)?.spans(5, 3);
/// let span = |y, first, last| RowSpan { y, first, last };
/// assert_eq!(spans, [span(0, 2, 2), span(1, 1, 3), span(2, 2, 2)]);
/// # Ok::<(), tachyfits::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Region(Shape);

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Box { x: f64, y: f64, half_width: f64, half_height: f64 },
    Ellipse { x: f64, y: f64, semi_x: f64, semi_y: f64, cos: f64, sin: f64 },
    Polygon(Vec<(f64, f64)>),
}

/// Pixels of one row, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowSpan {
    /// The row.
    pub y: u64,
    /// The first pixel.
    pub first: u64,
    /// The last pixel.
    pub last: u64,
}

impl Region {
    /// A box by its centre and full size.
    ///
    /// # Errors
    /// [`Reason::Region`] unless the numbers are finite and the sizes not negative; so for the others.
    pub fn rectangle(x: f64, y: f64, width: f64, height: f64) -> Result<Region, Error> {
        check_finite(&[x, y, width, height])?;
        check_sizes(&[width, height])?;
        let (half_width, half_height) = (width / 2.0, height / 2.0);
        Ok(Region(Shape::Box { x, y, half_width, half_height }))
    }

    /// A circle.
    ///
    /// # Errors
    /// As [`Region::rectangle`].
    pub fn circle(x: f64, y: f64, radius: f64) -> Result<Region, Error> {
        Region::ellipse(x, y, radius, radius, 0.0)
    }

    /// An ellipse by its semi-axes along x and y, turned counter-clockwise by an angle in degrees.
    ///
    /// # Errors
    /// As [`Region::rectangle`].
    pub fn ellipse(x: f64, y: f64, semi_x: f64, semi_y: f64, angle: f64) -> Result<Region, Error> {
        check_finite(&[x, y, semi_x, semi_y, angle])?;
        check_sizes(&[semi_x, semi_y])?;
        let (sin, cos) = sin_cos_degrees(angle);
        Ok(Region(Shape::Ellipse { x, y, semi_x, semi_y, cos, sin }))
    }

    /// A polygon by its corners, closed by itself; where it overlaps itself, the even-odd rule says what is inside.
    ///
    /// # Errors
    /// [`Reason::Region`] for fewer than three corners or numbers that are not finite.
    pub fn polygon(corners: &[(f64, f64)]) -> Result<Region, Error> {
        corners.iter().try_for_each(|&(x, y)| check_finite(&[x, y]))?;
        if corners.len() < 3 {
            let found = corners.len().to_string();
            return Err(Error::refused(Reason::Region, "a polygon of at least 3 corners", found));
        }
        Ok(Region(Shape::Polygon(corners.to_vec())))
    }

    /// Whether a point lies inside or on the border: the definition, one pixel at a time.
    pub fn contains(&self, at_x: f64, at_y: f64) -> bool {
        match &self.0 {
            Shape::Box { x, y, half_width, half_height } => {
                (at_x - x).abs() <= *half_width && (at_y - y).abs() <= *half_height
            }
            Shape::Ellipse { x, y, semi_x, semi_y, cos, sin } => {
                let (dx, dy) = (at_x - x, at_y - y);
                let along = (dx * cos + dy * sin) * semi_y;
                let across = (dy * cos - dx * sin) * semi_x;
                let radius = semi_x * semi_y;
                match radius > 0.0 {
                    true => along * along + across * across <= radius * radius,
                    // Flattened to a line or a point.
                    false => {
                        let (u, v) = (dx * cos + dy * sin, dy * cos - dx * sin);
                        u.abs() <= *semi_x && v.abs() <= *semi_y
                    }
                }
            }
            Shape::Polygon(corners) => polygon_contains(corners, at_x, at_y),
        }
    }

    /// The row spans within an image of this size, by rows and from left to right.
    pub fn spans(&self, width: u64, height: u64) -> Vec<RowSpan> {
        let mut spans = Vec::new();
        if width == 0 || height == 0 {
            return spans;
        }
        let (low, high) = self.rows();
        let Some((first_row, last_row)) = integers(low - 1.0, high + 1.0, height) else {
            return spans;
        };
        for y in first_row..=last_row {
            self.row(y, width, &mut spans);
        }
        spans
    }

    /// The rows between which it lies.
    fn rows(&self) -> (f64, f64) {
        match &self.0 {
            Shape::Box { y, half_height, .. } => (y - half_height, y + half_height),
            Shape::Ellipse { y, semi_x, semi_y, .. } => {
                let reach = semi_x.max(*semi_y);
                (y - reach, y + reach)
            }
            Shape::Polygon(corners) => {
                let fold = |pick: fn(f64, f64) -> f64, start| {
                    corners.iter().fold(start, |edge, &(_, y)| pick(edge, y))
                };
                (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY))
            }
        }
    }

    /// Appends the spans of one row. The ends of each are guessed in closed form and then settled pixel by pixel by
    /// [`Region::contains`], so that rounding never puts a pixel on the wrong side.
    fn row(&self, y: u64, width: u64, spans: &mut Vec<RowSpan>) {
        let at_y = y as f64;
        let mut next = 0;
        for (low, high) in self.crossings(at_y) {
            // Guesses are good to a pixel; where they touch, the pixels between are asked as well.
            let Some((low, high)) = integers(low - 1.0, high + 1.0, width) else { continue };
            let mut x = low.max(next);
            while x <= high {
                while x <= high && !self.contains(x as f64, at_y) {
                    x += 1;
                }
                let first = x;
                if x > high {
                    break;
                }
                x = self.end_of_run(x, low, high, at_y);
                spans.push(RowSpan { y, first, last: x - 1 });
            }
            next = next.max(high + 1);
        }
        join_neighbours(spans, y);
    }

    /// The first pixel after `x` that is outside, at most `high + 1`. A guess was widened by a pixel at either end, and
    /// is itself good to a pixel: what lies two pixels from its ends is inside, and need not be asked.
    fn end_of_run(&self, x: u64, low: u64, high: u64, at_y: f64) -> u64 {
        let mut end = x + 1;
        if end > low + 2 && high > end + 2 && !self.is_flat() {
            end = high - 2;
        }
        while end <= high && self.contains(end as f64, at_y) {
            end += 1;
        }
        end
    }

    /// An ellipse without area: its guesses say nothing.
    fn is_flat(&self) -> bool {
        matches!(self.0, Shape::Ellipse { semi_x, semi_y, .. } if semi_x * semi_y == 0.0)
    }

    /// Intervals of x that hold the region's part of a row, to within a pixel.
    fn crossings(&self, at_y: f64) -> Vec<(f64, f64)> {
        match &self.0 {
            Shape::Box { x, half_width, .. } => vec![(x - half_width, x + half_width)],
            Shape::Ellipse { x, y, semi_x, semi_y, cos, sin } => {
                ellipse_crossing(at_y - y, *semi_x, *semi_y, *cos, *sin)
                    .map(|(low, high)| (x + low, x + high))
                    .into_iter()
                    .collect()
            }
            Shape::Polygon(corners) => polygon_crossings(corners, at_y),
        }
    }
}

/// Sine and cosine of an angle in degrees, exact at multiples of 90.
fn sin_cos_degrees(angle: f64) -> (f64, f64) {
    match angle.rem_euclid(360.0) {
        0.0 => (0.0, 1.0),
        90.0 => (1.0, 0.0),
        180.0 => (0.0, -1.0),
        270.0 => (-1.0, 0.0),
        angle => angle.to_radians().sin_cos(),
    }
}

fn check_finite(numbers: &[f64]) -> Result<(), Error> {
    match numbers.iter().find(|number| !number.is_finite()) {
        Some(number) => Err(Error::refused(Reason::Region, "finite numbers", number.to_string())),
        None => Ok(()),
    }
}

fn check_sizes(sizes: &[f64]) -> Result<(), Error> {
    match sizes.iter().find(|&&size| size < 0.0) {
        Some(size) => {
            Err(Error::refused(Reason::Region, "sizes that are not negative", size.to_string()))
        }
        None => Ok(()),
    }
}

/// The integers of an interval within `0..count`.
fn integers(low: f64, high: f64, count: u64) -> Option<(u64, u64)> {
    let low = low.ceil().max(0.0);
    let high = high.floor().min((count - 1) as f64);
    (low <= high).then_some((low as u64, high as u64))
}

/// Where a row `dy` from the centre crosses an ellipse, relative to the centre.
fn ellipse_crossing(dy: f64, a: f64, b: f64, cos: f64, sin: f64) -> Option<(f64, f64)> {
    if a == 0.0 || b == 0.0 {
        let reach = a.max(b);
        return Some((-reach, reach));
    }
    // p x² + 2 q x + r = 0 from (x cos + dy sin)²/a² + (dy cos - x sin)²/b² = 1.
    let (a2, b2) = (a * a, b * b);
    let p = cos * cos / a2 + sin * sin / b2;
    let q = dy * sin * cos * (1.0 / a2 - 1.0 / b2);
    let r = dy * dy * (sin * sin / a2 + cos * cos / b2) - 1.0;
    let root = q * q - p * r;
    // A row that touches may miss by rounding.
    let root = if root < 0.0 && root > -1e-9 * p { 0.0 } else { root };
    (root >= 0.0).then(|| ((-q - root.sqrt()) / p, (-q + root.sqrt()) / p))
}

/// The edges of a polygon.
fn edges(corners: &[(f64, f64)]) -> impl Iterator<Item = ((f64, f64), (f64, f64))> {
    corners.iter().copied().zip(corners.iter().copied().cycle().skip(1))
}

/// Even-odd rule, with the border inside.
fn polygon_contains(corners: &[(f64, f64)], x: f64, y: f64) -> bool {
    let mut inside = false;
    for ((x0, y0), (x1, y1)) in edges(corners) {
        // Twice the signed area of the triangle of the edge and the point: 0 on the edge's line.
        let area = (x1 - x0) * (y - y0) - (x - x0) * (y1 - y0);
        let within = x >= x0.min(x1) && x <= x0.max(x1) && y >= y0.min(y1) && y <= y0.max(y1);
        if area == 0.0 && within {
            return true;
        }
        if (y0 <= y) != (y1 <= y) && (area > 0.0) == (y1 > y0) {
            inside = !inside;
        }
    }
    inside
}

/// Intervals of x between crossings of a row with the edges, each widened by nothing: the caller allows a pixel.
fn polygon_crossings(corners: &[(f64, f64)], y: f64) -> Vec<(f64, f64)> {
    let mut intervals = Vec::new();
    let mut crossings = Vec::new();
    for ((x0, y0), (x1, y1)) in edges(corners) {
        if y0 == y1 {
            if y0 == y {
                intervals.push((x0.min(x1), x0.max(x1)));
            }
            continue;
        }
        if y >= y0.min(y1) && y <= y0.max(y1) {
            let x = x0 + (y - y0) / (y1 - y0) * (x1 - x0);
            intervals.push((x, x));
            if (y0 <= y) != (y1 <= y) {
                crossings.push(x);
            }
        }
    }
    crossings.sort_by(f64::total_cmp);
    intervals.extend(crossings.chunks_exact(2).map(|pair| (pair[0], pair[1])));
    intervals.sort_by(|a, b| a.0.total_cmp(&b.0));
    intervals
}

/// Joins the spans of row `y`, which are in order, where they touch.
fn join_neighbours(spans: &mut Vec<RowSpan>, y: u64) {
    let start = spans.iter().rposition(|span| span.y != y).map_or(0, |last| last + 1);
    let mut kept = start;
    for index in start + 1..spans.len() {
        if spans[index].first <= spans[kept].last + 1 {
            spans[kept].last = spans[kept].last.max(spans[index].last);
        } else {
            kept += 1;
            spans[kept] = spans[index];
        }
    }
    if spans.len() > start {
        spans.truncate(kept + 1);
    }
}
