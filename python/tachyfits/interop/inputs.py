"""Tables of every supported kind, converted to columns that the engine writes.

Dictionaries, structured arrays, astropy tables, pandas and polars frames, Arrow streams: each
becomes a list of `ColumnData`, native arrays with what the header is to say of them. How one array
becomes a column of FITS is in `table.values`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage, warn
from tachyfits.base.optional import is_lazy, needed
from tachyfits.interop.arrow_values import arrow_values
from tachyfits.interop.fits_records import columns_of_records, is_records
from tachyfits.interop.frames import display_of
from tachyfits.interop.observatory import location_of
from tachyfits.interop.time_text import time_text
from tachyfits.interop.times import said_in_meta
from tachyfits.table.cells import with_numpys_mask
from tachyfits.table.columns import Columns
from tachyfits.table.metadata import (
    carried_by_column,
    carried_keyword,
    is_carried,
    time_scale_of,
)
from tachyfits.table.ragged import Ragged
from tachyfits.table.table import Table
from tachyfits.table.values import ColumnData, column_data, is_card_text
from tachyfits.text.units import text_of_unit

KNOWN = (
    "a dict of arrays or lists, a structured array, an astropy Table, FITS_rec or BinTableHDU, a "
    "pandas or polars frame, "
    "whatever gives an Arrow stream (pyarrow, DuckDB), Columns or a Table of tachyfits"
)


def columns_of(data: Any) -> list[ColumnData]:
    """Translate a table of any known kind; nothing of it is changed.

    Raises
    ------
    UsageError
        It is of an unknown kind, or FITS cannot represent a column.
    """
    columns = [
        column_data(name, values, **_sayable(name, known)) for name, values, known in _named(data)
    ]
    lengths = {column.name: column.rows for column in columns}
    if len(set(lengths.values())) > 1:
        raise usage(
            f"columns have different lengths: {lengths}", "give all columns the same number of rows"
        )
    return columns


def column_of(name: str, values: Any, **said: Any) -> ColumnData:
    """Translate one column; what is ``said`` of it comes before what the values say themselves."""
    values, known = with_what_they_say(name, values)
    told = {key: value for key, value in said.items() if value not in (None, "")}
    return column_data(name, values, **_sayable(name, known) | told)


def _sayable(name: str, known: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of a column, its description in the characters that a card has.

    Lines of a description are joined; text outside ASCII is left out, with a warning.
    """
    text = known.get("description") or ""
    if is_card_text(text):
        return known
    line = " ".join(text.split())
    if not is_card_text(line):
        warn(
            f"column {name!r}: its description {text!a} has characters that FITS does not have; "
            "the column's cards leave it out" + either("\nhint: give one by descriptions=")
        )
        line = ""
    return known | {"description": line}


Named = Iterator[tuple[str, Any, dict[str, Any]]]


def _named(data: Any) -> Named:
    """Give (name, values, what is known: unit, null, display, description) of each column."""
    if isinstance(data, Table):
        data = data.read()
    if isinstance(data, Columns):
        return _of_columns(data)
    if isinstance(data, Mapping):
        return ((str(name), *with_what_they_say(name, values)) for name, values in data.items())
    if is_records(data):
        return columns_of_records(data)
    if isinstance(data, np.ndarray) and data.dtype.names:
        return _of_structured(data)
    module = type(data).__module__.partition(".")[0]
    if module == "astropy" and hasattr(data, "itercols"):
        return _of_astropy(data)
    if module == "pandas" and hasattr(data, "columns"):
        return _of_pandas(data)
    if hasattr(data, "__arrow_c_stream__"):
        return _of_arrow(data)
    if is_lazy(data):
        raise usage(
            f"a {type(data).__name__} has no rows yet", either("give the result of .collect()")
        )
    raise usage(f"invalid table of type {type(data).__name__}", f"give {KNOWN}")


def _of_columns(data: Columns) -> Named:
    for key, values in data.items():
        info = data.info.get(key)
        if info is None:
            yield key, values, {}
            continue
        known: dict[str, Any] = {"unit": info.unit, "description": info.description}
        known["display"], known["position"] = info.display, info.position
        known["coordinate"], known["carried"] = info.time_scale, info.carried
        if isinstance(info.null, int) and values.dtype.kind in "iu" and info.scale == 1:
            known["null"] = info.null + int(info.zero)
        yield info.name, values, known


def _of_structured(data: NDArray[Any]) -> Named:
    if data.ndim != 1:
        raise usage(f"a structured array of shape {data.shape}", "give one of one axis: the rows")
    fields: Any = np.ma.getdata(data)
    mask: Any = np.ma.getmaskarray(data) if np.ma.isMaskedArray(data) else None
    for name in data.dtype.names or ():
        # Masked arrays of fields without elements fail to give these themselves.
        values = fields[name]
        yield name, values if mask is None else np.ma.MaskedArray(values, mask=mask[name]), {}


def _of_astropy(table: Any) -> Named:
    for column in table.itercols():
        yield column.info.name, *with_what_they_say(column.info.name, column)


