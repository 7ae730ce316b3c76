"""Columns and rows of a table selected on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tachyfits import Ragged, Table, UsageKeyError
from tachyfits.base import usage
from tachyfits.cli._common import Common
from tachyfits.table import own_digits
from tachyfits.text import Range

#: Rows of a table: a range, row numbers from 0, or None for all.
RowChoice: TypeAlias = Range | NDArray[np.int64] | None


def chosen_columns(table: Table, text: str | None) -> list[str | int]:
    """Return the selected columns; a number counts from 1, unless it is the name of a column."""
    positions = chosen_places(text, table.names, lambda name: table.column(name).number)
    return list(table.names) if positions is None else list(positions)


def chosen_places(
    text: str | None, names: Sequence[str], position_of: Callable[[str], int]
) -> list[int] | None:
    """Return the positions of the selected columns among ``names``; None selects all."""
    if text is None:
        return None
    # Try longer names first: a name may be a prefix of another one.
    divided = sorted((name for name in names if "," in name), key=len, reverse=True)
    positions = []
    parts = text.split(",")
    while parts:
        count = 1
        for name in divided:
            commas = name.count(",")
            if ",".join(parts[: commas + 1]).strip() == name.strip():
                count += commas
                break
        positions.append(_place(",".join(parts[:count]), len(names), position_of))
        del parts[:count]
    return positions


def _place(part: str, count: int, position_of: Callable[[str], int]) -> int:
    """Return the position of a column by its name, with or without outer blanks, or number."""
    name = part.strip()
    if part != name:
        with suppress(UsageKeyError):
            return position_of(part)
    try:
        return position_of(name)
    except UsageKeyError:
        if name.isdecimal() and len(name) < 9 and 1 <= int(name) <= count:
            return int(name) - 1
        raise


def json_cells(values: Any) -> Any:
    """Convert cells to values for JSON; undefined cells are None."""
    # Keep the digits of the column's type instead of converting it to float64.
    values = own_digits(values)
    return values.to_list() if isinstance(values, Ragged) else values.tolist()


def rows_in_intervals(common: Common, table: Table, text: str, time: str) -> NDArray[np.int64]:
    """Return the rows whose time is within the intervals of ``--gti FILE[,HDU]``."""
    path, comma, name = text.rpartition(",")
    if not comma:
        path, name = text, "GTI"
    with common.open(path) as file:
        intervals = file[int(name) if name.isdecimal() else name.strip()]
        if not isinstance(intervals, Table):
            raise usage(
                f"{path}: HDU {name} is not a table", f"see the list of HDUs: tachyfits info {path}"
            )
        return table.in_intervals(intervals, time=time)


def chosen_rows(table: Table, rows: RowChoice) -> Any:
    """Return the rows of a table selected by ``--rows``, default all; row numbers are unchanged."""
    if isinstance(rows, np.ndarray):
        return rows
    table_name = f"{table.file.name}: HDU {table.index} (0-based)"
    return chosen_slice(rows, len(table), table_name)


def chosen_slice(rows: Range | None, count: int, table_name: str) -> slice:
    """Return the rows that ``--rows`` selects out of ``count``; ``table_name`` is for messages."""
    selection = slice(None) if rows is None else rows.to_slice(count, table_name, "row")
    first, end, step = selection.indices(count)
    if step != 1:
        raise usage("invalid --rows: expected every row of an ascending range", "use A:B")
    return slice(first, end)
