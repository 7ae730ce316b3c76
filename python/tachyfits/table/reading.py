"""TableReading: the table's header, and reading rows and columns.

It converts names, rows and conditions to the engine's terms, and results to NumPy; every loop over
rows is in the compiled module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from types import EllipsisType
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import either, in_lines, listed, not_found, placing, usage, warn
from tachyfits.base.progress import Progress
from tachyfits.base.whole_numbers import check_threads, whole_number
from tachyfits.file.hdu import CompressedTiles, Hdu, compression_of
from tachyfits.header.cards import Header
from tachyfits.table.columns import Columns, TableColumn, Values
from tachyfits.table.decoding import Given, beginning, divided, is_apart, masked, ragged
from tachyfits.table.metadata import (
    carried_by_column,
    comments_of,
    description_of,
    meta_of,
)
from tachyfits.table.ragged import Ragged
from tachyfits.table.rows import (
    Rows,
    among,
    batch_size,
    count_of,
    last_of,
    piece_of,
    resolve_rows,
    span_of,
)
from tachyfits.table.strings import decoded

#: A name (any case), a 0-based number, several of them; None: all.
ColumnNames = str | int | Sequence[str | int] | None


#: Maximum rows on which a condition is evaluated at a time, if its results come in batches.
SEARCHED_ROWS = 1 << 22


class _Plan(NamedTuple):
    """Options for reading columns, the same for every batch of rows."""

    wanted: Sequence[TableColumn]
    #: Numbers of the columns that are read together, in one pass over the rows.
    together: list[int]
    text: str
    options: dict[str, Any]
    info: dict[str, TableColumn]


class TableReading(Hdu):
    """Rows and columns of one HDU: lazy until they are read. `Table` adds conversions."""

    _table: _core.Table | None = None
    _known: tuple[TableColumn, ...] | None = None
    _said_of: tuple[dict[str, Any], dict[str, str]] | None = None
    _warned_of_tiles = False
    _latin_1: frozenset[int] = frozenset()

    @cached_property
    def _compression(self) -> CompressedTiles | None:
        """Compression of the HDU if the rows are its tiles; None for an ordinary table."""
        return None if self._hdu().stored is not None else compression_of(self)

    def _warn_of_tiles(self) -> None:
        """Warn once that the rows are tiles of a compressed image or table."""
        if self._compression is not None and not self._warned_of_tiles:
            self._warned_of_tiles = True
            warn(
                f"{self._where()} is a {self._compression.text}: its rows are the bytes of "
                f"compressed tiles\nhint: {self._compression.hint}"
            )

    def _core_table(self) -> _core.Table:
        self._file._open_core()
        if self._table is None:
            self._table = self._hdu().table()
            if self._table.warnings:
                warn(f"{self._where()}:\n{in_lines(self._table.warnings)}")
        return self._table

    def _release(self) -> None:
        self._table = None

    def _threads(self, threads: int | None) -> int:
        return self._file.threads if threads is None else check_threads(threads)

    # Header information.

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """Properties of each column: name, unit, form, dtype, shape of a cell, null, ..."""
        if self._known is None:
            carried = carried_by_column(self.header)
            self._known = tuple(
                _described(number, column, self.header, carried.get(number + 1, ()))
                for number, column in enumerate(self._core_table().columns())
            )
        return self._known

    @property
    def names(self) -> tuple[str, ...]:
        """Column names for results and conditions: TTYPEn, numbered if repeated."""
        return tuple(column.key for column in self.columns)

    @property
    def rows_present(self) -> int:
        """Number of complete rows in the file; fewer than ``len(table)`` if it is truncated."""
        return self._core_table().rows_present

    @property
    def row_bytes(self) -> int:
        """NAXIS1: bytes from one row to the next."""
        return self._core_table().row_bytes

    @placing
    def column(self, column: str | int) -> TableColumn:
        """Return the properties of a column, by name or number.

        A name selects the first column with exactly this spelling, or else the first in any case.

        Raises
        ------
        UsageKeyError
            No such column (a KeyError and an IndexError).
        """
        columns = self.columns
        if isinstance(column, str):
            number = self._core_table().find(column)
            if number is not None:
                return columns[number]
        else:
            number = whole_number(column, least=-len(columns))
            if number is not None and number < len(columns):
                return columns[number]
        hint = f"the columns are {listed(self.names)}"
        last = column.rpartition(".")[2] if isinstance(column, str) else ""
        if last != column and last and self._core_table().find(last) is not None:
            hint = f"columns have no table before them: use {last!r}"
        raise not_found(f"no column is named {column!r}", hint)

    def _chosen(self, columns: ColumnNames) -> list[TableColumn]:
        if columns is None:
            return list(self.columns)
        if isinstance(columns, (str, bytes)) or not np.iterable(columns):
            return [self.column(columns)]  # type: ignore[arg-type]
        return list(dict.fromkeys(self.column(column) for column in columns))

    # Reading.

    def __len__(self) -> int:
        return self._core_table().rows

    def __bool__(self) -> bool:
        # A table without rows is still a table.
        return True

    def _ipython_key_completions_(self) -> list[str]:
        return [column.name for column in self.columns if column.name]

    @overload
    def __getitem__(self, key: str | int) -> Any: ...
    @overload
    def __getitem__(self, key: list[str] | list[int] | NDArray[np.bool_]) -> Columns: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, np.ndarray) and key.dtype == np.bool_ and self._compression is None:
            return self.read(rows=key)
        keys = key if isinstance(key, (list, tuple)) else [key]
        if any(isinstance(each, (slice, np.ndarray, EllipsisType)) for each in keys):
            if self._compression is not None:
                problem = f"{self._where()} is a {self._compression.text}: table[{key!r}]"
                raise usage(problem, self._compression.hint)
            text = "an array" if any(isinstance(each, np.ndarray) for each in keys) else repr(key)
            problem = f"{self._where()}: table[{text}]: an index selects a column"
            raise usage(
                problem, either("use table.read(rows=...) for rows; table[mask] takes bools")
            )
        if isinstance(key, (list, tuple)):
            return self.read(key)
        column = self.column(key)
        return self.read([column.number])[column.key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        try:
            self.column(name)  # type: ignore[arg-type]
        except (LookupError, ValueError):
            return False
        return True

    def read(
        self,
        columns: ColumnNames = None,
        *,
        rows: Any = None,
        where: str | None = None,
        raw: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Columns:
        """Read columns in one pass over the rows; each variable-length column needs another pass.

        Parameters
        ----------
        columns
            A name (any case) or 0-based number, or several; None: all.
        rows
            A slice, 0-based numbers in any order, or a mask; None: all.
        where
            Return only rows that satisfy this condition; see `where`.
        raw
            Return stored values: without TSCALn, TZEROn (including that of unsigned integers) and
            TNULLn, text as bytes.

        Returns
        -------
        Columns
            Arrays by name, in the requested order.

        Raises
        ------
        UsageKeyError
            A column or row does not exist.
        FormatError
            A field is invalid, or a truncated file lacks the rows; the other columns and rows stay
            readable.

        Examples
        --------
        >>> import tachyfits as tf
        >>> table = tf.open("table.fits")[1]
        >>> table.read(["RA", "DEC"], rows=slice(1, 3)).to_structured().tolist()
        [(11.0, -1.0), (12.0, 0.0)]
        """
        selected = self._chosen(columns)
        selection = self._rows(rows)
        plan = self._plan(selected, raw, threads, progress)
        if where is not None and isinstance(selection, tuple):
            return self._read_found(plan, where, *selection)
        return self._read_as(plan, self._among(selection, where, threads, progress))

    def _selected(
        self, rows: Any, where: str | None, threads: int | None, progress: Progress | None
    ) -> Rows:
        return self._among(self._rows(rows), where, threads, progress)

    def _among(
        self, rows: Rows, where: str | None, threads: int | None, progress: Progress | None
    ) -> Rows:
        if where is None:
            return rows
        return among(self._found(where, *span_of(rows), threads, progress), rows)

    @placing
    def _rows(self, rows: Any) -> Rows:
        last = last_of(rows, len(self))
        if last is not None and last >= self.rows_present and self.columns:
            # Let the engine refuse a missing row before the row numbers are created: a header may
            # claim very many rows.
            largest = np.iinfo(np.int64).max
            self._core_table().read([0], np.array([min(last, largest)], np.int64))
        return resolve_rows(rows, len(self))

    @placing
    def _found(
        self, where: str, first: int, last: int, threads: int | None, progress: Progress | None
    ) -> NDArray[np.int64]:
        self._check_condition(where)
        self._warn_of_tiles()
        return self._core_table().rows_where(
            where, first, last, threads=self._threads(threads), progress=progress
        )

    @staticmethod
    def _check_condition(where: Any) -> None:
        if not isinstance(where, str):
            raise usage(
                f"invalid where {where!r}: expected text", 'write it as "MAG < 20 && N == 1"'
            )

    @placing
    def _read_found(self, plan: _Plan, where: str, first: int, last: int) -> Columns:
        """Read the rows of a range that satisfy a condition, in one scan."""
        self._check_condition(where)
        numbers, arrays = self._core_table().read_where(
            where, plan.together, first, last, text=plan.text, **plan.options
        )
        return self._columns_of(plan, numbers, arrays)

    def _read(
        self,
        columns: Sequence[TableColumn],
        rows: Rows,
        raw: bool,
        threads: int | None,
        progress: Progress | None,
        *,
        text: str | None = None,
    ) -> Columns:
        return self._read_as(self._plan(columns, raw, threads, progress, text), rows)

    def _plan(
        self,
        columns: Sequence[TableColumn],
        raw: bool,
        threads: int | None,
        progress: Progress | None,
        text: str | None = None,
    ) -> _Plan:
        """Return options for reading columns; ``text`` "bytes" keeps text as S, a quarter of U."""
        self._warn_of_tiles()
        return _Plan(
            columns,
            [column.number for column in columns if not is_apart(column, raw)],
            text or ("bytes" if raw else "str"),
            {"raw": raw, "threads": self._threads(threads), "progress": progress},
            {column.key: column for column in columns},
        )

    def _read_as(self, plan: _Plan, rows: Rows, buffers: list[Given] | None = None) -> Columns:
        """Read rows; ``buffers`` collects the arrays of fixed-length columns for reuse."""
        core = self._core_table()
        into = [beginning(array, count_of(rows)) for array in buffers] if buffers else None
        arrays = core.read(plan.together, rows, text=plan.text, into=into, **plan.options)
        if buffers == []:
            buffers.extend((values, nulls) for values, nulls, _ in arrays)
        return self._columns_of(plan, rows, arrays)

    def _columns_of(
        self,
        plan: _Plan,
        rows: Rows,
        columns_read: Sequence[tuple[NDArray[Any], NDArray[np.bool_] | None, int]],
    ) -> Columns:
        """Return the columns of rows from ``columns_read``, and read those that it lacks."""
        core, text, options = self._core_table(), plan.text, plan.options
        together = iter(columns_read)
        arrays: dict[str, Values] = {}
        for column in plan.wanted:
            if column.is_variable:
                arrays[column.key], odd = ragged(core, column, rows, text, options)
                values = arrays[column.key]
                if column.shape and isinstance(values, Ragged) and not values.cell_shape:
                    self._warn_of_shape(column)
            elif is_apart(column, options["raw"]):
                arrays[column.key], odd = divided(core, column, rows, text, options)
            else:
                values, nulls, odd = next(together)
                if odd and values.dtype.kind == "S":
                    # Other callers treat bytes as UTF-8.
                    values = decoded(values, core.text_encoding(column.number))
                arrays[column.key] = masked(values, nulls)
            if odd:
                self._warn_of_odd(column, odd)
        meta, comments = self._meta()
        return Columns(arrays, plan.info, meta=meta, comments=comments)

    @placing
    def _stream(
        self,
        columns: Sequence[TableColumn],
        rows: tuple[int, int],
        where: str | None,
        batch_rows: int,
        threads: int | None,
        metadata: tuple[list[tuple[str, str]], list[list[tuple[str, str]]]],
    ) -> object:
        """Return a stream of Arrow batches in a capsule; ``metadata`` of the schema and fields."""
        if where is not None:
            self._check_condition(where)
        self._warn_of_tiles()

        def faults(counts: Sequence[tuple[int, bool]]) -> None:
            for column, (odd, is_misshapen) in zip(columns, counts, strict=True):
                if is_misshapen:
                    self._warn_of_shape(column)
                if odd:
                    self._warn_of_odd(column, odd)

        return self._core_table().arrow_stream(
            [column.number for column in columns], *rows, condition=where, batch_rows=batch_rows,
            metadata=metadata, faults=faults, threads=self._threads(threads),
        )  # fmt: skip

    def _warn_of_shape(self, column: TableColumn) -> None:
        elements = int(np.prod(column.shape))
        warn(
            f"{self._where()}, column {column.name!r}: TDIM{column.number + 1} is for arrays "
            f"of {elements} element{'s' * (elements != 1)}, and some have other numbers: "
            "all are read with one axis"
        )

    def _warn_of_odd(self, column: TableColumn, odd: int) -> None:
        if column.dtype.kind == "U":
            self._warn_of_latin_1(column)
            return
        warn(
            f"{self._where()}, column {column.name!r}: {odd} "
            "logical values are neither T, F nor 0; 1 counts as true, others as undefined"
        )

    def _warn_of_latin_1(self, column: TableColumn) -> None:
        """Warn once that the text of a column is not UTF-8."""
        is_latin_1 = self._core_table().text_encoding(column.number) == "latin-1"
        if is_latin_1 and column.number not in self._latin_1:
            self._latin_1 |= {column.number}
            warn(
                f"{self._where()}, column {column.name!r}: text outside ASCII, which the Standard "
                "does not allow, is not UTF-8: all of the column is read as Latin-1"
            )

    def _meta(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the keywords about the table as a whole, and the comments of their cards.

        Cards of its structure are excluded.
        """
        if self._said_of is None:
            self._said_of = meta_of(self.header), comments_of(self.header)
        meta, comments = self._said_of
        # Each caller gets its own lists of comments.
        own = {
            key: list(value) if isinstance(value, list) else value for key, value in meta.items()
        }
        return own, comments

    def where(
        self,
        condition: str,
        *,
        rows: Any = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.int64]:
        """Return the numbers (0-based) of the rows that satisfy a condition, in order.

        Only the columns in the condition are decoded, block by block; no column is in memory as a
        whole.

        Parameters
        ----------
        condition
            Comparisons of columns, numbers and text, joined by ``&&``, ``||`` and ``!``: ``"MAG <
            20 && CLASS == 'STAR'"``. Arithmetic and functions are those of `tachyfits.evaluate`, in
            float64. Put names with characters other than letters, digits and "_", and columns
            called T, F or ROW, in backquotes. ``ROW`` is the number of the row from 1, ``W[2]`` the
            second element of a cell, in file order. ``&`` and ``|`` of integers are bitwise:
            ``(QUALITY & 128) == 0``. ``N IN (1, 2)`` is true for one of the values. ``NAME LIKE
            'NGC%'`` is true for text that matches: ``%`` is any text, ``_`` one character, each
            literal after the character of ``ESCAPE '!'``. A number compared with a float32 column
            is rounded to float32. An undefined value makes a comparison false, so ``!(N == 1)`` is
            true; test for it with ``isnull(x)``.
        rows
            Search only these rows; see `read`.

        Examples
        --------
        >>> import tachyfits as tf
        >>> tf.open("table.fits")[1].where("MAG < 20 && RA > 10.5")
        array([2, 4])
        """
        selection = self._selected(rows, condition, threads, progress)
        return np.arange(*selection) if isinstance(selection, tuple) else selection

    def batches(
        self,
        columns: ColumnNames = None,
        *,
        rows: int = 100_000,
        where: str | None = None,
        within: Any = None,
        raw: bool = False,
        reuse: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Columns]:
        """Yield the table in batches of ``rows`` rows, in the memory of a few batches.

        Parameters
        ----------
        rows
            Number of rows in each batch; the last may have fewer.
        within
            Only these rows, as in `read`.
        columns, where, raw
            As in `read`.
        reuse
            Read each batch into the arrays of the previous one; about twice as fast for batches
            that stay in the processor's cache.

        Examples
        --------
        >>> import tachyfits as tf
        >>> table = tf.open("table.fits")[1]
        >>> sum(batch["RA"].sum() for batch in table.batches("RA", rows=2))
        np.float64(60.0)
        """
        selected, size = self._chosen(columns), batch_size(rows)
        plan = self._plan(selected, raw, threads, progress)
        pieces = self._pieces(self._rows(within), where, size, threads)
        buffers: list[Given] | None = [] if reuse else None
        return (self._read_as(plan, piece, buffers) for piece in pieces)

    def _pieces(
        self, rows: Rows, where: str | None, batch_rows: int, threads: int | None
    ) -> Iterator[Rows]:
        """Yield rows in batches; a condition is evaluated on a bounded number of rows at a time."""
        count = count_of(rows)
        if where is None:
            for first in range(0, count, batch_rows):
                yield piece_of(rows, first, min(first + batch_rows, count))
            return
        waiting = np.zeros(0, np.int64)
        for first in range(0, count, SEARCHED_ROWS):
            piece = piece_of(rows, first, min(first + SEARCHED_ROWS, count))
            numbers = self._among(piece, where, threads, None)
            waiting = np.concatenate([waiting, np.asarray(numbers, np.int64)])
            while len(waiting) >= batch_rows:
                yield waiting[:batch_rows]
                waiting = waiting[batch_rows:]
        if len(waiting):
            yield waiting


def _described(
    number: int, core: _core.Column, header: Header, carried: tuple[tuple[str, Any], ...]
) -> TableColumn:
    return TableColumn(
        number=number,
        key=core.key,
        name=core.name,
        form=core.form,
        dtype=np.dtype(core.dtype),
        shape=tuple(core.shape),
        is_variable=core.is_variable,
        unit=core.unit,
        null=core.null,
        display=core.display,
        scale=core.scale,
        zero=core.zero,
        description=description_of(header, number + 1),
        carried=carried,
        delimiter=None if core.delimiter is None else chr(core.delimiter),
    )
