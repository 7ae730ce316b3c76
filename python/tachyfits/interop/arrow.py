"""Conversion of columns to Arrow, and back.

Numbers and offsets are passed to Arrow without a copy; truth values become bits and text becomes
UTF-8, as in Arrow. pyarrow is imported on demand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import usage
from tachyfits.base.optional import needed
from tachyfits.interop.formats import display_of
from tachyfits.interop.parquet_metadata import meta_of_yaml, said_of_columns
from tachyfits.interop.polars import refuse_objects
from tachyfits.table.cells import warn_of_null_lists
from tachyfits.table.columns import Columns, TableColumn
from tachyfits.table.metadata import (
    carried_by_column,
    carried_keyword,
    is_carried,
)
from tachyfits.table.ragged import Ragged
from tachyfits.table.strings import decoded, is_ascii
from tachyfits.table.values import Named

if TYPE_CHECKING:
    import pyarrow as pa


def pyarrow_module() -> Any:
    """Import pyarrow, or raise an error that names the package to install."""
    return needed("pyarrow", "Arrow", extra="arrow")


def arrow_table(columns: Columns) -> pa.Table:
    """Return columns as a pyarrow Table."""
    pa = pyarrow_module()
    arrays = [array_of(array) for array in columns.values()]
    return pa.Table.from_arrays(arrays, schema=_schema(columns, arrays))


def arrow_reader(empty: Columns, batches: Iterable[Columns]) -> pa.RecordBatchReader:
    """Return a reader of batches; ``empty`` has the columns without rows."""
    pa = pyarrow_module()
    schema = _schema(empty, [array_of(array) for array in empty.values()])

    def made() -> Iterable[Any]:
        for batch in batches:
            arrays = [array_of(array) for array in batch.values()]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, made())


def _schema(columns: Columns, arrays: list[Any]) -> pa.Schema:
    pa = pyarrow_module()
    fields = [
        pa.field(key, array.type, metadata=field_metadata(columns.info.get(key), columns[key]))
        for key, array in zip(columns, arrays, strict=True)
    ]
    return pa.schema(fields, metadata=table_metadata(columns) or None)


def field_metadata(column: TableColumn | None, values: Any) -> dict[str, str]:
    """Return the metadata of a column as text by name; unit and description as in VOTable."""
    metadata: dict[str, str | None] = {}
    if column is not None:
        metadata = {
            "unit": column.unit,
            "description": column.description,
            "fits.TFORM": column.form,
            "fits.TDISP": column.display,
        }
    # Arrow has no complex numbers: this metadata marks the innermost pairs as complex.
    if isinstance(values, Ragged) and values.cell_shape:
        # Cells of one length become nested lists, which carry their shape.
        metadata["fits.TDIM"] = f"({','.join(map(str, reversed(values.cell_shape)))})"
    metadata["fits.complex"] = "re,im" if values.dtype.kind == "c" else None
    carried = dict(column.carried) if column is not None else {}
    metadata |= {f"fits.{word}": json.dumps(value) for word, value in carried.items()}
    return {name: text for name, text in metadata.items() if text}


def table_metadata(columns: Columns) -> dict[str, str]:
    """Return the cards of the header as JSON: values and comments by keyword."""
    metadata = {"fits.header": columns.meta, "fits.comments": columns.comments}
    return {name: json.dumps(cards, default=str) for name, cards in metadata.items() if cards}


def array_of(values: Any) -> pa.Array:
    """Return the values of a column as an Arrow array."""
    pa = pyarrow_module()
    if isinstance(values, Ragged):
        compact = values.compact()
        return pa.LargeListArray.from_arrays(compact.offsets, array_of(compact.values))
    data, nulls = np.ma.getdata(values), None
    if np.ma.getmask(values) is not np.ma.nomask:
        nulls = np.ma.getmaskarray(values).reshape(-1)
    flat = data.reshape(-1)
    if data.dtype.kind == "c":
        parts = pa.array(flat.view(f"f{data.dtype.itemsize // 2}"))
        mask = None if nulls is None else pa.array(nulls)
        array = pa.FixedSizeListArray.from_arrays(parts, 2, mask=mask)
    elif data.dtype.kind in "iufb":
        # Arrow shares NumPy's memory of numbers.
        array = pa.array(flat, mask=nulls)
    else:
        array = _text(flat, nulls)
    if 0 in data.shape[1:]:
        # Parquet readers and polars fail on lists of fixed length 0.
        return pa.LargeListArray.from_arrays(np.zeros(len(data) + 1, np.int64), array)
    for length in reversed(data.shape[1:]):
        array = pa.FixedSizeListArray.from_arrays(array, length)
    return array


def _text(data: NDArray[Any], nulls: NDArray[np.bool_] | None) -> pa.Array:
    """Return text as UTF-8."""
    pa = pyarrow_module()
    if data.dtype.kind == "S" and is_ascii(data):
        return pa.array(data, pa.binary(), mask=nulls).cast(pa.string())
    if data.dtype.kind == "S":
        data = decoded(data)
    elif data.dtype.kind == "O":
        if all(isinstance(cell, bytes) for cell in data):
            data = decoded(data)
        return pa.array(data.tolist(), pa.large_string(), mask=nulls)
    return pa.array(data, pa.string(), mask=nulls)


def arrow_column(name: str, values: Any) -> Any:
    """Return the values of a column of any library that exports Arrow."""
    pa = pyarrow_module()
    try:
        return arrow_values(name, intact(pa.chunked_array(values)))
    except pa.ArrowException as error:
        message = "".join(c if c.isprintable() else "?" for c in " ".join(str(error).split()))
        raise usage(f"column {name!r}: {message}", "give a column that is whole") from error


def intact(data: Any) -> Any:
    """Return Arrow data after validating its offsets, indices and text.

    Arrow validates them only on request; otherwise invalid ones read arbitrary memory.

    Raises
    ------
    ArrowInvalid
        Offsets, indices or text are invalid.
    """
    data.validate(full=True)
    return data


def columns_of_arrow(data: Any) -> Named:
    """Yield the columns of an Arrow stream."""
    pa = pyarrow_module()
    try:
        table = intact(pa.RecordBatchReader.from_stream(data).read_all())
    except pa.ArrowException as error:
        raise usage(
            f"invalid table of type {type(data).__name__}: {error}",
            "use types that pyarrow knows, and name a single column: {'NAME': values}",
        ) from error
    refuse_objects("", data)
    foreign = said_of_columns(table.schema.metadata)
    for field, column in zip(table.schema, table.columns, strict=True):
        # Values from other programs may not be text.
        texts = {
            key.decode(errors="replace"): text.decode(errors="replace")
            for key, text in (field.metadata or {}).items()
        }
        pairs = "fits.complex" in texts
        values = arrow_values(field.name, column, pairs=pairs)
        theirs = foreign.get(field.name, {})
        properties = {
            "unit": texts.get("unit") or theirs.get("unit"),
            "description": texts.get("description") or theirs.get("description", ""),
            "display": texts.get("fits.TDISP") or display_of(theirs.get("format"), values.dtype),
            "carried": carried_in(texts) or theirs.get("carried", ()),
        }
        if isinstance(values, Ragged) and "fits.TDIM" in texts:
            shape = _shape_said(field.name, texts["fits.TDIM"])
            values = Ragged(values.offsets, values.values, cell_shape=shape)
        yield field.name, values, properties


def carried_in(said: Mapping[str, str]) -> tuple[tuple[str, Any], ...]:
    """Return the column's cards from the metadata of an Arrow field."""
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
    """Return the shape in TDIMn, in NumPy order."""
    lengths = dimensions.strip("() ").split(",")
    if not all(length.strip().isdecimal() for length in lengths):
        raise usage(
            f"column {name!r}: invalid fits.TDIM {dimensions!r} in its metadata",
            "give lengths of axes as in TDIMn, such as '(4,2)', or leave it out",
        )
    return tuple(map(int, reversed(lengths)))


