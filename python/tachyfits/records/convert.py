"""Rewrite a Fortran file: the form of each record, and the lengths after conversion.

The compiled module converts, with one form for each record in turn. Dtypes, and forms that fill
records, are expanded to such forms here, from the lengths of the records.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import either, listed, usage
from tachyfits.base.sources import path_text
from tachyfits.base.whole_numbers import check_threads
from tachyfits.records.forms import Item, filling, form_items
from tachyfits.records.layouts import check_access, check_name, dtype_of, form_text, layout

#: Items that a change of precision halves.
_HALVED = {"single": {("f", 8), ("c", 16)}, "double": {("f", 16), ("c", 32)}}


@dataclass(frozen=True)
class Conversion:
    """Options for rewriting records: see `fortran.convert`; None keeps the old value."""

    access: str
    markers: int | None = None
    order: str | None = None
    record_bytes: int | None = None
    forms: Any = ()
    precision: str | None = None


def convert_file(
    core: _core.RecordFile,
    target: str | os.PathLike[str],
    conversion: Conversion,
    *,
    overwrite: bool = False,
    sync: bool = False,
    threads: int = 0,
    progress: Callable[[int, int], bool | None] | None = None,
) -> int:
    """Write the records to a new file and return their number; see `fortran.convert`."""
    access, markers, order = conversion.access, conversion.markers, conversion.order
    record_bytes, precision = conversion.record_bytes, conversion.precision
    if precision is not None and precision not in _HALVED:
        raise usage(
            f"invalid precision {precision!r}: expected 'single' or 'double'",
            "'single' converts reals of 8 bytes to 4, 'double' reals of 16 bytes to 8",
        )
    check_access(access, markers, record_bytes)
    check_name(target)
    each, repeats = as_list(() if conversion.forms is None else conversion.forms)
    if not each and (precision or order not in (None, core.order)):
        raise usage(
            f"{core.name}: a form of the records is needed to change their byte order or precision",
            either(
                "give forms='*f8' for any number of reals of 8 bytes",
                "give --form '*f8' for any number of reals of 8 bytes",
            ),
        )
    runs = core.runs()
    texts = [
        _checked(form, *_records_of(runs, number, len(each), repeats), core.name)
        for number, form in enumerate(each)
    ]
    if precision is not None:
        _check_precision(texts, precision, core.name)
    if access == "direct" and record_bytes is None:
        # Without records any length is valid.
        record_bytes = int(runs[0, 2]) if len(runs) else 1
        if precision and len(runs):
            record_bytes = _halved(texts[0], record_bytes, precision)
    return core.convert(
        path_text(target),
        access=access,
        record_bytes=record_bytes,
        markers=markers or core.markers or 4,
        order=order,
        forms=texts,
        last_repeats=repeats,
        precision=precision,
        overwrite=overwrite,
        sync=sync,
        threads=check_threads(threads),
        progress=progress,
    )


def _check_precision(forms: list[str], precision: str, name: str) -> None:
    """Refuse a precision that changes nothing: most likely another one was intended."""
    halves = _HALVED[precision]
    if any(
        ({"r": "f"}.get(letter, letter), int(size)) in halves
        for form in forms
        for letter, size in re.findall(r"([a-z])(\d+)", form)
    ):
        return
    sizes = " or ".join(f"{letter}{size}" for letter, size in sorted(halves, reverse=True))
    raise usage(
        f"{name}: {precision} precision changes nothing: there is no {sizes} in the forms "
        f"{listed(forms)}",
        either(
            "precision='single' halves f8 and c16, precision='double' f16 and c32",
            "--single halves f8 and c16, --double f16 and c32",
        ),
    )


def as_list(forms: Any) -> tuple[list[Any], bool]:
    """Return the forms of consecutive records, and whether the last one applies to all the rest."""
    # As in NumPy, a list of tuples is one dtype.
    several = isinstance(forms, (list, tuple)) and not any(
        isinstance(form, tuple) for form in forms
    )
    each = list(forms) if several else [forms]
    *before, last = each or [None]
    repeats = last is ... or (isinstance(last, str) and last.strip() == "...")
    if repeats and not before:
        raise usage("'...' repeats no form", "put it after the form of all further records")
    return before if repeats else each, repeats


def number_of_form(record: int, forms: int, *, repeats: bool) -> int:
    """Return the index of a record's form."""
    return min(record, forms - 1) if repeats else record % forms


def _records_of(
    runs: NDArray[np.uint64], number: int, forms: int, repeats: bool
) -> tuple[list[int], list[int]]:
    """Return the lengths of the records of one form, and the first record of each length."""
    first, count, lengths = runs[:, :3].astype(np.int64).T
    if not repeats:
        begin = first + (number - first) % forms
    elif number == forms - 1:
        begin = np.maximum(first, number)
    else:
        begin = np.where(first > number, first + count, number)
    there = begin < first + count
    unique, at = np.unique(lengths[there], return_index=True)
    return unique.tolist(), begin[there][at].tolist()


def _checked(form: Any, lengths: list[int], records: list[int], name: str) -> str:
    """Return a form as text, after checking it for records of these lengths."""
    text = filling(form) if isinstance(form, str) else ""
    for length, record in sorted(zip(lengths, records, strict=True), key=lambda pair: pair[1]):
        place = f"{name}: record {record} (from 0)"
        if isinstance(form, str):
            form_items(text, length, place)
            continue
        parsed = layout(form, length, place)
        if not parsed.elements:
            continue
        new = form_text(dtype_of(form), parsed)
        if text not in ("", new):
            raise usage(
                f"{place} has aligned or packed items of {parsed.dtype}, unlike earlier records",
                "give a list of forms instead of the dtype, which records use in rotation",
            )
        text = new
    return text or form_text(dtype_of(form), layout(form, 0))


def _halved(form: str, length: int, precision: str) -> int:
    """Return the bytes of a record after halving its reals."""
    return _bytes_of(_core.record_items(form, length), _HALVED[precision])


def _bytes_of(items: list[Item], halves: set[tuple[str, int]]) -> int:
    """Return the bytes of items after halving some of them."""
    return sum(
        count * (_bytes_of(parts, halves) if parts else size // (1 + ((letter, size) in halves)))
        for letter, size, count, _, parts in items
    )
