"""Number formats: conversion between Python's and TDISPn of the Standard."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

#: Leading zero, width, decimals and letter of "{:8.3f}", "%8.3f" or "8.3f".
_PYTHONS_FORMAT = re.compile(r"(?:\{:|%)?[<>^=+ -]*(0?)(\d+)?(?:\.(\d+))?([a-zA-Z])\}?")


_REAL = {"f": "F", "e": "E", "g": "G"}
_WHOLE = {"d": "I", "x": "Z", "o": "O", "b": "B"}


#: Letters of TDISPn by Python's, for each kind of NumPy values.
_DISPLAYS = {"f": _REAL, "i": _WHOLE | _REAL, "u": _WHOLE | _REAL, "S": {"s": "A"}, "U": {"s": "A"}}


def format_of(display: str | None) -> str | None:
    """Return Python's format for TDISPn, or None if there is no equivalent.

    >>> [format_of(text) for text in ("F8.3", "I5", "E12.4", "Z4", "B16.16", None)]
    ['8.3f', '5d', '12.4e', '4x', '016b', None]
    """
    letters = {"F": "f", "E": "e", "D": "e", "G": "g", "I": "d", "Z": "x", "O": "o", "B": "b"}
    if not display or display[0].upper() not in letters:
        return None
    letter, digits = letters[display[0].upper()], display[1:].split("E")[0]
    width, _, decimals = digits.partition(".")
    if not width.isdigit() or (decimals and not decimals.isdigit()):
        return None
    if letter in "feg":
        return f"{width}.{decimals}{letter}" if decimals else f"{width}{letter}"
    # The second number is the minimum number of digits; Python pads to the full width or not at
    # all.
    return f"0{width}{letter}" if decimals == width else f"{width}{letter}"


def display_of(form: Any, dtype: np.dtype[Any]) -> str | None:
    """Return TDISPn for Python's format of values of a type, or None if there is no equivalent.

    >>> [display_of(form, np.dtype("f8")) for form in ("8.3f", "{:12.4e}", "%6.2e", "%.2f", "5d")]
    ['F8.3', 'E12.4', 'E11.2', 'F11.2', None]
    >>> [display_of(form, np.dtype("u2")) for form in ("5d", "4x", "016b")]
    ['I5', 'Z4', 'B16.16']
    """
    match = _PYTHONS_FORMAT.fullmatch(form) if isinstance(form, str) else None
    letter = _DISPLAYS.get(dtype.kind, {}).get(match[4].lower()) if match else None
    if match is None or letter is None:
        return None
    zero, width = match[1], int(match[2] or 0)
    if letter in "FEG":
        decimals = int(match[3] or 6)
        # Python's width is a minimum; TDISPn needs room for a point and two digits of exponent.
        if width < decimals + (5 if letter == "E" else 1):
            # A sign, a digit, a point and an exponent besides the decimals.
            width = decimals + 9
        return f"{letter}{width}.{decimals}"
    return (f"{letter}{width}.{width}" if zero else f"{letter}{width}") if width else None
