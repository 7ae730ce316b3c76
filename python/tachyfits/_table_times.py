"""Times in tables: ISO 8601 text in columns, and what is said of them: time scale and place.

The Standard (Sect. 9.2.1) has one scale for the times of a table, UTC where none is said, and
another one for a column of which TCTYPn says it; and one place of the observatory (Sect. 9.2.3),
which TRPOSn says to be that of a column. So times of astropy, which say theirs, are written with
these, and rows of a table that says others are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits._columns import TableColumn
from tachyfits._errors import usage, warn
from tachyfits._table_meta import (
    CARRIED,
    carried_of,
    is_time_scale,
    position_of,
    scale_named,
    time_scale_of,
)
from tachyfits._table_values import ColumnData, column_data
from tachyfits._units import fits_unit

#: Where the observatory is: geocentric, in metres. Columns of these names have it row by row.
PLACE = ("OBSGEO-X", "OBSGEO-Y", "OBSGEO-Z")

#: Keys of a column's meta in astropy for what the header says of it, TRPOSn and TCTYPn of times.
SAID_IN_META = ("TRPOS", "TCTYP", *CARRIED)

#: TRPOSn of times that were measured there.
_THERE = "TOPOCENTER"

#: Scales of times at the barycentre of the solar system.
_BARYCENTRIC = ("TDB", "TCB")

#: A time whose year has a sign, as years beyond four digits have it.
_LONG = re.compile(r"[+-]\d{5}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d*)?)?")

#: The beginning of a date with a time of the day.
_WITH_CLOCK = re.compile(rb"[+-]?\d{4,5}-\d\d-\d\dT\d\d:")

#: Units of time (Table 34 of the Standard).
_UNITS = frozenset(["s", "d", "a", "cy", "min", "h", "yr", "ta", "Ba"])

#: Digits of a second that text has at most, and those that are left out where all are 0.
_DIGITS = 9

#: A time, as those that are undefined have it beneath their mask.
_ANY = "2000-01-01T00:00:00.000"

#: Characters of the longest: with a sign, five digits of the year and all of the second.
_WIDEST = len("+") + len(_ANY) + 1 + _DIGITS - 3


def time_text(name: str, times: Any) -> Any:
    """Return an astropy Time as text of its own scale, to the nanosecond, masked where undefined.

    Zeros that end every time are left out, down to milliseconds.

    Raises
    ------
    UsageError
        No calendar has one of them, or only one with years of six digits, which the Standard has
        not; ``name`` is that of the column.
    """
    # Years beyond four digits have five and a sign there, as the Standard wants it.
    exact = times.copy(format="fits")
    exact.precision = _DIGITS
    there = ~np.asarray(times.mask).reshape(-1)
    flat = exact.unmasked.reshape(-1)
    whole = bool(there.all())
    known = flat if whole else flat[there]
    text = _dates(known)
    if text is None:
        first = _first_odd(known)
        place = int(np.flatnonzero(there)[first]) // prod(times.shape[1:])
        raise usage(
            f"column {name!r}, row {place} (0-based): no calendar has the time {known[first].jd} "
            "(JD)",
            "write times.jd, as numbers",
        )
    text = _without_zeros(text)
    if whole:
        return text.reshape(times.shape)
    # What is undefined is as wide as any time that may come to be there.
    every = np.full(len(there), _ANY, max(text.dtype, np.dtype(f"U{len(_ANY)}")))
    every[there] = text
    return np.ma.MaskedArray(every, mask=~there).reshape(times.shape)


def _without_zeros(text: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return times without the zeros that end all of them, down to milliseconds."""
    for digits in (3, 6):
        rest = _DIGITS - digits
        if np.char.endswith(text, "0" * rest).all():
            width = int(np.char.str_len(text).max(initial=rest + 1))
            return text.astype(f"U{width - rest}")
    return text


def _dates(times: Any) -> NDArray[np.str_] | None:
    """Return an astropy Time of one axis as text; None where FITS has none for one of them."""
    try:
        # No times are an array of floats.
        text = np.asarray(times.value).astype("U")
    except ValueError:
        # ERFA's errors are such, and do not say which.
        return None
    return None if np.char.str_len(text).max(initial=0) > _WIDEST else text


