"""Columns as tables of other libraries: astropy, pandas, polars, imported on demand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import warn
from tachyfits.base.optional import needed
from tachyfits.interop.astropy_yaml import OBJECTS
from tachyfits.interop.mixins import known_of, parted, with_objects, without_lost
from tachyfits.interop.times import make_times
from tachyfits.table.columns import Columns, TableColumn
from tachyfits.table.ragged import Ragged

if TYPE_CHECKING:
    import astropy.table
    import pandas
    import polars


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
    known = {
        key: columns.info[key]
        for key in columns
        if key in columns.info and isinstance(table.columns.get(key), Column)
    }
    make_times(table, known, columns.meta)
    return table


def _with_block(table: astropy.table.Table) -> astropy.table.Table:
    """Return a table with what the block of comments that astropy wrote says of its columns."""
    comments, lines = parted(table.meta.get("COMMENT", []))
    if not lines:
        return table
    try:
        known, objects = known_of(lines)
        whole = without_lost(objects, table.colnames)
        for name in known.keys() & set(table.colnames):
            for attribute in {"description", "meta"} & known[name].keys():
                setattr(table[name].info, attribute, known[name][attribute])
    except (ValueError, TypeError):
        # Text that was divided, or that fits no column, can still be read among the comments.
        return table
    table, left = with_objects(table, whole)
    # Where astropy's own readers have it before they make objects of the columns.
    table.meta |= {OBJECTS: left} if left else {}
    table.meta.pop("COMMENT")
    table.meta |= {"COMMENT": comments} if comments else {}
    return table


def _astropy_column(values: Any, known: TableColumn | None) -> Any:
    from astropy.table import Column, MaskedColumn

    if isinstance(values, Ragged):
        values = values.to_object_array()
    kind = MaskedColumn if np.ma.isMaskedArray(values) else Column
    column = kind(values)
    if known is not None:
        column.unit = _astropy_unit(known.unit)
        column.description = known.description or None
        if isinstance(known.null, int) and np.ma.isMaskedArray(values):
            column.fill_value = _fill_value(known, values.dtype)
    return column


def _set_format(column: Any, display: str | None) -> bool:
    """Give a column of astropy the format of TDISPn; return whether that fits its values."""
    letter = (display or "").strip()[:1].upper()
    kind = column.dtype.kind
    fits = {"A": "SUO", "L": "b"}.get(letter, "iu" if letter in "IZOB" else "iufcO")
    if not letter or (kind not in "O" and kind not in fits):
        return not letter
    if kind in "iuf":
        try:
            column.format = _format_of(display)
        except ValueError:
            # The letter is valid, but Python does not accept the digits.
            return False
    return True


def _astropy_unit(text: str | None) -> Any:
    """Return astropy's unit; one that it does not know keeps its text."""
    from astropy import units

    return None if text is None else units.Unit(text, format="fits", parse_strict="silent")


def _fill_value(known: TableColumn, dtype: np.dtype[Any]) -> Any:
    """Return TNULLn as a value of the column; None if it is invalid."""
    value = known.scale * int(known.null or 0) + known.zero
    if dtype.kind in "iu" and known.scale == 1 and known.zero == int(known.zero):
        whole = int(known.null or 0) + int(known.zero)
        limits = np.iinfo(dtype)
        return whole if limits.min <= whole <= limits.max else None
    return value


def _format_of(display: str | None) -> str | None:
    """Return Python's format for TDISPn, where it has one.

    >>> [_format_of(text) for text in ("F8.3", "I5", "E12.4", "Z4", "B16.16", None)]
    ['8.3f', '5d', '12.4e', '4x', '016b', None]
    """
    letters = {"F": "f", "E": "e", "D": "e", "G": "g", "I": "d", "Z": "x", "O": "o", "B": "b"}
    if not display or display[0].upper() not in letters:
        return None
    letter, digits = letters[display[0].upper()], display[1:].split("E")[0]
    width, _, decimals = digits.partition(".")
    if not width.isdigit() or (decimals and not decimals.isdigit()):
        return None
    if letter in "feg":
        return f"{width}.{decimals}{letter}" if decimals else f"{width}{letter}"
    # The second number is how many digits there are at least; Python has all of them or none.
    return f"0{width}{letter}" if decimals == width else f"{width}{letter}"


