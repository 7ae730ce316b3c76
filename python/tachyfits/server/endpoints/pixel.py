"""`/api/v1/pixel`: the value of a pixel, and where it is in the world."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response

from tachyfits.base import foreign_errors, usage
from tachyfits.server.answers import json_answer
from tachyfits.server.asked import Asked, answered
from tachyfits.server.parameters import At, Channel, Others, others_of
from tachyfits.server.planes import CollapseAsked
from tachyfits.server.view import View

router = APIRouter()


@router.get("/api/v1/pixel", summary="Return the value and the place of a pixel")
async def pixel(
    request: Request,
    at: At,
    collapse: CollapseAsked,
    x: Annotated[int, Query(ge=1, le=2**53, description="Pixel along x, from 1.")],
    y: Annotated[int, Query(ge=1, le=2**53, description="Pixel along y, from 1.")],
    channel: Channel = 1,
    others: Others = None,
) -> Response:
    """Return the value of a pixel, and its position on the sky and along the spectral axis.

    Of channels collapsed to a plane it is that of the plane, without a spectral position.
    """

    def make(asked: Asked) -> Response:
        found = _described(asked.view, x, y, channel, others_of(others))
        if collapse is not None:
            value, unit = collapse.pixel(asked, x - 1, y - 1)
            found |= {"value": value, "unit": unit}
            found.pop("spectral", None)
        asked.file.check()
        return json_answer(found, asked.caching)

    return await answered(request, at, make)


def _described(view: View, x: int, y: int, channel: int, others: tuple[int, ...]) -> dict[str, Any]:
    if x > view.width or y > view.height:
        raise usage(
            f"invalid pixel ({x}, {y}): expected 1 to {view.width} and 1 to {view.height}",
            "choose one of these",
        )
    section = view.section(channel, others)
    index = (*(part.start for part in section), y - 1, x - 1)
    found: dict[str, Any] = {
        "x": x, "y": y, "channel": channel, "value": view.cube[index], "unit": view.image.unit,
    }  # fmt: skip
    if view.sky is not None:
        with foreign_errors("the pixel has no position", "correct the coordinates of the file"):
            position = view.sky.positions(x - 1, y - 1)
        places = {"longitude": position.spherical.lon.deg, "latitude": position.spherical.lat.deg}
        # A pixel beyond the edge of an all-sky map has no place on the sky.
        if np.isfinite(list(places.values())).all():
            found["sky"] = {"frame": position.frame.name} | places
    axis = view.spectral(channel)
    if axis is not None:
        found["spectral"] = {"name": axis.name, "unit": axis.unit, "value": axis.values[0]}
    return found
