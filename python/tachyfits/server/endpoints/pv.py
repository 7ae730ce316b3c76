"""`/api/v1/pv`: a position-velocity cut."""

from __future__ import annotations

import re
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, Query, Request, Response

import tachyfits as tf
from tachyfits.image import line_points
from tachyfits.server.answers import Encoded, encoded, tile_answer
from tachyfits.server.asked import Asked, answered
from tachyfits.server.body import text_body
from tachyfits.server.errors import RequestError, TooLarge
from tachyfits.server.fits_answer import TILE_OR_FITS, AnswerFormat, fits_answer
from tachyfits.server.parameters import At, LargestError, Others, posted
from tachyfits.text import parse_points, parse_region

router = APIRouter()

#: Maximum length of a path.
_LONGEST = 20_000

#: Maximum number of samples along a path, and of pixels in a diagram.
_MOST_SAMPLES, _MOST_PIXELS = 65_536, 1 << 24


async def _path(
    request: Request,
    path: Annotated[
        str | None,
        Query(
            max_length=_LONGEST,
            description="Two or more points in pixels from 1: '10,20 30,40'; or a line: "
            "'icrs; line(10,20,9.96,20.03)'. POST takes it as the body.",
            examples=["10,20 30,40"],
        ),
    ] = None,
) -> str:
    text = await posted(request, path, "path", _LONGEST)
    if text is None:
        raise RequestError("a path is needed: two or more points, '10,20 30,40'")
    return text


Path = Annotated[str, Depends(_path)]


@router.post(
    "/api/v1/pv",
    summary="Cut along a long path",
    response_class=Response,
    responses=TILE_OR_FITS,
    openapi_extra=text_body(_LONGEST, "10,20 30,40 35,20"),
)
@router.get(
    "/api/v1/pv",
    summary="Cut along a path",
    response_class=Response,
    responses=TILE_OR_FITS,
)
async def pv(
    request: Request,
    at: At,
    path: Path,
    width: Annotated[int, Query(ge=1, le=1000, description="Pixels across to average.")] = 1,
    spacing: Annotated[
        float, Query(ge=0.01, le=1e6, description="Pixels from one sample to the next.")
    ] = 1.0,
    others: Others = None,
    error: LargestError = None,
    answer_format: AnswerFormat = "tile",
) -> Response:
    """Return a position-velocity diagram: x is the offset along the path, y the channel.

    ``Pv-Step`` is the offset between two samples, ``Pv-Unit`` its unit.
    """

    def make(asked: Asked) -> Response:
        diagram = _diagram(asked, path, width, spacing, others)
        if answer_format == "fits":
            asked.view.check_placed()
            return fits_answer(asked, diagram, "pv")

        def compute() -> Encoded:
            pixels = diagram.read(dtype=np.float32, progress=asked.progress)
            return encoded(pixels.reshape(-1, pixels.shape[-1]), error)

        key = ("pv", path, width, spacing, others, error)
        result = asked.kept(key, compute, lambda encoded_tile: len(encoded_tile.body))
        offset = diagram.world_axis(diagram.ndim - 1, slice(0, 2))
        step = float(offset.values[1] - offset.values[0]) if len(offset) > 1 else 0.0
        headers = {"Pv-Unit": offset.unit, "Pv-Step": repr(step)}
        return tile_answer(request, result, headers | asked.caching)

    return await answered(request, at, make)


def _diagram(asked: Asked, path: str, width: int, spacing: float, others: str | None) -> tf.Image:
    view = asked.view
    cube = view.cube
    if cube.ndim < 3:
        raise RequestError("the image has no spectral axis: a path needs a cube")
    if cube.ndim > 3:
        cube = cube.cutout(section=view.selection({}, others=others).section)
    if re.search("[A-Za-z]{2}", path):
        points = line_points(cube, parse_region(path))
    else:
        try:
            points = np.array(parse_points(path)) - 1.0
        except ValueError as error:
            raise RequestError(str(error)) from None
    if len(points) > 1 and not np.diff(points, axis=0).any():
        raise RequestError("invalid path: expected two different points")
    low, high = points.min(axis=0), points.max(axis=0)
    if (high < -0.5).any() or (low > np.array([view.width, view.height]) - 0.5).any():
        size = f"{view.width} x {view.height} pixels"
        raise RequestError(f"invalid path: no part of it is on the image of {size}")
    samples = np.hypot(*np.diff(points, axis=0).T).sum() / spacing
    if not samples <= _MOST_SAMPLES or samples * view.channels > _MOST_PIXELS:
        raise TooLarge("the diagram has too many pixels: use a larger spacing or a shorter path")
    return cube.pv(points, width=width, spacing=spacing)
