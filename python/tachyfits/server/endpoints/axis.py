"""`/api/v1/axis`: the coordinates of the channels in any form; `/api/v1/spectral`: the header's."""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from tachyfits.header import frame_of
from tachyfits.server.asked import Asked, answered
from tachyfits.server.parameters import At
from tachyfits.server.spectral_axis import AskedAxis, spectral_facts, spectral_number

router = APIRouter()


@router.get("/api/v1/axis", summary="Return the spectral axis")
async def axis(request: Request, at: At, form: AskedAxis) -> Response:
    """Return the coordinate and the width of each channel, in the unit of the header or another.

    ``rest_hz`` is the frequency about which velocities are counted, null if they need none;
    ``frame`` is the reference frame, null if the header does not name it.
    """

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, Any]:
            cube = asked.view.cube
            number = spectral_number(cube)
            found = form.channels(cube.coordinates, number, cube.shape[number])
            return {
                "name": found.name, "unit": found.unit, "note": found.note,
                "rest_hz": found.rest_hz, "frame": form.frame or frame_of(cube.coordinates),
                "values": found.values, "widths": np.broadcast_to(found.widths, found.values.shape),
            }  # fmt: skip

        return asked.json(("axis", form), compute)

    return await answered(request, at, make)


@router.get("/api/v1/spectral", summary="Describe the spectral axis")
async def spectral(request: Request, at: At) -> Response:
    """Return the rest frequency, the redshift (ZSOURCE) and the reference frame of the header.

    ``frames`` lists the frames: ``factor`` is the frequency there of a signal of 1 in the frame
    of the header; where it is null, ``problem`` says what the header lacks.
    """

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, Any]:
            cube = asked.view.cube
            number, hidden = spectral_number(cube), asked.state.datasets.hidden
            return spectral_facts(asked.view.image, cube.coordinates, number, hidden)

        return asked.json("spectral", compute)

    return await answered(request, at, make)
