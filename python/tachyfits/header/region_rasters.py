"""Pixels of regions on the sky: those whose centre is inside, as spans of rows.

A shape is transformed to the celestial frame of the image once, as unit vectors. Cells of 2048,
256, 32 and 8 pixels that are known to lie outside or inside are not subdivided; pixel centres are
evaluated only near the border of the shape. Memory therefore stays bounded for an image of any
size, and edges of a projection do not matter. Where the sky is smooth, WCSLIB evaluates samples of
a cell, and the centres of its pixels are interpolated; centres close to the border are evaluated
exactly.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import foreign_errors, memory_error, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.header.sky import Sky
from tachyfits.header.sky_patches import INTERPOLATION_ERROR, Patches, are_smooth, has_patches
from tachyfits.text.regions import Ellipse, PixelRegion, Polygon, spans_of
from tachyfits.text.sky_regions import OWN_FRAME, SkyRegion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float64]

#: Cell sizes in pixels, from the coarsest to the cells whose pixels are evaluated.
_CELLS = (2048, 256, 32, 8)
#: Samples along a side of a cell and of half a cell on either side, by cell size; for the smallest
#: cells, samples along the cell alone.
_SAMPLES = {2048: 9, 256: 9, 32: 5, 8: 3}
#: Rows rasterised at a time: a multiple of the cell sizes up to this size.
_ROWS = 256
#: Maximum number of the coarsest cells.
_MOST_CELLS = 1 << 22
#: Minimum number of cells along the sides of an image, except for the smallest cells.
_DENSE = 4
#: Bound on the extent of a cell, as a factor of the distance to its farthest sample.
_SAFETY = 1.5
#: Cells larger than this on the sky are always divided, by size: projections may be cut there,
#: between samples (radians).
_LARGE = {size: math.radians(most) for size, most in ((2048, 20), (256, 20), (32, 5), (8, 1))}
#: Frames between which astropy's conversion is a rotation: three test directions determine it.
_ROTATED = ("icrs", "fk5", "galactic", "supergalactic")
#: Frames of these that have no equinox.
_FIXED = ("icrs", "galactic", "supergalactic")
#: Maximum number of pixels evaluated at a time.
_BLOCK = 1 << 18
#: Distance to a border below which interpolation is not trusted (radians).
_NEAR = 4 * INTERPOLATION_ERROR


@dataclass(frozen=True)
class Placed:
    """A shape in the frame of an image.

    Attributes
    ----------
    axes
        Unit vectors: the directions east and north at the centre, and the centre; for a range, the
        axes of its frame. Shape (3, 3).
    reach, core
        Angular radii about the centre: the shape lies within the first, and contains everything
        within the second (radians).
    """

    region: SkyRegion
    axes: Vectors
    reach: float
    core: float
    #: Vertices of a polygon in the tangent plane at the centre, shape (n, 2).
    vertices: Vectors | None = None

    def contains(self, vectors: Vectors) -> NDArray[np.bool_]:
        """Return which directions, shape (n, 3), are inside; NaN is outside."""
        return self.decided(vectors)[0]

    def decided(self, vectors: Vectors) -> tuple[NDArray[np.bool_], Vectors]:
        """Return which directions are inside, and minimum angles to the border (radians)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return _INSIDE[self.region.shape](self, vectors @ self.axes.T)

    def distance(self, vectors: Vectors) -> Vectors:
        """Return the angle from the centre (radians)."""
        centre = self.axes[2]
        chord = np.linalg.norm(vectors - centre, axis=-1)
        return np.asarray(2.0 * np.arcsin(np.clip(chord / 2.0, 0.0, 1.0)))


