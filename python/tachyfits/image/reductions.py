"""Methods of `Image` that are one statistic each, made alike from `Image.reduce`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.image.pixels import Progress
from tachyfits.text.axes import Axis
from tachyfits.text.regions import Regions

#: The statistics of `Image.stats` with an axis.
#: Statistics that are pure numbers, whatever the unit of the pixels.
UNITLESS = ("count", "nan", "skewness", "kurtosis")

STANDARD_STATISTICS = ("count", "nan", "sum", "mean", "rms", "std", "min", "max")


def reduction_method(statistic: str, meaning: str, name: str | None = None) -> Callable[..., Any]:
    """Make the method of a statistic; all of them share one signature."""

    def method(
        self: Any,
        axis: Axis | None = None,
        *,
        section: Any = None,
        region: Regions = None,
        keepdims: bool = False,
        where: Any = None,
        dtype: Any = None,
        out: NDArray[Any] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Any:
        return self.reduce(
            statistic, axis, section=section, region=region, keepdims=keepdims, where=where,
            dtype=dtype, out=out, threads=threads, progress=progress,
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
