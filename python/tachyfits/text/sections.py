"""Sections: a NumPy index expression as ranges of pixels, one per axis.

It handles basic indexing only (integers, slices, Ellipsis). `text.indices` handles arrays, masks
and newaxis.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tachyfits.base.errors import not_found, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.text.axes import counted_axes


@dataclass(frozen=True)
class Section:
    """Pixels of an image: (start, count, step) per NumPy axis, and the axes dropped by integers."""

    ranges: tuple[tuple[int, int, int], ...]
    dropped: tuple[int, ...] = ()

    @property
    def full_shape(self) -> tuple[int, ...]:
        """Number of pixels along every axis of the image; 1 for dropped axes."""
        return tuple(count for _, count, _ in self.ranges)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result in NumPy."""
        return tuple(n for axis, n in enumerate(self.full_shape) if axis not in self.dropped)

    @property
    def steps(self) -> tuple[int, ...]:
        """Step along every axis of the image; 1 for axes with a single pixel."""
        return tuple(step if count > 1 else 1 for _, count, step in self.ranges)

    @property
    def size(self) -> int:
        """Number of pixels."""
        pixels = 1
        for count in self.full_shape:
            pixels *= count
        return pixels

    def replace(self, axis: int, ranges: tuple[int, int, int]) -> Section:
        """Return this section with another range along one axis; the axis is then kept."""
        updated = (*self.ranges[:axis], ranges, *self.ranges[axis + 1 :])
        return Section(updated, tuple(a for a in self.dropped if a != axis))

    def is_whole(self, shape: Sequence[int]) -> bool:
        """Return whether the section is the whole image."""
        return self.ranges == tuple((0, length, 1) for length in shape)


def resolve(index: Any, shape: Sequence[int]) -> Section:
    """Translate a NumPy index expression, such as a value of ``numpy.s_``; None selects all.

    >>> import numpy as np
    >>> resolve(np.s_[10:20, :, 5], (100, 40, 30))
    Section(ranges=((10, 10, 1), (0, 40, 1), (5, 1, 1)), dropped=(2,))
    >>> resolve(np.s_[..., ::-2], (3, 5)).ranges
    ((0, 3, 1), (4, 3, -2))
    """
    if index is None:
        return Section(tuple((0, length, 1) for length in shape))
    if isinstance(index, Section):
        return index
    items = expanded(index if isinstance(index, tuple) else (index,), len(shape))
    ranges: list[tuple[int, int, int]] = []
    dropped: list[int] = []
    if any(item is None for item in items):
        raise usage(
            "invalid section: newaxis (None) is not supported",
            "index the image, image[None], or add the axis to the result",
        )
    for axis, (item, length) in enumerate(zip(items, shape, strict=True)):
        if isinstance(item, slice):
            ranges.append(slice_range(item, length))
        else:
            ranges.append((integer(item, axis, length), 1, 1))
            dropped.append(axis)
    return Section(tuple(ranges), tuple(dropped))


def slice_range(item: slice, length: int) -> tuple[int, int, int]:
    """Return (start, count, step) of a slice over ``length`` pixels; (0, 0, 1) when empty."""
    try:
        pixels = range(*item.indices(length))
    except (TypeError, ValueError) as error:
        raise usage(f"invalid slice {item!r}: {error}", "use integers") from None
    return (pixels.start, len(pixels), pixels.step) if pixels else (0, 0, 1)


def expanded(items: Sequence[Any], ndim: int) -> list[Any]:
    """Give every axis its item: Ellipsis and missing trailing items become full slices.

    newaxis takes no axis of the image; a mask takes as many axes as it has.
    """
    ellipses = sum(item is Ellipsis for item in items)
    if ellipses > 1:
        raise not_found("an index can have a single Ellipsis ('...')", "keep one of them")
    count = sum(_axes_of(item) for item in items)
    if count > ndim:
        raise not_found(
            f"too many indices: the image has {counted_axes(ndim)}, {count} were indexed",
            "give at most one item per axis, in NumPy order (the last is x, NAXIS1)",
        )
    position = next((i for i, item in enumerate(items) if item is Ellipsis), len(items))
    fill = [slice(None)] * (ndim - count)
    return [*items[:position], *fill, *items[position + 1 :]]


def _axes_of(item: Any) -> int:
    """Return the number of image axes that an item of an index takes."""
    if item is None or item is Ellipsis:
        return 0
    is_mask = isinstance(item, np.ndarray) and item.dtype.kind == "b"
    return item.ndim if is_mask else 1


def integer(item: Any, axis: int, length: int) -> int:
    """Return the non-negative index along an axis."""
    try:
        if isinstance(item, (bool, np.bool_)):
            raise TypeError
        number = operator.index(item)
    except TypeError:
        raise usage(
            f"invalid index of type {type(item).__name__} along axis {axis}: expected an integer, "
            "a slice or '...'",
            "an image itself can be indexed by lists and masks too: image[mask]",
        ) from None
    if not -length <= number < length:
        raise not_found(
            f"index {number} is out of bounds for axis {axis} with size {length}",
            "indices are 0-based and in NumPy order: the last axis is x, NAXIS1",
        )
    return number + length if number < 0 else number