def place(region: SkyRegion, sky: Sky) -> Placed:
    """Transform a shape to the frame of an image.

    Raises
    ------
    UsageError
        Positions cannot be converted to the frame of the image, or a polygon is larger than a
        hemisphere.
    """
    if region.shape == "range":
        axes = _in_frame(np.eye(3), region.frame, sky)
        return Placed(region, axes, math.pi, 0.0)
    points = _vectors(np.array(region.points))
    if region.shape == "polygon":
        vertices = _in_frame(points, region.frame, sky)
        return _placed_polygon(region, vertices)
    ((longitude, latitude),) = np.radians(region.points)
    east = (-math.sin(longitude), math.cos(longitude), 0.0)
    north = (
        -math.sin(latitude) * math.cos(longitude),
        -math.sin(latitude) * math.sin(longitude),
        math.cos(latitude),
    )
    axes = _in_frame(np.array([east, north, points[0]]), region.frame, sky)
    first, second = np.radians(region.sizes)
    if region.shape == "ellipse":
        return Placed(region, axes, max(first, second), min(first, second))
    reach = min(math.hypot(first, second) / 2, math.pi)
    return Placed(region, axes, reach, min(first, second) / 2)


def _placed_polygon(region: SkyRegion, vertices: Vectors) -> Placed:
    middle = vertices.mean(axis=0)
    centre = _unit(middle)
    cosines = vertices @ centre
    # In the tangent plane, a polygon within a hemisphere has straight sides. Its middle may be far
    # from the mean of its corners: find it with the algorithm of Badoiu and Clarkson for the
    # smallest ball.
    for step in range(2, 100):
        if (cosines > 0.02).all():
            break
        middle = middle + (vertices[np.argmin(vertices @ middle)] - middle) / step
        centre = _unit(middle)
        cosines = vertices @ centre
    if not (cosines > 0.02).all():
        raise usage(
            "a polygon on the sky must fit into a hemisphere",
            "divide it into several polygons: separate them by ';'",
        )
    helper = np.eye(3)[np.argmin(np.abs(centre))]
    east = np.cross(helper, centre)
    east /= np.linalg.norm(east)
    axes = np.array([east, np.cross(centre, east), centre])
    plane = (vertices @ axes[:2].T) / cosines[:, None]
    reach = float(np.arccos(np.clip(cosines.min(), -1.0, 1.0)))
    placed = Placed(region, axes, reach, 0.0, plane)
    if placed.contains(centre[None])[0]:
        start, end = plane, np.roll(plane, -1, axis=0)
        along = end - start
        squares = np.maximum((along**2).sum(axis=1), 1e-300)
        nearest = np.clip(-(start * along).sum(axis=1) / squares, 0.0, 1.0)
        gap = np.linalg.norm(start + nearest[:, None] * along, axis=1).min()
        placed = Placed(region, axes, reach, math.atan(gap), plane)
    return placed


def _unit(vector: Vectors) -> Vectors:
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length > 1e-9 else np.full(3, np.nan))


def _in_frame(vectors: Vectors, frame: str, sky: Sky) -> Vectors:
    """Return directions, shape (n, 3), in the frame of an image."""
    if frame == OWN_FRAME or (frame in _FIXED and sky.astropy_frame.name == frame):
        return vectors
    if frame not in _ROTATED or sky.astropy_frame.name not in _ROTATED:
        return _transformed(vectors, frame, sky)
    matrix = sky.rotations.get(frame)
    if matrix is None:
        matrix = sky.rotations[frame] = _transformed(np.eye(3), frame, sky)
    return np.asarray(vectors @ matrix)


def _transformed(vectors: Vectors, frame: str, sky: Sky) -> Vectors:
    from astropy.coordinates import CartesianRepresentation, SkyCoord

    to = sky.astropy_frame
    if hasattr(to, "system"):
        raise usage(
            f"{sky.coordinates.where}: positions cannot be converted to the frame of its sky, "
            f"{sky.frame}: astropy has none",
            "use pixels",
        )
    with foreign_errors(
        f"{sky.coordinates.where}: positions cannot be converted to its frame", "use pixels"
    ):
        there = SkyCoord(CartesianRepresentation(vectors.T), frame=frame).transform_to(to)
        cartesian = np.asarray(there.represent_as("unitspherical").to_cartesian().xyz.value.T)
    return np.asarray(cartesian / np.linalg.norm(cartesian, axis=1)[:, None])


