"""Values of given ranks among all pixels of an image, computed by tasks.

Tasks count values in bins between two numbers; the bin that contains a rank is divided again until
its values fit in memory. Bin numbers increase monotonically with the values, so that each value has
the same bin in every task, and the result equals that of sorting all pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.interop.dask_arrays import open_pickled

Values = NDArray[np.float64]
Ranges = Sequence[tuple[int, int, int]]

#: Bins per pass.
BINS = 1 << 16

#: Maximum number of values sorted in memory, and of pixels that a task holds at a time.
MOST_VALUES = 1 << 21


class Bin(NamedTuple):
    """A bin of a pass: the bins divide ``width``, beginning at ``low``."""

    low: float
    width: float
    number: int


class Subset(NamedTuple):
    """The values that a task counts.

    Attributes
    ----------
    spans
        Row, first and last pixel of each run of a region; None: every pixel.
    centre
        Values are distances to this number; None: the pixels themselves.
    bins
        Only values in all of these bins count.
    """

    spans: NDArray[np.uint64] | None = None
    centre: float | None = None
    bins: tuple[Bin, ...] = ()


def bins_of(values: Values, low: float, width: float) -> NDArray[np.int64]:
    """Return the bin number of each value.

    The first and the last value of a width are in different bins, however small the width is.

    >>> bins_of(np.array([1.0, 1.5, 2.0]), 1.0, 1.0)
    array([    0, 32768, 65535])
    >>> bins_of(np.array([0.0, 5e-324, 1e-323]), 0.0, 1e-323)
    array([    0, 32768, 65535])
    """
    return np.clip((values - low) / width * BINS, 0, BINS - 1).astype(np.int64)


def _blocks(section: Ranges) -> Iterator[Ranges]:
    """Split a section into pieces of at most `MOST_VALUES` pixels, or single rows."""
    pixels = int(np.prod([count for _, count, _ in section], dtype=object))
    axis = next((n for n, (_, count, _) in enumerate(section[:-1]) if count > 1), None)
    if pixels <= MOST_VALUES or axis is None:
        yield section
        return
    start, count, step = section[axis]
    length = max(1, count * MOST_VALUES // pixels)
    for first in range(0, count, length):
        piece = list(section)
        piece[axis] = (start + first * step, min(length, count - first), step)
        yield from _blocks(piece)


def _slice(start: int, count: int, step: int) -> slice:
    end = start + count * step
    return slice(start, end if end >= 0 else None, step)


def _values(image: Any, section: Ranges, subset: Subset) -> Iterator[Values]:
    """Read the values of a subset, piece by piece."""
    mask = None
    if subset.spans is not None:
        mask = _core.Region.of_spans(subset.spans).mask(*image.shape[-2:])
    for piece in _blocks(section):
        index = tuple(_slice(*axis) for axis in piece)
        pixels: Values = image.read(index, dtype="float64", threads=1)
        if mask is not None:
            pixels = pixels[..., mask[index[-2:]]]
        values = pixels[~np.isnan(pixels)]
        if subset.centre is not None:
            values = np.abs(values - subset.centre)
        for low, width, number in subset.bins:
            values = values[bins_of(values, low, width) == number]
        if values.size:
            yield values


def count_bins(image: bytes, section: Ranges, subset: Subset, low: float, width: float) -> Any:
    """Count values in bins."""
    counts = np.zeros(BINS, np.int64)
    for values in _values(open_pickled(image), section, subset):
        counts += np.bincount(bins_of(values, low, width), minlength=BINS)
    return counts


def extremes(image: bytes, section: Ranges, subset: Subset) -> tuple[float, float]:
    """Return the smallest and the largest value."""
    pairs = [
        (values.min(), values.max()) for values in _values(open_pickled(image), section, subset)
    ]
    low = min((float(low) for low, _ in pairs), default=np.inf)
    return low, max((float(high) for _, high in pairs), default=-np.inf)


def values_of(image: bytes, section: Ranges, subset: Subset) -> Values:
    """Return the values."""
    pieces = list(_values(open_pickled(image), section, subset))
    return np.concatenate(pieces) if pieces else np.zeros(0)


class Ranks:
    """The values of given ranks.

    Parameters
    ----------
    run
        Runs a function of this module for each part of the section, with further arguments.
    subset
        Values to rank.
    count
        Number of values.
    low, high
        Smallest and largest value.
    """

    def __init__(
        self, run: Callable[..., list[Any]], subset: Subset, count: int, low: float, high: float
    ) -> None:
        self._run, self._subset = run, subset
        self._count, self._ends = count, (low, high)
        self._cache: dict[Any, Any] = {}

    def value(self, rank: int) -> float:
        """Return the value of a rank, from 0."""
        subset, below, count, (low, high) = self._subset, 0, self._count, self._ends
        while count > MOST_VALUES:
            if low == high:
                return low + 0.0
            width = high - low
            totals = np.cumsum(self._once(count_bins, subset, low, width))
            number = int(np.searchsorted(totals, rank - below, side="right"))
            before = int(totals[number - 1]) if number else 0
            below, count = below + before, int(totals[number]) - before
            subset = subset._replace(bins=(*subset.bins, Bin(low, width, number)))
            if count > MOST_VALUES:
                low, high = self._once(extremes, subset)
        # The engine ranks -0.0 as 0.0.
        return float(self._once(values_of, subset)[rank - below]) + 0.0

    def _once(self, function: Callable[..., Any], subset: Subset, *more: float) -> Any:
        """Return the merged results of all parts, cached by request."""
        key = function, subset.bins, more
        if key not in self._cache:
            results = self._run(function, subset, *more)
            self._cache[key] = _JOIN[function](results)
        return self._cache[key]


#: Merge the results of parts.
_JOIN: dict[Callable[..., Any], Callable[[list[Any]], Any]] = {
    count_bins: lambda results: np.sum(results, axis=0),
    extremes: lambda results: (min(low for low, _ in results), max(high for _, high in results)),
    values_of: lambda results: np.sort(np.concatenate(results)),
}
