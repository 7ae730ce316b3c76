"""Regions in pixels: boxes, circles, ellipses, rings, polygons, points, and combinations of them.

They hold numbers; the engine decides which pixels are inside. Coordinates are 0-based (x, y) with
integers at pixel centres; a pixel belongs to a region if its centre is inside or on the border (of
a box: on its left or lower side). `text.sky_regions` has the shapes on the sky.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import usage
from tachyfits.base.lazy_numpy import np
from tachyfits.text.sections import Section

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: The least and the greatest x, and those of y.
Ends: TypeAlias = "tuple[float, float, float, float]"


@public
class Region:
    """A part of the plane of the first two axes: in pixels, or on the sky."""


@public
class PixelRegion(Region):
    """A region in pixels: x is NAXIS1, y is NAXIS2, both counted from 0."""

    @abstractmethod
    def to_core(self) -> _core.Region:
        """Return the engine's region."""

    @abstractmethod
    def outline(self) -> NDArray[np.float64]:
        """Return the border as a closed line of (x, y): shape (n, 2), pixels."""

    def ends(self) -> Ends:
        """Return the least and the greatest x, and those of y, of the border."""
        return ends_of(self.outline())

    @abstractmethod
    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the region in other pixels: x becomes scale[0] * x + shift[0]."""

    def mask(self, height: int, width: int) -> NDArray[np.bool_]:
        """Return which pixels of a plane of shape (height, width) belong to the region."""
        return self.to_core().mask(height, width)


@public
@dataclass(frozen=True)
class Box(PixelRegion):
    """A box by its centre and full size (pixels), and the angle of its width from +x towards +y.

    Pixels whose centre is on the left or lower side belong to it, those on the other sides do not,
    so that a box of 10 x 10 has 100 pixels.

    >>> int(Box(3, 3, 1, 1).mask(8, 8).sum()), int(Box(19, 19, 10, 10).mask(40, 40).sum())
    (1, 100)
    """

    x: float
    y: float
    width: float
    height: float
    angle_degrees: float = 0.0

    def to_core(self) -> _core.Region:
        """Return the engine's region."""
        return _core.Region.box(self.x, self.y, self.width, self.height, self.angle_degrees)

    def outline(self) -> NDArray[np.float64]:
        """Return the border as a closed line of (x, y)."""
        corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)], dtype=np.float64)
        return _turned(corners * (self.width / 2, self.height / 2), self)

    def ends(self) -> Ends:
        """Return the least and the greatest x, and those of y, of the border."""
        cosine, sine = (abs(part) for part in _cosine_and_sine(self.angle_degrees))
        width, height = self.width / 2, self.height / 2
        return _around(self, width * cosine + height * sine, width * sine + height * cosine)

    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the box in other pixels."""
        if not (_is_upright(self.angle_degrees) or _is_uniform(scale)):
            return Polygon([(x, y) for x, y in self.outline()[:-1].tolist()]).moved(scale, shift)
        centre = _moved_point(self, scale, shift)
        return replace(
            self, **centre, width=self.width * abs(scale[0]), height=self.height * abs(scale[1])
        )


@public
@dataclass(frozen=True)
class Circle(PixelRegion):
    """A circle by its centre and radius (pixels).

    >>> int(Circle(3, 3, 1).mask(8, 8).sum())
    5
    """

    x: float
    y: float
    radius: float

    def to_core(self) -> _core.Region:
        """Return the engine's region."""
        return _core.Region.circle(self.x, self.y, self.radius)

    def outline(self) -> NDArray[np.float64]:
        """Return the border as a closed line of (x, y)."""
        return Ellipse(self.x, self.y, self.radius, self.radius).outline()

    def ends(self) -> Ends:
        """Return the least and the greatest x, and those of y, of the border."""
        return _around(self, self.radius, self.radius)

    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the circle in other pixels: an ellipse if they have other proportions."""
        if not _is_uniform(scale):
            return Ellipse(self.x, self.y, self.radius, self.radius).moved(scale, shift)
        return replace(self, **_moved_point(self, scale, shift), radius=self.radius * abs(scale[0]))


@public
@dataclass(frozen=True)
class Ellipse(PixelRegion):
    """An ellipse by its centre, semi-axes (pixels) and angle.

    ``angle_degrees`` rotates the semi-axis ``semi_x`` from +x towards +y.
    """

    x: float
    y: float
    semi_x: float
    semi_y: float
    angle_degrees: float = 0.0

    def to_core(self) -> _core.Region:
        """Return the engine's region."""
        return _core.Region.ellipse(self.x, self.y, self.semi_x, self.semi_y, self.angle_degrees)

    def outline(self) -> NDArray[np.float64]:
        """Return the border as a closed line of (x, y)."""
        phase = np.linspace(0.0, 2.0 * np.pi, 181)
        border = np.column_stack([self.semi_x * np.cos(phase), self.semi_y * np.sin(phase)])
        return _turned(border, self)

    def ends(self) -> Ends:
        """Return the least and the greatest x, and those of y, of the border."""
        cosine, sine = _cosine_and_sine(self.angle_degrees)
        a, b = self.semi_x, self.semi_y
        return _around(self, math.hypot(a * cosine, b * sine), math.hypot(a * sine, b * cosine))

    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the ellipse in other pixels."""
        if not (_is_upright(self.angle_degrees) or _is_uniform(scale)):
            raise usage(
                "a turned ellipse cannot be placed in pixels of other proportions",
                "give it in image pixels or on the sky",
            )
        sizes = {"semi_x": self.semi_x * abs(scale[0]), "semi_y": self.semi_y * abs(scale[1])}
        return replace(self, **_moved_point(self, scale, shift), **sizes)


@public
@dataclass(frozen=True)
class Polygon(PixelRegion):
    """A polygon by its vertices (x, y), 3 to 1 048 576 of them (pixels); it closes itself.

    >>> int(Polygon([(0, 0), (3, 0), (3, 3), (0, 3)]).mask(5, 5).sum())
    16
    """

    vertices: tuple[tuple[float, float], ...]

    def __init__(self, vertices: Sequence[tuple[float, float]]) -> None:
        pairs = tuple((float(x), float(y)) for x, y in vertices)
        if len(pairs) < 3:
            raise usage(f"a polygon of {len(pairs)} vertices", "give three or more (x, y)")
        object.__setattr__(self, "vertices", pairs)

    def to_core(self) -> _core.Region:
        """Return the engine's region."""
        return _core.Region.polygon(list(self.vertices))

    def outline(self) -> NDArray[np.float64]:
        """Return the border as a closed line of (x, y)."""
        return np.array([*self.vertices, self.vertices[0]], dtype=np.float64)

    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the polygon in other pixels."""
        return Polygon([_moved_pair(vertex, scale, shift) for vertex in self.vertices])


@public
@dataclass(frozen=True)
class Point(PixelRegion):
    """The pixel that has a point in it.

    >>> Point(2.4, 0.6).mask(2, 4).astype(int)
    array([[0, 0, 0, 0],
           [0, 0, 1, 0]])
    """

    x: float
    y: float

    def to_core(self) -> _core.Region:
        """Return the engine's region."""
        return _core.Region.box(
            float(np.floor(self.x + 0.5)), float(np.floor(self.y + 0.5)), 1.0, 1.0
        )

    def outline(self) -> NDArray[np.float64]:
        """Return the point."""
        return np.array([(self.x, self.y)], dtype=np.float64)

    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the point in other pixels."""
        return Point(*_moved_pair((self.x, self.y), scale, shift))


@public
@dataclass(frozen=True)
class Line(PixelRegion):
    """A line through two or more points: a path for `Image.pv`, which has no pixels inside."""

    vertices: tuple[tuple[float, float], ...]

    def to_core(self) -> _core.Region:
        """Refuse: no pixel is inside a line."""
        raise usage(
            "a line has no pixels inside: it is a path for a position-velocity cut",
            "use a polygon, or a box of one pixel's width",
        )

    def outline(self) -> NDArray[np.float64]:
        """Return the line."""
        return np.array(self.vertices, dtype=np.float64)

    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the line in other pixels."""
        return Line(tuple(_moved_pair(vertex, scale, shift) for vertex in self.vertices))