def meta_of_arrow(metadata: Mapping[Any, Any]) -> Iterable[tuple[str, Any]]:
    """Yield the cards that `Table.to_arrow`, or astropy, stored in the metadata of a schema."""
    by_key = {}
    for key in (b"fits.header", b"fits.comments"):
        try:
            entries = json.loads(metadata.get(key, b"{}"))
        except ValueError:
            # Metadata of another program.
            entries = {}
        by_key[key] = entries if isinstance(entries, dict) else {}
    if not any(by_key.values()):
        yield from meta_of_yaml(metadata)
    comments = by_key[b"fits.comments"]
    for key, value in by_key[b"fits.header"].items():
        yield key, (value, str(comments[key])) if key in comments else value


def arrow_values(name: str, array: Any, *, pairs: bool = False) -> Any:
    """Return an Arrow array as NumPy's, masked where null; lists become `Ragged` or extra axes.

    ``pairs``: the innermost lists, of two floats each, are complex numbers.
    """
    pa = pyarrow_module()
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.nulls(0, kind)
    if pa.types.is_dictionary(kind):
        return arrow_values(name, _decoded(array))
    if pa.types.is_fixed_size_list(kind):
        return _fixed_values(name, array, pairs=pairs)
    if str(kind).partition("<")[0] in ("list", "large_list", "list_view", "large_list_view"):
        if array.null_count:
            warn_of_null_lists(name, array.null_count)
        lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        # flatten() drops the elements of null lists.
        inner = arrow_values(name, array.flatten(), pairs=pairs)
        if isinstance(inner, Ragged) or inner.ndim > 1:
            raise usage(f"column {name!r}: lists of lists", "flatten the inner ones")
        return Ragged(offsets, inner)
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    values = _plain_values(name, array)
    return values if missing is None else np.ma.MaskedArray(values, mask=missing)


