"""Layouts of Fortran records: conversion of dtypes and forms to fields for the engine, and back."""

from __future__ import annotations

import operator
import os
from itertools import islice
from math import prod
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage
from tachyfits.records.fields import (
    SEE_LENGTHS,
    Field,
    Layout,
    Leaf,
    field_at,
    refuse_many,
    repeated,
)
from tachyfits.records.forms import (
    PLAIN,
    filling,
    is_dtype_text,
    is_form,
    layout_of_form,
    least_bytes,
    wide,
)

MemoryOrder = Literal["F", "C"]
#: Lengths of an array, or the length of its only axis.
Shape = SupportsIndex | tuple[int, ...]

#: How to remove the padding of a dtype, nested ones included.
_REPACK = "numpy.lib.recfunctions.repack_fields(dtype, recurse=True)"


#: Supported kinds of dtypes; kinds without a Fortran type have their own errors.
_KINDS = "iufcbSVU"

#: Characters of an invalid form shown in a message.
_SHOWN = 200


def layout(what: Any, record_bytes: int, place: str = "a record") -> Layout:
    """Return the layout of records for a dtype or a form; None: as bytes.

    ``place`` names the record in messages.
    """
    if what is None:
        what = np.uint8
    if is_form(what) and not PLAIN.fullmatch(what):
        return layout_of_form(what, record_bytes, place)
    if isinstance(what, str) and PLAIN.fullmatch(what):
        # Check i3 and f12 here: NumPy's error does not mention forms.
        least_bytes(what)
        what = wide(what.strip()) or what.strip()
    return of_dtype(dtype_of(what), record_bytes, place)


def dtype_of(what: Any) -> np.dtype[Any]:
    """Return a dtype in native byte order.

    Text must match our grammar of forms and dtypes before NumPy parses it, and the dtype must have
    numbers, text or bytes before NumPy converts it: newbyteorder() of several StringDType crashes
    the process.
    """
    try:
        if isinstance(what, str) and not is_dtype_text(what):
            raise ValueError(what)
        dtype = np.dtype(what)
    except (TypeError, ValueError, SyntaxError, ArithmeticError, MemoryError, RecursionError,
            UnicodeError, LookupError, AttributeError) as error:  # fmt: skip
        raise usage(
            f"invalid form {str(what)[:_SHOWN]!r}: expected a dtype or a form of records",
            "write a NumPy dtype, or items such as i4,3f8,c16,l4,a16,x8,*f8,9(i4,f8)",
        ) from error
    _check_kinds(dtype)
    native: np.dtype[Any] = dtype.newbyteorder("=")
    return native


def _check_kinds(dtype: np.dtype[Any]) -> None:
    """Raise UsageError for a dtype without elements, or with items that records do not support."""
    if dtype.names is not None:
        for name in dtype.names:
            _check_kinds(dtype[name])
        return
    if dtype.base.names is not None:
        _check_kinds(dtype.base)
    elif dtype.base.kind not in _KINDS:
        raise usage(
            f"invalid dtype {str(dtype)[:_SHOWN]}: Fortran has no such type",
            "use integers, reals, complex numbers, logical values or text",
        )


def empty_layout(what: Any) -> Layout:
    """Return the layout for an empty file, with the minimum record length."""
    if is_form(what):
        return layout(what, least_bytes(filling(what)))
    dtype = np.dtype(np.uint8) if what is None else dtype_of(what)
    return layout(dtype, 0 if dtype.names is None else _leaves(dtype, packed=True)[1])


