//! Regions of the sky plane in pixels. A pixel is inside if its centre is; borders count as inside, except
//! the upper ones of boxes. A region is a set of row spans; `region_lines` reads its pixels.

use tachyfits_io::operation::RunOptions;

use crate::error::{Error, Reason};
pub use crate::row_spans::RowSpan;
use crate::row_spans::{self, push_joined};

/// A region of the plane of the first two axes, in 0-based pixel coordinates whose integers are pixel centres.
///
/// ```
/// use tachyfits::Region;
/// use tachyfits::region::RowSpan;
/// let spans = Region::circle(2.0, 1.0, 1.0)?.spans(5, 3);
/// let span = |y, first, last| RowSpan { y, first, last };
/// assert_eq!(spans, [span(0, 2, 2), span(1, 1, 3), span(2, 2, 2)]);
/// # Ok::<(), tachyfits::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Region(RegionShape);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RegionShape {
    Box {
        x: f64,
        y: f64,
        half_width: f64,
        half_height: f64,
        cos: f64,
        sin: f64,
        /// Whether pixels on the right and upper side are inside as well.
        closed: bool,
    },
    Ellipse {
        x: f64,
        y: f64,
        semi_x: f64,
        semi_y: f64,
        cos: f64,
        sin: f64,
    },
    Polygon(Vec<(f64, f64)>),
    /// Every pixel.
    Everything,
    /// Pixels given by the caller.
    Spans(Vec<RowSpan>),
    /// Regions in order, each added or removed.
    Combined(Vec<(Part, Region)>),
}

/// Role of a region in a combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// The pixels are added.
    Include,
    /// The pixels are removed.
    Exclude,
}

impl Region {
    /// Maximum magnitude of a region's numbers: far beyond any image, and small enough for f64 to represent
    /// pixel indices.
    pub const MOST: f64 = 1e12;

    /// Maximum number of corners of a polygon.
    pub const MOST_CORNERS: usize = 1 << 20;

