"""`/api/v1/image`: a channel, or a collapsed range of channels, as one plane."""

from __future__ import annotations

import numpy as np
from fastapi import APIRouter, Request, Response

import tachyfits as tf
from tachyfits.server.answers import Encoded, encoded, tile_answer
from tachyfits.server.asked import Asked, answered
from tachyfits.server.errors import TooLarge
from tachyfits.server.fits_answer import TILE_OR_FITS, AnswerFormat, fits_answer
from tachyfits.server.parameters import At, Channel, LargestError, Level, Others, others_of
from tachyfits.server.planes import MOST_PIXELS, Collapse, CollapseAsked, binned

router = APIRouter()


@router.head("/api/v1/image", include_in_schema=False)
@router.get(
    "/api/v1/image",
    summary="Return a plane",
    response_class=Response,
    responses=TILE_OR_FITS,
)
async def image(
    request: Request,
    at: At,
    collapse: CollapseAsked,
    channel: Channel = 1,
    others: Others = None,
    level: Level = 0,
    error: LargestError = None,
    answer_format: AnswerFormat = "tile",
) -> Response:
    """Return a whole plane at a zoom level: a channel, or collapsed channels.

    A FITS file of a collapsed plane is float64, with sky coordinates and HISTORY.
    """

    def make(asked: Asked) -> Response:
        view = asked.view
        if (view.width >> level) * (view.height >> level) > MOST_PIXELS and answer_format == "tile":
            raise TooLarge("the plane has too many pixels: use a higher level, or tiles")
        if answer_format == "fits":
            view.check_placed()
            plane = plane_of(asked, collapse, channel, others, level)
            return fits_answer(asked, plane, _label(collapse))

        def compute() -> Encoded:
            pixels = pixels_of(asked, collapse, channel, others, level).read(dtype=np.float32)
            return encoded(pixels.reshape(pixels.shape[-2:]), error)

        key = ("image", collapse or (channel, others), level, error)
        plane_tile = asked.kept(key, compute, lambda encoded_tile: len(encoded_tile.body))
        return tile_answer(request, plane_tile, asked.caching)

    return await answered(request, at, make)


def plane_of(
    asked: Asked, collapse: Collapse | None, channel: int, others: str | None, level: int
) -> tf.Image:
    """Return a channel of a view, or its collapsed channels, at a zoom level.

    Raises
    ------
    UsageError
        The coordinates cannot be binned.
    """
    if collapse is not None:
        return collapse.level(asked, level)
    view = asked.view
    plane = view.cube.cutout(section=view.section(channel, others_of(others)))
    return binned(plane, view, level)


def pixels_of(
    asked: Asked, collapse: Collapse | None, channel: int, others: str | None, level: int
) -> tf.Image:
    """Return the same plane for display; a channel has no coordinates."""
    if collapse is not None:
        return collapse.level(asked, level)
    return binned(asked.view.plane(channel, others_of(others)), asked.view, level)


def _label(collapse: Collapse | None) -> str:
    return "channel" if collapse is None else collapse.statistic
