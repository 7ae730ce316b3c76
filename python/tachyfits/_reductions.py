"""Methods of `Image` that are one statistic each, made alike from `Image.reduce`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tachyfits._axes import Axis
from tachyfits._pixels import Progress
from tachyfits._regions import Regions

#: The statistics that `Image.stats` gives per plane when it is asked for an axis.
STANDARD_STATISTICS = ("count", "nan", "sum", "mean", "rms", "std", "min", "max")


def reduction_method(statistic: str, meaning: str) -> Callable[..., Any]:
    """Make the method of one statistic, so that eight of them share one signature."""

    def method(
        self: Any,
        axis: Axis | None = None,
        *,
        section: Any = None,
        region: Regions = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Any:
        return self.reduce(
            statistic, axis, section=section, region=region, threads=threads, progress=progress
        )

    method.__name__ = statistic
    method.__qualname__ = f"Image.{statistic}"
    method.__doc__ = f"Return {meaning} of the good pixels; parameters as of `Image.reduce`."
    return method
