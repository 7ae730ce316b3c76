"""astropy's tables and headers, with its defaults: the table is a memory map of rows."""

from __future__ import annotations

from typing import Any

import frames
import numpy as np
from astropy.io import fits
from python_runner import Model, Request
from tables import chosen, columns_answer, rows_answer


def native(column: Any) -> Any:
    """Have a column as an array of its own, in the machine's byte order."""
    return np.ascontiguousarray(column, dtype=column.dtype.newbyteorder("="))


def columns(request: Request) -> dict[str, Any]:
    """Read columns: fields of the mapped rows (scaled ones astropy converts), made native."""
    with fits.open(request["path"]) as hdus:
        data = hdus[1].data
        return {name: native(data[name]) for name in chosen(request) or data.names}


def selected(request: Request) -> Any:
    """Find the rows for which two conditions hold: NumPy's masks of the mapped columns."""
    condition = request["pixels"]["condition"]
    (low, limit), (same, value) = condition["below"], condition["equal"]
    with fits.open(request["path"]) as hdus:
        data = hdus[1].data
        return np.flatnonzero((data[low] < limit) & (data[same] == value))


def frame(request: Request) -> Any:
    """Take columns of the rows for which a condition holds, by frames of pandas and polars."""
    import polars as pl
    from astropy.table import Table

    table = Table.read(request["path"], hdu=1, memmap=True)
    condition = request["pixels"]["condition"]
    names = [*frames.COLUMNS, condition["below"][0], condition["equal"][0]]
    return frames.query(pl.from_pandas(table[names].to_pandas()), request)["ID"].to_numpy()


def open_hdus(request: Request) -> dict[str, Any]:
    """Open a file of many HDUs; how many there are, and a value of the last header."""
    with fits.open(request["path"]) as hdus:
        return {"hdus": len(hdus), "last": hdus[-1].header["EXTVER"]}


def open_cards(request: Request) -> dict[str, Any]:
    """Open a file with a long header; the number of its cards, and the value of the last number."""
    with fits.open(request["path"]) as hdus:
        header = hdus[0].header
        return {"cards": len(header), "value": header[request["pixels"]["keyword"]]}


MODELS = {
    "columns": Model(columns, columns_answer),
    "where": Model(selected, rows_answer),
    "frame": Model(frame, frames.answer),
    "open-hdus": Model(open_hdus),
    "open-cards": Model(open_cards),
}
