"""Rows of a table: slices, numbers and masks, converted for the engine.

Nothing here reads rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, existing, memory_error, not_found, usage
from tachyfits.base.whole_numbers import whole_number

#: Valid selections of rows, for messages.
_ROWS = "give a slice, row numbers (0-based integers), or a mask of bool for every row"

#: A range (start, stop) of rows, or row numbers in the requested order.
Rows = tuple[int, int] | NDArray[np.int64]


def resolve_rows(rows: Any, count: int) -> Rows:
    """Convert a selection (None: all; an integer, a slice, numbers, a mask) of ``count`` rows.

    >>> resolve_rows(slice(2, None), 5), resolve_rows(None, 5), resolve_rows(-1, 5)
    ((2, 5), (0, 5), (4, 5))
    >>> resolve_rows([4, 0, -1], 5), resolve_rows(slice(None, None, -2), 5)
    (array([4, 0, 4]), array([4, 2, 0]))
    """
    if rows is None:
        return 0, count
    if isinstance(rows, range):
        # Check the ends before creating the numbers: a range may be very long.
        _refuse_outside([*rows[:1], *rows[-1:]], count)
        first, step = (rows[0], rows.step) if len(rows) > 1 else (sum(rows), 1)
        return _numbers(first + step * _every(0, len(rows), 1), count)
    if isinstance(rows, slice):
        try:
            start, stop, step = rows.indices(count)
        except (TypeError, ValueError) as error:
            raise usage(f"rows={rows!r}: {error}", "give integers") from error
        if step == 1:
            return start, max(start, stop)
        return _every(start, stop, step)
    if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool):
        number = _numbers(np.array([int(rows)]), count)[0]
        return int(number), int(number) + 1
    try:
        array = np.ma.filled(rows, False) if np.ma.isMaskedArray(rows) else np.asarray(rows)
    except ValueError as error:
        raise usage(f"rows of type {type(rows).__name__}: {error}", _ROWS) from error
    if array.dtype != np.bool_ and np.ma.is_masked(rows):
        raise usage("some row numbers are masked", either("leave them out: rows.compressed()"))
    if array.dtype == np.bool_ and array.ndim == 1:
        if len(array) != count:
            raise usage(f"a mask of {len(array)} for {count} rows", "give one for every row")
        return np.flatnonzero(array).astype(np.int64)
    return _numbers(array, count)


def last_of(rows: Any, count: int) -> int | None:
    """Return the last row of a slice with a step, or of a range; None for anything else.

    >>> last_of(slice(None, None, 2), 10), last_of(slice(7, None, -2), 10), last_of([3], 10)
    (8, 7, None)
    """
    if isinstance(rows, slice):
        try:
            rows = range(count)[rows]
        except (TypeError, ValueError):
            # `resolve_rows` refuses it with the reason.
            return None
        if rows.step == 1:
            return None
    # The length of a range may exceed the limit of len().
    return max(rows[0], rows[-1]) if isinstance(rows, range) and rows else None


def _every(start: int, stop: int, step: int) -> NDArray[np.int64]:
    try:
        return np.arange(start, stop, step, dtype=np.int64)
    except MemoryError as error:
        count = len(range(start, stop, step))
        hint = "read fewer rows at a time: " + either("batches()", "--rows or --head")
        raise memory_error(f"not enough memory for the numbers of {count} rows", hint) from error


def _numbers(array: NDArray[Any], count: int) -> NDArray[np.int64]:
    if array.dtype.kind == "O" and all(isinstance(row, int) for row in array.reshape(-1)):
        # Integers of more than 64 bits.
        _refuse_outside(array.reshape(-1).tolist(), count)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise usage(f"rows of type {array.dtype} and shape {array.shape}", _ROWS)
    if array.dtype.kind == "u" and array.size:
        _refuse_outside([int(array.max())], count)
    numbers = array.astype(np.int64)
    outside = (numbers < -count) | (numbers >= count)
    _refuse_outside(numbers[outside][:1].tolist(), count)
    return np.where(numbers < 0, numbers + count, numbers)


def _refuse_outside(rows: list[int], count: int) -> None:
    for row in rows:
        if not -count <= row < count:
            problem = f"no row {row}; the table has {count}, counted from 0"
            raise not_found(problem, existing("row", count))


def batch_size(rows: Any) -> int:
    """Return a valid number of rows in memory at a time; raise UsageError otherwise."""
    number = whole_number(rows, least=1)
    if number is None:
        raise usage(f"batches of {rows!r} rows", "give a whole number of rows, 1 or more")
    return number


def count_of(rows: Rows) -> int:
    """Return the number of rows."""
    return rows[1] - rows[0] if isinstance(rows, tuple) else len(rows)


def piece_of(rows: Rows, first: int, last: int) -> Rows:
    """Return rows ``first`` to before ``last`` of a selection."""
    if isinstance(rows, tuple):
        return rows[0] + first, min(rows[0] + last, rows[1])
    return rows[first:last]


def span_of(rows: Rows) -> tuple[int, int]:
    """Return the range (start, stop) that contains all of these rows."""
    if isinstance(rows, tuple):
        return rows
    return (int(rows.min()), int(rows.max()) + 1) if len(rows) else (0, 0)


def among(found: NDArray[np.int64], rows: Rows) -> NDArray[np.int64]:
    """Return the elements of ``rows`` that are also in ``found`` (ascending), in their order."""
    if isinstance(rows, tuple):
        first, last = np.searchsorted(found, rows)
        return found[first:last]
    at = np.searchsorted(found, rows)
    at[at == len(found)] = 0
    return rows[found[at] == rows] if len(found) else rows[:0]
