"""New columns in the engine's terms: the properties of a column, and its cells as bytes.

The form of a column of a binary table follows from its type alone. Columns of ASCII tables are in
`writing.ascii_columns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import usage, warn
from tachyfits.header.given import Cards, check_card_text
from tachyfits.table.ragged import Ragged
from tachyfits.table.strings import characters_of, delimiter_of, field_width, joined_strings
from tachyfits.table.values import ColumnData
from tachyfits.writing.images import ZEROS

#: Heaps of more bytes than this need 64-bit descriptors.
_LARGE_HEAP = 2**31 - 1

#: Cells of a column: bytes of the values, offsets of arrays, bytes of nulls.
Cells = tuple[NDArray[np.uint8], NDArray[np.int64] | None, NDArray[np.uint8] | None]


@dataclass(frozen=True)
class NewColumn:
    """A column to write.

    Attributes
    ----------
    data
        The values.
    spec
        Arguments for the engine.
    """

    data: ColumnData
    spec: dict[str, Any]

    def cells(self) -> Cells:
        """Return the cells in the engine's form."""
        values, undefined = self.data.values, self.data.undefined
        if isinstance(values, Ragged) and self.spec["substrings"]:
            values = joined_strings(self.data.name, values, chr(self.spec["substrings"][1]))
        if isinstance(values, Ragged) and values.dtype.kind == "S":
            return (*characters_of(values, self.spec["width"]), None)
        if isinstance(values, Ragged):
            return (bytes_of(values.values), values.offsets, _nulls_of(undefined))
        if self.spec["element"] == "text":
            values = values.astype(f"S{max(self.spec['width'], 1)}", copy=False)
            return (bytes_of(values) if self.spec["width"] else bytes_of(values[:0]), None, None)
        return (bytes_of(values), None, _nulls_of(undefined))


def new_column(
    data: ColumnData,
    heap_bytes: int | None = None,
    divided: tuple[int, str] | None = None,
) -> NewColumn:
    """Return a column of a binary table.

    If more values follow, ``heap_bytes`` is the size of all arrays, and ``divided`` the largest
    total of characters of a cell's strings, and their separator.
    """
    values = data.values
    name, spec = values.dtype.name, plain_spec(data)
    if isinstance(values, Ragged):
        size = values.values.nbytes if heap_bytes is None else heap_bytes
        dimensions = list(reversed(values.cell_shape))
        if values.dtype.kind == "S":
            if not dimensions:
                return _divided_column(data, values, spec, divided)
            width = max(values.dtype.itemsize, 1)
            spec |= {"element": "text", "width": width}
            dimensions.insert(0, width)
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
    # TFORM gives the length of a single axis, except for length 1: "1D" is a scalar.
    dimensions = shape if len(shape) > 1 or shape == [1] else []
    spec |= {"element": name, "repeat": repeat, "dimensions": dimensions}
    return NewColumn(data, spec)


def _divided_column(
    data: ColumnData, values: Ragged, spec: dict[str, Any], divided: tuple[int, str] | None
) -> NewColumn:
    """Return a column with any number of strings in each cell, separated by a delimiter."""
    width, delimiter = divided or (field_width(values), delimiter_of(values))
    substrings = (max(values.dtype.itemsize, 1), ord(delimiter))
    text = {"element": "text", "repeat": width, "width": width, "substrings": substrings}
    return NewColumn(data, spec | text)


def plain_spec(data: ColumnData) -> dict[str, Any]:
    """Return the arguments that every column has."""
    for what, text in (("name", data.name), ("unit", data.unit), ("format", data.display)):
        check_card_text(what, text, f"column {data.name!r}: ")
    name = data.values.dtype.name
    null = None if data.null is None else data.null - ZEROS.get(name, 0)
    return {
        "name": data.name,
        "element": name,
        "repeat": 1,
        "width": 1,
        "variable": None,
        "null": null,
        "dimensions": [],
        "substrings": None,
        "unit": data.unit or None,
        "display": data.display,
        "scaling": None,
    }


def bytes_of(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the memory of an array as bytes."""
    flat = np.ascontiguousarray(values).reshape(-1)
    if not flat.size or not flat.dtype.itemsize:
        return np.zeros(0, np.uint8)
    return flat.view(np.uint8)


def _nulls_of(undefined: NDArray[np.bool_] | None) -> NDArray[np.uint8] | None:
    return None if undefined is None else bytes_of(undefined)


def warn_of_names(columns: Sequence[ColumnData]) -> None:
    """Warn about columns whose names are equal in FITS, which ignores case."""
    names: dict[str, str] = {}
    for number, column in enumerate(columns, 1):
        key = column.name.strip().upper()
        if not key:
            warn(
                f"column {number} (from 1): expected a name, found {column.name!r}\n"
                "hint: give it one; astropy reads no table with a column without a name"
            )
        if key and key in names:
            warn(
                f"column {number} (from 1): expected a unique name, found {column.name!r} "
                f"beside {names[key]!r}\n"
                "hint: case does not matter in FITS; many programs find the first by either name"
            )
        names.setdefault(key, column.name)


def description_cards(name: str, number: int, description: str) -> Cards:
    """Return the cards of a column's description: the comment of its name, and TCOMMn if needed.

    >>> [keyword for keyword, _, _ in description_cards("RA", 3, "right ascension " * 5)]
    ['TTYPE3', 'TCOMM3']
    """
    if not description:
        return []
    if not isinstance(description, str):
        raise usage(
            f"column {name!r}: invalid description {description!r}: expected text", "give text"
        )
    comment = _core.comment_kept(f"TTYPE{number}", name, description)
    cards: Cards = [(f"TTYPE{number}", name, comment)]
    if not name or comment != description.strip():
        cards.append((f"TCOMM{number}", description, ""))
    return cards


def with_descriptions(cards: Cards, columns: Sequence[ColumnData]) -> Cards:
    """Return the cards of a new table with the descriptions of its columns.

    Other comments on columns are dropped: they describe the columns of the old table.
    """
    described = [(number, each) for number, each in enumerate(columns, 1) if each.description]
    old = {f"TCOMM{number}" for number, _ in described}
    new = (description_cards(each.name, number, each.description) for number, each in described)
    return [*chain.from_iterable(new), *(card for card in cards if card[0] not in old)]