def _vectors(degrees: Vectors) -> Vectors:
    """Return unit vectors of (longitude, latitude), shape (..., 2), in degrees."""
    longitude, latitude = np.moveaxis(np.radians(degrees), -1, 0)
    cosine = np.cos(latitude)
    return np.stack(
        [cosine * np.cos(longitude), cosine * np.sin(longitude), np.sin(latitude)], axis=-1
    )


# Tests of directions, as (east, north, towards the centre).


def _offsets(placed: Placed, local: Vectors) -> tuple[Vectors, Vectors]:
    """Return distances along the first and the second axis of a shape (radians)."""
    east, north, towards = local.T
    across = np.hypot(east, north)
    stretch = np.where(across > 0, np.arctan2(across, towards) / across, 1.0)
    angle = math.radians(placed.region.angle)
    u = stretch * (north * math.sin(angle) - east * math.cos(angle))
    v = stretch * (north * math.cos(angle) + east * math.sin(angle))
    return u, v


def _in_ellipse(placed: Placed, local: Vectors) -> tuple[NDArray[np.bool_], Vectors]:
    a, b = np.radians(placed.region.sizes)
    if a == b:
        east, north, towards = local.T
        # The chord keeps the digits of small angles.
        chord = np.sqrt(east**2 + north**2 + (1.0 - towards) ** 2)
        away = 2.0 * np.arcsin(np.minimum(chord / 2.0, 1.0))
        return away <= a, np.abs(away - a)
    u, v = _offsets(placed, local)
    square = (u / a) ** 2 + (v / b) ** 2
    return square <= 1.0, np.abs(np.sqrt(square) - 1.0) * _flattened(min(a, b), local)


def _in_box(placed: Placed, local: Vectors) -> tuple[NDArray[np.bool_], Vectors]:
    width, height = np.radians(placed.region.sizes)
    u, v = (np.abs(offset) for offset in _offsets(placed, local))
    nearest = np.minimum(np.abs(u - width / 2), np.abs(v - height / 2))
    return (u <= width / 2) & (v <= height / 2), _flattened(nearest, local)


def _flattened(distance: Any, local: Vectors) -> Vectors:
    """Return angles of distances in the plane of `_offsets`, which is stretched away from 0."""
    across = np.hypot(local[:, 0], local[:, 1])
    return np.asarray(distance * np.where(local[:, 2] > 0, 2.0 / math.pi, across / math.pi))


def _in_range(placed: Placed, local: Vectors) -> tuple[NDArray[np.bool_], Vectors]:
    (west, south), (east, north) = placed.region.points
    x, y, z = local.T
    across = np.hypot(x, y)
    latitude = np.degrees(np.arctan2(z, across))
    inside = (latitude >= south) & (latitude <= north)
    nearest = np.minimum(np.abs(latitude - south), np.abs(latitude - north))
    if abs(east - west) < 360:
        along, width = (np.degrees(np.arctan2(y, x)) - west) % 360.0, (east - west) % 360.0
        inside = inside & (along <= width)
        gap = np.minimum(np.minimum(along, 360.0 - along), np.abs(along - width))
        nearest = np.minimum(nearest, gap * across)
    return inside, np.radians(nearest)


