"""`/api/v1/contours`: lines of equal value, in pixels of this or another image."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits.server.answers import of_two_files
from tachyfits.server.asked import Asked, answered
from tachyfits.server.endpoints.image import pixels_of
from tachyfits.server.errors import TooLarge
from tachyfits.server.matching import Match
from tachyfits.server.parameters import At, numbers_of
from tachyfits.server.planes import PlaneAsked
from tachyfits.server.view import View

router = APIRouter()

#: Maximum side in pixels of a plane at the default level, and maximum number of points.
_SIDE, _MOST_POINTS = 1024, 500_000

#: Maximum number of pixels of a plane for contours.
_MOST_PIXELS = 1 << 24


@router.get("/api/v1/contours", summary="Return contours")
async def contours(
    request: Request,
    at: At,
    levels: Annotated[
        str,
        Query(max_length=1000, description="Values with commas between, 50 at most.",
              examples=["1,2,4"]),
    ],
    of: PlaneAsked,
    level: Annotated[
        int | None,
        Query(ge=0, le=40, description="Zoom level of the plane; without it one of about 1024 "
              "pixels along the longer side."),
    ] = None,
    onto: Annotated[
        str | None,
        Query(max_length=4096, description="Another dataset, on whose pixels the lines are; by the "
              "coordinates of both."),
    ] = None,
    onto_hdu: Annotated[int | None, Query(ge=0, le=1_000_000, description="Its HDU.")] = None,
) -> Response:  # fmt: skip
    """Return the lines of each value as lists of x, y, x, y, ... in pixels from 1."""
    values = numbers_of(levels, "levels", most=50)

    def make(asked: Asked) -> Response:
        view = asked.view
        zoom = _level(view) if level is None else level
        if (view.width >> zoom) * (view.height >> zoom) > _MOST_PIXELS:
            raise TooLarge("the plane has too many pixels: use a higher level")
        target = asked.state.datasets.open(onto) if onto is not None else None

        def compute() -> dict[str, Any]:
            plane = pixels_of(asked, of.collapse, of.channel, of.others, zoom)
            all_lines = _lines(plane, values, zoom)
            if target is not None:
                all_lines = [_moved(lines, view, target.view(onto_hdu)) for lines in all_lines]
                target.check()
            entries = [
                {"value": value, "lines": [np.round(line, 2).reshape(-1) for line in lines]}
                for value, lines in zip(values, all_lines, strict=True)
            ]
            return {"level": zoom, "unit": plane.unit, "contours": entries}

        target_key = (target.name, target.version, onto_hdu) if target is not None else None
        key = ("contours", levels, of, zoom, target_key)
        answer = asked.json(key, compute)
        return answer if target is None else of_two_files(answer)

    return await answered(request, at, make)


def _level(view: View) -> int:
    side = max(view.width, view.height)
    return min(view.levels - 1, max(0, int(np.ceil(np.log2(side / _SIDE)))))


def _lines(plane: tf.Image, values: list[float], level: int) -> list[list[NDArray[np.float64]]]:
    from contourpy import LineType, contour_generator

    pixels = plane.read(dtype=np.float64)
    pixels = np.ma.masked_invalid(pixels.reshape(pixels.shape[-2:]))
    if min(pixels.shape) < 2:
        return [[] for _ in values]
    maker = contour_generator(z=pixels, line_type=LineType.Separate)
    result: list[list[NDArray[np.float64]]] = []
    points = 0
    for value in values:
        lines = [np.asarray(line, dtype=np.float64) for line in maker.lines(value)]
        points += sum(map(len, lines))
        if points > _MOST_POINTS:
            raise TooLarge("the contours have too many points: use a higher level or fewer values")
        # The centre of the first block is at (2^level + 1) / 2 in pixels from 1.
        result.append([line * (1 << level) + ((1 << level) + 1) / 2 for line in lines])
    return result


def _moved(lines: list[NDArray[np.float64]], view: View, target: View) -> list[NDArray[np.float64]]:
    """Convert lines to pixels of another image, and cut them where they leave its projection."""
    match = Match(view.required_sky, target.required_sky)
    if not lines:
        return []
    pixels = match.places(np.concatenate(lines))
    result = []
    for line in np.split(pixels, np.cumsum([len(line) for line in lines])[:-1]):
        finite = np.asarray(np.isfinite(line).all(axis=1))
        for run in np.split(np.arange(len(line)), np.flatnonzero(np.diff(finite)) + 1):
            if finite[run[0]] and len(run) > 1:
                result.append(line[run])
    return result
