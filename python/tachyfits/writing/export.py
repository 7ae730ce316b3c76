"""Export a table, or a part of it, to a file of another format, in batches.

The compiled module formats CSV; Parquet and Arrow need pyarrow. Files appear when complete.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import foreign_errors
from tachyfits.base.optional import needed
from tachyfits.base.output import ASTROPY_FORMATS, format_of, write_atomically
from tachyfits.interop.arrow import arrow_reader
from tachyfits.interop.astropy import astropy_table
from tachyfits.interop.parquet_metadata import foreign_metadata
from tachyfits.results.json import plain
from tachyfits.table.columns import Columns
from tachyfits.table.display import own_digits
from tachyfits.table.part import Part
from tachyfits.table.ragged import Ragged
from tachyfits.writing.copying import copy_into
from tachyfits.writing.new_columns import bytes_of
from tachyfits.writing.sinks import new_file
from tachyfits.writing.write import write

#: A column for the compiled formatter: type name, bytes of its elements, mask of undefined
#: elements, and elements per cell.
CsvColumn: TypeAlias = tuple[
    str, NDArray[np.uint8], NDArray[np.uint8] | None, int | NDArray[np.int64] | None
]


def export(part: Part, path: str | os.PathLike[str], overwrite: bool) -> None:
    """Write a part of a table in the format of the file name."""
    form = format_of(path)
    if form == "fits":
        with new_file(path, overwrite=overwrite) as writer:
            copy_into(writer, part)
        return
    if form in ASTROPY_FORMATS.values():
        rows = slice(*part.rows) if isinstance(part.rows, tuple) else part.rows
        keys = [column.key for column in part.columns]
        columns = part.table.read(
            keys, rows=rows, where=part.where, threads=part.threads, progress=part.progress
        )
        _write_by_astropy(columns, path, form, overwrite)
        return
    if form != "csv":
        needed("pyarrow", f"writing {form}", extra="arrow")

    def produce(stream: BinaryIO) -> None:
        write_stream(part, stream, form)

    write_atomically(path, produce, overwrite=overwrite)


def write_columns(columns: Columns, path: str | os.PathLike[str], overwrite: bool) -> None:
    """Write columns in the format of the file name; `export` does the same for a table."""
    if os.fspath(path).lower().endswith(".json"):
        text = json.dumps(plain(_records(columns)), ensure_ascii=False, allow_nan=False)
        write_atomically(path, lambda s: s.write(f"{text}\n".encode()), overwrite=overwrite)
        return
    form = format_of(path)
    if form == "fits":
        write(path, columns, overwrite=overwrite)
        return
    if form in ASTROPY_FORMATS.values():
        _write_by_astropy(columns, path, form, overwrite)
        return
    if form != "csv":
        needed("pyarrow", f"writing {form}", extra="arrow")
    empty = Columns(columns._head(0), columns.info)

    def produce(stream: BinaryIO) -> None:
        if form == "csv":
            _write_csv(stream, empty, iter([columns]), 1)
        else:
            _write_arrow(stream, form, empty, iter([columns]))

    write_atomically(path, produce, overwrite=overwrite)


def _write_by_astropy(
    columns: Columns, path: str | os.PathLike[str], form: str, overwrite: bool
) -> None:
    """Write columns as "votable" or "ecsv" through astropy, which holds the table in memory."""
    table = astropy_table(columns)
    stream: Any = io.BytesIO() if form == "votable" else io.StringIO()
    with foreign_errors(f"cannot write {os.fspath(path)!r} as {form}", "write .fits or .parquet"):
        table.write(stream, format="votable" if form == "votable" else "ascii.ecsv")
    data = stream.getvalue()
    content = data if isinstance(data, bytes) else data.encode()
    write_atomically(path, lambda output: output.write(content), overwrite=overwrite)


def _records(columns: Columns) -> dict[str, Any]:
    """Return columns in the JSON layout: units by name, and an object for each row."""
    units = {name: unit for name in columns if (unit := columns.unit(name))}
    # Masked arrays give None for undefined values.
    lists = [(values.to_object_array() if isinstance(values, Ragged) else values).tolist()
             for values in columns.values()]  # fmt: skip
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
    return {"units": units, "rows": rows}


def write_stream(part: Part, stream: BinaryIO, form: str) -> None:
    """Write a part of a table to a stream, as "csv", "parquet" or "arrow"."""
    empty = part.read((0, 0), "bytes")
    batches = (part.read(piece, "bytes") for piece in part.pieces())
    if form == "csv":
        _write_csv(stream, empty, batches, part.table._threads(part.threads) or os.cpu_count() or 1)
    else:
        _write_arrow(stream, form, empty, batches)


def _write_arrow(stream: BinaryIO, form: str, empty: Columns, batches: Iterator[Columns]) -> None:
    reader = arrow_reader(empty, batches)
    if form == "arrow":
        ipc = needed("pyarrow.ipc", "writing arrow", extra="arrow")
        with ipc.new_file(stream, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        return
    parquet = needed("pyarrow.parquet", "writing parquet", extra="arrow")
    metadata = {**(reader.schema.metadata or {}), **foreign_metadata(empty)}
    with parquet.ParquetWriter(stream, reader.schema.with_metadata(metadata)) as writer:
        for batch in reader:
            writer.write_batch(batch.replace_schema_metadata(metadata))


def _write_csv(stream: BinaryIO, empty: Columns, batches: Iterator[Columns], threads: int) -> None:
    names = io.StringIO()
    csv.writer(names, lineterminator="\n").writerow(empty)
    stream.write(names.getvalue().encode())
    for batch in batches:
        stream.writelines(csv_rows(batch, threads))


def csv_rows(columns: Columns, threads: int = 1) -> list[bytes]:
    r"""Return rows as CSV: undefined cells are empty, blanks separate elements of arrays.

    Floats have the fewest digits that restore them. Undefined elements of an array are ``nan``.

    >>> import numpy as np
    >>> numbers = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    >>> csv_rows(Columns({"X": np.array([0.5, np.nan]), "N": numbers}))
    [b'0.5,1 nan\n,3 4\n']
    """
    rows = len(next(iter(columns.values()), ()))
    formatted = [_csv_column(values) for values in columns.values()]
    return _core.csv_rows(formatted, rows, threads=threads)


def _csv_column(values: Any) -> CsvColumn:
    """Return a column for the formatter: type, elements, undefined elements, cells."""
    cells: int | NDArray[np.int64] | None
    if isinstance(values, Ragged):
        compact = values.compact()
        values, cells = compact.values, np.ascontiguousarray(compact.offsets, np.int64)
    else:
        cells = None if values.ndim == 1 else int(np.prod(values.shape[1:]))
    elements = np.ma.getdata(values).reshape(-1)
    if elements.dtype.kind == "c":
        elements = own_digits(elements)
    undefined = None
    if np.ma.getmask(values) is not np.ma.nomask:
        undefined = np.ma.getmaskarray(values).reshape(-1).view(np.uint8)
    if elements.dtype.kind in "cO":
        elements = np.array([_csv_text(value) for value in elements.tolist()], "S")
    elif elements.dtype.kind == "U":
        elements = np.char.encode(elements, "utf-8")
    stored = elements.astype(elements.dtype.newbyteorder("="), copy=False)
    name = f"S{stored.dtype.itemsize}" if stored.dtype.kind == "S" else stored.dtype.name
    return name, bytes_of(stored), undefined, cells


def _csv_text(value: Any) -> bytes:
    """Return a complex number or an object as UTF-8."""
    if isinstance(value, bytes):
        return value
    return b"" if value is None else str(value).encode()
