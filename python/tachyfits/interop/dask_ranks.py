"""Values of ranks among all pixels of an image, found by tasks.

Tasks count values in bins between two numbers; the bin of a rank is divided again until its values
fit in memory. A bin is a function of a value that never falls, so each value has one bin in every
task, and the values that are found are those of the sorted pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.interop.dask_arrays import opened

Values = NDArray[np.float64]
Ranges = Sequence[tuple[int, int, int]]

#: Bins of a pass.
BINS = 1 << 16

#: Values that are sorted in memory, and pixels that a task has at a time.
MOST_VALUES = 1 << 21


class Bin(NamedTuple):
    """A bin of a pass: bins begin at ``low``, and there are ``scale`` of them per unit."""

    low: float
    scale: float
    number: int


class Wanted(NamedTuple):
    """The values that a task counts.

    Attributes
    ----------
    spans
        Row, first and last pixel of each run of a region; None: every pixel.
    centre
        Distances to it are counted, not the values themselves; None: these.
    bins
        The values are in all of them.
    """

    spans: NDArray[np.uint64] | None = None
    centre: float | None = None
    bins: tuple[Bin, ...] = ()


def bins_of(values: Values, low: float, scale: float) -> NDArray[np.int64]:
    """Return the number of the bin of each value.

    >>> bins_of(np.array([1.0, 1.5, 2.0]), 1.0, BINS / 1.0)
    array([    0, 32768, 65535])
    """
    return np.clip((values - low) * scale, 0, BINS - 1).astype(np.int64)


def _blocks(section: Ranges) -> Iterator[Ranges]:
    """Cut a section into pieces of at most `MOST_VALUES` pixels, or rows."""
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


def _values(image: Any, section: Ranges, wanted: Wanted) -> Iterator[Values]:
    """Read the values that are wanted, piece by piece."""
    mask = None
    if wanted.spans is not None:
        mask = _core.Region.of_spans(wanted.spans).mask(*image.shape[-2:])
    for piece in _blocks(section):
        index = tuple(_slice(*axis) for axis in piece)
        pixels: Values = image.read(index, dtype="float64", threads=1)
        if mask is not None:
            pixels = pixels[..., mask[index[-2:]]]
        values = pixels[~np.isnan(pixels)]
        if wanted.centre is not None:
            values = np.abs(values - wanted.centre)
        for low, scale, number in wanted.bins:
            values = values[bins_of(values, low, scale) == number]
        if values.size:
            yield values


def counted(image: bytes, section: Ranges, wanted: Wanted, low: float, scale: float) -> Any:
    """Count values in bins."""
    counts = np.zeros(BINS, np.int64)
    for values in _values(opened(image), section, wanted):
        counts += np.bincount(bins_of(values, low, scale), minlength=BINS)
    return counts


def ends(image: bytes, section: Ranges, wanted: Wanted) -> tuple[float, float]:
    """Return the smallest and the largest value."""
    found = [(values.min(), values.max()) for values in _values(opened(image), section, wanted)]
    low = min((float(low) for low, _ in found), default=np.inf)
    return low, max((float(high) for _, high in found), default=-np.inf)


def collected(image: bytes, section: Ranges, wanted: Wanted) -> Values:
    """Return the values."""
    found = list(_values(opened(image), section, wanted))
    return np.concatenate(found) if found else np.zeros(0)


class Ranks:
    """Looks for values of ranks.

    Parameters
    ----------
    run
        Runs a function of this module for each part of the section, with further arguments.
    wanted
        Which values are ranked.
    count
        Their number.
    low, high
        The smallest and the largest.
    """

    def __init__(
        self, run: Callable[..., list[Any]], wanted: Wanted, count: int, low: float, high: float
    ) -> None:
        self._run, self._wanted = run, wanted
        self._count, self._ends = count, (low, high)
        self._known: dict[Any, Any] = {}

    def value(self, rank: int) -> float:
        """Return the value of a rank, from 0."""
        wanted, below, count, (low, high) = self._wanted, 0, self._count, self._ends
        while count > MOST_VALUES:
            if low == high:
                return low + 0.0
            scale = BINS / (high - low)
            totals = np.cumsum(self._once(counted, wanted, low, scale))
            number = int(np.searchsorted(totals, rank - below, side="right"))
            before = int(totals[number - 1]) if number else 0
            below, count = below + before, int(totals[number]) - before
            wanted = wanted._replace(bins=(*wanted.bins, Bin(low, scale, number)))
            if count > MOST_VALUES:
                low, high = self._once(ends, wanted)
        # The engine ranks -0.0 as 0.0.
        return float(self._once(collected, wanted)[rank - below]) + 0.0

    def _once(self, function: Callable[..., Any], wanted: Wanted, *more: float) -> Any:
        """Return the joined results of all parts; of a request that was made before, at once."""
        key = function, wanted.bins, more
        if key not in self._known:
            results = self._run(function, wanted, *more)
            self._known[key] = _JOINED[function](results)
        return self._known[key]


#: How results of parts are joined.
_JOINED: dict[Callable[..., Any], Callable[[list[Any]], Any]] = {
    counted: lambda results: np.sum(results, axis=0),
    ends: lambda results: (min(low for low, _ in results), max(high for _, high in results)),
    collected: lambda results: np.sort(np.concatenate(results)),
}
