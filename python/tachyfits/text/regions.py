"""Regions in pixels: boxes, circles, ellipses, rings, polygons, points, and combinations of them.

Shapes only hold numbers; the engine decides which pixels are inside. Coordinates are 0-based (x, y)
with integers at pixel centres. A pixel belongs to a region if its centre is inside or on the border
(for a box: on its left or lower side). `text.sky_regions` defines the shapes on the sky.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import foreign_errors, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.base.whole_numbers import whole_number
from tachyfits.text.sections import Section

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: Maximum nesting depth of combined regions.
_MOST_DEPTH = 100

#: Bounding box: (x minimum, x maximum, y minimum, y maximum).
Ends: TypeAlias = "tuple[float, float, float, float]"


@public
class Region:
    """Part of the plane of the first two axes, in pixels or on the sky.

    Attributes
    ----------
    label
        The text beside the shape in a region file; "" if there is none. Comparison ignores labels.
    color
        The colour of the shape in the file, such as "#58a6ff" or "red"; "" if there is none.
    """

    label: str = ""
    color: str = ""


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
        """Return the bounding box of the border."""
        return ends_of(self.outline())

    @abstractmethod
    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the region in rescaled pixels: x becomes scale[0] * x + shift[0]."""

    def mask(self, height: int, width: int) -> NDArray[np.bool_]:
        """Return the mask of the region in a plane of shape (height, width)."""
        sizes = [whole_number(length) for length in (height, width)]
        if None in sizes:
            raise usage(f"invalid shape {(height, width)!r} of a plane", "give two whole numbers")
        return self.to_core().mask(*(min(size or 0, 2**62) for size in sizes))


