"""Times in tables: ISO 8601 text in columns, with their time scale and location.

The Standard (Sect. 9.2.1) has one scale for the times of a table, by default UTC, a different one
for a column with TCTYPn, and one location (`interop.observatory`). astropy's times are written with
these, and rows with other scales or locations are refused. astropy writes a time as two numbers of
days that add up to it; rows appended to such a table are written in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tachyfits.base.errors import either, usage, warn
from tachyfits.header.times import scale_named
from tachyfits.interop.observatory import (
    PLACE,
    THERE,
    check_place,
    check_position,
    place_columns,
)
from tachyfits.interop.time_text import times_of
from tachyfits.table.columns import TableColumn
from tachyfits.table.metadata import (
    carried_by_column,
    carried_keyword,
    is_carried,
    is_time_scale,
    position_of,
    time_scale_of,
)
from tachyfits.table.values import ColumnData

#: Time scales at the barycentre of the solar system.
_BARYCENTRIC = ("TDB", "TCB")

#: Beginning of a date with a time of day.
_WITH_CLOCK = re.compile(rb"[+-]?\d{4,5}-\d\d-\d\dT\d\d:")

#: Maximum difference in days between equal reference times: half of a step of JDREF in 64 bits, 20
#: us. MJDREF in cards loses fewer digits; clock corrections may be little more.
_SAME_REFERENCE = 2.5e-10

#: The Julian Date of MJD 0.
_MJD = 2400000.5

#: Units of time (Table 34 of the Standard).
_UNITS = frozenset(["s", "d", "a", "cy", "min", "h", "yr", "ta", "Ba"])


def scale_cards(
    cards: Sequence[tuple[str, Any, str]], columns: Sequence[ColumnData]
) -> list[tuple[str, Any, str]]:
    """Return the cards of a new table, with TIMESYS if its columns have a time scale.

    TIMESYS is the scale of the first column; TCTYPn has that of each (`place_cards`).
    """
    scale = next((column.time_scale for column in columns if column.time_scale), None)
    if scale is None or any(card[0] == "TIMESYS" for card in cards):
        return list(cards)
    return [*cards, ("TIMESYS", scale, "time scale of the columns of times")]


def _check_scale(
    column: ColumnData, keyword: str, stated: Any, where: str, brought: str | None = None
) -> None:
    """Refuse times in another scale than a keyword states; None means UTC.

    ``brought``: scale of times that have none themselves.
    """
    scale = column.time_scale or time_scale_of(column.carried) or brought
    stated_scale = scale_named(stated)
    if not scale or scale_named(scale) == stated_scale:
        return
    hint = f"convert them: times.{stated_scale.lower()}; or write them as text, which has no scale"
    if column.time_scale is None:
        ours, theirs = scale_named(scale).lower(), stated_scale.lower()
        hint = either(
            f'make times of them first: Time(values, scale="{ours}").{theirs}; or give the arrays '
            "alone, in a dict, which has no scale",
            f"convert them to {theirs} first",
        )
    expected = f"{keyword} is {stated_scale}"
    if not stated:
        expected = f"the table has {stated_scale}, because it has no {keyword}"
    raise usage(
        f"{where}, column {column.name!r}: times of the scale {scale}, where {expected}", hint
    )


def _is_time(column: ColumnData) -> bool:
    """Return whether a column without a scale has times, according to its cards or its text.

    By custom, a column named TIME with a unit of time has times.
    """
    if position_of(column.carried) is not None:
        return True
    values = column.values
    if isinstance(values, np.ndarray) and values.dtype.kind == "S":
        flat = values.reshape(-1)
        first = int((flat != b"").argmax()) if flat.size else 0
        return any(_WITH_CLOCK.match(cell) for cell in flat[first : first + 1].tolist())
    return column.name.upper() == "TIME" and (column.unit or "").strip() in _UNITS


def time_cards(
    cards: Sequence[tuple[str, Any, str]], columns: Sequence[ColumnData]
) -> list[tuple[str, Any, str]]:
    """Return the cards of a new table, with the scales and the location of its times.

    Raises
    ------
    UsageError
        The times have different locations, or their location differs from the cards.
    """
    all_cards = scale_cards(cards, columns)
    there = place_columns(columns)
    for number, column in enumerate(columns, 1):
        all_cards += place_cards(all_cards, column, number, there)
    return all_cards


def place_cards(
    cards: Sequence[tuple[str, Any, str]],
    column: ColumnData,
    number: int,
    there: Mapping[str, Any],
) -> list[tuple[str, Any, str]]:
    """Return the cards that a table needs for the data of a column: limits, scale, location.

    ``there``: location that the table's columns state, in metres by name, which needs no cards.

    Raises
    ------
    UsageError
        The table has other cards.
    """
    stated = {keyword.upper(): value for keyword, value, _ in cards}
    own = dict(column.carried)
    own |= {"TCTYP": column.time_scale} if column.time_scale else {}
    own |= {} if column.location is None else {"TRPOS": THERE}
    new_cards = (
        (carried_keyword(word, number), own[word], _comment(word, own[word])) for word in own
    )
    new = [card for card in new_cards if card[0] not in stated]
    scale = stated.get(f"TCTYP{number}")
    if is_time_scale(scale):
        _check_scale(column, f"TCTYP{number}", scale, "the table's cards")
    if column.location is None:
        return new
    check_position(column, stated.get(f"TRPOS{number}"), "the table's cards")
    if column.time_scale in _BARYCENTRIC:
        warn(
            f"column {column.name!r}: times of the scale {column.time_scale} have a location on "
            "the Earth; it is written\nhint: use times of another scale, or remove times.location"
        )
    for name, metres in zip(PLACE, column.location, strict=True):
        if name in there:
            check_place(column, name, metres, there[name], "the table's columns")
        if name in stated:
            check_place(column, name, metres, stated[name], "the table's cards")
        elif name not in there:
            new.append((name, metres.item(), "[m] geocentric place of the observatory"))
    return new


def _comment(word: str, value: Any) -> str:
    if word == "TRPOS":
        return "where the times were measured"
    return "time scale of the column" if word == "TCTYP" and is_time_scale(value) else ""


@dataclass(frozen=True)
class Stated:
    """Scale and location of a table's times.

    Attributes
    ----------
    scale, position
        TIMESYS and TREFPOS, or None.
    place
        Function that returns the location for a name of `PLACE`, in metres, for all rows or per
        row; None if it is not stated.
    reference
        Function that returns the reference of numeric times (`time_reference`), or None. It is not
        called for rows without such times, whatever the cards of the reference are.
    """

    scale: Any
    position: Any
    place: Callable[[str], Any]
    reference: Callable[[], float | None]


def check_location(stated: Stated, columns: Sequence[ColumnData], where: str) -> None:
    """Refuse times at another location than the table states for them.

    The locations in ``columns`` apply to the rows that they belong to.
    """
    there = place_columns(columns)
    for column in columns:
        if column.location is None:
            continue
        for name, metres in zip(PLACE, column.location, strict=True):
            expected = there[name] if name in there else stated.place(name)
            if expected is None:
                raise usage(
                    f"{where}, column {column.name!r}: times with a location, where the table has "
                    f"no {name}",
                    f"set the location in the header first ({', '.join(PLACE)} in metres), or give "
                    "the times without their location",
                )
            check_place(column, name, metres, expected, f"cards or columns of {where}")


@dataclass(frozen=True)
class Brought:
    """Information about times in a table from which rows are taken.

    Attributes
    ----------
    scale
        TIMESYS, or None.
    reference
        Function that returns the reference of numeric times, or None.
    of_each
        Whether columns with another scale state it; in a table that astropy read they do not.
    """

    scale: Any = None
    reference: Callable[[], float | None] = lambda: None
    of_each: bool = True


def check_times(
    stated: Stated,
    column: TableColumn,
    data: ColumnData,
    where: str,
    brought: Brought = Brought(),
) -> None:
    """Refuse times whose scale or reference position differs from the column's."""
    own = column.time_scale
    keyword = f"TCTYP{column.number + 1}" if own else "TIMESYS"
    is_time = own is not None or column.position is not None or _is_time(data)
    scale = None
    if is_time and is_time_scale(brought.scale) and (own is None or brought.of_each):
        scale = brought.scale
    _check_scale(data, keyword, own or stated.scale, where, scale)
    if is_time and data.time_scale is None and column.dtype.kind in "iuf":
        _check_reference(column.name, stated.reference(), brought.reference(), where)
    if data.location is not None:
        check_position(data, column.position or stated.position, where)


