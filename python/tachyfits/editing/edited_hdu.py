"""One HDU of a file open for editing: rows and columns of a table, and its header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import either, not_found, placing, usage
from tachyfits.base.kinds import kind_of
from tachyfits.base.whole_numbers import whole_number
from tachyfits.editing.edited_header import EditedHeader
from tachyfits.editing.edited_pixels import EditedPixels
from tachyfits.file.hdu import place_of
from tachyfits.header.given import check_card_text
from tachyfits.interop.mixins import cards_for, check_objects
from tachyfits.interop.observatory import PLACE, differs_by_row, in_metres, with_places
from tachyfits.interop.times import Brought, Stated, place_cards, with_pairs
from tachyfits.interop.to_columns import column_of, to_columns
from tachyfits.table.columns import TableColumn
from tachyfits.table.metadata import describing_cards, time_reference
from tachyfits.table.rows import Rows, count_of
from tachyfits.table.table import Table
from tachyfits.writing.ascii_columns import new_text_column
from tachyfits.writing.column_forms import formed_column
from tachyfits.writing.fitting import row_cells, values_for
from tachyfits.writing.new_columns import description_cards

if TYPE_CHECKING:
    from tachyfits.editing.editor import Editor


@public
class EditedHdu:
    """One HDU of a file open for editing: its header, and the rows and columns of a table."""

    def __init__(self, editor: Editor, index: int) -> None:
        self._editor = editor
        self._index = index

    @property
    def _core(self) -> _core.Editor:
        return self._editor._core

    def _where(self) -> str:
        return place_of(self._editor.name, self._index)

    @property
    def index(self) -> int:
        """Current 0-based number."""
        return self._index

    @property
    def header(self) -> EditedHeader:
        """The header: a mutable mapping."""
        return EditedHeader(self._core, self._index, self._where())

    @header.setter
    def header(self, cards: Mapping[str, Any]) -> None:
        self.header.update(cards)

    def update_checksums(self) -> None:
        """Write CHECKSUM and DATASUM; existing ones are updated anyway."""
        self._core.update_checksums(self._index)

    @property
    def pixels(self) -> EditedPixels:
        """The pixels: ``editor[0].pixels[10:20, :, 5] = values`` changes them."""
        return EditedPixels(self._editor, self._index)

    @property
    def table(self) -> Table:
        """The table with all changes so far."""
        hdu = self._editor.preview()[self._index]
        if not isinstance(hdu, Table):
            raise usage(f"{self._where()} is not a table", "only tables have rows and columns")
        return hdu

    def _uncompressed(self) -> Table:
        """Return the table; raise UsageError for a compressed one, which a change would damage."""
        table = self.table
        compression = table._compression
        if compression is not None:
            raise usage(
                f"{self._where()} is a {compression.text}: its rows and columns cannot be changed",
                "decompress the file first, with tachyfits decompress; its header can be changed",
            )
        return table

    # Rows.

    def append(self, data: Any, *, fill_missing: bool = False) -> None:
        """Append rows: a table of any kind that `write` accepts, with every column by name.

        ``fill_missing``: see `insert`.
        """
        self.insert(len(self.table), data, fill_missing=fill_missing)

    @placing
    def insert(self, at: int, data: Any, *, fill_missing: bool = False) -> None:
        """Insert rows before the row of a (0-based) number.

        With ``fill_missing``, columns that ``data`` lacks are undefined in these rows: TNULLn, NaN,
        empty text, no elements. Without it missing columns are an error; missing integers without
        TNULLn are always an error.

        Values are converted to the columns without loss; nothing is cut or wrapped, only floats are
        rounded to the digits of the column, and values of scaled integers (TSCALn) must be whole
        steps. Values with a unit are converted to the column's. Astropy objects (SkyCoord) become
        the columns into which astropy splits them; a frame other than the table's is an error.
        Times of another scale or location than the table states are also an error, as are times of
        a table whose TIMESYS or MJDREF differs (arrays in a dict have none). If the table has the
        location in columns (OBSGEO-X, -Y, -Z), it is written there. Times are text, or pairs of
        days if the column has pairs, as astropy writes them.
        """
        table = self._uncompressed()
        number = whole_number(at, least=-(2**63))
        if number is None:
            raise usage(f"invalid row {at!r}: expected an integer", f"use 0 to {len(table)}")
        if not 0 <= number <= len(table):
            raise not_found(f"no row {at}", f"use 0 to {len(table)}")
        new = to_columns(data, theirs=table.names)
        check_objects(
            [str(c.value) for c in table.header.cards if c.keyword == "COMMENT"],
            new.comments,
            self._where(),
        )
        since = partial(time_reference, table.header, self._where())
        columns = with_places(
            with_pairs(new.columns, new.source, table.columns, since), table.columns
        )
        card_values = new.values
        of_each = kind_of(new.source) != "astropy"
        brought = Brought(
            card_values.get("TIMESYS"), partial(time_reference, card_values), of_each=of_each
        )
        cells, rows = row_cells(
            table.columns, columns, _stated(table), self._where(), brought, fill_missing
        )
        self._core.insert_rows(
            self._index, number, cells, rows,
            threads=self._editor._threads, progress=self._editor._progress,
        )  # fmt: skip

    @placing
    def delete(self, *, rows: Any = None, where: str | None = None) -> None:
        """Remove the rows in ``rows`` (a slice, numbers, a mask) that satisfy ``where``."""
        if rows is None and where is None:
            raise usage("delete() needs rows", either("give rows=..., where=..., or both"))
        table = self._uncompressed()
        self._core.delete_rows(self._index, table._selected(rows, where, None, None))

    @placing
    def update(
        self, column: str | int, values: Any, *, rows: Any = None, where: str | None = None
    ) -> None:
        """Change cells of a column: one value per row, or a single value for all.

        A number, or text, for cells that are arrays of fixed length sets all elements. None means
        undefined; an astropy quantity is converted to the column's unit. Only the bytes of these
        cells are written; their old arrays stay in the heap (`compact_heap`).
        """
        table = self._uncompressed()
        info = table.column(column)
        selection = table._selected(rows, where, None, None)
        stated = _stated(table, selection)
        cells = values_for(info, values, count_of(selection), stated, self._where())
        self._core.update_cells(
            self._index, info.number, selection, cells, threads=self._editor._threads
        )

    # Columns.

    @placing
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
        """Insert a column before another one (None: after the last).

        Parameters
        ----------
        name, values, unit, null, description
            As in `write`; they override the properties of the values (astropy's).
        form
            TFORMn, as in ``forms`` of `write`.
        """
        table = self._uncompressed()
        self._refuse_name(name, table.columns)
        at = len(table.columns) if before is None else table.column(before).number
        data = column_of(name, values, unit=unit, null=null, description=description)
        describing = describing_cards(table.header)
        there = {}
        if data.location is not None:
            place = _stated(table).place
            there = {each.name: place(each.name) for each in table.columns if each.name in PLACE}
        if differs_by_row(data.location) and len(there) < len(PLACE):
            raise usage(
                f"times in {name!r} whose location differs by row",
                "write them with a new table: tf.write makes columns of it",
            )
        if data.rows != len(table):
            raise usage(
                f"column {name!r}: {data.rows} values for {len(table)} rows",
                "give one for each row",
            )
        cards = description_cards(name, at + 1, data.description)
        cards += place_cards(describing, data, at + 1, there)
        is_text = table.kind == "ascii table"
        new = new_text_column(data, form) if is_text else formed_column(data, form)
        self._core.insert_column(
            self._index, at, new.spec, new.cells(), threads=self._editor._threads
        )
        if cards:
            self._core.set_cards(self._index, cards)

    @placing
    def delete_column(self, *columns: str | int) -> None:
        """Remove columns; their arrays stay in the heap (see `compact_heap`)."""
        if not columns:
            raise usage("delete_column() needs columns", "give names or numbers")
        table = self._uncompressed()
        numbers = sorted({table.column(column).number for column in columns})
        remaining = [column.name for column in table.columns if column.number not in numbers]
        comments = self._comments_about(remaining)
        self._core.delete_columns(self._index, numbers)
        self._set_comments(comments)

    @placing
    def rename_column(self, column: str | int, name: str) -> None:
        """Rename a column."""
        table = self._uncompressed()
        renamed = table.column(column)
        others = [other for other in table.columns if other != renamed]
        self._refuse_name(name, others)
        names = [name, *(other.name for other in others)]
        comments = self._comments_about(names, (renamed.name, name))
        self._core.rename_column(self._index, renamed.number, name)
        self._set_comments(comments)

    def compact_heap(self) -> int:
        """Remove unused bytes of the heap, and between the rows and the heap.

        Replaced or removed arrays leave these bytes. Cells that share an array still share it.
        Return the number of removed bytes. A compressed table (ZTABLE = T) is an error, because no
        descriptor points to some arrays of its heap. With more than a million gaps the smallest may
        stay, to bound memory; another call removes more.
        """
        return self._core.compact_heap(self._index)

    def _comments_about(
        self, names: Sequence[str], renamed: tuple[str, str] | None = None
    ) -> list[tuple[str, Any, str]]:
        """Return the comments in which astropy describes columns, restricted to these columns.

        Invalid requests are detected before anything is changed.
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
        """Refuse a column name that is too long or ambiguous."""
        if not isinstance(name, str):
            raise usage(f"invalid column name {name!r}: expected text", "give text")
        check_card_text("column name", name)
        if not name.strip():
            raise usage(
                f"invalid column name {name!r}: expected text that is not empty", "give it one"
            )
        duplicates = [
            other for other in others if other.name.strip().upper() == name.strip().upper()
        ]
        if duplicates:
            raise usage(
                f"column {name!r} would duplicate {duplicates[0].name!r}",
                "choose another name (case does not matter in FITS), or rename the other one first",
            )

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns with all changes so far."""
        return self.table.columns

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"<tachyfits EditedHdu {self._index} of {self._editor.name}>"


def _stated(table: Table, rows: Rows | None = None) -> Stated:
    """Return the table's information about the times of some rows; None: of all rows."""

    def place(name: str) -> Any:
        column = next((column for column in table.columns if column.name == name), None)
        if column is None:
            return table.header.get(name)
        selection = (0, len(table)) if rows is None else rows
        values = table._read([column], selection, False, None, None)
        return in_metres(values[column.key], column.unit)

    header = table.header
    since = partial(time_reference, header, table._where())
    return Stated(header.get("TIMESYS"), header.get("TREFPOS"), place, since)
