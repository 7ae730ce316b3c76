"""Beams in arguments and options: "15arcsec", or two axes and an angle."""

from __future__ import annotations

import math
from typing import Any

from tachyfits.base.errors import either, foreign_errors, usage
from tachyfits.text.units import ANGLE, asked_quantity

#: Maximum width of a beam, in degrees.
_WIDEST = 360.0


def asked_beam(value: Any) -> tuple[float, float, float]:
    """Parse a beam given by a user; return its full widths and position angle, in degrees.

    Parameters
    ----------
    value
        Text, an astropy Quantity (a round beam), a sequence of two or three of either (major and
        minor axis, and the position angle from north through east), or an object with ``major``,
        ``minor`` and ``pa``, such as a beam of radio_beam.

    >>> [round(3600 * width) for width in asked_beam("15arcsec, 10arcsec, 30deg")[:2]]
    [15, 10]
    >>> asked_beam("1deg"), asked_beam(("2deg", "1deg", 30))
    ((1.0, 1.0, 0.0), (2.0, 1.0, 30.0))
    """
    hint = 'give its full width, "15arcsec", or axes and angle, "15arcsec,10arcsec,30deg"'
    parts = value.split(",") if isinstance(value, str) else value
    if all(hasattr(value, name) for name in ("major", "minor", "pa")):
        parts = (value.major, value.minor, value.pa)
    if not isinstance(parts, (list, tuple)):
        parts = (parts,)
    if not 1 <= len(parts) <= 3:
        raise usage(f"invalid beam {value!r}: expected 1 to 3 angles, found {len(parts)}", hint)
    with foreign_errors(f"invalid beam {value!r}", hint):
        widths = [float(asked_quantity(part, ANGLE).to_value("deg")) for part in parts[:2]]
        angle = float(asked_quantity(parts[2], ANGLE, "deg").to_value("deg")) if parts[2:] else 0.0
    major, minor = widths[0], widths[-1]
    if not (0 < minor <= major <= _WIDEST and math.isfinite(angle)):
        raise usage(
            f"invalid beam {value!r}: expected a major axis of at least the minor one, both "
            "positive and at most 360 deg",
            either(hint),
        )
    return major, minor, angle % 180.0
