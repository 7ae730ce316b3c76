"""Values of one column of any library, as NumPy arrays, with the properties that they carry."""

from __future__ import annotations

from typing import Any

import numpy as np

from tachyfits.base.errors import either, usage
from tachyfits.base.optional import needed
from tachyfits.interop.arrow import arrow_column
from tachyfits.interop.formats import display_of
from tachyfits.interop.observatory import location_of
from tachyfits.interop.pandas import pandas_values
from tachyfits.interop.polars import refuse_objects
from tachyfits.interop.time_text import time_text
from tachyfits.interop.times import said_in_meta
from tachyfits.table.cells import with_numpys_mask
from tachyfits.text.units import stated_unit


def with_what_they_say(name: Any, values: Any) -> tuple[Any, dict[str, Any]]:
    """Return the values of a column and the properties they carry: unit and description (astropy).

    A masked array with an explicit ``fill_value`` also gives its null value.
    """
    properties: dict[str, Any] = {}
    objects = type(values) is np.ndarray and values.dtype.kind == "O" and values.ndim == 1
    if objects or isinstance(values, (list, tuple)):
        return _of_list(str(name), values)
    if not isinstance(values, np.ndarray):
        values = _values_of_a_library(str(name), values)
    # Columns that astropy read from a file are its own array class, without properties.
    if _is_astropys(type(values)) and hasattr(values, "info"):
        info, column = values.info, _duration_in_seconds(values)
        values = _astropy_values(name, column)
        properties = {
            "unit": stated_unit(getattr(column, "unit", None)),
            "description": info.description or "",
            "display": display_of(info.format, values.dtype),
            "time_scale": column.scale.upper() if hasattr(column, "scale") else None,
            "location": location_of(column),
            **said_in_meta(info.meta),
        }
    null = _null_given(values)
    return values, (properties if null is None else properties | {"null": null})


def _is_astropys(kind: type) -> bool:
    return any(base.__module__.startswith("astropy.") for base in kind.__mro__)


def _values_of_a_library(name: str, values: Any) -> Any:
    """Return a pandas, polars or pyarrow column as a masked NumPy array; others unchanged."""
    if type(values).__module__.partition(".")[0] == "pandas" and getattr(values, "ndim", 0) == 1:
        return pandas_values(name, needed("pandas", "a column of pandas").Series(values))
    refuse_objects(name, values)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return arrow_column(name, values)
    return values


def _null_given(values: Any) -> int | None:
    """Return the ``fill_value`` of masked integers; None if it is NumPy's default, or occurs."""
    if not np.ma.isMaskedArray(values) or values.dtype.kind not in "iu":
        return None
    fill = int(values.fill_value)
    if fill == int(np.ma.MaskedArray(np.zeros(0, values.dtype)).fill_value):
        return None
    return None if bool(np.ma.filled(values == fill, False).any()) else fill


def _of_list(name: str, values: Any) -> tuple[Any, dict[str, Any]]:
    """Return a list unchanged; for quantities its numbers and unit, for times their properties.

    The unit and the scale are those of the first element.
    """
    kinds = set(map(type, values))
    if not any(map(_is_astropys, kinds)):
        # Plain lists need no astropy, which takes long to import.
        return values, {}
    from astropy.time import Time, TimeDelta
    from astropy.units import Quantity

    cells = [None if cell is np.ma.masked else cell for cell in values]
    defined = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, Time) for cell in defined):
        return with_what_they_say(name, _one_time(name, cells, defined[0]))
    if all(isinstance(cell, TimeDelta) for cell in defined):
        cells = [cell if cell is None else cell.to("s") for cell in cells]
        return _numbers_of(name, cells)
    if any(issubclass(kind, Quantity) for kind in kinds):
        return _numbers_of(name, cells)
    return list(map(_numpys_cell, cells)), {}


def _one_time(name: str, cells: list[Any], first: Any) -> Any:
    """Return a list of astropy times as a single Time; None is undefined."""
    from astropy.time import ScaleValueError, Time

    missing = np.array([cell is None for cell in cells])
    try:
        times = Time([first if cell is None else cell for cell in cells])
    except (ScaleValueError, ValueError, TypeError, AttributeError) as error:
        # astropy lists each format that it tried; the last line is about the times themselves.
        raise usage(
            f"column {name!r}: cannot store the times: {str(error).splitlines()[-1]}",
            "give single times of one scale, all with a location or none",
        ) from error
    if missing.any():
        times[missing] = np.ma.masked
    return times


def _numbers_of(name: str, cells: list[Any]) -> tuple[Any, dict[str, Any]]:
    """Return the numbers of a list of quantities in the unit of the first; None is undefined."""
    from astropy.units import Quantity, UnitConversionError

    odd = next((cell for cell in cells if not isinstance(cell, (Quantity, type(None)))), None)
    if odd is not None:
        raise usage(
            f"column {name!r} has quantities and values without a unit, such as {odd!r}",
            "give each of them its unit, None where undefined",
        )
    unit = next(cell.unit for cell in cells if cell is not None)
    try:
        numbers = [None if cell is None else _numpys_cell(cell.to_value(unit)) for cell in cells]
    except UnitConversionError as error:
        raise usage(f"column {name!r}: {error}", "give all values of a column one unit") from error
    return numbers, {"unit": stated_unit(unit)}


def _numpys_cell(cell: Any) -> Any:
    """Return a cell of an astropy Masked array as a NumPy value; None if it is undefined."""
    cell = with_numpys_mask(cell)
    single = np.ma.isMaskedArray(cell) and cell.ndim == 0
    return (None if cell.mask else cell.data[()]) if single else cell


def _duration_in_seconds(column: Any) -> Any:
    """Return a TimeDelta as a Quantity in seconds; other columns unchanged."""
    from astropy.time import TimeDelta

    return column.to("s") if isinstance(column, TimeDelta) else column


def _astropy_values(name: str, column: Any) -> Any:
    """Return a column's values; for a Time, text in its own scale."""
    from astropy.time import Time
    from astropy.units import Quantity

    if isinstance(column, Quantity):
        return with_numpys_mask(column.value)
    if isinstance(column, Time):
        return time_text(name, column)
    if isinstance(column, np.ndarray):
        return with_numpys_mask(column)
    raise usage(
        f"column {name!r}: FITS has no type for astropy's {type(column).__name__}",
        either(
            "write a QTable with it; or split it first: "
            "astropy.table.serialize.represent_mixins_as_columns(table)"
        ),
    )
