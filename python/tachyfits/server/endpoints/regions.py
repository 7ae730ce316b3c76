"""`/api/v1/regions`: files of regions in and out. They are sent as text, never by a name."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from tachyfits.server.answers import json_answer
from tachyfits.server.asked import Asked, answered
from tachyfits.server.body import MOST_BYTES, body_text, text_body
from tachyfits.server.parameters import At
from tachyfits.server.region_shapes import file_of, left_out, shapes_of

router = APIRouter()

_TEXT = text_body(MOST_BYTES, required=True)


@router.post("/api/v1/regions/pixels", summary="Read a region file", openapi_extra=_TEXT)
async def regions_pixels(request: Request, at: At) -> Response:
    """Return the shapes of a file of DS9 or CASA as text in the pixels of an image.

    Shapes on the sky get the scale and the angle that the sky has at their centre. Rings are one
    shape, annulus(x,y,r1,r2) or ellipse(x,y,a1,b1,a2,b2,angle). Pixels of ``excluded`` are in none
    of the file's regions; ``left_out`` names shapes without pixels, such as rulers.
    """
    text = await body_text(request)

    def make(asked: Asked) -> Response:
        shapes = shapes_of(asked.view.cube, text)
        found = {
            "regions": [shape.text for shape in shapes if not shape.excluded],
            "excluded": [shape.text for shape in shapes if shape.excluded],
            "labels": [shape.label for shape in shapes if not shape.excluded],
            "outlines": [shape.outline for shape in shapes if not shape.excluded],
            "left_out": left_out(text),
        }
        return json_answer(found, {"Cache-Control": "no-store"})

    return await answered(request, at, make)


@router.post(
    "/api/v1/regions/file",
    summary="Write a region file",
    response_class=Response,
    openapi_extra=_TEXT,
    responses={200: {"content": {"text/plain": {}}, "description": "The file."}},
)
async def regions_file(
    request: Request,
    at: At,
    answer_format: Annotated[
        str, Query(alias="format", pattern="^(ds9|crtf)$", description="ds9, or crtf (CASA).")
    ] = "ds9",
    system: Annotated[
        str, Query(pattern="^(image|sky)$", description="In pixels, or on the sky.")
    ] = "sky",
) -> Response:
    """Return regions in pixels, one a line, as a file of DS9 or CASA."""
    lines = [line for line in (await body_text(request)).splitlines() if line.strip()]

    def make(asked: Asked) -> Response:
        sky = asked.view.required_sky if system == "sky" else None
        headers = {"Cache-Control": "no-store"}
        return Response(file_of(lines, answer_format, sky), 200, headers, "text/plain")

    return await answered(request, at, make)
