"""Ragged: a column whose cells are arrays of different lengths, as two arrays.

All elements are contiguous, and offsets give the start of each cell, as in Arrow, awkward-array and
the engine, so that they share memory without copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from operator import length_hint
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tachyfits.base.boundary import public
from tachyfits.base.errors import either, existing, not_found, usage
from tachyfits.base.whole_numbers import whole_number
from tachyfits.table.rows import resolve_rows

#: Beyond it float64 cannot represent every integer.
LARGE_INTEGER = 2**53


@public
class Ragged(Sequence[Any]):
    """Arrays of different lengths: ``ragged[i]`` is ``values[offsets[i]:offsets[i + 1]]``.

    Parameters
    ----------
    offsets
        int64, ascending, in elements; one more than the number of cells.
    values
        All elements, one axis. A masked array if some are undefined.
    cell_shape
        Shape (NumPy order) of the cells with a matching number of elements (TDIMn); () for one
        axis. Other cells have one axis, with all their elements.

    Examples
    --------
    >>> import numpy as np, tachyfits as tf
    >>> spectra = tf.Ragged.from_cells([[1, 2, 3], [], [4]], "int16")
    >>> spectra[0], len(spectra), spectra.lengths
    (array([1, 2, 3], dtype=int16), 3, array([3, 0, 1]))
    >>> spectra[1:].to_list()
    [[], [4]]
    """

    def __init__(
        self, offsets: ArrayLike, values: ArrayLike, *, cell_shape: tuple[int, ...] = ()
    ) -> None:
        self.offsets: NDArray[np.int64] = np.asarray(offsets, dtype=np.int64)
        self.values: NDArray[Any] = np.asanyarray(values)
        self.cell_shape = tuple(cell_shape)
        if self.offsets.ndim != 1 or not self.offsets.size or self.values.ndim != 1:
            raise usage(
                f"invalid ragged column: offsets of shape {self.offsets.shape} and values of "
                f"shape {self.values.shape}",
                "give arrays of one axis, offsets with one element more than cells",
            )
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        if first < 0 or last > self.values.size or bool((np.diff(self.offsets) < 0).any()):
            raise usage(
                f"offsets from {first} to {last} do not divide {self.values.size} values",
                "give ascending offsets, from 0 to the number of values",
            )

    @classmethod
    def from_cells(cls, cells: Iterable[ArrayLike], dtype: Any = None) -> Ragged:
        """Build a `Ragged` from arrays; ``dtype`` None: the type that holds all of them.

        Cells of several axes must have the same shape, or be empty.
        """
        # Refuse more cells than fit in memory before the cells are read.
        np.empty(length_hint(cells) + 1, np.int64)
        return joined([np.asanyarray(cell) for cell in cells], dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self.values.dtype

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of elements of each cell."""
        return np.diff(self.offsets)

    def compact(self) -> Ragged:
        """Return a `Ragged` whose values are exactly those of its cells, beginning at offset 0."""
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        if first == 0 and last == self.values.size:
            return self
        return Ragged(self.offsets - first, self.values[first:last], cell_shape=self.cell_shape)

    def with_values(self, values: ArrayLike) -> Ragged:
        """Return a `Ragged` with the same cells and other elements."""
        return Ragged(self.offsets, values, cell_shape=self.cell_shape)

    def to_list(self) -> list[list[Any]]:
        """Return lists of Python numbers; undefined elements are None."""
        values = self.values.tolist()
        bounds = self.offsets.tolist()
        return [values[a:b] for a, b in pairwise(bounds)]

    def to_object_array(self) -> NDArray[np.object_]:
        """Return an array of arrays, as in astropy."""
        cells = np.empty(len(self), dtype=object)
        for index, cell in enumerate(self):
            cells[index] = cell
        return cells

    def take(self, rows: ArrayLike) -> Ragged:
        """Return the cells of these rows (numbers, or a mask of bool), in this order."""
        resolved = resolve_rows(rows, len(self))
        numbers = np.arange(*resolved) if isinstance(resolved, tuple) else resolved
        lengths = self.lengths[numbers]
        offsets = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        shift = np.repeat(self.offsets[:-1][numbers] - offsets[:-1], lengths)
        elements = np.arange(offsets[-1]) + shift
        return Ragged(offsets, self.values[elements], cell_shape=self.cell_shape)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Ragged: ...
    def __getitem__(self, index: int | slice) -> NDArray[Any] | Ragged:
        if isinstance(index, slice):
            rows = resolve_rows(index, len(self))
            if not isinstance(rows, tuple):
                return self.take(rows)
            bounds = self.offsets[rows[0] : rows[1] + 1]
            return Ragged(bounds, self.values, cell_shape=self.cell_shape)
        count, row = len(self), whole_number(index, least=-(2**63))
        if row is None:
            raise usage(
                f"invalid cell {index!r}: expected an integer or a slice",
                either("use .take(rows) for several cells"),
            )
        if not -count <= row < count:
            raise not_found(
                f"invalid cell {row}: the column has {count} cells", existing("cell", count)
            )
        row %= count
        return self._shaped(self.values[self.offsets[row] : self.offsets[row + 1]])

    def _shaped(self, cell: NDArray[Any]) -> NDArray[Any]:
        if not self.cell_shape or cell.size != int(np.prod(self.cell_shape)):
            return cell
        return cell.reshape(self.cell_shape)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        bounds = self.offsets.tolist()
        for first, last in pairwise(bounds):
            yield self._shaped(self.values[first:last])

    def __repr__(self) -> str:
        text = ", ".join(str(cell.tolist()) for cell in self[:3])
        more = ", ..." if len(self) > 3 else ""
        return f"Ragged([{text}{more}], {len(self)} cells of {self.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        compact = self.compact()
        return _remade, (compact.offsets, compact.values, compact.cell_shape)