def _first_odd(times: Any) -> int:
    """Return the number of the first time for which `_dates` has no text, as it has for all."""
    first, end = 0, len(times)
    while end - first > 1:
        middle = (first + end) // 2
        first, end = (first, middle) if _dates(times[first:middle]) is None else (middle, end)
    return first


def scale_cards(
    cards: Sequence[tuple[str, Any, str]], columns: Sequence[ColumnData]
) -> list[tuple[str, Any, str]]:
    """Return the cards of a new table, with TIMESYS if its columns say a time scale.

    It is that of the first; TCTYPn says the others (`place_cards`).
    """
    scale = next((column.time_scale for column in columns if column.time_scale), None)
    if scale is None or any(card[0] == "TIMESYS" for card in cards):
        return list(cards)
    return [*cards, ("TIMESYS", scale, "time scale of the columns of times")]


def _check_scale(
    column: ColumnData, keyword: str, stated: Any, where: str, brought: str | None = None
) -> None:
    """Refuse times of another scale than a keyword states; None states UTC.

    ``brought``: the scale of times that say none themselves.
    """
    said = column.time_scale or column.coordinate or brought
    wanted = scale_named(stated)
    if not said or scale_named(said) == wanted:
        return
    hint = f"convert them: times.{wanted.lower()}; or write them as text, which says no scale"
    if column.time_scale is None:
        ours, theirs = scale_named(said).lower(), wanted.lower()
        hint = (
            f'make times of them first: Time(values, scale="{ours}").{theirs}; or give the arrays '
            "alone, in a dict, which says no scale"
        )
    raise usage(
        f"{where}, column {column.name!r}: times of the scale {said}, where {keyword} says "
        f"{wanted}",
        hint,
    )


def _is_time(column: ColumnData) -> bool:
    """Return whether a column that says no scale has times: its cards or its text say so.

    One that is called TIME, in a unit of time, has them by custom.
    """
    if column.position is not None:
        return True
    values = column.values
    if isinstance(values, np.ndarray) and values.dtype.kind == "S":
        flat = values.reshape(-1)
        first = int((flat != b"").argmax()) if flat.size else 0
        return any(_WITH_CLOCK.match(cell) for cell in flat[first : first + 1].tolist())
    return column.name.upper() == "TIME" and (column.unit or "").strip() in _UNITS


def location_of(times: Any) -> NDArray[np.float64] | None:
    """Return x, y and z in metres of an astropy Time, one for all rows where they agree."""
    location = getattr(times, "location", None)
    if location is None or not location.size:
        return None
    metres = np.stack([np.asarray(part.to_value("m")) for part in location.geocentric])
    flat = metres.reshape(3, -1)
    if np.array_equal(flat, np.broadcast_to(flat[:, :1], flat.shape), equal_nan=True):
        return flat[:, 0]
    return np.broadcast_to(metres, (3, *times.shape))


def differs_by_row(location: NDArray[np.float64] | None) -> bool:
    """Return whether a location of `location_of` is one for each row."""
    return location is not None and location.ndim > 1


def with_places(
    columns: Sequence[ColumnData], theirs: Sequence[TableColumn] | None = None
) -> list[ColumnData]:
    """Return columns, with those of the observatory's place where they are needed.

    ``theirs``: the columns of the table that these are rows of, which has the place in columns, one
    of a row or one of each element, or has not; None for a new table, which has it in columns where
    it differs by row.

    Raises
    ------
    UsageError
        The times say several places.
    """
    placed = [(column, column.location) for column in columns if column.location is not None]
    if not placed:
        return list(columns)
    first, location = placed[0]
    for column, other in placed:
        if not np.array_equal(location, other, equal_nan=True):
            raise usage(
                f"the times of the columns {first.name!r} and {column.name!r} are of two "
                "locations: a table has one (OBSGEO-X, OBSGEO-Y, OBSGEO-Z)",
                "write them to two tables, or take the location off one of them",
            )
    if theirs is None:
        shapes = {name: location.shape[2:] for name in PLACE if differs_by_row(location)}
    else:
        shapes = {column.name: column.shape for column in theirs}
    ours = {column.name for column in columns}
    added = []
    for name, metres in zip(PLACE, location, strict=True):
        if name in shapes and name not in ours:
            added.append(column_data(name, _by_row(metres, first.rows, shapes[name]), unit="m"))
    return [*columns, *added]


