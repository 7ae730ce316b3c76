"""Columns decoded by the engine, converted to results: masked, ragged, text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.table.columns import TableColumn, Values
from tachyfits.table.ragged import Ragged
from tachyfits.table.rows import Rows
from tachyfits.table.strings import (
    Encoding,
    divided_strings,
    is_ascii,
    strings,
    strings_of_width,
)

#: Values of a column, and where they are undefined, or None.
Given = tuple[NDArray[Any], NDArray[np.bool_] | None]

#: Maximum width of NumPy text, in characters.
_WIDEST = (2**31 - 1) // 4


def beginning(given: Given, rows: int) -> Given:
    """Return the first ``rows`` rows: the last batch of a table may be shorter."""
    values, nulls = given
    return values[:rows], None if nulls is None else nulls[:rows]


def masked(values: NDArray[Any], nulls: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return a masked array if any element is undefined, otherwise the array itself."""
    if nulls is None or not nulls.any():
        return values
    return np.ma.MaskedArray(values, mask=nulls)


def is_apart(column: TableColumn, raw: bool) -> bool:
    """Return whether a column needs a separate read."""
    return column.is_variable or (column.delimiter is not None and not raw)


def divided(
    core: _core.Table, column: TableColumn, rows: Rows, text: str, options: dict[str, Any]
) -> tuple[Ragged, int]:
    """Return the strings of a field with delimiters, and 1 if some are not ASCII.

    Trailing blanks count as delimiters.
    """
    values, _, _ = core.read([column.number], rows, **(options | {"raw": True}), text="bytes")[0]
    encoding, odd = _encoding(core, column, values, text, False)
    return divided_strings(values, str(column.delimiter), encoding), odd


def _encoding(
    core: _core.Table, column: TableColumn, values: NDArray[Any], text: str, raw: bool
) -> tuple[Encoding, int]:
    """Return the encoding of strings, and 1 if some are not ASCII.

    Stored values, and ASCII if bytes are requested, are not decoded.
    """
    if raw or is_ascii(values):
        return "bytes" if text == "bytes" else "utf-8", 0
    return core.text_encoding(column.number), 1


def ragged(
    core: _core.Table, column: TableColumn, rows: Rows, text: str, options: dict[str, Any]
) -> tuple[Values, int]:
    """Return the cells of a column in the heap, and the number of invalid elements."""
    offsets, values, nulls, odd = core.read_arrays(column.number, rows, **options)
    if column.dtype.kind == "U":
        encoding, odd = _encoding(core, column, values, text, options["raw"])
        return _texts(column, offsets, values, encoding), odd
    # If TDIMn does not match the lengths of all cells, all elements are on one axis.
    shape = column.shape if _fit(np.diff(offsets), column.shape) else ()
    return Ragged(offsets, masked(values, nulls), cell_shape=shape), odd


def _fit(lengths: NDArray[np.int64], shape: tuple[int, ...]) -> bool:
    """Return whether each cell has the length of this shape, or is empty."""
    return bool(((lengths == int(np.prod(shape))) | (lengths == 0)).all())


def _texts(
    column: TableColumn,
    offsets: NDArray[np.int64],
    characters: NDArray[np.uint8],
    encoding: Encoding,
) -> Values:
    """Return characters of the heap as one string per cell, or several if TDIMn divides them."""
    if not column.shape:
        return strings(offsets, characters, encoding)
    width = column.dtype.itemsize // 4
    # A width above that of any NumPy text leaves strings undivided.
    width = width if width < _WIDEST else len(characters) + 1
    texts = strings_of_width(offsets, characters, width, column.shape, encoding)
    fits = len(column.shape) == 1 or _fit(texts.lengths, column.shape)
    return texts if fits else Ragged(texts.offsets, texts.values)
