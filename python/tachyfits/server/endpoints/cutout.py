"""`/api/v1/cutout`: a part of an image as a FITS file, sent while it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

import tachyfits as tf
from tachyfits import Selection
from tachyfits.server.answers import json_answer
from tachyfits.server.asked import Asked, answered
from tachyfits.server.fits_answer import fits_answer
from tachyfits.server.parameters import (
    REGION_BODY,
    At,
    Channels,
    Convention,
    Pol,
    Region,
    Rest,
    Section,
    line_of,
)
from tachyfits.writing import FileBytes

router = APIRouter()


async def _selection(
    region: Region,
    section: Section = None,
    channels: Channels = None,
    pol: Pol = None,
    mode: Annotated[
        str,
        Query(
            pattern="^(trim|partial|strict)$",
            description="For a region that reaches beyond the image: trim leaves out what is "
            "beyond, partial fills it with NaN or BLANK, strict refuses it.",
        ),
    ] = "trim",
    rest: Rest = None,
    convention: Convention = None,
) -> Callable[[], Selection]:
    words = {"region": region, "section": section, "channels": channels, "pol": pol}
    # Parse later, where errors are worded for HTTP.
    return lambda: Selection.typed(words, mode=mode, line=line_of(None, rest, convention))


Pixels = Annotated[Callable[[], Selection], Depends(_selection)]


def _cutout(asked: Asked, pixels: Callable[[], Selection]) -> tf.Image:
    """Return a lazy cutout; pixels are read when they are sent."""
    view, selection = asked.view, pixels()
    if selection.section is not None:
        selection = replace(selection, section=view.section_of_file(selection.section))
    if selection.channels is not None:
        selection = replace(selection, channel_axis=view.channel_axis)
    return view.cutout(selection.resolve(view.cube))


_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/fits": {}}, "description": "The FITS file."},
    206: {"description": "A range of its bytes."},
}


@router.post(
    "/api/v1/cutout",
    summary="Cut out a large region",
    response_class=Response,
    responses={200: _RESPONSES[200]},
    openapi_extra=REGION_BODY,
)
@router.get(
    "/api/v1/cutout",
    summary="Cut out a FITS file",
    response_class=Response,
    responses=_RESPONSES,
)
async def cutout(request: Request, at: At, pixels: Pixels) -> Response:
    """Return a section, or the box around a region, as a FITS file.

    Pixels keep their type and bits, BSCALE, BZERO and BLANK; coordinates are adjusted. The file is
    sent while it is read, with a known length, and a download can be resumed (Range). HEAD reads no
    pixels.
    """
    return await answered(
        request, at, lambda asked: fits_answer(asked, _cutout(asked, pixels), "cutout")
    )


@router.head("/api/v1/cutout", include_in_schema=False)
async def cutout_head(request: Request, at: At, pixels: Pixels) -> Response:
    """Return the headers of a cutout."""
    return await answered(
        request, at, lambda asked: fits_answer(asked, _cutout(asked, pixels), "cutout")
    )


@router.post(
    "/api/v1/cutout/size", summary="Return the size of a large cutout", openapi_extra=REGION_BODY
)
@router.get("/api/v1/cutout/size", summary="Return the size of a cutout")
async def cutout_size(request: Request, at: At, pixels: Pixels) -> Response:
    """Return the size in bytes and the axes of a cutout, without reading pixels."""

    def make(asked: Asked) -> Response:
        image = _cutout(asked, pixels)
        result = {"bytes": FileBytes(image).size, "naxis": list(reversed(image.shape))}
        return json_answer(result, asked.caching)

    return await answered(request, at, make)
