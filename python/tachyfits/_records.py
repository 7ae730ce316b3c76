"""What the bytes of a Fortran record mean: dtypes and forms as fields for the engine, and back.

An item is an element of the array that is made. The compiled module moves the fields between
records and items; this says which. What is there again and again, as in an array of derived types,
is one field.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits._core import UsageError
from tachyfits._errors import usage


class Field(NamedTuple):
    """Numbers of a record, and where they go; the compiled module takes them as such tuples."""

    #: Where they begin in the record, the bytes of a number, how many lie together.
    offset: int
    size: int
    elements: int
    #: Where they begin in the item.
    to: int
    #: How often all that is there, and bytes from one to the next in the record and in the item.
    repeats: int = 1
    step: int = 0
    to_step: int = 0

    @property
    def run_bytes(self) -> int:
        """Bytes that lie together."""
        return self.size * self.elements

    def moved(self, offset: int, to: int) -> Field:
        """Return the field that is so much further in record and item."""
        return self._replace(offset=self.offset + offset, to=self.to + to)

    def repeated(self, count: int, step: int, to_step: int) -> Field | None:
        """Return the field that is all of so many items that have it alone; None: it is several."""
        if self.repeats == 1 and self.run_bytes == step == to_step:
            return self._replace(elements=count * self.elements)
        if (self.repeats * self.step, self.repeats * self.to_step) == (step, to_step):
            return self._replace(repeats=count * self.repeats)
        if self.repeats == 1:
            return self._replace(repeats=count, step=step, to_step=to_step)
        return self if count == 1 else None

    def each(self) -> list[Field]:
        """Return as many fields that are there once."""
        once = self._replace(repeats=1, step=0, to_step=0)
        return [once.moved(n * self.step, n * self.to_step) for n in range(self.repeats)]


MemoryOrder = Literal["F", "C"]

#: An item of a form: letter, bytes of an element, how many, offset in the record or the group, and
#: the items of a group, the letter of which is "(".
Item = tuple[str, int, int, int, "list[Item]"]

_ITEM = r"\s*(?:\*|\d+)?[ifrclax]\d+\s*"
_FORM = re.compile(rf"{_ITEM}(?:,{_ITEM})*")
#: What NumPy has the same name for, and the same meaning.
_PLAIN = re.compile(r"\s*[ifc]\d+\s*")
#: An item without a count: alone it stands for all that a record holds.
_ALONE = re.compile(r"\s*[ifrclax]\d+\s*")
#: A group, as it begins; NumPy's shapes have no letter in their parentheses.
_GROUP = re.compile(r"\([^()]*[a-z]")
#: What to do where records have another length.
_SEE_LENGTHS = (
    "file.index, or `tachyfits fortran info`, has the length of each record; "
    "in a form * takes as many as fill it"
)
#: How a dtype becomes one without gaps, nested ones too.
_REPACK = "numpy.lib.recfunctions.repack_fields(dtype, recurse=True)"
#: Fields of structured items that a record may have beside each other; each is moved by itself.
_MOST_FIELDS = 1 << 20
#: Bytes of an element of an array: more are an error of NumPy's, or a negative number.
_MOST_BYTES = 2**31 - 1


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
    #: Of structured dtypes: what the numbers of each field are.
    bases: tuple[np.dtype[Any], ...] = ()

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
        _finish(array, made)
        return made


def _finish(array: NDArray[Any], made: NDArray[Any]) -> None:
    """Fill the fields of an array whose logical values are such, those of nested ones too."""
    for name in made.dtype.names or ():
        base = made.dtype[name].base
        if base.names is not None:
            _finish(array[name], made[name])
        else:
            made[name] = array[name] != 0 if base == np.bool_ else array[name]


def layout(what: Any, record_bytes: int, place: str = "a record") -> Layout:
    """Return how records of so many bytes are read as a dtype or a form; None: as bytes.

    ``place`` says in messages which record has these bytes.
    """
    if what is None:
        what = np.uint8
    if is_form(what) and not _PLAIN.fullmatch(what):
        return _of_form(what, record_bytes, place)
    if isinstance(what, str) and _PLAIN.fullmatch(what):
        # i3, f12: NumPy's own complaint names no form.
        _core.record_items(f"*{what.strip()}", 0)
        what = _wide(what.strip()) or what
    return of_dtype(dtype_of(what), record_bytes, place)


def dtype_of(what: Any) -> np.dtype[Any]:
    """Return a dtype in the machine's byte order."""
    try:
        native: np.dtype[Any] = np.dtype(what).newbyteorder("=")
    except (TypeError, ValueError, SyntaxError, OverflowError) as error:
        raise usage(
            f"{what!r} is neither a dtype nor a form of records",
            "write a NumPy dtype, or items such as i4,3f8,c16,l4,a16,x8,*f8,9(i4,f8)",
        ) from error
    return native