    /// Creates a box from its centre and full size in pixels, rotated counter-clockwise by an angle in
    /// degrees. Pixels on its left and lower side are inside, those on the right and upper side are not: a
    /// box of 10 x 10 has 100 pixels, and adjacent boxes share none. A box without width or height is a line
    /// or a point.
    ///
    /// ```
    /// use tachyfits::Region;
    /// let pixels = Region::rectangle(1.0, 1.0, 2.0, 0.0, 0.0)?.spans(10, 10);
    /// assert_eq!((pixels.len(), pixels[0].first, pixels[0].last), (1, 0, 1));
    /// assert_eq!(Region::rectangle(f64::NAN, 0.0, 1.0, 1.0, 0.0).unwrap_err().code(), "region");
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Region`] unless all numbers are finite and at most [`Region::MOST`], and sizes are not
    /// negative. The same holds for the other shapes.
    pub fn rectangle(x: f64, y: f64, width: f64, height: f64, angle: f64) -> Result<Region, Error> {
        check_numbers(&[x, y, width, height, angle])?;
        check_sizes(&[width, height])?;
        let (half_width, half_height) = (width / 2.0, height / 2.0);
        let (sin, cos) = sin_cos_degrees(angle);
        let closed = false;
        Ok(Region(RegionShape::Box { x, y, half_width, half_height, cos, sin, closed }))
    }

    /// Creates a circle.
    ///
    /// # Errors
    /// As [`Region::rectangle`].
    pub fn circle(x: f64, y: f64, radius: f64) -> Result<Region, Error> {
        Region::ellipse(x, y, radius, radius, 0.0)
    }

    /// Creates an ellipse from its semi-axes along x and y in pixels, rotated counter-clockwise by an angle
    /// in degrees. If a semi-axis is 0, the ellipse is a line or a point.
    ///
    /// # Errors
    /// As [`Region::rectangle`].
    pub fn ellipse(x: f64, y: f64, semi_x: f64, semi_y: f64, angle: f64) -> Result<Region, Error> {
        check_numbers(&[x, y, semi_x, semi_y, angle])?;
        check_sizes(&[semi_x, semi_y])?;
        // Rotation does not change a circle.
        let (sin, cos) = sin_cos_degrees(if semi_x == semi_y { 0.0 } else { angle });
        // The square of such a small semi-axis would underflow in f64: the ellipse is a line or a point.
        if semi_x.min(semi_y) < 1e-70 {
            let (half_width, half_height, closed) = (semi_x, semi_y, true);
            return Ok(Region(RegionShape::Box {
                x,
                y,
                half_width,
                half_height,
                cos,
                sin,
                closed,
            }));
        }
        Ok(Region(RegionShape::Ellipse { x, y, semi_x, semi_y, cos, sin }))
    }

    /// Creates a polygon from its corners, closed automatically. If it overlaps itself, the even-odd rule
    /// defines its inside.
    ///
    /// # Errors
    /// [`Reason::Region`] for fewer than three corners or more than [`Region::MOST_CORNERS`], and for numbers
    /// that are not finite or exceed [`Region::MOST`].
    pub fn polygon(corners: &[(f64, f64)]) -> Result<Region, Error> {
        corners.iter().try_for_each(|&(x, y)| check_numbers(&[x, y]))?;
        if !(3..=Region::MOST_CORNERS).contains(&corners.len()) {
            let expected = format!("a polygon of 3 to {} corners", Region::MOST_CORNERS);
            return Err(Error::refused(Reason::Region, expected, corners.len().to_string()));
        }
        Ok(Region(RegionShape::Polygon(corners.to_vec())))
    }

    /// Returns the region of all pixels of an image.
    pub fn everything() -> Region {
        Region(RegionShape::Everything)
    }

    /// Creates a region from spans, ordered by row and from left to right.
    ///
    /// ```
    /// use tachyfits::Region;
    /// use tachyfits::region::RowSpan;
    /// let spans = vec![RowSpan { y: 1, first: 2, last: 9 }];
    /// assert_eq!(Region::of_spans(spans)?.spans(5, 5)[0].last, 4);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Region`] for spans that overlap or are not in order.
    pub fn of_spans(spans: Vec<RowSpan>) -> Result<Region, Error> {
        let is_ordered = |a: &RowSpan, b: &RowSpan| (a.y, a.last) < (b.y, b.first);
        let are_valid = spans.iter().all(|span| span.first <= span.last);
        if !are_valid || !spans.is_sorted_by(is_ordered) {
            let expected = "spans by rows, from left to right";
            return Err(Error::refused(Reason::Region, expected, "spans in another order"));
        }
        Ok(Region(RegionShape::Spans(spans)))
    }

