"""Conversion between astropy times and ISO 8601 text of the Standard (Sect. 9.1.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import usage
from tachyfits.header.times import scale_named

#: A time with a signed year, as years beyond four digits have.
_LONG = re.compile(r"[+-]\d{5}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d*)?)?")

#: Maximum digits of a second in text, and the digits that are dropped if all are 0.
_DIGITS = 9

#: NumPy units of time with decreasing text length, and that length.
_UNITS = (("ns", 29), ("us", 26), ("ms", 23), ("s", 19), ("D", 10))

#: Any valid time, for undefined cells beneath their mask.
_ANY = "2000-01-01T00:00:00.000"

#: Longest text: with a sign, five digits of the year and all digits of the second.
_WIDEST = len("+") + len(_ANY) + 1 + _DIGITS - 3


def time_text(name: str, times: Any) -> Any:
    """Return an astropy Time as text in its own scale, to the nanosecond, masked where undefined.

    Zeros that end every time are dropped, down to milliseconds.

    Raises
    ------
    UsageError
        A time has no calendar date, or a year of six digits, which the Standard lacks. The message
        has the column ``name``.
    """
    # Years beyond four digits have five digits and a sign in this format, as the Standard requires.
    exact = times.copy(format="fits")
    exact.precision = _DIGITS
    there = ~np.asarray(times.mask).reshape(-1)
    flat = exact.unmasked.reshape(-1)
    all_defined = bool(there.all())
    defined = flat if all_defined else flat[there]
    text = _dates(defined)
    if text is None:
        first = _first_odd(defined)
        place = int(np.flatnonzero(there)[first]) // prod(times.shape[1:])
        raise usage(
            f"column {name!r}, row {place} (0-based): the time {defined[first].jd} (JD) is outside "
            "the calendar",
            "write times.jd, as numbers",
        )
    text = _without_zeros(text)
    if all_defined:
        return text.reshape(times.shape)
    # Make undefined cells as wide as any time that may be written there.
    filled = np.full(len(there), _ANY, max(text.dtype, np.dtype(f"U{len(_ANY)}")))
    filled[there] = text
    return np.ma.MaskedArray(filled, mask=~there).reshape(times.shape)


def _without_zeros(text: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return times without the zeros that end all of them, down to milliseconds."""
    for digits in (3, 6):
        rest = _DIGITS - digits
        if np.char.endswith(text, "0" * rest).all():
            width = int(np.char.str_len(text).max(initial=rest + 1))
            return text.astype(f"U{width - rest}")
    return text


def without_zeros_beyond(times: NDArray[np.bytes_], width: int) -> NDArray[np.bytes_]:
    """Return times of at most ``width`` characters, dropping only zeros of a second.

    >>> without_zeros_beyond(np.array([b"2000-01-01T00:00:00.500000", b""]), 23)
    array([b'2000-01-01T00:00:00.500', b''], dtype='|S23')
    >>> without_zeros_beyond(np.array([b"2000-01-01T00:00:00.0"]), 19)
    array([b'2000-01-01T00:00:00'], dtype='|S19')
    """
    if times.dtype.itemsize <= width:
        return times
    points = np.char.find(times, b".")
    rows = np.ascontiguousarray(times).reshape(-1, 1).view(np.uint8).reshape(times.size, -1)
    nothing = np.isin(rows[:, width:], [0, ord("0"), ord(".")]).all(axis=1).reshape(times.shape)
    if not (
        (np.char.str_len(times) <= width) | (nothing & (points >= 0) & (points <= width))
    ).all():
        return times
    return np.char.rstrip(times.astype(f"S{width}"), b".")


def rounding_to(width: int) -> str:
    """Return advice on rounding times to fit the width.

    >>> rounding_to(25)
    "round times first: values.astype('datetime64[ms]'), with astropy's times.datetime64 as values"
    """
    unit = next((unit for unit, characters in _UNITS if characters <= width), None)
    if unit is None:
        return f"times need {_UNITS[-1][1]} or more"
    how = f"values.astype('datetime64[{unit}]')"
    return f"round times first: {how}, with astropy's times.datetime64 as values"


def _dates(times: Any) -> NDArray[np.str_] | None:
    """Return an astropy Time of one axis as text; None if FITS cannot express one of them."""
    try:
        # An empty Time has an array of floats.
        text = np.asarray(times.value).astype("U")
    except ValueError:
        # ERFA raises these errors without naming the time.
        return None
    return None if np.char.str_len(text).max(initial=0) > _WIDEST else text


def _first_odd(times: Any) -> int:
    """Return the index of the first time that `_dates` cannot convert."""
    first, end = 0, len(times)
    while end - first > 1:
        middle = (first + end) // 2
        first, end = (first, middle) if _dates(times[first:middle]) is None else (middle, end)
    return first


def times_of(column: Any, scale: Any, place: Sequence[Any] | None) -> Any:
    """Return a column of text as times in a scale, at a location in metres.

    Raises
    ------
    ValueError, TypeError
        astropy does not know the scale.
    """
    from astropy.coordinates import EarthLocation
    from astropy.time import Time

    scale = scale_named(scale).lower()
    if scale not in Time.SCALES:
        raise ValueError(f"unknown time scale: {scale}")
    texts, missing = np.ma.getdata(column), np.ma.getmaskarray(column)
    missing = missing | (texts == "")
    filled = np.where(missing, "2000-01-01", texts)
    location = None
    if place is not None:
        # A location per row applies to all times of that row.
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
    """Return the astropy format for parsing times: the fast one if no year has a sign.

    Raises
    ------
    ValueError
        A signed year is followed by text that astropy's "fits" format ignores.
    """
    signed = np.isin(texts.astype("U1"), ("+", "-"))
    if not signed.any():
        return "isot"
    odd = next((text for text in texts[signed].tolist() if not _LONG.fullmatch(text)), None)
    if odd is not None:
        raise ValueError(f"no time: {odd}")
    return "fits"


def _decimals(texts: NDArray[np.str_]) -> int:
    """Return the number of decimals of a second in the longest text, from its 21st character on."""
    return min(max(texts.dtype.itemsize // 4 - 20, 0), _DIGITS)