def _by_row(metres: NDArray[np.float64], rows: int, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a place of all rows, of each, or of each element, as cells of a shape."""
    if metres.ndim > 1:
        each = metres.reshape(rows, -1)
        if shape or not np.array_equal(each, np.broadcast_to(each[:, :1], each.shape)):
            return metres
        metres = each[:, 0]
    # Of a row it is that of all its elements.
    return np.broadcast_to(metres.reshape(-1, *(1,) * len(shape)), (rows, *shape))


def time_cards(
    cards: Sequence[tuple[str, Any, str]], columns: Sequence[ColumnData]
) -> list[tuple[str, Any, str]]:
    """Return the cards of a new table, with the scales and the place of its times.

    Raises
    ------
    UsageError
        They say several places, or others than the cards.
    """
    all_cards = scale_cards(cards, columns)
    there = _place_columns(columns)
    for number, column in enumerate(columns, 1):
        all_cards += place_cards(all_cards, column, number, there)
    return all_cards


def place_cards(
    cards: Sequence[tuple[str, Any, str]],
    column: ColumnData,
    number: int,
    there: Mapping[str, Any],
) -> list[tuple[str, Any, str]]:
    """Return the cards that a table needs for what a column's data say: limits, scale, place.

    ``there``: what the table's columns say of the place, in metres by name, which needs no cards.

    Raises
    ------
    UsageError
        It has others.
    """
    stated = {keyword.upper(): value for keyword, value, _ in cards}
    carried = ((f"{word}{number}", value, "") for word, value in column.carried)
    new = [card for card in carried if card[0] not in stated]
    new += _own_scale_cards(stated, column, number)
    position = column.position if column.location is None else _THERE
    keyword = f"TRPOS{number}"
    if position and keyword not in stated:
        new.append((keyword, position, "where the times were measured"))
    if column.location is None:
        return new
    _check_position(column, stated.get(keyword), "the table's cards")
    if column.time_scale in _BARYCENTRIC:
        warn(
            f"column {column.name!r}: times of the scale {column.time_scale} have a location on "
            "the Earth; it is written\nhint: take times of another scale, or times.location off"
        )
    for name, metres in zip(PLACE, column.location, strict=True):
        if name in there:
            _check_place(column, name, metres, there[name], "the table's columns")
        if name in stated:
            _check_place(column, name, metres, stated[name], "the table's cards")
        elif name not in there:
            new.append((name, metres.item(), "[m] geocentric place of the observatory"))
    return new


def _own_scale_cards(
    stated: Mapping[str, Any], column: ColumnData, number: int
) -> list[tuple[str, Any, str]]:
    """Return TCTYPn of a column of another scale than TIMESYS, or that had one before."""
    own, keyword = column.coordinate, f"TCTYP{number}"
    if column.time_scale and column.time_scale != scale_named(stated.get("TIMESYS")):
        own = column.time_scale
    if time_scale_of(stated, number):
        _check_scale(column, keyword, stated[keyword], "the table's cards")
    elif own and keyword not in stated:
        return [(keyword, own, "time scale of the column")]
    return []


@dataclass(frozen=True)
class Stated:
    """What a table says of all its times: the scale, and where they were measured.

    Attributes
    ----------
    scale, position
        TIMESYS and TREFPOS; None without one.
    place
        Gives what it says of a name of `PLACE`, in metres, of all rows or of each; None: nothing.
    reference
        What times that are numbers are counted from (`time_reference`); None: it does not say.
    """

    scale: Any
    position: Any
    place: Callable[[str], Any]
    reference: float | None


def check_location(stated: Stated, columns: Sequence[ColumnData], where: str) -> None:
    """Refuse times of another place than the table states that they are to be in.

    What ``columns`` have of the place themselves holds for the rows that they are.
    """
    there = _place_columns(columns)
    for column in columns:
        if column.location is None:
            continue
        for name, metres in zip(PLACE, column.location, strict=True):
            found = there[name] if name in there else stated.place(name)
            if found is None:
                raise usage(
                    f"{where}, column {column.name!r}: times with a location, where the table has "
                    f"no {name}",
                    f"state the place in the header first ({', '.join(PLACE)} in metres), or give "
                    "the times without their location",
                )
            _check_place(column, name, metres, found, f"cards or columns of {where}")


@dataclass(frozen=True)
class Brought:
    """What a table that rows are taken from says of their times.

    Attributes
    ----------
    scale
        TIMESYS; None without one.
    reference
        What times that are numbers are counted from; None: it does not say.
    of_each
        Columns of another scale say it, as they do not in a table that astropy read.
    """

    scale: Any = None
    reference: float | None = None
    of_each: bool = True


def check_times(
    stated: Stated,
    column: TableColumn,
    data: ColumnData,
    where: str,
    brought: Brought = Brought(),
) -> None:
    """Refuse times of another scale than a column's, or on the Earth where those are elsewhere."""
    own = column.time_scale
    keyword = f"TCTYP{column.number + 1}" if own else "TIMESYS"
    is_time = own is not None or column.position is not None or _is_time(data)
    scale = None
    if is_time and is_time_scale(brought.scale) and (own is None or brought.of_each):
        scale = brought.scale
    _check_scale(data, keyword, own or stated.scale, where, scale)
    if is_time and column.dtype.kind in "iuf":
        _check_reference(column.name, stated.reference, brought.reference, where)
    if data.location is not None:
        _check_position(data, column.position or stated.position, where)


def _check_reference(name: str, ours: float | None, theirs: float | None, where: str) -> None:
    if ours is not None and theirs is not None and ours != theirs:
        raise usage(
            f"{where}, column {name!r}: times that are counted from MJD {theirs} (MJDREF, JDREF), "
            f"where those of the table are from MJD {ours}",
            f"add {theirs - ours} days to them first, in their unit; and give the arrays alone, in "
            "a dict, which says no reference",
        )


def _check_position(column: ColumnData, position: Any, where: str) -> None:
    if position is not None and str(position).strip().upper() != _THERE:
        raise usage(
            f"column {column.name!r}: times with a location, where {where} say that they are of "
            f"{position!r} (TRPOSn, TREFPOS), not of {_THERE!r}",
            "change that, or give the times without their location",
        )


def in_metres(values: Any, unit: str | None) -> Any:
    """Return lengths in metres, those without a unit as they are; None if they are none."""
    known = fits_unit(unit or "m")
    is_number = isinstance(values, np.ndarray) and values.dtype.kind in "iuf"
    if known is None or not is_number or not known.is_equivalent("m"):
        return None
    return values if known == "m" else known.to("m", np.ma.filled(values.astype(float), np.nan))


def _place_columns(columns: Sequence[ColumnData]) -> dict[str, Any]:
    """Return what columns say of the observatory's place, in metres by name."""
    if all(column.location is None for column in columns):
        # The unit needs astropy, which takes long to import.
        return {}
    place = [column for column in columns if column.name in PLACE]
    return {column.name: in_metres(column.values, column.unit) for column in place}


def _check_place(column: ColumnData, name: str, metres: Any, found: Any, where: str) -> None:
    """Refuse times at another place than is said; of each row where it is an array."""
    row = ""
    if np.asarray(found).dtype.kind in "iuf":
        # What has fewer axes holds for all elements of a row.
        axes = max(np.ndim(found), np.ndim(metres))
        ours, theirs = (
            each.reshape(each.shape + (1,) * (axes - each.ndim))
            for each in map(np.asarray, (metres, found))
        )
        ours, theirs = np.broadcast_arrays(ours, theirs)
        # Other units than metres, and decimals of a card, leave the last digits open.
        odd = np.argwhere(~np.isclose(theirs, ours, rtol=1e-12, atol=0, equal_nan=True))
        if not len(odd):
            return
        row = f", row {odd[0][0]} (0-based)" if axes else ""
        metres, found = ours[tuple(odd[0])], theirs[tuple(odd[0])]
    raise usage(
        f"column {column.name!r}{row}: times at {name} {metres}, where {where} say {found}",
        "all times of a row are of one place: leave out cards and columns that say another one, or "
        "write the times to another table",
    )


def make_times(table: Any, columns: Mapping[str, TableColumn], meta: Mapping[str, Any]) -> None:
    """Make times of columns of text of an astropy Table, where the header says that they are such.

    It does by TCTYPn, a time scale, or by TRPOSn, TOPOCENTER, and the place. What is no time stays
    text, and numbers stay such: the meta of the column has what was said, by `SAID_IN_META`. Where
    there are times, that of the table has TIMESYS, UTC if the header has none.
    """
    place: list[Any] = [table[key] if key in table.colnames else meta.get(key) for key in PLACE]
    is_known = all(part is not None for part in place)
    for name, column in columns.items():
        there = place if is_known and column.position == _THERE else None
        said = {"TRPOS": column.position, "TCTYP": column.time_scale}
        if column.dtype.kind == "U" and (there is not None or column.time_scale is not None):
            with suppress(ValueError, TypeError):
                times = _times_of(table[name], column.time_scale or meta.get("TIMESYS"), there)
                times.info.meta = table[name].info.meta
                table.replace_column(name, times)
                # Otherwise the next header would have the scale of these times, for text as well.
                table.meta.setdefault("TIMESYS", "UTC")
                said = {"TRPOS": None if there is not None else column.position}
        known = {key: text for key, text in said.items() if text is not None} | dict(column.carried)
        if known:
            table[name].info.meta = {**(table[name].info.meta or {}), **known}


def said_in_meta(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what the meta of a column of astropy has for its cards (`make_times`).

    >>> said_in_meta({"TRPOS": "GEOCENTER", "TCTYP": "RA---TAN", "TUCD": "time.epoch", "note": 1})
    {'position': 'GEOCENTER', 'carried': (('TUCD', 'time.epoch'),)}
    """
    cards = {f"{key}1": text for key, text in (meta or {}).items() if key in SAID_IN_META}
    said = {
        "position": position_of(cards, 1),
        "coordinate": time_scale_of(cards, 1),
        "carried": carried_of(cards, 1),
    }
    return {key: found for key, found in said.items() if found}


def _times_of(column: Any, scale: Any, place: Sequence[Any] | None) -> Any:
    """Return a column of text as times of a scale, at the place in metres.

    Raises
    ------
    ValueError, TypeError
        They are none that astropy has.
    """
    from astropy.coordinates import EarthLocation
    from astropy.time import Time

    scale = scale_named(scale).lower()
    if scale not in Time.SCALES:
        raise ValueError(f"no time scale of astropy: {scale}")
    texts, missing = np.ma.getdata(column), np.ma.getmaskarray(column)
    missing = missing | (texts == "")
    filled = np.where(missing, "2000-01-01", texts)
    location = None
    if place is not None:
        # A place of each row is that of all its times.
        by_row = [
            part.reshape(part.shape + (1,) * (texts.ndim - part.ndim)) if np.ndim(part) else part
            for part in place
        ]
        location = EarthLocation.from_geocentric(*by_row, unit="m")
    times = Time(
        filled, format=_format_of(filled), scale=scale, precision=_decimals(texts),
        location=location,
    )  # fmt: skip
    times.format = "fits"
    if missing.any():
        times[missing] = np.ma.masked
    times.info.description = column.description
    return times


def _format_of(texts: NDArray[np.str_]) -> str:
    """Return the format of astropy's in which it reads times: fast, where no year has a sign.

    Raises
    ------
    ValueError
        One with a sign is followed by what is no time, which astropy's "fits" leaves out.
    """
    signed = np.isin(texts.astype("U1"), ("+", "-"))
    if not signed.any():
        return "isot"
    odd = next((text for text in texts[signed].tolist() if not _LONG.fullmatch(text)), None)
    if odd is not None:
        raise ValueError(f"no time: {odd}")
    return "fits"


def _decimals(texts: NDArray[np.str_]) -> int:
    """Return how many decimals of a second the longest text has: from its 21st character on."""
    return min(max(texts.dtype.itemsize // 4 - 20, 0), _DIGITS)
