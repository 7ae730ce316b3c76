"""Times of datasets: from when to when a header says that it was observed, and intervals of MJD."""

from __future__ import annotations

import functools
import math
import re
from typing import Any

from tachyfits.base.errors import foreign_errors
from tachyfits.server.errors import RequestError

_BOUND = re.compile(r"[-+]?(?:inf|infinity|(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?)", re.IGNORECASE)

_DAY = 86400.0


def interval_of(name: str, text: str) -> tuple[float, float]:
    """Return an interval of numbers as DALI writes it: two numbers, or one for both ends.

    Raises
    ------
    RequestError
        The text is something else, or the first number is the larger one.

    >>> interval_of("TIME", "55100 +Inf"), interval_of("TIME", "3")
    ((55100.0, inf), (3.0, 3.0))
    """
    words = text.split()
    if not 1 <= len(words) <= 2 or not all(map(_BOUND.fullmatch, words)):
        raise RequestError(f"invalid {name} {text[:100]!r}: expected one or two numbers")
    low, high = float(words[0]), float(words[-1])
    if low > high or (len(words) == 1 and math.isinf(low)):
        raise RequestError(f"invalid {name} {text[:100]!r}: expected the lower number first")
    return low, high


def times_of(header: Any) -> tuple[float, float] | None:
    """Return the MJD (UTC) of the first and the last moment of an observation; None if unknown.

    >>> times_of({"MJD-OBS": 55000.25, "EXPTIME": 86.4})
    (55000.25, 55000.251)
    """
    begin = _moment(header, ("MJD-BEG", "MJD-OBS"), ("DATE-BEG", "DATE-OBS"))
    if begin is None:
        begin = _moment(header, ("MJD-AVG",), ("DATE-AVG",))
    if begin is None:
        return None
    end = _moment(header, ("MJD-END",), ("DATE-END",))
    if end is None:
        end = begin + (exposure_of(header) or 0.0) / _DAY
    return min(begin, end), max(begin, end)


def exposure_of(header: Any) -> float | None:
    """Return the time of exposure in seconds; None if the header does not say it."""
    for keyword in ("XPOSURE", "EXPTIME", "EXPOSURE", "TELAPSE"):
        value = header.get(keyword)
        if isinstance(value, (int, float)) and 0 <= value < 1e12 and not isinstance(value, bool):
            return float(value)
    return None


def _moment(header: Any, days: tuple[str, ...], dates: tuple[str, ...]) -> float | None:
    for keyword in days:
        value = header.get(keyword)
        if isinstance(value, (int, float)) and 0 < value < 1e7:
            return float(value)
    for keyword in dates:
        text = header.get(keyword)
        if isinstance(text, str) and text.strip():
            return _mjd(text)
    return None


@functools.lru_cache(maxsize=1024)
def _mjd(text: str) -> float | None:
    """Return the MJD of a date in ISO 8601, or in FITS' old form DD/MM/YY; None for others."""
    from astropy.time import Time

    old = re.fullmatch(r"\s*(\d\d)/(\d\d)/(\d\d)\s*", text)
    iso = f"19{old[3]}-{old[2]}-{old[1]}" if old else text.strip().rstrip("Z")
    try:
        with foreign_errors("invalid date", "correct it"):
            return float(Time(iso, scale="utc").mjd)
    except ValueError:
        return None
