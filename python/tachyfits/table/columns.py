"""Columns: the result of reading a table, arrays by name; and the properties of each column.

Nothing here reads a file. Conversions to other libraries are in `interop.arrow` and
`interop.frames`.
"""

from __future__ import annotations

import os
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.boundary import public
from tachyfits.base.errors import listed, not_found, usage
from tachyfits.base.upper import upper
from tachyfits.base.whole_numbers import whole_number
from tachyfits.table.display import html_of, text_of
from tachyfits.table.metadata import position_of, time_scale_of
from tachyfits.table.ragged import Ragged

if TYPE_CHECKING:
    import astropy.table
    import pandas
    import polars
    import pyarrow

#: Values of a column: a masked array if any element is undefined.
Values = NDArray[Any] | Ragged


@public
@dataclass(frozen=True)
class TableColumn:
    """Header information about a column.

    Attributes
    ----------
    number
        0-based number.
    key
        Name in results and conditions; later columns of a repeated name have their number (from 1)
        appended.
    name
        TTYPEn; "colN" (N from 1) without one.
    form
        TFORMn as stored.
    dtype
        Type of the values read: native, float64 for a scaled column.
    shape
        Type of the values read: native, float64 for a scaled column.
    is_variable
        Whether cells are arrays of different lengths, in the heap. Reading gives a `Ragged`; for
        characters an array of str, or a `Ragged` of str if ``shape`` splits cells into strings of
        one width.
    delimiter
        For ``rA:SSTRw/nnn``: separator of a cell's strings, whose number varies; reading gives a
        `Ragged` of str. None otherwise.
    unit, display
        TUNITn and TDISPn, or None.
    null
        TNULLn: the stored integer (or the text, in an ASCII table) that means undefined; or None.
    scale, zero
        TSCALn and TZEROn: values are ``zero + scale * stored``.
    description
        TCOMMn, or else the comment of TTYPEn.
    carried
        Other cards about the column, except TDMINn and TDMAXn: limits (TLMINn, TDBINn), names in
        archives (TUCDn), scale and location of times (TCTYPn, TRPOSn), coordinates (TCTYPn, TCRVLn,
        1CRVLn). Pairs of the word before the number, or the keyword with "#" in place of it
        ("1CRV#P"), and the value.
    """

    number: int
    key: str
    name: str
    form: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...] = ()
    is_variable: bool = False
    unit: str | None = None
    null: int | str | None = None
    display: str | None = None
    scale: float = 1.0
    zero: float = 0.0
    description: str = ""
    delimiter: str | None = None
    carried: tuple[tuple[str, Any], ...] = ()

    @property
    def position(self) -> str | None:
        """TRPOSn, the reference position of its times: "TOPOCENTER" is at the header's OBSGEO."""
        return position_of(self.carried)

    @property
    def time_scale(self) -> str | None:
        """TCTYPn, if it names a time scale; it overrides the header's TIMESYS."""
        return time_scale_of(self.carried)

    @property
    def type_text(self) -> str:
        """Type and shape of a cell, as text."""
        name = f"text {self.dtype.itemsize // 4}" if self.dtype.kind == "U" else str(self.dtype)
        if self.is_variable:
            is_one = self.dtype.kind == "U" and not self.shape
            return "text of any length" if is_one else f"{name}[any]"
        if self.delimiter:
            return "text of any length[any]"
        return name + (f"[{', '.join(map(str, self.shape))}]" if self.shape else "")


