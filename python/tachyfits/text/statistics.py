"""Statistics by name: those that one pass over the pixels gives, and those of their order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tachyfits import _core
from tachyfits.base.errors import usage
from tachyfits.text.regions import Region, to_core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tachyfits.image.pixels import Pixels, Progress
    from tachyfits.text.sections import Section

#: Order statistics that have a name of their own; "percentile90" and the like are others.
ORDER_STATISTICS = ("median", "mad")

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


def reduced(
    image: Pixels,
    statistic: str,
    axes: Sequence[int],
    where: Section,
    *,
    regions: Sequence[Region] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[Any]:
    """Reduce a section along axes by a statistic of `info.statistics` or of this module."""
    core, ranges = image._core_image(), image._ranges(where)
    common: dict[str, Any] = {
        "regions": to_core(regions),
        "threads": image._threads(threads),
        "progress": progress,
    }
    order = order_statistic(statistic) if isinstance(statistic, str) else None
    if order is not None:
        return core.order([order], list(axes), ranges, **common)[0]
    names = [name for name, _ in _core.statistics()]
    if not isinstance(statistic, str) or statistic not in names:
        known = ", ".join([*names, *ORDER_STATISTICS, "percentile90 (any number)"])
        raise usage(f"invalid statistic {statistic!r}", f"use one of {known}")
    return core.reduce([statistic], list(axes), ranges, **common)[statistic]
