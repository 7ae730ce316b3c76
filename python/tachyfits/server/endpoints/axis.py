"""`/api/v1/axis`: the coordinates of the channels, in any unit."""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from tachyfits.header.spectral_units import channels_of
from tachyfits.server.asked import Asked, answered
from tachyfits.server.errors import RequestError
from tachyfits.server.parameters import At, Convention, Rest, Unit, line_of

router = APIRouter()


@router.get("/api/v1/axis", summary="Return the spectral axis")
async def axis(
    request: Request, at: At, unit: Unit = None, rest: Rest = None, convention: Convention = None
) -> Response:
    """Return the coordinate and the width of each channel, in the unit of the header or another."""

    def make(asked: Asked) -> Response:
        line = line_of(unit, rest, convention)

        def compute() -> dict[str, Any]:
            cube = asked.view.cube
            if cube.ndim < 3:
                raise RequestError("the image has no spectral axis")
            number = cube.ndim - 3
            found = channels_of(cube._coordinates, number, (0, cube.shape[number], 1), line)
            return {
                "name": found.name, "unit": found.unit, "note": found.note,
                "values": found.values, "widths": np.asarray(found.widths),
            }  # fmt: skip

        return asked.json(("axis", unit, rest, convention), compute)

    return await answered(request, at, make)