    /// Combines regions in order: each is added to the previous ones or removed from them. If the first
    /// region is removed, it is removed from all pixels.
    ///
    /// ```
    /// use tachyfits::Region;
    /// use tachyfits::region::Part;
    /// let hole = (Part::Exclude, Region::circle(1.0, 1.0, 0.5)?);
    /// assert_eq!(Region::combined(vec![hole]).spans(3, 3).len(), 4);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    pub fn combined(mut parts: Vec<(Part, Region)>) -> Region {
        if parts.first().is_some_and(|&(part, _)| part == Part::Exclude) {
            parts.insert(0, (Part::Include, Region::everything()));
        }
        Region(RegionShape::Combined(parts))
    }

    pub(crate) fn shape(&self) -> &RegionShape {
        &self.0
    }

    /// Whether a point is inside: the definition of the region, one pixel at a time.
    pub fn contains(&self, at_x: f64, at_y: f64) -> bool {
        match &self.0 {
            RegionShape::Box { x, y, half_width, half_height, cos, sin, closed } => {
                let (u, v) = turned(at_x - x, at_y - y, (*cos, *sin));
                let within = |at, half| !is_below(at, half) && !is_beyond(at, half, *closed);
                within(u, *half_width) && within(v, *half_height)
            }
            RegionShape::Ellipse { x, y, semi_x, semi_y, cos, sin } => {
                let (dx, dy) = (at_x - x, at_y - y);
                let (u, v) = turned(dx, dy, (*cos, *sin));
                // Along a row of an upright shape only one of the two squares changes, so their sum
                // grows with the distance however it is rounded. In a rotated shape both change,
                // and where a row only touches a large ellipse, rounding would let pixels in and
                // out alternately: there the row's interval decides.
                if *sin == 0.0 || *cos == 0.0 {
                    let (along, across, radius) = (u * semi_y, v * semi_x, semi_x * semi_y);
                    return along * along + across * across <= radius * radius;
                }
                let (middle, half_width) = ellipse_row(dy, *semi_x, *semi_y, *cos, *sin);
                (dx - middle).abs() <= half_width
            }
            RegionShape::Polygon(corners) => polygon_contains(corners, at_x, at_y),
            RegionShape::Everything => true,
            RegionShape::Spans(spans) => {
                let after = spans.partition_point(|s| (s.y as f64, s.first as f64) <= (at_y, at_x));
                let last = after.checked_sub(1).map(|index| spans[index]);
                last.is_some_and(|s| s.y as f64 == at_y && at_x <= s.last as f64)
            }
            RegionShape::Combined(parts) => {
                let last = parts.iter().rfind(|(_, region)| region.contains(at_x, at_y));
                last.is_some_and(|&(part, _)| part == Part::Include)
            }
        }
    }

    /// Returns the row spans within an image of this size, ordered by row and from left to right.
    pub fn spans(&self, width: u64, height: u64) -> Vec<RowSpan> {
        let spans = self.spans_unless_cancelled(width, height, &RunOptions::default());
        spans.expect("nothing cancels it")
    }

    /// Returns the spans like [`Region::spans`]; the progress function may cancel, for masks with very many
    /// rows or corners.
    ///
    /// # Errors
    /// [`tachyfits_io::IoError::Cancelled`] or [`tachyfits_io::IoError::Budget`].
    pub fn spans_unless_cancelled(
        &self,
        width: u64,
        height: u64,
        options: &RunOptions<'_>,
    ) -> Result<Vec<RowSpan>, Error> {
        let mut spans = Vec::new();
        if let Some((first, last)) = self.rows(height) {
            let mut rows = RegionRows::new(self, true);
            for y in first..=last {
                options.check(0, height)?;
                rows.row(y, width, &mut spans);
            }
        }
        Ok(spans)
    }

    /// Returns the first and last row of an image of this height that may contain pixels of the region.
    pub(crate) fn rows(&self, height: u64) -> Option<(u64, u64)> {
        let (low, high) = match &self.0 {
            RegionShape::Box { y, half_width, half_height, cos, sin, .. } => {
                let reach = half_width * sin.abs() + half_height * cos.abs();
                (y - reach, y + reach)
            }
            RegionShape::Ellipse { y, semi_x, semi_y, .. } => {
                let reach = semi_x.max(*semi_y);
                (y - reach, y + reach)
            }
            RegionShape::Polygon(corners) => {
                let fold = |pick: fn(f64, f64) -> f64, start| {
                    corners.iter().fold(start, |edge, &(_, y)| pick(edge, y))
                };
                (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY))
            }
            RegionShape::Everything => return height.checked_sub(1).map(|last| (0, last)),
            RegionShape::Spans(spans) => {
                let (first, last) = (spans.first()?.y, spans.last()?.y);
                return (first < height).then(|| (first, last.min(height - 1)));
            }
            RegionShape::Combined(parts) => {
                let included = parts.iter().filter(|(part, _)| *part == Part::Include);
                let rows = included.filter_map(|(_, region)| region.rows(height));
                return rows.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)));
            }
        };
        integers(low - 1.0, high + 1.0, height)
    }
}

/// Rows of a region in ascending or descending order. The edges of a polygon that cross a row are kept for
/// the next row, so that all rows together cost no more than the crossings.
pub(crate) struct RegionRows<'a> {
    region: &'a Region,
    upwards: bool,
    /// Edges of a polygon in the order in which rows reach them.
    edges: Vec<PolygonEdge>,
    /// Number of edges reached so far.
    met: usize,
    /// Edges that cross the current row.
    active: Vec<PolygonEdge>,
    /// For each edge whose ends are on different sides of the row: the first pixel that is not to its left.
    crossings: Vec<u64>,
    buffer: Vec<RowSpan>,
    /// Rows of the regions of a combination.
    parts: Vec<(Part, RegionRows<'a>)>,
}

