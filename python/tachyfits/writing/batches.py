"""Write tables larger than memory to a FITS file, in two passes over their batches.

The properties of a FITS table precede its first row: the number of rows, the length of the longest
text, the integer that means undefined. The first pass determines them, the second writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tachyfits import _core
from tachyfits._core import UsageError
from tachyfits.base.errors import cancelled, usage
from tachyfits.base.progress import Progress
from tachyfits.interop.mixins import cards_for
from tachyfits.interop.times import time_cards
from tachyfits.table.cells import null_lists_of_batches
from tachyfits.table.ragged import Ragged, elements_of, with_elements
from tachyfits.table.strings import DELIMITERS, field_width, free_delimiters
from tachyfits.table.values import ColumnData, Occurring, with_null
from tachyfits.writing.new_columns import (
    Cells,
    NewColumn,
    new_column,
    warn_of_names,
    with_descriptions,
)

#: A row in messages.
_ROW = re.compile(r"\brow (\d+) \(0-based\)")

#: A batch: columns with equal numbers of rows.
Batch = list[ColumnData]


def write_batches(
    writer: _core.FileWriter,
    empty: Batch,
    batches: Callable[[], Iterable[Batch]],
    rows: int,
    cards: list[tuple[str, Any, str]],
    name: str | None,
    threads: int,
    progress: Progress | None,
) -> None:
    """Write batches as the next HDU of a file, a binary table.

    Parameters
    ----------
    empty
        The columns without rows.
    batches
        Function that is called twice, and returns the same batches.
    """
    plans = [ColumnPlan(column) for column in empty]
    row_count = 0
    with null_lists_of_batches(warns=True):
        for batch in batches():
            for plan, column in zip(plans, batch, strict=True):
                plan.see(column)
            row_count += _rows(batch)
            _tell(progress, row_count, 2 * rows)
    warn_of_names(empty)
    new = [plan.made() for plan in plans]
    specs = [column.spec for column in new]
    new_cards = with_descriptions(
        cards_for(time_cards(cards, empty), [column.name for column in empty]), empty
    )
    writer.begin_table(specs, new_cards, kind="binary", name=name, rows=row_count)
    done = 0
    with null_lists_of_batches(warns=False):
        for batch in batches():
            cells = [_cells(planned, column) for planned, column in zip(new, batch, strict=True)]
            writer.write_rows(cells, _rows(batch), threads=threads)
            done += _rows(batch)
            _tell(progress, row_count + done, 2 * rows)
    writer.end_table()


def batches_of(name: str, tables: Iterable[Any], made: Callable[[Any], Batch]) -> Iterator[Batch]:
    """Yield the converted tables of a file; errors name the file, and the row in it."""
    first = 0
    for table in tables:
        with naming(name, first):
            batch = made(table)
        yield batch
        first += _rows(batch)


@contextmanager
def naming(name: str, first: int = 0) -> Iterator[None]:
    """Make errors name a file, and its rows; the data begin at row ``first``."""
    try:
        yield
    except UsageError as error:
        error.args = (f"{name}: {_further(str(error), first)}",)
        raise


def _further(text: str, rows: int) -> str:
    """Return a message with ``rows`` added to the row numbers in it.

    >>> _further("column 'A', row 3 (0-based): what", 10)
    "column 'A', row 13 (0-based): what"
    """
    return _ROW.sub(lambda match: f"row {int(match[1]) + rows} (0-based)", text, count=1)


def _rows(batch: Batch) -> int:
    return batch[0].rows if batch else 0


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None and progress(done, total) is False:
        raise cancelled()


def _cells(planned: NewColumn, column: ColumnData) -> Cells:
    """Return the cells of a batch in the form of the planned column."""
    if planned.data.null is not None and planned.data.null != column.null:
        column = with_null(column, planned.data.null)
    return replace(planned, data=column).cells()


class ColumnPlan:
    """Properties of a column after some of its batches.

    >>> import numpy as np
    >>> from tachyfits.table.values import column_data
    >>> plan = ColumnPlan(column_data("N", np.zeros(0, "i2")))
    >>> plan.see(column_data("N", np.array([-32768, 1], "i2")))
    >>> plan.see(column_data("N", np.ma.array([5, 1], "i2", mask=[False, True])))
    >>> plan.made().spec["element"], plan.made().spec["null"]
    ('int16', 32767)
    """

    def __init__(self, empty: ColumnData) -> None:
        self._empty = empty
        self._width = 1
        self._heap_bytes = 0
        self._count = 0
        self._field_bytes = 1
        self._delimiters = DELIMITERS
        self._undefined = False
        elements = elements_of(empty.values)
        self._dtype = elements.dtype
        self._occurring = Occurring(elements.dtype) if elements.dtype.kind in "iu" else None

    def see(self, column: ColumnData) -> None:
        """Update the plan with a batch."""
        elements = elements_of(column.values)
        if elements.dtype != self._dtype and elements.dtype.kind != "S":
            # Integers beyond int64 among decimals, which the type of decimals does not reveal.
            raise usage(
                f"column {column.name!r} has values of {elements.dtype} after the first rows, "
                f"which {self._dtype} does not hold",
                f"cast the column to {elements.dtype} in the file",
            )
        self._undefined |= column.undefined is not None
        self._heap_bytes += elements.nbytes
        self._count += elements.size
        if isinstance(column.values, Ragged) and elements.dtype.kind == "S":
            self._field_bytes = max(self._field_bytes, field_width(column.values))
            self._delimiters = free_delimiters(column.values, self._delimiters)
        self._width = max(self._width, elements.dtype.itemsize)
        if self._occurring is not None:
            missing = column.undefined
            self._occurring.see(elements if missing is None else elements[~missing])

    def made(self) -> NewColumn:
        """Return the column that holds all batches.

        Raises
        ------
        UsageError
            No value is free to mean undefined.
        """
        column = self._empty
        heap_bytes, values = self._heap_bytes, column.values
        if values.dtype.kind == "S":
            wide = elements_of(values).astype(f"S{self._width}")
            heap_bytes = self._count * self._width
            column = replace(column, values=with_elements(values, wide))
        if self._occurring is not None and self._undefined and column.null is None:
            column = replace(column, null=self._occurring.free(column.name))
        divided = self._field_bytes, (self._delimiters or DELIMITERS)[0]
        return new_column(column, heap_bytes, divided)
