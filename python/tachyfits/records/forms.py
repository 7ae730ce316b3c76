"""Forms of Fortran records, such as i4,3f8,9(i4,f8), parsed to fields."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Any

import numpy as np

from tachyfits import _core
from tachyfits._core import UsageError
from tachyfits.base.errors import either, usage
from tachyfits.records.fields import (
    SEE_LENGTHS,
    Layout,
    Leaf,
    field_at,
    quad,
    refuse_many,
    repeated,
)

#: An item of a form: letter, bytes of an element, count, offset in the record or the group, and the
#: items of a group, whose letter is "(".
Item = tuple[str, int, int, int, "list[Item]"]

_ITEM = r"\s*(?:\*|\d+)?[ifrclax]\d+\s*"
_FORM = re.compile(rf"{_ITEM}(?:,{_ITEM})*")
#: Items with the same name and meaning in NumPy.
PLAIN = re.compile(r"\s*[ifc]\d+\s*")
#: An item without a count; as the only item it fills the record.
_ALONE = re.compile(r"\s*[ifrclax]\d+\s*")
#: Start of a group; NumPy's shapes have no letter in their parentheses.
_GROUP = re.compile(r"\([^()]*[a-z]")
#: NumPy shapes with commas, without axes of length 0.
_SHAPE = re.compile(r"\((?:0*[1-9]\d*,?)+\)([^(),])")
#: A NumPy dtype string with a count, except objects, dates and text of any length.
_DTYPE = re.compile(
    r"[<>=|]?(?:0*[1-9]\d*)?[<>=|]?(?![OMmT](?:\d|$)|object|datetime|timedelta)[a-zA-Z?]\w*"
)
#: Characters that blanks may surround.
_AROUND = re.compile(r"\s*([(),])\s*")
#: Maximum number of characters of a dtype, and of a form.
_LONGEST_DTYPE = 4096
_LONGEST = 1 << 20
#: Maximum bytes of an array element: beyond it NumPy raises, or returns a negative number.
_MOST_BYTES = 2**31 - 1


def is_dtype_text(what: str) -> bool:
    """Return whether text may be a dtype: names with counts, shapes and byte orders.

    >>> [is_dtype_text(text) for text in ("3>f8, int32", "(2,3)f8", "8T", "O", "0f8", "f8!")]
    [True, True, False, False, False, False]
    """
    if not what.isascii() or len(what) > _LONGEST_DTYPE:
        return False
    items = _SHAPE.sub(r"\1", _AROUND.sub(r"\1", what.strip())).split(",")
    return all(_DTYPE.fullmatch(item) for item in items if item) and any(items)


def is_form(what: Any) -> bool:
    """Return whether the argument is a form, not a dtype."""
    if not isinstance(what, str) or not what.isascii() or len(what) > _LONGEST:
        return False
    return _FORM.fullmatch(what) is not None or _GROUP.search(what) is not None


def is_items(what: Any) -> bool:
    """Return whether this is a form of several items, not one type that fills records."""
    return is_form(what) and not _ALONE.fullmatch(what.strip().removeprefix("*"))


def filling(form: str) -> str:
    """Return a form in which a single item without a count fills the record."""
    return f"*{form.strip()}" if _ALONE.fullmatch(form) or _is_one_group(form.strip()) else form


def _is_one_group(form: str) -> bool:
    """Return whether the opening parenthesis of a form closes at its end."""
    if not form.startswith("("):
        return False
    depths = accumulate((character == "(") - (character == ")") for character in form)
    return next((at for at, depth in enumerate(depths) if not depth), None) == len(form) - 1


def form_items(form: str, record_bytes: int, place: str) -> list[Item]:
    """Return the items of a record."""
    _check_characters(form)
    try:
        return _core.record_items(form, record_bytes)
    except UsageError:
        # The form may be invalid, not the length of the record.
        least = least_bytes(form)
    more = " and a whole number of repeats of *" if "*" in form else ""
    error = usage(
        f"{place} of {record_bytes} bytes does not have the form {form!r}: {least} bytes{more} "
        "[record-form]",
        SEE_LENGTHS,
    )
    error.code = "record-form"
    raise error


def least_bytes(form: str) -> int:
    """Return the bytes of a record of this form, without the item that fills it."""
    _check_characters(form)
    return _core.record_least_bytes(form)


def _check_characters(form: str) -> None:
    if not form.isascii() or len(form) > _LONGEST:
        raise usage(
            f"invalid form {form[:40]!r}: expected at most {_LONGEST} characters of ASCII",
            "write items such as i4,3f8,c16,l4,a16,x8,*f8,9(i4,f8)",
        )


def kept_items(items: list[Item]) -> list[Item]:
    """Return the items that are not skipped; groups of skipped items are skipped as well."""
    return [item for item in items if not (_is_empty(item[4]) if item[4] else item[0] == "x")]


def _is_empty(parts: list[Item]) -> bool:
    return not any(part[2] for part in kept_items(parts))


def layout_of_form(form: str, record_bytes: int, place: str) -> Layout:
    """Return the layout of a form; a single item is an array, several are a structured one."""
    items = kept_items(form_items(filling(form), record_bytes, place))
    if not items:
        raise usage(f"invalid form {form!r}: it skips all items", "give an item to read")
    if len(items) > 1:
        dtype, result, leaves = _together(items)
        count = 1
    else:
        (dtype, result, leaves), count = _of_item(items[0]), items[0][2]
        leaves = [(base, field.moved(items[0][3], 0)) for base, field in leaves]
    bases = tuple(base for base, _ in leaves) if dtype.names is not None else ()
    fields = tuple(field for _, field in leaves)
    return Layout(record_bytes, dtype, count, fields, result, bases)


#: Dtype as read, final dtype, and fields.
_Read = tuple[np.dtype[Any], np.dtype[Any], "list[Leaf]"]


def _together(items: list[Item]) -> _Read:
    """Return the structured dtype of several items."""
    reads, gives = [], []
    leaves: list[Leaf] = []
    to = 0
    for number, item in enumerate(items):
        dtype, result, of_item = _of_item(item)
        count, offset = item[2:4]
        shape = () if count == 1 else (count,)
        reads.append((f"f{number}", dtype, shape))
        gives.append((f"f{number}", result, shape))
        leaves += [(base, field.moved(offset, to)) for base, field in of_item]
        to += dtype.itemsize * count
    refuse_many(len(leaves))
    if to > _MOST_BYTES:
        raise usage(
            f"items of {to} bytes together, and a dtype of NumPy's has at most {_MOST_BYTES}",
            "read them one by one, passing over the others: x4,*f8 for the reals of i4,*f8",
        )
    return np.dtype(reads), np.dtype(gives), leaves


def _of_item(item: Item) -> _Read:
    """Return the dtypes of one element of an item, and the fields of the whole item."""
    letter, size, count, _, parts = item
    if parts:
        # A group becomes a derived type even if it has a single item.
        dtype, result, leaves = _together(kept_items(parts))
        return dtype, result, repeated(leaves, count, size, dtype.itemsize)
    dtype, result = _types(letter, size)
    return dtype, result, [(dtype, field_at(dtype, 0, 0, count))]


def _types(letter: str, size: int) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the dtype in which an item is read, and its final dtype."""
    if letter == "l":
        return np.dtype(f"i{size}"), np.dtype(np.bool_)
    if letter == "a":
        dtype: np.dtype[Any] = np.dtype(f"S{size}")
    else:
        dtype = wide(f"{letter}{size}") or np.dtype(f"{letter}{size}")
    return dtype, dtype


def wide(name: str) -> np.dtype[Any] | None:
    """Return the dtype of f16 or c32, refuse i16; None for types that NumPy always has."""
    if name in ("f16", "c32"):
        return quad(name)
    if name != "i16":
        return None
    raise usage(
        "i16: NumPy has no integers of 16 bytes",
        either(
            "read them as V16, bytes in the file's order; fortran.convert(..., forms='i16') swaps "
            "their bytes",
            "tachyfits fortran convert --form i16 swaps their bytes",
        ),
    )