@public
@dataclass(frozen=True)
class Box(PixelRegion):
    """A box by its centre and full size (pixels), and the angle of its width from +x towards +y.

    A pixel whose centre is on the left or lower side belongs to the box; a pixel on the other sides
    does not. A box of 10 x 10 thus has 100 pixels.

    >>> int(Box(3, 3, 1, 1).mask(8, 8).sum()), int(Box(19, 19, 10, 10).mask(40, 40).sum())
    (1, 100)
    """

    x: float
    y: float
    width: float
    height: float
    angle_degrees: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_numbers(self)

    def to_core(self) -> _core.Region:
        """Return the engine's region."""
        return _core.Region.box(self.x, self.y, self.width, self.height, self.angle_degrees)

    def outline(self) -> NDArray[np.float64]:
        """Return the border as a closed line of (x, y)."""
        corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)], dtype=np.float64)
        return _turned(corners * (self.width / 2, self.height / 2), self)

    def ends(self) -> Ends:
        """Return the bounding box of the border."""
        cosine, sine = (abs(part) for part in _cosine_and_sine(self.angle_degrees))
        width, height = self.width / 2, self.height / 2
        return _around(self, width * cosine + height * sine, width * sine + height * cosine)

    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the box in rescaled pixels."""
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

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_numbers(self)

    def to_core(self) -> _core.Region:
        """Return the engine's region."""
        return _core.Region.circle(self.x, self.y, self.radius)

    def outline(self) -> NDArray[np.float64]:
        """Return the border as a closed line of (x, y)."""
        return Ellipse(self.x, self.y, self.radius, self.radius).outline()

    def ends(self) -> Ends:
        """Return the bounding box of the border."""
        return _around(self, self.radius, self.radius)

    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the circle in rescaled pixels: an ellipse if the scales of x and y differ."""
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

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_numbers(self)

    def to_core(self) -> _core.Region:
        """Return the engine's region."""
        return _core.Region.ellipse(self.x, self.y, self.semi_x, self.semi_y, self.angle_degrees)

    def outline(self) -> NDArray[np.float64]:
        """Return the border as a closed line of (x, y)."""
        phase = np.linspace(0.0, 2.0 * np.pi, 181)
        border = np.column_stack([self.semi_x * np.cos(phase), self.semi_y * np.sin(phase)])
        return _turned(border, self)

    def ends(self) -> Ends:
        """Return the bounding box of the border."""
        cosine, sine = _cosine_and_sine(self.angle_degrees)
        a, b = self.semi_x, self.semi_y
        return _around(self, math.hypot(a * cosine, b * sine), math.hypot(a * sine, b * cosine))

    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the ellipse in rescaled pixels."""
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
        pairs = _vertices(vertices, "polygon")
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
        """Return the polygon in rescaled pixels."""
        return Polygon([_moved_pair(vertex, scale, shift) for vertex in self.vertices])


@public
@dataclass(frozen=True)
class Point(PixelRegion):
    """The pixel that contains a point.

    >>> Point(2.4, 0.6).mask(2, 4).astype(int)
    array([[0, 0, 0, 0],
           [0, 0, 1, 0]])
    """

    x: float
    y: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_numbers(self)

    def to_core(self) -> _core.Region:
        """Return the engine's region."""
        return _core.Region.box(
            float(np.floor(self.x + 0.5)), float(np.floor(self.y + 0.5)), 1.0, 1.0
        )

    def outline(self) -> NDArray[np.float64]:
        """Return the point."""
        return np.array([(self.x, self.y)], dtype=np.float64)

    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the point in rescaled pixels."""
        return Point(*_moved_pair((self.x, self.y), scale, shift))


@public
@dataclass(frozen=True)
class Line(PixelRegion):
    """A line through two or more points: a path for `Image.pv`, which has no pixels inside."""

    vertices: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        """Refuse fewer than two points."""
        pairs = _vertices(self.vertices, "line")
        if len(pairs) < 2:
            raise usage(f"a line of {len(pairs)} points", "give two or more (x, y)")
        object.__setattr__(self, "vertices", pairs)

    def to_core(self) -> _core.Region:
        """Raise UsageError: no pixel is inside a line."""
        raise usage(
            "a line has no pixels inside: it is a path for a position-velocity cut",
            "use a polygon, or a box of one pixel's width",
        )

    def outline(self) -> NDArray[np.float64]:
        """Return the line."""
        return np.array(self.vertices, dtype=np.float64)

    def moved(self, scale: tuple[float, float], shift: tuple[float, float]) -> PixelRegion:
        """Return the line in rescaled pixels."""
        return Line(tuple(_moved_pair(vertex, scale, shift) for vertex in self.vertices))


@dataclass(frozen=True)
class MaskRegion(PixelRegion):
    """The pixels marked by a mask: an array with the shape of the plane, (height, width).

    ``grid``: a `header.alignment.Grid`, if the mask has coordinates.
    """

    pixels: NDArray[np.bool_]
    grid: Any = None

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
        """Return the mask unchanged: it refers to the pixels of the image."""
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
    """Regions that are added (True) or removed (False) one after another.

    If the first region is removed, it is removed from the whole image. A combination at the
    beginning is flattened: adding regions one by one does not nest deeper.
    """

    parts: tuple[tuple[bool, Region], ...]

    def __post_init__(self) -> None:
        """Check the parts."""
        hint = "give pairs: (True, region) adds one, (False, region) removes it"
        with foreign_errors("invalid parts of a region", hint):
            parts = tuple((bool(added), part) for added, part in self.parts)
        if not all(isinstance(part, Region) for _, part in parts):
            raise usage("invalid parts of a region: expected regions", hint)
        if parts and parts[0][0] and isinstance(parts[0][1], CompoundRegion):
            parts = parts[0][1].parts + parts[1:] if parts[0][1].parts else parts
        depth = 1 + max((getattr(part, "_depth", 0) for _, part in parts), default=0)
        if depth > _MOST_DEPTH:
            raise usage(
                f"combinations of regions nested more than {_MOST_DEPTH} deep",
                "combine them from the first on, or give them as one list of parts",
            )
        object.__setattr__(self, "_depth", depth)
        object.__setattr__(self, "parts", parts)

    def __str__(self) -> str:
        texts = [f"{'' if added else 'without '}{part}" for added, part in self.parts[:6]]
        return "; ".join([*texts, *(["..."] if len(self.parts) > 6 else [])])


@dataclass(frozen=True)
class PhysicalRegion(Region):
    """A region in physical pixels: pixels of the image that this one was cut from (LTM, LTV).

    Its coordinates are counted from 1, as LTV and LTM define them.
    """

    region: PixelRegion


#: Shapes in the order of application, each added (True) or removed (False).
Parts: TypeAlias = "Sequence[tuple[bool, Region]]"


def labelled(region: Region, label: str, color: str = "") -> Region:
    """Return the same region with a label and a colour.

    >>> labelled(Circle(9, 4, 2.5), "core").label, labelled(Circle(9, 4, 2.5), "core")
    ('core', Circle(x=9, y=4, radius=2.5))
    """
    if (region.label, region.color) == (label, color):
        return region
    result = copy.copy(region)
    object.__setattr__(result, "label", label)
    object.__setattr__(result, "color", color)
    return result


def like(region: Region, other: Region) -> Region:
    """Return a region with the label and the colour of another one."""
    return labelled(region, other.label, other.color)


def union_of(parts: Parts) -> Region:
    """Combine shapes, added or removed in order, into one region."""
    if len(parts) == 1 and parts[0][0]:
        return parts[0][1]
    return CompoundRegion(tuple(parts))


def each_of(parts: Parts) -> list[Region]:
    """Return one region per added shape, without the shapes removed after it.

    >>> parts = [(True, Circle(9, 9, 5)), (True, Circle(2, 2, 1)), (False, Circle(9, 9, 2))]
    >>> [str(region) for region in each_of(parts)][0]
    'Circle(x=9, y=9, radius=5); without Circle(x=9, y=9, radius=2)'
    """
    result = []
    for number, (added, shape) in enumerate(parts):
        if added:
            removed = [part for part in parts[number + 1 :] if not part[0]]
            result.append(like(union_of([(True, shape), *removed]), shape))
    # Without an added shape, the region is the image minus the removed shapes.
    return result or [union_of(parts)]


def physical(region: Region) -> Region:
    """Interpret the 1-based numbers of a region as physical pixels."""
    if isinstance(region, CompoundRegion):
        parts = tuple((added, physical(part)) for added, part in region.parts)
        return like(CompoundRegion(parts), region)
    assert isinstance(region, PixelRegion)
    return like(PhysicalRegion(region.moved((1.0, 1.0), (1.0, 1.0))), region)


def _check_numbers(shape: Any) -> None:
    """Raise UsageError for fields that are not numbers; the engine checks the values."""
    for name, value in vars(shape).items():
        if type(value) is float:
            continue
        # Reject quantities, which have a unit, and text that happens to be a number.
        is_number = isinstance(value, (float, np.floating, np.integer)) or (
            isinstance(value, int) and abs(value) < 2**1000
        )
        if not is_number:
            raise usage(
                f"invalid {name} {value!r:.60} of a {type(shape).__name__.lower()}: expected a "
                "number of pixels",
                "give a number; a region on the sky is a tachyfits.SkyRegion",
            )


def _vertices(vertices: Any, name: str) -> tuple[tuple[float, float], ...]:
    with foreign_errors(f"invalid vertices of a {name}", "give pairs of numbers: [(0, 0), ...]"):
        return tuple((float(x), float(y)) for x, y in vertices)


def check_radii(inner: float, outer: float) -> None:
    """Raise UsageError unless the inner radius is smaller than the outer one."""
    if not inner < outer:
        problem = f"invalid radii {inner:g} and {outer:g} of an annulus: expected the smaller first"
        raise usage(problem, "give the inner radius, then the outer one")


def annulus(inner: Region, outer: Region) -> CompoundRegion:
    """Return a ring: the outer region minus the inner one."""
    return CompoundRegion(((True, outer), (False, inner)))


def ring_of(region: Region) -> tuple[PixelRegion, PixelRegion] | None:
    """Return the inner and the outer shape of a ring in pixels; None for other regions.

    >>> ring_of(annulus(Circle(5, 5, 2), Circle(5, 5, 4)))
    (Circle(x=5, y=5, radius=2), Circle(x=5, y=5, radius=4))
    >>> ring_of(annulus(Circle(6, 5, 2), Circle(5, 5, 4))), ring_of(Circle(5, 5, 4))
    (None, None)
    """
    if not isinstance(region, CompoundRegion) or [added for added, _ in region.parts] != [
        True,
        False,
    ]:
        return None
    (_, outer), (_, inner) = region.parts
    for shape_type in (Circle, Ellipse):
        if isinstance(outer, shape_type) and isinstance(inner, shape_type):
            keys = ("x", "y", "angle_degrees")
            inner_fields, outer_fields = (
                {name: vars(shape).get(name) for name in keys} for shape in (inner, outer)
            )
            return (inner, outer) if inner_fields == outer_fields else None
    return None


def spans_of(
    mask: NDArray[np.bool_], first_row: int = 0, first_column: int = 0
) -> NDArray[np.uint64]:
    """Return the row spans of a mask: shape (n, 3) with row, first and last pixel.

    >>> spans_of(np.array([[0, 1, 1, 0, 1]], bool)).tolist()
    [[0, 1, 2], [0, 4, 4]]
    """
    padded = np.zeros((mask.shape[0], mask.shape[1] + 2), dtype=np.bool_)
    padded[:, 1:-1] = mask
    # Along a row, the edges alternate between the first pixel of a span and the pixel after it.
    ends = np.flatnonzero(padded[:, 1:] != padded[:, :-1])
    rows, columns = np.divmod(ends, mask.shape[1] + 1)
    first, last = columns[::2] + first_column, columns[1::2] + first_column - 1
    return np.column_stack([rows[::2] + first_row, first, last]).astype(np.uint64)


def ends_of(border: NDArray[np.float64]) -> Ends:
    """Return the bounding box of points; NaN without points.

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
    return (math.cos(angle), math.sin(angle)) if math.isfinite(angle) else (math.nan, math.nan)


