"""Statistics by name: those that one pass over the pixels gives, and those of their order."""

from __future__ import annotations

import re

from tachyfits.info import statistics

#: Statistics that one pass gives.
STATISTICS = tuple(each.name for each in statistics() if not each.is_order)

#: Order statistics that have a name of their own; "percentile90" and the like are others.
ORDER_STATISTICS = tuple(each.name for each in statistics() if each.is_order)

#: The statistics of `Image.stats` with an axis.
STANDARD_STATISTICS = tuple(each.name for each in statistics() if each.is_standard)

#: Statistics that have no unit, whatever the unit of the pixels.
UNITLESS = tuple(each.name for each in statistics() if not each.has_unit)

#: How percentiles are named.
PERCENTILES = "percentile90 (any number)"

_PERCENTILE = re.compile(r"percentile(\d+(?:\.\d+)?)")


def order_statistic(name: str) -> str | float | None:
    """Return an order statistic as the engine takes it: a name, or a percentage; None for others.

    >>> [order_statistic(name) for name in ("mad", "percentile99.5", "percentile101", "mean")]
    ['mad', 99.5, None, None]
    """
    if name in ORDER_STATISTICS:
        return name
    found = _PERCENTILE.fullmatch(name)
    return float(found[1]) if found and float(found[1]) <= 100 else None