def _in_polygon(placed: Placed, local: Vectors) -> tuple[NDArray[np.bool_], Vectors]:
    assert placed.vertices is not None
    inside = np.zeros(len(local), dtype=np.bool_)
    nearest = np.full(len(local), np.inf)
    (front,) = np.nonzero(local[:, 2] > 0)
    # Sort by y, so that each side is compared only with the points between its ends.
    y = local[front, 1] / local[front, 2]
    order = np.argsort(y, kind="stable")
    front, y = front[order], y[order]
    towards = local[front, 2]
    x = local[front, 0] / towards
    start, end = placed.vertices, np.roll(placed.vertices, -1, axis=0)
    low, high = np.minimum(start[:, 1], end[:, 1]), np.maximum(start[:, 1], end[:, 1])
    slack = 1e-6
    bounds = np.searchsorted(y, [low - slack, low, high, high + slack]).T
    met = bounds[:, 0] < bounds[:, 3]
    odd, distance = np.zeros(len(y), dtype=np.bool_), np.full(len(y), slack)
    sides = (part[met].tolist() for part in (start, end, bounds))
    for (x0, y0), (x1, y1), (first, begin, stop, last) in zip(*sides, strict=True):
        length = math.hypot(x1 - x0, y1 - y0)
        if length == 0.0:
            continue
        near = slice(first, last)
        area = (x1 - x0) * (y[near] - y0) - (x[near] - x0) * (y1 - y0)
        odd[begin:stop] ^= (area[begin - first : stop - first] > 0) == (y1 > y0)
        distance[near] = np.minimum(distance[near], np.abs(area) / length)
    # The tangent plane is stretched away from its centre.
    inside[front], nearest[front] = odd, distance * towards**2
    return inside, nearest


_INSIDE = {
    "ellipse": _in_ellipse, "box": _in_box, "range": _in_range, "polygon": _in_polygon,
}  # fmt: skip


# Rasterisation.


def spans_on_sky(placed: Placed, sky: Sky, height: int, width: int) -> NDArray[np.uint64]:
    """Return the pixels of an image whose centres are in a shape: rows of (y, first, last)."""
    cells = _cells(placed, sky, height, width)
    bands = (range(first, min(first + _ROWS, height)) for first in range(0, height, _ROWS))
    parts = [_band(placed, sky, rows, cells, width) for rows in bands]
    return np.concatenate([np.empty((0, 3), np.uint64), *(spans for spans in parts if len(spans))])


def spans_pixel_by_pixel(placed: Placed, sky: Sky, height: int, width: int) -> NDArray[np.uint64]:
    """Return the same by evaluating every pixel, as a slow reference."""
    y, x = np.mgrid[:height, :width]
    inside = placed.contains(directions(sky, x.ravel(), y.ravel())).reshape(height, width)
    return spans_of(inside)


def directions(sky: Sky, x: Any, y: Any) -> Vectors:
    """Return the unit vectors of 0-based pixels in the image's frame; NaN where there is no sky."""
    return _vectors(np.stack(sky.degrees(x, y), axis=-1))


@dataclass(frozen=True)
class _Cells:
    """Cells that are not outside a shape.

    Attributes
    ----------
    whole
        Cells inside: (x, y, size).
    border
        Undecided cells of the smallest size: (x, y).
    patches
        Undecided cells whose directions are interpolated.
    """

    whole: NDArray[np.int64]
    border: NDArray[np.int64]
    patches: list[Patches]