impl<'a> RegionRows<'a> {
    /// Starts the rows of a region; `y` must then ascend if `upwards`, and descend otherwise.
    pub(crate) fn new(region: &'a Region, upwards: bool) -> RegionRows<'a> {
        let mut edges: Vec<PolygonEdge> = match &region.0 {
            RegionShape::Polygon(corners) => self::edges(corners).map(PolygonEdge).collect(),
            _ => Vec::new(),
        };
        edges.sort_by(|a, b| a.first(upwards).total_cmp(&b.first(upwards)));
        let parts = match &region.0 {
            RegionShape::Combined(parts) => {
                let rows = |(part, region)| (part, RegionRows::new(region, upwards));
                parts.iter().map(|(part, region)| rows((*part, region))).collect()
            }
            _ => Vec::new(),
        };
        let (active, crossings, buffer) = Default::default();
        RegionRows { region, upwards, edges, met: 0, active, crossings, buffer, parts }
    }

    /// Appends the spans of row `y` of an image of this width, from left to right. A closed form gives the
    /// approximate spans, and [`Region::contains`] decides about pixels at their ends, so that rounding never
    /// misplaces a pixel.
    pub(crate) fn row(&mut self, y: u64, width: u64, spans: &mut Vec<RowSpan>) {
        let at_y = y as f64;
        match &self.region.0 {
            RegionShape::Box { x, y: centre, half_width, half_height, cos, sin, closed } => {
                let place = |pixel| turned(pixel as f64 - x, at_y - centre, (*cos, *sin));
                let along = (|pixel| place(pixel).0, *cos > 0.0);
                let across = (|pixel| place(pixel).1, *sin < 0.0);
                let (a, b) = pixels_within(along, *half_width, *closed, width);
                let (c, d) = pixels_within(across, *half_height, *closed, width);
                let (first, end) = (a.max(c), b.min(d));
                spans.extend((first < end).then(|| RowSpan { y, first, last: end - 1 }));
            }
            RegionShape::Ellipse { x, y: centre, semi_x, semi_y, cos, sin } => {
                let (middle, _) = ellipse_row(at_y - centre, *semi_x, *semi_y, *cos, *sin);
                self.ellipse_row(x + middle, y, width, spans);
            }
            RegionShape::Polygon(_) => self.polygon_row(y, width, spans),
            RegionShape::Everything => {
                let full_row = width.checked_sub(1).map(|last| RowSpan { y, first: 0, last });
                spans.extend(full_row);
            }
            RegionShape::Spans(all) => {
                let from = all.partition_point(|span| span.y < y);
                let row = all[from..].iter().take_while(|s| s.y == y && s.first < width);
                let start = spans.len();
                row.for_each(|s| {
                    push_joined(spans, start, RowSpan { last: s.last.min(width - 1), ..*s });
                });
            }
            RegionShape::Combined(_) => self.combined_row(y, width, spans),
        }
    }

    /// Appends the span of an ellipse, given the middle of the span to within a pixel: bisection finds the
    /// first and the last pixel of the row inside.
    fn ellipse_row(&self, middle: f64, y: u64, width: u64, spans: &mut Vec<RowSpan>) {
        let inside = |x: u64| self.region.contains(x as f64, y as f64);
        // The middle may be outside the image, and the pixels of a narrow ellipse on either side of it.
        let start = middle.floor().max(1.0) as u64 - 1;
        let start = start.min(width.saturating_sub(1));
        let Some(seed) = (start..width.min(start + 4)).find(|&x| inside(x)) else { return };
        let first = boundary(0, seed, |x| !inside(x));
        let end = boundary(seed, width, inside);
        spans.push(RowSpan { y, first, last: end - 1 });
    }

    fn combined_row(&mut self, y: u64, width: u64, spans: &mut Vec<RowSpan>) {
        let mut combined: Vec<RowSpan> = Vec::new();
        for (part, rows) in &mut self.parts {
            self.buffer.clear();
            rows.row(y, width, &mut self.buffer);
            match part {
                Part::Include => row_spans::add(&self.buffer, &mut combined),
                Part::Exclude => combined = row_spans::without(&combined, &self.buffer),
            }
        }
        let start = spans.len();
        combined.iter().for_each(|span| push_joined(spans, start, *span));
    }

    /// Appends the pixels of a row with an odd number of edges to their right, and the pixels on an edge.
    /// Both are decided with the numbers of [`polygon_contains`], which are monotonic along the row even when
    /// rounded.
    fn polygon_row(&mut self, y: u64, width: u64, spans: &mut Vec<RowSpan>) {
        let at_y = y as f64;
        let place = if self.upwards { at_y } else { -at_y };
        while self.edges.get(self.met).is_some_and(|edge| edge.first(self.upwards) <= place) {
            self.active.push(self.edges[self.met]);
            self.met += 1;
        }
        self.active.retain(|edge| edge.last(self.upwards) >= place);
        self.crossings.clear();
        self.buffer.clear();
        for edge in &self.active {
            let (left, on) = edge.left_and_on(at_y, width);
            let PolygonEdge(((x0, y0), (x1, y1))) = *edge;
            if let Some((low, high)) = integers(x0.min(x1), x0.max(x1), width)
                && low.max(left) < on.min(high + 1)
            {
                let (first, last) = (low.max(left), on.min(high + 1) - 1);
                self.buffer.push(RowSpan { y, first, last });
            }
            if (y0 <= at_y) != (y1 <= at_y) {
                self.crossings.push(if y1 > y0 { left } else { on });
            }
        }
        self.crossings.sort_unstable();
        let pairs = self.crossings.chunks_exact(2).filter(|pair| pair[0] < pair[1]);
        self.buffer.extend(pairs.map(|pair| RowSpan { y, first: pair[0], last: pair[1] - 1 }));
        self.buffer.sort_unstable_by_key(|span| span.first);
        let start = spans.len();
        self.buffer.iter().for_each(|span| push_joined(spans, start, *span));
    }
}

/// An edge of a polygon.
#[derive(Clone, Copy, Debug)]
struct PolygonEdge(((f64, f64), (f64, f64)));

impl PolygonEdge {
    /// Returns where rows first meet the edge, negated if rows descend.
    fn first(&self, upwards: bool) -> f64 {
        let PolygonEdge(((_, y0), (_, y1))) = *self;
        if upwards { y0.min(y1) } else { -y0.max(y1) }
    }

