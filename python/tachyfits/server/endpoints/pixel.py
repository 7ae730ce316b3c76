"""`/api/v1/pixel`: the value of a pixel and its world coordinates."""

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
    """Return the value of a pixel and its sky and spectral coordinates.

    For collapsed channels, it is the value of the plane, without a spectral coordinate.
    """

    def make(asked: Asked) -> Response:
        result = _described(asked.view, x, y, channel, others_of(others))
        if collapse is not None:
            value, unit = collapse.pixel(asked, x - 1, y - 1)
            result |= {"value": value, "unit": unit}
            result.pop("spectral", None)
        asked.file.check()
        return json_answer(result, asked.caching)

    return await answered(request, at, make)


def _described(view: View, x: int, y: int, channel: int, others: tuple[int, ...]) -> dict[str, Any]:
    if x > view.width or y > view.height:
        raise usage(
            f"invalid pixel ({x}, {y}): expected 1 to {view.width} and 1 to {view.height}",
            "choose one of these",
        )
    section = view.section(channel, others)
    index = (*(part.start for part in section), y - 1, x - 1)
    description: dict[str, Any] = {
        "x": x, "y": y, "channel": channel, "value": view.cube[index], "unit": view.image.unit,
    }  # fmt: skip
    if view.sky is not None:
        with foreign_errors("the pixel has no position", "correct the coordinates of the file"):
            position = view.sky.positions(x - 1, y - 1)
        angles = {"longitude": position.spherical.lon.deg, "latitude": position.spherical.lat.deg}
        # A pixel outside the projection of an all-sky map has no sky position.
        if np.isfinite(list(angles.values())).all():
            description["sky"] = {"frame": position.frame.name} | angles
    axis = view.spectral(channel)
    if axis is not None:
        description["spectral"] = {"name": axis.name, "unit": axis.unit, "value": axis.values[0]}
    return description
