"""Collect the costs of operations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tachyfits import _core
from tachyfits.base.boundary import public

if TYPE_CHECKING:
    from tachyfits._core import Report


@public
@contextmanager
def reports() -> Iterator[list[Report]]:
    """Collect the costs of the operations in a block.

    Yields
    ------
    list of Report
        One for each operation that this thread finishes within the block, on any file. Blocks may
        be nested; each collects.

    Examples
    --------
    >>> import tachyfits as tf
    >>> cube = tf.open("cube.fits")[0]
    >>> with tf.reports() as reports:
    ...     mean, median = cube.mean(), cube.median()
    >>> [report.bytes for report in reports]
    [240, 240]
    """
    costs: list[Report] = []
    _core.collect_reports(costs)
    try:
        yield costs
    finally:
        _core.stop_collecting(costs)


def last(costs: list[Report]) -> Report | None:
    """Return the cost of the last operation of a block; None if a cluster did the work."""
    return costs[-1] if costs else None
