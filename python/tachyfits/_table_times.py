"""Times in tables: ISO 8601 text in columns, and what a table says once: time scale and place.

The Standard (Sect. 9.2.1) has one scale for all times of a table, UTC where none is said, and one
place of the observatory (Sect. 9.2.3), which TRPOSn says to be that of a column. So times of
astropy, which say theirs, are written if they agree, and refused if they do not.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits._core import TachyfitsWarning
from tachyfits._errors import usage
from tachyfits._table_values import ColumnData, column_data

#: Other names of time scales (Table 30 of the Standard).
_SAME = {"GMT": "UTC", "TDT": "TT", "ET": "TT", "IAT": "TAI"}

#: Where the observatory is: geocentric, in metres. Columns of these names have it row by row.
_PLACE = ("OBSGEO-X", "OBSGEO-Y", "OBSGEO-Z")

#: TRPOSn of times that were measured there.
_THERE = "TOPOCENTER"

#: Scales of times at the barycentre of the solar system.
_BARYCENTRIC = ("TDB", "TCB")

#: Digits of a second that text has at most, and those that are left out where all are 0.
_DIGITS = 9


def time_text(times: Any) -> Any:
    """Return an astropy Time as text of its own scale, to the nanosecond, masked where undefined.

    Zeros that end every time are left out, down to milliseconds.
    """
    # Years beyond four digits have five and a sign there, as the Standard wants it.
    exact = times.copy(format="fits")
    exact.precision = _DIGITS
    # No times are an array of floats.
    text, missing = np.asarray(exact.unmasked.value).astype("U"), np.asarray(times.mask)
    known = text[~missing] if missing.any() else text
    for digits in (3, 6):
        rest = _DIGITS - digits
        if np.char.endswith(known, "0" * rest).all():
            width = int(np.char.str_len(text).max(initial=rest + 1))
            text = text.astype(f"U{width - rest}")
            break
    return np.ma.MaskedArray(text, mask=missing) if missing.any() else text


def scale_cards(
    cards: Sequence[tuple[str, Any, str]], columns: Sequence[ColumnData]
) -> list[tuple[str, Any, str]]:
    """Return the cards of a new table, with TIMESYS if its columns say a time scale.

    Raises
    ------
    UsageError
        They say several, or another than the cards.
    """
    named = {column.time_scale: column.name for column in columns if column.time_scale}
    if not named:
        return list(cards)
    scale, *others = named
    if others:
        raise usage(
            f"the times of the columns {named[scale]!r} and {named[others[0]]!r} are of the scales "
            f"{scale} and {others[0]}: a table has one (TIMESYS)",
            f"bring them to one: table[{named[others[0]]!r}].{scale.lower()}",
        )
    stated = next((value for keyword, value, _ in cards if keyword == "TIMESYS"), None)
    if stated is not None:
        check_scale(stated, columns, "the table's cards")
        return list(cards)
    return [*cards, ("TIMESYS", scale, "time scale of the columns of times")]


def check_scale(stated: Any, columns: Sequence[ColumnData], where: str) -> None:
    """Refuse times of another scale than a table states; None states UTC."""
    known = str(stated or "UTC").partition("(")[0].strip().upper()
    wanted = _SAME.get(known, known)
    for column in columns:
        if column.time_scale and column.time_scale != wanted:
            raise usage(
                f"{where}, column {column.name!r}: times of the scale {column.time_scale}, where "
                f"TIMESYS says {wanted}",
                f"convert them: times.{wanted.lower()}; or write them as text, which says no scale",
            )


def location_of(times: Any) -> NDArray[np.float64] | None:
    """Return x, y and z in metres of an astropy Time, one for all rows where they agree."""
    location = getattr(times, "location", None)
    if location is None or not location.size:
        return None
    metres = np.stack([np.asarray(part.to_value("m")) for part in location.geocentric])
    one = metres.reshape(3, -1)[:, 0]
    same = (metres.reshape(3, -1) == one[:, None]).all()
    return one if same else np.broadcast_to(metres, (3, *times.shape))


def differs_by_row(location: NDArray[np.float64] | None) -> bool:
    """Return whether a location of `location_of` is one for each row."""
    return location is not None and location.ndim > 1


def with_places(columns: Sequence[ColumnData]) -> list[ColumnData]:
    """Return columns, with those of the observatory's place where it differs by row.

    Raises
    ------
    UsageError
        Such columns are there and say something else.
    """
    varying = next((each for each in columns if differs_by_row(each.location)), None)
    if varying is None or varying.location is None:
        return list(columns)
    there = {column.name: column for column in columns}
    added = []
    for name, metres in zip(_PLACE, varying.location, strict=True):
        if name not in there:
            added.append(column_data(name, metres, unit="m"))
        elif not np.array_equal(there[name].values, metres):
            raise usage(
                f"the location of column {varying.name!r} is not that of the column {name!r}",
                "leave that column out: it is made from the times",
            )
    return [*columns, *added]


def time_cards(
    cards: Sequence[tuple[str, Any, str]], columns: Sequence[ColumnData]
) -> list[tuple[str, Any, str]]:
    """Return the cards of a new table, with the scale and the place of its times.

    Raises
    ------
    UsageError
        They say several, or others than the cards.
    """
    all_cards = scale_cards(cards, columns)
    first = next((column for column in columns if column.location is not None), None)
    for number, column in enumerate(columns, 1):
        if first is not None and column.location is not None:
            _refuse_two_places(first, column)
        all_cards += place_cards(all_cards, column, number)
    return all_cards


def place_cards(
    cards: Sequence[tuple[str, Any, str]], column: ColumnData, number: int
) -> list[tuple[str, Any, str]]:
    """Return the cards that a table needs for the place of a column's times.

    Raises
    ------
    UsageError
        It has others.
    """
    stated = {keyword: value for keyword, value, _ in cards}
    position = column.position if column.location is None else _THERE
    keyword = f"TRPOS{number}"
    new: list[tuple[str, Any, str]] = []
    if position and keyword not in stated:
        new.append((keyword, position, "where the times were measured"))
    if column.location is None:
        return new
    if column.time_scale in _BARYCENTRIC:
        warnings.warn(
            f"column {column.name!r}: times of the scale {column.time_scale} have a location on "
            "the Earth; it is written\nhint: take times of another scale, or times.location off",
            TachyfitsWarning,
            stacklevel=5,
        )
    if differs_by_row(column.location):
        # It is in columns.
        return new
    for name, metres in zip(_PLACE, column.location.tolist(), strict=True):
        if name not in stated:
            new.append((name, metres, "[m] geocentric place of the observatory"))
        elif stated[name] != metres:
            raise usage(
                f"column {column.name!r}: times at {name} {metres}, where the table's cards say "
                f"{stated[name]}",
                "a table has one place: leave the card out, or write the times to another table",
            )
    return new


def _refuse_two_places(first: ColumnData, column: ColumnData) -> None:
    if not np.array_equal(first.location, column.location):  # type: ignore[arg-type]
        raise usage(
            f"the times of the columns {first.name!r} and {column.name!r} are of two locations: "
            "a table has one (OBSGEO-X, OBSGEO-Y, OBSGEO-Z)",
            "write them to two tables, or take the location off one of them",
        )


def times_there(table: Any, names: Sequence[str], meta: Mapping[str, Any]) -> None:
    """Make times of those columns of text of an astropy Table that TRPOSn calls TOPOCENTER.

    They stay text where the header does not say the place, or they are no times.
    """
    from astropy.coordinates import EarthLocation
    from astropy.time import Time

    known = str(meta.get("TIMESYS") or "UTC").partition("(")[0].strip().upper()
    scale = _SAME.get(known, known).lower()
    place = [table[key] if key in table.colnames else meta.get(key) for key in _PLACE]
    if scale not in Time.SCALES or any(part is None for part in place):
        return
    for name in names:
        column = table[name]
        texts, missing = np.ma.getdata(column), np.ma.getmaskarray(column)
        missing = missing | (texts == "")
        try:
            location = EarthLocation.from_geocentric(*place, unit="m")
            times = Time(
                np.where(missing, "2000-01-01", texts), format="fits", scale=scale,
                precision=_decimals(texts), location=location,
            )  # fmt: skip
        except (ValueError, TypeError):
            continue
        if missing.any():
            times[missing] = np.ma.masked
        times.info.description = column.description
        table.replace_column(name, times)


def _decimals(texts: NDArray[np.str_]) -> int:
    """Return how many decimals of a second the longest text has: from its 21st character on."""
    return min(max(texts.dtype.itemsize // 4 - 20, 0), _DIGITS)
