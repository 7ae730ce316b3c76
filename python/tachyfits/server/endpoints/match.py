"""`/api/v1/match`: positions and regions of an image in pixels of another, through the sky."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response

from tachyfits.server.answers import of_two_files
from tachyfits.server.asked import Asked, answered
from tachyfits.server.errors import RequestError
from tachyfits.server.matching import Match
from tachyfits.server.parameters import REGION_BODY, At, Region, numbers_of
from tachyfits.server.region_shapes import text_of

router = APIRouter()


@router.post(
    "/api/v1/match",
    summary="Match a place and a large region with another image",
    openapi_extra=REGION_BODY,
)
@router.get("/api/v1/match", summary="Match a place and a region with another image")
async def match(
    request: Request,
    at: At,
    region: Region,
    onto: Annotated[str, Query(min_length=1, max_length=4096, description="The other dataset.")],
    onto_hdu: Annotated[int | None, Query(ge=0, le=1_000_000, description="Its HDU.")] = None,
    point: Annotated[
        str | None,
        Query(max_length=100, description="A place in pixels from 1: 'x,y'.", examples=["20,30.5"]),
    ] = None,
) -> Response:
    """Convert a position and a region to pixels of another image, through the sky.

    ``x`` and ``y`` are the position. ``matrix``, by rows, is the local linear transformation: its
    columns are the images of a step of one pixel along x and along y. ``region`` is in pixels,
    converted by the scale and the angle of the sky at its centre. Values are null outside the
    projection of the other image, and without ``point`` or ``region``.
    """
    position = None if point is None else numbers_of(point, "point", most=2)
    if position is not None and len(position) != 2:
        raise RequestError(f"invalid point {point!r}: expected x and y with a comma between")

    def make(asked: Asked) -> Response:
        target = asked.state.datasets.open(onto)

        def compute() -> dict[str, Any]:
            match = Match(asked.view.required_sky, target.view(onto_hdu).required_sky)
            transform = None if position is None else match.linear(*position)
            shape = None if region is None else match.region(region)
            target.check()
            centre, matrix = transform or ((None, None), None)
            return {
                "x": centre[0], "y": centre[1],
                "matrix": None if matrix is None else np.asarray(matrix),
                "region": None if shape is None else text_of(shape),
            }  # fmt: skip

        answer = asked.json(
            ("match", target.name, target.version, onto_hdu, point, region), compute
        )
        return of_two_files(answer)

    return await answered(request, at, make)
