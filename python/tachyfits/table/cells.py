"""Cells of a column from user input, including lists and Python objects, as one array.

Cells of different lengths become a `Ragged`; values that NumPy would change to fit beside the
others are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import listed, usage, warn
from tachyfits.table.ragged import LARGE_INTEGER, Ragged, exact_type, joined


def with_numpys_mask(values: Any) -> Any:
    """Return an astropy Masked array as a NumPy masked array; other values unchanged.

    NumPy would ignore the mask of such an array.
    """
    if not (isinstance(values, np.ndarray) and hasattr(values, "unmasked")):
        return values
    masked: Any = values
    return np.ma.MaskedArray(np.asarray(masked.unmasked), mask=np.asarray(masked.mask))


def as_array(name: str, values: Any) -> NDArray[Any] | Ragged:
    """Return the values of a column as an array of one type, masked where undefined, or a `Ragged`.

    Raises
    ------
    UsageError
        The values have different types, or a type that FITS lacks.
    """
    if isinstance(values, Ragged) and values.dtype.kind == "O":
        # Strings; without elements the type is unknown.
        flat = as_array(name, values.values) if values.values.size else np.zeros(0, "S1")
        return values.with_values(flat)
    if isinstance(values, (Ragged, np.ndarray)):
        array = values
    elif isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        array = np.asanyarray(values)
    else:
        array = _of_sequence(values)
    if isinstance(array, np.ndarray) and array.dtype.kind == "O":
        return _of_objects(name, array)
    return array


def _of_sequence(values: Sequence[Any]) -> NDArray[Any] | Ragged:
    """Return a list as an array; of objects if NumPy would change some values.

    Empty lists are cells of any length.
    """
    kinds = set(map(type, values))
    if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
        # NumPy drops the masks of elements in a list.
        shapes = set(map(np.shape, values))
        return _objects(values) if () in shapes or len(shapes) > 1 else np.ma.stack(values)
    try:
        array = np.asanyarray(values)
    except (ValueError, OverflowError):
        # Lists of different lengths, or integers beyond 64 bits, which are refused later.
        return _objects(values)
    if array.ndim == 2 and len(array) and not array.shape[1]:
        # Empty lists show that cells are lists, not that no cell has elements.
        return Ragged(np.zeros(len(array) + 1, np.int64), array.reshape(-1))
    if _may_be_changed(array, values, kinds):
        return np.array(values, dtype=object)
    return array


def _may_be_changed(array: NDArray[Any], values: Sequence[Any], kinds: set[type]) -> bool:
    """Return whether NumPy may have converted numbers to text, or rounded integers to floats."""
    text = array.dtype.kind in "US"
    large = array.dtype.kind in "fc" and bool((np.abs(array) >= LARGE_INTEGER).any())
    if array.ndim > 1 and (text or large):
        kinds = set(map(type, np.array(values, dtype=object).reshape(-1).tolist()))
    if text:
        return not all(issubclass(kind, (str, bytes)) for kind in kinds)
    if large:
        return not all(issubclass(kind, (float, complex, np.inexact)) for kind in kinds)
    integers = all(issubclass(kind, (int, np.integer)) for kind in kinds)
    return array.dtype.kind == "f" and array.ndim == 1 and integers


def _objects(values: Sequence[Any]) -> NDArray[np.object_]:
    cells = np.empty(len(values), dtype=object)
    for row, cell in enumerate(values):
        cells[row] = None if cell is np.ma.masked else cell
    return cells


def _of_objects(name: str, array: NDArray[Any]) -> NDArray[Any] | Ragged:
    """Convert objects to their common type; None and masked objects are undefined."""
    cells = [None if cell is np.ma.masked else cell for cell in array.reshape(-1).tolist()]
    if any(_is_array(cell) for cell in cells):
        if array.ndim != 1:
            raise usage(f"column {name!r}: arrays in an array of several axes", "use one axis")
        return _of_arrays(name, cells)
    missing = np.array([cell is None for cell in cells], bool)
    defined = [cell for cell in cells if cell is not None]
    typed = _typed(name, defined)
    full = np.zeros(len(cells), typed.dtype)
    full[~missing] = typed
    shaped = full.reshape(array.shape)
    return np.ma.MaskedArray(shaped, mask=missing.reshape(array.shape)) if missing.any() else shaped


#: Numbers of null lists by column name, for a table that comes in batches.
_NULL_LISTS: ContextVar[dict[str, int] | None] = ContextVar("_NULL_LISTS", default=None)


def warn_of_null_lists(name: str, count: int) -> None:
    """Warn that null lists are written as empty lists."""
    counts = _NULL_LISTS.get()
    if counts is not None:
        counts[name] = counts.get(name, 0) + count
        return
    lists = "1 null list becomes an array" if count == 1 else f"{count} null lists become arrays"
    warn(f"column {name!r}: {lists} without elements, because FITS has no null arrays")


@contextmanager
def null_lists_of_batches(*, warns: bool) -> Iterator[None]:
    """Count null lists of all batches converted in this context; warn once for each column."""
    counts: dict[str, int] = {}
    token = _NULL_LISTS.set(counts)
    try:
        yield
    finally:
        _NULL_LISTS.reset(token)
    for name, count in counts.items() if warns else ():
        warn_of_null_lists(name, count)


def _is_array(cell: Any) -> bool:
    return cell.ndim > 0 if isinstance(cell, np.ndarray) else isinstance(cell, (list, tuple))


def _of_arrays(name: str, cells: list[Any]) -> NDArray[Any] | Ragged:
    """Return arrays as a `Ragged`, or stacked if they have one shape and several axes, or text."""
    if nulls := sum(cell is None for cell in cells):
        warn_of_null_lists(name, nulls)
    at_once = _of_plain_lists(name, cells)
    if at_once is not None:
        return at_once
    arrays = [np.zeros(0) if cell is None else as_array(name, cell) for cell in cells]
    plain = [array for array in arrays if not isinstance(array, Ragged)]
    if len(plain) < len(arrays):
        raise usage(
            f"column {name!r}: lists of lists of different lengths", "flatten the inner ones"
        )
    is_text = [array.dtype.kind in "US" for array in plain if array.size]
    first, text = plain[0], bool(is_text) and all(is_text)
    if (first.ndim > 1 or text) and all(array.shape == first.shape for array in plain):
        return (np.ma if any(map(np.ma.isMaskedArray, plain)) else np).stack(plain)  # type: ignore[no-any-return]
    if text and all(array.ndim == 1 for array in plain):
        dtypes = [array.dtype for array in plain if array.size]
        return joined(plain, np.result_type(*dtypes), f"column {name!r}")
    odd = next((array for array in plain if array.dtype.kind not in "biufc"), None)
    if odd is not None:
        raise usage(
            f"column {name!r} has cells that are arrays of {odd.dtype}, of different lengths",
            "those hold numbers, truth values or text of one axis: pad the cells to one length",
        )
    return joined(plain, where=f"column {name!r}")


def _of_plain_lists(name: str, cells: list[Any]) -> NDArray[Any] | Ragged | None:
    """Return lists of Python numbers or text, converted at once; None for other lists."""
    if not set(map(type, cells)) <= {list, tuple, type(None)}:
        return None
    lists = [cell or () for cell in cells]
    elements = list(chain.from_iterable(lists))
    kinds = set(map(type, elements)) - {type(None)}
    if not (kinds <= {int, float, complex} or kinds == {str}):
        return None
    values = as_array(name, elements)
    assert isinstance(values, np.ndarray)
    if kinds == {str} and len(set(map(len, lists))) == 1:
        return values.reshape(len(lists), -1)
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(list(map(len, lists)), out=offsets[1:])
    return Ragged(offsets, values)


def _typed(name: str, defined: list[Any]) -> NDArray[Any]:
    """Return objects as an array of numbers, truth values, text or dates; refuse others."""
    kinds = {_kind_of(cell) for cell in defined}
    if kinds <= {"number"} or (len(kinds) == 1 and "other" not in kinds):
        ways = {"date": _dates, "duration": _durations, "clock": _clock_times}
        way = next((ways[kind] for kind in kinds if kind in ways), np.array)
        try:
            array = way(defined) if defined else np.zeros(0)
        except (TypeError, ValueError, OverflowError) as error:
            raise usage(f"column {name!r}: {error}", _ONE_TYPE) from error
        if "number" in kinds:
            array = _exact(name, defined, array)
        if array.dtype.kind in "biufcSUMm":
            return array
    types = listed(sorted({type(cell).__name__ for cell in defined}))
    raise usage(
        f"column {name!r} has values of type {types}, which FITS columns cannot store", _ONE_TYPE
    )


def _exact(name: str, defined: list[Any], array: NDArray[Any]) -> NDArray[Any]:
    """Return NumPy's array of numbers, or one that holds integers which NumPy rounded."""
    integers = [int(cell) for cell in defined if isinstance(cell, (int, np.integer))]
    if array.dtype.kind in "iu" or not integers:
        return array
    least, greatest = min(integers), max(integers)
    if least < -(2**63) or greatest >= 2**64:
        odd = greatest if greatest >= 2**64 else least
        raise usage(f"column {name!r}: {odd} needs more than 64 bits", "use floats, or text")
    among = None if len(integers) == len(defined) else integers
    kind = exact_type(array.dtype, least, greatest, among, f"column {name!r}")
    return array if kind == array.dtype else np.array(defined, kind)


