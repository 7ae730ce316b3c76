"""Which numbers of Fortran records have statistics: all, or those of one field or item."""

from __future__ import annotations

from math import prod
from typing import Any

from tachyfits._errors import not_found, usage
from tachyfits._records import Field, Layout


def numbers_of(
    found: Layout, dtype: Any, field: str | None, *, part: bool
) -> tuple[str, Field | None]:
    """Return the type of the numbers, and the field that they are if not all of the records."""
    if field is not None:
        return _numbers_of_field(found, field)
    if found.dtype.names is not None:
        raise usage(
            f"{dtype!r} has several fields: {', '.join(found.dtype.names)}",
            "name the one whose numbers are meant: field=...",
        )
    if found.result.kind not in "if":
        raise usage(
            f"{dtype!r} is {found.result}: only signed integers and reals have statistics",
            "take such a type: f8, both parts as numbers of their own, for c16",
        )
    return found.result.name, found.fields[0] if part else None


def _numbers_of_field(found: Layout, name: str) -> tuple[str, Field | None]:
    names = found.dtype.names or ()
    if name not in names:
        raise not_found(f"no field {name!r}", f"the record has {', '.join(names) or 'no fields'}")
    assert found.dtype.fields is not None
    dtype, to = found.dtype.fields[name][:2]
    base = dtype.base
    if base.names is not None or base.kind not in "if" or found.result[name].base.kind == "b":
        raise usage(f"{name} is of {dtype}", "integers and reals have statistics")
    if not found.elements:
        return base.name, None
    # Fields without numbers begin where the one after them does.
    bytes_of = base.itemsize * prod(dtype.shape) * found.elements
    for place in found.fields:
        if (place.to, place.run_bytes * place.repeats) == (to, bytes_of):
            return base.name, place
    raise usage(
        f"{name} is in {found.elements} items with arrays of derived types each",
        "describe the whole record, or one field of it: by a form, or a dtype that is a record",
    )