def _cells(placed: Placed, sky: Sky, height: int, width: int) -> _Cells:
    # Samples must be dense compared with the image, or its sky may lie between them.
    sizes = [size for size in _CELLS if size * _DENSE <= min(height, width)] or [_CELLS[-1]]
    size = sizes[0]
    if math.prod(-(-length // size) for length in (width, height)) > _MOST_CELLS:
        raise memory_error(
            f"{sky.coordinates.where}: a plane of {width} x {height} pixels is too long for its "
            "width to be searched for regions on the sky",
            "give the region in pixels, or cut the image by a section first",
        )
    across, up = (np.arange(0, length, size) for length in (width, height))
    cells = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    inner: list[NDArray[np.int64]] = []
    patches: list[Patches] = []
    for finer in (*sizes[1:], None):
        may_be_empty = finer is not None and size * _DENSE <= min(height, width)
        inside, maybe = _sorted_cells(placed, sky, cells, size, may_be_empty, patches)
        inner.append(np.pad(cells[inside], ((0, 0), (0, 1)), constant_values=size))
        cells = cells[maybe]
        if finer is None:
            break
        steps = np.arange(0, size, finer)
        offsets = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
        cells = (cells[:, None] + offsets).reshape(-1, 2)
        cells = cells[(cells[:, 0] < width) & (cells[:, 1] < height)]
        size = finer
    return _Cells(np.concatenate(inner), cells, patches)


def _sorted_cells(
    placed: Placed,
    sky: Sky,
    cells: NDArray[np.int64],
    size: int,
    may_be_empty: bool,
    patches: list[Patches],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which cells are inside a shape, and which are undecided; append patches of others.

    Each patch lies within one band of rows.
    """
    inside = np.zeros(len(cells), dtype=np.bool_)
    maybe = np.zeros(len(cells), dtype=np.bool_)
    ends = (0.0, 1.0) if size == _CELLS[-1] else (-0.5, 1.5)
    count = _SAMPLES[size]
    steps = np.linspace(*ends, count) * size - 0.5
    grid = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    own = (np.abs(grid - (size / 2 - 0.5)) <= size / 2).all(axis=1)
    at_once = _BLOCK // len(grid)
    interpolates = _CELLS[-1] < size <= _ROWS and has_patches(sky)
    for first in range(0, len(cells), at_once):
        piece = slice(first, first + at_once)
        at = (cells[piece, None] + grid).reshape(-1, 2)
        vectors = directions(sky, at[:, 0], at[:, 1]).reshape(-1, len(grid), 3)
        middle = vectors[:, len(grid) // 2]
        with np.errstate(invalid="ignore"):
            chords = np.linalg.norm(vectors[:, own] - middle[:, None], axis=-1)
            radius = 2.0 * np.arcsin(np.clip(chords.max(axis=1) / 2.0, 0.0, 1.0)) * _SAFETY
            away = placed.distance(middle)
            sure = radius < _LARGE[size]
            # NaN, where parts of a cell are off the sky, is undecided.
            outside = sure & (away - radius > placed.reach)
            inside[piece] = sure & (away + radius < placed.core)
        # A cell with no sky in or around it cannot have any at its corners.
        empty = ~np.isfinite(vectors[..., 0]).any(axis=1)
        maybe[piece] = ~(outside | inside[piece] | (empty & may_be_empty))
        if interpolates and maybe[piece].any():
            numbers = np.flatnonzero(maybe[piece])
            samples = np.moveaxis(vectors[numbers], 2, 1).reshape(-1, 3, count, count)
            smooth = are_smooth(samples)
            maybe[first + numbers[smooth]] = False
            patches.append(Patches(cells[piece][numbers[smooth]], size, samples[smooth]))
    return inside, maybe


def _band(placed: Placed, sky: Sky, rows: range, cells: _Cells, width: int) -> NDArray[np.uint64]:
    """Return the spans of a band of rows."""
    size, first = _CELLS[-1], rows.start
    all_inner = cells.whole
    inner = all_inner[(all_inner[:, 1] < rows.stop) & (all_inner[:, 1] + all_inner[:, 2] > first)]
    border = cells.border[_in_rows(cells.border, rows)]
    patches = [part.some(_in_rows(part.cells, rows)) for part in cells.patches]
    patches = [part for part in patches if len(part.cells)]
    parts: list[tuple[Any, Any]] = [
        (inner, inner[:, 2]),
        (border, size),
        *((part.cells, part.size) for part in patches),
    ]
    if not any(len(part) for part, _ in parts):
        return np.empty((0, 3), np.uint64)
    first_column = min(part[:, 0].min() for part, _ in parts if len(part))
    right = max((part[:, 0] + side).max(initial=0) for part, side in parts)
    blocks = np.zeros((-(-len(rows) // size), (right - first_column) // size), dtype=np.bool_)
    small = inner[:, 2] == size
    blocks[(inner[small, 1] - first) // size, (inner[small, 0] - first_column) // size] = True
    for x, y, side in inner[~small].tolist():
        low, begin = max(y - first, 0) // size, (x - first_column) // size
        blocks[low : (y + side - first) // size, begin : begin + side // size] = True
    decided = [
        _interpolated(placed, sky, part, blocks, (int(first_column), first)) for part in patches
    ]
    band = blocks.repeat(size, axis=0).repeat(size, axis=1)
    # As cells of pixels: (y, x, y in the cell, x in the cell).
    by_cell = band.reshape(blocks.shape[0], size, blocks.shape[1], size).swapaxes(1, 2)
    for at_x, at_y, inside in decided:
        by_cell[at_y, at_x] = inside
    y, x = (grid.ravel() for grid in np.mgrid[:size, :size])
    at_once = _BLOCK // (size * size)
    for begin in range(0, len(border), at_once):
        columns, lines = (
            (border[begin : begin + at_once, axis, None] + offsets).ravel()
            for axis, offsets in ((0, x), (1, y))
        )
        valid = (columns < width) & (lines < rows.stop)
        columns, lines = columns[valid], lines[valid]
        band[lines - first, columns - first_column] = placed.contains(
            directions(sky, columns, lines)
        )
    return spans_of(band[: len(rows), : width - first_column], first, int(first_column))


def _in_rows(cells: NDArray[np.int64], rows: range) -> NDArray[np.bool_]:
    return np.asarray((cells[:, 1] >= rows.start) & (cells[:, 1] < rows.stop))


def _interpolated(
    placed: Placed, sky: Sky, patches: Patches, blocks: NDArray[np.bool_], origin: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Mark patch blocks inside; return x and y of the border blocks, and their pixels."""
    size = _CELLS[-1]
    middles, radius = patches.middles(size)
    away, radius = placed.distance(middles), radius * _SAFETY
    inner = away + radius < placed.core
    border = ~(inner | (away - radius > placed.reach))
    masks: list[NDArray[np.bool_]] = []
    corners = (patches.cells - np.array(origin)) // size
    for parts in (inner, border):
        number, y, x = np.nonzero(parts)
        at_x, at_y = corners[number, 0] + x, corners[number, 1] + y
        valid = at_y < len(blocks)
        number, y, x, at_x, at_y = (part[valid] for part in (number, y, x, at_x, at_y))
        if parts is inner:
            blocks[at_y, at_x] = True
    at_once = _BLOCK // (size * size)
    for begin in range(0, len(number), at_once):
        piece = slice(begin, begin + at_once)
        vectors = patches.pixels(number[piece], x[piece], y[piece], size)
        inside, margin = placed.decided(vectors.reshape(-1, 3))
        (near,) = np.nonzero(~(margin > _NEAR))
        if near.size:
            cell, line, column = np.unravel_index(near, vectors.shape[:3])
            columns, lines = (
                at[piece][cell] * size + offset + start
                for at, offset, start in zip((at_x, at_y), (column, line), origin, strict=True)
            )
            inside[near] = placed.contains(directions(sky, columns, lines))
        masks.append(inside.reshape(-1, size, size))
    pixels = np.concatenate(masks) if masks else np.empty((0, size, size), np.bool_)
    return at_x, at_y, pixels


def outline_in_pixels(region: SkyRegion, sky: Sky) -> Vectors:
    """Return points along the border of a shape in 0-based pixels; NaN where it is off the sky."""
    return _pixels_of(_border(region, sky), sky)


def _pixels_of(vectors: Vectors, sky: Sky) -> Vectors:
    """Return the 0-based pixels of directions in the frame of an image, shape (n, 2)."""
    longitude = np.degrees(np.arctan2(vectors[:, 1], vectors[:, 0]))
    latitude = np.degrees(np.arctan2(vectors[:, 2], np.hypot(vectors[:, 0], vectors[:, 1])))
    return np.column_stack(sky.pixels(longitude, latitude))


def _border(region: SkyRegion, sky: Sky) -> Vectors:
    """Return directions along the border of a shape, in the frame of the image."""
    steps = np.linspace(0.0, 1.0, 33)[:, None]
    if region.shape in ("polygon", "point", "line"):
        points = _in_frame(_vectors(np.array(region.points)), region.frame, sky)
        if region.shape != "polygon":
            return points
        ends = np.roll(points, -1, axis=0)
        sides = [a + steps * (b - a) for a, b in zip(points, ends, strict=True)]
        vectors = np.concatenate(sides)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1)[:, None])
    if region.shape == "range":
        (west, south), (east, north) = region.points
        width = east - west if abs(east - west) >= 360 else (east - west) % 360.0
        longitudes = west + np.linspace(0.0, 1.0, 181) * width
        latitudes = south + steps[:, 0] * (north - south)
        sides = [
            *(np.column_stack([longitudes, np.full(181, at)]) for at in (south, north)),
            *(np.column_stack([np.full(33, at), latitudes]) for at in (west, west + width)),
        ]
        return _in_frame(_vectors(np.concatenate(sides)), region.frame, sky)
    axes = place(region, sky).axes
    first, second = np.radians(region.sizes)
    if region.shape == "ellipse":
        phase = np.linspace(0.0, 2.0 * np.pi, 361)
        u, v = first * np.cos(phase), second * np.sin(phase)
    else:
        corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]) * (first, second) / 2
        lines = [a + steps * (b - a) for a, b in itertools.pairwise(corners)]
        u, v = np.concatenate(lines).T
    angle = math.radians(region.angle)
    east = v * math.sin(angle) - u * math.cos(angle)
    north = v * math.cos(angle) + u * math.sin(angle)
    away = np.hypot(east, north)
    shrink = np.where(away > 0, np.sin(away) / np.maximum(away, 1e-300), 1.0)
    return np.asarray(np.column_stack([east * shrink, north * shrink, np.cos(away)]) @ axes)


