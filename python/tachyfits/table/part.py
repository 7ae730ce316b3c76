"""A part of a table to export: columns, and rows in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tachyfits.base.progress import Progress
from tachyfits.table.columns import Columns, TableColumn
from tachyfits.table.rows import Rows

if TYPE_CHECKING:
    from tachyfits.table.table import Table

#: Default number of rows in memory at a time.
BATCH_ROWS = 100_000


@dataclass(frozen=True)
class Part:
    """Columns and rows of a table, with options for reading them.

    Attributes
    ----------
    where
        Condition on the rows.
    batch_rows
        Number of rows in memory at a time.
    threads
        Thread count; None: the file's.
    """

    table: Table
    columns: Sequence[TableColumn]
    rows: Rows
    where: str | None = None
    batch_rows: int = BATCH_ROWS
    threads: int | None = None
    progress: Progress | None = None

    def pieces(self) -> Iterator[Rows]:
        """Yield the rows in batches."""
        return self.table._pieces(self.rows, self.where, self.batch_rows, self.threads)

    def read(self, rows: Rows, text: str) -> Columns:
        """Return the columns for some rows; ``text`` is "str" or "bytes"."""
        return self.table._read(self.columns, rows, False, self.threads, self.progress, text=text)