def of_dtype(dtype: np.dtype[Any], record_bytes: int, place: str = "a record") -> Layout:
    """Return the layout of a dtype: as many elements as fill the record."""
    if dtype.names is None:
        base, count = (dtype.base, prod(dtype.shape)) if dtype.subdtype else (dtype, 1)
        size = base.itemsize
        if size * count == 0 or record_bytes % (size * count):
            raise usage(
                f"{place} of {record_bytes} bytes does not hold a whole number of {dtype}",
                f"{SEE_LENGTHS}; several items describe mixed ones, as in i4,*f8",
            )
        elements = record_bytes // size
        return Layout(record_bytes, base, elements, (field_at(base, 0, 0, elements),), base)
    leaves, packed = _leaves(dtype, packed=True)
    # Either as in memory (a type written whole), or item by item, without padding.
    steps = [step for step in (dtype.itemsize, packed) if step and record_bytes % step == 0]
    if not steps:
        raise usage(
            f"{place} of {record_bytes} bytes does not hold a whole number of items of {dtype}, "
            f"which have {packed} bytes",
            SEE_LENGTHS,
        )
    if record_bytes and len(set(steps)) > 1:
        raise usage(
            f"{place} of {record_bytes} bytes may hold aligned items of {dtype.itemsize} bytes or "
            f"packed items of {packed} bytes",
            f"give a dtype without padding: {_REPACK}, or one that has them as fields of type V",
        )
    if record_bytes and dtype.itemsize == packed and not all(_stays(field) for _, field in leaves):
        raise usage(
            f"{place} may have the fields of {dtype} in the order of their names, or of their "
            "offsets",
            f"give a dtype with one order of fields: {_REPACK} has that of the names",
        )
    return of_items(dtype, record_bytes // steps[0], packed=steps[0] == packed)


def _stays(field: Field) -> bool:
    """Return whether a field is at the same place in the record and in the item."""
    together = field.offset == field.to and (field.repeats == 1 or field.step == field.to_step)
    return together or not field.run_bytes


def form_text(dtype: np.dtype[Any], found: Layout) -> str:
    """Return the form of records with this layout of a dtype; gaps between fields become x."""
    if dtype.names is None:
        return f"*{_item_text(dtype.base)}"
    packed = _leaves(dtype, packed=True)[1]
    text, _ = _form_of(dtype, packed=found.elements * packed == found.record_bytes)
    return f"*({text})"


def _form_of(dtype: np.dtype[Any], *, packed: bool) -> tuple[str, int]:
    """Return the items of a structured dtype, and their bytes in a record."""
    # Each entry is an item and its count; consecutive items of one kind are merged.
    items: list[tuple[str, int]] = []
    at = 0
    # Packed fields are written in the order of their names.
    for offset, part in _parts(dtype) if packed else sorted(_parts(dtype), key=_first):
        base, count = part.base, prod(part.shape)
        if not base.itemsize * count:
            continue
        if not packed and offset < at:
            raise usage(f"fields of {dtype} overlap", "give a dtype without such fields")
        if not packed and offset > at:
            items.append((f"x{offset - at}", 1))
        inside, size = _form_of(base, packed=packed) if base.names else ("", base.itemsize)
        what = f"({inside})" if base.names else _item_text(base)
        if items and items[-1][0] == what:
            count += items.pop()[1]
        items.append((what, count))
        at = (at if packed else offset) + size * prod(part.shape)
    if not packed and (gap := dtype.itemsize - at) > 0:
        items.append((f"x{gap}", 1))
        at += gap
    return ",".join(f"{count}{what}" for what, count in items), at


def _parts(dtype: np.dtype[Any]) -> list[tuple[int, np.dtype[Any]]]:
    """Return offset and dtype of each field of a structured dtype."""
    assert dtype.fields is not None
    return [(dtype.fields[name][1], dtype.fields[name][0]) for name in dtype.names or ()]


def _first(field: tuple[int, Any]) -> int:
    return field[0]


def _item_text(base: np.dtype[Any]) -> str:
    """Return the form item for the numbers of a dtype."""
    letter = {"u": "i", "S": "a", "V": "x"}.get(base.kind, base.kind)
    return f"{letter}{base.itemsize}"


def of_items(dtype: np.dtype[Any], elements: int, *, packed: bool) -> Layout:
    """Return the layout of structured items, with or without padding of their fields."""
    leaves, step = _leaves(dtype, packed=packed)
    leaves = repeated(leaves, elements, step, dtype.itemsize)
    refuse_many(len(leaves))
    fields = tuple(field for _, field in leaves)
    bases = tuple(base for base, _ in leaves)
    return Layout(elements * step, dtype, elements, fields, dtype, bases)


def _leaves(dtype: np.dtype[Any], *, packed: bool) -> tuple[list[Leaf], int]:
    """Return the fields of an item, and its bytes in a record; packed: without padding."""
    if dtype.subdtype is not None:
        base, count = dtype.base, prod(dtype.shape)
        if base.names is None:
            return [(base, field_at(base, 0, 0, count))], base.itemsize * count
        inner, step = _leaves(base, packed=packed)
        return repeated(inner, count, step, base.itemsize), count * step
    if dtype.names is None:
        return [(dtype, field_at(dtype, 0, 0, 1))], dtype.itemsize
    assert dtype.fields is not None
    leaves: list[Leaf] = []
    at = 0
    for name in dtype.names:
        part, to = dtype.fields[name][:2]
        inner, size = _leaves(part, packed=packed)
        leaves += [(base, field.moved(at if packed else to, to)) for base, field in inner]
        at += size
    return leaves, at if packed else dtype.itemsize


def packed_bytes(dtype: np.dtype[Any]) -> int:
    """Return the bytes of an item without padding."""
    return _leaves(dtype, packed=True)[1]


def field_of(dtype: np.dtype[Any], name: str, *, packed: bool) -> tuple[np.dtype[Any], int]:
    """Return a field of a structured dtype, and its offset in the record."""
    assert dtype.fields is not None
    part, offset = dtype.fields[name][:2]
    if packed:
        names = (dtype.names or ())[: (dtype.names or ()).index(name)]
        offset = sum(packed_bytes(dtype.fields[before][0]) for before in names)
    return part, offset


def check_access(access: str, markers: int | None, record_bytes: int | None) -> None:
    """Refuse markers for access without markers, and lengths that no marker or record has."""
    if record_bytes is not None and not 0 < operator.index(record_bytes) < 2**63:
        raise usage(
            f"invalid record_bytes {record_bytes}: expected 1 or more",
            "give the record length: 1 byte or more; programs set it with recl=, in bytes or in "
            "words of 4",
        )
    if markers is not None and markers not in (4, 8):
        raise usage(
            f"invalid markers {markers!r}: expected 4 or 8",
            "use 4 or 8, or leave markers out: existing markers are detected, new ones have 4 "
            "bytes",
        )
    if markers is not None and access in ("direct", "stream"):
        raise usage(
            f"markers of {markers} bytes with {access} access",
            "only sequential files have markers",
        )


#: Maximum number of axes of a NumPy array.
_MOST_AXES = 64


def check_name(path: str | os.PathLike[str]) -> None:
    """Refuse the name of a compressed file; z and fz may be components of a field."""
    if str(path).lower().endswith((".gz", ".bz2", ".xz", ".zst", ".zip")):
        raise usage(
            f"cannot write a compressed file: {str(path)!r}",
            "write a file with another name, and compress it; gzipped files can be read",
        )


def lengths_of(shape: Shape) -> tuple[int, ...]:
    """Return the lengths of an array; a number is the length of its only axis."""
    each: Any = shape if np.iterable(shape) else (shape,)
    lengths = tuple(operator.index(length) for length in islice(each, _MOST_AXES + 1))
    if len(lengths) > _MOST_AXES:
        raise usage(
            f"invalid shape: expected at most {_MOST_AXES} axes, found more",
            either("give the lengths of the axes"),
        )
    return lengths


def one_axis_each(out: NDArray[Any], shape: Shape, order: MemoryOrder) -> NDArray[Any]:
    """Return the memory of shaped records, with one axis for the elements of each record."""
    lengths = lengths_of(shape)
    fits = out.ndim == 1 + len(lengths) and all(
        length in (-1, there) for length, there in zip(lengths, out.shape[1:], strict=True)
    )
    transposed = out.transpose(0, *range(out.ndim - 1, 0, -1)) if fits and order == "F" else out
    if not fits or not transposed.flags.c_contiguous:
        fastest = "first" if order == "F" else "last"
        raise usage(
            f"out is an array of shape {out.shape} and strides {out.strides}",
            either(
                f"records with shape={shape} and order={order!r} are read into one that has an "
                f"axis for the records and those of shape, the {fastest} index of a record the "
                "fastest in memory; or leave shape out and give one axis for all elements of a "
                "record"
            ),
        )
    return transposed.reshape(len(out), prod(transposed.shape[1:]))


def shaped(
    array: NDArray[Any],
    shape: Shape | None,
    order: MemoryOrder,
    lead: tuple[int, ...],
) -> NDArray[Any]:
    """Return the elements of each record in a shape; ``lead``: axes that count records."""
    if order not in ("F", "C"):
        raise usage(f"invalid order {order!r}", "use 'F', first index fastest, or 'C'")
    if shape is None:
        return array
    shape = lengths_of(shape)
    if lead == (0,):
        # Without records, a length of -1 means 0.
        shape = tuple(max(length, 0) for length in shape)
    try:
        if order == "C":
            return array.reshape(lead + shape)
        transposed = array.reshape(lead + shape[::-1])
    except ValueError as error:
        raise usage(
            f"records of {array.shape[len(lead)] if array.ndim > len(lead) else 1} elements "
            f"cannot have the shape {shape}",
            "give the lengths of the Fortran array; one of them may be -1",
        ) from error
    axes = range(len(lead), transposed.ndim)
    return np.asarray(transposed.transpose(*range(len(lead)), *reversed(axes)))
