"""`/api/v1/dataset`: description of an image, and `/api/v1/header`: its cards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response

import tachyfits as tf
from tachyfits.server.asked import Asked, answered
from tachyfits.server.datasets import OpenFile
from tachyfits.server.parameters import At
from tachyfits.server.planes import first_level, is_large
from tachyfits.server.polarisation import stokes_of
from tachyfits.server.problems import problems_of, readable_channels
from tachyfits.server.spectral_axis import source_redshift
from tachyfits.server.view import TILE, View

router = APIRouter()


@router.get("/api/v1/dataset", summary="Describe an image")
async def dataset(request: Request, at: At) -> Response:
    """Describe an image: axes, unit, beam, zoom levels, and the other images of the file.

    ``collapse_level`` is the lowest level at which a whole plane of collapsed channels can be
    requested; ``problems`` lists missing or unusable parts of the image.
    """

    def make(asked: Asked) -> Response:
        asked.state.sidecars.want(asked.file, asked.view)
        hidden = asked.state.datasets.hidden
        return asked.json("dataset", lambda: _described(asked.file, asked.view, hidden))

    return await answered(request, at, make)


@router.get("/api/v1/header", summary="Return the cards of an HDU")
async def header(request: Request, at: At) -> Response:
    """Return the cards of an image's header, in order."""

    def cards(asked: Asked) -> dict[str, Any]:
        entries = [
            {"keyword": card.keyword, "value": card.value, "comment": card.comment}
            for card in asked.view.image.header.cards
        ]
        return {"id": at.id, "cards": entries}

    return await answered(request, at, lambda asked: asked.json("header", lambda: cards(asked)))


def _described(file: OpenFile, view: View, hidden: Callable[[str], str]) -> dict[str, Any]:
    image = view.image
    summary = image.coordinates.summary.as_dict()
    return {
        "id": file.name,
        "hdu": image.index,
        "name": image.name,
        "version": str(file.version),
        "convention": "FITS: NAXIS1 first, pixels from 1; HDUs from 0",
        "object": _text(image.header.get("OBJECT")),
        "naxis": list(reversed(image.shape)),
        "dtype": str(image.dtype),
        "unit": image.unit,
        "redshift": source_redshift(image),
        "axes": [_axis(view, number) for number in range(view.cube.ndim)],
        "width": view.width,
        "height": view.height,
        "channels": view.channels,
        "readable_channels": readable_channels(view),
        "tile": TILE,
        "levels": view.levels,
        "collapse_level": first_level(view) if is_large(view) else 0,
        "coordinates": summary,
        "problems": [hidden(text) for text in problems_of(file, view)],
        "images": [
            {"hdu": hdu.index, "name": hdu.name, "naxis": list(reversed(hdu.shape))}
            for hdu in file.images()
        ],
    }


def _axis(view: View, number: int) -> dict[str, Any]:
    """Describe an axis of the view; 0 is x."""
    cube = view.cube
    axis = cube.ndim - 1 - number
    description = {"fits": view.axes[number], "length": cube.shape[axis]}
    try:
        coordinate = cube.coordinates.axis(axis)
    except tf.TachyfitsError:
        # Unusable cards are listed in the problems.
        return description | {
            "ctype": "",
            "name": "",
            "unit": None,
            "spectral": False,
            "stokes": None,
        }
    names = stokes_of(view)
    return description | {
        "ctype": coordinate.ctype,
        "name": coordinate.name,
        "unit": coordinate.unit,
        "spectral": coordinate.is_spectral,
        "stokes": names[1] if names is not None and names[0] == number else None,
    }


def _text(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None
