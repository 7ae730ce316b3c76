"""`/api/v1/axis`: coordinates of the channels; `/api/v1/spectral`: description of the axis."""

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
    """Return the coordinate and the width of each channel, in the header's or another unit.

    ``rest_hz`` is the rest frequency for velocities, null if it is not needed; ``frame`` is the
    reference frame, null if it is not in the header.
    """

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, Any]:
            cube = asked.view.cube
            number = spectral_number(cube)
            channels = form.channels(cube.coordinates, number, cube.shape[number])
            return {
                "name": channels.name, "unit": channels.unit, "note": channels.note,
                "rest_hz": channels.rest_hz, "frame": form.frame or frame_of(cube.coordinates),
                "values": channels.values,
                "widths": np.broadcast_to(channels.widths, channels.values.shape),
            }  # fmt: skip

        return asked.json(("axis", form), compute)

    return await answered(request, at, make)


@router.get("/api/v1/spectral", summary="Describe the spectral axis")
async def spectral(request: Request, at: At) -> Response:
    """Return the rest frequency, the redshift (ZSOURCE) and the reference frame of the header.

    ``frames`` lists the frames: ``factor`` converts frequencies in the header's frame to the other
    frame; if it is null, ``problem`` names what the header lacks.
    """

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, Any]:
            cube = asked.view.cube
            number, hidden = spectral_number(cube), asked.state.datasets.hidden
            return spectral_facts(asked.view.image, cube.coordinates, number, hidden)

        return asked.json("spectral", compute)

    return await answered(request, at, make)
