"""A part of a table as a table of its own: stored values as they are, row by row in batches."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tachyfits import _core
from tachyfits._columns import TableColumn
from tachyfits._header import COMMENTARY
from tachyfits._pixels import Progress
from tachyfits._table_rows import Rows, count_of
from tachyfits._table_serialized import Cards, cards_for
from tachyfits._table_spec import Cells, bytes_of
from tachyfits._writer import fits_name

if TYPE_CHECKING:
    from tachyfits._table import Table

#: Rows that are copied at a time, unless something else is asked for.
COPIED_ROWS = 100_000


def copy_table(
    table: Table,
    path: str | os.PathLike[str],
    wanted: Sequence[TableColumn],
    rows: Rows,
    where: str | None,
    overwrite: bool,
    batch_rows: int,
    threads: int | None,
    progress: Progress | None,
) -> None:
    """Write columns and rows of a table as a new FITS file; scaling, nulls and units stay."""
    writer = _core.FileWriter(fits_name(path), overwrite=overwrite)
    try:
        copy_into(writer, table, wanted, rows, where, batch_rows, threads, progress)
        writer.commit()
    finally:
        writer.discard()


def copy_into(
    writer: _core.FileWriter,
    table: Table,
    wanted: Sequence[TableColumn],
    rows: Rows,
    where: str | None,
    batch_rows: int,
    threads: int | None,
    progress: Progress | None,
    *,
    cards: Sequence[tuple[str, Any, str]] = (),
    descriptions: Mapping[str, str] | None = None,
) -> None:
    """Write columns and rows of a table as the next HDU of a file.

    Parameters
    ----------
    cards, descriptions
        Before those of the table, descriptions by name of column.
    """
    count = 0 if where is not None else count_of(rows)
    core, workers = table._core_table(), table._threads(threads)
    numbers = [column.number for column in wanted]
    own, without = _changed_cards(table, wanted, descriptions or {})
    without += [card[0] for card in cards if card[0] not in COMMENTARY]
    writer.begin_table_like(core, numbers, [*own, *cards], without=without, rows=count)
    for piece in table._pieces(rows, where, batch_rows, threads):
        cells = _stored(core, wanted, piece, workers, progress)
        writer.write_rows(cells, count_of(piece), raw=True, threads=workers)
    writer.end_table()


def _stored(
    core: _core.Table,
    wanted: Sequence[TableColumn],
    rows: Rows,
    threads: int,
    progress: Progress | None,
) -> list[Cells]:
    """Return the stored values of some rows."""
    options: dict[str, Any] = {"raw": True, "threads": threads, "progress": progress}
    fixed = [column.number for column in wanted if not column.is_variable]
    read = iter(core.read(fixed, rows, text="bytes", **options))
    cells: list[Cells] = []
    for column in wanted:
        if column.is_variable:
            offsets, values, _, _ = core.read_arrays(column.number, rows, **options)
            cells.append((bytes_of(values), offsets, None))
        else:
            values = next(read)[0]
            # NumPy gives text of no length a character that no row has.
            cells.append((bytes_of(values if column.dtype.itemsize else values[:0]), None, None))
    return cells


def _changed_cards(
    table: Table, wanted: Sequence[TableColumn], descriptions: Mapping[str, str]
) -> tuple[Cards, list[str]]:
    """Return the cards that are not as they were, and the keywords of the old ones.

    They are those of the columns, with their new numbers, and comments that speak of columns.
    """
    new = {column.number + 1: number for number, column in enumerate(wanted, 1)}
    cards: Cards = []
    old = []
    for keyword, value, comment in table.header.cards:
        is_of_a_column, moved = _core.column_keyword(keyword, new)
        if is_of_a_column:
            old.append(keyword)
        if moved is not None:
            cards.append((moved, value, comment))
    for number, column in enumerate(wanted, 1):
        if column.name in descriptions:
            cards = [card for card in cards if card[0] != f"TTYPE{number}"]
            cards.append((f"TTYPE{number}", column.name, descriptions[column.name]))
    theirs = table.header.cards
    comments = [card for card in theirs if card.keyword == "COMMENT"]
    kept = cards_for(comments, [column.name for column in wanted])
    if kept != comments:
        old.append("COMMENT")
        cards += kept
    return cards, old
