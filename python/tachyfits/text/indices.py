"""Indices of NumPy beyond sections: integer arrays, boolean masks and newaxis.

An index with arrays is read in pieces: boxes around the pixels that lie near each other along the
first axis that an array indexes. So a few channels out of many cost these channels, and memory
stays near the size of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import memory_error, not_found
from tachyfits.text.sections import Section, expanded, integer, resolve, slice_range

#: Pixels of the boxes that are read at a time, about.
_BOX_PIXELS = 1 << 22

#: Reading over a gap of this many pixels in the file costs less than a separate read.
_GAP_PIXELS = 1 << 12

#: Reads the pixels of a section, no axis dropped.
Read = Callable[[Section], NDArray[Any]]

_Integers = NDArray[np.intp]


def is_section(items: Sequence[Any]) -> bool:
    """Say whether an index has integers, slices and Ellipsis alone.

    >>> import numpy as np
    >>> is_section((0, slice(3), Ellipsis, np.int64(2))), is_section((None,)), is_section(([0],))
    (True, False, False)
    """
    return not any(item is None or _is_array(item) for item in items)


def _is_array(item: Any) -> bool:
    if isinstance(item, (bool, np.bool_)):
        return True
    if isinstance(item, np.ndarray):
        return item.ndim > 0 or item.dtype.kind == "b"
    return isinstance(item, (list, tuple)) or (
        hasattr(item, "__array__") and not isinstance(item, np.generic)
    )


@dataclass(frozen=True)
class _Entry:
    """Index of one axis of the image, or an item without an axis.

    Attributes
    ----------
    axis
        The axis of the image; None for newaxis and for a single truth value.
    pixels
        The range of a slice, or an array of indices; None for newaxis.
    item
        Which item of the index it comes from: arrays of neighbouring items keep their place.
    """

    axis: int | None
    pixels: tuple[int, int, int] | _Integers | None
    item: int

    @property
    def is_array(self) -> bool:
        """Whether it is indexed by an array."""
        return isinstance(self.pixels, np.ndarray)


def read_indexed(items: Sequence[Any], shape: Sequence[int], dtype: Any, read: Read) -> Any:
    """Return what ``array[items]`` gives for an array of a shape, of which ``read`` reads sections.

    Raises
    ------
    UsageKeyError
        The index lies beyond the array, or does not fit it (an IndexError).
    """
    arrays = [_as_array(item) if _is_array(item) else item for item in items]
    masks = [item for item in arrays if isinstance(item, np.ndarray) and item.dtype.kind == "b"]
    entries = _entries(arrays, shape, lone_mask := len(masks) == 1 and _is_lone(arrays, masks[0]))
    fancy = [entry for entry in entries if entry.is_array]
    ranges = {
        entry.axis: entry.pixels
        for entry in entries
        if entry.axis is not None and isinstance(entry.pixels, tuple)
    }
    kept = tuple(count for _, count, _ in ranges.values())
    common: tuple[int, ...]
    if lone_mask:
        common = (int(np.count_nonzero(masks[0])),)
        axes = [entry.axis for entry in fancy if entry.axis is not None]
        pieces = _pieces_of_mask(masks[0], _rows_at_a_time(shape, axes[:1]))
    else:
        common = _common_shape(fancy)
        own = [entry for entry in fancy if entry.axis is not None]
        axes = [entry.axis for entry in own if entry.axis is not None]
        flat = [np.broadcast_to(np.asarray(entry.pixels), common).reshape(-1) for entry in own]
        line = math.prod(shape[axes[0] + 1 :]) if axes else _GAP_PIXELS
        gap = max(1, _GAP_PIXELS // max(1, line))
        pieces = _pieces_of_arrays(flat, gap, _rows_at_a_time(shape, axes[:1]))
    try:
        found: NDArray[Any] = np.empty((math.prod(common), *kept), dtype)
    except MemoryError as error:
        count = math.prod((*common, *kept))
        problem = f"not enough memory for {count} pixels"
        raise memory_error(problem, "read fewer pixels at a time") from error
    for place, indices in pieces:
        low = [int(index.min()) for index in indices]
        box = dict(ranges)
        for axis, first, index in zip(axes, low, indices, strict=True):
            box[axis] = (first, int(index.max()) - first + 1, 1)
        pixels = read(Section(tuple(box[axis] for axis in range(len(shape)))))
        inside = tuple(index - first for index, first in zip(indices, low, strict=True))
        found[place] = np.moveaxis(pixels, axes, range(len(axes)))[inside]
    return _placed(found.reshape((*common, *kept)), entries, len(common))


def with_new_axes(items: Sequence[Any], shape: Sequence[int], read: Read) -> Any:
    """Return what an index of integers, slices, Ellipsis and newaxis gives; see `read_indexed`."""
    section = resolve(tuple(item for item in items if item is not None), shape)
    pixels = read(section).reshape(section.shape)
    kept = [
        None if item is None else slice(None)
        for item in expanded(items, len(shape))
        if item is None or isinstance(item, slice)
    ]
    return pixels[tuple(kept)]


def _as_array(item: Any) -> NDArray[Any]:
    array = np.asarray(item)
    if not array.size and not isinstance(item, np.ndarray) and array.dtype.kind == "f":
        # NumPy reads an empty list as indices.
        array = array.astype(np.intp)
    if array.dtype.kind not in "biu":
        raise not_found(
            f"invalid index of the type {array.dtype}: expected integers or truth values",
            "use arrays of integers, or a mask such as image > 3",
        )
    return array


def _is_lone(items: Sequence[Any], mask: NDArray[Any]) -> bool:
    """Say whether a mask is the only item that NumPy takes as an array, integers among them."""
    return mask.ndim > 0 and all(
        item is mask or item is None or item is Ellipsis or isinstance(item, slice)
        for item in items
    )


def _entries(items: Sequence[Any], shape: Sequence[int], lone_mask: bool) -> list[_Entry]:
    """Return what every axis of the image is indexed by, and where axes are added, in order."""
    entries: list[_Entry] = []
    axis = 0
    full = expanded(items, len(shape))
    # An Ellipsis separates index arrays even if it stands for no axis.
    ellipsis = next((n for n, item in enumerate(items) if item is Ellipsis), len(full))
    added = len(full) - len(items)
    for place, item in enumerate(full):
        number = place if place < ellipsis else place - added
        if item is None:
            entries.append(_Entry(None, None, number))
        elif isinstance(item, slice):
            entries.append(_Entry(axis, slice_range(item, shape[axis]), number))
            axis += 1
        elif isinstance(item, np.ndarray) and item.dtype.kind == "b":
            _check_mask(item, axis, shape)
            if not item.ndim:
                entries.append(_Entry(None, np.zeros(int(item), np.intp), number))
            # The indices of a lone mask are made piece by piece.
            empty: _Integers = np.empty(0, np.intp)
            found = [empty] * item.ndim if lone_mask or not item.ndim else item.nonzero()
            for indices in found:
                entries.append(_Entry(axis, indices, number))
                axis += 1
        elif isinstance(item, np.ndarray):
            entries.append(_Entry(axis, _within(item, axis, shape[axis]), number))
            axis += 1
        else:
            index = np.asarray(integer(item, axis, shape[axis]), np.intp)
            entries.append(_Entry(axis, index, number))
            axis += 1
    return entries


def _check_mask(mask: NDArray[Any], axis: int, shape: Sequence[int]) -> None:
    wanted = tuple(shape[axis : axis + mask.ndim])
    if mask.shape != wanted:
        raise not_found(
            f"invalid mask of shape {mask.shape}: expected {wanted}, the shape of its axes",
            "give a mask of the shape of the image, or of its first axes",
        )


def _within(indices: NDArray[Any], axis: int, length: int) -> _Integers:
    if indices.size and not -length <= indices.min() <= indices.max() < length:
        wrong = indices[(indices < -length) | (indices >= length)].flat[0]
        raise not_found(
            f"index {wrong} is out of bounds for axis {axis} with size {length}",
            "indices are 0-based and in NumPy order: the last axis is x, NAXIS1",
        )
    whole = indices.astype(np.intp)
    return np.where(whole < 0, whole + length, whole)


def _common_shape(fancy: Sequence[_Entry]) -> tuple[int, ...]:
    shapes = [np.shape(entry.pixels) for entry in fancy]  # type: ignore[arg-type]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise not_found(
            f"cannot broadcast index arrays of shapes {', '.join(map(str, shapes))}",
            "give arrays of one shape, or numpy.ix_ of one array per axis",
        ) from error


def _rows_at_a_time(shape: Sequence[int], axes: Sequence[int]) -> int:
    others = math.prod(length for axis, length in enumerate(shape) if axis not in axes)
    return max(1, _BOX_PIXELS // max(1, others))


def _pieces_of_arrays(
    flat: Sequence[_Integers], gap: int, rows: int
) -> Iterator[tuple[Any, Sequence[_Integers]]]:
    """Give the pixels near each other along the first axis: their places, and their indices."""
    if not flat:
        # A single truth value takes everything, or nothing.
        yield slice(None), ()
        return
    first = flat[0]
    order = np.argsort(first, kind="stable")
    lines = first[order]
    begin = 0
    while begin < len(lines):
        end = int(np.searchsorted(lines, lines[begin] + rows))
        far = np.flatnonzero(np.diff(lines[begin:end]) > gap)
        if far.size:
            end = begin + int(far[0]) + 1
        place = order[begin:end]
        yield place, [index[place] for index in flat]
        begin = end


def _pieces_of_mask(
    mask: NDArray[np.bool_], rows: int
) -> Iterator[tuple[slice, Sequence[_Integers]]]:
    """Give the pixels of a mask in its order, some rows of it at a time."""
    done = 0
    for first in range(0, len(mask), rows):
        indices = mask[first : first + rows].nonzero()
        if indices[0].size:
            place = slice(done, done + indices[0].size)
            yield place, [indices[0] + first, *indices[1:]]
            done += indices[0].size


def _placed(found: NDArray[Any], entries: Sequence[_Entry], common: int) -> NDArray[Any]:
    """Put the axes of the index arrays, ``common`` of them and first here, where NumPy puts them.

    That is in the place of the arrays if these follow each other, else in front.
    """
    numbers = sorted({entry.item for entry in entries if entry.is_array})
    together = numbers[-1] - numbers[0] == len(numbers) - 1
    kept: list[Any] = []
    before: int | None = None if together else 0
    for entry in entries:
        if not entry.is_array:
            kept.append(None if entry.axis is None else slice(None))
        elif before is None:
            before = len(kept)
    assert before is not None
    kept[before:before] = [slice(None)] * common
    sliced = sum(item is not None for item in kept[:before])
    placed = np.moveaxis(found, range(common), range(sliced, sliced + common))
    result: NDArray[Any] = placed[tuple(kept)]
    return result
