"""Table: the rows and columns of one HDU, lazy until they are read.

It translates names, rows and conditions into the engine's terms and its answers into NumPy's;
every loop over rows is in the compiled module. Results are `Columns`; conversions to other
libraries are theirs.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits._columns import Columns, TableColumn, Values, keys_of
from tachyfits._errors import not_found, usage
from tachyfits._hdu import Hdu
from tachyfits._pixels import Progress
from tachyfits._ragged import Ragged
from tachyfits._table_rows import Rows, among, count_of, piece_of, resolve_rows, span_of
from tachyfits._table_text import html_of, text_of
from tachyfits._threads import check_threads

if TYPE_CHECKING:
    import astropy.table
    import pandas
    import polars
    import pyarrow

#: What names columns: a name (any case), a 0-based number, several of them; None: all.
ColumnNames = str | int | Sequence[str | int] | None

#: Rows that a condition is asked of at a time, when its answers are handed out in batches.
SEARCHED_ROWS = 1 << 22

#: Rows and characters that are shown of a table.
SHOWN_ROWS = 10


class Table(Hdu):
    """A table: binary (BINTABLE) or text (TABLE). Lazy until columns or rows are read.

    ``table["RA"]`` and ``table[3]`` are columns, by name (any case) or 0-based number; ``len`` is
    the number of rows. Values are native-endian, with TSCALn and TZEROn applied. Where an integer
    (TNULLn) or a truth value is undefined, a column is a masked array; floats, scaled integers
    among them, are NaN there. Cells that are arrays of different lengths make a `Ragged`. Shapes
    are in NumPy order: rows first, then TDIMn reversed.

    Every operation takes ``threads`` (None: the file's default; 0: one per core) and ``progress``,
    a function that is called with (bytes done, bytes in all) and stops the work by returning False.

    Examples
    --------
    >>> import tachyfits as tf
    >>> table = tf.open("table.fits")[1]
    >>> table
    <tachyfits Table HDU 1 'STARS' binary table, 5 rows of 4 columns, of ...table.fits>
    NAME        RA    DEC    MAG
             [deg]  [deg]  [mag]
    alpha     10.0   -2.0   18.5
    beta      11.0   -1.0   21.0
    gamma     12.0    0.0  19.25
    delta     13.0    1.0    nan
    epsilon   14.0    2.0   17.0
    >>> table["MAG"]
    array([18.5 , 21.  , 19.25,   nan, 17.  ])
    >>> table.read(["NAME", "RA"], where="MAG < 20")["NAME"]
    array(['alpha', 'gamma', 'epsilon'], dtype='<U8')
    """

    _table: _core.Table | None = None
    _known: tuple[TableColumn, ...] | None = None

    def _core_table(self) -> _core.Table:
        self._file._open_core()
        if self._table is None:
            self._table = self._hdu().table()
            if self._table.warnings:
                listed = "\n".join(f"  - {warning}" for warning in self._table.warnings)
                where = f"{self._file.name}: HDU {self._index} (0-based)"
                warnings.warn(f"{where}:\n{listed}", _core.TachyfitsWarning, stacklevel=4)
        return self._table

    def _release(self) -> None:
        self._table = None

    def _threads(self, threads: int | None) -> int:
        return self._file.threads if threads is None else check_threads(threads)

    # What the header says.

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """What is known of each column: name, unit, form, dtype, shape of a cell, null, ..."""
        if self._known is None:
            found = self._core_table().columns()
            keys = keys_of([column.name for column in found])
            comments = self.header.comments
            self._known = tuple(
                _described(number, key, column, comments.get(f"TTYPE{number + 1}", ""))
                for number, (key, column) in enumerate(zip(keys, found, strict=True))
            )
        return self._known

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called in results: TTYPEn, numbered where given twice."""
        return tuple(column.key for column in self.columns)

    @property
    def rows_present(self) -> int:
        """Whole rows that the file has; fewer than ``len(table)`` when it is cut short."""
        return self._core_table().rows_present

    @property
    def row_bytes(self) -> int:
        """NAXIS1: bytes from one row to the next."""
        return self._core_table().row_bytes

    @property
    def last_report(self) -> _core.Report | None:
        """Cost of the latest operation on this object; None before the first."""
        return self._table.last_report if self._table is not None else None

    def column(self, column: str | int) -> TableColumn:
        """Return what is known of a column, by name (any case; the first of that name) or number.

        Raises
        ------
        NotFoundError
            There is none (a KeyError and an IndexError).
        """
        columns = self.columns
        if isinstance(column, str):
            for known in columns:
                if known.key == column:
                    return known
            wanted = column.rstrip().upper()
            for known in columns:
                if wanted in (known.name.rstrip().upper(), known.key.upper()):
                    return known
        elif _is_number(column) and -len(columns) <= column < len(columns):
            return columns[column]
        raise not_found(
            f"{self._file.name}: HDU {self._index} (0-based): there is no column {column!r}",
            f"the columns are {', '.join(self.names) or 'none'}",
        )

    def _chosen(self, columns: ColumnNames) -> list[TableColumn]:
        if columns is None:
            return list(self.columns)
        if isinstance(columns, (str, int, np.integer)):
            return [self.column(columns)]
        return list(dict.fromkeys(self.column(column) for column in columns))

    # Reading.

    def __len__(self) -> int:
        return self._core_table().rows

    def __bool__(self) -> bool:
        # A table without rows is a table.
        return True

    @overload
    def __getitem__(self, key: str | int) -> Any: ...
    @overload
    def __getitem__(self, key: list[str] | list[int]) -> Columns: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (list, tuple)):
            return self.read(key)
        if isinstance(key, (slice, np.ndarray)):
            raise usage(
                f"table[{key!r}]: an index is a column here", "table.read(rows=...) takes rows"
            )
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
        """Read columns, all in one pass over the rows (cells in the heap need one more each).

        Parameters
        ----------
        columns
            A name (any case) or 0-based number, or several; None: all.
        rows
            A slice, 0-based numbers in any order, or a mask; None: all.
        where
            Only rows for which this holds; see `where`.
        raw
            The stored values: neither TSCALn and TZEROn (those of unsigned integers included) nor
            TNULLn applied, text as bytes.

        Returns
        -------
        Columns
            Arrays by name, in the order asked for.

        Raises
        ------
        NotFoundError
            There is no such column or row.
        FitsFormatError
            A field cannot be understood, or the rows are missing from a file that was cut short;
            the other columns and rows stay readable.

        Examples
        --------
        >>> import tachyfits as tf
        >>> table = tf.open("table.fits")[1]
        >>> table.read(["RA", "DEC"], rows=slice(1, 3)).to_structured().tolist()
        [(11.0, -1.0), (12.0, 0.0)]
        """
        wanted = self._chosen(columns)
        chosen = self._selected(rows, where, threads, progress)
        return self._read(wanted, chosen, raw, threads, progress)

    def _selected(
        self, rows: Any, where: str | None, threads: int | None, progress: Progress | None
    ) -> Rows:
        chosen = resolve_rows(rows, len(self))
        if where is None:
            return chosen
        return among(self._found(where, *span_of(chosen), threads, progress), chosen)

    def _found(
        self, where: str, first: int, last: int, threads: int | None, progress: Progress | None
    ) -> NDArray[np.int64]:
        return self._core_table().rows_where(
            where, first, last, threads=self._threads(threads), progress=progress
        )

    def _read(
        self,
        wanted: Sequence[TableColumn],
        rows: Rows,
        raw: bool,
        threads: int | None,
        progress: Progress | None,
        *,
        text: str | None = None,
    ) -> Columns:
        """Read; ``text`` "bytes" leaves text as NumPy's S, a quarter of U."""
        core, count = self._core_table(), self._threads(threads)
        text = text or ("bytes" if raw else "str")
        options: dict[str, Any] = {"raw": raw, "threads": count, "progress": progress}
        arrays: dict[str, Values] = {}
        fixed = [column for column in wanted if not column.is_variable]
        read = core.read([column.number for column in fixed], rows, text=text, **options)
        together = dict(zip((column.key for column in fixed), read, strict=True))
        for column in wanted:
            if column.is_variable:
                arrays[column.key], odd = _ragged(core, column, rows, text, options)
            else:
                values, nulls, odd = together[column.key]
                arrays[column.key] = _masked(values, nulls)
            self._warn_of_odd(column, odd)
        return Columns(arrays, {column.key: column for column in wanted}, meta=self._meta())

    def _warn_of_odd(self, column: TableColumn, odd: int) -> None:
        if odd:
            warnings.warn(
                f"{self._file.name}: HDU {self._index} (0-based), column {column.name!r}: {odd} "
                "logical values are neither T, F nor 0; 1 is taken as true, others as undefined",
                _core.TachyfitsWarning,
                stacklevel=5,
            )

    def _meta(self) -> dict[str, Any]:
        """Return the keywords that describe the table as a whole, not its structure."""
        from tachyfits._table_meta import meta_of

        return meta_of(self.header)

    def where(
        self,
        condition: str,
        *,
        rows: Any = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.int64]:
        """Return the numbers (0-based) of the rows for which a condition holds, in their order.

        Only the columns in the condition are decoded, block by block; nothing of a column is ever
        in memory as a whole.

        Parameters
        ----------
        condition
            Comparisons of columns, numbers and text, joined by ``&&``, ``||`` and ``!``:
            ``"MAG < 20 && CLASS == 'STAR'"``. Arithmetic and functions are those of
            `tachyfits.evaluate`; a name with other characters than letters, digits and "_" stands
            in backquotes. ``ROW`` is the number of the row from 1. An undefined value makes a
            comparison false; ``isnull(x)`` asks for one.
        rows
            Only among these; see `read`.

        Examples
        --------
        >>> import tachyfits as tf
        >>> tf.open("table.fits")[1].where("MAG < 20 && RA > 10.5")
        array([2, 4])
        """
        chosen = self._selected(rows, condition, threads, progress)
        return np.arange(*chosen) if isinstance(chosen, tuple) else chosen

    def batches(
        self,
        columns: ColumnNames = None,
        *,
        rows: int = 100_000,
        where: str | None = None,
        within: Any = None,
        raw: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Columns]:
        """Give the table in pieces of ``rows`` rows: memory stays that of a few pieces.

        Parameters
        ----------
        rows
            How many in each piece; the last may have fewer.
        within
            Only these rows: what `read` calls ``rows``.
        columns, where, raw
            As in `read`.

        Examples
        --------
        >>> import tachyfits as tf
        >>> table = tf.open("table.fits")[1]
        >>> sum(batch["RA"].sum() for batch in table.batches("RA", rows=2))
        np.float64(60.0)
        """
        if isinstance(rows, bool) or not hasattr(rows, "__index__") or rows < 1:
            raise usage(f"batches of rows={rows!r}", "give a number of rows, 1 or more")
        wanted = self._chosen(columns)
        pieces = self._pieces(resolve_rows(within, len(self)), where, int(rows), threads)
        return (self._read(wanted, piece, raw, threads, progress) for piece in pieces)

    def _pieces(
        self, rows: Rows, where: str | None, batch_rows: int, threads: int | None
    ) -> Iterator[Rows]:
        """Give rows by so many; a condition is asked of a bounded number of rows at a time."""
        count = count_of(rows)
        if where is None:
            for first in range(0, count, batch_rows):
                yield piece_of(rows, first, min(first + batch_rows, count))
            return
        waiting = np.zeros(0, np.int64)
        for first in range(0, count, SEARCHED_ROWS):
            piece = piece_of(rows, first, min(first + SEARCHED_ROWS, count))
            found = self._selected(_as_index(piece), where, threads, None)
            waiting = np.concatenate([waiting, np.asarray(found, np.int64)])
            while len(waiting) >= batch_rows:
                yield waiting[:batch_rows]
                waiting = waiting[batch_rows:]
        if len(waiting):
            yield waiting

    # To other libraries.

    def to_arrow(
        self, columns: ColumnNames = None, *, rows: Any = None, where: str | None = None,
        threads: int | None = None, progress: Progress | None = None,
    ) -> pyarrow.Table:  # fmt: skip
        """Return a pyarrow Table (needs pyarrow: ``pip install 'tachyfits[arrow]'``).

        Numbers, and cells in the heap, are not copied once more; null where undefined. Array cells
        are fixed-size lists (nested in NumPy order), complex numbers lists of two floats, cells
        of different lengths large lists. Units and descriptions are in the fields' metadata.

        A table is also a stream of Arrow batches for whoever asks (``__arrow_c_stream__``):
        ``polars.DataFrame(table)``, ``pyarrow.table(table)``, DuckDB's ``FROM table``.
        """
        return self._read_for_others(columns, rows, where, threads, progress).to_arrow()

    def arrow_reader(
        self, columns: ColumnNames = None, *, rows: int = 100_000, where: str | None = None,
        within: Any = None, threads: int | None = None,
    ) -> pyarrow.RecordBatchReader:  # fmt: skip
        """Return a pyarrow reader that reads the table batch by batch; options as of `batches`."""
        from tachyfits._arrow import reader_of

        wanted = self._chosen(columns)
        pieces = self._pieces(resolve_rows(within, len(self)), where, rows, threads)
        batches = (self._read(wanted, p, False, threads, None, text="bytes") for p in pieces)
        empty = self._read(wanted, (0, 0), False, threads, None, text="bytes")
        return reader_of(empty, batches)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.arrow_reader().__arrow_c_stream__(requested_schema)

    def to_astropy(
        self, columns: ColumnNames = None, *, rows: Any = None, where: str | None = None,
        threads: int | None = None, progress: Progress | None = None,
    ) -> astropy.table.Table:  # fmt: skip
        """Return an astropy Table: units, masks, descriptions, and the header's cards as meta.

        Examples
        --------
        >>> import tachyfits as tf
        >>> table = tf.open("table.fits")[1].to_astropy()
        >>> table["RA"].unit, table.meta["EXTNAME"]
        (Unit("deg"), 'STARS')
        """
        return self.read(
            columns, rows=rows, where=where, threads=threads, progress=progress
        ).to_astropy()

    def to_pandas(
        self, columns: ColumnNames = None, *, rows: Any = None, where: str | None = None,
        threads: int | None = None, progress: Progress | None = None,
    ) -> pandas.DataFrame:  # fmt: skip
        """Return a pandas DataFrame (needs pandas).

        Undefined integers and truth values are pandas' own (``Int64``, ``boolean``); cells that
        are arrays are objects. Units are in ``frame.attrs["units"]``.
        """
        return self.read(
            columns, rows=rows, where=where, threads=threads, progress=progress
        ).to_pandas()

    def to_polars(
        self, columns: ColumnNames = None, *, rows: Any = None, where: str | None = None,
        threads: int | None = None, progress: Progress | None = None,
    ) -> polars.DataFrame:  # fmt: skip
        """Return a polars DataFrame, through Arrow (needs polars and pyarrow)."""
        return self._read_for_others(columns, rows, where, threads, progress).to_polars()

    def _read_for_others(
        self, columns: ColumnNames, rows: Any, where: str | None,
        threads: int | None, progress: Progress | None,
    ) -> Columns:  # fmt: skip
        chosen = self._selected(rows, where, threads, progress)
        return self._read(self._chosen(columns), chosen, False, threads, progress, text="bytes")

    def write(
        self,
        path: str | os.PathLike[str],
        columns: ColumnNames = None,
        *,
        rows: Any = None,
        where: str | None = None,
        overwrite: bool = False,
        batch_rows: int = 100_000,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Write the table, or a part of it, in the format that the name ends in.

        It is streamed: memory stays small for a table of any size. The file appears under its
        name when it is complete.

        Parameters
        ----------
        path
            ``.fits`` (the header is carried over), ``.csv``, ``.parquet`` or ``.arrow`` (the last
            two need pyarrow).
        columns, rows, where
            As in `read`.
        overwrite
            Replace an older file.
        batch_rows
            Rows that are in memory at a time.

        Examples
        --------
        >>> import tachyfits as tf
        >>> tf.open("table.fits")[1].write("bright.csv", ["NAME", "MAG"], where="MAG < 18")
        >>> print(open("bright.csv").read())
        NAME,MAG
        epsilon,17.0
        """
        from tachyfits._table_export import export

        wanted = self._chosen(columns)
        chosen = resolve_rows(rows, len(self))
        export(self, path, wanted, chosen, where, overwrite, batch_rows, threads, progress)

    # Looks.

    def _heading(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        columns = len(self.columns)
        return (
            f"<tachyfits Table HDU {self._index}{name} {self.kind}, {len(self)} rows of "
            f"{columns} column{'' if columns == 1 else 's'}, of {self._file.name}>"
        )

    def _first_rows(self) -> Columns:
        return self._read(list(self.columns), (0, min(SHOWN_ROWS, len(self))), False, 1, None)

    def __repr__(self) -> str:
        if self._file.closed:
            return f"<tachyfits Table HDU {self._index} of {self._file.name}, closed>"
        try:
            head = self._first_rows()
        except _core.TachyfitsError as error:
            # Looking at a damaged table must not fail.
            return f"{self._heading()}\n({str(error).splitlines()[0]})"
        more = f"\n... {len(self) - head.rows} more rows" if len(self) > head.rows else ""
        if not len(head):
            return self._heading()
        text = text_of(dict(head), [column.unit or "" for column in self.columns])
        return f"{self._heading()}\n{text}{more}"

    def _repr_html_(self) -> str:
        head = self._first_rows()
        caption = f"{self._file.name}, HDU {self._index} {self.name}: {len(self)} rows"
        return html_of(dict(head), [column.unit or "" for column in self.columns], caption)


def _described(number: int, key: str, core: _core.Column, description: str) -> TableColumn:
    return TableColumn(
        number=number,
        key=key,
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
        description=description,
    )


def _is_number(key: Any) -> bool:
    return hasattr(key, "__index__") and not isinstance(key, (bool, np.bool_))


def _masked(values: NDArray[Any], nulls: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return a masked array where anything is undefined, the array itself where nothing is."""
    if nulls is None or not nulls.any():
        return values
    return np.ma.MaskedArray(values, mask=nulls)


def _ragged(
    core: _core.Table, column: TableColumn, rows: Rows, text: str, options: dict[str, Any]
) -> tuple[Values, int]:
    """Return the cells of a column in the heap, and how many elements were odd."""
    offsets, values, nulls, odd = core.read_arrays(column.number, rows, **options)
    if column.dtype.kind == "U":
        return _strings(offsets, values, as_bytes=text == "bytes"), odd
    return Ragged(offsets, _masked(values, nulls), cell_shape=column.shape), odd


def _strings(
    offsets: NDArray[np.int64], characters: NDArray[np.uint8], *, as_bytes: bool
) -> NDArray[np.object_]:
    """Return text of any length as an array of str (or bytes): it ends at the first NUL."""
    data, bounds = characters.tobytes(), offsets.tolist()
    cells = np.empty(len(bounds) - 1, dtype=object)
    for row, (first, last) in enumerate(pairwise(bounds)):
        cell = data[first:last].partition(b"\0")[0].rstrip(b" ")
        cells[row] = cell if as_bytes else cell.decode("latin-1")
    return cells


def _as_index(rows: Rows) -> Any:
    return slice(*rows) if isinstance(rows, tuple) else rows
