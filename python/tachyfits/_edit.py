"""Editing a file: changes wait until they are written, all of them or none.

What can be changed where it stands is; otherwise the file is written anew beside the old one and
takes its place when it is complete. A failure leaves the file as it was.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from tachyfits import _core
from tachyfits._columns import TableColumn
from tachyfits._edit_header import EditedHeader
from tachyfits._errors import not_found, usage, warn
from tachyfits._file import File
from tachyfits._hdu import Hdu
from tachyfits._pixels import Progress
from tachyfits._table import Table
from tachyfits._table_ascii import new_text_column
from tachyfits._table_cards import comments_brought, values_brought
from tachyfits._table_fit import row_cells, values_for
from tachyfits._table_input import column_of, columns_of
from tachyfits._table_meta import describing_cards, time_reference
from tachyfits._table_places import PLACE, differs_by_row, in_metres, with_places
from tachyfits._table_rows import Rows, count_of
from tachyfits._table_serialized import cards_for, check_objects, with_parts
from tachyfits._table_spec import check_length, description_cards, new_column
from tachyfits._table_times import Brought, Stated, place_cards
from tachyfits._table_write import write_table
from tachyfits._threads import check_threads
from tachyfits._writer import image_cards, native, unit_of


def edit(
    path: str | os.PathLike[str],
    *,
    sync: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
) -> Edition:
    """Open a file for editing; the changes are written when the ``with`` block ends.

    If the block raises, or writing fails, the file is as it was. Headers are changed in their
    place as long as they fit (blank cards before END keep room), rows are appended and cells
    updated in place; what moves other data rewrites the file, streamed, beside the old one.
    CHECKSUM and DATASUM are kept right where they are.

    Parameters
    ----------
    path
        A file that is not compressed.
    sync
        Return only when a file that is written anew survives a loss of power; one that is changed
        in place does in any case.
    threads
        0: one per core.

    Returns
    -------
    Edition
        HDUs by number, EXTNAME, or (EXTNAME, EXTVER).

    Examples
    --------
    >>> import tachyfits as tf
    >>> with tf.edit("table.fits") as edition:
    ...     edition[0].header["OBSERVER"] = "Hubble", "who looked"
    ...     stars = edition["STARS"]
    ...     stars.append({"NAME": ["zeta"], "RA": [15.0], "DEC": [3.0], "MAG": [20.5]})
    ...     stars.update("MAG", 19.0, where="NAME == 'delta'")
    ...     stars.add_column("SEEN", [True] * 6, before="RA")
    >>> tf.open("table.fits")["STARS"].read(["SEEN", "MAG"], rows=slice(3, None)).to_structured()
    array([( True, 19. ), ( True, 17. ), ( True, 20.5)],
          dtype=[('SEEN', '?'), ('MAG', '<f8')])
    """
    return Edition(path, sync=sync, threads=threads, progress=progress)


class Edition:
    """A file that is being edited: a sequence of `EditedHdu`. Make one with `tachyfits.edit`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        sync: bool = False,
        threads: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self._threads = check_threads(threads)
        self._sync, self._progress = sync, progress
        self._core = _core.Edition(os.fspath(path))
        self._made = contextlib.ExitStack()
        self.name = self._core.name
        #: What `commit` did: in place or anew, bytes written; None before.
        self.done: dict[str, Any] | None = None
        self._discarded = False
        if self._core.recovery is not None:
            warn(f"{self.name}: {self._core.recovery}")

    def preview(self) -> File:
        """Return the file as it will be, to be read like any other."""
        return File.computed(self._core.preview(), (_no_pickle, ()), threads=self._threads)

    def __len__(self) -> int:
        return len(self._core)

    def __iter__(self) -> Iterator[EditedHdu]:
        for index in range(len(self)):
            yield EditedHdu(self, index)

    def __getitem__(self, key: int | str | tuple[str, int]) -> EditedHdu:
        return EditedHdu(self, self._number(key))

    def _number(self, key: int | str | tuple[str, int]) -> int:
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            count = len(self)
            if not -count <= key < count:
                raise not_found(
                    f"{self.name}: there is no HDU {key}; there are {count}, counted from 0",
                    f"use 0 to {count - 1}",
                )
            return int(key) % count
        hdu: Hdu = self.preview()[key]
        return hdu.index

    def __delitem__(self, key: int | str | tuple[str, int]) -> None:
        self._core.remove(self._number(key))

    def append(self, data: Any, *, name: str | None = None, **options: Any) -> None:
        """Add an HDU at the end; see `insert`."""
        self.insert(len(self), data, name=name, **options)

    def insert(self, at: int, data: Any, *, name: str | None = None, **options: Any) -> None:
        """Insert an HDU before the HDU of a number.

        Parameters
        ----------
        at
            0-based; beyond the last: at the end.
        data
            An `Image`, `Table` or other HDU of any file, which is copied as it stands; an array; or
            a table as `write_table` takes it.
        name
            EXTNAME.
        options
            Of an array ``header``, as `write` takes it; of a table those of `write_table`.
        """
        if at < 0:
            raise usage(f"insert at {at}", "HDUs are counted from 0")
        check_length("name", name)
        before = len(self)
        at = min(at, before)
        if isinstance(data, Hdu):
            _refuse(options)
            self._core.copy(at, data.file._open_core(), data.index)
        elif isinstance(data, np.ndarray) and data.dtype.names is None:
            header = options.pop("header", None)
            _refuse(options)
            self._core.copy(
                at, _core.array_file(native(data), image_cards(header, unit_of(data))), 0
            )
        else:
            self._core.copy(at, self._table_file(data, name, options), 1)
        if name is not None:
            # A table as the first HDU gets a primary one before it.
            place = at + len(self) - before - 1
            self._core.set_cards(place, [("EXTNAME", name, "")])

    def _table_file(self, data: Any, name: str | None, options: dict[str, Any]) -> _core.FitsFile:
        """Return a table as a file of its own, which goes when the edition is over."""
        folder = self._made.enter_context(tempfile.TemporaryDirectory(prefix="tachyfits-"))
        path = Path(folder) / "table.fits"
        write_table(path, data, name=name, **options)
        return _core.FitsFile.open(str(path))

    def copy(self, hdu: Hdu, *, at: int | None = None) -> None:
        """Copy an HDU of any file, as it stands, before the HDU of a number; None: to the end."""
        self.insert(len(self) if at is None else at, hdu)

    def commit(self) -> None:
        """Write the changes; at the end of a ``with`` block this is done by itself."""
        with self._made:
            self.done = self._core.commit(
                sync=self._sync, threads=self._threads, progress=self._progress
            )

    def discard(self) -> None:
        """Forget the changes."""
        self._core.discard()
        self._made.close()
        self._discarded = True

    def __enter__(self) -> Edition:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.discard()
        elif self.done is None and not self._discarded:
            self.commit()

    def __repr__(self) -> str:
        return f"<tachyfits Edition of {self.name}>"


