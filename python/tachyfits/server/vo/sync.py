"""`/vo/sync`: cutouts by SODA, streamed while they are read."""

from __future__ import annotations

import logging

from fastapi import APIRouter, Request, Response

from tachyfits.server.datasets import COMPRESSED
from tachyfits.server.fits_answer import FitsAnswer
from tachyfits.server.state import State
from tachyfits.server.vo.identifiers import find
from tachyfits.server.vo.links import file_answer
from tachyfits.server.vo.parameters import parameters_of
from tachyfits.server.vo.routes import TextRoute
from tachyfits.server.vo.soda import cutout_of, media_type, one_cutout
from tachyfits.writing import FileBytes

log = logging.getLogger("tachyfits.server")

router = APIRouter(route_class=TextRoute)


@router.api_route("/vo/sync", methods=["GET", "HEAD", "POST"], include_in_schema=False)
async def sync(request: Request) -> Response:
    """Send the part of a dataset selected by ID, CIRCLE, POLYGON, POS, BAND, TIME and POL."""
    state = State.of(request)
    parameters = await parameters_of(request)
    if run := parameters.single("RUNID"):
        log.info("SODA request %r", run[:64])

    def call() -> Response:
        cutout = one_cutout(parameters)
        dataset = find(state.datasets, state.settings.authority, cutout.identifier)
        if cutout.is_whole and not dataset.file.name.lower().endswith(COMPRESSED):
            return file_answer(dataset)
        part = FileBytes(cutout_of(dataset, cutout))
        dataset.file.check()
        return FitsAnswer(
            request,
            dataset.file,
            part,
            f"{dataset.title}_cutout.fits",
            media_type=media_type(parameters),
        )

    return await state.workers.run(request, call)
