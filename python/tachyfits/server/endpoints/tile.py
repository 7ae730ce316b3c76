"""`/api/v1/tile`: a part of a plane at a zoom level, as floats with a known error."""

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
    plane_parameters: PlaneAsked,
    error: LargestError = None,
    preview: Annotated[
        bool, Query(description="One pixel of each block instead of its mean: fewer bytes read.")
    ] = False,
) -> Response:
    """Return up to 256 x 256 means of blocks of 2^level x 2^level pixels, lowest row first.

    The body is four planes of bytes, the lowest byte first, compressed by zstd or gzip if the
    client accepts it. If ``Tile-Step`` is 0, the values are float32. Else they are 32-bit integers:
    the differences along each row of q. A pixel is Tile-Zero + q * Tile-Step, NaN for q = -2^31; it
    differs from the exact float32 value by at most ``Tile-Error``.
    """

    def make(asked: Asked) -> Response:
        view, collapse, channel = asked.view, plane_parameters.collapse, plane_parameters.channel

        def compute() -> Encoded:
            if collapse is not None:
                return encoded(collapse.tile(asked, level, x, y, preview=preview), error)
            outer_pixels = others_of(plane_parameters.others)
            if not preview:
                view.check_tile(level, x, y)
                sidecars = asked.state.sidecars
                stored = sidecars.tile(asked.file, view, channel, outer_pixels, (level, x, y))
                if stored is not None:
                    return encoded(stored, error)
            plane = view.plane(channel, outer_pixels)
            return encoded(view.tile(plane, level, x, y, preview=preview), error)

        key = ("tile", collapse or (channel, plane_parameters.others), level, x, y, error, preview)
        result = asked.kept(key, compute, lambda encoded_tile: len(encoded_tile.body))
        return tile_answer(request, result, asked.caching)

    return await answered(request, at, make)
