"""Sources of Fortran records: items, or an array of records, as bytes and fields."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage
from tachyfits.records.fields import Field, Layout, no_quad
from tachyfits.records.layouts import MemoryOrder, of_dtype, of_items

#: Cache of layouts of written elements, except those with many fields, which would fill the memory.
_kept: dict[tuple[np.dtype[Any], int], Layout] = {}
_MOST_KEPT = 16
_MOST_FIELDS_KEPT = 1000

#: Items, number of records, bytes of a record and of an item, fields: input of the compiled module.
Part = tuple[NDArray[np.uint8], int, int, int, Sequence[Field]]


def one_record(items: tuple[Any, ...], memory: MemoryOrder) -> Part:
    """Return a record of consecutive items."""
    if memory not in ("F", "C"):
        raise usage(f"invalid memory {memory!r}: expected a memory layout", "use 'F' or 'C'")
    fields: list[Field] = []
    pieces: list[NDArray[np.uint8]] = []
    at = within = 0
    for item in items:
        flat = np.ascontiguousarray(_array(item).ravel(order=memory))
        if not flat.nbytes:
            continue
        item_layout = _written(flat.dtype, flat.size)
        fields += [field.moved(at, within) for field in item_layout.fields]
        pieces.append(flat.view(np.uint8).reshape(-1))
        at += item_layout.record_bytes
        within += flat.nbytes
    data = pieces[0] if len(pieces) == 1 else np.concatenate([*pieces, np.empty(0, np.uint8)])
    return data, 1, at, within, fields


def many_records(records: Any, memory: MemoryOrder) -> Part:
    """Return one record for each index of an array's first axis."""
    array = _array(records)
    if array.ndim == 0:
        raise usage(
            "invalid records: expected an array, found a number", "use [number] for one record"
        )
    if memory == "F" and array.ndim > 2:
        array = array.transpose(0, *range(array.ndim - 1, 0, -1))
    array = np.ascontiguousarray(array)
    count = array.shape[0]
    item_layout = _written(array.dtype, prod(array.shape[1:]))
    if not array.nbytes:
        return np.empty(0, np.uint8), count, item_layout.record_bytes, item_layout.item_bytes, []
    items = array.reshape(-1).view(np.uint8)
    return items, count, item_layout.record_bytes, item_layout.item_bytes, item_layout.fields


def _written(dtype: np.dtype[Any], elements: int) -> Layout:
    """Return the layout of the elements of a record; cached, as most programs repeat it."""
    cached = _kept.get((dtype, elements))
    if cached is None:
        cached = _layout_written(dtype, elements)
        if len(cached.fields) <= _MOST_FIELDS_KEPT:
            if len(_kept) >= _MOST_KEPT:
                _kept.clear()
            _kept[dtype, elements] = cached
    return cached


def _layout_written(dtype: np.dtype[Any], elements: int) -> Layout:
    if not dtype.itemsize:
        return Layout(0, dtype, elements, (), dtype)
    _refuse_long(dtype)
    if dtype.names is None:
        return of_dtype(dtype, dtype.itemsize * elements)
    # Item by item, because the padding of fields in memory is not written.
    return of_items(dtype, elements, packed=True)


def _refuse_long(dtype: np.dtype[Any]) -> None:
    """Refuse NumPy's longdouble if it is not real(16)."""
    base = dtype.base
    for name in base.names or ():
        _refuse_long(base[name])
    if (base.kind, base.itemsize) in (("f", 16), ("c", 32)) and (missing := no_quad()) is not None:
        raise usage(
            f"numbers of {base}: {missing}",
            either(
                "write array.astype('f8') or 'c16'; or, as the real(10) that programs on x86 have "
                "in little-endian files, array.view('V16')"
            ),
        )


