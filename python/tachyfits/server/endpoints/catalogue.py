"""`/api/v1/catalogue`: tables as points of an image, in pages of rows, and cones of services."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request, Response
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits.server.answers import json_bytes
from tachyfits.server.asked import Asked, answered
from tachyfits.server.catalogues import (
    FRAME,
    Catalogue,
    Source,
    column_named,
    names_of,
    opened,
    source_of,
)
from tachyfits.server.errors import RequestError, Superseded, TooLarge
from tachyfits.server.parameters import At
from tachyfits.table import Places, Points, cone_of, places_of, points_of, ucd_of

router = APIRouter()

#: Most points of an answer.
_MOST_POINTS = 5_000_000

#: Columns of a page without a choice, and most characters of a cell.
_MOST_COLUMNS, _LONGEST_CELL = 40, 300

#: Integers beyond are sent as text: floats, which pages have, do not hold them.
_LARGEST = 2**53


async def _source(
    catalogue: Annotated[
        str | None,
        Query(min_length=1, max_length=4096, description="A file with a table, as in "
              "/api/v1/files?kind=catalogue.", examples=["stars.fits"]),
    ] = None,
    table: Annotated[
        int | None,
        Query(ge=0, le=1_000_000, description="The HDU of the table in a FITS file, its number "
              "from 0 in a VOTable; without it the first."),
    ] = None,
    service: Annotated[
        str | None,
        Query(max_length=2000, description="In place of a file: the address of a service of Simple "
              "Cone Search, at a host that the operator of the server allows."),
    ] = None,
    cone: Annotated[
        str | None,
        Query(max_length=200, description="Right ascension, declination and radius of its cone: "
              "ICRS, degrees.", examples=["83.6,22.0,0.1"]),
    ] = None,
) -> Source:  # fmt: skip
    return source_of(catalogue, table, service, cone)


async def _names(
    longitude: Annotated[
        str | None,
        Query(max_length=200, description="Column of longitudes, or of x; with latitude. "
              "Without it found by UCD or name."),
    ] = None,
    latitude: Annotated[
        str | None, Query(max_length=200, description="Column of latitudes, or of y.")
    ] = None,
    frame: Annotated[
        str | None,
        Query(pattern=FRAME, description="Frame of the columns, or pixels (of the image, from 1). "
              "Without it that of the table, else ICRS."),
    ] = None,
) -> tuple[tuple[str, str] | None, str | None]:  # fmt: skip
    return names_of(longitude, latitude), frame


SourceAsked = Annotated[Source, Depends(_source)]
NamesAsked = Annotated[tuple[tuple[str, str] | None, str | None], Depends(_names)]
Where = Annotated[
    str | None,
    Query(max_length=4000, description="Condition of rows, as in `tachyfits table --where`: "
          "'MAG < 20 && CLASS == \"STAR\"'.", examples=["MAG < 20"]),
]  # fmt: skip


def _opened(asked: Asked, source: Source) -> Catalogue:
    return opened(asked.state, source, lambda: asked.token.cancelled)


@router.get("/api/v1/catalogue", summary="Describe a catalogue")
async def catalogue(request: Request, at: At, source: SourceAsked, names: NamesAsked) -> Response:
    """Describe a table: its rows, its columns, and which of them are positions in the image.

    ``positions`` is null if no columns are known as positions; ``problem`` says why.
    """

    def make(asked: Asked) -> Response:
        open_catalogue = _opened(asked, source)
        positions, problem = None, None
        try:
            positions = places_of(open_catalogue.table, *names)
        except tf.UsageError as error:
            problem = str(error).partition("\nhint: ")[0]
        described = {
            "catalogue": open_catalogue.label,
            "table": open_catalogue.number,
            "tables": [{"table": number, "name": name} for number, name in open_catalogue.tables],
            "rows": len(open_catalogue.table),
            "columns": [_column(column) for column in open_catalogue.table.columns],
            "positions": positions and {
                "longitude": positions.longitude, "latitude": positions.latitude,
                "frame": positions.frame, "equinox": positions.equinox,
            },
            "problem": problem,
        }  # fmt: skip
        open_catalogue.check()
        return _answer(json_bytes(described))

    return await answered(request, at, make)


def _column(column: tf.TableColumn) -> dict[str, Any]:
    return {
        "name": column.key,
        "unit": column.unit,
        "ucd": ucd_of(column),
        "description": column.description or None,
        "type": column.type_text,
    }


@router.get(
    "/api/v1/catalogue/points",
    summary="Return the points of a catalogue in an image",
    response_class=Response,
    responses={
        200: {"content": {"application/octet-stream": {}}, "description": "Numbers of points."}
    },
)
async def catalogue_points(
    request: Request,
    at: At,
    source: SourceAsked,
    names: NamesAsked,
    where: Where = None,
    precision: Annotated[
        str, Query(pattern="^float(32|64)$", description="Type of x and y.")
    ] = "float32",
) -> Response:
    """Return x of all points, then y, pixels from 1; then the rows from 0 as 32-bit integers.

    All are little-endian. ``Catalogue-Points`` is their number, ``Catalogue-Rows`` the number of
    rows of the condition: those of them that are elsewhere, or lack a position, have no point.
    """

    def make(asked: Asked) -> Response:
        open_catalogue = _opened(asked, source)
        places = places_of(open_catalogue.table, *names)
        points = _kept_points(asked, open_catalogue, places, where)
        if len(points.rows) > _MOST_POINTS:
            raise TooLarge(
                f"{len(points.rows)} points: at most {_MOST_POINTS} are sent\nhint: use where"
            )
        kind = "<f4" if precision == "float32" else "<f8"
        body = points.x.astype(kind).tobytes() + points.y.astype(kind).tobytes()
        headers = {
            "Catalogue-Points": str(len(points.rows)),
            "Catalogue-Rows": str(points.count),
            "Catalogue-Frame": places.frame,
        }
        return _answer(
            body + points.rows.astype("<u4").tobytes(), headers, "application/octet-stream"
        )

    return await answered(request, at, make)


def _kept_points(asked: Asked, found: Catalogue, places: Places, where: str | None) -> Points:
    def proceed() -> None:
        if asked.token.cancelled:
            raise Superseded("cancelled while positions were computed")

    def compute() -> Points:
        points = points_of(asked.view.frame, found.table, places, where, proceed)
        found.check()
        return points

    key = ("points", found.key, places, where)
    return asked.kept(key, compute, lambda points: points.nbytes)


@router.get("/api/v1/catalogue/cone", summary="Return the cone around an image")
async def catalogue_cone(request: Request, at: At) -> Response:
    """Return the smallest round cone that has the image, as the parameter ``cone`` takes it."""

    def make(asked: Asked) -> Response:
        return asked.json("cone", lambda: {"cone": ",".join(map(repr, cone_of(asked.view.frame)))})

    return await answered(request, at, make)


@router.get("/api/v1/catalogue/rows", summary="Return rows of a catalogue")
async def catalogue_rows(
    request: Request,
    at: At,
    source: SourceAsked,
    where: Where = None,
    columns: Annotated[
        str | None,
        Query(max_length=4000, description="Names of columns with commas between; without it the "
              f"first {_MOST_COLUMNS}."),
    ] = None,
    offset: Annotated[
        int, Query(ge=0, le=2**53, description="Rows of the condition before the first one.")
    ] = 0,
    around: Annotated[
        int | None,
        Query(ge=0, le=2**53, description="In place of offset: a row of the table, from 0; the "
              "page that has it is returned."),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Most rows.")] = 100,
) -> Response:  # fmt: skip
    """Return a page of the rows of a condition: their numbers from 0, and their cells.

    Undefined cells are null. Integers that a float64 does not hold exactly are text.
    """

    def make(asked: Asked) -> Response:
        open_catalogue = _opened(asked, source)
        table = open_catalogue.table
        rows = None if where is None else _kept_rows(asked, open_catalogue, where)
        count = len(table) if rows is None else len(rows)
        start = offset
        if around is not None:
            place = around if rows is None else int(np.searchsorted(rows, around))
            if place >= count or (rows is not None and rows[place] != around):
                raise RequestError(f"row {around} is not one of the rows of the condition")
            start = place // limit * limit
        stop = min(count, start + limit)
        numbers = np.arange(start, stop) if rows is None else rows[start:stop]
        page_columns = _columns(table, columns)
        values = table.read([column.key for column in page_columns], rows=numbers)
        page = {
            "rows": count,
            "offset": start,
            "numbers": numbers,
            "columns": [_column(column) for column in page_columns],
            "cells": [_cells(values[column.key]) for column in page_columns],
        }
        open_catalogue.check()
        return _answer(json_bytes(page))

    return await answered(request, at, make)


def _kept_rows(asked: Asked, found: Catalogue, where: str) -> NDArray[np.int64]:
    def compute() -> NDArray[np.int64]:
        rows = found.table.where(where, progress=asked.progress)
        found.check()
        return rows

    return asked.kept(("rows", found.key, where), compute, lambda rows: rows.nbytes)


def _columns(table: tf.Table, names: str | None) -> list[tf.TableColumn]:
    if names is None:
        return list(table.columns[:_MOST_COLUMNS])
    columns = [column_named(table, name) for name in names.split(",")]
    if len(columns) > _MOST_COLUMNS:
        raise TooLarge(f"{len(columns)} columns: at most {_MOST_COLUMNS} are sent at a time")
    return columns


def _cells(values: Any) -> list[Any]:
    """Return the cells of a column, as JSON has them."""
    return [_cell(value) for value in (values.tolist() if _is_plain(values) else values)]


def _is_plain(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1


def _cell(value: Any) -> Any:
    if value is None or value is np.ma.masked:
        return None
    if isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST else str(value)
    if isinstance(value, complex):
        return str(value)
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if not isinstance(value, str):
        flat = np.ma.asarray(value).reshape(-1)
        shown = ", ".join(str(one) for one in flat[:10].tolist())
        value = f"{shown}, … ({flat.size})" if flat.size > 10 else shown
    return value if len(value) <= _LONGEST_CELL else f"{value[:_LONGEST_CELL]}…"


def _answer(
    body: bytes, headers: dict[str, str] | None = None, kind: str = "application/json"
) -> Response:
    """Return an answer that depends on two files: the ETag of one would be wrong."""
    return Response(body, headers={"Cache-Control": "no-store", **(headers or {})}, media_type=kind)
