"""Which numbers of Fortran records have statistics, and what those of complex numbers are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tachyfits._core import Stats
from tachyfits._errors import not_found, usage
from tachyfits._records import Field, Layout, filling, form_items

_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "float"}
_STATISTICS = "integers of up to 8 bytes, reals and complex numbers have statistics"


@dataclass(frozen=True)
class ComplexStats:
    """Statistics of complex numbers, as NumPy has them: a number is NaN where either part is.

    Numbers that are NaN are counted and otherwise ignored, in the statistics of the parts as well.
    Complex numbers have no order, so there is no smallest one; parts have.
    """

    #: Of the real and of the imaginary parts of those that are not NaN.
    real: Stats
    imag: Stats

    @property
    def count(self) -> int:
        """Number of good ones."""
        return self.real.count

    @property
    def nan(self) -> int:
        """Number of those of which a part is NaN."""
        return self.real.nan

    @property
    def sum(self) -> complex:
        """Sum."""
        return complex(self.real.sum, self.imag.sum)

    @property
    def mean(self) -> complex:
        """Sum over count."""
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
    """What is reduced."""

    #: What the compiled module calls the numbers, or the parts of complex ones.
    name: str
    is_complex: bool
    #: Where they are in each record; None: records are nothing else.
    place: Field | None


def numbers_of_form(
    form: str, record_bytes: int, field: str | None = None, place: str = "a record"
) -> Numbers:
    """Return the numbers of an item of a form: of the only one, or of the one that is named.

    NumPy need not have such numbers.
    """
    items = [item for item in form_items(filling(form), record_bytes, place) if item[0] != "x"]
    # An item by itself is read as an array without fields.
    names = [f"f{number}" for number in range(len(items))] if len(items) > 1 else []
    if field is None and names:
        raise _several(form, names)
    if field is not None and field not in names:
        raise _no_field(field, names)
    if not items:
        raise usage(f"{form!r} has nothing to reduce", "give items besides those that are skipped")
    letter, size, count, offset = items[0 if field is None else names.index(field)]
    if letter not in _KINDS or (letter, size) == ("i", 16):
        raise usage(f"{field or form!r} is of {letter}{size}", _STATISTICS)
    parts = 2 if letter == "c" else 1
    name = f"{_KINDS[letter]}{8 * size // parts}"
    return Numbers(name, parts == 2, Field(offset, size // parts, count * parts, 0))


def numbers_of(found: Layout, dtype: Any, field: str | None = None) -> Numbers:
    """Return the numbers of a dtype, or of its field of this name."""
    if field is not None:
        return _numbers_of_field(found, field)
    if found.dtype.names is not None:
        raise _several(dtype, found.dtype.names)
    return _numbers(found.result, f"{dtype!r}", None)


def _numbers(base: np.dtype[Any], what: str, place: Field | None) -> Numbers:
    if base.kind not in _KINDS:
        raise usage(f"{what} is of {base}", _STATISTICS)
    is_complex = base.kind == "c"
    return Numbers(f"{_KINDS[base.kind]}{8 * base.itemsize // (1 + is_complex)}", is_complex, place)


def _numbers_of_field(found: Layout, name: str) -> Numbers:
    names = found.dtype.names or ()
    if name not in names:
        raise _no_field(name, names)
    assert found.dtype.fields is not None
    dtype, to = found.dtype.fields[name][:2]
    base = dtype.base
    numbers = _numbers(base, name, None)
    if not found.elements:
        return numbers
    # Fields without numbers begin where the one after them does.
    bytes_of = base.itemsize * prod(dtype.shape) * found.elements
    for place in found.fields:
        if (place.to, place.run_bytes * place.repeats) == (to, bytes_of):
            return Numbers(numbers.name, numbers.is_complex, place)
    raise usage(
        f"{name} is in {found.elements} items with arrays of derived types each",
        "describe the whole record, or one field of it: by a form, or a dtype that is a record",
    )


def _several(what: Any, names: Any) -> Exception:
    return usage(
        f"{what!r} has several fields: {', '.join(names)}",
        "name the one whose numbers are meant: field=...",
    )


def _no_field(name: str, names: Any) -> Exception:
    return not_found(f"no field {name!r}", f"the record has {', '.join(names) or 'no fields'}")
