"""`/api/v1/position`: the pixel of a position, given by coordinates or a name."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response

from tachyfits.base import foreign_errors
from tachyfits.server.asked import Asked, answered
from tachyfits.server.errors import RequestError
from tachyfits.server.parameters import At
from tachyfits.server.positions import POSITION_FORMS, position_of
from tachyfits.server.resolver import degrees_of_name

router = APIRouter()


@router.get("/api/v1/position", summary="Return the pixel of a position")
async def position(
    request: Request,
    at: At,
    text: Annotated[
        str,
        Query(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$",
              description=f"Coordinates: {POSITION_FORMS}; ICRS without a frame. Or a name, if the "
              "operator of the server set a resolver."),
    ],
) -> Response:  # fmt: skip
    """Convert a position to fractional pixels of the image, ``x`` and ``y`` from 1.

    Both are null outside the projection; ``inside`` says whether the image contains the pixel.
    ``sky`` is the position in the frame of the image. ``name`` is null for coordinates.
    """

    def make(asked: Asked) -> Response:
        return asked.json(("position", text), lambda: _described(asked, text))

    return await answered(request, at, make)


def _described(asked: Asked, text: str) -> dict[str, Any]:
    from astropy.coordinates import SkyCoord

    view = asked.view
    sky = view.required_sky
    position_on_sky, name = position_of(text), None
    if position_on_sky is None:
        resolver, name = asked.state.settings.resolver, text.strip()
        if resolver is None:
            raise RequestError(
                f"invalid position {text!r}: expected coordinates; this server resolves no names\n"
                f"hint: use {POSITION_FORMS}"
            )
        position_on_sky = SkyCoord(*degrees_of_name(resolver, name), unit="deg", frame="icrs")
    with foreign_errors(f"{text!r} has no place in this image", "use pixels"):
        own_position = position_on_sky.transform_to(sky.astropy_frame).spherical
        x, y = (float(pixel) + 1 for pixel in sky.pixels_of(position_on_sky))
    # NaN counts as outside.
    is_inside = 0.5 <= x < view.width + 0.5 and 0.5 <= y < view.height + 0.5
    return {
        "name": name,
        "sky": {
            "frame": str(sky.astropy_frame.name),
            "longitude": float(own_position.lon.deg),
            "latitude": float(own_position.lat.deg),
        },
        "x": x if np.isfinite(x) else None,
        "y": y if np.isfinite(y) else None,
        "inside": is_inside,
    }
