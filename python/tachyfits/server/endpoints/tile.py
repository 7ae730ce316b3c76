"""`/api/v1/tile`: a part of a plane at a zoom level, as floats with a stated error."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from tachyfits.server.answers import Encoded, encoded, tile_answer
from tachyfits.server.asked import Asked, answered
from tachyfits.server.parameters import At, LargestError, others_of
from tachyfits.server.planes import PlaneAsked

router = APIRouter()


@router.get("/api/v1/tile", summary="Return a tile of a plane", response_class=Response)
async def tile(
    request: Request,
    at: At,
    level: Annotated[int, Query(ge=0, le=40, description="Zoom level: 0 has the pixels.")],
    x: Annotated[int, Query(ge=0, le=2**31, description="Tile along x, from 0 at the left.")],
    y: Annotated[int, Query(ge=0, le=2**31, description="Tile along y, from 0 at the lower end.")],
    chosen: PlaneAsked,
    error: LargestError = None,
    preview: Annotated[
        bool, Query(description="One pixel of each block instead of its mean: fewer bytes read.")
    ] = False,
) -> Response:
    """Return up to 256 x 256 means of 2^level x 2^level pixels, rows from the lowest.

    The body is four planes of bytes, the lowest byte first, compressed by zstd or gzip as the
    client takes it. If ``Tile-Step`` is 0, they are float32. Else they are 32-bit integers:
    differences along each row of q, and a pixel is Tile-Zero + q * Tile-Step, NaN for q = -2^31.
    It differs from the pixel as float32 by at most ``Tile-Error``.
    """

    def make(asked: Asked) -> Response:
        view, collapse, channel = asked.view, chosen.collapse, chosen.channel

        def compute() -> Encoded:
            if collapse is not None:
                return encoded(collapse.tile(asked, level, x, y, preview=preview), error)
            where = others_of(chosen.others)
            if not preview:
                view.check_tile(level, x, y)
                sidecars = asked.state.sidecars
                kept = sidecars.tile(asked.file, view, channel, where, (level, x, y))
                if kept is not None:
                    return encoded(kept, error)
            plane = view.plane(channel, where)
            return encoded(view.tile(plane, level, x, y, preview=preview), error)

        key = ("tile", collapse or (channel, chosen.others), level, x, y, error, preview)
        found = asked.kept(key, compute, lambda made: len(made.body))
        return tile_answer(request, found, asked.caching)

    return await answered(request, at, make)
