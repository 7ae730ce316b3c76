"""`/api/v1/statistics`, `/histogram`, `/percentiles` and `/limits`: numbers of many pixels."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response

import tachyfits as tf
from tachyfits.plot import limits_of
from tachyfits.server.asked import Asked, answered
from tachyfits.server.errors import RequestError
from tachyfits.server.parameters import At, Channels, OneChannel, Others, Region, numbers_of
from tachyfits.server.planes import Collapse, CollapseAsked, image_of
from tachyfits.server.selection import planes_section, region_of

router = APIRouter()

#: Pixels that zscale and limits by percentile look at.
_SAMPLE = 1 << 20


def _pixels(
    asked: Asked,
    collapse: Collapse | None,
    channel: int | None,
    channels: str | None,
    others: str | None,
) -> tuple[tf.Image, tuple[Any, ...]]:
    """Return an image, and NumPy's index of the pixels in it."""  # fmt: skip
    if collapse is not None:
        return image_of(collapse.plane(asked)), ()
    return asked.view.cube, planes_section(asked.view, channel, channels, others)


@router.get("/api/v1/statistics", summary="Return statistics of pixels")
async def statistics(
    request: Request,
    at: At,
    collapse: CollapseAsked,
    region: Region = None,
    channel: OneChannel = None,
    channels: Channels = None,
    others: Others = None,
) -> Response:
    """Return count, sum, mean, rms, std and extremes of a plane, of channels, or of the cube."""

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, Any]:
            image, section = _pixels(asked, collapse, channel, channels, others)
            found = image.stats(section, region_of(region), progress=asked.progress)
            starts = [part.indices(n)[0] for part, n in zip(section, image.shape, strict=False)]
            starts += [0] * (image.ndim - len(starts))
            return {
                "count": found.count,
                "undefined": found.nan,
                "unit": image.unit,
                **{name: getattr(found, name) for name in ("sum", "mean", "rms", "std")},
                **{name: getattr(found, name) for name in ("min", "max")},
                "min_position": _fits_position(found.min_position, starts),
                "max_position": _fits_position(found.max_position, starts),
            }

        return asked.json(("statistics", collapse, region, channel, channels, others), compute)

    return await answered(request, at, make)


def _fits_position(position: tuple[int, ...] | None, starts: list[int]) -> list[int] | None:
    """Return an index within a section as pixels from 1, x first."""
    if position is None:
        return None
    return [at + start + 1 for at, start in zip(position, starts, strict=True)][::-1]


@router.get("/api/v1/histogram", summary="Return a histogram of pixels")
async def histogram(
    request: Request,
    at: At,
    collapse: CollapseAsked,
    region: Region = None,
    channel: OneChannel = None,
    channels: Channels = None,
    others: Others = None,
    bins: Annotated[int | None, Query(ge=1, le=100_000, description="Number of bins.")] = None,
    low: Annotated[
        float | None, Query(allow_inf_nan=False, description="Lower end; without it the minimum.")
    ] = None,
    high: Annotated[
        float | None, Query(allow_inf_nan=False, description="Upper end; without it the maximum.")
    ] = None,
) -> Response:
    """Count pixels in bins of equal width from ``low`` to ``high``, both ends inside."""
    if (low is None) != (high is None):
        raise RequestError("give both low and high, or neither")

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, Any]:
            image, section = _pixels(asked, collapse, channel, channels, others)
            ends = None if low is None or high is None else (low, high)
            found = image.histogram(
                bins, ends, section=section, region=region_of(region), progress=asked.progress
            )
            edges = found.edges
            return {
                "low": edges[0], "high": edges[-1], "counts": found.counts, "below": found.below,
                "above": found.above, "undefined": found.nan, "unit": image.unit,
            }  # fmt: skip

        key = ("histogram", collapse, region, channel, channels, others, bins, low, high)
        return asked.json(key, compute)

    return await answered(request, at, make)


@router.get("/api/v1/percentiles", summary="Return exact percentiles of pixels")
async def percentiles(
    request: Request,
    at: At,
    collapse: CollapseAsked,
    q: Annotated[
        str,
        Query(max_length=1000, description="Percentages with commas between.", examples=["1,99"]),
    ] = "1,50,99",
    region: Region = None,
    channel: OneChannel = None,
    channels: Channels = None,
    others: Others = None,
) -> Response:
    """Return exact percentiles of the defined pixels, interpolated as in NumPy."""
    percents = numbers_of(q, "q", most=100)

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, Any]:
            image, section = _pixels(asked, collapse, channel, channels, others)
            values = image.percentile(
                percents, section=section, region=region_of(region), progress=asked.progress
            )
            return {"percentiles": percents, "values": np.asarray(values), "unit": image.unit}

        key = ("percentiles", collapse, q, region, channel, channels, others)
        return asked.json(key, compute)

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
    """Return the values of the first and the last colour of a plane.

    They are those of at most 2^20 pixels, at equal steps along x and y.
    """

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, float]:
            image, section = _pixels(asked, collapse, channel or 1, None, others)
            step = max(1, int(np.ceil(np.sqrt(image.shape[-1] * image.shape[-2] / _SAMPLE))))
            index = (*section, *(slice(None),) * (image.ndim - 2 - len(section)))
            values = image.read((*index, slice(None, None, step), slice(None, None, step)))
            plane = np.asarray(values, dtype=np.float64).reshape(values.shape[-2:])
            low, high = limits_of(plane, method)
            return {"low": low, "high": high}

        return asked.json(("limits", collapse, method, channel, others), compute)

    return await answered(request, at, make)
