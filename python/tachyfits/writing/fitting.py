"""Convert values to the types of existing columns without loss.

An existing column has a type (the type that reading returns); values of another type are accepted
if each converts exactly. Only floats are rounded, to the digits or decimals of the column; if the
column is scaled (TSCALn), each value must be a whole number of steps.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.conversion import converted
from tachyfits.base.errors import either, listed, memory_error, not_found, usage, warn
from tachyfits.interop.column_values import with_what_they_say
from tachyfits.interop.time_text import rounding_to, without_zeros_beyond
from tachyfits.interop.times import Brought, Stated, check_location, check_times
from tachyfits.table.cells import as_array
from tachyfits.table.columns import TableColumn
from tachyfits.table.ragged import Ragged, elements_of, with_elements
from tachyfits.table.strings import as_ragged, characters_of, joined_strings
from tachyfits.table.values import ColumnData, column_data
from tachyfits.text.units import fits_unit
from tachyfits.writing.new_columns import Cells, bytes_of

#: Forms of numbers in an ASCII table; those of a binary table have no width after the letter.
_IN_TEXT = re.compile(r"[IFED]\d")

#: Maximum bytes of blanks to pad strings to the width in a header, which may claim any width.
_MOST_BLANKS = 1 << 28

#: Hint for cells that are arrays.
_ARRAYS = "give an array for each row, in a list: [[1, 2, 3]] for one row"

#: Forms of integers, in binary and in ASCII tables.
_INTEGERS = re.compile(r"\d*[PQ]?[BIJK]")


def fitted(column: TableColumn, data: ColumnData, where: str) -> Cells:
    """Return values as the cells of a column.

    Raises
    ------
    UsageError
        A value does not fit: too large, not whole, too long, of another shape, or undefined in a
        column without a value for that.
    """
    if not data.rows:
        # An empty array fits any type.
        return np.zeros(0, np.uint8), np.zeros(1, np.int64) if column.is_variable else None, None
    if _has_no_elements(column, data.values):
        nothing = np.zeros(0, np.uint8), np.zeros(data.rows + 1, np.int64), None
        empty = np.zeros(data.rows, "S1")
        return nothing if column.is_variable else (_fitted_text(column, empty, where), None, None)
    data = _in_unit(column, data, where)
    if column.is_variable:
        return _fitted_arrays(column, data, where)
    values = data.values
    if column.delimiter and values.dtype.kind == "S" and _is_of_arrays(values):
        values = joined_strings(column.name, as_ragged(values), column.delimiter)
        # The field may end where the last string does.
        values = values.astype(f"S{max(int(np.char.str_len(values).max(initial=0)), 1)}")
    if isinstance(values, Ragged):
        actual = f"arrays of {listed(np.unique(values.lengths))} elements"
        raise _misfit(column, where, actual, f"cells have {column.shape}")
    if values.shape[1:] != column.shape:
        raise _misfit(
            column, where, f"cells of shape {values.shape[1:]}", f"cells have {column.shape}"
        )
    if _is_nothing(values, column.dtype):
        kind = "S1" if column.dtype.kind == "U" else column.dtype
        values, everywhere = np.zeros(values.shape, kind), np.ones(values.shape, bool)
        data = replace(data, values=values, undefined=everywhere)
    if column.dtype.kind == "U":
        if isinstance(column.null, str) and data.undefined is not None:
            # TNULLn of an ASCII table; other text has no null except the empty string.
            values = np.where(data.undefined, column.null.encode(), values)
        return _fitted_text(column, values, where, is_time=data.is_time), None, None
    undefined = _undefined(column, data, where)
    converted = _converted(column, values, undefined, where)
    if _IN_TEXT.match(column.form) and bool(np.isinf(converted).any()):
        # The engine writes TNULLn for any value that is not finite.
        raise _misfit(column, where, "infinities", "text has none: write a binary table")
    return bytes_of(converted), None, _as_bytes(undefined)


def _in_unit(column: TableColumn, data: ColumnData, where: str) -> ColumnData:
    """Return values in the column's unit; values without a unit are assumed to be in it."""
    unit, values = column.unit, data.values
    if data.unit is None or data.unit == (unit or "") or values.dtype.kind not in "iufc":
        return data
    if not unit:
        warn(
            f"{where}, column {column.name!r} has no unit: numbers in {data.unit!r} are taken as "
            "they are"
        )
        return data
    theirs, ours = fits_unit(data.unit), fits_unit(unit)
    if theirs is None or ours is None or not theirs.is_equivalent(ours):
        raise _misfit(
            column, where, f"values in {data.unit!r}" if data.unit else "values without dimension",
            f"the column is in {unit!r}: convert them to that, or give numbers without a unit",
        )  # fmt: skip
    if theirs == ours:
        return data
    flat = elements_of(values)
    wide = flat.astype(np.complex128 if flat.dtype.kind == "c" else np.float64)
    converted = with_elements(values, theirs.to(ours, wide))
    return replace(data, values=converted, unit=unit)


