"""`/api/v1/sidecars`: copies of an image for faster access: their state, and building them."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from tachyfits.server.answers import json_answer
from tachyfits.server.asked import Asked, answered
from tachyfits.server.parameters import At

router = APIRouter()


def _state(asked: Asked) -> Response:
    sidecars = asked.state.sidecars
    found = {"enabled": sidecars.enabled, **sidecars.described(asked.file, asked.view)}
    return json_answer(found, {"Cache-Control": "no-store"})


@router.get("/api/v1/sidecars", summary="Return the state of copies")
async def sidecars(request: Request, at: At) -> Response:
    """Return the state of the pyramid and of the spectral copy: absent, building, complete, ..."""
    return await answered(request, at, _state)


@router.post("/api/v1/sidecars", summary="Build copies")
async def sidecars_build(request: Request, at: At) -> Response:
    """Build the copies that are useful, in the background; opening an image does so, too."""

    def make(asked: Asked) -> Response:
        asked.state.sidecars.want(asked.file, asked.view)
        return _state(asked)

    return await answered(request, at, make)


@router.delete("/api/v1/sidecars", summary="Stop building copies")
async def sidecars_cancel(request: Request, at: At) -> Response:
    """Stop building the copies of an image; they go on later where they were."""

    def make(asked: Asked) -> Response:
        asked.state.sidecars.cancel(asked.file, asked.view)
        return _state(asked)

    return await answered(request, at, make)
