"""Tables of every supported kind, converted to columns that the engine writes.

Dictionaries, structured arrays, astropy tables, pandas frames, Arrow streams: each becomes a list
of `ColumnData`, native arrays with their header properties. `table.values` converts a single array
to a FITS column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import either, in_lines, usage, warn
from tachyfits.base.kinds import kind_of
from tachyfits.header.cards import Header
from tachyfits.header.given import (
    Cards,
    cards_of_items,
    given_cards,
    is_card_text,
    last_of_each,
)
from tachyfits.interop.arrow import columns_of_arrow, meta_of_arrow
from tachyfits.interop.astropy import cards_of_records, columns_of_records
from tachyfits.interop.astropy_yaml import OBJECTS
from tachyfits.interop.column_values import with_what_they_say
from tachyfits.interop.mixins import (
    block_of,
    with_parts,
)
from tachyfits.interop.pandas import columns_of_pandas
from tachyfits.table.columns import Columns
from tachyfits.table.metadata import (
    describing_cards,
)
from tachyfits.table.table import Table
from tachyfits.table.values import ColumnData, Named, column_data
from tachyfits.text.units import given_unit

KNOWN = (
    "a dict of arrays or lists, a structured array, an astropy Table, FITS_rec or BinTableHDU, a "
    "pandas or polars frame, "
    "whatever gives an Arrow stream (pyarrow, DuckDB), Columns or a Table of tachyfits"
)


@dataclass(frozen=True)
class TableData:
    """A table of any kind in FITS terms.

    Attributes
    ----------
    columns
        Columns of the table.
    parts
        Names of the columns of each astropy object, by the name of the object.
    source
        The source table; for astropy, with objects split into columns.
    """

    columns: list[ColumnData]
    parts: Mapping[str, list[str]]
    source: Any

    @cached_property
    def _said(self) -> tuple[Cards, list[str]]:
        """Table metadata: cards, and entries that do not fit a card."""
        return said_of(self.source)

    @property
    def comments(self) -> list[str]:
        """Comments of the table, including astropy's description of columns."""
        return [str(value) for keyword, value, _ in self._said[0] if keyword == "COMMENT"]

    @property
    def values(self) -> dict[str, Any]:
        """Values of the cards, by keyword; the first of duplicates."""
        return {keyword: value for keyword, value, _ in reversed(self._said[0])}

    def cards(self, header: Any = None, columns: Sequence[str] | None = None) -> Cards:
        """Return the cards for some columns (None: all), followed by those of ``header``.

        Values that do not fit a card are dropped with a warning; in ``header`` they are an error.
        """
        cards = _valid(*self._said)
        if columns is not None and hasattr(self.source, "colnames"):
            cards = _renumbered(cards, self.source.colnames, columns)
        return last_of_each([*cards, *table_cards(header)])


def to_columns(
    data: Any, descriptions: Mapping[str, str] | None = None, theirs: Collection[str] = ()
) -> TableData:
    """Convert a table of any supported kind, without changing it.

    Parameters
    ----------
    descriptions
        Descriptions of objects (a SkyCoord) that become columns, by name.
    theirs
        Names of the columns of the table that gets these rows; see `with_parts`.

    Raises
    ------
    UsageError
        The kind of the table is unsupported, or FITS cannot represent a column.
    """
    data, parts = with_parts(data, descriptions, theirs)
    kind = kind_of(data)
    if kind == "lazy":
        raise usage(
            f"a {type(data).__name__} has no rows yet", either("give the result of .collect()")
        )
    if kind not in READERS:
        raise usage(f"invalid table of type {type(data).__name__}", f"give {KNOWN}")
    columns = [
        column_data(name, values, **_sayable(name, properties))
        for name, values, properties in READERS[kind](data)
    ]
    lengths = {column.name: column.rows for column in columns}
    if len(set(lengths.values())) > 1:
        raise usage(
            f"columns have different lengths: {lengths}", "give all columns the same number of rows"
        )
    return TableData(columns, parts, data)


def column_of(name: str, values: Any, **said: Any) -> ColumnData:
    """Convert one column; ``said`` has precedence over properties that the values carry."""
    values, properties = with_what_they_say(name, values)
    merged = {
        key: given_unit(value)
        for key, value in said.items()
        if not (value is None or (isinstance(value, str) and not value))
    }
    return column_data(name, values, **_sayable(name, properties) | merged)


