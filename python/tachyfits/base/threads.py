"""Numbers of threads, as every operation takes them."""

from __future__ import annotations

from typing import Any

from tachyfits.base.errors import usage
from tachyfits.base.numbers import whole_number


def check_threads(threads: Any) -> int:
    """Return a valid number of threads; raise UsageError otherwise."""
    number = whole_number(threads)
    if number is None:
        raise usage(
            f"invalid threads {threads!r}: expected an integer", "use 1, 2, ...; 0: one per core"
        )
    return number