def _check_reference(name: str, ours: float | None, theirs: float | None, where: str) -> None:
    if ours is not None and theirs is not None and abs(ours - theirs) > _SAME_REFERENCE:
        raise usage(
            f"{where}, column {name!r}: times that are counted from MJD {theirs} (MJDREF, "
            "JDREF or DATEREF, and what TIMEOFFS or TIMEZERO adds), "
            f"where those of the table are from MJD {ours}",
            f"add {theirs - ours} days to them first, in their unit; and give the arrays alone, in "
            "a dict, which has no reference",
        )


def make_times(table: Any, columns: Mapping[str, TableColumn], meta: Mapping[str, Any]) -> None:
    """Convert text columns of an astropy Table that the header declares as times.

    TCTYPn (a time scale), or TRPOSn (TOPOCENTER) with the location, declares them. Text that is not
    a time, and numbers, stay unchanged. The meta of a column keeps the entries of
    `carried_by_column` that its times do not express. If there are times, the table's meta has
    TIMESYS, UTC if the header has none.
    """
    place: list[Any] = [table[key] if key in table.colnames else meta.get(key) for key in PLACE]
    is_known = all(part is not None for part in place)
    for name, column in columns.items():
        there = place if is_known and column.position == THERE else None
        cards = dict(column.carried)
        if column.dtype.kind == "U" and (there is not None or column.time_scale is not None):
            with suppress(ValueError, TypeError):
                times = times_of(table[name], column.time_scale or meta.get("TIMESYS"), there)
                times.info.meta = table[name].info.meta
                table.replace_column(name, times)
                # Otherwise the next header would state the scale of these times, also for text.
                table.meta.setdefault("TIMESYS", "UTC")
                in_times = {"TCTYP": column.time_scale, "TRPOS": there}
                cards = {word: cards[word] for word in cards if in_times.get(word) is None}
        if cards:
            table[name].info.meta = {**(table[name].info.meta or {}), **cards}


