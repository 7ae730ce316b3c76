"""A table, or a part of it, as a file of another format: written batch by batch.

CSV needs no other library; Parquet and Arrow need pyarrow. Files appear when they are complete.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tachyfits._columns import Columns
from tachyfits._errors import usage
from tachyfits._optional import needed
from tachyfits._ragged import Ragged
from tachyfits._table_part import Part
from tachyfits._writer import write_atomically

#: Endings of file names, and what they mean.
FORMATS = {
    ".fits": "fits", ".fit": "fits", ".fts": "fits", ".csv": "csv",
    ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow",
}  # fmt: skip


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format that a name ends in.

    Raises
    ------
    UsageError
        It is none of `FORMATS`.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise usage(f"{os.fspath(path)!r} ends in no known format", f"use {', '.join(FORMATS)}")
    return FORMATS[suffix]


def export(part: Part, path: str | os.PathLike[str], overwrite: bool) -> None:
    """Write a part of a table in the format that the name ends in."""
    form = format_of(path)
    if form == "fits":
        from tachyfits._table_copy import copy_table

        copy_table(part, path, overwrite)
        return
    if form != "csv":
        needed("pyarrow", f"writing {form}", extra="arrow")

    def produce(stream: BinaryIO) -> None:
        write_stream(part, stream, form)

    write_atomically(path, produce, overwrite=overwrite)


def write_stream(part: Part, stream: BinaryIO, form: str) -> None:
    """Write a part of a table into a stream, as "csv", "parquet" or "arrow"."""
    text = "str" if form == "csv" else "bytes"
    empty = part.read((0, 0), text)
    batches = (part.read(piece, text) for piece in part.pieces())
    if form == "csv":
        _write_csv(stream, empty, batches)
    else:
        _write_arrow(stream, form, empty, batches)


def _write_arrow(stream: BinaryIO, form: str, empty: Columns, batches: Iterator[Columns]) -> None:
    from tachyfits._arrow import reader_of

    reader = reader_of(empty, batches)
    if form == "arrow":
        ipc = needed("pyarrow.ipc", "writing arrow", extra="arrow")
        with ipc.new_file(stream, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        return
    parquet = needed("pyarrow.parquet", "writing parquet", extra="arrow")
    with parquet.ParquetWriter(stream, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _write_csv(stream: BinaryIO, empty: Columns, batches: Iterator[Columns]) -> None:
    stream.write(csv_text([tuple(empty)]).encode())
    for batch in batches:
        stream.write(csv_text(csv_rows(batch)).encode())


def csv_text(rows: Iterator[Sequence[Any]] | Sequence[Sequence[Any]]) -> str:
    """Return rows as CSV: numbers with every digit that they need."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def csv_rows(columns: Columns) -> Iterator[Sequence[Any]]:
    """Give the rows: undefined cells empty, elements of arrays apart by blanks, nan if undefined.

    >>> import numpy as np
    >>> numbers = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    >>> list(csv_rows(Columns({"X": np.array([0.5, np.nan]), "N": numbers})))
    [(0.5, '1 nan'), ('', '3 4')]
    """
    return zip(*(_csv_cells(values) for values in columns.values()), strict=True)


def _csv_cells(values: Any) -> list[Any]:
    """Return the cells of a column as CSV has them."""
    if isinstance(values, Ragged):
        elements = _csv_elements(values.values)
        return [" ".join(elements[a:b]) for a, b in pairwise(values.offsets.tolist())]
    if values.ndim == 1:
        return _csv_values(values, "")
    width = int(np.prod(values.shape[1:]))
    elements = _csv_elements(values.reshape(-1))
    return [" ".join(elements[width * n : width * (n + 1)]) for n in range(len(values))]


def _csv_elements(values: Any) -> list[str]:
    # Blanks stand between elements, so that an empty one would not be seen.
    return [_csv_value(value) for value in _csv_values(values, "nan")]


def _csv_values(values: Any, undefined: str) -> list[Any]:
    """Return the values of an array of one axis, as the csv module takes them."""
    plain, missing = np.ma.getdata(values), np.ma.getmaskarray(values)
    kind = plain.dtype.kind
    if kind == "f":
        missing = missing | np.isnan(plain)
    if kind == "f" and plain.dtype.itemsize == 4:
        # tolist() would widen to float64 and show digits that the column does not have.
        cells = plain.astype(str).tolist()
    elif kind in "iufUO":
        cells = plain.tolist()
    else:
        cells = [_csv_value(value) for value in plain.tolist()]
    for place in np.flatnonzero(missing):
        cells[place] = undefined
    return cells  # type: ignore[no-any-return]


def _csv_value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return str(value)