def _array(item: Any) -> NDArray[Any]:
    """Return an item as written: native numbers, text as bytes, logical values of 4 bytes."""
    if type(item) is np.ndarray and item.dtype.kind in "iufc" and item.dtype.isnative:
        return item
    if isinstance(item, str):
        return np.frombuffer(_latin(item), np.uint8)
    if isinstance(item, memoryview):
        # A memoryview has a type, unless it holds characters.
        item = item.tobytes() if item.format == "c" else np.asarray(item)
    if isinstance(item, (bytes, bytearray)):
        return np.frombuffer(item, np.uint8)
    # An astropy Masked array has "unmasked", and is not a NumPy masked array.
    has_mask = isinstance(item, np.ma.MaskedArray) or hasattr(item, "unmasked")
    if has_mask and _any_byte(item.mask):
        raise usage("an array with masked elements", either("fill them: array.filled(...)"))
    try:
        array = np.asarray(item)
    except ValueError as error:
        raise usage(
            f"cannot make an array of a {type(item).__name__}: {error}",
            "write each row as a record or item",
        ) from error
    if array.dtype.kind == "O":
        text = " ".join(repr(item).split())
        raise usage(
            f"invalid item {text:.60}: expected numbers or text",
            "write integers of up to 8 bytes, reals, complex numbers, logical values, text, bytes",
        )
    if array.dtype.kind in "US" and not isinstance(item, np.ndarray) and not _all_text(item):
        raise usage(
            f"a {type(item).__name__} of text and other values",
            either(
                "write several items of one record as a tuple of write() and append(), or as "
                "arguments of Writer.write"
            ),
        )
    return _plain_array(array)


def _any_byte(mask: Any) -> bool:
    """Return whether any element of a mask is true; NumPy has no any() for structured masks."""
    return bool(np.ascontiguousarray(mask).view(np.uint8).any())


def _all_text(item: Any) -> bool:
    if isinstance(item, (list, tuple)):
        return all(_all_text(part) for part in item)
    return isinstance(item, (str, bytes)) or np.asarray(item).dtype.kind in "US"


def _plain_array(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as written, including the fields of structured arrays."""
    dtype = array.dtype
    if dtype.names is not None:
        if _written_as_it_is(dtype):
            return array
        # NumPy does not support fields without bytes.
        names = [name for name in dtype.names if dtype[name].itemsize]
        fields = {name: _plain_array(array[name]) for name in names}
        new = np.empty(
            array.shape,
            [(name, field.dtype, field.shape[array.ndim :]) for name, field in fields.items()],
        )
        for name, field in fields.items():
            new[name] = field
        return new
    if dtype.kind == "b":
        return array.astype(np.int32)
    if dtype.kind == "T":
        raise usage(
            f"invalid array of {dtype}: text needs a fixed width",
            either("convert it: array.astype('U8')"),
        )
    if dtype.kind in "US":
        return _characters(array)
    return array.astype(dtype.newbyteorder("="), copy=False)


@lru_cache(maxsize=64)
def _written_as_it_is(dtype: np.dtype[Any]) -> bool:
    base = dtype.base
    if base.names is not None:
        return all(_written_as_it_is(base[name]) for name in base.names)
    return base.kind not in "USb" and base.isnative


def _characters(array: NDArray[Any]) -> NDArray[Any]:
    """Return text as character(N), N is the width of the dtype, padded with blanks, not NUL."""
    dtype = array.dtype.newbyteorder("=")
    each = dtype.itemsize // np.dtype(f"{dtype.kind}1").itemsize
    if not each or not array.size:
        # np.empty would convert S0 to S1.
        empty: NDArray[Any] = np.ndarray(array.shape, f"S{each}")
        return empty
    codes = np.ascontiguousarray(array, dtype).view(np.uint32 if dtype.kind == "U" else np.uint8)
    codes = codes.reshape(-1, each)
    if dtype.kind == "S" and codes[:, -1].all():
        # Text of full width has no NUL to replace by a blank.
        return array
    if codes.max() > 255:
        _latin(chr(codes.max()))
    padding = np.logical_and.accumulate(codes[:, ::-1] == 0, axis=1)[:, ::-1]
    text = np.where(padding, ord(" "), codes).astype(np.uint8)
    return text.view(f"S{each}").reshape(array.shape)


def _latin(text: str) -> bytes:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError as error:
        raise usage(
            f"invalid character {text[error.start]!r}: expected Latin-1, which records store",
            either("write bytes: text.encode('utf-8')"),
        ) from error