def said_in_meta(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the cards in the meta of an astropy column (`make_times`).

    >>> said_in_meta({"TRPOS": "GEOCENTER", "TCTYP": "RA---TAN", "TUCD": "time.epoch", "note": 1})
    {'carried': (('TRPOS', 'GEOCENTER'), ('TCTYP', 'RA---TAN'), ('TUCD', 'time.epoch'))}
    """
    cards = {carried_keyword(key, 1): text for key, text in (meta or {}).items() if is_carried(key)}
    carried = carried_by_column(cards).get(1, ())
    return {"carried": carried} if carried else {}


def left_in_meta(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the meta of an astropy column without its cards (`said_in_meta`).

    >>> left_in_meta({"TCTYP": "RA---TAN", "TUCD": ["time", "epoch"], "note": 1})
    {'TUCD': ['time', 'epoch'], 'note': 1}
    """
    in_cards = {word for word, _ in said_in_meta(meta).get("carried", ())}
    return {key: value for key, value in (meta or {}).items() if key not in in_cards}


def with_pairs(
    made: Sequence[ColumnData],
    rows: Any,
    theirs: Sequence[TableColumn],
    reference: Callable[[], float | None],
) -> list[ColumnData]:
    """Return the columns of rows, with times as pairs of days if the table stores them so.

    Parameters
    ----------
    made, rows
        The columns of an astropy table or a dict, and that table or dict.
    theirs, reference
        The columns of the table that gets these rows, and the function that returns the reference
        of its times (`time_reference`): 0 if it has none. If the reference is not a multiple of
        half a day, pairs would not be exact, and times stay unchanged.
    """
    pairs = {column.name.rstrip().upper() for column in theirs if _has_pairs(column)}
    since = (reference() or 0.0) if pairs else 0.0
    if not pairs or not (2 * since).is_integer():
        return list(made)
    return [
        _paired(column, rows[column.name], since)
        if column.time_scale and column.name.rstrip().upper() in pairs
        else column
        for column in made
    ]


def _has_pairs(column: TableColumn) -> bool:
    is_long = column.dtype.kind == "f" and column.dtype.itemsize == 8
    return is_long and column.shape == (2,) and column.unit == "d"


def _paired(column: ColumnData, times: Any, since: float) -> ColumnData:
    if np.shape(times) != (column.rows,) or not hasattr(times, "jd1"):
        # A list of times, or several per row.
        return column
    days = [np.ma.filled(times.jd1, np.nan) - _MJD - since, np.ma.filled(times.jd2, np.nan)]
    return replace(column, values=np.stack(days, axis=-1), undefined=None, unit="d")
