"""Advanced NumPy indices: integer arrays, boolean masks and newaxis.

An index with arrays is read in pieces: boxes around pixels that are close to each other along the
first axis indexed by an array. Reading a few channels thus costs only those channels, and memory
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

#: Approximate number of pixels in a box that is read at a time.
_BOX_PIXELS = 1 << 22

#: Reading over a gap of this many pixels in the file costs less than a separate read.
_GAP_PIXELS = 1 << 12

#: Function that reads the pixels of a section without dropping axes.
Read = Callable[[Section], NDArray[Any]]

_Integers = NDArray[np.intp]


def is_section(items: Sequence[Any]) -> bool:
    """Return whether an index has only integers, slices and Ellipsis.

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
        The axis of the image; None for newaxis and for a scalar bool.
    pixels
        The range of a slice, or an array of indices; None for newaxis.
    item
        Position in the index: the axes of adjacent index arrays stay in place.
    """

    axis: int | None
    pixels: tuple[int, int, int] | _Integers | None
    item: int

    @property
    def is_array(self) -> bool:
        """Whether the entry is an array of indices."""
        return isinstance(self.pixels, np.ndarray)


def read_indexed(items: Sequence[Any], shape: Sequence[int], dtype: Any, read: Read) -> Any:
    """Return ``array[items]`` for an array of a shape, whose sections ``read`` reads.

    Raises
    ------
    UsageKeyError
        The index is out of bounds or does not fit the array (an IndexError).
    """
    arrays = [_as_array(item) if _is_array(item) else item for item in items]
    masks = [item for item in arrays if isinstance(item, np.ndarray) and item.dtype.kind == "b"]
    entries = _entries(arrays, shape, lone_mask := len(masks) == 1 and _is_lone(arrays, masks[0]))
    array_entries = [entry for entry in entries if entry.is_array]
    ranges = {
        entry.axis: entry.pixels
        for entry in entries
        if entry.axis is not None and isinstance(entry.pixels, tuple)
    }
    sliced_shape = tuple(count for _, count, _ in ranges.values())
    array_shape: tuple[int, ...]
    if lone_mask:
        array_shape = (int(np.count_nonzero(masks[0])),)
        axes = [entry.axis for entry in array_entries if entry.axis is not None]
        pieces = _pieces_of_mask(masks[0], _rows_at_a_time(shape, axes[:1]))
    else:
        array_shape = _common_shape(array_entries)
        axis_entries = [entry for entry in array_entries if entry.axis is not None]
        axes = [entry.axis for entry in axis_entries if entry.axis is not None]
        flat = [
            np.broadcast_to(np.asarray(entry.pixels), array_shape).reshape(-1)
            for entry in axis_entries
        ]
        line = math.prod(shape[axes[0] + 1 :]) if axes else _GAP_PIXELS
        gap = max(1, _GAP_PIXELS // max(1, line))
        pieces = _pieces_of_arrays(flat, gap, _rows_at_a_time(shape, axes[:1]))
    try:
        result: NDArray[Any] = np.empty((math.prod(array_shape), *sliced_shape), dtype)
    except MemoryError as error:
        count = math.prod((*array_shape, *sliced_shape))
        problem = f"not enough memory for {count} pixels"
        raise memory_error(problem, "read fewer pixels at a time") from error
    for target, indices in pieces:
        low = [int(index.min()) for index in indices]
        box = dict(ranges)
        for axis, first, index in zip(axes, low, indices, strict=True):
            box[axis] = (first, int(index.max()) - first + 1, 1)
        pixels = read(Section(tuple(box[axis] for axis in range(len(shape)))))
        offsets = tuple(index - first for index, first in zip(indices, low, strict=True))
        result[target] = np.moveaxis(pixels, axes, range(len(axes)))[offsets]
    return _placed(result.reshape((*array_shape, *sliced_shape)), entries, len(array_shape))


def with_new_axes(items: Sequence[Any], shape: Sequence[int], read: Read) -> Any:
    """Apply an index of integers, slices, Ellipsis and newaxis; see `read_indexed`."""
    section = resolve(tuple(item for item in items if item is not None), shape)
    pixels = read(section).reshape(section.shape)
    new_axes = [
        None if item is None else slice(None)
        for item in expanded(items, len(shape))
        if item is None or isinstance(item, slice)
    ]
    return pixels[tuple(new_axes)]


def _as_array(item: Any) -> NDArray[Any]:
    array = np.asarray(item)
    if not array.size and not isinstance(item, np.ndarray) and array.dtype.kind == "f":
        # NumPy treats an empty list as an empty list of indices.
        array = array.astype(np.intp)
    if array.dtype.kind not in "biu":
        raise not_found(
            f"invalid index of the type {array.dtype}: expected integers or truth values",
            "use arrays of integers, or a mask such as image > 3",
        )
    return array


def _is_lone(items: Sequence[Any], mask: NDArray[Any]) -> bool:
    """Return whether a mask is the only item that NumPy treats as an array, as it does integers."""
    return mask.ndim > 0 and all(
        item is mask or item is None or item is Ellipsis or isinstance(item, slice)
        for item in items
    )


def _entries(items: Sequence[Any], shape: Sequence[int], lone_mask: bool) -> list[_Entry]:
    """Return the entries of an index in order: one per image axis, and one per added axis."""
    entries: list[_Entry] = []
    axis = 0
    all_items = expanded(items, len(shape))
    # An Ellipsis separates index arrays even if it stands for no axis.
    ellipsis = next((n for n, item in enumerate(items) if item is Ellipsis), len(all_items))
    new_count = len(all_items) - len(items)
    for position, item in enumerate(all_items):
        number = position if position < ellipsis else position - new_count
        if item is None:
            entries.append(_Entry(None, None, number))
        elif isinstance(item, slice):
            entries.append(_Entry(axis, slice_range(item, shape[axis]), number))
            axis += 1
        elif isinstance(item, np.ndarray) and item.dtype.kind == "b":
            _check_mask(item, axis, shape)
            if not item.ndim:
                entries.append(_Entry(None, np.zeros(int(item), np.intp), number))
            # The indices of a lone mask are computed piece by piece, later.
            empty: _Integers = np.empty(0, np.intp)
            axis_indices = [empty] * item.ndim if lone_mask or not item.ndim else item.nonzero()
            for indices in axis_indices:
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
    expected = tuple(shape[axis : axis + mask.ndim])
    if mask.shape != expected:
        raise not_found(
            f"invalid mask of shape {mask.shape}: expected {expected}, the shape of its axes",
            "give a mask of the shape of the image, or of its first axes",
        )


def _within(indices: NDArray[Any], axis: int, length: int) -> _Integers:
    if indices.size and not -length <= indices.min() <= indices.max() < length:
        invalid = indices[(indices < -length) | (indices >= length)].flat[0]
        raise not_found(
            f"index {invalid} is out of bounds for axis {axis} with size {length}",
            "indices are 0-based and in NumPy order: the last axis is x, NAXIS1",
        )
    signed = indices.astype(np.intp)
    return np.where(signed < 0, signed + length, signed)


def _common_shape(array_entries: Sequence[_Entry]) -> tuple[int, ...]:
    shapes = [np.shape(entry.pixels) for entry in array_entries]  # type: ignore[arg-type]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise not_found(
            f"cannot broadcast index arrays of shapes {', '.join(map(str, shapes))}",
            "give arrays of one shape, or numpy.ix_ of one array per axis",
        ) from error


def _rows_at_a_time(shape: Sequence[int], axes: Sequence[int]) -> int:
    row_pixels = math.prod(length for axis, length in enumerate(shape) if axis not in axes)
    return max(1, _BOX_PIXELS // max(1, row_pixels))


def _pieces_of_arrays(
    flat: Sequence[_Integers], gap: int, rows: int
) -> Iterator[tuple[Any, Sequence[_Integers]]]:
    """Yield groups of pixels close to each other along the first axis.

    A group is a pair: positions in the result, and indices along each axis.
    """
    if not flat:
        # A scalar bool selects everything or nothing.
        yield slice(None), ()
        return
    first = flat[0]
    order = np.argsort(first, kind="stable")
    lines = first[order]
    begin = 0
    while begin < len(lines):
        end = int(np.searchsorted(lines, lines[begin] + rows))
        gaps = np.flatnonzero(np.diff(lines[begin:end]) > gap)
        if gaps.size:
            end = begin + int(gaps[0]) + 1
        target = order[begin:end]
        yield target, [index[target] for index in flat]
        begin = end


def _pieces_of_mask(
    mask: NDArray[np.bool_], rows: int
) -> Iterator[tuple[slice, Sequence[_Integers]]]:
    """Yield the pixels of a mask in order, ``rows`` rows at a time."""
    offset = 0
    for first in range(0, len(mask), rows):
        indices = mask[first : first + rows].nonzero()
        if indices[0].size:
            target = slice(offset, offset + indices[0].size)
            yield target, [indices[0] + first, *indices[1:]]
            offset += indices[0].size


def _placed(pixels: NDArray[Any], entries: Sequence[_Entry], common: int) -> NDArray[Any]:
    """Move the ``common`` axes of the index arrays, first in the input, to NumPy's position.

    Adjacent index arrays are replaced in place by these axes; otherwise the axes come first.
    """
    numbers = sorted({entry.item for entry in entries if entry.is_array})
    together = numbers[-1] - numbers[0] == len(numbers) - 1
    new_axes: list[Any] = []
    before: int | None = None if together else 0
    for entry in entries:
        if not entry.is_array:
            new_axes.append(None if entry.axis is None else slice(None))
        elif before is None:
            before = len(new_axes)
    assert before is not None
    new_axes[before:before] = [slice(None)] * common
    sliced = sum(item is not None for item in new_axes[:before])
    moved = np.moveaxis(pixels, range(common), range(sliced, sliced + common))
    result: NDArray[Any] = moved[tuple(new_axes)]
    return result
