"""Reductions of an image by dask tasks: each task is an engine pass over a part of the image.

The image is cut along an axis that the result keeps, where results do not depend on each other. If
no axis is kept, tasks return the states of runs of pixels, which are merged here in file order.
Results therefore have the same bits as in one process.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Sequence
from functools import reduce as folded
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.cluster import Cluster
from tachyfits.interop.dask_arrays import open_pickled
from tachyfits.interop.dask_tasks import results

if TYPE_CHECKING:
    from tachyfits.image.pixels import Pixels

#: Start, count and step of each axis.
Ranges = Sequence[tuple[int, int, int]]


def _reduce(
    image: bytes, method: str, regions: list[NDArray[Any]] | None, options: dict[str, Any]
) -> Any:
    """Reduce in the process of a task."""
    core = open_pickled(image)._core_image()
    if regions is not None:
        engine_regions = [_core.Region.of_spans(spans) for spans in regions]
        # A pass over ranks has one region.
        names = {"region": engine_regions[0]} if "words" in options else {"regions": engine_regions}
        options = options | names
    return getattr(core, method)(**options, threads=1)


#: Maximum number of values that all tasks of a pass over ranks return; None: that of the engine.
_KEPT: int | None = None


class SpreadImage:
    """An image of the engine whose reductions are tasks; same methods as `_core.Image`."""

    def __init__(self, image: Pixels, cluster: Cluster) -> None:
        self._image, self._cluster = image, cluster
        self._pickled = pickle.dumps(image)

    def reduce(
        self, statistics: Sequence[str], axes: Sequence[int], section: Ranges | None, *,
        regions: Sequence[_core.Region] | None = None, ddof: int = 0, **run: Any,
    ) -> dict[str, NDArray[Any]]:  # fmt: skip
        """Reduce axes by statistics."""
        section = self._ranges(section)
        has_states = all(hasattr(_core.Stats, name) for name in statistics)
        if len(axes) == len(section) and has_states:
            lengths = [count for _, count, _ in section]
            states = self.stats(section, regions=regions)
            arrays = {
                name: np.array([_of_state(state, name, lengths, ddof) for state in states])
                for name in statistics
            }
            return {name: array[0] if regions is None else array for name, array in arrays.items()}
        options = {"statistics": list(statistics), "axes": list(axes), "ddof": ddof}
        cut_axis, parts = self._parts("reduce", section, axes, regions, options, run)
        place = _place(cut_axis, axes, regions)
        return {name: _joined([part[name] for part in parts], place) for name in statistics}

    def order(
        self, statistics: Sequence[str | float], axes: Sequence[int], section: Ranges | None, *,
        regions: Sequence[_core.Region] | None = None, buffering: str = "auto", **run: Any,
    ) -> list[NDArray[np.float64]]:  # fmt: skip
        """Reduce axes by order statistics."""
        section = self._ranges(section)
        if len(axes) == len(section):
            return self._ranked(statistics, section, regions, run)
        options = {"statistics": list(statistics), "axes": list(axes), "buffering": buffering}
        cut_axis, parts = self._parts("order", section, axes, regions, options, run)
        place = _place(cut_axis, axes, regions)
        return [_joined(arrays, place) for arrays in zip(*parts, strict=True)]

    def moments(
        self, orders: Sequence[int], axis: int, coordinates: NDArray[np.float64],
        section: Ranges | None, *, widths: NDArray[np.float64] | None = None, **run: Any,
    ) -> list[NDArray[np.float64]]:  # fmt: skip
        """Compute moments along an axis."""
        options = {
            "orders": list(orders), "axis": axis, "coordinates": coordinates, "widths": widths
        }  # fmt: skip
        cut_axis, parts = self._parts("moments", self._ranges(section), [axis], None, options, run)
        place = _place(cut_axis, [axis], None)
        return [_joined(arrays, place) for arrays in zip(*parts, strict=True)]

    def robust_rms(
        self, per_plane: bool, section: Ranges | None, *, buffering: str = "auto",
        **run: Any,
    ) -> NDArray[np.float64]:  # fmt: skip
        """Return the robust rms of the planes, or of all pixels."""
        section = self._ranges(section)
        options = {"per_plane": per_plane, "buffering": buffering}
        reduced = range(len(section))[-2:] if per_plane else range(len(section))
        cut_axis, parts = self._parts("robust_rms", section, reduced, None, options, run)
        lengths = [count for _, count, _ in section[:-2]]
        shape = [*lengths[:cut_axis], -1, *lengths[cut_axis + 1 :]]
        return _joined([part.reshape(shape) for part in parts], cut_axis).reshape(-1)

    def histogram(
        self, low: float, high: float, bins: int, section: Ranges | None, *,
        regions: Sequence[_core.Region] | None = None, **run: Any,
    ) -> _core.Histogram:  # fmt: skip
        """Count pixels in bins."""
        options = {"low": low, "high": high, "bins": bins}
        _, parts = self._parts("histogram", self._ranges(section), (), regions, options, run)
        merged: _core.Histogram = folded(_core.Histogram.merge, parts)
        return merged

    def stats(
        self, section: Ranges | None, *, regions: Sequence[_core.Region] | None = None, **run: Any
    ) -> list[_core.Stats]:
        """Return the statistics of each region, or of all pixels."""
        section = self._ranges(section)
        core = self._image._core_image()
        count = core.stats_tasks(section, regions=regions)
        borders = np.linspace(0, count, min(self._count(section), count) + 1).astype(int).tolist()
        options = [
            {"first": first, "end": end, "section": section}
            for first, end in itertools.pairwise(borders)
        ]
        parts = self._run("partial_stats", regions, options)
        return core.merged_stats(parts, section, regions=None if regions is None else len(regions))

    def _ranked(
        self, statistics: Sequence[str | float], section: Ranges,
        regions: Sequence[_core.Region] | None, run: dict[str, Any],
    ) -> list[NDArray[np.float64]]:  # fmt: skip
        """Return order statistics of each region, or of all pixels."""
        core = self._image._core_image()
        _, parts = self._cut(section, ())
        each: list[list[float]] = []
        for region in [None] if regions is None else regions:

            def count(words: list[int], region: _core.Region | None = region) -> list[Any]:
                options = [{"words": words, "section": part} for part in parts]
                return self._run("count_ranks", None if region is None else [region], options)

            each.append(
                core.order_elsewhere(
                    list(statistics), section, len(parts), count,
                    region=region, kept=_KEPT, **run,
                )
            )  # fmt: skip
        arrays = np.array(each).reshape(len(each), len(statistics)).T
        return [array if regions is not None else array[0] for array in arrays]

    def _ranges(self, section: Ranges | None) -> Ranges:
        return [(0, count, 1) for count in self._image.shape] if section is None else section

    def _whole(
        self, method: str, regions: Sequence[_core.Region] | None, options: dict[str, Any],
        run: dict[str, Any],
    ) -> Any:  # fmt: skip
        """Reduce in this process."""
        more = {} if regions is None else {"regions": list(regions)}
        return getattr(self._image._core_image(), method)(**options, **more, **run)

    def _parts(
        self, method: str, section: Ranges, reduced: Sequence[int],
        regions: Sequence[_core.Region] | None, options: dict[str, Any], run: dict[str, Any],
    ) -> tuple[int, list[Any]]:  # fmt: skip
        """Run a method on parts of a section along an axis; return the axis and results in order.

        If nothing can be cut, the only part is the whole section, in this process.
        """
        axis, parts = self._cut(section, reduced)
        each = [options | {"section": part} for part in parts]
        if len(each) == 1:
            return axis, [self._whole(method, regions, each[0], run)]
        return axis, self._run(method, regions, each)

    def _cut(self, section: Ranges, reduced: Sequence[int]) -> tuple[int, list[Ranges]]:
        """Return an axis that the result keeps, and the section's parts along it; one part: no cut.

        Take the slowest axis with enough pixels for all parts, else the longest.
        """
        core, tasks = self._image._core_image(), self._count(section)
        axis, parts = 0, 1
        for n, (_, count, _) in enumerate(section):
            if n not in reduced and parts < tasks:
                possible = min(tasks, count // core.least_part(reduced, n, section))
                if possible > parts:
                    axis, parts = n, possible
        start, count, step = section[axis]
        borders = np.linspace(0, count, parts + 1).astype(int).tolist()
        pieces = [(start + a * step, b - a, step) for a, b in itertools.pairwise(borders)]
        return axis, [[*section[:axis], piece, *section[axis + 1 :]] for piece in pieces]

    def _count(self, section: Ranges) -> int:
        """Return the number of tasks."""
        pixels = math.prod(count for _, count, _ in section)
        file_bytes = pixels * max(1, abs(self._image.bitpix) // 8)
        return max(1, -(-file_bytes // self._cluster.chunk_bytes))

    def _run(
        self, method: str, regions: Sequence[_core.Region] | None, each: list[dict[str, Any]]
    ) -> list[Any]:
        """Run a method in tasks, with options for each; return the results in order."""
        spans = None if regions is None else [self._spans(region) for region in regions]
        arguments = [(method, spans, options) for options in each]
        return results(self._cluster, _reduce, self._pickled, arguments)

    def _spans(self, region: _core.Region) -> NDArray[np.uint64]:
        """Return row, first and last pixel of each run of a region's pixels."""
        height, width = self._image.shape[-2:]
        inside = np.zeros((height, width + 2), np.int8)
        inside[:, 1:-1] = region.mask(height, width)
        edges = np.diff(inside, axis=1)
        rows, first = np.nonzero(edges == 1)
        return np.stack([rows, first, np.nonzero(edges == -1)[1] - 1], axis=1).astype(np.uint64)


def _of_state(state: _core.Stats, name: str, lengths: Sequence[int], ddof: int) -> Any:
    """Return a statistic of a state, as the engine computes it for all pixels."""
    if name.endswith("_position"):
        position = getattr(state, name)
        return -1 if position is None else np.ravel_multi_index(position, lengths)
    return state.standard_deviation(ddof) if name == "std" else getattr(state, name)


def _joined(arrays: Sequence[NDArray[Any]], axis: int) -> NDArray[Any]:
    """Concatenate the arrays of parts."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis)


def _place(cut_axis: int, reduced: Sequence[int], regions: Any) -> int:
    """Return the axis of a result along which the image was cut."""
    return cut_axis - sum(axis < cut_axis for axis in reduced) + (regions is not None)
