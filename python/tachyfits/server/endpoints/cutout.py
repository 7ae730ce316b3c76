"""`/api/v1/cutout`: a part of an image as a FITS file, sent as it is read."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

import tachyfits as tf
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
)
from tachyfits.server.part_file import PartFile
from tachyfits.server.selection import Cutout, channels_of, line_of, region_of

router = APIRouter()


class _Wanted:
    """The parameters of a cutout."""

    def __init__(
        self,
        section: Section,
        region: Region,
        channels: Channels,
        pol: Pol,
        mode: str,
        line: tuple[str | None, str | None],
    ) -> None:
        self._given = (section, region, channels, pol, mode, line)

    def image(self, asked: Asked) -> tf.Image:
        """Return the cutout; its pixels are read when they are sent."""
        section, region, channels, pol, mode, (rest, convention) = self._given
        view, line = asked.view, line_of(None, rest, convention)
        chosen = channels_of(view, channels, line)
        return Cutout(section, region_of(region), chosen, pol, mode, line).of(view)

    def answer(self, asked: Asked) -> Response:
        """Return the file of the cutout."""
        return fits_answer(asked, self.image(asked), "cutout")


async def _wanted(
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
) -> _Wanted:
    return _Wanted(section, region, channels, pol, mode, (rest, convention))


Wanted = Annotated[_Wanted, Depends(_wanted)]

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
async def cutout(request: Request, at: At, wanted: Wanted) -> Response:
    """Return the pixels of a section, or of the box around a region, as a FITS file.

    Pixels keep their type and their bits, BSCALE, BZERO and BLANK; coordinates follow. The file is
    sent as it is read, its length is known before, and a download can be resumed (Range). HEAD
    costs nothing.
    """
    return await answered(request, at, wanted.answer)


@router.head("/api/v1/cutout", include_in_schema=False)
async def cutout_head(request: Request, at: At, wanted: Wanted) -> Response:
    """Return the headers of a cutout."""
    return await answered(request, at, wanted.answer)


@router.post(
    "/api/v1/cutout/size", summary="Return the size of a large cutout", openapi_extra=REGION_BODY
)
@router.get("/api/v1/cutout/size", summary="Return the size of a cutout")
async def cutout_size(request: Request, at: At, wanted: Wanted) -> Response:
    """Return the bytes and the axes of a cutout; no pixel is read."""

    def make(asked: Asked) -> Response:
        part = PartFile(wanted.image(asked))
        found = {"bytes": part.bytes, "naxis": list(reversed(part.shape))}
        return json_answer(found, asked.caching)

    return await answered(request, at, make)
