"""Shared by the Python peers for tables: fingerprints of columns, and tables in memory.

A fingerprint is that of bench/tables.py, worked out here by itself: a peer is a program of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from python_runner import Request

#: Rows processed together.
ROWS = 1 << 18
CONVENTIONS = {"B": -(1 << 7), "I": 1 << 15, "J": 1 << 31}


def chosen(request: Request) -> list[str] | None:
    """Name the requested columns; None: all."""
    if request["columns"] == "all":
        return None
    names: list[str] = request["pixels"]["selections"][request["columns"]]
    return names


def fingerprint(column: Any, *, native: bool = True) -> int:
    """Add the bit patterns up, each times an odd number of its own; what is masked counts too."""
    values = np.ma.getdata(np.asanyarray(column))
    if values.ndim != 1 or (native and not values.dtype.isnative):
        raise TypeError(f"the column is {values.ndim}-dimensional of type {values.dtype.str}")
    total = 0
    for first in range(0, values.size, ROWS):
        part = values[first : first + ROWS]
        wide = part.astype("f8" if part.dtype.kind == "f" else "i8")
        if wide.dtype.kind == "f":
            wide[np.isnan(wide)] = np.nan
        odd = 2 * np.arange(first, first + wide.size, dtype="u8") + np.uint64(1)
        total += int((wide.view("u8") * odd).sum(dtype="u8"))
    return total % 2**64


def columns_answer(table: Any, request: Request) -> dict[str, Any]:
    """Give the fingerprints of the columns of a mapping or a structured array."""
    found = table.dtype.names if isinstance(table, np.ndarray) else list(table)
    names = chosen(request)
    if names is not None and list(found) != names:
        raise ValueError(f"requested {names}, got {list(found)}")
    native = not request.get("any_order", False)
    prints = {name: fingerprint(table[name], native=native) for name in found}
    return {request["columns"]: prints}


def csv_answer(_: Any, request: Request) -> dict[str, Any]:
    """Read the columns that were written as CSV back, and give their fingerprints."""
    import pyarrow.csv

    path = Path(request["output"]).with_suffix(".csv")
    table = pyarrow.csv.read_csv(path)
    path.unlink()
    columns = {}
    for name, stored in stored_columns(request["path"]).items():
        read = table[name].to_numpy()
        missing = np.isnan(read) if read.dtype.kind == "f" else np.zeros(len(read), bool)
        # An undefined cell is empty; in the file it is the integer of TNULL.
        columns[name] = np.where(missing, stored, read).astype(stored.dtype)
    return columns_answer(columns, request)


def rows_answer(rows: Any, request: Request) -> dict[str, Any]:
    """Give how many rows were selected, and the fingerprint of their numbers."""
    return {"selected": {"rows": len(rows), "fingerprint": fingerprint(rows)}}


def stored_columns(path: str) -> dict[str, Any]:
    """Have the first extension in memory as a program would that wants it written: native arrays.

    Unsigned types are themselves, TSCAL is left alone. By astropy; text becomes int32.
    """
    from astropy.io import fits

    with fits.open(path, memmap=True) as hdus:
        header, rows = hdus[1].header, hdus[1].data.view(np.ndarray)
        made = {}
        for number, name in enumerate(rows.dtype.names, 1):
            stored = rows[name]
            if stored.dtype.kind == "S":
                made[name] = stored.astype("i4")
                continue
            values = stored.astype(stored.dtype.newbyteorder("="))
            form = header[f"TFORM{number}"].lstrip("1")
            if header.get(f"TZERO{number}", 0) == CONVENTIONS.get(form):
                kind = "i" if form == "B" else "u"
                flip = np.array(1 << (8 * values.itemsize - 1), f"u{values.itemsize}")
                values = (values.view(flip.dtype) ^ flip).view(f"{kind}{values.itemsize}")
            made[name] = values
        return made


#: Latest table of `keep` in memory: its path, and the columns or the bytes.
KEPT: dict[str, Any] = {}


def keep(request: Request) -> None:
    """Have the columns of the input in memory before the clock starts."""
    if request["path"] not in KEPT:
        KEPT.clear()
        KEPT[request["path"]] = stored_columns(request["path"])


def kept(request: Request) -> Mapping[str, Any]:
    """Give what `keep` has in memory."""
    columns: Mapping[str, Any] = KEPT[request["path"]]
    return columns


def keep_image(request: Request) -> None:
    """Have the pixels of the input in memory, in the machine's byte order."""
    if request["path"] in KEPT:
        return
    KEPT.clear()
    pixels = request["pixels"]
    stored = np.dtype(pixels["type"]).newbyteorder(">")
    with Path(request["path"]).open("rb") as stream:
        stream.seek(pixels["offset"])
        array = np.fromfile(stream, stored, count=int(np.prod(pixels["shape"])))
    KEPT[request["path"]] = (
        array.byteswap(inplace=True).view(stored.newbyteorder("=")).reshape(pixels["shape"])
    )
