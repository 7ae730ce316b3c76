"""`/api/v1/noise`: the noise of line-free channels or a plane, by the median deviation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from tachyfits.image import image_of_pixels
from tachyfits.server.asked import Asked, answered
from tachyfits.server.errors import RequestError
from tachyfits.server.parameters import At, Channels, OneChannel, Others
from tachyfits.server.planes import Collapse, CollapseAsked

router = APIRouter()

#: Ratio of the standard deviation of Gaussian noise to its median absolute deviation.
_DEVIATION = 1.482602218505602

#: Approximate maximum number of sampled pixels.
_SAMPLE = 1 << 20


@router.get("/api/v1/noise", summary="Return the noise of channels or of a plane")
async def noise(
    request: Request,
    at: At,
    collapse: CollapseAsked,
    channel: OneChannel = None,
    channels: Channels = None,
    others: Others = None,
) -> Response:
    """Return the noise, 1.4826 times the median absolute deviation, and the median.

    Lines and sources in less than half of the pixels hardly affect it. A large cube is sampled at
    equal steps along x and y (``step``).
    """

    def make(asked: Asked) -> Response:
        key = ("noise", collapse, channel, channels, others)
        return asked.json(key, lambda: _noise(asked, collapse, channel, channels, others))

    return await answered(request, at, make)


def _noise(
    asked: Asked, collapse: Collapse | None, channel: int | None, channels: str | None,
    others: str | None,
) -> dict[str, Any]:  # fmt: skip
    view = asked.view
    if collapse is not None:
        step = _step(view.width * view.height)
        image = image_of_pixels(np.ascontiguousarray(collapse.sample(asked, step)), [], "the map")
        unit = collapse.pixel(asked, 0, 0)[1]
    else:
        step = _step(view.width * view.height * (view.channels if channel is None else 1))
        selection = view.selection({"channels": channels}, channel=channel, others=others)
        every = slice(None, None, step)
        section = (*selection.section, every, every) if view.cube.ndim > 2 else (every, every)
        image, unit = view.cube.select(replace(selection, section=section)), view.cube.unit
    progress = asked.progress
    level, deviation = float(image.median(progress=progress)), float(image.mad(progress=progress))
    if not deviation > 0:
        raise RequestError("the pixels do not vary: they have no noise\nhint: give other channels")
    return {"noise": _DEVIATION * deviation, "level": level, "step": step, "unit": unit}


def _step(pixels: int) -> int:
    return max(1, int(np.ceil(np.sqrt(pixels / _SAMPLE))))
