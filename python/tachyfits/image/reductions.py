"""Reductions of the pixels of an image: statistics by their names, in the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import usage
from tachyfits.base.progress import Progress
from tachyfits.base.whole_numbers import whole_number
from tachyfits.text.axes import Axis
from tachyfits.text.regions import kept_shape
from tachyfits.text.statistics import ORDER_STATISTICS, PERCENTILES, STATISTICS, order_statistic

if TYPE_CHECKING:
    from tachyfits.image.pixels import Pixels
    from tachyfits.image.selecting import Selecting
    from tachyfits.text.sections import Section


def finished(values: NDArray[Any], dtype: Any = None, out: NDArray[Any] | None = None) -> Any:
    """Return a result as NumPy does: in a requested type, in the ``out`` array, or a scalar."""
    if dtype is not None:
        values = values.astype(dtype)
    if out is None:
        return values[()]
    # Integral values, such as a sum of integers, may be converted to an integer type.
    is_whole = bool(np.all(values == np.floor(values)))
    np.copyto(out, values, casting="unsafe" if is_whole else "same_kind")
    return out


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
    """Reduce a section along axes by a statistic of `info.statistics`, or a percentile."""
    core, ranges = image._reducer(), image._ranges(where)
    common: dict[str, Any] = {
        "regions": None if regions is None else list(regions),
        "threads": image._threads(threads),
        "progress": progress,
    }
    order = order_statistic(statistic) if isinstance(statistic, str) else None
    if order is not None:
        return core.order([order], list(axes), ranges, **common)[0]
    check_statistic(statistic)
    return core.reduce([statistic], list(axes), ranges, **common)[statistic]


def check_statistic(statistic: Any) -> None:
    """Refuse any value that is not the name of a one-pass statistic."""
    if not isinstance(statistic, str) or statistic not in STATISTICS:
        names = ", ".join([*STATISTICS, *ORDER_STATISTICS, PERCENTILES])
        raise usage(f"invalid statistic {statistic!r}", f"use one of {names}")


def reduced_arrays(
    image: Selecting,
    names: Sequence[str],
    axis: Axis | None,
    *,
    ddof: int = 0,
    keepdims: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, NDArray[Any]]:
    """Return several statistics of an image in one pass, with the shapes of `Image.reduce`."""
    if whole_number(ddof) is None:
        raise usage(f"invalid ddof {ddof!r}: expected a whole number of 0 or more", "use 0 or 1")
    axes = image._axis_numbers(axis)
    choice = image._chosen_pixels()
    pixels = choice.pixels
    arrays = pixels._reducer().reduce(
        list(names),
        list(axes),
        pixels._ranges(choice.section),
        regions=choice.regions.cores,
        ddof=ddof,
        threads=pixels._threads(threads),
        progress=progress,
    )
    shape = kept_shape(choice.section, axes, choice.regions.count, keepdims)
    return {name: np.asarray(array).reshape(shape) for name, array in arrays.items()}
