"""Fields: numbers in a Fortran record, mapped to the items of an array.

An item is an element of the resulting array. The compiled module copies the fields between records
and items. A repeated field, as in an array of derived types, is one field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage

#: Hint for records of another length.
SEE_LENGTHS = (
    "file.index, or `tachyfits fortran info`, has the length of each record; "
    "in a form * takes as many as fill it"
)
#: Maximum number of fields side by side in a record of structured items; each is copied separately.
_MOST_FIELDS = 1 << 20


class Field(NamedTuple):
    """Numbers of a record and their destination; passed to the compiled module as plain tuples."""

    #: Offset in the record, bytes of a number, number of contiguous numbers.
    offset: int
    size: int
    elements: int
    #: Offset in the item.
    to: int
    #: Number of repetitions, and the step from one to the next in the record and in the item.
    repeats: int = 1
    step: int = 0
    to_step: int = 0

    @property
    def run_bytes(self) -> int:
        """Bytes of a contiguous run."""
        return self.size * self.elements

    def moved(self, offset: int, to: int) -> Field:
        """Return the field shifted by ``offset`` in the record and by ``to`` in the item."""
        return self._replace(offset=self.offset + offset, to=self.to + to)

    def repeated(self, count: int, step: int, to_step: int) -> Field | None:
        """Return the field of all items if they have only this field; None if they have several."""
        if self.repeats == 1 and self.run_bytes == step == to_step:
            return self._replace(elements=count * self.elements)
        if (self.repeats * self.step, self.repeats * self.to_step) == (step, to_step):
            return self._replace(repeats=count * self.repeats)
        if self.repeats == 1:
            return self._replace(repeats=count, step=step, to_step=to_step)
        return self if count == 1 else None

    def each(self) -> list[Field]:
        """Return the repetitions as separate fields."""
        once = self._replace(repeats=1, step=0, to_step=0)
        return [once.moved(n * self.step, n * self.to_step) for n in range(self.repeats)]


@dataclass(frozen=True)
class Layout:
    """Mapping of records of one length to elements of an array."""

    record_bytes: int
    #: Dtype as read: native, logical values as integers.
    dtype: np.dtype[Any]
    #: Elements per record.
    elements: int
    fields: tuple[Field, ...]
    #: Final dtype: logical values as bool.
    result: np.dtype[Any]
    #: Structured dtypes: the dtype of the numbers of each field.
    bases: tuple[np.dtype[Any], ...] = ()

    @property
    def item_bytes(self) -> int:
        """Bytes of a record in the array."""
        return self.dtype.itemsize * self.elements

    def shape(self, count: int) -> tuple[int, ...]:
        """Return the shape of an array of ``count`` records."""
        alone = self.dtype.names is not None and self.elements == 1
        return (count,) if alone else (count, self.elements)

    def finished(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array with logical values as bool: any bit set is true."""
        if self.result == self.dtype:
            return array
        if self.result.names is None:
            return np.asarray(array != 0)
        result = np.empty(array.shape, self.result)
        _finish(array, result)
        return result


def _finish(array: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy the fields of an array, nested ones included, converting logical values to bool."""
    for name in target.dtype.names or ():
        base = target.dtype[name].base
        if base.names is not None:
            _finish(array[name], target[name])
        else:
            target[name] = array[name] != 0 if base == np.bool_ else array[name]


_BYTES = np.dtype(np.uint8)

#: Dtype of the numbers of a field, and the field.
Leaf = tuple[np.dtype[Any], Field]


def repeated(leaves: list[Leaf], count: int, step: int, to_step: int) -> list[Leaf]:
    """Return the fields of consecutive items, merged where possible."""
    if count == 1:
        return leaves
    merged = [(base, field.repeated(count, step, to_step)) for base, field in leaves]
    if all(field for _, field in merged):
        return [(base, field) for base, field in merged if field]
    fields_of_one = sum(field.repeats for _, field in leaves)
    refuse_many(min(fields_of_one, count * len(leaves)))
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
    """Return the numbers in nested groups, without those between them, in the record's order.

    ``within``: per group, outermost first: its offset in the enclosing group, its number of
    repetitions, and its step.
    """
    leaves = [(_BYTES, place)]
    size = place.run_bytes * place.repeats
    if not size * prod(times for _, times, _ in within):
        # A field without numbers is in every record.
        return [place._replace(offset=0, elements=0)]
    for begin, times, step in reversed(within):
        leaves = repeated(leaves, times, step, size)
        leaves = [(base, field.moved(begin, 0)) for base, field in leaves]
        size *= times
    return sorted(field for _, field in leaves)


def numbers_at(dtype: np.dtype[Any], offset: int, count: int) -> Field:
    """Return a field of numbers at an offset of the record and at the start of an item."""
    return field_at(dtype, offset, 0, count)


def field_at(dtype: np.dtype[Any], offset: int, to: int, count: int) -> Field:
    """Return the field of the elements of a simple dtype."""
    size = dtype.itemsize
    if dtype.kind in "iuf" and size in (1, 2, 4, 8, 16):
        if size == 16:
            quad("f16")
        return Field(offset, size, count, to)
    if dtype.kind == "c" and size in (8, 16, 32):
        if size == 32:
            quad("c32")
        return Field(offset, size // 2, 2 * count, to)
    if dtype.kind in "SV":
        return Field(offset, 1, size * count, to)
    if dtype.kind == "b":
        raise usage("invalid item: a logical needs its size", "use l1, l2, l4 (the default) or l8")
    raise usage(
        f"invalid dtype {dtype}: Fortran has no such type",
        "use integers, reals, complex numbers, logical values or text",
    )


def quad(name: str) -> np.dtype[Any]:
    """Return the dtype of real(16), if NumPy has it."""
    if (missing := no_quad()) is not None:
        raise usage(
            f"{name}: {missing}",
            either(
                "fortran.convert(..., forms=..., precision='double') writes a file of real(8), and "
                f'stats("{name}") reads them as they are; read real(10) of x86, in a '
                "little-endian file, as V16 and .view('longdouble')",
                "tachyfits fortran convert --double writes a file of real(8), and tachyfits "
                "fortran stats reads them as they are",
            ),
        )
    return np.dtype(np.longdouble if name == "f16" else np.clongdouble)


def no_quad() -> str | None:
    """Return why NumPy has no arrays of real(16) here; None if it has them."""
    digits = np.finfo(np.longdouble).nmant + 1
    if digits == 113:
        return None
    return (
        "real(16) is an IEEE number of 128 bits, which NumPy does not have here "
        f"(its longdouble has {digits} digits)"
    )


def refuse_many(fields: int) -> None:
    """Raise UsageError if a structured array would have too many fields."""
    if fields > _MOST_FIELDS:
        raise usage(
            f"a record of {fields} fields is too long for a structured array",
            either("read or write bytes (dtype=None) and use a view of them"),
        )
