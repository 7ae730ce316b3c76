"""Conversion of tables to and from astropy and astropy.io.fits, which are imported on demand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits.base.errors import warn
from tachyfits.interop.astropy_yaml import OBJECTS
from tachyfits.interop.formats import format_of
from tachyfits.interop.mixins import (
    known_of,
    parted,
    with_objects,
    without_lost,
)
from tachyfits.interop.times import make_times
from tachyfits.table.columns import Columns, TableColumn
from tachyfits.table.metadata import (
    carried_by_column,
    describing_cards,
    description_of,
)
from tachyfits.table.ragged import Ragged
from tachyfits.text.units import is_bounded

if TYPE_CHECKING:
    import astropy.table


def astropy_table(columns: Columns) -> astropy.table.Table:
    """Return an astropy Table with units, masks, descriptions and meta."""
    from astropy.table import Column, Table

    table = Table(meta=dict(columns.meta))
    unfit = []
    for key, values in columns.items():
        info = columns.info.get(key)
        column = _astropy_column(values, info)
        if info is not None and not _set_format(column, info.display):
            unfit.append(f"{key} (TFORM {info.form!r}): {info.display!r}")
        table.add_column(column, name=key)
    if unfit:
        listed = "\n".join(f"  - {each}" for each in unfit)
        warn(f"TDISP does not fit the column; astropy gets no format for it:\n{listed}")
    table = _with_block(table)
    properties = {
        key: columns.info[key]
        for key in columns
        if key in columns.info and isinstance(table.columns.get(key), Column)
    }
    make_times(table, properties, columns.meta)
    return table


def _with_block(table: astropy.table.Table) -> astropy.table.Table:
    """Return a table with the column properties from astropy's block of comments applied."""
    comments, lines = parted(table.meta.get("COMMENT", []))
    if not lines:
        return table
    try:
        properties, objects = known_of(lines)
        complete = without_lost(objects, table.colnames)
        for name in properties.keys() & set(table.colnames):
            for attribute in {"description", "meta"} & properties[name].keys():
                setattr(table[name].info, attribute, properties[name][attribute])
    except (ValueError, TypeError):
        # Text that was divided, or that fits no column, stays readable among the comments.
        return table
    table, remaining = with_objects(table, complete)
    # The same place in which astropy's readers keep it before they build objects.
    table.meta |= {OBJECTS: remaining} if remaining else {}
    table.meta.pop("COMMENT")
    table.meta |= {"COMMENT": comments} if comments else {}
    return table


def _astropy_column(values: Any, info: TableColumn | None) -> Any:
    from astropy.table import Column, MaskedColumn

    if isinstance(values, Ragged):
        values = values.to_object_array()
    kind = MaskedColumn if np.ma.isMaskedArray(values) else Column
    column = kind(values)
    if info is not None:
        column.unit = _astropy_unit(info.unit)
        column.description = info.description or None
        if isinstance(info.null, int) and np.ma.isMaskedArray(values):
            column.fill_value = _fill_value(info, values.dtype)
    return column


def _set_format(column: Any, display: str | None) -> bool:
    """Set the format of an astropy column from TDISPn; return whether it fits the values."""
    letter = (display or "").strip()[:1].upper()
    kind = column.dtype.kind
    fits = {"A": "SUO", "L": "b"}.get(letter, "iu" if letter in "IZOB" else "iufcO")
    if not letter or (kind not in "O" and kind not in fits):
        return not letter
    if kind in "iuf":
        try:
            column.format = format_of(display)
        except ValueError:
            # The letter is valid, but Python does not accept the digits.
            return False
    return True


def _astropy_unit(text: str | None) -> Any:
    """Return astropy's unit; an unknown unit keeps its text."""
    from astropy import units

    if text is None:
        return None
    if not is_bounded(text):
        return units.UnrecognizedUnit(text)
    unit = units.Unit(text, format="fits", parse_strict="silent")
    if not isinstance(unit, units.UnrecognizedUnit):
        return unit
    # For units without a name in FITS, "mag(AB)" or "hourangle", the text is in astropy's format.
    own = units.Unit(text, parse_strict="silent")
    return own if str(own) == text else unit


def _fill_value(info: TableColumn, dtype: np.dtype[Any]) -> Any:
    """Return TNULLn as a value of the column; None if it is invalid."""
    value = info.scale * int(info.null or 0) + info.zero
    if dtype.kind in "iu" and info.scale == 1 and info.zero == int(info.zero):
        null = int(info.null or 0) + int(info.zero)
        limits = np.iinfo(dtype)
        return null if limits.min <= null <= limits.max else None
    return value


def columns_of_records(data: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield (name, values, properties) of each column; TNULLn is undefined even if scaled."""
    header = getattr(data, "header", None)
    records = data if header is None else data.data
    carried = {} if header is None else carried_by_column(header)
    for number, column in enumerate(records.columns):
        values = np.asarray(records.field(number))
        properties: dict[str, Any] = {"unit": column.unit or None, "display": column.disp}
        if header is not None:
            properties["description"] = description_of(header, number + 1)
            properties["carried"] = carried.get(number + 1, ())
        if values.dtype.kind == "O":
            values = _joined(values)
        if isinstance(column.null, (int, np.integer)):
            null = (column.bscale or 1) * int(column.null) + (column.bzero or 0)
            if values.dtype.kind == "f":
                values = np.ma.MaskedArray(values, mask=values == null)
            elif values.dtype.kind == "O" or null == np.array(null).astype(values.dtype):
                properties["null"] = int(null)
        yield column.name, values, properties


def _joined(cells: Any) -> Any:
    """Return variable-length text, stored as arrays of characters, as strings."""
    if not all(getattr(cell, "dtype", np.dtype("O")).kind in "SU" for cell in cells):
        return cells
    texts = [np.asarray(cell).tolist() for cell in cells]
    return [(text[0][:0] if text else "").join(text) for text in texts]


def cards_of_records(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield the header's cards about the table as a whole: keywords, values, comments."""
    for card in describing_cards(data.header) if hasattr(data, "header") else []:
        if card.keyword in ("COMMENT", "HISTORY"):
            yield card.keyword, str(card.value)
        elif card.keyword:
            yield card.keyword, (card.value, card.comment)