def display_of(form: Any, dtype: np.dtype[Any]) -> str | None:
    """Return TDISPn for Python's format of values of a type, where there is one.

    >>> [display_of(form, np.dtype("f8")) for form in ("8.3f", "{:12.4e}", "%.2f", "5d", None)]
    ['F8.3', 'E12.4', 'F11.2', None, None]
    >>> [display_of(form, np.dtype("u2")) for form in ("5d", "4x", "016b")]
    ['I5', 'Z4', 'B16.16']
    """
    found = _PYTHONS_FORMAT.fullmatch(form) if isinstance(form, str) else None
    letter = _DISPLAYS.get(dtype.kind, {}).get(found[4].lower()) if found else None
    if found is None or letter is None:
        return None
    zero, width, decimals = found[1], found[2], found[3]
    if letter in "FEG":
        decimals = decimals or "6"
        # A sign, a digit, a point and an exponent beside the decimals.
        return f"{letter}{width or int(decimals) + 9}.{decimals}"
    return (f"{letter}{width}.{width}" if zero else f"{letter}{width}") if width else None


#: Of "{:8.3f}", "%8.3f" or "8.3f" a leading zero, the width, the decimals and the letter.
_PYTHONS_FORMAT = re.compile(r"(?:\{:|%)?[<>^=+ -]*(0?)(\d+)?(?:\.(\d+))?([a-zA-Z])\}?")

_REAL = {"f": "F", "e": "E", "g": "G"}
_WHOLE = {"d": "I", "x": "Z", "o": "O", "b": "B"}

#: Letters of TDISPn by Python's, for each of NumPy's kinds of values.
_DISPLAYS = {"f": _REAL, "i": _WHOLE | _REAL, "u": _WHOLE | _REAL, "S": {"s": "A"}, "U": {"s": "A"}}


def pandas_frame(columns: Columns) -> pandas.DataFrame:
    """Return a pandas DataFrame; undefined integers and truth values in pandas' own types."""
    pd = needed("pandas", "a DataFrame")
    frame = pd.DataFrame({key: _pandas_column(pd, values) for key, values in columns.items()})
    frame.attrs["units"] = {key: unit for key in columns if (unit := columns.unit(key))}
    return frame


def _pandas_column(pd: Any, values: Any) -> Any:
    if isinstance(values, Ragged):
        return values.to_object_array()
    if values.ndim > 1:
        return _cells(values)
    if not np.ma.isMaskedArray(values):
        # pandas shows bytes as bytes; people want text.
        return np.char.decode(values, "latin-1") if values.dtype.kind == "S" else values
    data, mask = np.ma.getdata(values), np.ma.getmaskarray(values)
    if data.dtype.kind == "b":
        return pd.arrays.BooleanArray(data, mask)
    if data.dtype.kind in "iu":
        return pd.arrays.IntegerArray(data, mask)
    if data.dtype.kind in "fc":
        return np.where(mask, np.nan, data)
    texts = data.astype(object)
    texts[mask] = None
    return texts


def _cells(values: NDArray[Any]) -> NDArray[np.object_]:
    cells = np.empty(len(values), dtype=object)
    for row, cell in enumerate(values):
        cells[row] = cell
    return cells


def polars_frame(columns: Columns) -> polars.DataFrame:
    """Return a polars DataFrame, through Arrow."""
    frame: polars.DataFrame = needed("polars", "a polars DataFrame").from_arrow(columns.to_arrow())
    return frame