def with_what_they_say(name: Any, values: Any) -> tuple[Any, dict[str, Any]]:
    """Return the values of a column, and what they say themselves: astropy's unit and description.

    A masked array gives its null value if it was made with a ``fill_value``.
    """
    known: dict[str, Any] = {}
    objects = type(values) is np.ndarray and values.dtype.kind == "O" and values.ndim == 1
    if objects or isinstance(values, (list, tuple)):
        return _of_list(str(name), values)
    if not isinstance(values, np.ndarray):
        values = _values_of_a_library(str(name), values)
    # Columns that astropy read from a file are arrays of its own that say nothing.
    if _is_astropys(type(values)) and hasattr(values, "info"):
        info, column = values.info, _duration_in_seconds(values)
        values = _astropy_values(name, column)
        known = {
            "unit": text_of_unit(getattr(column, "unit", None)),
            "description": info.description or "",
            "display": display_of(info.format, values.dtype),
            "time_scale": column.scale.upper() if hasattr(column, "scale") else None,
            "location": location_of(column),
            **said_in_meta(info.meta),
        }
    null = _null_given(values)
    return values, (known if null is None else known | {"null": null})


def _is_astropys(kind: type) -> bool:
    return any(base.__module__.startswith("astropy.") for base in kind.__mro__)


def _of_list(name: str, values: Any) -> tuple[Any, dict[str, Any]]:
    """Return a list as it is; of quantities the numbers, and the unit; of times what they say.

    The unit and the scale are those of the first.
    """
    kinds = set(map(type, values))
    if not any(map(_is_astropys, kinds)):
        # Plain lists need no astropy, which takes long to import.
        return values, {}
    from astropy.time import Time, TimeDelta
    from astropy.units import Quantity

    cells = [None if cell is np.ma.masked else cell for cell in values]
    known = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, Time) for cell in known):
        return with_what_they_say(name, _one_time(name, cells, known[0]))
    if all(isinstance(cell, TimeDelta) for cell in known):
        cells = [cell if cell is None else cell.to("s") for cell in cells]
        return _numbers_of(name, cells)
    if any(issubclass(kind, Quantity) for kind in kinds):
        return _numbers_of(name, cells)
    return list(map(_numpys_cell, cells)), {}


def _one_time(name: str, cells: list[Any], first: Any) -> Any:
    """Return a list of times of astropy as one; None is undefined."""
    from astropy.time import ScaleValueError, Time

    missing = np.array([cell is None for cell in cells])
    try:
        times = Time([first if cell is None else cell for cell in cells])
    except (ScaleValueError, ValueError, TypeError, AttributeError) as error:
        # The last line is about times, those before it about what they might have been.
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
    return numbers, {"unit": text_of_unit(unit)}


def _numpys_cell(cell: Any) -> Any:
    """Return a cell of astropy's Masked as NumPy's, a single undefined one as None."""
    cell = with_numpys_mask(cell)
    single = np.ma.isMaskedArray(cell) and cell.ndim == 0
    return (None if cell.mask else cell.data[()]) if single else cell


def _values_of_a_library(name: str, values: Any) -> Any:
    """Return a column of pandas, polars or pyarrow as NumPy's, masked; anything else as it is."""
    if type(values).__module__.partition(".")[0] == "pandas" and getattr(values, "ndim", 0) == 1:
        return _pandas_values(name, needed("pandas", "a column of pandas").Series(values))
    _refuse_objects(name, values)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        pa = needed("pyarrow", "taking a column of Arrow", extra="arrow")
        return arrow_values(name, pa.chunked_array(values))
    return values


def _null_given(values: Any) -> int | None:
    """Return the ``fill_value`` of masked integers; None if it is NumPy's own, or occurs."""
    if not np.ma.isMaskedArray(values) or values.dtype.kind not in "iu":
        return None
    fill = int(values.fill_value)
    if fill == int(np.ma.MaskedArray(np.zeros(0, values.dtype)).fill_value):
        return None
    return None if bool(np.ma.filled(values == fill, False).any()) else fill


def _duration_in_seconds(column: Any) -> Any:
    """Return a TimeDelta as a Quantity, anything else as it is."""
    from astropy.time import TimeDelta

    return column.to("s") if isinstance(column, TimeDelta) else column


def _astropy_values(name: str, column: Any) -> Any:
    """Return a column's values; of a Time, text of its own scale."""
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


def _of_pandas(frame: Any) -> Named:
    units = frame.attrs.get("units", {})
    for name, series in (*_index_of_pandas(frame), *frame.items()):
        yield str(name), _pandas_values(str(name), series), {"unit": units.get(name)}


