"""`/api/v1/snapshot`: a picture of a plane with coordinates and a colour bar, as PNG."""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

import tachyfits as tf
from tachyfits.image import with_cards
from tachyfits.plot import plane_figure
from tachyfits.server.asked import Asked, answered
from tachyfits.server.endpoints.image import plane_of
from tachyfits.server.parameters import (
    REGION_BODY,
    At,
    Region,
    numbers_of,
    others_of,
)
from tachyfits.server.planes import OnePlane, PlaneAsked, binned, first_level, is_large
from tachyfits.text import parse_region

router = APIRouter()

#: Maximum side of a drawn plane in pixels.
_SIDE = 2048

#: Serialises drawing: the caches of matplotlib are not thread-safe.
_DRAWING = threading.Lock()


_PNG: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/png": {}}, "description": "The picture."}
}


@dataclass(frozen=True)
class _Drawing:
    """Parameters of the colours and the overlays of a picture."""

    dpi: int
    contours: list[float] | None
    options: dict[str, Any]


async def _drawing(
    stretch: Annotated[
        str, Query(pattern="^(linear|log|asinh|sqrt)$", description="From values to colours.")
    ] = "linear",
    limits: Annotated[
        str | None,
        Query(
            pattern=r"^(zscale|minmax|percentile\d{0,3}(\.\d{1,6})?)$",
            description="How the values of the first and the last colour are chosen.",
        ),
    ] = None,
    low: Annotated[float | None, Query(allow_inf_nan=False, description="First colour.")] = None,
    high: Annotated[float | None, Query(allow_inf_nan=False, description="Last colour.")] = None,
    colormap: Annotated[
        str | None, Query(pattern=r"^\w{1,40}$", description="A colour map of matplotlib.")
    ] = None,
    contours: Annotated[
        str | None, Query(max_length=1000, description="Values of contours, 50 at most.")
    ] = None,
    scale_bar: Annotated[bool, Query(description="Draw a bar of a round angle.")] = False,
    dpi: Annotated[int, Query(ge=30, le=300, description="Pixels of the picture per inch.")] = 120,
) -> _Drawing:
    values = numbers_of(contours, "contours", most=50) if contours is not None else None
    options: dict[str, Any] = {
        "stretch": stretch, "limits": limits, "low": low, "high": high, "cmap": colormap,
        "contours": values, "scale_bar": scale_bar,
    }  # fmt: skip
    return _Drawing(dpi, values, options)


@router.post(
    "/api/v1/snapshot",
    summary="Draw a plane and a large region",
    response_class=Response,
    responses=_PNG,
    openapi_extra=REGION_BODY,
)
@router.get("/api/v1/snapshot", summary="Draw a plane", response_class=Response, responses=_PNG)
async def snapshot(
    request: Request,
    at: At,
    of: PlaneAsked,
    region: Region,
    drawing: Annotated[_Drawing, Depends(_drawing)],
) -> Response:
    """Draw a channel, or collapsed channels."""
    collapse = of.collapse

    def make(asked: Asked) -> Response:
        def compute() -> bytes:
            view = asked.view
            level = first_level(view) if collapse is not None and is_large(view) else 0
            while max(view.width, view.height) >> level > _SIDE:
                level += 1
            if collapse is not None and level == 0:
                plane = collapse.plane(asked)
            else:
                plane = _drawn(asked, of, level)
                plane = replace(plane, name=collapse.statistic if collapse else "pixels")
            regions = parse_region(region) if region is not None and level == 0 else None
            plane = replace(plane, source=asked.file.name)
            return _png(plane, drawing.dpi, drawing.options | {"regions": regions})

        key = ("snapshot", of, region, drawing)
        body = asked.kept(tuple(map(str, key)), compute, len)
        return Response(body, headers=asked.caching, media_type="image/png")

    return await answered(request, at, make)


def _drawn(asked: Asked, of: OnePlane, level: int) -> tf.Plane:
    """Return a plane at a zoom level; with pixel coordinates if its own cannot be binned."""
    try:
        return plane_of(asked, of.collapse, of.channel, of.others, level).plane()
    except tf.TachyfitsError:
        if of.collapse is not None:
            raise
    view = asked.view
    pixels = view.plane(of.channel, others_of(of.others))
    cards = [
        (f"{root}{number}", value, "")
        for number, name in enumerate("xy", 1)
        for root, value in (("CTYPE", name), ("CRPIX", 1.0), ("CRVAL", 1.0), ("CDELT", 1.0))
    ]
    return binned(with_cards(pixels, cards), view, level).plane()


def _png(plane: tf.Plane, dpi: int, options: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    with _DRAWING:
        plane_figure(plane, **options).savefig(stream, format="png", dpi=dpi)
    return stream.getvalue()