def _has_no_elements(column: TableColumn, values: NDArray[Any] | Ragged) -> bool:
    """Return whether all cells for a column of arrays are empty, so that they have no type."""
    if not (column.is_variable or column.delimiter):
        return False
    if isinstance(values, Ragged):
        return not values.values.size
    undefined = values.ndim == 1 and values.dtype.kind == "f" and bool(np.isnan(values).all())
    return undefined or (values.ndim > 1 and not values.size)


def _is_nothing(values: NDArray[Any], target: np.dtype[Any]) -> bool:
    """Return whether all values are undefined, so that they have no type."""
    if values.dtype.kind != "f" or target.kind not in "biuU" or not values.size:
        return False
    return bool(np.isnan(values).all())


def _fitted_arrays(column: TableColumn, data: ColumnData, where: str) -> Cells:
    values = data.values
    if column.dtype.kind == "U":
        if column.shape and values.dtype.kind == "S" and _is_of_arrays(values):
            return _fitted_strings(column, values, where)
        if isinstance(values, Ragged) or values.dtype.kind != "S" or values.ndim != 1:
            raise _misfit(column, where, f"values of {values.dtype}", "give text")
        cells = [np.frombuffer(cell, np.uint8) for cell in values.tolist()]
        ragged = Ragged.from_cells(cells, np.uint8)
        return bytes_of(ragged.values), ragged.offsets, None
    shape = values.cell_shape if isinstance(values, Ragged) else values.shape[1:]
    if len(shape) > 1 and shape != column.shape:
        hint = f"cells have {column.shape}" if column.shape else "flatten them"
        raise _misfit(column, where, f"cells of shape {shape}", hint)
    if not isinstance(values, Ragged):
        if values.ndim < 2:
            raise _misfit(column, where, "single values", "give an array for each row")
        values = as_ragged(values)
    undefined = _undefined(column, data, where)
    undefined = None if undefined is None else undefined.reshape(-1)
    converted = _converted(column, values.values, undefined, where)
    return bytes_of(converted), values.offsets, _as_bytes(undefined)


def _is_of_arrays(values: NDArray[Any] | Ragged) -> bool:
    return isinstance(values, Ragged) or values.ndim > 1


def _fitted_strings(column: TableColumn, values: NDArray[Any] | Ragged, where: str) -> Cells:
    """Return arrays of strings as cells of the heap that TDIMn divides into strings."""
    width = column.dtype.itemsize // 4
    if values.dtype.itemsize > width:
        actual = f"text of {values.dtype.itemsize} characters"
        raise _misfit(column, where, actual, f"a string has {width}, as TDIM says")
    count = elements_of(values).size
    if count * (width - values.dtype.itemsize) > _MOST_BLANKS:
        raise memory_error(
            f"{_place(column, where)}: {count} strings of {width} characters each (TDIM) "
            f"take {count * width} bytes, more than {_MOST_BLANKS} of them blanks",
            "give fewer rows at a time; a width that no string has is best repaired in the header",
        )
    return (*characters_of(values, width), None)


