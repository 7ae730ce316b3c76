"""Matching: convert pixels and regions of one image to pixels of another, through the sky.

A shape with a centre is transformed by the local scale and rotation at its centre; vertices of
polygons and lines are converted one by one.
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

#: Maximum relative difference of the scales along two axes to treat them as equal.
_ALIKE = 1e-6

#: Offsets from a position used to measure scale and angle, half a pixel to each side.
_AROUND = np.array([[0.0, 0.0], [0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]])

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Match:
    """Sky coordinates of a source image and of a target image."""

    source: Sky
    target: Sky

    def places(self, points: _Floats) -> _Floats:
        """Convert points to pixels of the target; NaN outside its projection.

        ``points`` and the result have the shape (n, 2): x and y, counted from 1.
        """
        with foreign_errors("the images cannot be matched by the sky", "show one of them"):
            world = self.source.positions(*(points - 1).T)
            return np.column_stack(self.target.pixels_of(world)) + 1

    def linear(self, x: float, y: float) -> tuple[_Floats, _Floats] | None:
        """Return the position of a point in the target, and the local linear transformation.

        None if the point is outside the target's projection. The columns of the matrix are the
        images of a step of one pixel along x and along y.
        """
        centre, *sides = self.places(np.array([x, y]) + _AROUND)
        matrix = np.column_stack((sides[0] - sides[1], sides[2] - sides[3]))
        if not (np.isfinite(centre).all() and np.isfinite(matrix).all()):
            return None
        return (centre, matrix) if np.linalg.det(matrix) != 0 else None

    def region(self, text: str) -> PixelRegion | CompoundRegion | None:
        """Convert a region to pixels of the target; None if a part is outside its projection.

        Raises
        ------
        RequestError
            The region is not a shape in pixels, or the target cannot represent its shape.
        """
        region = parse_region(text)
        ring = ring_of(region)
        if ring is not None:
            inner, outer = (self._shape(part) for part in ring)
            if inner is None or outer is None:
                return None
            if isinstance(inner, Ellipse) and isinstance(outer, Ellipse):
                # The angles differ by rounding errors: use the same one.
                turn = math.radians(inner.angle_degrees - outer.angle_degrees)
                if abs(math.sin(turn)) <= _ALIKE and math.cos(turn) > 0:
                    inner = replace(inner, angle_degrees=outer.angle_degrees)
            matched = annulus(inner, outer)
            if ring_of(matched) is None:
                raise RequestError(f"{text[:100]} has no shape of its kind in the other image")
            return matched
        if not isinstance(region, PixelRegion):
            raise RequestError(f"invalid region {text[:100]!r}: expected one shape in pixels")
        return self._shape(region)

    def _shape(self, part: PixelRegion) -> PixelRegion | None:
        if isinstance(part, (Polygon, Line)):
            corners = self.places(np.array(part.vertices, dtype=np.float64) + 1) - 1
            if not np.isfinite(corners).all():
                return None
            vertices = tuple((x, y) for x, y in corners.tolist())
            return Line(vertices) if isinstance(part, Line) else Polygon(vertices)
        if not isinstance(part, (Box, Circle, Ellipse, Point)):
            raise RequestError("the region has no shape that can be matched")
        transform = self.linear(part.x + 1, part.y + 1)
        if transform is None:
            return None
        (x, y), matrix = (transform[0] - 1).tolist(), transform[1]
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
    """Another image that a region is drawn on."""

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


#: The image that the region is drawn on; None: the image of the request.
DrawnOn = Annotated[OtherImage | None, Depends(_drawn_on)]


def region_of(asked: Asked, other: OtherImage, text: str | None) -> str:
    """Convert a region of another image to pixels of this one.

    Raises
    ------
    RequestError
        The text is missing, or the region is outside the projection of this image.
    """
    if text is None:
        raise RequestError("region_in is given without a region: give both")
    source = asked.state.datasets.open(other.id)
    view = source.view(other.hdu)
    matched = Match(view.required_sky, asked.view.required_sky).region(text)
    source.check()
    if matched is None:
        raise RequestError("the projection of the image does not reach the region")
    return text_of(matched)


def _turn(degrees: float) -> _Floats:
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[cosine, -sine], [sine, cosine]])


def _angle(vector: _Floats) -> float:
    """Return the angle of a vector in degrees, counter-clockwise from x."""
    return math.degrees(math.atan2(vector[1], vector[0]))


def _axes(matrix: _Floats) -> tuple[float, float, float]:
    """Return the semi-axes of the image of a unit circle, and the angle of the major one."""
    directions, (major, minor), _ = np.linalg.svd(matrix)
    return float(major), float(minor), _angle(directions[:, 0])
