"""`/api/v1/regions`: read and write region files; they are sent as text, never as a file name."""

from __future__ import annotations

import csv
import io
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

import tachyfits as tf
from tachyfits import Region
from tachyfits.base import NoOverlap
from tachyfits.image import extent_on_image, region_names
from tachyfits.server.answers import json_answer
from tachyfits.server.asked import Asked, answered
from tachyfits.server.body import MOST_BYTES, body_text, text_body
from tachyfits.server.errors import TooLarge
from tachyfits.server.parameters import At, others_of
from tachyfits.server.planes import OnePlane, PlaneAsked
from tachyfits.server.region_files import file_of, region_of_line
from tachyfits.server.region_shapes import left_out, shapes_of

router = APIRouter()

_TEXT = text_body(MOST_BYTES, required=True)

#: Maximum number of regions in a table, and its statistics.
_MOST_MEASURED = 1000
_MEASURED = ("count", "nan", "sum", "mean", "median", "std", "rms", "min", "max")


@router.post("/api/v1/regions/pixels", summary="Read a region file", openapi_extra=_TEXT)
async def regions_pixels(request: Request, at: At) -> Response:
    """Return the shapes of a file of DS9 or CASA as text in pixels of an image.

    Shapes on the sky are converted by the scale and the angle of the sky at their centre. A ring is
    one shape, annulus(x,y,r1,r2) or ellipse(x,y,a1,b1,a2,b2,angle). Pixels of ``excluded`` belong
    to no region of the file; ``left_out`` names unsupported shapes, such as rulers.
    """
    text = await body_text(request)

    def make(asked: Asked) -> Response:
        shapes = shapes_of(asked.view.cube, text)
        result = {
            "regions": [shape.text for shape in shapes if not shape.excluded],
            "excluded": [shape.text for shape in shapes if shape.excluded],
            "labels": [shape.label for shape in shapes if not shape.excluded],
            "colors": [shape.color for shape in shapes if not shape.excluded],
            "outlines": [shape.outline for shape in shapes if not shape.excluded],
            "left_out": left_out(text),
        }
        return json_answer(result, {"Cache-Control": "no-store"})

    return await answered(request, at, make)


@router.post(
    "/api/v1/regions/file",
    summary="Write a region file",
    response_class=Response,
    openapi_extra=_TEXT,
    responses={200: {"content": {"text/plain": {}}, "description": "The file."}},
)
async def regions_file(
    request: Request,
    at: At,
    answer_format: Annotated[
        str, Query(alias="format", pattern="^(ds9|crtf)$", description="ds9, or crtf (CASA).")
    ] = "ds9",
    system: Annotated[
        str, Query(pattern="^(image|sky)$", description="In pixels, or on the sky.")
    ] = "sky",
) -> Response:
    """Convert regions in pixels, one per line, to a file of DS9 or CASA.

    A name and a colour may follow a region: ``circle(1,2,3) # text={core} color=#58a6ff``. Numbers
    have 16 decimals, so that reading the file returns the same regions.
    """
    lines = [line for line in (await body_text(request)).splitlines() if line.strip()]

    def make(asked: Asked) -> Response:
        sky = asked.view.required_sky if system == "sky" else None
        headers = {"Cache-Control": "no-store"}
        return Response(file_of(lines, answer_format, sky), 200, headers, "text/plain")

    return await answered(request, at, make)


@router.post(
    "/api/v1/regions/statistics",
    summary="Measure several regions",
    openapi_extra=_TEXT,
    responses={200: {"content": {"text/csv": {}}, "description": "JSON, or CSV."}},
)
async def regions_statistics(
    request: Request,
    at: At,
    of: PlaneAsked,
    answer_format: Annotated[
        str, Query(alias="format", pattern="^(json|csv)$", description="json or csv.")
    ] = "json",
) -> Response:
    """Return the statistics of a plane within regions in pixels, one per line.

    A region without pixels in the image has a count of 0, and null for other statistics. Names
    follow regions as in `/api/v1/regions/file`; unnamed regions are numbered from 1.
    """
    lines = [line for line in (await body_text(request)).splitlines() if line.strip()]
    if len(lines) > _MOST_MEASURED:
        raise TooLarge(f"more than {_MOST_MEASURED} regions are not measured at a time")

    def make(asked: Asked) -> Response:
        regions = [region_of_line(line) for line in lines]
        texts = [line.partition("#")[0].strip() for line in lines]
        plane, unit = _plane_of(asked, of)
        columns = {
            "name": region_names(regions),
            "region": texts,
            **_measured(asked, plane, regions),
        }
        asked.file.check()
        if answer_format == "csv":
            return Response(_csv(columns, unit), 200, {"Cache-Control": "no-store"}, "text/csv")
        return json_answer({"unit": unit, "columns": columns}, {"Cache-Control": "no-store"})

    return await answered(request, at, make)


def _plane_of(asked: Asked, of: OnePlane) -> tuple[tf.Image, str | None]:
    """Return the plane to measure, and the unit of its pixels."""
    if of.collapse is not None:
        plane = of.collapse.part(asked).image
    else:
        view = asked.view
        plane = view.cube.cutout(section=view.section(of.channel, others_of(of.others)))
    return plane, plane.unit


def _measured(asked: Asked, plane: tf.Image, regions: list[Region]) -> dict[str, list[Any]]:
    """Return the columns of statistics; they are undefined for regions outside the image."""
    indices = [index for index, region in enumerate(regions) if _is_inside(asked, region)]
    columns: dict[str, list[Any]] = {
        name: [0 if name in ("count", "nan") else None] * len(regions) for name in _MEASURED
    }
    if indices:
        table = plane.measure([regions[index] for index in indices], _MEASURED)
        for name, column in columns.items():
            for index, value in zip(indices, table[name].tolist(), strict=True):
                column[index] = value
    return columns


def _is_inside(asked: Asked, region: Region) -> bool:
    """Return whether a region overlaps the image; raise UsageError for a line."""
    try:
        extent_on_image(asked.view.cube, region)
    except NoOverlap:
        return False
    return True


def _csv(columns: dict[str, list[Any]], unit: str | None) -> str:
    """Return a CSV table with the unit in its header; undefined cells are empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    unitless = ("name", "region", "count", "nan")
    writer.writerow(
        f"{name} ({unit})" if unit and name not in unitless else name for name in columns
    )
    for row in zip(*columns.values(), strict=True):
        writer.writerow("" if cell is None or cell != cell else _safe(cell) for cell in row)
    return stream.getvalue()


def _safe(cell: Any) -> Any:
    """Escape a cell that a spreadsheet would interpret as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@\t\r" else cell
