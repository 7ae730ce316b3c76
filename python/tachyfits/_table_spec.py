"""Columns in the engine's terms: what a new column is to be, and its cells as bytes.

The form of a column of a binary table follows from its type alone; that of an ASCII table also
from its values, whose digits must fit, unless it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits._errors import usage
from tachyfits._ragged import Ragged
from tachyfits._table_values import ColumnData

#: What the conventions for unsigned integers and signed bytes add to the stored value.
_ZEROS = {"int8": -(2**7), "uint16": 2**15, "uint32": 2**31, "uint64": 2**63}

#: Arrays of more bytes than this take descriptors of 64 bits.
_LARGE_HEAP = 2**31 - 1

#: What stands for an undefined number in an ASCII table, which has no value for it.
_NULL_TEXT = "*"

#: The cells of a column: bytes of the values, offsets of arrays, bytes of nulls.
Cells = tuple[NDArray[np.uint8], NDArray[np.int64] | None, NDArray[np.uint8] | None]


@dataclass(frozen=True)
class NewColumn:
    """A column that is to be written.

    Attributes
    ----------
    data
        The values.
    spec
        What the engine is told.
    """

    data: ColumnData
    spec: dict[str, Any]

    def cells(self) -> Cells:
        """Return the cells as the engine takes them."""
        values, undefined = self.data.values, self.data.undefined
        if isinstance(values, Ragged):
            return (bytes_of(values.values), values.offsets, _nulls_of(undefined))
        if self.spec["element"] == "text":
            values = values.astype(f"S{max(self.spec['width'], 1)}", copy=False)
            return (bytes_of(values) if self.spec["width"] else bytes_of(values[:0]), None, None)
        return (bytes_of(values), None, _nulls_of(undefined))


@dataclass(frozen=True)
class NewTextColumn(NewColumn):
    """A column of an ASCII table."""

    def cells(self) -> Cells:
        """Return the cells: text as it is, integers of 64 bits, floats of 64 bits."""
        values: Any = self.data.values
        kind = values.dtype.kind
        if kind == "S":
            width = int(self.spec["element"][1:])
            return bytes_of(values.astype(f"S{width}", copy=False)), None, None
        wanted = np.int64 if self.spec["element"].startswith("I") else np.float64
        undefined = self.data.undefined
        if wanted is np.float64:
            undefined = np.isnan(values) if kind == "f" else undefined
        return bytes_of(values.astype(wanted)), None, _nulls_of(undefined)


def new_column(data: ColumnData, heap_bytes: int | None = None) -> NewColumn:
    """Return a column of a binary table; ``heap_bytes``: of all its arrays, if others come."""
    values = data.values
    name, spec = values.dtype.name, _plain_spec(data)
    if isinstance(values, Ragged):
        size = values.values.nbytes if heap_bytes is None else heap_bytes
        if values.dtype.kind == "S":
            raise usage(f"column {data.name!r}: arrays of text", "give text of one length")
        dimensions = list(reversed(values.cell_shape))
        letter = "Q" if size > _LARGE_HEAP else "P"
        return NewColumn(data, spec | {"variable": letter, "dimensions": dimensions})
    shape = list(reversed(values.shape[1:]))
    if values.dtype.kind == "S":
        width = values.dtype.itemsize
        dimensions = [width, *shape] if shape else []
        repeat = int(np.prod([width, *shape], dtype=object))
        text = {"element": "text", "repeat": repeat, "width": width, "dimensions": dimensions}
        return NewColumn(data, spec | text)
    repeat = int(np.prod(shape, dtype=object)) if shape else 1
    spec |= {"element": name, "repeat": repeat, "dimensions": shape if len(shape) > 1 else []}
    return NewColumn(data, spec)


def _plain_spec(data: ColumnData) -> dict[str, Any]:
    """Return what every column has."""
    name = data.values.dtype.name
    null = None if data.null is None else data.null - _ZEROS.get(name, 0)
    return {
        "name": data.name,
        "element": name,
        "repeat": 1,
        "width": 1,
        "variable": None,
        "null": null,
        "dimensions": [],
        "unit": data.unit,
        "display": data.display,
        "scaling": None,
    }


def new_text_column(data: ColumnData, form: str | None) -> NewColumn:
    """Return a column of an ASCII table, of a form such as "I6", "F8.3", "E16.8", "D25.16", "A10".

    Without a form it is one that holds every value with all its digits.
    """
    values = data.values
    if isinstance(values, Ragged) or values.ndim != 1 or values.dtype.kind not in "iufS":
        raise usage(
            f"column {data.name!r} is of {_type_words(values)}: an ASCII table has none of these",
            'write a binary table (kind="binary"), or columns of single numbers and text',
        )
    form = (form or _text_form(values)).strip().upper()
    undefined = data.undefined is not None or (
        values.dtype.kind == "f" and bool(np.isnan(values).any())
    )
    null = _NULL_TEXT if undefined else None
    return NewTextColumn(data, _plain_spec(data) | {"element": form, "null": null})


def _type_words(values: Any) -> str:
    if isinstance(values, Ragged):
        return "arrays of different lengths"
    return f"{values.dtype}" + (f" of shape {values.shape[1:]} a cell" if values.ndim > 1 else "")


def _text_form(values: NDArray[Any]) -> str:
    if values.dtype.kind == "S":
        return f"A{max(values.dtype.itemsize, 1)}"
    if values.dtype.kind in "iu":
        ends = (int(values.min()), int(values.max())) if values.size else (0, 0)
        return f"I{max(len(str(end)) for end in ends)}"
    # A sign, a digit, a point, the decimals, and an exponent of at most five characters.
    return "E16.8" if values.dtype.itemsize == 4 else "D25.16"


def bytes_of(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the memory of an array as bytes."""
    flat = np.ascontiguousarray(values).reshape(-1)
    if not flat.size or not flat.dtype.itemsize:
        return np.zeros(0, np.uint8)
    return flat.view(np.uint8)


def _nulls_of(undefined: NDArray[np.bool_] | None) -> NDArray[np.uint8] | None:
    return None if undefined is None else bytes_of(undefined)


def description_cards(columns: Sequence[ColumnData]) -> list[tuple[str, Any, str]]:
    """Return the names with what describes the columns, as cards that lend their comments."""
    return [
        (f"TTYPE{number}", column.name, column.description)
        for number, column in enumerate(columns, 1)
        if column.description
    ]