def empty_layout(what: Any) -> Layout:
    """Return the layout of no records: of the fewest bytes that such records have."""
    if is_form(what):
        return layout(what, least_bytes(filling(what)))
    dtype = np.dtype(np.uint8) if what is None else dtype_of(what)
    return layout(dtype, 0 if dtype.names is None else _leaves(dtype, packed=True)[1])


def is_form(what: Any) -> bool:
    """Return whether this is a form, rather than a dtype."""
    if not isinstance(what, str):
        return False
    return _FORM.fullmatch(what) is not None or _GROUP.search(what) is not None


def is_items(what: Any) -> bool:
    """Return whether this is a form of items with places, not of one type that fills records."""
    return is_form(what) and not _ALONE.fullmatch(what.strip().removeprefix("*"))


def filling(form: str) -> str:
    """Return a form in which an item alone, without a count, takes as many as fill the record."""
    return f"*{form.strip()}" if _ALONE.fullmatch(form) or _is_one_group(form.strip()) else form


def _is_one_group(form: str) -> bool:
    """Return whether the parenthesis that a form begins with is closed at its end."""
    if not form.startswith("("):
        return False
    depths = accumulate((character == "(") - (character == ")") for character in form)
    return next((at for at, depth in enumerate(depths) if not depth), None) == len(form) - 1


def form_items(form: str, record_bytes: int, place: str) -> list[Item]:
    """Return the items of a record."""
    try:
        return _core.record_items(form, record_bytes)
    except UsageError:
        # It may be the form that is wrong, not the length of the record.
        least = least_bytes(form)
    more = " and a whole number of what * stands for" if "*" in form else ""
    error = usage(
        f"{place} of {record_bytes} bytes does not have the form {form!r}: {least} bytes{more} "
        "[record-form]",
        _SEE_LENGTHS,
    )
    error.code = "record-form"
    raise error


def least_bytes(form: str) -> int:
    """Return the bytes of a record of this form without those of the item that fills it."""
    return _core.record_least_bytes(form)


def kept_items(items: list[Item]) -> list[Item]:
    """Return the items that are not passed over, which groups of nothing else are."""
    return [item for item in items if not (_is_empty(item[4]) if item[4] else item[0] == "x")]


def _is_empty(parts: list[Item]) -> bool:
    return not any(part[2] for part in kept_items(parts))


def _of_form(form: str, record_bytes: int, place: str) -> Layout:
    """Return the layout of a form; a single item is an array, several are a structured one."""
    kept = kept_items(form_items(filling(form), record_bytes, place))
    if not kept:
        raise usage(f"{form!r} has nothing to read", "give items besides those that are skipped")
    if len(kept) > 1:
        dtype, result, leaves = _together(kept)
        count = 1
    else:
        (dtype, result, leaves), count = _of_item(kept[0]), kept[0][2]
        leaves = [(base, field.moved(kept[0][3], 0)) for base, field in leaves]
    bases = tuple(base for base, _ in leaves) if dtype.names is not None else ()
    fields = tuple(field for _, field in leaves)
    return Layout(record_bytes, dtype, count, fields, result, bases)


#: What items are read as, what they become, and their fields.
_Read = tuple[np.dtype[Any], np.dtype[Any], "list[_Leaf]"]


def _together(kept: list[Item]) -> _Read:
    """Return the structured dtype of several items."""
    reads, gives = [], []
    leaves: list[_Leaf] = []
    to = 0
    for number, item in enumerate(kept):
        dtype, result, of_item = _of_item(item)
        count, offset = item[2:4]
        shape = () if count == 1 else (count,)
        reads.append((f"f{number}", dtype, shape))
        gives.append((f"f{number}", result, shape))
        leaves += [(base, field.moved(offset, to)) for base, field in of_item]
        to += dtype.itemsize * count
    _refuse_many(len(leaves))
    if to > _MOST_BYTES:
        raise usage(
            f"items of {to} bytes together, and a dtype of NumPy's has at most {_MOST_BYTES}",
            "read them one by one, passing over the others: x4,*f8 for the reals of i4,*f8",
        )
    return np.dtype(reads), np.dtype(gives), leaves


