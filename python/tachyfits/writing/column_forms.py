"""Requested forms of columns of a binary table: ``rT``, ``rPT`` and ``rQT`` of TFORMn.

A form has the type of the elements and their number, and whether cells are in the heap. Values are
converted to that type if the conversion is exact; only floats are rounded.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.conversion import converted
from tachyfits.base.errors import usage
from tachyfits.table.ragged import Ragged, elements_of, with_elements
from tachyfits.table.strings import as_ragged
from tachyfits.table.values import ColumnData, filled_integers
from tachyfits.writing.new_columns import NewColumn, new_column

_FORM = re.compile(r"(?P<repeat>\d*)(?P<heap>[PQ]?)(?P<letter>[LXABIJKEDCM])(\(\d*\))?")

#: NumPy types by the letters of TFORMn; for integers, the type of the other sign (by TZEROn) comes
#: second.
_TYPES = {
    "L": ("bool",), "X": ("bool",), "B": ("uint8", "int8"), "I": ("int16", "uint16"),
    "J": ("int32", "uint32"), "K": ("int64", "uint64"), "E": ("float32",), "D": ("float64",),
    "C": ("complex64",), "M": ("complex128",),
}  # fmt: skip

#: Syntax of a form.
_HINT = "a form is rT, rPT or rQT: how many (1 without), P or Q for the heap, one of LXABIJKEDCM"


def formed_column(data: ColumnData, form: str | None) -> NewColumn:
    """Return a column of a binary table in a form, such as "J", "3E", "20A", "PJ" or "QD".

    The default form follows from the values.

    Raises
    ------
    UsageError
        The form is invalid, or does not match the values.
    """
    if form is None:
        if data.null is not None and not data.rows:
            # Without rows, keep the null until the type is known.
            filled_integers(data.name, elements_of(data.values), None, data.null)
        return new_column(data)
    match = _FORM.fullmatch(form.strip().upper()) if isinstance(form, str) else None
    if match is None:
        raise usage(f"column {data.name!r}: invalid form {form!r} for a binary table", _HINT)
    letter, heap = match["letter"], match["heap"]
    repeat = int(match["repeat"]) if match["repeat"] else None
    if not data.rows:
        data = _without_rows(data, letter, heap, repeat)
    if (letter == "A") != (data.values.dtype.kind == "S"):
        raise _misfit(data, form, f"values of {data.values.dtype}")
    if heap:
        if repeat not in (None, 1):
            raise _misfit(data, form, "one array in a cell")
        return _in_heap(data, form, letter, heap)
    if isinstance(data.values, Ragged):
        raise _misfit(data, form, "cells of different lengths")
    if letter == "A":
        return _text(data, data.values, form, repeat)
    typed = _of_type(data, form, letter)
    elements = int(np.prod(data.values.shape[1:]))
    if repeat is not None and repeat != elements:
        raise _misfit(data, form, f"{elements} element{'' if elements == 1 else 's'} in a cell")
    column = new_column(typed)
    return replace(column, spec=column.spec | {"element": "bit"}) if letter == "X" else column


def _without_rows(data: ColumnData, letter: str, heap: str, repeat: int | None) -> ColumnData:
    """Return a column without rows in a requested form; keep its shape and type if they fit."""
    values = _nothing(data.values, letter, heap, repeat)
    if data.null is not None:
        elements = elements_of(values)
        types = map(np.dtype, _TYPES.get(letter, ()) if elements.dtype.kind in "iu" else ())
        limits = ((kind, np.iinfo(kind)) for kind in types)
        fits = (kind for kind, each in limits if each.min <= data.null <= each.max)
        values = with_elements(values, elements.astype(next(fits, elements.dtype)))
        filled_integers(data.name, elements_of(values), None, data.null)
    return replace(data, values=values, undefined=None)


def _nothing(
    values: NDArray[Any] | Ragged, letter: str, heap: str, repeat: int | None
) -> NDArray[Any] | Ragged:
    text = letter == "A"
    elements = elements_of(values)
    kind = np.dtype(f"S{1 if repeat is None else repeat}" if text else _TYPES[letter][0])
    if elements.dtype.kind == kind.kind and (text or elements.dtype.name in _TYPES[letter]):
        kind = elements.dtype
    if heap:
        if text and (isinstance(values, Ragged) or values.ndim > 1) and elements.dtype.kind == "S":
            return values
        shape = values.cell_shape if isinstance(values, Ragged) else values.shape[1:]
        numbers = Ragged(np.zeros(1, np.int64), np.zeros(0, kind), cell_shape=shape)
        return np.zeros(0, kind) if text else numbers
    shape = () if isinstance(values, Ragged) else values.shape[1:]
    count = 1 if repeat is None else repeat
    if text:
        return values if elements.dtype.kind == "S" and shape else np.zeros(0, kind)
    if int(np.prod(shape)) != count or (repeat is None and not shape):
        shape = () if count == 1 else (count,)
    return np.zeros((0, *shape), kind)


def _text(data: ColumnData, values: NDArray[Any], form: str, repeat: int | None) -> NewColumn:
    longest = int(np.char.str_len(values).max(initial=0))
    each = int(np.prod(values.shape[1:]))
    width = (1 if repeat is None else repeat) // max(each, 1)
    if longest > width or (repeat is not None and width * each != repeat):
        many = f"{each} strings of " if values.ndim > 1 else ""
        raise _misfit(data, form, f"{many}{longest} characters")
    return new_column(replace(data, values=values.astype(f"S{width}") if width else values))


def _in_heap(data: ColumnData, form: str, letter: str, heap: str) -> NewColumn:
    values = data.values
    if letter == "A":
        if isinstance(values, Ragged) or values.ndim > 1:
            # Strings of one width, any number of them: TDIMn gives the width.
            cells = as_ragged(values)
            most = max(int(cells.lengths.max(initial=0)), 1)
            shaped = Ragged(cells.offsets, cells.values, cell_shape=cells.cell_shape or (most,))
            column = new_column(replace(data, values=shaped))
            return replace(column, spec=column.spec | {"variable": heap})
        lengths = np.char.str_len(values)
        offsets = np.zeros(len(values) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        characters = np.frombuffer(b"".join(values.tolist()), "S1")
        text = replace(data, values=Ragged(offsets, characters))
        column = new_column(replace(text, values=Ragged(offsets, characters, cell_shape=(1,))))
        spec = column.spec | {"variable": heap, "width": 1, "dimensions": []}
        return NewColumn(text, spec)
    if not isinstance(values, Ragged):
        shape = values.shape[1:] if values.ndim > 2 else ()
        cells = as_ragged(values.reshape(len(values), -1))
        undefined = None if data.undefined is None else data.undefined.reshape(-1)
        values = Ragged(cells.offsets, cells.values, cell_shape=shape)
        data = replace(data, values=values, undefined=undefined)
    column = new_column(_of_type(data, form, letter))
    spec = column.spec | {"variable": heap}
    return NewColumn(column.data, spec | ({"element": "bit"} if letter == "X" else {}))


def _of_type(data: ColumnData, form: str, letter: str) -> ColumnData:
    """Return the values in the type of a form, if they convert exactly."""
    values = data.values
    flat = elements_of(values)
    undefined, own = data.undefined, flat.dtype
    if (own.kind == "b") != (letter in "LX"):
        raise _misfit(data, form, f"values of {own}")
    if letter == "X" and undefined is not None:
        raise _misfit(data, form, "undefined truth values")
    names = _TYPES[letter]
    if own.name in names:
        return data
    if own.kind == "f" and letter in "BIJK" and flat.size and bool(np.isnan(flat).all()):
        # Values that are all undefined fit any type.
        undefined = np.ones(flat.shape, bool)
    defined = flat if undefined is None else flat[~undefined]
    held = np.zeros(defined.shape, bool)
    for name in names:
        result, exact = converted(defined, np.dtype(name))
        held |= exact
        if exact.all():
            break
    else:
        odd = defined[~held]
        actual = odd[0] if odd.size else f"both {defined.min()} and {defined.max()}"
        raise _misfit(data, form, f"{actual} ({own})")
    filled = np.zeros(flat.shape, result.dtype)
    filled[... if undefined is None else ~undefined] = result
    null = data.null
    if result.dtype.kind in "iu":
        limits = np.iinfo(result.dtype)
        fits = null is not None and limits.min <= null <= limits.max
        if undefined is not None or fits:
            filled, undefined, null = filled_integers(
                data.name, filled, undefined, null if fits else None
            )
        else:
            null = None
    elif undefined is not None:
        filled[undefined], undefined, null = np.nan, None, None
    else:
        null = None
    cells = with_elements(values, filled)
    return replace(data, values=cells, undefined=undefined, null=null)


def _misfit(data: ColumnData, form: str, actual: str) -> Exception:
    return usage(f"column {data.name!r}: the form {form!r} does not hold {actual}", _HINT)
