"""Columns as Arrow: arrays over the memory of NumPy's, without another copy.

pyarrow makes them; it is imported on demand. Numbers and offsets are passed without a copy; truth
values become bits and text becomes UTF-8, as in Arrow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.optional import needed
from tachyfits.table.columns import Columns, TableColumn
from tachyfits.table.ragged import Ragged

if TYPE_CHECKING:
    import pyarrow as pa


def _pyarrow() -> Any:
    return needed("pyarrow", "Arrow", extra="arrow")


def arrow_table(columns: Columns) -> pa.Table:
    """Return columns as a pyarrow Table."""
    pa = _pyarrow()
    arrays = [array_of(array) for array in columns.values()]
    return pa.Table.from_arrays(arrays, schema=_schema(columns, arrays))


def arrow_reader(empty: Columns, batches: Iterable[Columns]) -> pa.RecordBatchReader:
    """Return a reader of batches; ``empty`` has the columns without a row."""
    pa = _pyarrow()
    schema = _schema(empty, [array_of(array) for array in empty.values()])

    def made() -> Iterable[Any]:
        for batch in batches:
            arrays = [array_of(array) for array in batch.values()]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, made())


def _schema(columns: Columns, arrays: list[Any]) -> pa.Schema:
    pa = _pyarrow()
    fields = [
        pa.field(key, array.type, metadata=_field_metadata(columns.info.get(key), columns[key]))
        for key, array in zip(columns, arrays, strict=True)
    ]
    return pa.schema(fields, metadata=_table_metadata(columns))


def _field_metadata(column: TableColumn | None, values: Any) -> dict[str, str]:
    """Return what describes a column, as text by name; unit and description as in VOTable."""
    known: dict[str, str | None] = {}
    if column is not None:
        known = {
            "unit": column.unit,
            "description": column.description,
            "fits.TFORM": column.form,
            "fits.TDISP": column.display,
            "fits.TRPOS": column.position,
            "fits.TCTYP": column.time_scale,
        }
    # Arrow has no complex numbers: this metadata marks the innermost pairs as complex.
    if isinstance(values, Ragged) and values.cell_shape:
        # Cells of one length are lists of lists, which say their shape themselves.
        known["fits.TDIM"] = f"({','.join(map(str, reversed(values.cell_shape)))})"
    known["fits.complex"] = "re,im" if values.dtype.kind == "c" else None
    carried = dict(column.carried) if column is not None else {}
    known |= {f"fits.{word}": json.dumps(value) for word, value in carried.items()}
    return {name: text for name, text in known.items() if text}


def _table_metadata(columns: Columns) -> dict[str, str] | None:
    """Return the cards of the header as JSON: values and comments by keyword."""
    known = {"fits.header": columns.meta, "fits.comments": columns.comments}
    return {name: json.dumps(cards, default=str) for name, cards in known.items() if cards} or None


def array_of(values: Any) -> pa.Array:
    """Return the values of a column as an Arrow array."""
    pa = _pyarrow()
    if isinstance(values, Ragged):
        return _lists(values)
    data = np.ma.getdata(values)
    nulls = None
    if np.ma.isMaskedArray(values) and values.mask is not np.ma.nomask:
        nulls = np.ma.getmaskarray(values)
    if data.dtype.kind == "c":
        part = np.dtype(f"f{data.dtype.itemsize // 2}")
        inner = _flat(data.reshape(-1).view(part), None)
        flat = _fixed_lists(inner, 2, None if nulls is None else nulls.reshape(-1))
    else:
        flat = _flat(data.reshape(-1), None if nulls is None else nulls.reshape(-1))
    if 0 in data.shape[1:]:
        # Parquet's readers and polars fail at lists of the fixed length 0.
        return _lists_over(flat, np.zeros(len(data) + 1, np.int64))
    for length in reversed(data.shape[1:]):
        flat = _fixed_lists(flat, length, None)
    return pa.array([], flat.type) if len(data) == 0 else flat


def _flat(data: NDArray[Any], nulls: NDArray[np.bool_] | None) -> pa.Array:
    pa = _pyarrow()
    if data.dtype.kind in "iuf":
        # Over NumPy's memory: no copy.
        validity = None if nulls is None else _bits(~nulls)
        kind = pa.from_numpy_dtype(data.dtype)
        return pa.Array.from_buffers(kind, len(data), [validity, pa.py_buffer(data)])
    if data.dtype.kind == "b":
        validity = None if nulls is None else _bits(~nulls)
        return pa.Array.from_buffers(pa.bool_(), len(data), [validity, _bits(data)])
    return _text(data, nulls)


def _bits(truth: NDArray[np.bool_]) -> pa.Buffer:
    return _pyarrow().py_buffer(np.packbits(truth, bitorder="little"))


def _text(data: NDArray[Any], nulls: NDArray[np.bool_] | None) -> pa.Array:
    """Return text as UTF-8. FITS text is ASCII; other bytes are taken as Latin-1."""
    pa = _pyarrow()
    if data.dtype.kind == "S" and bool((data.view(np.uint8) < 128).all() if data.size else True):
        return pa.array(data, pa.binary(), mask=nulls).cast(pa.string())
    if data.dtype.kind == "S":
        data = np.char.decode(data, "latin-1")
    elif data.dtype.kind == "O":
        cells = (c.decode("latin-1") if isinstance(c, bytes) else c for c in data.tolist())
        return pa.array(list(cells), pa.large_string(), mask=nulls)
    return pa.array(data, pa.string(), mask=nulls)


def _fixed_lists(inner: pa.Array, length: int, nulls: NDArray[np.bool_] | None) -> pa.Array:
    pa = _pyarrow()
    validity = None if nulls is None else _bits(~nulls)
    kind = pa.list_(pa.field("item", inner.type), length)
    return pa.Array.from_buffers(kind, len(inner) // length, [validity], children=[inner])


def _lists(ragged: Ragged) -> pa.Array:
    """Return cells of different lengths: the offsets and the values as they are."""
    whole = ragged.compact()
    return _lists_over(array_of(whole.values), whole.offsets)


def _lists_over(inner: pa.Array, offsets: NDArray[np.int64]) -> pa.Array:
    pa = _pyarrow()
    kind = pa.large_list(pa.field("item", inner.type))
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets))]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers, children=[inner])
