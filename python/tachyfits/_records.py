"""What the bytes of a Fortran record mean: dtypes and forms as fields for the engine, and back.

A field is (offset in the record, bytes of a number, how many, offset in the item), the item being
an element of the array that is made. The compiled module moves the fields; this says which.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits._core import UsageError
from tachyfits._errors import usage

Field = tuple[int, int, int, int]
MemoryOrder = Literal["F", "C"]

_ITEM = r"\s*(?:\*|\d+)?[ifrclax]\d+\s*"
_FORM = re.compile(rf"{_ITEM}(?:,{_ITEM})*")
#: What NumPy has the same name for, and the same meaning.
_PLAIN = re.compile(r"\s*[ifc]\d+\s*")
#: An item without a count: alone it stands for all that a record holds.
_ALONE = re.compile(r"\s*[ifrclax]\d+\s*")
_COUNT_AND_BYTES = re.compile(r"(\*|\d*)[ifrclax](\d+)")
#: What to do where records have another length.
_SEE_LENGTHS = (
    "file.index, or `tachyfits fortran info`, has the length of each record; "
    "in a form * takes as many as fill it"
)
#: Fields of structured items that a record may have beside each other; each is moved by itself.
_MOST_FIELDS = 1 << 20


@dataclass(frozen=True)
class Layout:
    """How records of one length become elements of an array."""

    record_bytes: int
    #: What is read: native, logical values as integers.
    dtype: np.dtype[Any]
    #: Elements that a record becomes.
    elements: int
    fields: tuple[Field, ...]
    #: What the array becomes then: logical values as bool.
    result: np.dtype[Any]

    @property
    def item_bytes(self) -> int:
        """Bytes that a record becomes."""
        return self.dtype.itemsize * self.elements

    def shape(self, count: int) -> tuple[int, ...]:
        """Return the shape of an array of so many records."""
        alone = self.dtype.names is not None and self.elements == 1
        return (count,) if alone else (count, self.elements)

    def finished(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array with logical values as such: any bit set is true."""
        if self.result == self.dtype:
            return array
        if self.result.names is None:
            return np.asarray(array != 0)
        made = np.empty(array.shape, self.result)
        for name in self.result.names:
            is_logical = self.result[name].base == np.bool_
            made[name] = array[name] != 0 if is_logical else array[name]
        return made


def layout(what: Any, record_bytes: int, place: str = "a record") -> Layout:
    """Return how records of so many bytes are read as a dtype or a form; None: as bytes.

    ``place`` says in messages which record has these bytes.
    """
    if what is None:
        what = np.uint8
    if isinstance(what, str) and _FORM.fullmatch(what) and not _PLAIN.fullmatch(what):
        return _of_form(what, record_bytes, place)
    if isinstance(what, str) and _PLAIN.fullmatch(what):
        # i3, f12: NumPy's own complaint names no form.
        _core.record_items(f"*{what.strip()}", 0)
        if what.strip() in ("f16", "c32"):
            what = _quad(what.strip())
    return _of_dtype(dtype_of(what), record_bytes, place)


def dtype_of(what: Any) -> np.dtype[Any]:
    """Return a dtype in the machine's byte order."""
    try:
        native: np.dtype[Any] = np.dtype(what).newbyteorder("=")
    except (TypeError, ValueError, SyntaxError, OverflowError) as error:
        raise usage(
            f"{what!r} is neither a dtype nor a form of records",
            "write a NumPy dtype, or items such as i4,3f8,c16,l4,a16,x8,*f8",
        ) from error
    return native


def empty_layout(what: Any) -> Layout:
    """Return the layout of no records: of the fewest bytes that such records have."""
    if isinstance(what, str) and _FORM.fullmatch(what):
        return layout(what, 0 if _ALONE.fullmatch(what) else _least_bytes(what))
    dtype = np.dtype(np.uint8) if what is None else dtype_of(what)
    return layout(dtype, 0 if dtype.names is None else _packed(_flat(dtype, 0)))