def elements_of(values: NDArray[Any] | Ragged) -> NDArray[Any]:
    """Return the elements of a `Ragged`, or any other array unchanged."""
    return values.values if isinstance(values, Ragged) else values


def with_elements(values: NDArray[Any] | Ragged, elements: NDArray[Any]) -> NDArray[Any] | Ragged:
    """Return a `Ragged` with the same cells and other elements, or the elements themselves."""
    return values.with_values(elements) if isinstance(values, Ragged) else elements


def _remade(
    offsets: NDArray[np.int64], values: NDArray[Any], cell_shape: tuple[int, ...]
) -> Ragged:
    return Ragged(offsets, values, cell_shape=cell_shape)


def joined(arrays: Sequence[NDArray[Any]], dtype: Any = None, where: str = "cells") -> Ragged:
    """Return arrays as the cells of a `Ragged`; ``where`` is for messages.

    Raises
    ------
    UsageError
        The arrays have no common type, or several axes and different shapes.
    """
    kind = np.dtype(dtype) if dtype is not None else _common_type(arrays, where)
    shape = _common_shape(arrays, where)
    offsets = np.zeros(len(arrays) + 1, np.int64)
    np.cumsum([array.size for array in arrays], out=offsets[1:])
    if not arrays:
        return Ragged(offsets, np.zeros(0, kind))
    # NumPy's own functions for masked arrays take more than twice as long.
    masked = any(map(np.ma.isMaskedArray, arrays))
    flat = [_flat(array) for array in (map(np.ma.getdata, arrays) if masked else arrays)]
    values = np.concatenate(flat, dtype=kind, casting="unsafe")
    if masked:
        mask = np.concatenate([_flat(np.ma.getmaskarray(array)) for array in arrays])
        values = np.ma.MaskedArray(values, mask=mask)
    return Ragged(offsets, values, cell_shape=shape)


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.ndim == 1 else array.reshape(-1)


def _common_shape(arrays: Sequence[NDArray[Any]], where: str) -> tuple[int, ...]:
    """Return the shape of the cells that are not empty; () if they have one axis."""
    shapes = sorted({array.shape for array in arrays if array.size})
    if all(len(shape) <= 1 for shape in shapes):
        return ()
    if len(shapes) > 1:
        raise usage(
            f"{where}: arrays of shapes {shapes[0]} and {shapes[1]}: FITS has one shape for cells "
            "of several axes",
            either(
                "pad them to one shape, or flatten them: cell.reshape(-1)",
                "write cells of one shape, or flat ones",
            ),
        )
    return shapes[0]


def _common_type(arrays: Sequence[NDArray[Any]], where: str) -> np.dtype[Any]:
    """Return the type that holds the elements of all arrays; float64 for none."""
    # Undefined or missing values have no type.
    typed = [array for array in arrays if array.size and not _is_undefined(array)] or list(arrays)
    if not typed:
        return np.dtype(np.float64)
    kind = np.result_type(*dict.fromkeys(array.dtype for array in typed))
    if kind.kind not in "fc":
        return kind
    alike = [[array for array in typed if array.dtype.kind == letter] for letter in "iu"]
    parts = [np.concatenate([_defined(array) for array in arrays]) for arrays in alike if arrays]
    parts = [elements for elements in parts if elements.size]
    if not parts:
        return kind
    least = min(int(elements.min()) for elements in parts)
    greatest = max(int(elements.max()) for elements in parts)
    if sum(map(len, alike)) == len(typed):
        return exact_type(kind, least, greatest, None, where)
    large = [each[(each > LARGE_INTEGER) | (each < -LARGE_INTEGER)].tolist() for each in parts]
    return exact_type(kind, least, greatest, chain.from_iterable(large), where)


def _is_undefined(array: NDArray[Any]) -> bool:
    return np.ma.isMaskedArray(array) and bool(np.ma.getmask(array).all())


def _defined(array: NDArray[Any]) -> NDArray[Any]:
    return array.compressed() if isinstance(array, np.ma.MaskedArray) else _flat(array)


def exact_type(
    kind: np.dtype[Any], least: int, greatest: int, among: Iterable[int] | None, where: str
) -> np.dtype[Any]:
    """Return a type that holds integers exactly, where NumPy would convert them to floats.

    Parameters
    ----------
    kind
        NumPy's choice, a float type.
    least, greatest
        Range of the integers.
    among
        Integers among floats, at least those that floats may round; None without floats.

    Raises
    ------
    UsageError
        No type holds all of them.
    """
    if among is None:
        if least < 0 and greatest >= 2**63:
            raise usage(
                f"{where}: no integers of 64 bits have both {least} and {greatest}",
                "use floats, or text",
            )
        return np.dtype(np.uint64 if greatest >= 2**63 else np.int64)
    rounded = next((number for number in among if int(float(number)) != number), None)
    if rounded is not None:
        raise usage(
            f"{where}: the integer {rounded} is among floats and no float64 equals it",
            "use integers alone, None where undefined, or make it a float yourself",
        )
    return kind
