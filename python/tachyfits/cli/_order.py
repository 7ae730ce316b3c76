"""The order statistics of `tachyfits stats`: their options, and their rows."""

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
    """The requested order statistics, and how they are computed."""

    median: bool
    mad: bool
    percentile: tuple[str, tuple[float, ...]] | None
    robust: bool

    def __bool__(self) -> bool:
        return bool(self.names or self.robust)

    @property
    def names(self) -> dict[str, str | float]:
        """The requested statistics, by the name of their column."""
        found: dict[str, str | float] = {}
        if self.median:
            found["median"] = "median"
        if self.mad:
            found["mad"] = "mad"
        percents = self.percentile[1] if self.percentile else ()
        return found | {f"p{str(percent).removesuffix('.0')}": percent for percent in percents}


_OPTIONS = [
    click.option("--median", is_flag=True, help="The exact median, in bounded memory."),
    click.option("--mad", is_flag=True,
                 help="The median of the distances to the median, not scaled."),
    click.option("--percentile", type=PERCENTILES, metavar="P,...",
                 help="Exact percentiles from 0 to 100, interpolated linearly: 1,50,99."),
    click.option("--robust", is_flag=True,
                 help="The rms of the noise, from the width of its peak in the histogram."),
]  # fmt: skip
#: Adds the options of order statistics; the command gets them as ``order: OrderOptions``.
order_options = grouped("order", OrderOptions, OrderOptions.__dataclass_fields__, _OPTIONS)


def order_columns(
    image: Image, asked: OrderOptions, per_plane: bool, **run: Any
) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Report]]:
    """Compute the requested arrays of an image by column, and their cost.

    ``run``: threads and progress.
    """
    columns: dict[str, np.ndarray[Any, Any]] = {}
    costs: dict[str, Report] = {}
    if asked.names:
        with reports() as found:
            arrays = order_arrays(
                image,
                list(asked.names.values()),
                "xy" if per_plane else None,
                **run,
            )
        costs["order"] = found[-1]
        columns |= dict(zip(asked.names, arrays, strict=True))
    if asked.robust:
        with reports() as found:
            columns["robust_rms"] = image.robust_rms(per_plane=per_plane, **run)
        costs["robust"] = found[-1]
    return columns, costs
