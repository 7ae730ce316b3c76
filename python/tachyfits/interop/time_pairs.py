"""Times of astropy as pairs of days, the sum of which a time is: so astropy writes them to FITS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tachyfits.table.columns import TableColumn
from tachyfits.table.values import ColumnData

#: The Julian Date from which MJD are counted.
_MJD = 2400000.5


def with_pairs(
    made: Sequence[ColumnData],
    rows: Any,
    theirs: Sequence[TableColumn],
    reference: Callable[[], float | None],
) -> list[ColumnData]:
    """Return the columns of rows, with times as pairs of days where a table has such.

    Parameters
    ----------
    made, rows
        The columns of a table of astropy, or of a dict, and that.
    theirs, reference
        The columns of the table that has these rows, and what gives the reference of its times
        (`time_reference`): 0 if it has none. If the reference is not a multiple of half a day,
        pairs would not be exact, and times stay unchanged.
    """
    pairs = {column.name.rstrip().upper() for column in theirs if _has_pairs(column)}
    since = (reference() or 0.0) if pairs else 0.0
    if not pairs or not (2 * since).is_integer():
        return list(made)
    return [
        _paired(column, rows[column.name], since)
        if column.time_scale and column.name.rstrip().upper() in pairs
        else column
        for column in made
    ]


def _has_pairs(column: TableColumn) -> bool:
    is_long = column.dtype.kind == "f" and column.dtype.itemsize == 8
    return is_long and column.shape == (2,) and column.unit == "d"


def _paired(column: ColumnData, times: Any, since: float) -> ColumnData:
    if np.shape(times) != (column.rows,) or not hasattr(times, "jd1"):
        # A list of times, or several in a row.
        return column
    days = [np.ma.filled(times.jd1, np.nan) - _MJD - since, np.ma.filled(times.jd2, np.nan)]
    return replace(column, values=np.stack(days, axis=-1), undefined=None, unit="d")
