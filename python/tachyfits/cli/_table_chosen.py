"""Columns and rows of a table selected on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

import click

from tachyfits import Table, UsageKeyError
from tachyfits.base.errors import usage

_ROWS = re.compile(r"(?P<first>\d{0,99})(?P<colon>:?)(?P<last>\d{0,99})")


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


def chosen_rows(table: Table, text: str | None) -> slice:
    """Return the rows of a table that ``--rows`` names; all without."""
    if text is None:
        return slice(0, len(table))
    return chosen_slice(text, len(table), f"{table.file.name}: HDU {table.index} (0-based)")


def chosen_slice(text: str, count: int, place: str) -> slice:
    """Return the rows that ``--rows`` selects of ``count``; ``place`` names them in messages."""
    match = _ROWS.fullmatch(text.strip())
    if match is None or not text.strip(" :"):
        raise click.BadParameter(f"invalid range of rows {text!r}: use 1:100, 5:, :10 or 7")
    first = int(match["first"] or 1)
    last = int(match["last"] or (count if match["colon"] else first))
    if not 1 <= first <= last <= count:
        there = f"the rows 1 to {count}" if count else "no rows"
        raise usage(
            f"{place} has {there}; found --rows {text}",
            "rows are counted from 1, both ends included",
        )
    return slice(first - 1, last)