@public
class Columns(Mapping[str, Any]):
    """Columns of equal length, in memory: a mapping from name to array, in the table's order.

    As in tables and data frames, ``len()`` is the number of rows and iterating gives names;
    ``num_columns`` is the number of columns.

    A column is an ndarray (a masked one if an element is undefined) or, for cells of different
    lengths, a `Ragged`. Select it by name in any case, exact spelling first, or by its 0-based
    position.

    Attributes
    ----------
    info
        Properties of each column, by key.
    meta
        Cards about the table as a whole, by keyword.
    comments
        Comments of these cards, by keyword.
    """

    _data_kind = "columns"

    def __init__(
        self,
        arrays: Mapping[str, Values],
        info: Mapping[str, TableColumn] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        comments: Mapping[str, str] | None = None,
    ) -> None:
        self._arrays = dict(arrays)
        self.info: dict[str, TableColumn] = dict(info or {})
        self.meta: dict[str, Any] = dict(meta or {})
        self.comments: dict[str, str] = dict(comments or {})
        lengths = {key: len(array) for key, array in self._arrays.items()}
        if len(set(lengths.values())) > 1:
            raise usage(
                f"columns have different lengths: {lengths}",
                "give all columns the same number of rows",
            )
        self._rows = next(iter(lengths.values()), 0)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._rows

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        return len(self._arrays)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, as of `Table` and of data frames."""
        return self._rows, self.num_columns

    @property
    def names(self) -> tuple[str, ...]:
        """The keys, in order."""
        return tuple(self._arrays)

    def unit(self, key: str) -> str | None:
        """Return the unit of a column, or None."""
        info = self.info.get(self._key(key))
        return info.unit if info else None

    def _key(self, key: str | int) -> str:
        if isinstance(key, str):
            stripped = key.strip()
            spelled = (name for name, info in self.info.items() if info.name == stripped)
            alike = (name for name in self._arrays if name.upper() == stripped.upper())
            for name in chain([key], spelled, alike):
                if name in self._arrays:
                    return name
        else:
            number = whole_number(key, least=-self.num_columns)
            if number is not None and number < self.num_columns:
                return self.names[number]
        raise not_found(f"no column is named {key!r}", f"the columns are {listed(self._arrays)}")

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __getitem__(self, key: str | int) -> Any:
        return self._arrays[self._key(key)]

    def __contains__(self, key: object) -> bool:
        try:
            self._key(key)  # type: ignore[arg-type]
        except LookupError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return self._rows

    def __bool__(self) -> bool:
        # Columns without rows have names and types, which polars would drop for a falsy value.
        return bool(self._arrays)

    # The length of `Mapping`'s views would be the number of rows.

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._arrays.keys()

    def values(self) -> ValuesView[Any]:
        """Return the arrays."""
        return self._arrays.values()

    def items(self) -> ItemsView[str, Any]:
        """Return the names with their arrays."""
        return self._arrays.items()

    def to_structured(self) -> NDArray[Any]:
        """Return one structured array; masked if a column is.

        Columns of cells of different lengths become fields of type object.
        """
        arrays = {
            key: array.to_object_array() if isinstance(array, Ragged) else array
            for key, array in self._arrays.items()
        }
        kind = np.dtype([(key, array.dtype, array.shape[1:]) for key, array in arrays.items()])
        masked = any(np.ma.isMaskedArray(array) for array in arrays.values())
        result: Any = (np.ma if masked else np).zeros(self._rows, dtype=kind)
        for key, array in arrays.items():
            result[key] = array
        return result  # type: ignore[no-any-return]

    def to_arrow(self) -> pyarrow.Table:
        """Return a pyarrow Table; see `Table.to_arrow`."""
        table: pyarrow.Table = upper.arrow_table(self)
        return table

    def to_astropy(self) -> astropy.table.Table:
        """Return an astropy Table; see `Table.to_astropy`."""
        table: astropy.table.Table = upper.astropy_table(self)
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas DataFrame; see `Table.to_pandas`."""
        frame: pandas.DataFrame = upper.pandas_frame(self)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Return a polars DataFrame; see `Table.to_polars`."""
        frame: polars.DataFrame = upper.polars_frame(self)
        return frame

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        r"""Write the columns in the format that the name ends in; it appears when it is complete.

        Parameters
        ----------
        path
            Ends in .fits, .csv, .json, .vot, .ecsv, .parquet or .arrow (the last two need pyarrow).
            Astropy writes VOTable (.vot) and ECSV. JSON has the units by name, and an object for
            each row; undefined numbers are null.
        overwrite
            Replace an existing file.

        Raises
        ------
        IoError
            The file exists, or cannot be written.
        UsageError
            The name has another ending, or pyarrow is not installed.

        Examples
        --------
        >>> import numpy as np, tachyfits as tf
        >>> tf.Columns({"id": np.arange(2), "flux": np.array([1.5, 2.0])}).write("a.csv")
        >>> open("a.csv").read()
        'id,flux\n0,1.5\n1,2.0\n'
        """
        upper.write_columns(self, path, overwrite)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _head(self, rows: int) -> dict[str, Values]:
        return {key: array[:rows] for key, array in self._arrays.items()}

    def _units(self) -> list[str]:
        return [self.unit(key) or "" for key in self._arrays]

    def __repr__(self) -> str:
        limit = 10
        text = text_of(self._head(limit), self._units())
        more = f"\n... {self._rows - limit} more rows" if self._rows > limit else ""
        return f"<tachyfits Columns: {self._rows} rows>\n{text}{more}"

    def _repr_html_(self) -> str:
        return html_of(self._head(10), self._units(), f"{self._rows} rows")


def columns_of(arrays: Mapping[str, NDArray[Any]], units: Mapping[str, str | None]) -> Columns:
    """Return columns of arrays with one number or text in each row; ``units``: by name."""
    info = {
        name: TableColumn(number, name, name, "", array.dtype, unit=units.get(name))
        for number, (name, array) in enumerate(arrays.items())
    }
    return Columns(arrays, info)
