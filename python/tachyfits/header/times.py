"""Begin and end of an observation: dates and MJDs of a header, in the scale of TIMESYS."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

#: Other names of time scales (Table 30 of the Standard).
_SAME = {"GMT": "UTC", "TDT": "TT", "ET": "TT", "IAT": "TAI"}

#: Keywords of the times of an observation, the most exact first.
BEGIN = ("MJD-BEG", "MJD-OBS", "DATE-BEG", "DATE-OBS")
MIDDLE = ("MJD-AVG", "DATE-AVG")
END = ("MJD-END", "DATE-END")

#: Offset of GPS time behind TAI in seconds.
_GPS_SECONDS = 19

_OLD_DATE = re.compile(r"(\d\d)/(\d\d)/(\d\d)")


def scale_named(text: Any) -> str:
    """Return the time scale named by TIMESYS or TCTYPn, without its realisation; UTC for None.

    >>> [scale_named(text) for text in ("UTC(NIST)", "tdt", None)]
    ['UTC', 'TT', 'UTC']
    """
    scale = str(text or "UTC").partition("(")[0].strip().upper()
    return _SAME.get(scale, scale)


def stated_time(
    get: Callable[[str], Any], keywords: tuple[str, ...]
) -> tuple[float | str, str] | None:
    """Return the MJD or the date of the first usable keyword, and its scale; None without one.

    ``get`` returns the value of a keyword, or None.

    >>> header = {"DATE-OBS": "2009-06-18", "TIMESYS": "tai", "MJD-AVG": 0.0}
    >>> stated_time(header.get, BEGIN), stated_time(header.get, MIDDLE)
    (('2009-06-18', 'TAI'), None)
    """
    for keyword in keywords:
        value = get(keyword)
        if keyword.startswith("MJD"):
            if isinstance(value, (int, float)) and 0 < value < 1e7:
                return float(value), scale_named(get("TIMESYS"))
        elif isinstance(value, str) and value.strip():
            return value.strip(), scale_named(get("TIMESYS"))
    return None


def time_of(stated: float | str, scale: str) -> Any:
    """Return an MJD, or a date in ISO 8601 or FITS' old form DD/MM/YY, as an astropy Time.

    Raises
    ------
    ValueError
        The date is invalid, or the scale, such as LOCAL, does not convert to others.

    >>> time_of("18/06/99", "UTC").iso, time_of(55000.25, "TAI").utc.iso
    ('1999-06-18 00:00:00.000', '2009-06-18 05:59:26.000')
    >>> time_of("2009-06-18T00:00:00Z", "GPS").utc.iso
    '2009-06-17 23:59:45.000'
    """
    import astropy.units as u
    from astropy.time import Time

    # UT1 is within a second of UTC, and would need tables that are downloaded.
    astropy_scale = {"GPS": "tai", "UT": "utc", "UT1": "utc"}.get(scale, scale.lower())
    if astropy_scale not in Time.SCALES or astropy_scale == "local":
        raise ValueError(f"unknown time scale {scale!r}")
    if isinstance(stated, str):
        old = _OLD_DATE.fullmatch(stated)
        iso = f"19{old[3]}-{old[2]}-{old[1]}" if old else stated.rstrip("Z")
        try:
            time = Time(iso, scale=astropy_scale)
        except ValueError:
            # astropy's own message lists why each of its formats does not match.
            raise ValueError(f"invalid date {stated!r}: expected YYYY-MM-DDThh:mm:ss") from None
    else:
        time = Time(stated, format="mjd", scale=astropy_scale)
    return time + _GPS_SECONDS * u.s if scale == "GPS" else time
