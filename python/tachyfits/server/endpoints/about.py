"""`/api/v1/about`: the version of the server, and its features for the page."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

import tachyfits as tf
from tachyfits.server.answers import json_answer
from tachyfits.server.guard.access import links_of
from tachyfits.server.state import State

router = APIRouter()


@router.get("/api/v1/about", summary="Describe the server")
async def about(request: Request) -> Response:
    """Return the version, whether the page may use a SAMP hub, and the prefix of links.

    Programs that cannot send the token can open paths of data prefixed with ``links``. Catalogues
    of services on ``cone_hosts`` can be searched around a position.
    """
    settings = State.of(request).settings
    document = {
        "name": "tachyfits",
        "version": tf.__version__,
        "samp": settings.samp,
        "links": links_of(settings),
        "cone_hosts": settings.cone_hosts,
    }
    return json_answer(document, {"Cache-Control": "no-cache"})
