"""Numbers of threads, as every operation takes them."""

from __future__ import annotations

from tachyfits._errors import usage


def check_threads(threads: int) -> int:
    """Return a number of threads, refusing what is none."""
    if isinstance(threads, bool) or not hasattr(threads, "__index__") or threads < 0:
        raise usage(f"threads={threads!r} is no number of threads", "use 1, 2, ...; 0: one a core")
    return int(threads)
