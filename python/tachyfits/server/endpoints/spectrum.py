"""`/api/v1/spectrum`: one number per channel of a cube, over a region or at a pixel."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response

import tachyfits as tf
from tachyfits.server.answers import of_two_files
from tachyfits.server.asked import Asked, answered
from tachyfits.server.errors import RequestError
from tachyfits.server.fits_answer import FitsAnswer, disposition
from tachyfits.server.matching import DrawnOn, region_of
from tachyfits.server.parameters import REGION_BODY, At
from tachyfits.server.spectrum_form import AskedPixels, ShownSpectrum, spectrum_of
from tachyfits.writing import FileBytes

router = APIRouter()

#: Media types of answers, for OpenAPI.
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "application/json": {}, "application/octet-stream": {}, "text/csv": {},
            "application/fits": {},
        },
        "description": "The spectrum.",
    }
}  # fmt: skip


@router.post(
    "/api/v1/spectrum",
    summary="Return the spectrum of a large region",
    openapi_extra=REGION_BODY,
    responses=_ANSWERS,
)
@router.get("/api/v1/spectrum", summary="Return the spectrum of a region", responses=_ANSWERS)
async def spectrum(
    request: Request,
    at: At,
    pixels: AskedPixels,
    form: ShownSpectrum,
    drawn_on: DrawnOn,
    answer_format: Annotated[
        str,
        Query(alias="format", pattern="^(json|binary|csv|fits)$",
              description="json; binary: float64 of the values, little-endian; csv: a table of two "
              "columns; fits: an image of one axis, which specutils reads."),
    ] = "json",
) -> Response:  # fmt: skip
    """Return one number per channel, computed from the original pixels in one pass.

    If ``region_in`` names another image, ``region`` in the answer is the region in pixels of this
    image.
    """
    if drawn_on is not None and answer_format != "json":
        raise RequestError("a region in the pixels of another image needs the format json")

    def make(asked: Asked) -> Response:
        if drawn_on is not None:
            matched_pixels = replace(pixels, region=region_of(asked, drawn_on, pixels.region))
            key = ("spectrum of a moved region", matched_pixels, form)
            described = asked.json(
                key,
                lambda: (
                    _described(spectrum_of(asked, matched_pixels, form))
                    | {"region": matched_pixels.region}
                ),
            )
            return of_two_files(described)
        key = ("spectrum", pixels, form)
        if answer_format == "binary":
            body = asked.kept(
                (*key, "binary"), lambda: _binary(spectrum_of(asked, pixels, form)), len
            )
            return Response(body, headers=asked.caching, media_type="application/octet-stream")
        if answer_format == "json":
            return asked.json(key, lambda: _described(spectrum_of(asked, pixels, form)))
        result = spectrum_of(asked, pixels, form)
        asked.file.check()
        name = f"{asked.file.stem}_spectrum.{answer_format}"
        if answer_format == "fits":
            return FitsAnswer(request, asked.file, FileBytes(result), name, at.version)
        headers = asked.caching | {"Content-Disposition": disposition(name)}
        return Response(result.csv(), headers=headers, media_type="text/csv")

    return await answered(request, at, make)


def _binary(result: tf.Spectrum) -> bytes:
    return result.values.astype("<f8").tobytes()


def _described(result: tf.Spectrum) -> dict[str, Any]:
    return {
        "statistic": result.statistic,
        "unit": result.unit,
        "values": np.asarray(result.values),
        "axis": {
            "name": result.axis.name,
            "unit": result.axis.unit,
            "values": np.asarray(result.axis.values),
        },
    }
