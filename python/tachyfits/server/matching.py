"""Matching: pixels and regions of one image in the pixels of another, by the sky of both.

A shape with a centre gets the scale and the angle that the sky has there; corners of polygons and
ends of lines are moved one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from fastapi import Depends, Query
from numpy.typing import NDArray

from tachyfits import Box, Circle, CompoundRegion, Ellipse, Line, PixelRegion, Point, Polygon
from tachyfits.base import foreign_errors
from tachyfits.header import Sky
from tachyfits.server.asked import Asked
from tachyfits.server.errors import RequestError
from tachyfits.server.region_shapes import text_of
from tachyfits.text import annulus, parse_region, ring_of

#: The largest relative difference of the scales along two axes that counts as one scale.
_ALIKE = 1e-6

#: Pixels around a place between which scale and angle are measured: one to each side makes one.
_AROUND = np.array([[0.0, 0.0], [0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]])

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Match:
    """The sky of an image, and that of the image onto which pixels are moved."""

    source: Sky
    target: Sky

    def places(self, points: _Floats) -> _Floats:
        """Return points in the pixels of the target; NaN where its projection does not reach.

        ``points``: shape (n, 2), x and y from 1, as the result.
        """
        with foreign_errors("the images cannot be matched by the sky", "show one of them"):
            world = self.source.positions(*(points - 1).T)
            return np.column_stack(self.target.pixels_of(world)) + 1

    def linear(self, x: float, y: float) -> tuple[_Floats, _Floats] | None:
        """Return the place of a point, and what a step of one pixel along x and along y becomes.

        None where the target has no such place. The matrix has a column for each step.
        """
        centre, *sides = self.places(np.array([x, y]) + _AROUND)
        matrix = np.column_stack((sides[0] - sides[1], sides[2] - sides[3]))
        if not (np.isfinite(centre).all() and np.isfinite(matrix).all()):
            return None
        return (centre, matrix) if np.linalg.det(matrix) != 0 else None

    def region(self, text: str) -> PixelRegion | CompoundRegion | None:
        """Return a region in pixels as one of the target; None if a part of it has no place.

        Raises
        ------
        RequestError
            The region is not a shape in pixels, or has no shape of its kind in the target.
        """
        region = parse_region(text)
        ring = ring_of(region)
        if ring is not None:
            inner, outer = (self._shape(part) for part in ring)
            if inner is None or outer is None:
                return None
            if isinstance(inner, Ellipse) and isinstance(outer, Ellipse):
                # The angles of both come from rounded numbers.
                turn = math.radians(inner.angle_degrees - outer.angle_degrees)
                if abs(math.sin(turn)) <= _ALIKE and math.cos(turn) > 0:
                    inner = replace(inner, angle_degrees=outer.angle_degrees)
            moved = annulus(inner, outer)
            if ring_of(moved) is None:
                raise RequestError(f"{text[:100]} has no shape of its kind in the other image")
            return moved
        if not isinstance(region, PixelRegion):
            raise RequestError(f"invalid region {text[:100]!r}: expected one shape in pixels")
        return self._shape(region)

    def _shape(self, part: PixelRegion) -> PixelRegion | None:
        if isinstance(part, (Polygon, Line)):
            corners = self.places(np.array(part.vertices, dtype=np.float64) + 1) - 1
            if not np.isfinite(corners).all():
                return None
            moved = tuple((x, y) for x, y in corners.tolist())
            return Line(moved) if isinstance(part, Line) else Polygon(moved)
        if not isinstance(part, (Box, Circle, Ellipse, Point)):
            raise RequestError("the region has no shape that can be matched")
        found = self.linear(part.x + 1, part.y + 1)
        if found is None:
            return None
        (x, y), matrix = (found[0] - 1).tolist(), found[1]
        first, second = np.linalg.svd(matrix, compute_uv=False)
        scale = math.sqrt(first * second)
        is_alike = first - second <= _ALIKE * first
        if isinstance(part, Point):
            return Point(x, y)
        if isinstance(part, Circle):
            if is_alike:
                return Circle(x, y, part.radius * scale)
            return Ellipse(x, y, *_axes(matrix * part.radius))
        along = _turn(part.angle_degrees)
        if is_alike:
            angle = _angle(matrix @ along[:, 0])
            if isinstance(part, Box):
                return Box(x, y, part.width * scale, part.height * scale, angle)
            return Ellipse(x, y, part.semi_x * scale, part.semi_y * scale, angle)
        if isinstance(part, Ellipse):
            return Ellipse(x, y, *_axes(matrix @ along @ np.diag((part.semi_x, part.semi_y))))
        sides = along @ np.diag((part.width / 2, part.height / 2))
        corners = matrix @ sides @ np.array([[-1, 1, 1, -1], [-1, -1, 1, 1]]) + [[x], [y]]
        return Polygon([(x, y) for x, y in corners.T.tolist()])


@dataclass(frozen=True)
class OtherImage:
    """The image in whose pixels a region is."""

    id: str
    hdu: int | None


async def _drawn_on(
    region_in: Annotated[
        str | None,
        Query(min_length=1, max_length=4096, description="Another dataset, in whose pixels the "
              "region is: it is moved by the sky of both, as by /api/v1/match."),
    ] = None,
    region_in_hdu: Annotated[int | None, Query(ge=0, le=1_000_000, description="Its HDU.")] = None,
) -> OtherImage | None:  # fmt: skip
    if region_in is None and region_in_hdu is not None:
        raise RequestError("region_in_hdu is given without region_in: give both")
    return None if region_in is None else OtherImage(region_in, region_in_hdu)


#: The image in whose pixels the region is, where that is another one.
DrawnOn = Annotated[OtherImage | None, Depends(_drawn_on)]


def region_of(asked: Asked, other: OtherImage, text: str | None) -> str:
    """Return a region of another image in the pixels of this one.

    Raises
    ------
    RequestError
        The text is missing, or the region lies outside this image.
    """
    if text is None:
        raise RequestError("region_in is given without a region: give both")
    source = asked.state.datasets.open(other.id)
    view = source.view(other.hdu)
    moved = Match(view.required_sky, asked.view.required_sky).region(text)
    source.check()
    if moved is None:
        raise RequestError("the projection of the image does not reach the region")
    return text_of(moved)


def _turn(degrees: float) -> _Floats:
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[cosine, -sine], [sine, cosine]])


def _angle(vector: _Floats) -> float:
    """Return the angle of a vector in degrees, counter-clockwise from x."""
    return math.degrees(math.atan2(vector[1], vector[0]))


def _axes(matrix: _Floats) -> tuple[float, float, float]:
    """Return the semi-axes, and the angle of the longer one, of what a unit circle becomes."""
    ways, (major, minor), _ = np.linalg.svd(matrix)
    return float(major), float(minor), _angle(ways[:, 0])
