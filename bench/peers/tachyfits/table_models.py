"""Tables and headers: what a user types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import frames
import numpy as np
from opened import opened
from python_runner import Model, Request
from tables import chosen, columns_answer, csv_answer, keep, keep_image, kept, rows_answer

import tachyfits as tf


def columns(request: Request) -> Any:
    """Read columns in one pass over the rows."""
    with opened(request) as file:
        return file[1].read(chosen(request), threads=request["threads"])


def columns_one_by_one(request: Request) -> Any:
    """Read columns by a call each."""
    names = chosen(request)
    assert names is not None, "the columns have names"
    with opened(request) as file:
        return {name: file[1][name] for name in names}


#: Rows of a batch: what stays in a core's cache, as what CFITSIO recommends does.
BATCH = 32_768


def in_batches(request: Request) -> None:
    """Read columns batch by batch into the same arrays, and leave it at that."""
    with opened(request) as file:
        for _ in batches(file, request):
            pass


def batches(file: Any, request: Request) -> Any:
    """Read batches into the same arrays."""
    threads = request["threads"]
    return file[1].batches(chosen(request), rows=BATCH, reuse=True, threads=threads)


def batches_answer(result: None, request: Request) -> dict[str, Any]:
    """Give the fingerprints of the columns, from batches that are copied."""
    with opened(request) as file:
        parts = [{name: batch[name].copy() for name in batch} for batch in batches(file, request)]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return columns_answer(joined, request)


def selected(request: Request) -> Any:
    """Find the rows for which a condition holds."""
    condition = request["pixels"]["condition"]["text"]
    with opened(request) as file:
        return file[1].where(condition, threads=request["threads"])


def frame(request: Request) -> Any:
    """Take columns of the rows for which a condition holds, by a query of polars."""
    with opened(request) as file:
        return frames.query(file[1].scan_polars(), request).collect()["ID"].to_numpy()


def columns_where(request: Request) -> Any:
    """Read columns of the rows for which a condition holds."""
    condition = request["pixels"]["condition"]["text"]
    with opened(request) as file:
        return file[1].read(frames.COLUMNS, where=condition, threads=request["threads"])["ID"]


def arrow(request: Request) -> Any:
    """Have all columns as an Arrow table."""
    with opened(request) as file:
        return file[1].to_arrow(threads=request["threads"])


def all_columns(request: Request) -> Any:
    """Read all columns."""
    with opened(request) as file:
        return file[1].read(threads=request["threads"])


def stream(request: Request) -> dict[str, Any]:
    """Sum every column, batch by batch: integers as integers."""
    sums: dict[str, Any] = {}
    with opened(request) as file:
        for batch in file[1].batches(rows=request["rows"], threads=request["threads"]):
            for name, values in batch.items():
                sums[name] = sums.get(name, 0) + total(values)
    return {"sums": sums}


def total(values: Any) -> int | float:
    """Sum a column."""
    if values.dtype.kind == "f":
        return float(values.sum(dtype=np.float64))
    return int(values.sum(dtype=np.int64))


def write_csv(request: Request) -> None:
    """Write a table as CSV."""
    path = Path(request["output"]).with_suffix(".csv")
    with opened(request) as file:
        file[1].write(path, overwrite=True, threads=request["threads"])


def write_table(request: Request) -> dict[str, Any]:
    """Write the columns that are in memory as a new table."""
    columns = kept(request)
    forms = dict.fromkeys(columns, "I6") if request["kind"] == "ascii" else None
    tf.write(
        request["output"],
        columns,
        kind=request["kind"],
        forms=forms,
        sync=request["sync"],
        threads=request["threads"],
    )
    return {}


def write_image(request: Request) -> dict[str, Any]:
    """Write the image that is in memory, and wait for the disk."""
    sync = request.get("sync", True)
    tf.write(request["output"], kept(request), sync=sync, threads=request["threads"])
    return {}


def open_hdus(request: Request) -> dict[str, Any]:
    """Open a file of many HDUs; how many there are, and a value of the last header."""
    with opened(request) as file:
        return {"hdus": len(file), "last": file[-1].header["EXTVER"]}


def open_cards(request: Request) -> dict[str, Any]:
    """Open a file with a long header; the number of its cards, and the value of the last number."""
    with opened(request) as file:
        header = file[0].header
        return {"cards": len(header.cards), "value": header[request["pixels"]["keyword"]]}


MODELS = {
    "columns": Model(columns, columns_answer),
    "columns-one-by-one": Model(columns_one_by_one, columns_answer),
    "columns-in-batches": Model(in_batches, batches_answer),
    "where": Model(selected, rows_answer),
    "frame": Model(frame, frames.answer),
    "columns-where": Model(columns_where, frames.answer),
    "arrow": Model(arrow, frames.length),
    "all-columns": Model(all_columns, frames.length),
    "stream-table": Model(stream),
    "csv": Model(write_csv, csv_answer),
    "write-table": Model(write_table, prepare=keep),
    "write-image": Model(write_image, prepare=keep_image),
    "open-hdus": Model(open_hdus),
    "open-cards": Model(open_cards),
}
