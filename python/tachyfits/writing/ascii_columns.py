"""Columns of a new ASCII table: the form of each, and cells that fit it.

The engine formats numbers as text. A new column accepts the same values as an existing one
(`editing.fitting`), so that neither cuts or wraps what the other refuses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage
from tachyfits.table.columns import TableColumn
from tachyfits.table.ragged import Ragged
from tachyfits.table.values import ColumnData
from tachyfits.writing.fitting import fitted
from tachyfits.writing.new_columns import Cells, NewColumn, plain_spec

#: Text of an undefined float: programs that ignore TNULL read it as NaN.
_NULL_FLOAT = "NaN"

#: Forms in the Standard: letter, characters, decimals.
_FORM = re.compile(r"([AI])(0*[1-9]\d*)|([FED])(0*[1-9]\d*)(\.\d+)?")


@dataclass(frozen=True)
class NewTextColumn(NewColumn):
    """A column of an ASCII table."""

    def cells(self) -> Cells:
        """Return the cells: text unchanged, numbers as 64-bit integers or floats.

        Raises
        ------
        UsageError
            A value does not fit the form.
        """
        data, form = self.data, str(self.spec["element"])
        if self.spec["null"] and data.undefined is None:
            data = replace(data, undefined=np.isnan(data.values))
        kind = {"A": f"U{form[1:]}", "I": "i8"}.get(form[0], "f8")
        column = TableColumn(
            0, data.name, data.name, form, np.dtype(kind), unit=data.unit, null=self.spec["null"]
        )
        return fitted(column, data, "")


def new_text_column(data: ColumnData, form: str | None) -> NewColumn:
    """Return a column of an ASCII table, of a form such as "I6", "F8.3", "E16.8", "D25.16", "A10".

    The default form holds every value with all its digits.
    """
    values, form_is_given = data.values, form is not None
    if isinstance(values, Ragged) or values.ndim != 1 or values.dtype.kind not in "iufS":
        raise usage(
            f"column {data.name!r} is of {_type_words(values)}: an ASCII table has none of these",
            either(
                'write a binary table (kind="binary"), or columns of single numbers and text',
                "write a binary table, or columns of single numbers and text",
            ),
        )
    defined = values if data.undefined is None else values[~data.undefined]
    text_form = _text_form(defined) if form is None else form
    form = text_form.strip().upper() if isinstance(text_form, str) else ""
    if not _FORM.fullmatch(form):
        raise usage(
            f"column {data.name!r}: invalid form {text_form!r} for an ASCII table",
            "a form is Aw, Iw, Fw.d, Ew.d or Dw.d: w characters, d of them decimals",
        )
    undefined = (values.dtype.kind != "S" and data.undefined is not None) or (
        values.dtype.kind == "f" and bool(np.isnan(values).any())
    )
    null = None
    if undefined:
        null, form = _null_of(data, defined, form, given=form_is_given)
    elif data.null is not None and form[0] == "I" and len(str(data.null)) <= int(form[1:]):
        # For rows appended later.
        null = str(data.null)
    return NewTextColumn(data, plain_spec(data) | {"element": form, "null": null})


def _null_of(data: ColumnData, defined: NDArray[Any], form: str, *, given: bool) -> tuple[str, str]:
    """Return the text of the number for undefined values, and the form that holds it.

    Programs that read TNULLn as a number fail on other text. It fills the field, so that it
    compares equal as text too; unless ``given``, it does not occur among the values.
    """
    letter, width = form[0], int(re.split(r"\D", form[1:])[0])
    if letter != "I":
        return _NULL_FLOAT[:width], form
    own = str(data.null)
    if data.null is not None and len(own) <= width:
        return own, form
    occurring = defined if width > 5 else frozenset(defined.tolist())
    while True:
        greatest = min(10**width - 1, 2**63 - 1)
        least = [max(-(10 ** (width - 1)) + 1, -(2**63))] if width > 1 else []
        # Only numbers that fill the width: -99, 999, 998, 997.
        tried = [*least, *range(greatest, max(greatest - 10_000, -1), -1)]
        free = (number for number in tried if len(str(number)) == width)
        null = next((number for number in free if number not in occurring), None)
        if null is not None:
            return str(null), f"I{width}"
        if given:
            raise usage(
                f"column {data.name!r}: no number of {width} characters is free to mean undefined",
                either(f'use a wider form, as forms={{{data.name!r}: "I{width + 1}"}}'),
            )
        width += 1


def _type_words(values: Any) -> str:
    if isinstance(values, Ragged):
        return "arrays of different lengths"
    return f"{values.dtype}" + (f" of shape {values.shape[1:]} a cell" if values.ndim > 1 else "")


def _text_form(values: NDArray[Any]) -> str:
    if values.dtype.kind == "S":
        return f"A{max(values.dtype.itemsize, 1)}"
    if values.dtype.kind in "iu":
        ends = (int(values.min()), int(values.max())) if values.size else (0, 0)
        return f"I{max(len(str(end)) for end in ends)}"
    # A sign, a digit, a point, the decimals, and an exponent of at most five characters.
    return "E16.8" if values.dtype.itemsize == 4 else "D25.16"