def _decoded(array: Any) -> Any:
    """Return the values of a dictionary-encoded array."""
    pa = pyarrow_module()
    # pyarrow cannot take values from views, in which polars stores text.
    plain = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
    values = array.dictionary
    return values.cast(plain.get(str(values.type), values.type)).take(array.indices)


def _complex(values: NDArray[Any]) -> NDArray[Any]:
    """Return pairs of floats as complex numbers, with one axis less."""
    kind = np.dtype(f"c{2 * values.dtype.itemsize}")
    pairs = np.ascontiguousarray(np.ma.getdata(values))
    numbers = pairs.view(kind).reshape(pairs.shape[:-1])
    if not np.ma.isMaskedArray(values):
        return numbers
    return np.ma.MaskedArray(numbers, mask=np.ma.getmaskarray(values).any(axis=-1))


def _fixed_values(name: str, array: Any, *, pairs: bool) -> Any:
    """Return lists of one length as an array with one more axis."""
    pa = pyarrow_module()
    length = array.type.list_size
    first = array.offset * length
    inner = arrow_values(name, array.values.slice(first, len(array) * length), pairs=pairs)
    if isinstance(inner, Ragged):
        raise usage(f"column {name!r}: lists of one length of lists", "flatten the inner lists")
    cells = inner.reshape((len(array), length, *inner.shape[1:]))
    if array.null_count:
        missing = array.is_null().to_numpy(zero_copy_only=False)
        mask = np.ma.getmaskarray(cells).copy()
        mask[missing] = True
        cells = np.ma.MaskedArray(np.ma.getdata(cells), mask=mask)
    is_pair = pairs and length == 2 and pa.types.is_floating(array.type.value_type)
    return _complex(cells) if is_pair else cells


def _plain_values(name: str, array: Any) -> NDArray[Any]:
    pa = pyarrow_module()
    kind = array.type
    types = pa.types
    if types.is_boolean(kind):
        return array.fill_null(False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    if types.is_integer(kind) or types.is_floating(kind):
        # Without a fill value, integers with nulls would become floats; the mask marks the nulls.
        full = array.fill_null(0) if array.null_count else array
        return full.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    if types.is_timestamp(kind):
        return array.cast(pa.timestamp(kind.unit)).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    if types.is_date(kind) or types.is_duration(kind):
        return array.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    if types.is_decimal(kind):
        return _decimal_values(name, array)
    if types.is_null(kind):
        return np.full(len(array), np.nan)
    if types.is_time(kind):
        return _plain_values(name, array.cast(pa.string()))
    if str(kind) in ("string", "large_string", "string_view"):
        # Also text of length 0, and columns without defined values, whose cells do not show their
        # type.
        text = array.cast(pa.large_string()).fill_null("")
        return text.to_numpy(zero_copy_only=False).astype("U")  # type: ignore[no-any-return]
    if str(kind) in ("binary", "large_binary", "binary_view") or types.is_fixed_size_binary(kind):
        text = array.cast(pa.large_binary()).fill_null(b"")
        return text.to_numpy(zero_copy_only=False).astype("S")  # type: ignore[no-any-return]
    raise usage(
        f"column {name!r}: FITS has no type for Arrow's {kind}",
        "cast it to numbers, truth values, text, or lists of these",
    )


def _decimal_values(name: str, array: Any) -> NDArray[Any]:
    """Return decimals as integers if they have no decimal places, else as float64."""
    pa = pyarrow_module()
    integers = whole_numbers(array) if array.type.scale <= 0 else None
    if integers is not None:
        return integers.fill_null(0).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    floats = array.cast(pa.float64())
    if array.type.precision > _DIGITS and not _says(floats, array):
        raise usage(
            f"column {name!r} has decimals of {array.type} with more digits than float64",
            "cast it to float64, which rounds, or to text",
        )
    return floats.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


#: Decimals with this many digits survive a round trip through float64 (DBL_DIG of C).
_DIGITS = 15


def _says(floats: Any, decimals: Any) -> bool:
    """Return whether the shortest text of each float equals the decimal."""
    pa = pyarrow_module()
    try:
        return bool(floats.cast(pa.string()).cast(decimals.type).equals(decimals))
    except pa.ArrowInvalid:
        return False


def whole_numbers(values: Any) -> Any:
    """Return Arrow decimals or text as int64 or uint64, whichever holds them all.

    None if neither does.
    """
    pa = pyarrow_module()
    for kind in (pa.int64(), pa.uint64()):
        try:
            return values.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def arrow_in_ascii(table: Any) -> Any:
    r"""Return an Arrow table with text that FITS has: é becomes \xe9."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, field in enumerate(table.schema):
        column = table.column(place)
        is_text = pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        if is_text and not pc.all(pc.string_is_ascii(column)).as_py():
            cells = [
                None if cell is None else cell.encode("ascii", "backslashreplace").decode()
                for cell in column.to_pylist()
            ]
            table = table.set_column(place, field.name, pa.array(cells, type=pa.string()))
    return table