@dataclass(frozen=True)
class MaskRegion(PixelRegion):
    """The pixels that a mask marks: an array of shape (height, width), of the plane itself."""

    pixels: NDArray[np.bool_]

    def to_core(self) -> _core.Region:
        """Return the engine's region."""
        return _core.Region.of_spans(spans_of(self.pixels))

    def outline(self) -> NDArray[np.float64]:
        """Return the border of the box around the pixels."""
        rows, columns = (np.flatnonzero(self.pixels.any(axis=axis)) for axis in (1, 0))
        if not rows.size:
            return np.full((1, 2), np.nan)
        corners = [(x, y) for y in (rows[0], rows[-1]) for x in (columns[0], columns[-1])]
        return np.array(corners, dtype=np.float64)

    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the mask: its pixels are those of the image."""
        return self

    def __hash__(self) -> int:
        return id(self.pixels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MaskRegion) and self.pixels is other.pixels

    def __repr__(self) -> str:
        return f"MaskRegion({int(self.pixels.sum())} pixels)"


@public
@dataclass(frozen=True)
class CompoundRegion(Region):
    """Regions in order: each is added (True) to those before it, or removed (False) from them.

    Where the first one is removed, it is from the whole image.
    """

    parts: tuple[tuple[bool, Region], ...]

    def __str__(self) -> str:
        shown = [f"{'' if added else 'without '}{part}" for added, part in self.parts[:6]]
        return "; ".join([*shown, *(["..."] if len(self.parts) > 6 else [])])


@dataclass(frozen=True)
class PhysicalRegion(Region):
    """A region in physical pixels: those of the image that this one was cut out of (LTM, LTV)."""

    region: PixelRegion


def check_radii(inner: float, outer: float) -> None:
    """Refuse a ring without anything between its radii."""
    if not inner < outer:
        problem = f"invalid radii {inner:g} and {outer:g} of an annulus: expected the smaller first"
        raise usage(problem, "give the inner radius, then the outer one")


def annulus(inner: Region, outer: Region) -> CompoundRegion:
    """Return a ring: the outer region without the inner one."""
    return CompoundRegion(((True, outer), (False, inner)))


def spans_of(
    mask: NDArray[np.bool_], first_row: int = 0, first_column: int = 0
) -> NDArray[np.uint64]:
    """Return the row spans of a mask: shape (n, 3), row, first and last pixel.

    >>> spans_of(np.array([[0, 1, 1, 0, 1]], bool)).tolist()
    [[0, 1, 2], [0, 4, 4]]
    """
    padded = np.zeros((mask.shape[0], mask.shape[1] + 2), dtype=np.bool_)
    padded[:, 1:-1] = mask
    # Ends of spans alternate along a row: where one begins, and the pixel after it.
    ends = np.flatnonzero(padded[:, 1:] != padded[:, :-1])
    rows, places = np.divmod(ends, mask.shape[1] + 1)
    first, last = places[::2] + first_column, places[1::2] + first_column - 1
    return np.column_stack([rows[::2] + first_row, first, last]).astype(np.uint64)


def ends_of(border: NDArray[np.float64]) -> Ends:
    """Return the least and the greatest x, and those of y, of points; NaN without points.

    >>> ends_of(np.array([[1.0, 5.0], [3.0, np.nan], [2.0, 4.0]]))
    (1.0, 2.0, 4.0, 5.0)
    """
    points = border[np.isfinite(border).all(axis=1)]
    if not len(points):
        return (math.nan,) * 4
    (left, low), (right, high) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return left, right, low, high


def _around(shape: Any, width: float, height: float) -> Ends:
    return shape.x - width, shape.x + width, shape.y - height, shape.y + height


def _cosine_and_sine(angle_degrees: float) -> tuple[float, float]:
    angle = math.radians(angle_degrees)
    return math.cos(angle), math.sin(angle)


def _turned(border: NDArray[np.float64], shape: Any) -> NDArray[np.float64]:
    """Turn points about the origin by the angle of a shape, and move them to its centre."""
    angle = np.deg2rad(shape.angle_degrees)
    cosine, sine = np.cos(angle), np.sin(angle)
    u, v = border.T
    return np.column_stack([shape.x + u * cosine - v * sine, shape.y + u * sine + v * cosine])


def _is_upright(angle: float) -> bool:
    return angle % 180.0 == 0.0


def _is_uniform(scale: tuple[float, float]) -> bool:
    return scale[0] == scale[1] > 0


def _moved_pair(
    at: tuple[float, float], scale: tuple[float, float], shift: tuple[float, float]
) -> tuple[float, float]:
    return scale[0] * at[0] + shift[0], scale[1] * at[1] + shift[1]


def _moved_point(
    shape: Any, scale: tuple[float, float], shift: tuple[float, float]
) -> dict[str, float]:
    return dict(zip("xy", _moved_pair((shape.x, shape.y), scale, shift), strict=True))


def as_ds9(region: Region) -> str:
    """Return a region in the syntax of DS9 and the command line, in pixels counted from 1.

    >>> as_ds9(Circle(9, 4, 2.5)), as_ds9(Polygon([(0, 0), (2, 0), (2, 2)]))
    ('circle(10,5,2.5)', 'polygon(1,1,3,1,3,3)')
    """
    if isinstance(region, (Polygon, Line)):
        numbers = [coordinate + 1 for vertex in region.vertices for coordinate in vertex]
        shown = [*map(_short, numbers[:12]), *(["..."] if len(numbers) > 12 else [])]
        return f"{type(region).__name__.lower()}({','.join(shown)})"
    if not isinstance(region, (Box, Circle, Ellipse, Point)):
        return str(region)
    x, y, *others = vars(region).values()
    if others[2:] == [0.0]:
        others.pop()
    return f"{type(region).__name__.lower()}({','.join(map(_short, (x + 1, y + 1, *others)))})"


def _short(number: float) -> str:
    return f"{number:.10g}"


def kept_shape(
    section: Section, axes: Sequence[int], regions: int | None, keepdims: bool = False
) -> tuple[int, ...]:
    """Return the shape of a reduction: of the kept axes, after one for a list of regions.

    ``regions``: their number; None for a single one, or none. With ``keepdims`` reduced axes have
    length 1.

    >>> from tachyfits.text.sections import resolve
    >>> kept_shape(resolve(np.s_[0, :, 1:3], (9, 8, 7)), (1,), None)
    (2,)
    """
    shape = tuple(
        1 if number in axes else length
        for number, length in enumerate(section.full_shape)
        if (keepdims or number not in axes) and number not in section.dropped
    )
    return shape if regions is None else (regions, *shape)
