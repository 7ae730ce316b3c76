"""`/api/v1/spectrum`: each channel of a cube as one number, over a region or at a pixel."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response

import tachyfits as tf
from tachyfits.server.answers import caching, json_answer, unchanged
from tachyfits.server.parameters import (
    Hdu,
    Id,
    Others,
    Region,
    Statistic,
    Unit,
    Version,
    ViewName,
    others_of,
)
from tachyfits.server.state import State
from tachyfits.server.view import View
from tachyfits.text.region_text import parse_region

router = APIRouter()


@router.get("/api/v1/spectrum", summary="Return the spectrum of a region")
async def spectrum(
    request: Request,
    name: Id,
    region: Region = None,
    statistic: Statistic = "mean",
    unit: Unit = None,
    hdu: Hdu = None,
    others: Others = None,
    answer_format: Annotated[
        str,
        Query(alias="format", pattern="^(json|binary)$",
              description="json; or binary: float64 of the values, little-endian."),
    ] = "json",
    version: Version = None,
    view_name: ViewName = None,
) -> Response:  # fmt: skip
    """Return one number a channel, computed from the original pixels in one pass."""
    state = State.of(request)

    def call() -> Response:
        file = state.datasets.open(name)
        if (answer := unchanged(request, file, version)) is not None:
            return answer
        view = file.view(hdu)
        key = ("spectrum", name, file.version, view.image.index, region, statistic, unit, others)

        def make() -> tf.Spectrum:
            found = _spectrum(view, region, statistic, unit, others)
            file.check()
            return found

        found = state.cache.get(key, make, lambda made: 2 * made.values.nbytes)
        headers = caching(request, file, version)
        if answer_format == "binary":
            body = found.values.astype("<f8").tobytes()
            return Response(body, headers=headers, media_type="application/octet-stream")
        return json_answer(_described(found), headers)

    return await state.workers.run(request, call, view=view_name)


def _spectrum(
    view: View, region: str | None, statistic: str, unit: str | None, others: str | None
) -> tf.Spectrum:
    chosen = parse_region(region) if region is not None else None
    section = None
    if view.cube.ndim > 3:
        section = (*view.section(1, others_of(others))[:-1], slice(None), slice(None), slice(None))
    return view.cube.spectrum(chosen, statistic=statistic, unit=unit, section=section)


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
