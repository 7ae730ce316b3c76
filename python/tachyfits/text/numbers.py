"""Lists of numbers as users write them."""

from __future__ import annotations

import math


def parse_numbers(text: str, most: int | None = None) -> tuple[float, ...] | None:
    """Return finite numbers with commas between, no more than ``most``; None of other texts.

    >>> parse_numbers("1,2.5, -3"), parse_numbers("1,2,3", most=2)
    ((1.0, 2.5, -3.0), None)
    >>> parse_numbers("1,nan"), parse_numbers("")
    (None, None)
    """
    parts = text.split(",", -1 if most is None else most)
    try:
        found = tuple(map(float, parts))
    except ValueError:
        return None
    is_long = most is not None and len(found) > most
    return None if is_long or not all(map(math.isfinite, found)) else found
