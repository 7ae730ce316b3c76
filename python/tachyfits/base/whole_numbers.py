"""Whole numbers from users: threads, rows, bins."""

from __future__ import annotations

from operator import index
from typing import Any

from tachyfits.base.errors import usage


def whole_number(value: Any, least: int = 0) -> int | None:
    """Return a 64-bit integer of any library as a Python int; None for anything else.

    Truth values do not count as numbers.

    >>> import numpy as np
    >>> whole_number(np.uint8(3)), whole_number(0, least=1), whole_number(2**63), whole_number(True)
    (3, None, None, None)
    """
    if isinstance(value, bool):
        return None
    try:
        number = index(value)
    except TypeError:
        return None
    return number if least <= number < 2**63 else None


def check_threads(threads: Any) -> int:
    """Return a valid number of threads; raise UsageError otherwise."""
    number = whole_number(threads)
    if number is None:
        raise usage(
            f"invalid threads {threads!r}: expected an integer", "use 1, 2, ...; 0: one per core"
        )
    return number
