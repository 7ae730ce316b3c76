"""`/api/v1/grid`: lines of constant longitude and latitude, in pixels of an image.

astropy's WCSAxes computes steps and labels, and handles poles and edges.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from numpy.typing import NDArray

from tachyfits.base import foreign_errors
from tachyfits.header import Sky
from tachyfits.server.asked import Asked, answered
from tachyfits.server.errors import RequestError
from tachyfits.server.parameters import At, numbers_of
from tachyfits.text import frame_name

router = APIRouter()

#: Number of points along a line.
_POINTS = 257

#: Frames with longitudes in hours.
_HOURS = ("icrs", "fk5", "fk4")

_Points = NDArray[np.float64]


@dataclass(frozen=True)
class _Projection:
    """Conversion between pixels from 1 and degrees in a frame, both of shape (n, 2)."""

    sky: Sky
    frame: str | None

    @property
    def name(self) -> str:
        return str(self.sky.astropy_frame.name) if self.frame is None else self.frame

    def transform(self, pixels: _Points) -> _Points:
        """Convert pixels to world coordinates."""
        positions = self.sky.positions(*(pixels - 1).T)
        if self.frame is not None:
            positions = positions.transform_to(self.frame)
        return np.column_stack([positions.spherical.lon.deg, positions.spherical.lat.deg])

    def pixels(self, world: _Points) -> _Points:
        """Convert world coordinates to pixels; NaN outside the projection."""
        from astropy.coordinates import SkyCoord

        frame = self.sky.astropy_frame if self.frame is None else self.frame
        positions = SkyCoord(world[:, 0], world[:, 1], unit="deg", frame=frame)
        return np.column_stack(self.sky.pixels_of(positions)) + 1


@router.get("/api/v1/grid", summary="Return a grid of sky coordinates")
async def grid(
    request: Request,
    at: At,
    frame: Annotated[
        str | None,
        Query(max_length=40, description="icrs, fk5, galactic, ...; without it the image's."),
    ] = None,
    lines: Annotated[int, Query(ge=1, le=50, description="About how many of each kind.")] = 6,
    box: Annotated[
        str | None,
        Query(max_length=200, description="The visible part in pixels: x1,y1,x2,y2."),
    ] = None,
) -> Response:
    """Return polylines in pixels from 1, with labels and intersections with the box."""

    def make(asked: Asked) -> Response:
        view = asked.view
        extent = (0.5, view.width + 0.5, 0.5, view.height + 0.5)
        if box is not None:
            extent = _extent(box, 4 * max(view.width, view.height))
        name = None if frame is None else frame_name(frame)
        projection = _Projection(view.required_sky, name)
        return asked.json(("grid", frame, lines, box), lambda: _grid(projection, extent, lines))

    return await answered(request, at, make)


def _extent(text: str, most: float) -> tuple[float, float, float, float]:
    numbers = numbers_of(text, "box", most=4)
    if len(numbers) != 4 or max(map(abs, numbers)) > most:
        raise RequestError(f"invalid box {text!r}: expected x1,y1,x2,y2 on the image")
    x1, y1, x2, y2 = numbers
    if not (x1 < x2 and y1 < y2):
        raise RequestError(f"invalid box {text!r}: expected x1 < x2 and y1 < y2")
    return x1, x2, y1, y2


def _grid(
    projection: _Projection, extent: tuple[float, float, float, float], lines: int
) -> dict[str, Any]:
    from astropy import units as u
    from astropy.visualization.wcsaxes.coordinate_range import find_coordinate_range
    from astropy.visualization.wcsaxes.formatter_locator import AngleFormatterLocator

    result: dict[str, Any] = {"frame": projection.name}
    problem = "the sky coordinates of the image have no grid"
    with (
        foreign_errors(problem, "correct the projection"),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore", RuntimeWarning)  # for a box outside the sky
        ranges = find_coordinate_range(
            projection, extent, ("longitude", "latitude"), (u.deg, u.deg),
            (360 * u.deg, 360 * u.deg),
        )  # fmt: skip
        for axis, (first, last) in enumerate(ranges):
            name = ("longitude", "latitude")[axis]
            if not np.isfinite([first, last]).all():
                result[name] = []
                continue
            hours = axis == 0 and projection.name in _HOURS
            locator = AngleFormatterLocator(
                number=lines, unit=u.deg, format_unit=u.hourangle if hours else u.deg
            )
            values, spacing = locator.locator(first, last)
            if axis == 0:
                # For an image around 180 degrees the range is negative.
                values = np.round(values.to_value(u.deg), 9) % 360 * u.deg
            labels = locator.formatter(values, spacing, format="ascii")
            cross_range = ranges[1 - axis]
            along = np.linspace(cross_range[0], cross_range[1], _POINTS)
            result[name] = [
                {"value": float(value), "label": label}
                | _line(projection, extent, axis, float(value), along)
                for value, label in zip(values.to_value(u.deg), labels, strict=True)
            ]
    return result


def _line(
    projection: _Projection,
    extent: tuple[float, float, float, float],
    axis: int,
    value: float,
    along: NDArray[np.float64],
) -> dict[str, Any]:
    """Return the parts of a line within the box, and its intersections with the sides."""
    from astropy.visualization.wcsaxes.grid_paths import get_lon_lat_path
    from matplotlib.path import Path

    world = np.column_stack([along, along])
    world[:, axis] = value
    pixels = projection.pixels(world)
    path = get_lon_lat_path(world, pixels, projection.transform(pixels))
    x1, x2, y1, y2 = extent
    low, high = np.array([x1, y1]), np.array([x2, y2])
    parts: list[_Points] = []
    ends: list[dict[str, Any]] = []
    starts = np.flatnonzero(path.codes == Path.MOVETO).tolist()
    for start, end in zip(starts, [*starts[1:], len(pixels)], strict=True):
        piece = pixels[start:end]
        piece = piece[np.isfinite(piece).all(axis=1)]
        if len(piece) < 2:
            continue
        ends += _crossings(piece, extent)
        # A segment may cross the box even if both its ends are outside.
        beyond = [(piece < low).astype(int), (piece > high).astype(int)]
        apart = np.logical_or.reduce([(b[1:] & b[:-1]).any(axis=1) for b in beyond])
        is_near = np.concatenate([[False], ~apart, [False]])
        selected = is_near[1:] | is_near[:-1]
        for run in np.split(np.arange(len(piece)), np.flatnonzero(np.diff(selected)) + 1):
            if selected[run[0]] and len(run) > 1:
                parts.append(piece[run])
    return {"parts": [np.round(part, 3) for part in parts], "ends": ends}


def _crossings(piece: _Points, extent: tuple[float, float, float, float]) -> list[dict[str, Any]]:
    x1, x2, y1, y2 = extent
    crossings = []
    for side, axis, edge in (
        ("left", 0, x1), ("right", 0, x2), ("bottom", 1, y1), ("top", 1, y2),
    ):  # fmt: skip
        first, last = ((y1, y2), (x1, x2))[axis]
        offsets = piece[:, axis] - edge
        for at in np.flatnonzero(offsets[:-1] * offsets[1:] <= 0).tolist():
            step = offsets[at + 1] - offsets[at]
            share = -offsets[at] / step if step else 0.0
            cross_position = piece[at, 1 - axis] + share * (
                piece[at + 1, 1 - axis] - piece[at, 1 - axis]
            )
            if first <= cross_position <= last:
                crossings.append({"side": side, "at": round(float(cross_position), 3)})
    return crossings
