"""Methods of `Image` that are one statistic each, made alike from `Image.reduce`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import usage
from tachyfits.base.progress import Progress
from tachyfits.text.axes import Axis
from tachyfits.text.region_input import Regions
from tachyfits.text.statistics import ORDER_STATISTICS, order_statistic

if TYPE_CHECKING:
    from tachyfits.image.pixels import Pixels
    from tachyfits.text.sections import Section

#: Statistics that are pure numbers, whatever the unit of the pixels.
UNITLESS = ("count", "nan", "skewness", "kurtosis")

#: The statistics of `Image.stats` with an axis.
STANDARD_STATISTICS = ("count", "nan", "sum", "mean", "rms", "std", "min", "max")


def reduction_method(statistic: str, meaning: str, name: str | None = None) -> Callable[..., Any]:
    """Make the method of a statistic; all of them share one signature."""

    def method(
        self: Any,
        axis: Axis | None = None,
        *,
        section: Any = None,
        region: Regions = None,
        weights: str | None = None,
        keepdims: bool = False,
        where: Any = None,
        dtype: Any = None,
        out: NDArray[Any] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Any:
        return self.reduce(
            statistic, axis, section=section, region=region, weights=weights, keepdims=keepdims,
            where=where, dtype=dtype, out=out, threads=threads, progress=progress,
        )  # fmt: skip

    method.__name__ = name or statistic
    method.__qualname__ = f"Image.{method.__name__}"
    method.__doc__ = f"Return {meaning} of the defined pixels; parameters as of `Image.reduce`."
    return method


def finished(values: NDArray[Any], dtype: Any = None, out: NDArray[Any] | None = None) -> Any:
    """Return a result as NumPy does: of a type, in an array that was given, or as a scalar."""
    if dtype is not None:
        values = values.astype(dtype)
    if out is None:
        return values[()]
    # Whole numbers, such as a sum of integers, may be wanted as such.
    whole = bool(np.all(values == np.floor(values)))
    np.copyto(out, values, casting="unsafe" if whole else "same_kind")
    return out


@cache
def _statistic_names() -> tuple[str, ...]:
    return tuple(name for name, _ in _core.statistics())


def reduced(
    image: Pixels,
    statistic: str,
    axes: Sequence[int],
    where: Section,
    *,
    regions: Sequence[_core.Region] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[Any]:
    """Reduce a section along axes by a statistic of `info.statistics` or of this module."""
    core, ranges = image._core_image(), image._ranges(where)
    common: dict[str, Any] = {
        "regions": None if regions is None else list(regions),
        "threads": image._threads(threads),
        "progress": progress,
    }
    order = order_statistic(statistic) if isinstance(statistic, str) else None
    if order is not None:
        return core.order([order], list(axes), ranges, **common)[0]
    names = _statistic_names()
    if not isinstance(statistic, str) or statistic not in names:
        known = ", ".join([*names, *ORDER_STATISTICS, "percentile90 (any number)"])
        raise usage(f"invalid statistic {statistic!r}", f"use one of {known}")
    return core.reduce([statistic], list(axes), ranges, **common)[statistic]
