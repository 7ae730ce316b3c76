"""`/api/v1/image`: a channel, or a range of channels collapsed, as one plane."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Request, Response

import tachyfits as tf
from tachyfits.server.answers import Encoded, encoded, tile_answer
from tachyfits.server.asked import Asked, answered
from tachyfits.server.errors import TooLarge
from tachyfits.server.fits_answer import FitsAnswer
from tachyfits.server.parameters import At, Channel, LargestError, Level, Others, others_of
from tachyfits.server.part_file import PartFile
from tachyfits.server.planes import Collapse, CollapseAsked, image_of
from tachyfits.server.view import View

router = APIRouter()

#: Most pixels of a plane that is sent as one answer.
_MOST_PIXELS = 1 << 24


@router.get(
    "/api/v1/image",
    summary="Return a plane",
    response_class=Response,
    responses={
        200: {
            "content": {"application/octet-stream": {}, "application/fits": {}},
            "description": "The pixels as of a tile, or a FITS file.",
        }
    },
)
async def image(
    request: Request,
    at: At,
    collapse: CollapseAsked,
    channel: Channel = 1,
    others: Others = None,
    level: Level = 0,
    error: LargestError = None,
    answer_format: Annotated[
        str,
        Query(alias="format", pattern="^(tile|fits)$", description="tile: as of /api/v1/tile."),
    ] = "tile",
) -> Response:
    """Return a channel, or channels collapsed to a plane: all of it, at a zoom level.

    A FITS file of a collapsed plane is float64, with the coordinates of the sky and HISTORY.
    """

    def make(asked: Asked) -> Response:
        view = asked.view
        if (view.width >> level) * (view.height >> level) > _MOST_PIXELS:
            raise TooLarge("the plane has too many pixels: use a higher level, or tiles")
        plane = plane_of(asked, collapse, channel, others)
        if answer_format == "fits":
            part = PartFile(binned(plane, view, level))
            name = f"{PurePosixPath(asked.file.name).name.partition('.')[0]}_{_label(collapse)}"
            return FitsAnswer(request, asked.file, part, f"{name}.fits", at.version)

        def compute() -> Encoded:
            pixels = binned(plane, view, level).read(dtype=np.float32)
            return encoded(pixels.reshape(pixels.shape[-2:]), error)

        key = ("image", collapse or (channel, others), level, error)
        found = asked.kept(key, compute, lambda made: len(made.body))
        return tile_answer(request, found, asked.caching)

    return await answered(request, at, make)


def plane_of(asked: Asked, collapse: Collapse | None, channel: int, others: str | None) -> tf.Image:
    """Return a channel of a view, or its channels collapsed."""
    if collapse is not None:
        return image_of(collapse.plane(asked))
    return asked.view.cube.cut(section=asked.view.section(channel, others_of(others)))


def binned(plane: tf.Image, view: View, level: int) -> tf.Image:
    """Return a plane at a level."""
    view.check_level(level)
    if level == 0:
        return plane
    return plane.rebin((1,) * (plane.ndim - 2) + (1 << level,) * 2, partial="keep")


def _label(collapse: Collapse | None) -> str:
    return "channel" if collapse is None else collapse.statistic
