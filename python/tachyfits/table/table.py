"""Table: the rows and columns of one HDU, with display and conversion to other libraries.

Reading is in `table.reading`; results are `Columns`, which convert to other libraries.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import either, usage
from tachyfits.base.hints import attribute_hint, closest
from tachyfits.base.progress import Progress
from tachyfits.base.upper import upper
from tachyfits.table.columns import Columns
from tachyfits.table.display import html_of, text_of
from tachyfits.table.intervals import clock_offset, inside, seconds_per_unit
from tachyfits.table.joining import pairs_of, side_by_side
from tachyfits.table.part import Part
from tachyfits.table.reading import ColumnNames, TableReading
from tachyfits.table.rows import batch_size
from tachyfits.table.sky import (
    Matches,
    cone_condition,
    in_one_frame,
    nearest,
    position_columns,
    positions_of,
)
from tachyfits.text.cones import cone

if TYPE_CHECKING:
    import astropy.table
    import dask.dataframe
    import pandas
    import polars
    import pyarrow

    from tachyfits.interop.arrow_stream import ArrowStream

#: Number of rows in a table's repr.
SHOWN_ROWS = 10


def _centre(ra: Any, dec: Any, radius: Any) -> tuple[Any, Any, Any]:
    """Return longitude, latitude and radius of a cone; an astropy SkyCoord has the first two."""
    if not hasattr(ra, "transform_to"):
        if radius is None:
            raise usage(
                "invalid cone: expected a radius, found none",
                either('give ra, dec and radius, or a SkyCoord and a radius: "5arcmin"'),
            )
        return ra, dec, radius
    if radius is not None or not getattr(ra, "isscalar", False):
        raise usage(
            "invalid cone: expected one position of astropy and a radius",
            either('give cone(SkyCoord("05h34m32s +22d00m52s"), "5arcmin")'),
        )
    position = ra.transform_to("icrs")
    return position.spherical.lon, position.spherical.lat, dec


@public
class Table(TableReading):
    """A table: binary (BINTABLE) or text (TABLE). Lazy until columns or rows are read.

    ``table["RA"]`` and ``table[3]`` are columns, by name (any case) or 0-based number; ``len`` is
    the number of rows. Values are native-endian, with TSCALn and TZEROn applied. A column with
    undefined integers (TNULLn) or truth values is a masked array; undefined floats, and scaled
    integers, are NaN. Cells that are arrays of different lengths make a `Ragged`. Shapes are in
    NumPy order: rows first, then TDIMn reversed.

    Every operation takes ``threads`` (None: the file's default; 0: one per core) and ``progress``,
    a function that is called with (bytes done, total bytes) and stops the work by returning False.

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

    _data_kind = "table"

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns, as in data frames; the header's NAXIS1 is the bytes of a row."""
        return len(self), len(self.columns)

    # Positions on the sky.

    def cone(
        self, ra: Any, dec: Any, radius: Any = None, *, columns: ColumnNames = None,
        names: Sequence[str] | None = None, where: str | None = None,
        threads: int | None = None, progress: Progress | None = None,
    ) -> Columns:  # fmt: skip
        """Return the rows within an angle of a position, in one pass over the rows.

        Parameters
        ----------
        ra, dec, radius
            Degrees, or text or quantities with a unit ("05h34m32s", "5arcmin"). The position is in
            the system of the columns. Or a SkyCoord of one position, in any frame, and the radius:
            ``cone(position, "5arcmin")``; the columns are then assumed to be ICRS, as in `match`.
        columns
            As in `read`.
        names
            The two position columns; None: those with UCD pos.eq.ra and pos.eq.dec, else those with
            a common name (RA and DEC, RAJ2000 and DEJ2000, ...). Their units are converted.
        where
            Another condition that the rows satisfy.

        Raises
        ------
        UsageError
            The columns do not exist, or they are not angles.

        Notes
        -----
        Angles on the sphere are computed by Vincenty's formula in float64, also at the poles and
        across the zero of longitude. The cone includes its border. Rows without a position are
        excluded.

        Examples
        --------
        >>> import tachyfits as tf
        >>> tf.open("table.fits")[1].cone(11.5, -0.5, "1deg", columns="NAME")["NAME"]
        array(['beta', 'gamma'], dtype='<U8')
        >>> from astropy.coordinates import SkyCoord
        >>> position = SkyCoord("00h46m00s -00d30m00s")
        >>> tf.open("table.fits")[1].cone(position, "1deg", columns="NAME")["NAME"]
        array(['beta', 'gamma'], dtype='<U8')
        """
        condition = cone_condition(self.columns, cone(*_centre(ra, dec, radius)), names)
        combined = condition if where is None else f"({where}) and {condition}"
        return self.read(columns, where=combined, threads=threads, progress=progress)

    def match(
        self, other: Any, radius: Any = None, *, names: Sequence[str] | None = None,
        other_names: Sequence[str] | None = None,
    ) -> Matches:  # fmt: skip
        """Return the nearest row of another table for each row.

        Parameters
        ----------
        other
            A `Table`, or positions as an astropy SkyCoord.
        radius
            Maximum separation; None: any. As in `cone`.
        names, other_names
            Columns of positions, as in `cone`.

        Returns
        -------
        Matches
            ``index``, the row of ``other`` (int64, -1 without a match), and ``separation``
            (degrees).

        Examples
        --------
        >>> import tachyfits as tf
        >>> table = tf.open("table.fits")[1]
        >>> table.match(table, "1arcsec").index
        array([0, 1, 2, 3, 4])
        """
        limit = None if radius is None else cone(0.0, 0.0, radius)[2]
        own = self._positions(names)
        if isinstance(other, Table):
            return nearest(own, other._positions(other_names), limit)
        return nearest(*in_one_frame(own, other), limit)

    def join(
        self, other: Table, radius: Any = None, *, kind: str = "inner", matches: str = "nearest",
        names: Sequence[str] | None = None, other_names: Sequence[str] | None = None,
    ) -> Columns:  # fmt: skip
        """Return the rows of two tables side by side, if their positions match.

        Parameters
        ----------
        other
            Another table. Both tables must have positions in the same frame, as in `match`.
        radius
            Maximum separation; None: any (only for the nearest match). As in `cone`.
        kind
            "inner": rows with a match. "left": every row of this table; the columns of the other
            are undefined without a match (NaN, masked, or cells without elements).
        matches
            "nearest": the nearest row of the other table. "all": every row within the radius, the
            nearest first.
        names, other_names
            Columns of positions, as in `cone`.

        Returns
        -------
        Columns
            The columns of this table, those of the other table (with "_2" after a name that this
            table has too), and SEPARATION (float64, degrees, NaN without a match). Rows are in the
            order of this table.

        Raises
        ------
        UsageError
            An option is invalid, or a table has no position columns.

        Notes
        -----
        The rows of the result are in memory. A row of the other table may match several rows.

        Examples
        --------
        >>> import tachyfits as tf
        >>> table = tf.open("table.fits")[1]
        >>> pairs = table.join(table, "1arcsec")
        >>> pairs.names
        ('NAME', 'RA', 'DEC', 'MAG', 'NAME_2', 'RA_2', 'DEC_2', 'MAG_2', 'SEPARATION')
        """
        limit = None if radius is None else cone(0.0, 0.0, radius)[2]
        if not isinstance(other, Table):
            raise usage(
                f"invalid table of type {type(other).__name__}: expected a Table of tachyfits",
                either("use tachyfits.open(...)[1]"),
            )
        own, others = self._positions(names), other._positions(other_names)
        pairs = pairs_of(own, others, limit, kind, matches)
        partners = other.read(rows=pairs.right[pairs.right >= 0])
        return side_by_side(self.read(rows=pairs.left), partners, pairs)

    def during(
        self, intervals: Table, columns: ColumnNames = None, *, time: str = "TIME",
        start: str = "START", stop: str = "STOP", where: str | None = None,
    ) -> Columns:  # fmt: skip
        """Return the rows whose time lies in good time intervals, as gtifilter of FTOOLS does.

        Parameters
        ----------
        intervals
            A table of intervals, such as a GTI extension.
        columns, where
            As in `read`.
        time, start, stop
            Names of the columns of times, and of the ends of intervals. Units are converted.

        Raises
        ------
        UsageError
            A column is not of times, or the tables differ in MJDREF or TIMESYS.

        Notes
        -----
        Both ends belong to an interval. TIMEZERO of each table is added to its times. Undefined
        times lie in no interval. Intervals may overlap, in any order.

        Examples
        --------
        >>> import tachyfits as tf
        >>> tf.write("events.fits", {"TIME": [0.5, 2.0, 3.5]}, units={"TIME": "s"})
        >>> tf.write("gti.fits", {"START": [2.0], "STOP": [3.0]}, name="GTI")
        >>> tf.open("events.fits")[1].during(tf.open("gti.fits")["GTI"])["TIME"]
        array([2.])
        """
        rows = self.in_intervals(intervals, time=time, start=start, stop=stop)
        return self.read(columns, rows=rows, where=where)

    def in_intervals(
        self, intervals: Table, *, time: str = "TIME", start: str = "START", stop: str = "STOP"
    ) -> NDArray[np.int64]:
        """Return the numbers (int64, from 0) of the rows of `during`, with the same options."""
        if not isinstance(intervals, Table):
            raise usage(
                f"invalid intervals of type {type(intervals).__name__}: expected a Table",
                either('use tachyfits.open("events.fits")["GTI"]'),
            )
        offset = clock_offset(self.header, intervals.header)
        ends = [intervals._seconds(name) + offset for name in (start, stop)]
        return np.flatnonzero(inside(self._seconds(time), ends[0], ends[1]))

    def _seconds(self, name: str) -> NDArray[np.float64]:
        """Return a column of times in seconds, NaN if undefined."""
        factor = seconds_per_unit(self.column(name), self.header)
        values = np.ma.asarray(self[name], dtype=np.float64)
        return np.ma.filled(values, np.nan) * factor

    def _positions(self, names: Sequence[str] | None) -> Any:
        position = position_columns(self.columns, names)
        keys = [position.longitude.key, position.latitude.key]
        return positions_of(self.read(keys), position)

    # Conversion to other libraries.

    def to_arrow(
        self, columns: ColumnNames = None, *, rows: Any = None, where: str | None = None,
        threads: int | None = None, progress: Progress | None = None,
    ) -> pyarrow.Table:  # fmt: skip
        """Return a pyarrow Table (needs pyarrow: ``pip install 'tachyfits[arrow]'``).

        Numbers, and cells in the heap, are not copied again; undefined values are null. Array cells
        are fixed-size lists (nested in NumPy order), complex numbers lists of two floats; cells of
        different lengths, and cells without elements, are large lists. Units and descriptions are
        in the fields' metadata, the header's cards in the schema's: `write` reads them back.

        A table is also a stream of Arrow batches (``__arrow_c_stream__``):
        ``polars.DataFrame(table)``, ``pyarrow.table(table)``, DuckDB's ``FROM table``.
        """
        return self._read_for_others(columns, rows, where, threads, progress).to_arrow()

    def arrow_stream(
        self, columns: ColumnNames = None, *, rows: int = 100_000, where: str | None = None,
        within: Any = None, threads: int | None = None,
    ) -> ArrowStream:  # fmt: skip
        """Return a source of Arrow batches for any library; each use reads from the start.

        Parameters
        ----------
        columns, where, within, threads
            As of `batches`.
        rows
            Number of rows to read at a time; without ``where``, the rows of a batch. Fewer if these
            rows exceed 256 MiB.

        Returns
        -------
        ArrowStream
            An object with ``__arrow_c_stream__``, which may be called any number of times, as by
            ``polars.DataFrame(...)``, ``pyarrow.table(...)`` and DuckDB's ``FROM``. pyarrow is
            needed only if ``within`` is a list of rows, or a column has strings with a delimiter
            (``TFORMn = 'rA:SSTRw/nnn'``).

        Raises
        ------
        UsageError
            The table lacks a column. An invalid condition is an error when a library reads the
            stream.

        Examples
        --------
        >>> import polars, tachyfits as tf
        >>> stars = tf.open("table.fits")[1].arrow_stream(["NAME", "MAG"], where="MAG < 18")
        >>> polars.DataFrame(stars)["NAME"].to_list()
        ['epsilon']
        """
        selection = self._rows(within)
        part = Part(self, self._chosen(columns), selection, where, batch_size(rows), threads)
        stream: ArrowStream = upper.ArrowStream(part)
        return stream

    def arrow_reader(
        self, columns: ColumnNames = None, *, rows: int = 100_000, where: str | None = None,
        within: Any = None, threads: int | None = None,
    ) -> pyarrow.RecordBatchReader:  # fmt: skip
        """Return a pyarrow reader of the batches of `arrow_stream`, with the same options."""
        stream = self.arrow_stream(columns, rows=rows, where=where, within=within, threads=threads)
        return stream.reader()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.arrow_stream().__arrow_c_stream__(requested_schema)

    def to_astropy(
        self, columns: ColumnNames = None, *, rows: Any = None, where: str | None = None,
        threads: int | None = None, progress: Progress | None = None,
    ) -> astropy.table.Table:  # fmt: skip
        """Return an astropy Table: units, masks, descriptions, and the header's cards as meta.

        Columns that are parts of an object (such as a SkyCoord written by astropy) become that
        object, as in astropy. Numbers in a unit (an Angle in astropy's Table), and parts of an
        object that is not read completely, stay columns; ``meta["__serialized_columns__"]`` then
        describes the numbers, as in astropy, and is written again. Text becomes astropy times if
        TCTYPn gives their scale, or TRPOSn with OBSGEO-X, -Y and -Z their location; the table's
        meta then has TIMESYS, "UTC" if the header has none, so that text written with them keeps
        it. The meta of other columns keeps these cards under "TCTYP" and "TRPOS", and the meta of
        every column has the other cards about it: limits (TLMINn, TDBINn), names in archives
        (TUCDn), coordinates (TCRVLn, and 1CRVLn as "1CRVL#"). They are written again with their
        column.

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

        Undefined integers and truth values use pandas' nullable types (``Int64``, ``boolean``);
        cells that are arrays are objects. Units are in ``frame.attrs["units"]``.
        """
        return self.read(
            columns, rows=rows, where=where, threads=threads, progress=progress
        ).to_pandas()

    def to_dask(
        self, columns: ColumnNames = None, *, rows: int | None = None
    ) -> dask.dataframe.DataFrame:
        """Return a dask DataFrame, whose partitions are read when they are needed.

        Parameters
        ----------
        columns
            As of `read`.
        rows
            Rows of a partition; None: about 64 MiB.

        Returns
        -------
        dask.dataframe.DataFrame
            Partitions are frames of `to_pandas`, with the number of the row as index.

        Raises
        ------
        UsageError
            dask or pandas is not installed.
        IoError
            When a task runs: the file has changed since the DataFrame was created.

        Examples
        --------
        >>> import tachyfits as tf
        >>> stars = tf.open("table.fits")[1].to_dask(rows=2)
        >>> stars.npartitions, float(stars["MAG"].min().compute())
        (3, 17.0)
        """
        keys = [column.key for column in self._chosen(columns)]
        frame: dask.dataframe.DataFrame = upper.dask_frame(self, keys, rows)
        return frame

    def to_polars(
        self, columns: ColumnNames = None, *, rows: Any = None, where: str | None = None,
        threads: int | None = None, progress: Progress | None = None,
    ) -> polars.DataFrame:  # fmt: skip
        """Return a polars DataFrame, through Arrow (needs polars and pyarrow)."""
        return self._read_for_others(columns, rows, where, threads, progress).to_polars()

    def scan_polars(self, columns: ColumnNames = None) -> polars.LazyFrame:
        """Return a lazy polars frame: a query reads its columns and the rows that it may need.

        Comparisons of columns with numbers and text, joined by ``&`` and ``|``, and ``is_between``
        are evaluated by the engine; polars filters the remaining rows.

        Parameters
        ----------
        columns
            As of `read`.

        Raises
        ------
        UsageError
            polars or pyarrow is not installed.

        Examples
        --------
        >>> import polars as pl, tachyfits as tf
        >>> stars = tf.open("table.fits")[1].scan_polars()
        >>> stars.filter(pl.col("MAG") < 19).select("NAME").collect()["NAME"].to_list()
        ['alpha', 'epsilon']
        """
        keys = [column.key for column in self._chosen(columns)]
        frame: polars.LazyFrame = upper.lazy_frame(self, keys)
        return frame

    def _read_for_others(
        self, columns: ColumnNames, rows: Any, where: str | None,
        threads: int | None, progress: Progress | None,
    ) -> Columns:  # fmt: skip
        selection = self._selected(rows, where, threads, progress)
        return self._read(self._chosen(columns), selection, False, threads, progress, text="bytes")

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
        """Write the table, or a part of it, in the format of the file name.

        The table is streamed, in bounded memory for any size. The file appears under its name when
        it is complete.

        Parameters
        ----------
        path
            ``.fits`` (the header is copied), ``.csv``, ``.parquet`` or ``.arrow`` (the last two
            need pyarrow); ``.vot`` (VOTable) or ``.ecsv``, which astropy writes from memory.
        columns, rows, where
            As in `read`.
        overwrite
            Replace an existing file.
        batch_rows
            Number of rows in memory at a time.

        Examples
        --------
        >>> import tachyfits as tf
        >>> tf.open("table.fits")[1].write("bright.csv", ["NAME", "MAG"], where="MAG < 18")
        >>> print(open("bright.csv").read())
        NAME,MAG
        epsilon,17.0
        """
        selected, selection = self._chosen(columns), self._rows(rows)
        size = batch_size(batch_rows)
        part = Part(self, selected, selection, where, size, threads, progress)
        upper.export(part, path, overwrite)

    # Display.

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):
                # A property failed: repeat its error.
                return object.__getattribute__(self, name)
            # copy() looks up private names before the object has a file.
            if name.startswith("_") or self._file.closed:
                problem = f"'Table' object has no attribute {name!r}"
                raise AttributeError(problem, name=name, obj=self)
            compression = self._compression
            kind = self.kind
            hint = attribute_hint("Table", name) or closest(name, dir(type(self)))
            hint = hint or either("a column is table['NAME'], several are table.read([...])")
            if compression is not None:
                kind, hint = compression.text, compression.hint
            problem = f"{self._where()} is a {kind}, which has no attribute {name!r}"
            raise AttributeError(f"{problem}\nhint: {hint}", name=name, obj=self)

    def _heading(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        if self._compression is not None:
            size = self._compression.size_text
            return (
                f"<tachyfits Table HDU {self._index}{name} {self._compression.text}, "
                f"{size or 'size unknown'}, in tiles, of {self._file.name}>"
            )
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
        if self._compression is not None:
            return f"{self._heading()}\n({self._compression.hint})"
        try:
            head = self._first_rows()
        except _core.TachyfitsError as error:
            # The repr of a damaged table must not fail.
            return f"{self._heading()}\n({str(error).splitlines()[0]})"
        more = f"\n... {len(self) - head.rows} more rows" if len(self) > head.rows else ""
        if not head.num_columns:
            return self._heading()
        text = text_of(dict(head), [column.unit or "" for column in self.columns])
        return f"{self._heading()}\n{text}{more}"

    def _repr_html_(self) -> str:
        if self._compression is not None:
            return f"<p>{escape(repr(self))}</p>"
        head = self._first_rows()
        caption = f"{self._file.name}, HDU {self._index} {self.name}: {len(self)} rows"
        return html_of(dict(head), [column.unit or "" for column in self.columns], caption)