def _of_item(item: Item) -> _Read:
    """Return what an item is read as, one of it, and the fields of all of it from its begin on."""
    letter, size, count, _, parts = item
    if parts:
        # A group becomes a derived type, with one item too.
        dtype, result, leaves = _together(kept_items(parts))
        return dtype, result, _repeated(leaves, count, size, dtype.itemsize)
    dtype, result = _types(letter, size)
    return dtype, result, [(dtype, _field(dtype, 0, 0, count))]


def _types(letter: str, size: int) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return what an item is read as, and what it becomes."""
    if letter == "l":
        return np.dtype(f"i{size}"), np.dtype(np.bool_)
    if letter == "a":
        dtype: np.dtype[Any] = np.dtype(f"S{size}")
    else:
        dtype = _wide(f"{letter}{size}") or np.dtype(f"{letter}{size}")
    return dtype, dtype


def _wide(name: str) -> np.dtype[Any] | None:
    """Return the dtype of numbers that NumPy does not have everywhere; None: it has these."""
    if name in ("f16", "c32"):
        return _quad(name)
    if name != "i16":
        return None
    raise usage(
        "i16: NumPy has no integers of 16 bytes",
        "read them as V16, bytes in the file's order; fortran.convert(..., forms='i16'), on the "
        "command line `tachyfits fortran convert --form i16`, turns them",
    )


def _quad(name: str) -> np.dtype[Any]:
    """Return the dtype of real(16), where NumPy has it."""
    if (missing := no_quad()) is not None:
        raise usage(
            f"{name}: {missing}",
            "fortran.convert(..., forms=..., precision='double'), on the command line `tachyfits "
            "fortran convert --double`, writes a file of real(8) instead, and "
            f"""stats("{name}") has them as they are; real(10) of x86, in a little-endian file, """
            "is read as V16 and .view('longdouble')",
        )
    return np.dtype(np.longdouble if name == "f16" else np.clongdouble)


def no_quad() -> str | None:
    """Return why NumPy has no arrays of real(16) here; None where it has them."""
    digits = np.finfo(np.longdouble).nmant + 1
    if digits == 113:
        return None
    return (
        "real(16) is an IEEE number of 128 bits, which NumPy does not have here "
        f"(its longdouble has {digits} digits)"
    )


def of_dtype(dtype: np.dtype[Any], record_bytes: int, place: str = "a record") -> Layout:
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
        return Layout(record_bytes, base, elements, (_field(base, 0, 0, elements),), base)
    leaves, packed = _leaves(dtype, packed=True)
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
            f"give a dtype without gaps: {_REPACK}, or one that has them as fields of type V",
        )
    if record_bytes and dtype.itemsize == packed and not all(_stays(field) for _, field in leaves):
        raise usage(
            f"{place} may have the fields of {dtype} in the order of their names, or of their "
            "offsets",
            f"give a dtype that has one order: {_REPACK} has that of the names",
        )
    return of_items(dtype, record_bytes // steps[0], packed=steps[0] == packed)


def _stays(field: Field) -> bool:
    """Return whether a field is at the same place in the record and in the item."""
    together = field.offset == field.to and (field.repeats == 1 or field.step == field.to_step)
    return together or not field.run_bytes


def form_text(dtype: np.dtype[Any], found: Layout) -> str:
    """Return the form of records that a dtype has this layout of, what is between fields as x."""
    if dtype.names is None:
        return f"*{_item_text(dtype.base)}"
    packed = _leaves(dtype, packed=True)[1]
    text, _ = _form_of(dtype, packed=found.elements * packed == found.record_bytes)
    return f"*({text})"


def _form_of(dtype: np.dtype[Any], *, packed: bool) -> tuple[str, int]:
    """Return the items of a structured dtype, and their bytes in a record."""
    # Of each: what it is, and how many; items of one kind that follow each other are one.
    items: list[tuple[str, int]] = []
    at = 0
    # Packed they are written in the order of their names.
    for offset, part in _parts(dtype) if packed else sorted(_parts(dtype), key=_first):
        base, count = part.base, prod(part.shape)
        if not base.itemsize * count:
            continue
        if not packed and offset < at:
            raise usage(
                f"fields of {dtype} lie over each other", "give a dtype without such fields"
            )
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
    """Return where the fields of a structured dtype begin, and what they are."""
    assert dtype.fields is not None
    return [(dtype.fields[name][1], dtype.fields[name][0]) for name in dtype.names or ()]


def _first(placed: tuple[int, Any]) -> int:
    return placed[0]


def _item_text(base: np.dtype[Any]) -> str:
    """Return the item of a form that has the numbers of a dtype."""
    letter = {"u": "i", "S": "a", "V": "x"}.get(base.kind, base.kind)
    return f"{letter}{base.itemsize}"


def of_items(dtype: np.dtype[Any], elements: int, *, packed: bool) -> Layout:
    """Return the layout of so many structured items, with or without what aligns their fields."""
    leaves, step = _leaves(dtype, packed=packed)
    leaves = _repeated(leaves, elements, step, dtype.itemsize)
    _refuse_many(len(leaves))
    fields = tuple(field for _, field in leaves)
    bases = tuple(base for base, _ in leaves)
    return Layout(elements * step, dtype, elements, fields, dtype, bases)


def _refuse_many(fields: int) -> None:
    if fields > _MOST_FIELDS:
        raise usage(
            f"a record of {fields} fields is too long to be moved so",
            "read or write it as bytes (dtype=None) and take a view of them",
        )


_BYTES = np.dtype(np.uint8)

#: The numbers of a field, and the field.
_Leaf = tuple[np.dtype[Any], Field]


def _leaves(dtype: np.dtype[Any], *, packed: bool) -> tuple[list[_Leaf], int]:
    """Return the fields of an item, and its bytes in a record: packed without what aligns them."""
    if dtype.subdtype is not None:
        base, count = dtype.base, prod(dtype.shape)
        if base.names is None:
            return [(base, _field(base, 0, 0, count))], base.itemsize * count
        inner, step = _leaves(base, packed=packed)
        return _repeated(inner, count, step, base.itemsize), count * step
    if dtype.names is None:
        return [(dtype, _field(dtype, 0, 0, 1))], dtype.itemsize
    assert dtype.fields is not None
    leaves: list[_Leaf] = []
    at = 0
    for name in dtype.names:
        part, to = dtype.fields[name][:2]
        inner, size = _leaves(part, packed=packed)
        leaves += [(base, field.moved(at if packed else to, to)) for base, field in inner]
        at += size
    return leaves, at if packed else dtype.itemsize


def _repeated(leaves: list[_Leaf], count: int, step: int, to_step: int) -> list[_Leaf]:
    """Return the fields of so many items that follow each other: as few as there may be."""
    if count == 1:
        return leaves
    whole = [(base, field.repeated(count, step, to_step)) for base, field in leaves]
    if all(field for _, field in whole):
        return [(base, field) for base, field in whole if field]
    fields_of_one = sum(field.repeats for _, field in leaves)
    _refuse_many(min(fields_of_one, count * len(leaves)))
    if fields_of_one > count * len(leaves):
        return [
            (base, field.moved(n * step, n * to_step))
            for n in range(count)
            for base, field in leaves
        ]
    return [
        (base, once._replace(repeats=count, step=step, to_step=to_step))
        for base, field in leaves
        for once in field.each()
    ]


def in_groups(place: Field, within: Sequence[tuple[int, int, int]]) -> list[Field]:
    """Return the numbers of groups in groups, without those between them, in the record's order.

    ``within``: where each group begins in the one around it, how often it is there, and in what
    steps; the outermost first.
    """
    leaves = [(_BYTES, place)]
    size = place.run_bytes * place.repeats
    for begin, times, step in reversed(within):
        leaves = _repeated(leaves, times, step, size)
        leaves = [(base, field.moved(begin, 0)) for base, field in leaves]
        size *= times
    return sorted(field for _, field in leaves)


def packed_bytes(dtype: np.dtype[Any]) -> int:
    """Return the bytes of an item without what aligns its fields."""
    return _leaves(dtype, packed=True)[1]


def field_of(dtype: np.dtype[Any], name: str, *, packed: bool) -> tuple[np.dtype[Any], int]:
    """Return a field of a structured dtype, and where it begins in the record."""
    assert dtype.fields is not None
    part, offset = dtype.fields[name][:2]
    if packed:
        names = (dtype.names or ())[: (dtype.names or ()).index(name)]
        offset = sum(packed_bytes(dtype.fields[before][0]) for before in names)
    return part, offset


def numbers_at(dtype: np.dtype[Any], offset: int, count: int) -> Field:
    """Return so many numbers that begin there, and that an item begins with."""
    return _field(dtype, offset, 0, count)


def _field(dtype: np.dtype[Any], offset: int, to: int, count: int) -> Field:
    """Return the field that so many elements of a simple dtype are."""
    size = dtype.itemsize
    if dtype.kind in "iuf" and size in (1, 2, 4, 8, 16):
        if size == 16:
            _quad("f16")
        return Field(offset, size, count, to)
    if dtype.kind == "c" and size in (8, 16, 32):
        if size == 32:
            _quad("c32")
        return Field(offset, size // 2, 2 * count, to)
    if dtype.kind in "SV":
        return Field(offset, 1, size * count, to)
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
