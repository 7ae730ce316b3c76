"""Copy a part of a table to a new table: stored fields unchanged, rows in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import usage, warn
from tachyfits.header.cards import COMMENTARY
from tachyfits.header.given import Cards
from tachyfits.interop.mixins import cards_for
from tachyfits.table.columns import TableColumn
from tachyfits.table.part import Part
from tachyfits.table.rows import Rows, count_of
from tachyfits.writing.new_columns import Cells, bytes_of, description_cards

if TYPE_CHECKING:
    from tachyfits.table.reading import TableReading
    from tachyfits.table.table import Table

#: Maximum length of a keyword.
_KEYWORD = 8


def copy_into(
    writer: _core.FileWriter,
    part: Part,
    *,
    cards: Sequence[tuple[str, Any, str]] = (),
    descriptions: Mapping[str, str] | None = None,
) -> None:
    """Write a part of a table as the next HDU of a file.

    A whole table without other cards is copied byte by byte, including bytes outside of cells.

    Parameters
    ----------
    cards, descriptions
        Cards that precede those of the table; descriptions by column name.
    """
    if part.table._compression is not None:
        _copy_compressed(writer, part, cards, descriptions or {})
        return
    core, workers = part.table._core_table().with_whole_fields(), part.table._threads(part.threads)
    if not cards and not descriptions and _is_whole(part):
        table = part.table
        writer.copy(
            table.file._open_core(), table.index, [], threads=workers, progress=part.progress
        )
        text = [column for column in part.columns if column.dtype.kind == "U"]
        odd: set[str] = set()
        for piece in part.pieces() if text else ():
            _find_odd_text(text, _stored(core, replace(part, columns=text), piece, workers), odd)
        _warn_of_odd_text(part, odd)
        return
    count = 0 if part.where is not None else count_of(part.rows)
    if part.where is None:
        # Space is reserved for these rows, so check first that the file has them.
        core.check_rows(part.rows)
    numbers = [column.number for column in part.columns]
    own, without = _changed_cards(part.table, part.columns, descriptions or {})
    without += [card[0] for card in cards if card[0] not in COMMENTARY]
    writer.begin_table_like(
        part.table._core_table(), numbers, [*own, *cards], without=without, rows=count
    )
    odd = set()
    for piece in part.pieces():
        cells = _stored(core, part, piece, workers)
        _find_odd_text(part.columns, cells, odd)
        writer.write_rows(cells, count_of(piece), raw=True, threads=workers)
    writer.end_table()
    _warn_of_odd_text(part, odd)


def _find_odd_text(columns: Sequence[TableColumn], cells: Sequence[Cells], odd: set[str]) -> None:
    """Add the names of columns whose text the Standard does not allow."""
    for column, (values, _, _) in zip(columns, cells, strict=True):
        if column.dtype.kind == "U" and column.name not in odd and _is_odd_text(values):
            odd.add(column.name)


def _warn_of_odd_text(part: Part, odd: set[str]) -> None:
    if odd:
        names = ", ".join(column.name for column in part.columns if column.name in odd)
        warn(
            f"{part.table._where()}: text outside printable ASCII, which the Standard does not "
            f"allow, is copied as stored: {names}"
        )


def _is_odd_text(characters: NDArray[np.uint8]) -> bool:
    """Return whether text has bytes other than those from blank to "~" and NUL."""
    # Bytes below the blank wrap around.
    return bool(((characters - np.uint8(32) > 94) & (characters != 0)).any())


def refuse_part(table: TableReading) -> None:
    """Refuse to select from a compressed table: readers need all of its tiles."""
    compression = table._compression
    if compression is not None:
        raise usage(
            f"{table._where()} is a {compression.text}: a copy of a part of it, or with other "
            "columns, cannot be read",
            f"copy all of its rows and columns as they are; {compression.hint}",
        )


def _copy_compressed(
    writer: _core.FileWriter,
    part: Part,
    cards: Sequence[tuple[str, Any, str]],
    descriptions: Mapping[str, str],
) -> None:
    """Copy a compressed HDU byte by byte: cells do not refer to all of its heap (section 10.3)."""
    table = part.table
    if not _is_whole(part):
        refuse_part(table)
    described = [
        card
        for number, column in enumerate(part.columns, 1)
        for card in description_cards(column.name, number, descriptions.get(column.name, ""))
    ]
    writer.copy(
        table.file._open_core(),
        table.index,
        [*described, *cards],
        threads=table._threads(part.threads),
        progress=part.progress,
    )


def _is_whole(part: Part) -> bool:
    """Return whether a part has all rows and columns of its table, in their order."""
    rows = part.rows if isinstance(part.rows, tuple) else None
    numbers = [column.number for column in part.columns]
    is_all = numbers == [*range(len(part.table.columns))]
    return part.where is None and is_all and rows == (0, len(part.table))


def _stored(core: _core.Table, part: Part, rows: Rows, threads: int) -> list[Cells]:
    """Return the stored values of some rows."""
    options: dict[str, Any] = {"raw": True, "threads": threads, "progress": part.progress}
    fixed = [column.number for column in part.columns if not column.is_variable]
    arrays = iter(core.read(fixed, rows, text="bytes", **options))
    cells: list[Cells] = []
    for column in part.columns:
        if column.is_variable:
            offsets, values, _, _ = core.read_arrays(column.number, rows, **options)
            cells.append((bytes_of(values), offsets, None))
        else:
            values = next(arrays)[0]
            # NumPy gives text of length 0 one character, which the rows lack.
            cells.append((bytes_of(values if column.dtype.itemsize else values[:0]), None, None))
    return cells


def _changed_cards(
    table: Table, columns: Sequence[TableColumn], descriptions: Mapping[str, str]
) -> tuple[Cards, list[str]]:
    """Return the cards that change, and the keywords of the old ones.

    These are the cards of the columns, with their new numbers, and comments about columns.
    """
    new = {column.number + 1: number for number, column in enumerate(columns, 1)}
    cards: Cards = []
    old = []
    for card in table.header.cards:
        is_of_a_column, moved = _core.column_keyword(card.keyword, new)
        if is_of_a_column:
            old.append(card.keyword)
        if moved is not None and len(moved) > _KEYWORD:
            raise usage(
                f"{table._where()}: {card.keyword} would be {moved}, of more than {_KEYWORD} "
                "characters",
                "keep its column before others, or delete the card in a copy",
            )
        if moved is not None:
            cards.append(card._replace(keyword=moved.upper()))
    for number, column in enumerate(columns, 1):
        if column.name in descriptions:
            old_keywords = (f"TTYPE{number}", f"TCOMM{number}")
            cards = [card for card in cards if card[0] not in old_keywords]
            cards += description_cards(column.name, number, descriptions[column.name])
    theirs = table.header.cards
    comments = [card for card in theirs if card.keyword == "COMMENT"]
    remaining = cards_for(comments, [column.name for column in columns], descriptions=descriptions)
    if remaining != comments:
        old.append("COMMENT")
        cards += remaining
    return cards, old
