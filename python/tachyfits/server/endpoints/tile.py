"""`/api/v1/tile`: a part of a plane at a zoom level, as floats with a stated error."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from tachyfits.server.answers import Encoded, caching, encoded, unchanged
from tachyfits.server.errors import RequestError
from tachyfits.server.parameters import Channel, Hdu, Id, Others, Version, ViewName, others_of
from tachyfits.server.state import State

router = APIRouter()


@router.get("/api/v1/tile", summary="Return a tile of a plane", response_class=Response)
async def tile(
    request: Request,
    name: Id,
    level: Annotated[int, Query(ge=0, le=40, description="Zoom level: 0 has the pixels.")],
    x: Annotated[int, Query(ge=0, le=2**31, description="Tile along x, from 0 at the left.")],
    y: Annotated[int, Query(ge=0, le=2**31, description="Tile along y, from 0 at the lower end.")],
    hdu: Hdu = None,
    channel: Channel = 1,
    others: Others = None,
    error: Annotated[
        float | None,
        Query(ge=0, description="Largest error, 0 for exact float32; default: noise / 20."),
    ] = None,
    preview: Annotated[
        bool, Query(description="One pixel of each block instead of its mean: fewer bytes read.")
    ] = False,
    version: Version = None,
    view_name: ViewName = None,
) -> Response:
    """Return up to 256 x 256 means of 2^level x 2^level pixels, rows from the lowest.

    The body is four planes of bytes, the lowest byte first, compressed by zstd. If ``Tile-Step`` is
    0, they are float32. Else they are 32-bit integers: differences along each row of q, and a pixel
    is Tile-Zero + q * Tile-Step, NaN for q = -2^31. It differs from the
    pixel as float32 by at most ``Tile-Error``.
    """
    if error is not None and not math.isfinite(error):
        raise RequestError(f"invalid error {error}: expected a number")
    state = State.of(request)

    def call() -> Response:
        file = state.datasets.open(name)
        if (answer := unchanged(request, file, version)) is not None:
            return answer
        view = file.view(hdu)

        def make() -> Encoded:
            plane = view.cube.cut(section=view.section(channel, others_of(others)))
            pixels = view.tile(plane, level, x, y, preview=preview)
            file.check()
            return encoded(pixels, error)

        where = (view.image.index, channel, others, level, x, y, error, preview)
        key = ("tile", name, file.version, *where)
        found = state.cache.get(key, make, lambda made: len(made.body))
        return Response(
            found.body,
            headers=found.headers() | caching(request, file, version),
            media_type="application/octet-stream",
        )

    return await state.workers.run(request, call, view=view_name)
