"""`/api/v1/spectrum`: each channel of a cube as one number, over a region or at a pixel."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request, Response

import tachyfits as tf
from tachyfits.server.asked import Asked, answered
from tachyfits.server.parameters import (
    REGION_BODY,
    At,
    Channels,
    Convention,
    Others,
    Pol,
    Region,
    Rest,
    Statistic,
    Unit,
    line_of,
)
from tachyfits.server.sidecars.spectra import suits_copy

router = APIRouter()


@dataclass(frozen=True)
class _Pixels:
    """The parameters of which pixels a spectrum is of."""

    region: str | None
    channels: str | None
    others: str | None
    pol: str | None


async def _pixels(
    region: Region, channels: Channels = None, others: Others = None, pol: Pol = None
) -> _Pixels:
    return _Pixels(region, channels, others, pol)


@dataclass(frozen=True)
class _Values:
    """The parameters of its numbers, and of its coordinates."""

    statistic: str
    unit: str | None
    rest: str | None
    convention: str | None
    weights: str | None


async def _values(
    statistic: Statistic = "mean",
    unit: Unit = None,
    rest: Rest = None,
    convention: Convention = None,
    weights: Annotated[
        str | None,
        Query(pattern="^exact$", description="exact: pixels count by their share in the region."),
    ] = None,
) -> _Values:
    return _Values(statistic, unit, rest, convention, weights)


@router.post(
    "/api/v1/spectrum", summary="Return the spectrum of a large region", openapi_extra=REGION_BODY
)
@router.get("/api/v1/spectrum", summary="Return the spectrum of a region")
async def spectrum(
    request: Request,
    at: At,
    pixels: Annotated[_Pixels, Depends(_pixels)],
    values: Annotated[_Values, Depends(_values)],
    answer_format: Annotated[
        str,
        Query(alias="format", pattern="^(json|binary)$",
              description="json; or binary: float64 of the values, little-endian."),
    ] = "json",
) -> Response:  # fmt: skip
    """Return one number a channel, computed from the original pixels in one pass."""

    def make(asked: Asked) -> Response:
        view = asked.view
        line = line_of(None, values.rest, values.convention)

        def compute() -> tf.Spectrum:
            chosen = view.region(pixels.region)
            words = {"region": chosen, "channels": pixels.channels, "pol": pixels.pol}
            selection = view.selection(words, others=pixels.others, line=line)
            # An error of the request says nothing about the copy of the cube.
            selection.resolve(view.cube)

            def of(cube: tf.Image) -> tf.Spectrum:
                found = cube._selected(selection).spectrum(**asdict(values))
                assert isinstance(found, tf.Spectrum)
                return found

            copies = asked.state.sidecars
            if copies.enabled and chosen is not None and suits_copy(view, chosen):
                found = copies.spectra(asked.file, view, of)
                if found is not None:
                    return found
            return of(view.cube)

        key = ("spectrum", pixels, values)
        if answer_format == "binary":
            body = asked.kept((*key, "binary"), lambda: _binary(compute()), len)
            return Response(body, headers=asked.caching, media_type="application/octet-stream")
        return asked.json(key, lambda: _described(compute()))

    return await answered(request, at, make)


def _binary(found: tf.Spectrum) -> bytes:
    return found.values.astype("<f8").tobytes()


def _described(found: tf.Spectrum) -> dict[str, Any]:
    return {
        "statistic": found.statistic,
        "unit": found.unit,
        "values": np.asarray(found.values),
        "axis": {
            "name": found.axis.name,
            "unit": found.axis.unit,
            "values": np.asarray(found.axis.values),
        },
    }
