"""`/api/v1/vectors`: directions of linear polarisation over an image."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from tachyfits.server.asked import Asked, answered
from tachyfits.server.parameters import At, Channels, Others
from tachyfits.server.planes import Collapse
from tachyfits.server.polarisation import INTENSITY, vectors_of

router = APIRouter()


@router.get("/api/v1/vectors", summary="Return vectors of polarisation")
async def vectors(
    request: Request,
    at: At,
    step: Annotated[
        int, Query(ge=1, le=10_000, description="Pixels along each side of a block.")
    ] = 8,
    channels: Channels = None,
    others: Others = None,
    least: Annotated[
        float | None,
        Query(ge=0, allow_inf_nan=False, description="The least intensity of a vector."),
    ] = None,
) -> Response:
    """Return one vector per block of pixels, from the means of Stokes Q and U in the block.

    ``x`` and ``y`` are the centre of the block (pixels from 1), ``dx`` and ``dy`` the direction in
    pixels. ``angle`` is from north through east in degrees, ``intensity`` is sqrt(Q² + U²) without
    a correction for noise bias.
    """

    def make(asked: Asked) -> Response:
        collapse = Collapse(INTENSITY, channels, others)
        key = ("vectors", collapse, step, least)
        return asked.json(key, lambda: asdict(vectors_of(asked, collapse, step, least)))

    return await answered(request, at, make)
