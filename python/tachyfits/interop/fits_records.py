"""Tables of astropy.io.fits, FITS_rec and the HDUs that hold one, with what their headers say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tachyfits.table.metadata import (
    carried_by_column,
    describing_cards,
    description_of,
    position_of,
    time_scale_of,
)


def is_records(data: Any) -> bool:
    """Return whether something is a FITS_rec, or an HDU that has one."""
    records = getattr(data, "data", None) if hasattr(data, "header") else data
    return any(kind.__name__ == "FITS_rec" for kind in type(records).__mro__)


def columns_of_records(data: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Give (name, values, what is known) of each column; TNULLn is undefined in scaled ones too."""
    header = getattr(data, "header", None)
    records = data if header is None else data.data
    carried = {} if header is None else carried_by_column(header)
    for number, column in enumerate(records.columns):
        values = np.asarray(records.field(number))
        known: dict[str, Any] = {"unit": column.unit, "display": column.disp}
        if header is not None:
            known["description"] = description_of(header, number + 1)
            known["position"] = position_of(header, number + 1)
            known["coordinate"] = time_scale_of(header, number + 1)
            known["carried"] = carried.get(number + 1, ())
        if values.dtype.kind == "O":
            values = _joined(values)
        if isinstance(column.null, (int, np.integer)):
            null = (column.bscale or 1) * int(column.null) + (column.bzero or 0)
            if values.dtype.kind == "f":
                values = np.ma.MaskedArray(values, mask=values == null)
            elif values.dtype.kind == "O" or null == np.array(null).astype(values.dtype):
                known["null"] = int(null)
        yield column.name, values, known


def _joined(cells: Any) -> Any:
    """Return text of any length, which is there as arrays of characters, as text."""
    if not all(getattr(cell, "dtype", np.dtype("O")).kind in "SU" for cell in cells):
        return cells
    texts = [np.asarray(cell).tolist() for cell in cells]
    return [(text[0][:0] if text else "").join(text) for text in texts]


def cards_of_records(data: Any) -> Iterator[tuple[str, Any]]:
    """Give what the header of an HDU says of the table as a whole: keywords, values, comments."""
    for card in describing_cards(data.header) if hasattr(data, "header") else []:
        if card.keyword in ("COMMENT", "HISTORY"):
            yield card.keyword, str(card.value)
        elif card.keyword:
            yield card.keyword, (card.value, card.comment)