    /// Returns where rows last meet the edge, negated if rows descend.
    fn last(&self, upwards: bool) -> f64 {
        let PolygonEdge(((_, y0), (_, y1))) = *self;
        if upwards { y0.max(y1) } else { -y0.min(y1) }
    }

    /// Returns the number of pixels of a row to the left of the edge's line, and the number to the left of it
    /// or on it.
    fn left_and_on(&self, y: f64, width: u64) -> (u64, u64) {
        let PolygonEdge(((x0, y0), (x1, y1))) = *self;
        if y0 == y1 {
            return (0, width);
        }
        let side = |x: u64| {
            let area = (x1 - x0) * (y - y0) - (x as f64 - x0) * (y1 - y0);
            if y1 > y0 { area } else { -area }
        };
        let guess = (x0 + (y - y0) / (y1 - y0) * (x1 - x0)).clamp(0.0, width as f64) as u64;
        let left = near_boundary(guess, width, |x| side(x) > 0.0);
        (left, near_boundary(left, width, |x| side(x) >= 0.0))
    }
}

/// Works like [`boundary`] of `0..end`, but searches from a guess on with doubling steps.
fn near_boundary(guess: u64, end: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (guess.min(end), guess.min(end));
    let mut step = 1;
    // `holds` is true below `low`, and false from `high` on.
    while high < end && holds(high) {
        low = high + 1;
        high = end.min(high + step);
        step *= 2;
    }
    while low > 0 && !holds(low - 1) {
        high = low - 1;
        low = low.saturating_sub(step);
        step *= 2;
    }
    boundary(low, high, holds)
}

/// Returns the first number of `low..high` for which `holds` is false, or `high`; `holds` must be true before
/// it.
fn boundary(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns a position relative to the centre of a rotated shape, along its two axes. Along a row of pixels
/// each of the two is monotonic, even when rounded.
fn turned(dx: f64, dy: f64, (cos, sin): (f64, f64)) -> (f64, f64) {
    (dx * cos + dy * sin, dy * cos - dx * sin)
}

/// Whether a position along an axis of a box is below the box.
fn is_below(at: f64, half: f64) -> bool {
    at < -half
}

/// Whether a position is above the box. The upper side is outside unless the box is closed or has no size.
fn is_beyond(at: f64, half: f64, closed: bool) -> bool {
    at > half || (at == half && half > 0.0 && !closed)
}

/// Returns the first pixel of a row within a box along one of its axes, and the pixel after the last one.
/// `rises` tells whether positions along this axis increase from pixel to pixel.
fn pixels_within(
    (place, rises): (impl Fn(u64) -> f64, bool),
    half: f64,
    closed: bool,
    width: u64,
) -> (u64, u64) {
    let below = |x: u64| is_below(place(x), half);
    let beyond = |x: u64| is_beyond(place(x), half, closed);
    if rises {
        (boundary(0, width, below), boundary(0, width, |x| !beyond(x)))
    } else {
        (boundary(0, width, beyond), boundary(0, width, |x| !below(x)))
    }
}

/// Returns sine and cosine of an angle in degrees, exact at multiples of 90.
fn sin_cos_degrees(angle: f64) -> (f64, f64) {
    match angle.rem_euclid(360.0) {
        // A tiny negative angle is rounded to 360.
        0.0 | 360.0 => (0.0, 1.0),
        90.0 => (1.0, 0.0),
        180.0 => (0.0, -1.0),
        270.0 => (-1.0, 0.0),
        angle => angle.to_radians().sin_cos(),
    }
}

fn check_numbers(numbers: &[f64]) -> Result<(), Error> {
    // NaN is not within the limits either.
    match numbers.iter().find(|number| !(-Region::MOST..=Region::MOST).contains(*number)) {
        Some(number) => {
            let expected = format!("finite numbers, none beyond {:e}", Region::MOST);
            Err(Error::refused(Reason::Region, expected, number.to_string()))
        }
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

/// Returns the integers of an interval within `0..count`.
fn integers(low: f64, high: f64, count: u64) -> Option<(u64, u64)> {
    let low = low.ceil().max(0.0);
    let high = high.floor();
    if count == 0 || low > high {
        return None;
    }
    let (low, high) = (low as u64, (high as u64).min(count - 1));
    (low <= high).then_some((low, high))
}

/// Returns the middle, relative to the centre, and half the width of the part of a row inside an ellipse; the
/// row is `dy` from the centre. The width is NaN if the row is outside the ellipse.
fn ellipse_row(dy: f64, a: f64, b: f64, cos: f64, sin: f64) -> (f64, f64) {
    // (x cos + dy sin)²/a² + (dy cos - x sin)²/b² = 1, times a² b², is the quadratic equation p x² + 2 q x +
    // r = 0. Its solutions are (-q ± a b √(p - dy²)) / p, and p is the square of the height.
    let (a2, b2) = (a * a, b * b);
    let p = cos * cos * b2 + sin * sin * a2;
    let q = dy * sin * cos * (b2 - a2);
    let height = p.sqrt();
    (-q / p, a * b * ((height - dy) * (height + dy)).sqrt() / p)
}

/// Returns the edges of a polygon.
fn edges(corners: &[(f64, f64)]) -> impl Iterator<Item = ((f64, f64), (f64, f64))> {
    corners.iter().copied().zip(corners.iter().copied().cycle().skip(1))
}

/// Applies the even-odd rule; the border is inside.
fn polygon_contains(corners: &[(f64, f64)], x: f64, y: f64) -> bool {
    let mut inside = false;
    for ((x0, y0), (x1, y1)) in edges(corners) {
        // Twice the signed area of the triangle of the edge and the point: 0 on the edge's line.
        let area = (x1 - x0) * (y - y0) - (x - x0) * (y1 - y0);
        let is_in_box = x >= x0.min(x1) && x <= x0.max(x1) && y >= y0.min(y1) && y <= y0.max(y1);
        if area == 0.0 && is_in_box {
            return true;
        }
        if (y0 <= y) != (y1 <= y) && (area > 0.0) == (y1 > y0) {
            inside = !inside;
        }
    }
    inside
}
