"""`/api/v1/files`: the files and folders that are served."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from tachyfits.server.answers import json_answer
from tachyfits.server.state import State

router = APIRouter()


@router.get("/api/v1/files", summary="List files and folders")
async def files(
    request: Request,
    folder: Annotated[
        str, Query(max_length=4096, description="A folder of the list; default: the served paths.")
    ] = "",
) -> Response:
    """List the served paths, or the entries of a folder: folders first, then files, by name."""
    state = State.of(request)
    found = await state.workers.run(request, lambda: state.datasets.list(folder))
    return json_answer({"folder": folder, "entries": [asdict(entry) for entry in found]})