def _check_flat(region: SkyRegion, is_flat: Any) -> None:
    """Refuse a shape that has no equivalent in the plane of the pixels."""
    if not is_flat:
        raise usage(
            f"{region} has no exact weights: it is not on the sky of the image, or at its edge",
            "leave the weights out, or give another position",
        )


def semi_axes_in_pixels(region: SkyRegion, sky: Sky) -> PixelRegion:
    """Return a small shape on the sky in 0-based pixels, with the scale at its centre.

    This follows astropy-regions and photutils; the sides of a polygon are straight between its
    vertices.
    """
    if region.shape == "polygon":
        vertices = _border(SkyRegion("line", region.points, frame=region.frame), sky)
        places = _pixels_of(vertices, sky)
        _check_flat(region, np.isfinite(places).all())
        return Polygon([(x, y) for x, y in places.tolist()])
    if region.shape not in ("ellipse", "box"):
        raise usage(
            f"{region} has no exact weights", "use a circle, an ellipse, a box or a polygon"
        )
    axes = place(region, sky).axes
    # Derivatives over a hundredth of a pixel, along the two axes of the shape.
    step = math.radians(min(sky.scales)) / 100
    angle = math.radians(region.angle)
    first = axes[1] * math.sin(angle) - axes[0] * math.cos(angle)
    second = axes[1] * math.cos(angle) + axes[0] * math.sin(angle)
    ways = np.array([axes[2], *(axes[2] + s * step * d for d in (first, second) for s in (1, -1))])
    pixels = _pixels_of(ways / np.linalg.norm(ways, axis=1)[:, None], sky)
    # At an edge of the projection, steps to either side differ; beyond it, pixels are NaN.
    bend = (pixels[1::2] + pixels[2::2]) / 2 - pixels[0]
    _check_flat(region, (np.abs(bend) < 1e-3).all())
    (x, y), sizes = pixels[0].tolist(), np.radians(region.sizes)
    u, v = (
        (pixels[n] - pixels[n + 1]) / (2 * step) * size
        for n, size in zip((1, 3), sizes, strict=True)
    )
    if region.shape == "box":
        corners = [(x, y) + (s * u + t * v) / 2 for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        return Polygon([(float(at), float(to)) for at, to in corners])
    ways, lengths, _ = np.linalg.svd(np.column_stack([u, v]))
    turn = math.degrees(math.atan2(ways[1, 0], ways[0, 0]))
    return Ellipse(x, y, float(lengths[0]), float(lengths[1]), turn)
