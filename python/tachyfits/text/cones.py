"""Cones on the sky, "83.63,22.01,5arcmin": a position and a radius."""

from __future__ import annotations

import math
import re
from typing import Any

from tachyfits.base.errors import foreign_errors, usage
from tachyfits.text.units import ANGLE, asked_quantity

#: Units of angles, in degrees.
_DEGREES = {"": 1.0, "deg": 1.0, "arcmin": 1 / 60, "arcsec": 1 / 3600}
_SIMPLE = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(|deg|arcmin|arcsec)\s*")

_HINT = "give longitude, latitude and radius: 83.63,22.01,5arcmin, or 05h34m32s,+22d00m52s,5arcmin"


def cone_of_text(text: str) -> tuple[float, float, float]:
    """Return longitude, latitude and radius in degrees.

    >>> cone_of_text("83.5, -5.4, 0.1"), cone_of_text("0h, 22d30m, 30arcmin")
    ((83.5, -5.4, 0.1), (0.0, 22.5, 0.5))
    """
    parts = text.split(",")
    if len(parts) != 3:
        raise usage(f"invalid cone {text!r}: expected 3 parts, found {len(parts)}", _HINT)
    return cone(*parts)


def cone(longitude: Any, latitude: Any, radius: Any) -> tuple[float, float, float]:
    """Return longitude, latitude and radius in degrees.

    Numbers are degrees; text may have a unit, or hours or degrees, minutes and seconds as astropy
    reads them.
    """
    with foreign_errors(f"invalid cone {longitude}, {latitude}, {radius}", _HINT):
        parts = (_degrees(longitude) % 360.0, _degrees(latitude), _degrees(radius))
    if not (all(map(math.isfinite, parts)) and abs(parts[1]) <= 90 and 0 <= parts[2] <= 180):
        raise usage(
            f"invalid cone {longitude}, {latitude}, {radius}: expected a latitude of -90 to 90 deg "
            "and a radius of 0 to 180 deg",
            _HINT,
        )
    return parts


def _degrees(value: Any) -> float:
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, str):
        return float(asked_quantity(value, ANGLE, "deg").to_value("deg"))
    if parsed := _SIMPLE.fullmatch(value):
        # Same result as astropy, whose import takes most of the time of a command.
        return float(parsed[1]) * _DEGREES[parsed[2]]
    from astropy.coordinates import Angle

    return float(Angle(value.strip()).to_value("deg"))