def _dates(defined: list[Any]) -> NDArray[Any]:
    """Return dates, as whole days if all are; the Standard has no time zones, so they are UTC."""
    dates = np.array([_date(cell) for cell in defined])
    # Undefined dates may have no unit.
    return dates.astype("M8[D]") if np.isnat(dates).all() else dates


def _date(cell: Any) -> Any:
    """Return a date as NumPy's; pandas dates, which have nanoseconds, convert themselves."""
    import datetime

    if isinstance(cell, np.datetime64):
        return cell
    if hasattr(cell, "to_datetime64"):
        return cell.to_datetime64()
    if not isinstance(cell, datetime.datetime):
        return np.datetime64(cell, "D")
    if cell.tzinfo is not None:
        cell = cell.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return np.datetime64(cell, "us")


def _clock_times(defined: list[Any]) -> NDArray[Any]:
    return np.array([cell.isoformat() for cell in defined])


def _durations(defined: list[Any]) -> NDArray[Any]:
    return np.array([_duration(cell) for cell in defined])


def _duration(cell: Any) -> Any:
    """Return a duration as NumPy's; pandas durations have nanoseconds and convert themselves."""
    if isinstance(cell, np.timedelta64):
        return cell
    return cell.to_timedelta64() if hasattr(cell, "to_timedelta64") else np.timedelta64(cell, "us")


def _kind_of(cell: Any) -> str:
    import datetime
    import numbers

    if isinstance(cell, (bool, np.bool_)):
        return "truth"
    if isinstance(cell, (datetime.timedelta, np.timedelta64)):
        # Test before numbers: NumPy counts its durations as numbers.
        return "duration"
    if isinstance(cell, numbers.Number):
        return "number"
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, bytes):
        return "bytes"
    if isinstance(cell, (datetime.date, np.datetime64)):
        return "date"
    if isinstance(cell, datetime.time) and cell.tzinfo is None:
        return "clock"
    return "other"


_ONE_TYPE = "use numbers (of at most 64 bits), truth values, text or dates, one type in a column"
