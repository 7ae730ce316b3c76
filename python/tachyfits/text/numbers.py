"""Lists of numbers as users write them."""

from __future__ import annotations

import math


def parse_numbers(text: str, most: int | None = None) -> tuple[float, ...] | None:
    """Parse at most ``most`` comma-separated finite numbers; return None for other texts.

    >>> parse_numbers("1,2.5, -3"), parse_numbers("1,2,3", most=2)
    ((1.0, 2.5, -3.0), None)
    >>> parse_numbers("1,nan"), parse_numbers("")
    (None, None)
    """
    parts = text.split(",", -1 if most is None else most)
    try:
        numbers = tuple(map(float, parts))
    except ValueError:
        return None
    is_long = most is not None and len(numbers) > most
    return None if is_long or not all(map(math.isfinite, numbers)) else numbers