def _undefined(column: TableColumn, data: ColumnData, where: str) -> NDArray[np.bool_] | None:
    """Return where values are undefined, if the column can represent that."""
    undefined = data.undefined
    if undefined is None or column.dtype.kind in "bfc":
        return undefined
    if column.null is None:
        raise _misfit(
            column, where, "undefined values",
            "the column has no TNULL: set it in the header first, or give numbers",
        )  # fmt: skip
    return undefined


def _as_bytes(undefined: NDArray[np.bool_] | None) -> NDArray[np.uint8] | None:
    return None if undefined is None else bytes_of(undefined)


def _converted(
    column: TableColumn, values: NDArray[Any], undefined: NDArray[np.bool_] | None, where: str
) -> NDArray[Any]:
    """Return the values in the column's type; each must convert exactly."""
    converted = _of_type(column, values, undefined, where)
    if column.dtype.kind != "f" or not column.scale or not _INTEGERS.match(column.form):
        return converted
    # The value that reading computes from the nearest step may differ in the last digits.
    kind = values.dtype if values.dtype.kind == "f" else column.dtype
    with np.errstate(all="ignore"):
        steps = np.rint((converted - column.zero) / column.scale)
        nearest = column.zero + column.scale * steps
        room = 4 * np.finfo(kind).eps * np.maximum(np.abs(converted), abs(column.zero))
        odd = np.abs(nearest - converted) > room
    if undefined is not None:
        odd &= ~undefined.reshape(odd.shape)
    if odd.any():
        raise _misfit(
            column, where, f"{converted[odd][0]}, which would become {nearest[odd][0]}",
            f"it stores whole steps of {column.scale:g} from {column.zero:g} (TSCAL, TZERO): "
            "round to these",
        )  # fmt: skip
    return converted


def _of_type(
    column: TableColumn, values: NDArray[Any], undefined: NDArray[np.bool_] | None, where: str
) -> NDArray[Any]:
    kind, target = values.dtype.kind, column.dtype
    if (target.kind == "b") != (kind == "b") or kind in "S":
        raise _misfit(column, where, f"values of {values.dtype}", f"the column is of {target}")
    if values.dtype == target:
        return values
    if kind == "c" and target.kind != "c":
        raise _misfit(column, where, f"values of {values.dtype}", f"the column is of {target}")
    result, exact = converted(values, target)
    if undefined is not None:
        exact = exact | undefined.reshape(exact.shape)
    if not exact.all():
        first = values.reshape(-1)[int(np.flatnonzero(~exact.reshape(-1))[0])]
        others = "; a binary table has other types" if _IN_TEXT.match(column.form) else ""
        hint = f"the column is of {target}{others}"
        raise _misfit(column, where, f"{first} ({values.dtype})", hint)
    return result


def _fitted_text(
    column: TableColumn, values: NDArray[Any], where: str, *, is_time: bool = False
) -> NDArray[np.uint8]:
    width = column.dtype.itemsize // 4
    if values.dtype.kind != "S":
        raise _misfit(column, where, f"values of {values.dtype}", "give text")
    if is_time:
        values = without_zeros_beyond(values, width)
    lengths = np.char.str_len(values)
    if values.size and int(lengths.max()) > width:
        longest = values.reshape(-1)[int(lengths.reshape(-1).argmax())]
        hint = f"the column has {width} characters"
        if is_time:
            hint += f": {rounding_to(width)}"
        else:
            form = f"A{len(longest)}" if _IN_TEXT.match(column.form) else f"{len(longest)}A"
            hint += either(
                ": shorten the text, or write a new table with a wider column, "
                f"tf.write(path, table.read(), forms={{{column.name!r}: {form!r}}})"
            )
        raise _misfit(column, where, f"{longest.decode()!r}", hint)
    return bytes_of(values.astype(f"S{width}")) if width else bytes_of(values[:0])


def _misfit(column: TableColumn, where: str, actual: str, hint: str) -> Exception:
    return usage(f"{_place(column, where)}: cannot hold {actual}", hint)


def _place(column: TableColumn, where: str) -> str:
    place = f"{where}, column" if where else "column"
    return f"{place} {column.name!r} ({column.form})"


