"""Numbers of Fortran records that have statistics, and statistics of complex numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from tachyfits._core import Stats
from tachyfits.base.boundary import public
from tachyfits.base.errors import either, listed, not_found, usage
from tachyfits.records.fields import Field, Layout, in_groups, numbers_at
from tachyfits.records.forms import Item, filling, form_items, kept_items
from tachyfits.records.layouts import field_of, packed_bytes

_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "float"}
_STATISTICS = "integers of up to 8 bytes, reals and complex numbers have statistics"


@public
@dataclass(frozen=True)
class ComplexStats:
    """Statistics of complex numbers, as in NumPy: a number is NaN if either part is.

    NaN numbers are counted and otherwise ignored, also in the statistics of the parts. Complex
    numbers have no order, hence no minimum; their parts have one.
    """

    #: Statistics of the real and the imaginary parts, without NaN.
    real: Stats
    imag: Stats

    @property
    def count(self) -> int:
        """Number of values that are not NaN."""
        return self.real.count

    @property
    def nan(self) -> int:
        """Number of values with a NaN part."""
        return self.real.nan

    @property
    def sum(self) -> complex:
        """Sum."""
        return complex(self.real.sum, self.imag.sum)

    @property
    def mean(self) -> complex:
        """Sum divided by count."""
        return complex(self.real.mean, self.imag.mean)

    @property
    def rms(self) -> float:
        """Root of the mean squared absolute value."""
        return math.hypot(self.real.rms, self.imag.rms)

    @property
    def std(self) -> float:
        """Root of the mean squared distance from the mean, divisor count (ddof = 0)."""
        return self.standard_deviation()

    def standard_deviation(self, ddof: int = 0) -> float:
        """Return the standard deviation with the divisor count - ddof."""
        of_parts = (part.standard_deviation(ddof) for part in (self.real, self.imag))
        return math.hypot(*of_parts)

    def merge(self, later: ComplexStats) -> ComplexStats:
        """Return the state of these numbers followed by later ones."""
        return ComplexStats(self.real.merge(later.real), self.imag.merge(later.imag))

    def __getattr__(self, name: str) -> Any:
        if name in ("min", "max", "min_position", "max_position"):
            raise AttributeError(
                f"complex numbers have no order, and so no {name}; "
                f"stats.real.{name} and stats.imag.{name} are those of the parts"
            )
        raise AttributeError(f"statistics of complex numbers have no {name}")


@dataclass(frozen=True)
class Numbers:
    """Numbers to reduce."""

    #: The compiled module's name of the type, or of the parts of complex numbers.
    name: str
    is_complex: bool
    #: Their places in each record, in its order; None: records consist of them.
    places: Sequence[Field] | None


def numbers_of_form(
    form: str, record_bytes: int, field: str | None = None, place: str = "a record"
) -> Numbers:
    """Return the numbers of a form's item: the only one, or the one called ``field``.

    NumPy need not support the type.
    """
    items = kept_items(form_items(filling(form), record_bytes, place))
    if not items:
        raise usage(f"invalid form {form!r}: it skips all items", "give an item to reduce")
    # A single item is read as an array, without fields unless it is a group.
    alone = items[0] if len(items) == 1 else None
    if alone is not None:
        items = kept_items(alone[4])
    if field is None and items:
        raise _several(form, number_names(form, record_bytes, place, reduced=True))
    if field is None and alone is not None:
        return _numbers_of_item(alone, form, [])
    return _numbers_of_part(items, field or "", form, record_bytes, alone)


def _numbers_of_part(
    items: list[Item], field: str, form: str, record_bytes: int, outer: Item | None
) -> Numbers:
    """Return the numbers of an item by name, which may be in groups."""
    groups = [] if outer is None else [outer]
    *before, last = field.split(".")
    for name in before:
        group = _named(items, name)
        if group is None or not group[4]:
            raise _no_field(field, number_names(form, record_bytes))
        groups.append(group)
        items = kept_items(group[4])
    item = _named(items, last)
    if item is None or item[4]:
        raise _no_field(field, number_names(form, record_bytes))
    return _numbers_of_item(item, field, groups)


def _named(items: list[Item], name: str) -> Item | None:
    return next((item for n, item in enumerate(items) if name == f"f{n}"), None)


def _numbers_of_item(item: Item, what: str, groups: list[Item]) -> Numbers:
    """Return the numbers of an item within groups, the outermost first."""
    letter, size, count, offset, _ = item
    if letter not in _KINDS or (letter, size) == ("i", 16):
        kind = f"{letter}{size}"
        alone = f"{kind} has no statistics"
        raise usage(alone if what == kind else f"{what} is of {kind}", _STATISTICS)
    parts = 2 if letter == "c" else 1
    place = Field(offset, size // parts, count * parts, 0)
    within = [(begin, times, step) for _, step, times, begin, _ in groups]
    return Numbers(f"{_KINDS[letter]}{8 * size // parts}", parts == 2, in_groups(place, within))


def number_names(
    form: str, record_bytes: int, place: str = "a record", *, reduced: bool = False
) -> list[str]:
    """Return the field names of mixed records of a form, including those of groups.

    ``reduced``: only fields that have statistics.
    """

    def names(items: list[Item], before: str) -> Iterator[str]:
        for number, item in enumerate(kept_items(items)):
            name = f"{before}f{number}"
            if item[4]:
                yield from names(item[4], f"{name}.")
            elif not reduced or (item[0] in _KINDS and item[:2] != ("i", 16)):
                yield name

    items = kept_items(form_items(filling(form), record_bytes, place))
    if len(items) == 1:
        items = items[0][4]
    return list(names(items, ""))


def names_of_dtype(dtype: np.dtype[Any], before: str = "") -> Iterator[str]:
    """Yield the names of a dtype's fields that have statistics, including nested ones."""
    for name in dtype.names or ():
        base = dtype[name].base
        if base.names is not None:
            yield from names_of_dtype(base, f"{before}{name}.")
        elif base.kind in _KINDS:
            yield before + name


