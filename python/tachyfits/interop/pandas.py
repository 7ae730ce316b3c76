"""Conversion to and from pandas frames; pandas is imported on demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage
from tachyfits.base.optional import needed
from tachyfits.interop.arrow import arrow_values
from tachyfits.table.columns import Columns
from tachyfits.table.ragged import Ragged
from tachyfits.table.strings import decoded
from tachyfits.table.values import Named
from tachyfits.text.units import given_unit

if TYPE_CHECKING:
    import pandas


def columns_of_pandas(frame: Any) -> Named:
    """Yield the columns of a frame, index levels first."""
    units = frame.attrs.get("units")
    for name, series in (*_index_of_pandas(frame), *frame.items()):
        # Other programs may store something else under this name.
        unit = given_unit(units.get(name)) or None if isinstance(units, Mapping) else None
        yield str(name), pandas_values(str(name), series), {"unit": unit}


def _index_of_pandas(frame: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the index levels, named as by reset_index(); a default index has none."""
    index = frame.index
    if index.nlevels == 1 and index.name is None and index.dtype.kind in "iu":
        return
    for number, name in enumerate(index.names):
        level = index.get_level_values(number)
        if name is None:
            name = "index" if index.nlevels == 1 else f"level_{number}"
        matches = [series for label, series in frame.items() if label == name]
        if not matches:
            yield name, level.to_series()
        elif not _as_objects(level).equals(_as_objects(matches[0])):
            raise usage(
                f"the index and a column with other values are both named {name!r}",
                either("rename one of them, or leave the index out: frame.reset_index(drop=True)"),
            )


def _as_objects(values: Any) -> Any:
    """Return pandas values as an index of objects: typed indexes refuse other types."""
    return needed("pandas", "a column of pandas").Index(values).astype(object)


def pandas_values(name: str, series: Any) -> Any:
    """Return the values of a series; pandas' undefined values become masks."""
    pd = needed("pandas", "a column of pandas")
    if isinstance(series.dtype, pd.ArrowDtype):
        return arrow_values(name, series.array.__arrow_array__())
    missing = np.asarray(series.isna())
    categories = getattr(series.dtype, "categories", None)
    if isinstance(getattr(categories, "dtype", series.dtype), pd.StringDtype):
        # Decide by dtype that it is text: all cells may be missing.
        text = series.astype(object).where(~missing, "").to_numpy().astype("U")
        return np.ma.MaskedArray(text, mask=missing) if missing.any() else text
    kind = getattr(series.dtype, "numpy_dtype", None)
    if isinstance(series.dtype, np.dtype) and series.dtype.kind != "O":
        return series.to_numpy()
    if kind is not None and np.dtype(kind).kind in "biufM":
        # pandas' nullable integers, floats and truth values have a mask beside the numbers.
        default = np.zeros(1, kind)[0]
        values = series.to_numpy(dtype=kind, na_value=default)
        return np.ma.MaskedArray(values, mask=missing) if missing.any() else values
    if getattr(series.dtype, "tz", None) is not None:
        # Dates in the Standard have no time zone: they are UTC.
        return series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    cells = series.astype(object).to_numpy()
    return np.ma.MaskedArray(cells, mask=missing) if missing.any() else cells


def pandas_frame(columns: Columns) -> pandas.DataFrame:
    """Return a pandas DataFrame; undefined integers and truth values use nullable types."""
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
        # Decode bytes, which pandas would show as bytes.
        return decoded(values) if values.dtype.kind == "S" else values
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