def _sayable(name: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a column, with its description reduced to card characters.

    Lines of a description are joined; text outside ASCII is dropped, with a warning.
    """
    text = properties.get("description") or ""
    if is_card_text(text):
        return properties
    line = " ".join(text.split())
    if not is_card_text(line):
        warn(
            f"column {name!r}: its description {text!a} has characters that FITS does not have; "
            "the column's cards leave it out" + either("\nhint: give one by descriptions=")
        )
        line = ""
    return properties | {"description": line}


def _columns_of_ours(data: Columns) -> Named:
    for key, values in data.items():
        info = data.info.get(key)
        if info is None:
            yield key, values, {}
            continue
        properties: dict[str, Any] = {"unit": info.unit, "description": info.description}
        properties["display"], properties["carried"] = info.display, info.carried
        if isinstance(info.null, int) and values.dtype.kind in "iu" and info.scale == 1:
            properties["null"] = info.null + int(info.zero)
        yield info.name, values, properties


def _of_structured(data: NDArray[Any]) -> Named:
    if data.ndim != 1:
        raise usage(f"a structured array of shape {data.shape}", "give one of one axis: the rows")
    fields: Any = np.ma.getdata(data)
    mask: Any = np.ma.getmaskarray(data) if np.ma.isMaskedArray(data) else None
    for name in data.dtype.names or ():
        # Masked arrays fail to return fields without elements.
        values = fields[name]
        yield name, values if mask is None else np.ma.MaskedArray(values, mask=mask[name]), {}


def _of_mapping(data: Mapping[Any, Any]) -> Named:
    for name, values in data.items():
        if not isinstance(name, (str, int, np.integer)):
            raise usage(f"invalid column name {name!r}: expected text", "give text")
        yield str(name), *with_what_they_say(name, values)


def _of_astropy(table: Any) -> Named:
    for column in table.itercols():
        yield column.info.name, *with_what_they_say(column.info.name, column)


#: Functions by kind of table that yield (name, values, properties: unit, null, display,
#: description) of each column.
READERS: dict[str, Callable[[Any], Named]] = {
    "table": lambda table: _columns_of_ours(table.read()),
    "columns": _columns_of_ours,
    "mapping": _of_mapping,
    "records": columns_of_records,
    "structured": _of_structured,
    "astropy": _of_astropy,
    "pandas": columns_of_pandas,
    "arrow": columns_of_arrow,
    "arrow column": columns_of_arrow,
}


def table_cards(header: Any) -> Cards:
    """Return the cards of a header for a table; structural cards of a `Header` are dropped."""
    return list(describing_cards(header)) if isinstance(header, Header) else given_cards(header)


def meta_cards(data: Any) -> Cards:
    """Return the cards of an astropy object's meta; warn about values that do not fit a card."""
    return _valid(*said_of(data))


def _valid(cards: Cards, unfit: list[str]) -> Cards:
    """Return the valid cards; warn about the others and about ``unfit`` entries."""
    if _problem(cards):
        problems = [_problem([card]) for card in cards]
        odd = [f"{card[0]}: {why}" for card, why in zip(cards, problems, strict=True) if why]
        cards = [card for card, why in zip(cards, problems, strict=True) if not why]
        unfit = [*unfit, *odd]
    if unfit:
        lines = in_lines(unfit)
        warn(f"no card can hold these entries of the table's meta; they are left out:\n{lines}")
    return cards


def said_of(data: Any) -> tuple[Cards, list[str]]:
    """Return a table's metadata as cards, and the entries whose type does not fit a card."""
    if isinstance(data, Table):
        return list(describing_cards(data.header)), []
    return cards_of_items(_meta_items(data))


def _renumbered(cards: Cards, names: Sequence[str], columns: Sequence[str]) -> Cards:
    """Return cards of a table with columns renumbered; cards of other columns are dropped.

    astropy keeps unknown cards of columns, such as TUCDn, in a table's meta.
    """
    old = {name: number for number, name in enumerate(names, 1)}
    places = {old[name]: new for new, name in enumerate(columns, 1) if name in old}
    renumbered = []
    for keyword, value, comment in cards:
        is_of_a_column, moved = _core.column_keyword(keyword, places)
        if moved is not None or not is_of_a_column:
            renumbered.append((moved or keyword, value, comment))
    return renumbered


def _problem(cards: Cards) -> str | None:
    """Return why these cards are invalid, in a line; None if they are valid."""
    try:
        _core.array_file(np.zeros(1, np.uint8), cards)
    except (_core.TachyfitsError, OverflowError) as error:
        return str(error).splitlines()[0]
    return None


def _meta_items(data: Any) -> Iterable[tuple[Any, Any]]:
    """Yield the metadata of a table as a whole: keywords with values, or values and comments."""
    if isinstance(data, Columns):
        comments = data.comments
        for key, value in data.meta.items():
            yield key, (value, comments[key]) if comments.get(key) else value
        return
    if kind_of(data) == "records":
        yield from cards_of_records(data)
        return
    metadata = getattr(getattr(data, "schema", None), "metadata", None)
    if isinstance(metadata, Mapping):
        yield from meta_of_arrow(metadata)
        return
    meta = getattr(data, "meta", None)
    if not isinstance(meta, Mapping):
        return
    yield from ((key, value) for key, value in meta.items() if key != OBJECTS)
    if hasattr(data, "itercols"):
        yield "COMMENT", block_of(data)