def numbers_of(found: Layout, dtype: Any, field: str | None = None) -> Numbers:
    """Return the numbers of a dtype, or of its field of this name."""
    if field is not None:
        return _numbers_of_field(found, field)
    if found.dtype.names is not None:
        raise _several(dtype, [*names_of_dtype(found.dtype)])
    return _numbers(found.result, f"{dtype!r}")


def _numbers(base: np.dtype[Any], what: str) -> Numbers:
    if base.kind not in _KINDS:
        raise usage(f"{what} is of {base}", _STATISTICS)
    is_complex = base.kind == "c"
    return Numbers(f"{_KINDS[base.kind]}{8 * base.itemsize // (1 + is_complex)}", is_complex, None)


def _numbers_of_field(record_layout: Layout, name: str) -> Numbers:
    packed = (
        record_layout.elements * packed_bytes(record_layout.dtype) == record_layout.record_bytes
    )
    base, begin, times = record_layout.dtype, 0, max(record_layout.elements, 1)
    within: list[tuple[int, int, int]] = []
    path = name
    while path:
        # A name may contain dots.
        names = base.names or ()
        first = path if path in names else path.partition(".")[0]
        if first not in names:
            raise _no_field(name, record_layout.dtype.names)
        within.append((begin, times, packed_bytes(base) if packed else base.itemsize))
        dtype, begin = field_of(base, first, packed=packed)
        base, times = dtype.base, prod(dtype.shape)
        path = path[len(first) + 1 :]
    numbers = _numbers(base, name)
    if not record_layout.elements:
        return numbers
    place = numbers_at(base, begin, times)
    return replace(numbers, places=in_groups(place, within))


def _several(what: Any, names: list[str]) -> Exception:
    """Return the error that asks to choose one of these fields."""
    if not names:
        return usage(f"{what!r} has no numbers", _STATISTICS)
    return usage(
        f"{what!r} has several fields: {listed(names)}",
        "choose one: " + either("field=...", "--field NAME"),
    )


def _no_field(name: str, names: Any) -> Exception:
    has = listed(names) if names else "no fields"
    return not_found(f"no field is named {name!r}", f"the record has {has}")
