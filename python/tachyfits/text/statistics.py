"""Statistics by name: one-pass statistics and order statistics."""

from __future__ import annotations

import re

from tachyfits.info import statistics

#: Statistics computed in one pass over the pixels.
STATISTICS = tuple(each.name for each in statistics() if not each.is_order)

#: Named order statistics; names such as "percentile90" are not listed.
ORDER_STATISTICS = tuple(each.name for each in statistics() if each.is_order)

#: The default statistics of `Image.stats` with an axis.
STANDARD_STATISTICS = tuple(each.name for each in statistics() if each.is_standard)

#: Statistics that have no unit, whatever the unit of the pixels.
UNITLESS = tuple(each.name for each in statistics() if not each.has_unit)

#: Form of the names of percentiles.
PERCENTILES = "percentile90 (any number)"

_PERCENTILE = re.compile(r"percentile(\d+(?:\.\d+)?)")


def order_statistic(name: str) -> str | float | None:
    """Return the engine's order statistic: a name or a percentage; None for other statistics.

    >>> [order_statistic(name) for name in ("mad", "percentile99.5", "percentile101", "mean")]
    ['mad', 99.5, None, None]
    """
    if name in ORDER_STATISTICS:
        return name
    match = _PERCENTILE.fullmatch(name)
    return float(match[1]) if match and float(match[1]) <= 100 else None
