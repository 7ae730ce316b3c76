"""Arrays of Arrow as NumPy has them: masked where null, lists with an axis more or ragged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import usage
from tachyfits.base.optional import needed
from tachyfits.table.ragged import Ragged


def arrow_values(name: str, array: Any, *, pairs: bool = False) -> Any:
    """Return an Arrow array as NumPy's, masked where null; lists as `Ragged` or more axes.

    ``pairs``: the innermost lists, of two floats each, are complex numbers.
    """
    pa = needed("pyarrow", "taking an Arrow stream", extra="arrow")
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.nulls(0, kind)
    if pa.types.is_dictionary(kind):
        return arrow_values(name, _decoded(array))
    if pa.types.is_fixed_size_list(kind):
        return _fixed_lists(name, array, pairs=pairs)
    if str(kind).partition("<")[0] in ("list", "large_list", "list_view", "large_list_view"):
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
    """Return the values of a dictionary's array."""
    pa = needed("pyarrow", "taking an Arrow stream", extra="arrow")
    # pyarrow cannot take values from views, in which polars keeps text.
    plain = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
    values = array.dictionary
    return values.cast(plain.get(str(values.type), values.type)).take(array.indices)


def _complex(values: NDArray[Any]) -> NDArray[Any]:
    """Return pairs of floats as the complex numbers that they were, one axis less."""
    kind = np.dtype(f"c{2 * values.dtype.itemsize}")
    pairs = np.ascontiguousarray(np.ma.getdata(values))
    numbers = pairs.view(kind).reshape(pairs.shape[:-1])
    if not np.ma.isMaskedArray(values):
        return numbers
    return np.ma.MaskedArray(numbers, mask=np.ma.getmaskarray(values).any(axis=-1))


def _fixed_lists(name: str, array: Any, *, pairs: bool) -> Any:
    """Return lists of one length as an array of one axis more."""
    pa = needed("pyarrow", "taking an Arrow stream", extra="arrow")
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
    pa = needed("pyarrow", "taking an Arrow stream", extra="arrow")
    kind = array.type
    types = pa.types
    if types.is_boolean(kind):
        return array.fill_null(False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    if types.is_integer(kind) or types.is_floating(kind):
        # An integer would become a float where it is null: the mask says so already.
        full = array.fill_null(0) if array.null_count else array
        return full.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    if types.is_timestamp(kind):
        return array.cast(pa.timestamp(kind.unit)).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    if types.is_date(kind) or types.is_duration(kind):
        return array.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    if types.is_decimal(kind):
        return array.cast(pa.float64()).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    if types.is_null(kind):
        return np.full(len(array), np.nan)
    if types.is_time(kind):
        return _plain_values(name, array.cast(pa.string()))
    if str(kind) in ("string", "large_string", "string_view"):
        # Text of no length too, and where nothing is defined: what the cells are does not tell.
        text = array.cast(pa.large_string()).fill_null("")
        return text.to_numpy(zero_copy_only=False).astype("U")  # type: ignore[no-any-return]
    if str(kind) in ("binary", "large_binary", "binary_view") or types.is_fixed_size_binary(kind):
        text = array.cast(pa.large_binary()).fill_null(b"")
        return text.to_numpy(zero_copy_only=False).astype("S")  # type: ignore[no-any-return]
    raise usage(
        f"column {name!r}: FITS has no type for Arrow's {kind}",
        "cast it to numbers, truth values, text, or lists of these",
    )