def _refuse(options: Mapping[str, Any]) -> None:
    if options:
        raise usage(f"{next(iter(options))}= goes with tables", "leave it out")


def _no_pickle() -> File:
    raise usage("a file that is being edited cannot be pickled", "write it first")


class EditedHdu:
    """One HDU of a file that is being edited: its header, and the rows and columns of a table."""

    def __init__(self, edition: Edition, index: int) -> None:
        self._edition = edition
        self._index = index

    @property
    def _core(self) -> _core.Edition:
        return self._edition._core

    def _where(self) -> str:
        return f"{self._edition.name}: HDU {self._index} (0-based)"

    @property
    def index(self) -> int:
        """The 0-based number, as of now."""
        return self._index

    @property
    def header(self) -> EditedHeader:
        """The header: a mapping that can be changed."""
        return EditedHeader(self._core, self._index, self._where())

    @header.setter
    def header(self, cards: Mapping[str, Any]) -> None:
        self.header.update(cards)

    def state_sums(self) -> None:
        """Write CHECKSUM and DATASUM; where they are they are kept right without this."""
        self._core.state_sums(self._index)

    @property
    def table(self) -> Table:
        """The table as it will be."""
        hdu = self._edition.preview()[self._index]
        if not isinstance(hdu, Table):
            raise usage(f"{self._where()} is no table", "rows and columns are those of tables")
        return hdu

    # Rows.

    def append(self, data: Any) -> None:
        """Add rows at the end: a table as `write_table` takes it, with every column by name."""
        self.insert(len(self.table), data)

    def insert(self, at: int, data: Any) -> None:
        """Insert rows before the row of a (0-based) number.

        Values become those of the columns if they mean the same there; nothing is cut or wrapped,
        floats alone are rounded to the digits of the column, and where whole steps are stored
        (integers with TSCALn) they have to be these.
        Values that state a unit are converted to the column's. Objects of astropy (SkyCoord) are
        the columns that astropy makes of them, and are refused in another frame than the table's;
        times of another scale or location than the table states are refused too, as are those of a
        table whose TIMESYS or MJDREF is another (arrays in a dict have none); where the table has
        the location in columns (OBSGEO-X, -Y, -Z) it is put there.
        """
        table = self.table
        if not 0 <= at <= len(table):
            raise not_found(f"{self._where()}: no row {at}", f"use 0 to {len(table)}")
        whole = with_parts(data, theirs=table.names)[0]
        check_objects(comments_brought(table), comments_brought(whole), self._where())
        made = with_places(columns_of(whole), table.columns)
        said = values_brought(whole)
        brought = Brought(
            said.get("TIMESYS"), time_reference(said), of_each=not hasattr(whole, "itercols")
        )
        cells, rows = row_cells(table.columns, made, _stated(table), self._where(), brought)
        self._core.insert_rows(
            self._index, at, cells, rows,
            threads=self._edition._threads, progress=self._edition._progress,
        )  # fmt: skip

    def delete(self, *, rows: Any = None, where: str | None = None) -> None:
        """Remove rows: those given (a slice, numbers, a mask), for which ``where`` holds."""
        if rows is None and where is None:
            raise usage("delete() without rows", "say which: rows=..., where=..., or both")
        self._core.delete_rows(self._index, self.table._selected(rows, where, None, None))

    def update(
        self, column: str | int, values: Any, *, rows: Any = None, where: str | None = None
    ) -> None:
        """Give cells of a column other values; one for each row, or a single one for all.

        A number, or text, that is given for cells of arrays of one length is that of all elements.
        None stands for undefined; a quantity of astropy is converted to the column's unit. Only the
        bytes of these cells are written; arrays that they had stay in the heap (`compact_heap`).
        """
        table = self.table
        known = table.column(column)
        chosen = table._selected(rows, where, None, None)
        stated = _stated(table, chosen)
        cells = values_for(known, values, count_of(chosen), stated, self._where())
        self._core.update_cells(
            self._index, known.number, chosen, cells, threads=self._edition._threads
        )

    # Columns.

    def add_column(
        self,
        name: str,
        values: Any,
        *,
        before: str | int | None = None,
        unit: str | None = None,
        null: int | None = None,
        description: str = "",
        form: str | None = None,
    ) -> None:
        """Insert a column before another one (None: behind the last).

        Parameters
        ----------
        name, values, unit, null, description
            As of `write_table`; before what the values say themselves (astropy's).
        form
            TFORMn, in an ASCII table.
        """
        table = self.table
        self._refuse_name(name, table.columns)
        at = len(table.columns) if before is None else table.column(before).number
        data = column_of(name, values, unit=unit, null=null, description=description)
        others = describing_cards(table.header)
        there = {}
        if data.location is not None:
            place = _stated(table).place
            there = {each.name: place(each.name) for each in table.columns if each.name in PLACE}
        if differs_by_row(data.location) and len(there) < len(PLACE):
            raise usage(
                f"{self._where()}: times in {name!r} whose location differs by row",
                "write them with a new table: write_table makes columns of it",
            )
        if data.rows != len(table):
            raise usage(
                f"{self._where()}: {data.rows} values for {len(table)} rows",
                "give one for each row",
            )
        cards = description_cards(name, at + 1, data.description)
        cards += place_cards(others, data, at + 1, there)
        is_text = table.kind == "ascii table"
        new = new_text_column(data, form) if is_text else new_column(data)
        self._core.insert_column(
            self._index, at, new.spec, new.cells(), threads=self._edition._threads
        )
        if cards:
            self._core.set_cards(self._index, cards)

    def delete_column(self, *columns: str | int) -> None:
        """Remove columns; their arrays stay in the heap (see `compact_heap`)."""
        if not columns:
            raise usage("delete_column() without columns", "say which, by name or number")
        table = self.table
        numbers = sorted({table.column(column).number for column in columns})
        kept = [column.name for column in table.columns if column.number not in numbers]
        comments = self._comments_about(kept)
        self._core.delete_columns(self._index, numbers)
        self._set_comments(comments)

    def rename_column(self, column: str | int, name: str) -> None:
        """Give a column another name."""
        table = self.table
        renamed = table.column(column)
        others = [other for other in table.columns if other != renamed]
        self._refuse_name(name, others)
        names = [name, *(other.name for other in others)]
        comments = self._comments_about(names, (renamed.name, name))
        self._core.rename_column(self._index, renamed.number, name)
        self._set_comments(comments)

    def compact_heap(self) -> int:
        """Leave out what no cell reaches: in the heap, and between the rows and the heap.

        That is what arrays that were replaced or removed have left there. Cells that share an array
        do so still. Return how many bytes that is. A compressed table (ZTABLE = T) is refused, as
        its heap has arrays that no cell reaches. Of more than a million gaps the smallest may stay,
        so that memory is bounded; another call leaves out more.
        """
        return self._core.compact_heap(self._index)

    def _comments_about(
        self, names: Sequence[str], renamed: tuple[str, str] | None = None
    ) -> list[tuple[str, Any, str]]:
        """Return the comments, in which astropy describes columns, about these columns alone.

        What cannot be read is found before anything is changed.
        """
        old = [card for card in self.header.cards if card.keyword == "COMMENT"]
        return cards_for(old, names, renamed)

    def _set_comments(self, new: list[tuple[str, Any, str]]) -> None:
        cards = self.header.cards
        if new != [card for card in cards if card.keyword == "COMMENT"]:
            place = next(place for place, card in enumerate(cards) if card.keyword == "COMMENT")
            self._core.delete_cards(self._index, "COMMENT")
            self._core.insert_cards(self._index, place, new)

    def _refuse_name(self, name: str, others: Sequence[TableColumn]) -> None:
        """Refuse a name of a column that is too long, or would not find it."""
        if not isinstance(name, str):
            raise usage(f"{self._where()}: a column's name is text, found {name!r}", "give text")
        check_length(f"{self._where()}: a name of a column", name)
        if not name.strip():
            raise usage(f"{self._where()}: a column needs a name, found {name!r}", "give it one")
        same = [other for other in others if other.name.strip().upper() == name.strip().upper()]
        if same:
            raise usage(
                f"{self._where()}: a column {name!r}, where there is {same[0].name!r}",
                "choose another name (in FITS case does not count), or rename the other one first",
            )

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns as they will be."""
        return self.table.columns

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"<tachyfits EditedHdu {self._index} of {self._edition.name}>"


def _stated(table: Table, rows: Rows | None = None) -> Stated:
    """Return what a table says of the times of some rows, None: of all."""

    def place(name: str) -> Any:
        column = next((column for column in table.columns if column.name == name), None)
        if column is None:
            return table.header.get(name)
        wanted = (0, len(table)) if rows is None else rows
        values = table._read([column], wanted, False, None, None)
        return in_metres(values[column.key], column.unit)

    header = table.header
    return Stated(header.get("TIMESYS"), header.get("TREFPOS"), place, time_reference(header))