def is_items(what: Any) -> bool:
    """Return whether this is a form of items with places, not of one type that fills records."""
    if not isinstance(what, str) or not _FORM.fullmatch(what):
        return False
    return not _ALONE.fullmatch(what.strip().removeprefix("*"))


def filling(form: str) -> str:
    """Return a form in which an item alone, without a count, takes as many as fill the record."""
    return f"*{form.strip()}" if _ALONE.fullmatch(form) else form


def form_items(form: str, record_bytes: int, place: str) -> list[tuple[str, int, int, int]]:
    """Return the items of a record: (letter, bytes of an element, count, offset)."""
    try:
        return _core.record_items(form, record_bytes)
    except UsageError:
        least = _least_bytes(form)
        # It may be the form that is wrong, not the length of the record.
        _core.record_items(form, min(least, 2**63))
    more = " and a whole number of what * stands for" if "*" in form else ""
    error = usage(
        f"{place} of {record_bytes} bytes does not have the form {form!r}: {least} bytes{more} "
        "[record-form]",
        _SEE_LENGTHS,
    )
    error.code = "record-form"
    raise error


def _least_bytes(form: str) -> int:
    found = _COUNT_AND_BYTES.findall(form)
    return sum(int(count or 1) * int(size) for count, size in found if count != "*")


def _of_form(form: str, record_bytes: int, place: str) -> Layout:
    """Return the layout of a form; a single item is an array, several are a structured one."""
    items = form_items(filling(form), record_bytes, place)
    kept = [item for item in items if item[0] != "x"]
    if not kept:
        raise usage(f"{form!r} has nothing to read", "give items besides those that are skipped")
    if len(kept) == 1:
        letter, size, count, offset = kept[0]
        dtype, result = _types(letter, size)
        alone = tuple(_fields(dtype, offset, 0, count))
        return Layout(record_bytes, dtype, count, alone, result)
    reads, gives = [], []
    fields: list[Field] = []
    to = 0
    for number, (letter, size, count, offset) in enumerate(kept):
        dtype, result = _types(letter, size)
        shape = () if count == 1 else (count,)
        reads.append((f"f{number}", dtype, shape))
        gives.append((f"f{number}", result, shape))
        fields += _fields(dtype, offset, to, count)
        to += size * count
    return Layout(record_bytes, np.dtype(reads), 1, tuple(fields), np.dtype(gives))