def _index_of_pandas(frame: Any) -> Iterator[tuple[Any, Any]]:
    """Give the levels of the index as reset_index() names them; a default index has none."""
    index = frame.index
    if index.nlevels == 1 and index.name is None and index.dtype.kind in "iu":
        return
    for number, name in enumerate(index.names):
        level = index.get_level_values(number)
        if name is None:
            name = "index" if index.nlevels == 1 else f"level_{number}"
        same = [series for label, series in frame.items() if label == name]
        if not same:
            yield name, level.to_series()
        elif not _as_objects(level).equals(_as_objects(same[0])):
            raise usage(
                f"the index and a column with other values are both named {name!r}",
                either("rename one of them, or leave the index out: frame.reset_index(drop=True)"),
            )


def _as_objects(values: Any) -> Any:
    """Return values of pandas as an index of objects: its kinds of index refuse those of others."""
    return needed("pandas", "a column of pandas").Index(values).astype(object)


def _pandas_values(name: str, series: Any) -> Any:
    """Return the values of a series; its own kinds of undefined values become masks."""
    pd = needed("pandas", "a column of pandas")
    if isinstance(series.dtype, pd.ArrowDtype):
        return arrow_values(name, series.array.__arrow_array__())
    missing = np.asarray(series.isna())
    categories = getattr(series.dtype, "categories", None)
    if isinstance(getattr(categories, "dtype", series.dtype), pd.StringDtype):
        # Text too where there is none: what the cells are does not tell.
        text = series.astype(object).where(~missing, "").to_numpy().astype("U")
        return np.ma.MaskedArray(text, mask=missing) if missing.any() else text
    kind = getattr(series.dtype, "numpy_dtype", None)
    if isinstance(series.dtype, np.dtype) and series.dtype.kind != "O":
        return series.to_numpy()
    if kind is not None and np.dtype(kind).kind in "biufM":
        # pandas' own integers, floats and truth values: a mask beside the numbers.
        default = np.zeros(1, kind)[0]
        values = series.to_numpy(dtype=kind, na_value=default)
        return np.ma.MaskedArray(values, mask=missing) if missing.any() else values
    if getattr(series.dtype, "tz", None) is not None:
        # The Standard's dates have no time zone: they are UTC.
        return series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    cells = series.astype(object).to_numpy()
    return np.ma.MaskedArray(cells, mask=missing) if missing.any() else cells


def _of_arrow(data: Any) -> Named:
    pa = needed("pyarrow", "taking an Arrow stream", extra="arrow")
    try:
        table = pa.RecordBatchReader.from_stream(data).read_all()
    except pa.ArrowException as error:
        raise usage(
            f"invalid table of type {type(data).__name__}: {error}",
            "name the column: {'NAME': values}",
        ) from error
    _refuse_objects("", data)
    for field, column in zip(table.schema, table.columns, strict=True):
        # Other programs may have put values there that are not text.
        said = {
            key.decode(errors="replace"): text.decode(errors="replace")
            for key, text in (field.metadata or {}).items()
        }
        known = {"unit": said.get("unit"), "description": said.get("description", "")}
        known["display"], known["position"] = said.get("fits.TDISP"), said.get("fits.TRPOS")
        known["coordinate"] = time_scale_of({"TCTYP1": said.get("fits.TCTYP")}, 1)
        known["carried"] = carried_in(said)
        pairs = "fits.complex" in said
        values = arrow_values(field.name, column, pairs=pairs)
        if isinstance(values, Ragged) and "fits.TDIM" in said:
            shape = _shape_said(field.name, said["fits.TDIM"])
            values = Ragged(values.offsets, values.values, cell_shape=shape)
        yield field.name, values, known


def carried_in(said: Mapping[str, str]) -> tuple[tuple[str, Any], ...]:
    """Return what the metadata of an Arrow field has for cards of the column."""
    cards = {}
    for key, text in said.items():
        word = key.removeprefix("fits.")
        if word == key or not is_carried(word):
            continue
        try:
            cards[carried_keyword(word, 1)] = json.loads(text)
        except ValueError:
            # Another program wrote this keyword.
            continue
    return carried_by_column(cards).get(1, ())


def _shape_said(name: str, dimensions: str) -> tuple[int, ...]:
    """Return the shape that TDIMn says, the first axis last."""
    lengths = dimensions.strip("() ").split(",")
    if not all(length.strip().isdecimal() for length in lengths):
        raise usage(
            f"column {name!r}: invalid fits.TDIM {dimensions!r} in its metadata",
            "give lengths of axes as in TDIMn, such as '(4,2)', or leave it out",
        )
    return tuple(map(int, reversed(lengths)))


def _refuse_objects(name: str, data: Any) -> None:
    """Refuse a column of Python's objects of polars, or in its frame: Arrow gets their addresses.

    ``name``: of the column; a frame knows the names of its own.
    """
    if type(data).__module__.partition(".")[0] == "polars":
        kinds = data.schema if hasattr(data, "schema") else {name: getattr(data, "dtype", None)}
        odd = [name for name, kind in kinds.items() if str(kind) == "Object"]
        if odd:
            raise usage(
                f"column {odd[0]!r}: FITS has no type for polars' Object",
                "cast it to numbers, truth values, text, or lists of these",
            )
