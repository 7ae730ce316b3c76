"""rustfits: native arrays of images, structured arrays of tables."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import rustfits
from python_runner import Model, Request, checksum, serve
from tables import chosen, columns_answer


def read(request: Request) -> Any:
    """Read the image whole."""
    with rustfits.FITS(request["path"]) as file:
        return file[request.get("hdu", 0)].read()


def columns(request: Request) -> Any:
    """Read columns: one into an array, several into a structured array or one after the other."""
    names = chosen(request)
    with rustfits.FITS(request["path"]) as file:
        table = file[1]
        if request["how"] == "column by column" or (names and len(names) == 1):
            return {n: table.read_column(n) for n in names or table.colnames}
        return table.read() if names is None else table.read(columns=names)


if __name__ == "__main__":
    serve(
        {"read": Model(read, checksum), "columns": Model(columns, columns_answer)},
        lambda: f"rustfits {version('rustfits')}",
    )
