"""fitsio: CFITSIO from Python; native arrays of images, structured arrays of tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import fitsio
from python_runner import Model, Request, checksum, serve
from tables import chosen, columns_answer, rows_answer


def read(request: Request) -> Any:
    """Read the image whole."""
    with fitsio.FITS(request["path"]) as file:
        return file[request.get("hdu", 0)].read()


def columns(request: Request) -> Any:
    """Read columns: one into an array, several into a structured array or one after the other.

    They come big-endian, and are made native or left so.
    """
    names = chosen(request)
    with fitsio.FITS(request["path"]) as file:
        table = file[1]
        if request["how"] == "column by column":
            found = {n: table.read_column(n) for n in names or table.get_colnames()}
            return {n: in_order(column, request) for n, column in found.items()}
        if names is not None and len(names) == 1:
            return {names[0]: in_order(table.read_column(names[0]), request)}
        return in_order(table.read() if names is None else table.read(columns=names), request)


def in_order(array: Any, request: Request) -> Any:
    """Give the array in the requested byte order."""
    return array if request["any_order"] else array.astype(array.dtype.newbyteorder("="))


def selected(request: Request) -> Any:
    """Find the rows for which a condition holds: CFITSIO's row filter."""
    with fitsio.FITS(request["path"]) as file:
        return file[1].where(request["pixels"]["condition"]["text"])


def open_hdus(request: Request) -> dict[str, Any]:
    """Open a file of many HDUs; how many there are, and a value of the last header."""
    with fitsio.FITS(request["path"]) as file:
        count = len(file)
        return {"hdus": count, "last": file[count - 1].read_header()["EXTVER"]}


if __name__ == "__main__":
    serve(
        {
            "read": Model(read, checksum),
            "columns": Model(columns, columns_answer),
            "where": Model(selected, rows_answer),
            "open-hdus": Model(open_hdus),
        },
        lambda: f"fitsio {fitsio.__version__}, CFITSIO {fitsio.cfitsio_version(asfloat=True):.2f}",
    )
