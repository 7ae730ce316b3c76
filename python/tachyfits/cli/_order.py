"""Order statistics of `tachyfits stats`: options and computation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from tachyfits import Image, Report, reports
from tachyfits.cli._group import grouped
from tachyfits.cli._syntax import PERCENTILES
from tachyfits.image import order_arrays


@dataclass(frozen=True)
class OrderOptions:
    """Options for the requested order statistics."""

    median: bool
    mad: bool
    percentile: tuple[str, tuple[float, ...]] | None
    robust: bool

    def __bool__(self) -> bool:
        return bool(self.names or self.robust)

    @property
    def names(self) -> dict[str, str | float]:
        """The requested statistics, by column name."""
        statistics: dict[str, str | float] = {}
        if self.median:
            statistics["median"] = "median"
        if self.mad:
            statistics["mad"] = "mad"
        percents = self.percentile[1] if self.percentile else ()
        return statistics | {f"p{str(percent).removesuffix('.0')}": percent for percent in percents}


_OPTIONS = [
    click.option("--median", is_flag=True, help="The exact median, in bounded memory."),
    click.option("--mad", is_flag=True,
                 help="The median of the distances to the median, not scaled."),
    click.option("--percentile", type=PERCENTILES, metavar="P,...",
                 help="Exact percentiles from 0 to 100, interpolated linearly: 1,50,99."),
    click.option("--robust", is_flag=True,
                 help="The rms of the noise, from the width of its peak in the histogram."),
]  # fmt: skip
#: Add the options of order statistics; the command gets them as ``order: OrderOptions``.
order_options = grouped("order", OrderOptions, OrderOptions.__dataclass_fields__, _OPTIONS)


def order_columns(
    image: Image, options: OrderOptions, per_plane: bool, **run: Any
) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Report]]:
    """Compute the requested statistics of an image; return them by column, and their costs.

    ``run`` contains threads and progress.
    """
    columns: dict[str, np.ndarray[Any, Any]] = {}
    costs: dict[str, Report] = {}
    if options.names:
        with reports() as measured:
            arrays = order_arrays(
                image,
                list(options.names.values()),
                "xy" if per_plane else None,
                **run,
            )
        costs["order"] = measured[-1]
        columns |= dict(zip(options.names, arrays, strict=True))
    if options.robust:
        with reports() as measured:
            columns["robust_rms"] = image.robust_rms(per_plane=per_plane, **run)
        costs["robust"] = measured[-1]
    return columns, costs