def _turned(border: NDArray[np.float64], shape: Any) -> NDArray[np.float64]:
    """Rotate points about the origin by the angle of a shape, then shift them to its centre."""
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
        texts = [*map(_short, numbers[:12]), *(["..."] if len(numbers) > 12 else [])]
        return f"{type(region).__name__.lower()}({','.join(texts)})"
    if isinstance(region, CompoundRegion):
        parts = [f"{'' if added else '-'}{as_ds9(part)}" for added, part in region.parts[:6]]
        return "; ".join([*parts, *(["..."] if len(region.parts) > 6 else [])])
    if not isinstance(region, (Box, Circle, Ellipse, Point)):
        return str(region)
    x, y, *sizes = numbers_of(region)
    if sizes[2:] == [0.0]:
        sizes.pop()
    return f"{type(region).__name__.lower()}({','.join(map(_short, (x + 1, y + 1, *sizes)))})"


def numbers_of(region: Box | Circle | Ellipse | Point) -> tuple[float, ...]:
    """Return the numbers of a shape in the order of its constructor arguments."""
    return tuple(getattr(region, field.name) for field in fields(region))


def _short(number: float) -> str:
    return f"{number:.10g}"


def kept_shape(
    section: Section, axes: Sequence[int], regions: int | None, keepdims: bool = False
) -> tuple[int, ...]:
    """Return the shape of a reduction: the kept axes, after one axis for a list of regions.

    ``regions``: length of the list of regions; None if there is no list. With ``keepdims``, reduced
    axes have length 1.

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