def _types(letter: str, size: int) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return what an item is read as, and what it becomes."""
    if letter == "l":
        return np.dtype(f"i{size}"), np.dtype(np.bool_)
    if letter == "a":
        dtype: np.dtype[Any] = np.dtype(f"S{size}")
    elif (letter, size) in (("f", 16), ("c", 32)):
        dtype = _quad(f"{letter}{size}")
    else:
        dtype = np.dtype(f"{letter}{size}")
    return dtype, dtype


def _quad(name: str) -> np.dtype[Any]:
    """Return the dtype of real(16), where NumPy has it."""
    if np.finfo(np.longdouble).nmant != 112:
        raise usage(
            f"{name}: real(16) is an IEEE number of 128 bits, which NumPy does not have here "
            f"(its longdouble has {np.finfo(np.longdouble).nmant + 1} digits)",
            "skip these bytes (x16), or read the record as bytes (dtype None, or V16 for a field), "
            "and convert them by yourself",
        )
    return np.dtype(np.longdouble if name == "f16" else np.clongdouble)


def _of_dtype(dtype: np.dtype[Any], record_bytes: int, place: str = "a record") -> Layout:
    """Return the layout of a dtype: as many elements as fill the record."""
    if dtype.names is None:
        base, count = (dtype.base, prod(dtype.shape)) if dtype.subdtype else (dtype, 1)
        size = base.itemsize
        if size == 0 or record_bytes % (size * count):
            raise usage(
                f"{place} of {record_bytes} bytes is no whole number of {dtype}",
                f"{_SEE_LENGTHS}; several items describe mixed ones, as in i4,*f8",
            )
        elements = record_bytes // size
        plain = tuple(_fields(base, 0, 0, elements))
        return Layout(record_bytes, base, elements, plain, base)
    parts = tuple(_flat(dtype, 0))
    packed = _packed(parts)
    # As it lies in memory (a type written whole), or item by item, without what aligns them.
    steps = [step for step in (dtype.itemsize, packed) if step and record_bytes % step == 0]
    if not steps:
        raise usage(
            f"{place} of {record_bytes} bytes is no whole number of items of {dtype}, "
            f"which have {packed} bytes",
            _SEE_LENGTHS,
        )
    if record_bytes and len(set(steps)) > 1:
        raise usage(
            f"{place} of {record_bytes} bytes may be items of {dtype.itemsize} bytes with what "
            f"aligns their fields, or of {packed} bytes without",
            "give a dtype without gaps: numpy.lib.recfunctions.repack_fields(dtype), or one that "
            "has them as fields of type V",
        )
    return _of_items(dtype, parts, record_bytes // steps[0], steps[0])


def form_text(dtype: np.dtype[Any], found: Layout) -> str:
    """Return the form of records that a dtype has this layout of, what is between fields as x."""
    if dtype.names is None:
        return f"*{_item_text(dtype.base)}"
    parts = _flat(dtype, 0) * found.elements
    items: list[str] = []
    at = 0
    placed = sorted(zip([field[0] for field in found.fields], parts, strict=True), key=_first)
    for offset, (base, count, _) in placed:
        if offset < at:
            raise usage(
                f"fields of {dtype} lie over each other", "give a dtype without such fields"
            )
        items += [f"x{offset - at}"] * (offset > at) + [f"{count}{_item_text(base)}"]
        at = offset + base.itemsize * count
    gap = found.record_bytes - at
    return ",".join(items + [f"x{gap}"] * (gap > 0))


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _item_text(base: np.dtype[Any]) -> str:
    """Return the item of a form that has the numbers of a dtype."""
    letter = {"u": "i", "S": "a", "V": "x"}.get(base.kind, base.kind)
    return f"{letter}{base.itemsize}"


def _packed(parts: Sequence[tuple[np.dtype[Any], int, int]]) -> int:
    """Return the bytes of the numbers of an item, without what aligns them."""
    return sum(base.itemsize * count for base, count, _ in parts)


def _of_items(
    dtype: np.dtype[Any],
    parts: Sequence[tuple[np.dtype[Any], int, int]],
    elements: int,
    step: int,
) -> Layout:
    """Return the layout of so many structured items, each of ``step`` bytes of the record."""
    if elements * len(parts) > _MOST_FIELDS:
        raise usage(
            f"a record of {elements} items of {len(parts)} fields is too long to be moved so",
            "read or write it as bytes (dtype=None) and take a view of them",
        )
    fields: list[Field] = []
    for element in range(elements):
        at = 0
        for base, count, offset in parts:
            within = offset if step == dtype.itemsize else at
            fields += _fields(
                base, element * step + within, element * dtype.itemsize + offset, count
            )
            at += base.itemsize * count
    return Layout(elements * step, dtype, elements, tuple(fields), dtype)


def _flat(dtype: np.dtype[Any], offset: int) -> list[tuple[np.dtype[Any], int, int]]:
    """Return the numbers of a structured dtype: (type, how many, offset)."""
    if dtype.subdtype is not None:
        base, count = dtype.base, prod(dtype.shape)
        if base.names is None:
            return [(base, count, offset)]
        each = range(count)
        return [part for i in each for part in _flat(base, offset + i * base.itemsize)]
    if dtype.names is None:
        return [(dtype, 1, offset)]
    assert dtype.fields is not None
    inner = [(dtype.fields[name][0], dtype.fields[name][1]) for name in dtype.names]
    return [part for field, at in inner for part in _flat(field, offset + at)]


def _fields(dtype: np.dtype[Any], offset: int, to: int, count: int) -> list[Field]:
    """Return the field that so many elements of a simple dtype are."""
    size = dtype.itemsize
    if dtype.kind in "iuf" and size in (1, 2, 4, 8, 16):
        if size == 16:
            _quad("f16")
        return [(offset, size, count, to)]
    if dtype.kind == "c" and size in (8, 16, 32):
        if size == 32:
            _quad("c32")
        return [(offset, size // 2, 2 * count, to)]
    if dtype.kind in "SV":
        return [(offset, 1, size * count, to)]
    if dtype.kind == "b":
        raise usage("a logical value has no one size", "say which: l1, l2, l4 (the usual) or l8")
    raise usage(f"Fortran has nothing like {dtype}", "read integers, reals, complex or text")


def check_markers(access: str, markers: int | None) -> None:
    """Refuse markers where there are none."""
    if markers is not None and access in ("direct", "stream"):
        raise usage(
            f"markers of {markers} bytes with {access} access",
            "only files of sequential access have markers",
        )


def shaped(
    array: NDArray[Any],
    shape: int | tuple[int, ...] | None,
    order: MemoryOrder,
    lead: tuple[int, ...],
) -> NDArray[Any]:
    """Return the elements of each record in a shape; ``lead`` are the axes before, of records."""
    if order not in ("F", "C"):
        raise usage(
            f"order={order!r} is no order of elements", "use 'F', first index fastest, or 'C'"
        )
    if shape is None:
        return array
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if lead == (0,):
        # Of no records nothing says how long they are.
        shape = tuple(max(length, 0) for length in shape)
    try:
        if order == "C":
            return array.reshape(lead + shape)
        turned = array.reshape(lead + shape[::-1])
    except ValueError as error:
        raise usage(
            f"records of {array.shape[len(lead)] if array.ndim > len(lead) else 1} elements "
            f"cannot have the shape {shape}",
            "give the lengths of the Fortran array, one of them -1 for what follows from the rest",
        ) from error
    axes = range(len(lead), turned.ndim)
    return np.asarray(turned.transpose(*range(len(lead)), *reversed(axes)))


#: How elements became records in earlier calls; not of those of many fields, which fill the memory.
_kept: dict[tuple[np.dtype[Any], int], Layout] = {}
_MOST_KEPT = 16
_MOST_FIELDS_KEPT = 1000

#: Items, records, bytes of a record and of an item, fields: what the compiled module writes.
Part = tuple[NDArray[np.uint8], int, int, int, Sequence[Field]]


def one_record(items: tuple[Any, ...], memory: MemoryOrder) -> Part:
    """Return one record of some items, one after the other."""
    if memory not in ("F", "C"):
        raise usage(f"memory={memory!r} is no order of elements", "use 'F' or 'C'")
    fields: list[Field] = []
    pieces: list[NDArray[np.uint8]] = []
    at = within = 0
    for item in items:
        flat = np.ascontiguousarray(_array(item).ravel(order=memory))
        if not flat.nbytes:
            continue
        one = _written(flat.dtype, flat.size)
        fields += [
            (at + offset, size, count, within + to) for offset, size, count, to in one.fields
        ]
        pieces.append(flat.view(np.uint8).reshape(-1))
        at += one.record_bytes
        within += flat.nbytes
    whole = pieces[0] if len(pieces) == 1 else np.concatenate([*pieces, np.empty(0, np.uint8)])
    return whole, 1, at, within, fields


def many_records(records: Any, memory: MemoryOrder) -> Part:
    """Return the records that an array is along its first axis."""
    array = _array(records)
    if array.ndim == 0:
        raise usage("a number is no array of records", "its first axis counts the records")
    if memory == "F" and array.ndim > 2:
        array = array.transpose(0, *range(array.ndim - 1, 0, -1))
    array = np.ascontiguousarray(array)
    count = array.shape[0]
    written = _written(array.dtype, prod(array.shape[1:]))
    if not array.nbytes:
        return np.empty(0, np.uint8), count, written.record_bytes, written.item_bytes, []
    items = array.reshape(-1).view(np.uint8)
    return items, count, written.record_bytes, written.item_bytes, written.fields


def _written(dtype: np.dtype[Any], elements: int) -> Layout:
    """Return how so many elements become a record: the same again and again in most programs."""
    made = _kept.get((dtype, elements))
    if made is None:
        made = _layout_written(dtype, elements)
        if len(made.fields) <= _MOST_FIELDS_KEPT:
            if len(_kept) >= _MOST_KEPT:
                _kept.clear()
            _kept[dtype, elements] = made
    return made


def _layout_written(dtype: np.dtype[Any], elements: int) -> Layout:
    if not dtype.itemsize:
        return Layout(0, dtype, elements, (), dtype)
    if dtype.names is None:
        return _of_dtype(dtype, dtype.itemsize * elements)
    parts = tuple(_flat(dtype, 0))
    # Item by item: what aligns fields in memory is not written.
    return _of_items(dtype, parts, elements, _packed(parts))


def _array(item: Any) -> NDArray[Any]:
    """Return what is written for an item: native numbers, text as bytes, logical values of 4."""
    if type(item) is np.ndarray and item.dtype.kind in "iufc" and item.dtype.isnative:
        return item
    if isinstance(item, str):
        return np.frombuffer(_latin(item), np.uint8)
    if isinstance(item, memoryview) and not item.c_contiguous:
        item = item.tobytes()
    if isinstance(item, (bytes, bytearray, memoryview)):
        return np.frombuffer(item, np.uint8)
    if isinstance(item, np.ma.MaskedArray) and _any_byte(item.mask):
        raise usage("an array with masked elements", "fill them: array.filled(...)")
    try:
        array = np.asarray(item)
    except ValueError as error:
        raise usage(
            f"a {type(item).__name__} that is no array: {error}",
            "write each row as a record or item",
        ) from error
    if array.dtype.kind in "US" and not isinstance(item, np.ndarray) and not _all_text(item):
        raise usage(
            f"a {type(item).__name__} of text and other values",
            "write several items of one record as a tuple of write() and append(), or as arguments "
            "of Writer.write",
        )
    return _plain_array(array)


def _any_byte(mask: Any) -> bool:
    """Return whether a mask has anything true, a structured one too, for which NumPy has no any."""
    return bool(np.ascontiguousarray(mask).view(np.uint8).any())


def _all_text(item: Any) -> bool:
    if isinstance(item, (list, tuple)):
        return all(_all_text(part) for part in item)
    return isinstance(item, (str, bytes)) or np.asarray(item).dtype.kind in "US"


def _plain_array(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as it is written, the fields of structured ones likewise."""
    dtype = array.dtype
    if dtype.names is not None:
        if _written_as_it_is(dtype):
            return array
        # NumPy makes no fields without bytes.
        kept = [name for name in dtype.names if dtype[name].itemsize]
        fields = {name: _plain_array(array[name]) for name in kept}
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
            f"an array of {dtype}, text of no one width",
            "give it one: array.astype('U8')",
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
    """Return text as character(N), N being the width of the dtype: blanks at the end, not NUL."""
    dtype = array.dtype.newbyteorder("=")
    each = dtype.itemsize // np.dtype(f"{dtype.kind}1").itemsize
    if not each or not array.size:
        # np.empty would make S1 of S0.
        empty: NDArray[Any] = np.ndarray(array.shape, f"S{each}")
        return empty
    codes = np.ascontiguousarray(array, dtype).view(np.uint32 if dtype.kind == "U" else np.uint8)
    codes = codes.reshape(-1, each)
    if dtype.kind == "S" and codes[:, -1].all():
        # Text that is full has no NUL to become a blank.
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
            f"{text[error.start]!r} is no character of Latin-1, one byte each, as text is written",
            "write bytes: text.encode('utf-8')",
        ) from error
