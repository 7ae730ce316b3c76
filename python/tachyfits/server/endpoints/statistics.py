"""`/api/v1/statistics`, `/histogram`, `/percentiles` and `/limits`: summaries of pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request, Response

import tachyfits as tf
from tachyfits.image import choice_of, slices_of
from tachyfits.plot import limits_of
from tachyfits.server.asked import Asked, answered
from tachyfits.server.errors import RequestError
from tachyfits.server.parameters import (
    REGION_BODY,
    At,
    Channels,
    OneChannel,
    Others,
    Region,
    numbers_of,
    others_of,
)
from tachyfits.server.planes import Collapse, CollapseAsked
from tachyfits.text import STANDARD_STATISTICS, UNITLESS, fits_position

router = APIRouter()

#: Statistics in the unit of the pixels.
_OF_PIXELS = tuple(name for name in STANDARD_STATISTICS if name not in UNITLESS)

#: Maximum number of pixels to compute limits by zscale or percentile.
_SAMPLE = 1 << 20


@dataclass(frozen=True)
class _Chosen:
    """Parameters that select pixels; also part of the cache key."""

    collapse: Collapse | None
    region: str | None
    channel: int | None
    channels: str | None
    others: str | None

    def pixels(self, asked: Asked) -> tuple[tf.Image, tuple[int, int]]:
        """Return the selected pixels, and the NumPy index of the first one in the plane."""
        if self.collapse is not None:
            part = self.collapse.part(asked, self.region)
            return part.image.select(part.region), part.corner
        view = asked.view
        words = {"region": view.region(self.region), "channels": self.channels}
        selection = view.selection(words, channel=self.channel, others=self.others)
        return view.cube.select(selection), (0, 0)


async def _chosen(
    collapse: CollapseAsked,
    region: Region,
    channel: OneChannel = None,
    channels: Channels = None,
    others: Others = None,
) -> _Chosen:
    return _Chosen(collapse, region, channel, channels, others)


Chosen = Annotated[_Chosen, Depends(_chosen)]


@router.post(
    "/api/v1/statistics", summary="Return statistics of a large region", openapi_extra=REGION_BODY
)
@router.get("/api/v1/statistics", summary="Return statistics of pixels")
async def statistics(
    request: Request,
    at: At,
    selection: Chosen,
) -> Response:
    """Return count, sum, mean, rms, std and extremes of a plane, channels, or the cube."""

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, Any]:
            image, (top, left) = selection.pixels(asked)
            stats = image.stats(progress=asked.progress)
            assert isinstance(stats, tf.Stats)
            choice = choice_of(image)
            section = slices_of(choice.section)

            def position(index: tuple[int, ...] | None) -> list[int] | None:
                within = fits_position(index, section, choice.image.shape)
                return within and [within[0] + left, within[1] + top, *within[2:]]

            return {
                "count": stats.count,
                "undefined": stats.nan,
                "unit": choice.image.unit,
                **{name: getattr(stats, name) for name in _OF_PIXELS},
                "min_position": position(stats.min_position),
                "max_position": position(stats.max_position),
            }

        return asked.json(("statistics", selection), compute)

    return await answered(request, at, make)


@router.post(
    "/api/v1/histogram", summary="Return a histogram of a large region", openapi_extra=REGION_BODY
)
@router.get("/api/v1/histogram", summary="Return a histogram of pixels")
async def histogram(
    request: Request,
    at: At,
    selection: Chosen,
    bins: Annotated[int | None, Query(ge=1, le=100_000, description="Number of bins.")] = None,
    low: Annotated[
        float | None, Query(allow_inf_nan=False, description="Lower end; without it the minimum.")
    ] = None,
    high: Annotated[
        float | None, Query(allow_inf_nan=False, description="Upper end; without it the maximum.")
    ] = None,
) -> Response:
    """Count pixels in bins of equal width from ``low`` to ``high``, both ends included."""
    if (low is None) != (high is None):
        raise RequestError("give both low and high, or neither")

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, Any]:
            image, _ = selection.pixels(asked)
            ends = None if low is None or high is None else (low, high)
            result = image.histogram(bins, ends, progress=asked.progress)
            edges = result.edges
            return {
                "low": edges[0], "high": edges[-1], "counts": result.counts, "below": result.below,
                "above": result.above, "undefined": result.nan,
                "unit": choice_of(image).image.unit,
            }  # fmt: skip

        return asked.json(("histogram", selection, bins, low, high), compute)

    return await answered(request, at, make)


@router.post(
    "/api/v1/percentiles", summary="Return percentiles of a large region", openapi_extra=REGION_BODY
)
@router.get("/api/v1/percentiles", summary="Return exact percentiles of pixels")
async def percentiles(
    request: Request,
    at: At,
    selection: Chosen,
    q: Annotated[
        str,
        Query(max_length=1000, description="Percentages with commas between.", examples=["1,99"]),
    ] = "1,50,99",
) -> Response:
    """Return exact percentiles of the defined pixels, interpolated as in NumPy."""
    percents = numbers_of(q, "q", most=100)

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, Any]:
            image, _ = selection.pixels(asked)
            values = image.percentile(percents, progress=asked.progress)
            unit = choice_of(image).image.unit
            return {"percentiles": percents, "values": np.asarray(values), "unit": unit}

        return asked.json(("percentiles", selection, q), compute)

    return await answered(request, at, make)


@router.get("/api/v1/limits", summary="Return limits of a colour map")
async def limits(
    request: Request,
    at: At,
    collapse: CollapseAsked,
    method: Annotated[
        str,
        Query(
            pattern=r"^(zscale|minmax|percentile\d{0,3}(\.\d{1,6})?)$",
            description="zscale, minmax, or percentile99.5: that one and as much below.",
        ),
    ] = "zscale",
    channel: OneChannel = None,
    others: Others = None,
) -> Response:
    """Return the values for the first and the last colour of a plane.

    They are computed from at most 2^20 pixels, at equal steps along x and y.
    """

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, float]:
            view = asked.view
            step = max(1, int(np.ceil(np.sqrt(view.width * view.height / _SAMPLE))))
            if collapse is not None:
                plane = collapse.sample(asked, step)
            else:
                every = slice(None, None, step)
                index = (*view.section(channel or 1, others_of(others)), every, every)
                values = view.cube.read(index)
                plane = np.asarray(values, dtype=np.float64).reshape(values.shape[-2:])
            low, high = limits_of(plane, method)
            return {"low": low, "high": high}

        return asked.json(("limits", collapse, method, channel, others), compute)

    return await answered(request, at, make)
