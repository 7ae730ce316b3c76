"""Times of datasets: the observation interval in a header, and intervals of MJD."""

from __future__ import annotations

import functools
import math
import re
from typing import Any

from tachyfits.base import foreign_errors
from tachyfits.header import BEGIN, END, MIDDLE, stated_time, time_of
from tachyfits.server.errors import RequestError

_BOUND = re.compile(r"[-+]?(?:inf|infinity|(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?)", re.IGNORECASE)

_DAY = 86400.0


def interval_of(name: str, text: str) -> tuple[float, float]:
    """Parse an interval of DALI: two numbers, or one number for both ends.

    Raises
    ------
    RequestError
        The text is not an interval, or the first number is the larger one.

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
    """Return the start and the end of an observation as MJD (UTC); None if unknown.

    >>> times_of({"MJD-OBS": 55000.25, "EXPTIME": 86.4})
    (55000.25, 55000.251)
    >>> times_of({"MJD-AVG": 55000.25, "EXPTIME": 86400})
    (54999.75, 55000.75)
    """
    exposure = (exposure_of(header) or 0.0) / _DAY
    begin = _mjd(stated_time(header.get, BEGIN))
    if begin is None:
        middle = _mjd(stated_time(header.get, MIDDLE))
        if middle is None:
            return None
        begin = middle - exposure / 2
    end = _mjd(stated_time(header.get, END))
    if end is None:
        end = begin + exposure
    return min(begin, end), max(begin, end)


def exposure_of(header: Any) -> float | None:
    """Return the exposure time in seconds; None if the header lacks it."""
    for keyword in ("XPOSURE", "EXPTIME", "EXPOSURE", "TELAPSE"):
        value = header.get(keyword)
        if isinstance(value, (int, float)) and 0 <= value < 1e12 and not isinstance(value, bool):
            return float(value)
    return None


@functools.lru_cache(maxsize=1024)
def _mjd(time: tuple[float | str, str] | None) -> float | None:
    """Convert a time from a header to MJD (UTC); None if it is invalid."""
    if time is None:
        return None
    value, scale = time
    if scale == "UTC" and isinstance(value, float):
        return value
    try:
        with foreign_errors("invalid date", "correct it"):
            return float(time_of(value, scale).utc.mjd)
    except ValueError:
        return None
