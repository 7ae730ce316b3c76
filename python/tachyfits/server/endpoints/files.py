"""`/api/v1/files`: the served files and folders."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from tachyfits.server.answers import json_answer
from tachyfits.server.catalogues import CATALOGUE_ENDINGS
from tachyfits.server.state import State
from tachyfits.server.targets import ENDINGS

router = APIRouter()


@router.get("/api/v1/files", summary="List files and folders")
async def files(
    request: Request,
    folder: Annotated[
        str, Query(max_length=4096, description="A folder of the list; default: the served paths.")
    ] = "",
    kind: Annotated[
        str,
        Query(pattern="^(image|catalogue)$", description="Files that may have images (FITS), or "
              "those that may have catalogues: also VOTable, CSV, Parquet and Arrow."),
    ] = "image",
) -> Response:  # fmt: skip
    """List the served paths, or the entries of a folder: folders first, then files, by name."""
    state = State.of(request)
    endings = CATALOGUE_ENDINGS if kind == "catalogue" else ENDINGS
    entries = await state.workers.run(request, lambda: state.datasets.list(folder, endings))
    return json_answer({"folder": folder, "entries": [asdict(entry) for entry in entries]})
