"""Regions of the sky plane in pixels: boxes, circles, ellipses, polygons.

They hold numbers; the engine decides which pixels are inside. Coordinates are 0-based (x, y) with
integers at pixel centres; a pixel belongs to a region if its centre is inside or on the border.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tachyfits import _core
from tachyfits.base.errors import either, usage, warn
from tachyfits.base.lazy_numpy import np
from tachyfits.text.sections import Section

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Region(ABC):
    """A part of the plane of the two sky axes (x is NAXIS1, y is NAXIS2)."""

    @abstractmethod
    def to_core(self) -> _core.Region:
        """Return the engine's region."""

    @abstractmethod
    def outline(self) -> NDArray[np.float64]:
        """Return the border as a closed line of (x, y): shape (n, 2), pixels."""

    def mask(self, height: int, width: int) -> NDArray[np.bool_]:
        """Return which pixels of a plane of shape (height, width) belong to the region."""
        return self.to_core().mask(height, width)


@dataclass(frozen=True)
class Box(Region):
    """A box by its centre and full size, sides along the axes (pixels).

    >>> int(Box(3, 3, 1, 1).mask(8, 8).sum())
    1
    """

    x: float
    y: float
    width: float
    height: float

    def to_core(self) -> _core.Region:
        """Return the engine's region."""
        return _core.Region.box(self.x, self.y, self.width, self.height)

    def outline(self) -> NDArray[np.float64]:
        """Return the border as a closed line of (x, y)."""
        corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)], dtype=np.float64)
        return corners * (self.width / 2, self.height / 2) + (self.x, self.y)


@dataclass(frozen=True)
class Circle(Region):
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


@dataclass(frozen=True)
class Ellipse(Region):
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
        u, v = self.semi_x * np.cos(phase), self.semi_y * np.sin(phase)
        angle = np.deg2rad(self.angle_degrees)
        x = self.x + u * np.cos(angle) - v * np.sin(angle)
        y = self.y + u * np.sin(angle) + v * np.cos(angle)
        return np.column_stack([x, y])


@dataclass(frozen=True)
class Polygon(Region):
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


#: Types of an operation's ``region``.
Regions = Region | Sequence[Region] | None


def as_list(region: Regions, shape: Sequence[int] | None = None) -> list[Region] | None:
    """Return regions as a list; None stays None. Anything else is a UsageError.

    ``shape`` is that of the image: a region that extends beyond its last two axes gives a warning.
    """
    if region is None:
        return None
    regions = [region] if isinstance(region, Region) else list(region)
    for item in regions:
        if not isinstance(item, Region):
            raise usage(
                f"invalid region {item!r}", "use tf.Box, tf.Circle, tf.Ellipse or tf.Polygon"
            )
    if not regions:
        raise usage(
            "an empty list of regions",
            either("leave region= out to use every pixel", "leave --region out to use every pixel"),
        )
    if shape is not None and len(shape) >= 2:
        for item in regions:
            _warn_outside(item, shape[-2], shape[-1])
    return regions


def _warn_outside(region: Region, height: int, width: int) -> None:
    """Warn of a region that has no pixel on the image, or not all of its pixels."""
    with np.errstate(all="ignore"):
        border = region.outline()
    # Half a pixel beyond the centres, and no more: the edge of the image itself is inside.
    least, most = np.array([-0.5, -0.5]), np.array([width - 0.5, height - 0.5])
    first, last = border.min(axis=0), border.max(axis=0)
    name = either(repr(region), as_ds9(region))
    size = f"the image of {width} x {height} pixels"
    if (last < least).any() or (first > most).any():
        warn(f"{name} lies outside {size}: no pixel is in it")
    elif (first < least).any() or (last > most).any():
        warn(f"{name} reaches beyond {size}: only its pixels on the image count")


def as_ds9(region: Region) -> str:
    """Return a region in the syntax of DS9 and the command line, in pixels counted from 1.

    >>> as_ds9(Circle(9, 4, 2.5)), as_ds9(Polygon([(0, 0), (2, 0), (2, 2)]))
    ('circle(10,5,2.5)', 'polygon(1,1,3,1,3,3)')
    """
    if isinstance(region, Polygon):
        numbers = [coordinate + 1 for vertex in region.vertices for coordinate in vertex]
        shown = [*map(_short, numbers[:12]), *(["..."] if len(numbers) > 12 else [])]
        return f"polygon({','.join(shown)})"
    x, y, *others = vars(region).values()
    return f"{type(region).__name__.lower()}({','.join(map(_short, (x + 1, y + 1, *others)))})"


def _short(number: float) -> str:
    return f"{number:.10g}"


def to_core(regions: Sequence[Region] | None) -> list[_core.Region] | None:
    """Return the engine's regions; None stays None."""
    return None if regions is None else [region.to_core() for region in regions]


def kept_shape(
    section: Section, axes: Sequence[int], region: Regions, keepdims: bool = False
) -> tuple[int, ...]:
    """Return the shape of a reduction: of the kept axes, after one for a list of regions.

    With ``keepdims`` reduced axes have length 1.

    >>> import numpy as np
    >>> from tachyfits.text.sections import resolve
    >>> kept_shape(resolve(np.s_[0, :, 1:3], (9, 8, 7)), (1,), None)
    (2,)
    """
    shape = tuple(
        1 if number in axes else length
        for number, length in enumerate(section.full_shape)
        if (keepdims or number not in axes) and number not in section.dropped
    )
    if region is None or isinstance(region, Region):
        return shape
    return (len(region), *shape)
