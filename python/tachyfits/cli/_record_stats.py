"""Statistics of Fortran records as text and JSON; mixed records have one row per field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tachyfits import Report, Stats
from tachyfits.base import Progress
from tachyfits.cli._output import aligned, cell_text, columns_text
from tachyfits.fortran import ComplexStats, File
from tachyfits.records import fields_of_records

_Row = dict[str, Any]


def statistics(
    file: File,
    records: tuple[int, int | None],
    form: str,
    fields: Sequence[str],
    *,
    ddof: int,
    threads: int,
    progress: Progress | None,
) -> tuple[list[_Row], dict[str, Report]]:
    """Return one row per field, or a single row, and their costs.

    ``records``: number of the first record, from 0, and count; None: up to the end.
    """
    first, count, every_field = fields_of_records(file, *records, form)
    names: list[str | None] = [*(fields or every_field)]
    rows = []
    costs = {}
    for name in names or [None]:
        result = file.stats(
            form, first=first, count=count, field=name, threads=threads, progress=progress
        )
        rows.append({"field": name, **_state(result, ddof, file, first, count)})
        cost = (result if isinstance(result, Stats) else result.real).report
        if cost is not None:
            costs[name or ""] = cost
    every = {key: None for row in rows for key in row}
    return [every | row for row in rows], costs


def _state(result: Stats | ComplexStats, ddof: int, file: File, first: int, count: int) -> _Row:
    row: _Row = {
        "count": result.count,
        "nan": result.nan,
        "sum": result.sum,
        "mean": result.mean,
        "rms": result.rms,
        "std": result.standard_deviation(ddof),
    }
    # Complex numbers are not ordered: report the extremes of their parts.
    parts = (
        [("", result)]
        if isinstance(result, Stats)
        else [("real_", result.real), ("imag_", result.imag)]
    )
    for before, part in parts:
        row |= {f"{before}min": part.min, f"{before}max": part.max}
        for name, position in (("min", part.min_position), ("max", part.max_position)):
            row[f"{before}{name}_position"] = _place(position, part, file, first, count)
    return row


def _place(
    position: tuple[int, ...] | None, part: Stats, file: File, first: int, count: int
) -> list[int] | None:
    """Convert a position to a record and an element, both counted from 1."""
    if position is None:
        return None
    if len(position) == 2:
        return [first + position[0] + 1, position[1] + 1]
    # For records of different lengths, the position counts the elements of all records.
    index = file.index
    begin = np.maximum(index["first"].astype(np.int64), first)
    end = np.minimum((index["first"] + index["records"]).astype(np.int64), first + count)
    records, bytes_each = np.maximum(end - begin, 0), index["bytes"].astype(np.int64)
    size = int((records * bytes_each).sum()) // (part.count + part.nan)
    elements = records * (bytes_each // size)
    behind = elements.cumsum()
    run = int(np.searchsorted(behind, position[0], side="right"))
    within = position[0] - int(behind[run] - elements[run])
    record, element = divmod(within, int(bytes_each[run]) // size)
    return [int(begin[run]) + record + 1, element + 1]


def as_text(rows: list[_Row]) -> str:
    """Return a single row as one line per statistic, several rows as a table."""
    if len(rows) > 1:
        columns = [name for name in rows[0] if any(row[name] is not None for row in rows)]
        return columns_text(columns, [[cell_text(row[name]) for name in columns] for row in rows])
    (row,) = rows
    lines = []
    for name in row:
        if row[name] is None or name.endswith("_position"):
            continue
        position = row.get(f"{name}_position")
        location = f"at record {position[0]}, element {position[1]}" if position else ""
        lines.append((name, cell_text(row[name]), location))
    return aligned(lines, right=[1])
