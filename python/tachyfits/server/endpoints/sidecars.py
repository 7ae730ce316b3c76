"""`/api/v1/sidecars`: state and building of copies of an image for faster access."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from tachyfits.server.answers import json_answer
from tachyfits.server.asked import Asked, answered
from tachyfits.server.parameters import At

router = APIRouter()


def _state(asked: Asked) -> Response:
    sidecars = asked.state.sidecars
    states = {"enabled": sidecars.enabled, **sidecars.described(asked.file, asked.view)}
    return json_answer(states, {"Cache-Control": "no-store"})


@router.get("/api/v1/sidecars", summary="Return the state of copies")
async def sidecars(request: Request, at: At) -> Response:
    """Return the state of the pyramid and of the spectral copy: absent, building, complete, ..."""
    return await answered(request, at, _state)


@router.post("/api/v1/sidecars", summary="Build copies")
async def sidecars_build(request: Request, at: At) -> Response:
    """Build the useful copies in the background, as opening an image does."""

    def make(asked: Asked) -> Response:
        asked.state.sidecars.want(asked.file, asked.view)
        return _state(asked)

    return await answered(request, at, make)


@router.delete("/api/v1/sidecars", summary="Stop building copies")
async def sidecars_cancel(request: Request, at: At) -> Response:
    """Stop building the copies of an image; a later build resumes."""

    def make(asked: Asked) -> Response:
        asked.state.sidecars.cancel(asked.file, asked.view)
        return _state(asked)

    return await answered(request, at, make)
