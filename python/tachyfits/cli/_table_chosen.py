"""Columns and rows of a table selected on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from tachyfits import Table, UsageKeyError
from tachyfits.base.errors import usage
from tachyfits.text.fits_sections import Range


def chosen_columns(table: Table, text: str | None) -> list[str | int]:
    """Return the columns that are named; a number counts from 1, unless it is a name."""
    chosen = chosen_places(text, table.names, lambda name: table.column(name).number)
    return list(table.names) if chosen is None else list(chosen)


def chosen_places(
    text: str | None, names: Sequence[str], place: Callable[[str], int]
) -> list[int] | None:
    """Return the positions of the selected columns, of these names; None: of all."""
    if text is None:
        return None
    # The longest first: a name may begin as another one does.
    divided = sorted((name for name in names if "," in name), key=len, reverse=True)
    places = []
    parts = text.split(",")
    while parts:
        count = 1
        for name in divided:
            commas = name.count(",")
            if ",".join(parts[: commas + 1]).strip() == name.strip():
                count += commas
                break
        places.append(_place(",".join(parts[:count]), len(names), place))
        del parts[:count]
    return places


def _place(part: str, count: int, place: Callable[[str], int]) -> int:
    """Return the place of a column by its name, as it is or without blanks around, or number."""
    name = part.strip()
    if part != name:
        with suppress(UsageKeyError):
            return place(part)
    try:
        return place(name)
    except UsageKeyError:
        if name.isdecimal() and len(name) < 9 and 1 <= int(name) <= count:
            return int(name) - 1
        raise


def chosen_rows(table: Table, rows: Range | None) -> slice:
    """Return the rows of a table that ``--rows`` names; all without."""
    place = f"{table.file.name}: HDU {table.index} (0-based)"
    return chosen_slice(rows, len(table), place)


def chosen_slice(rows: Range | None, count: int, place: str) -> slice:
    """Return the rows that ``--rows`` selects of ``count``; ``place`` names them in messages."""
    chosen = slice(None) if rows is None else rows.to_slice(count, place, "row")
    first, end, step = chosen.indices(count)
    if step != 1:
        raise usage("invalid --rows: expected every row of an ascending range", "use A:B")
    return slice(first, end)