def row_cells(
    columns: tuple[TableColumn, ...],
    made: list[ColumnData],
    stated: Stated,
    where: str,
    brought: Brought,
    fill_missing: bool,
) -> tuple[list[Cells], int]:
    """Return the cells of new rows for every column of a table, and the number of rows.

    ``stated``: the table's information about its times, ``brought``: that of the rows. With
    ``fill_missing``, missing columns are undefined.
    """
    check_location(stated, made, where)
    by_key, unknown = _data_of_each(columns, made)
    missing = [column.key for column in columns if column.key not in by_key]
    if unknown or (missing and not fill_missing):
        lack = f"lack the columns {listed(missing)}" if missing else ""
        have = f"have unknown columns: {listed(unknown)}" if unknown else ""
        problem = f"{where}: new rows {' and '.join(filter(None, (lack, have)))}"
        hint = "give each column of the table by its name, and no other"
        if missing and not unknown:
            hint += either("; fill_missing=True makes the cells of the others undefined")
        raise not_found(problem, hint)
    rows = made[0].rows if made else 0
    cells = []
    for column in columns:
        if column.key in by_key:
            check_times(stated, column, by_key[column.key], where, brought)
            cells.append(fitted(column, by_key[column.key], where))
        else:
            cells.append(values_for(column, None, rows, stated, where))
    return cells, rows


def _data_of_each(
    columns: tuple[TableColumn, ...], data_of_rows: list[ColumnData]
) -> tuple[dict[str, ColumnData], list[str]]:
    """Return the values for each column by key, and the names that match no column.

    Each value is for one column: the one with exactly its name, or else one that matches in any
    case; among columns of one name, the first.
    """
    by_key: dict[str, ColumnData] = {}
    for spelling in (str.rstrip, lambda name: name.rstrip().upper()):
        by_name: dict[str, list[ColumnData]] = {}
        for data in data_of_rows:
            by_name.setdefault(spelling(data.name), []).append(data)
        for column in columns:
            for name in (spelling(column.key), spelling(column.name)):
                if column.key not in by_key and by_name.get(name):
                    by_key[column.key] = by_name[name].pop(0)
        data_of_rows = [data for several in by_name.values() for data in several]
    return by_key, [data.name for data in data_of_rows]


def _repeated(cell: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if not np.ma.isMaskedArray(cell):
        return np.broadcast_to(cell, shape, subok=True)
    # NumPy drops the mask.
    mask = np.broadcast_to(np.ma.getmaskarray(cell), shape)
    return np.ma.MaskedArray(np.broadcast_to(np.ma.getdata(cell), shape), mask=mask)


def values_for(column: TableColumn, values: Any, rows: int, stated: Stated, where: str) -> Cells:
    """Return values of a column for ``rows`` rows; a single value applies to all of them.

    ``stated``: the table's information about the times of these rows.
    """
    properties: dict[str, Any] = {}
    if values is None or values is np.ma.masked:
        kind = "U1" if column.dtype.kind == "U" else column.dtype
        values = np.ma.MaskedArray(np.zeros((rows, *column.shape), kind), mask=True)
        # An undefined variable-length array has no elements.
        values = Ragged(np.zeros(rows + 1), np.zeros(0)) if column.is_variable else values
    else:
        values, properties = with_what_they_say(column.name, values)
    if not column.is_variable:
        if isinstance(values, (list, tuple)):
            values = as_array(column.name, values)
        single = values if isinstance(values, Ragged) else np.asanyarray(values)
        if not isinstance(single, Ragged) and single.shape in (column.shape, ()):
            # A single number for a cell that is an array applies to all its elements.
            values = _repeated(single, (rows, *column.shape))
    elif not isinstance(values, (list, tuple, Ragged)) and np.ndim(values) == 0:
        if column.dtype.kind != "U" or column.shape:
            raise _misfit(column, where, "a single value", _ARRAYS)
        values = _repeated(np.asanyarray(values), (rows,))
    data = column_data(column.name, values, **properties)
    check_times(stated, column, data, where)
    if data.rows != rows:
        raise usage(
            f"{where}, column {column.name!r}: {data.rows} values for {rows} rows",
            _ARRAYS if column.is_variable else "give one for each row, or a single one for all",
        )
    check_location(stated, [data], where)
    return fitted(column, data, where)
