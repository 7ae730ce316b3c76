"""Parquet, Arrow and CSV files as tables to write: read in batches, repeatedly if needed.

pyarrow reads them. CSV, whose types depend on all of its cells, is read whole.
"""

from __future__ import annotations

import errno
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from mmap import ACCESS_READ, mmap
from typing import Any, ClassVar

import numpy as np

from tachyfits.base.errors import either, io_error, listed, not_found, printable, usage, warn
from tachyfits.base.optional import needed
from tachyfits.base.output import ASTROPY_FORMATS, format_of
from tachyfits.base.sources import regular_path
from tachyfits.interop.arrow import intact, whole_numbers

#: Rows per batch.
BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class TableFile:
    """A file of another format, whose columns are addressed by position, since names may repeat.

    Attributes
    ----------
    name
        Path of the file.
    schema
        Arrow names and types of the columns.
    rows
        Number of rows.
    """

    _data_kind: ClassVar[str] = "table file"

    name: str
    schema: Any
    rows: int
    #: Yields the rows in [first, last) of the columns at some positions, in this order.
    _batches: Callable[[list[int], int, int], Iterator[Any]]

    def batches(self, places: Sequence[int]) -> Iterator[Any]:
        """Yield the rows of the columns at these positions, in batches, as Arrow tables."""
        pa = needed("pyarrow", f"reading {self.name}", extra="arrow")
        batches = self._batches(list(places), 0, self.rows)
        while True:
            with _told(self.name):
                batch = next(batches, None)
                if batch is None:
                    return
                intact(batch)
            yield pa.Table.from_batches([batch])

    def between(self, start: int, stop: int) -> TableFile:
        """Return the file restricted to the rows in [start, stop)."""

        def batches(places: list[int], first: int, last: int) -> Iterator[Any]:
            return self._batches(places, start + first, start + last)

        return replace(self, rows=stop - start, _batches=batches)

    def only(self, places: Sequence[int]) -> TableFile:
        """Return the file restricted to the columns at these positions."""
        pa = needed("pyarrow", f"reading {self.name}", extra="arrow")
        fields = [self.schema.field(place) for place in places]

        def batches(among: list[int], first: int, last: int) -> Iterator[Any]:
            return self._batches([places[place] for place in among], first, last)

        return replace(
            self, schema=pa.schema(fields, metadata=self.schema.metadata), _batches=batches
        )

    def empty(self, places: Sequence[int]) -> Any:
        """Return the columns at these positions without rows."""
        return self.schema.empty_table().select(list(places))

    def read(self, columns: Sequence[str] | None) -> Any:
        """Return some columns (None: all) with all rows."""
        places = self.chosen(columns)
        pa = needed("pyarrow", f"reading {self.name}", extra="arrow")
        return pa.concat_tables([self.empty(places), *self.batches(places)])

    @property
    def keys(self) -> list[str]:
        """Unique names of the columns in the FITS table."""
        return keys_of([name.rstrip() for name in self.schema.names])

    def place(self, name: str) -> int:
        """Return the position of a column by name or key; an exact spelling has precedence.

        Raises
        ------
        UsageKeyError
            The column does not exist.
        """
        keys = self.keys
        for place, names in enumerate(zip(keys, self.schema.names, strict=True)):
            if name in (names[0], names[1].rstrip()):
                return place
        alike = [key.upper() for key in keys]
        if name.upper() not in alike:
            raise not_found(
                f"{self.name}: no column is named {name!r}", f"the columns are {listed(keys)}"
            )
        return alike.index(name.upper())

    def chosen(self, columns: Sequence[str] | None) -> list[int]:
        """Return the positions of some columns (None: all); of repeated names the first.

        Raises
        ------
        UsageKeyError
            A column does not exist.
        """
        names: list[str] = self.schema.names
        missing = [name for name in columns or () if name not in names]
        if missing:
            raise not_found(
                f"{self.name}: no column is named {missing[0]!r}",
                f"the columns are {listed(names)}",
            )
        return [*range(len(names))] if columns is None else [names.index(name) for name in columns]


def keys_of(names: Sequence[str]) -> list[str]:
    """Return the FITS names for columns of these names, by the engine's rule.

    >>> keys_of(["A", "a", "", "A_2"])
    ['A', 'a_2_2', 'col3', 'A_2']
    """
    keys, used = list(names), set()
    remaining = []
    for place, name in enumerate(names):
        if name and name.lower() not in used:
            used.add(name.lower())
        else:
            remaining.append(place)
    for place in remaining:
        key = names[place] or f"col{place + 1}"
        while key.lower() in used:
            key += f"_{place + 1}"
        used.add(key.lower())
        keys[place] = key
    return keys


def open_table_file(path: str | os.PathLike[str]) -> TableFile:
    """Open a Parquet, Arrow or CSV file; the name decides the format.

    Raises
    ------
    UsageError
        The name has another ending, pyarrow is not installed, or the content has another format.
    IoError
        The file cannot be read.
    """
    name = regular_path(path)
    form = format_of(name)
    if form == "fits":
        raise usage(f"{name!r} is a FITS file", "open it first: tachyfits.open")
    if form in ASTROPY_FORMATS.values():
        raise usage(
            f"cannot read {name!r}: tachyfits reads Parquet, Arrow and CSV",
            either("read it by astropy: astropy.table.Table.read", "convert it to CSV or Parquet"),
        )
    needed("pyarrow", f"reading {form}", extra="arrow")
    with _told(name):
        file = {"parquet": _parquet, "arrow": _arrow, "csv": _csv}[form](name)
        # Names that are not UTF-8 fail on access.
        _ = file.schema.names
        return file


def _opened(name: str, convert: Callable[[str], Any] = str) -> Any:
    """Return a file name for pyarrow, passed through ``convert``, or an open file if not UTF-8."""
    return convert(name) if printable(name) == name else open(name, "rb")


def _parquet(name: str) -> TableFile:
    parquet = needed("pyarrow.parquet", "reading parquet")
    # With read-ahead, a table of 1 GB took as much memory.
    file = parquet.ParquetFile(_opened(name), pre_buffer=False, buffer_size=1 << 20)

    names: list[str] = file.schema_arrow.names
    is_unique = len(set(names)) == len(names)

    groups = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    ends = np.cumsum([0, *groups])

    def batches(places: list[int], first: int, last: int) -> Iterator[Any]:
        # Selecting by name would return all columns of that name.
        columns = [names[place] for place in places] if is_unique else None
        touched = np.flatnonzero((ends[:-1] < last) & (ends[1:] > first)).tolist()
        if not touched:
            return
        at = int(ends[touched[0]])
        stream = file.iter_batches(BATCH_ROWS, row_groups=touched, columns=columns)
        for batch in _within(stream, at, first, last):
            yield batch.select(places if columns is None else columns)

    return TableFile(printable(name), file.schema_arrow, file.metadata.num_rows, batches)


def _arrow(name: str) -> TableFile:
    pa = needed("pyarrow", "reading arrow")
    # The memory map lives as long as the file that uses it.
    file = needed("pyarrow.ipc", "reading arrow").open_file(_opened(name, pa.memory_map))
    rows = sum(file.get_batch(number).num_rows for number in range(file.num_record_batches))

    def batches(places: list[int], first: int, last: int) -> Iterator[Any]:
        stored = (file.get_batch(number) for number in range(file.num_record_batches))
        for batch in _within(stored, 0, first, last):
            batch = batch.select(places)
            for row in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.slice(row, BATCH_ROWS)

    return TableFile(printable(name), file.schema, rows, batches)


def _csv(name: str) -> TableFile:
    table = _with_whole_integers(name, _with_text_for_hexadecimal(name, _csv_table(name)))
    _warn_of_rounded_numbers(name, table)
    if table.num_columns == 1 and re.search("[;\t|]", table.column_names[0]):
        warn(
            f"{name}: one column, {table.column_names[0]!r}\n"
            "hint: separate the cells with commas, or read the file with pandas.read_csv"
        )

    def batches(places: list[int], first: int, last: int) -> Iterator[Any]:
        some = table.select(places).slice(first, last - first)
        yield from some.to_batches(BATCH_ROWS)

    return TableFile(printable(name), table.schema, table.num_rows, batches)


def _without_blanks(name: str) -> str:
    """Return a CSV name without surrounding blanks, as in other readers.

    >>> [_without_blanks(name) for name in ("A ", ' "B"', ' "6"" disk"', 'disk 6"')]
    ['A', 'B', '6" disk', 'disk 6"']
    """
    plain = name.strip()
    # pyarrow has already removed quotes that nothing precedes.
    quoted = name[:1].isspace() and len(plain) > 1 and plain[0] == plain[-1] == '"'
    return plain[1:-1].replace('""', '"') if quoted else plain


def _within(batches: Iterator[Any], at: int, first: int, last: int) -> Iterator[Any]:
    """Yield the rows in [first, last) from batches, the first of which begins at row ``at``."""
    for batch in batches:
        if at >= last:
            return
        start = max(first - at, 0)
        some = batch.slice(start, max(last - at - start, 0))
        at += batch.num_rows
        if some.num_rows:
            yield some


def _csv_table(name: str) -> Any:
    pa = needed("pyarrow", "reading csv")
    try:
        table = needed("pyarrow.csv", "reading csv").read_csv(_opened(name))
        return table.rename_columns([_without_blanks(each) for each in table.column_names])
    except UnicodeDecodeError as error:
        raise usage(
            f"{name}: the first line is not UTF-8",
            "convert the file first, as by iconv -f latin1 -t utf-8",
        ) from error
    except pa.ArrowInvalid as error:
        raise usage(
            f"{name}: {_printable(error)}",
            "use column names in the first line, cells separated by commas, and no comments; read "
            "other files with pandas.read_csv",
        ) from error


def _with_text_for_hexadecimal(name: str, table: Any) -> Any:
    """Return the table of a CSV file with text where pyarrow parsed ``0x1F`` as an integer."""
    pa, compute = needed("pyarrow", "reading csv"), needed("pyarrow.compute", "reading csv")
    integers = [place for place, each in enumerate(table.columns) if pa.types.is_int64(each.type)]
    with open(name, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        # Read again only if the file mentions such a number.
        mentioned = content.find(b"0x") >= 0 or content.find(b"0X") >= 0
    for place, text in _csv_texts(name, integers if mentioned else []).items():
        if compute.any(compute.match_substring_regex(text, "[xX]")).as_py():
            column = table.column_names[place]
            table = table.set_column(place, pa.field(column, text.type), text)
    return table


def _csv_texts(name: str, places: Sequence[int]) -> dict[int, Any]:
    """Return the text of the cells of some columns of a CSV file, by column position."""
    if not places:
        return {}
    pa, csv = needed("pyarrow", "reading csv"), needed("pyarrow.csv", "reading csv")
    # Use pyarrow's generated names: the file's names may repeat.
    keys = {place: f"f{place}" for place in places}
    options = csv.ConvertOptions(
        include_columns=list(keys.values()),
        column_types=dict.fromkeys(keys.values(), pa.string()),
        strings_can_be_null=True,
    )
    numbered = csv.ReadOptions(autogenerate_column_names=True)
    texts = csv.read_csv(_opened(name), read_options=numbered, convert_options=options)
    # The first row has the names.
    return {place: texts[key].slice(1) for place, key in keys.items()}


def _with_whole_integers(name: str, table: Any) -> Any:
    """Return the table of a CSV file with integers where pyarrow parsed them as floats.

    pyarrow never infers uint64, and does not accept a sign +. Integers beyond 64 bits stay floats,
    with a warning.
    """
    pa, compute = needed("pyarrow", "reading csv"), needed("pyarrow.compute", "reading csv")
    odd = [
        place
        for place, column in enumerate(table.columns)
        if pa.types.is_float64(column.type)
        and compute.all(compute.equal(compute.floor(column), column)).as_py()
    ]
    for place, text in _csv_texts(name, odd).items():
        column = table.column_names[place]
        text = compute.utf8_trim_whitespace(text)
        if not compute.all(_are_integers(text)).as_py():
            continue
        integers = whole_numbers(compute.utf8_ltrim(text, "+"))
        if integers is None:
            warn(
                f"{name}: column {column!r} has integers beyond 64 bits: they are rounded to "
                "float64"
            )
            continue
        table = table.set_column(place, pa.field(column, integers.type), integers)
    return table


def _warn_of_rounded_numbers(name: str, table: Any) -> None:
    """Warn about columns of floats whose text has numbers that float64 cannot represent."""
    pa, compute = needed("pyarrow", "reading csv"), needed("pyarrow.compute", "reading csv")
    large = {
        place: mask
        for place, column in enumerate(table.columns)
        if pa.types.is_float64(column.type)
        and compute.any(mask := compute.greater_equal(compute.abs(column), 2.0**53)).as_py()
    }
    for place, text in _csv_texts(name, list(large)).items():
        column, cells = table.column(place), compute.utf8_trim_whitespace(text)
        if compute.all(_are_integers(cells)).as_py():
            # The warning about integers beyond 64 bits already covers it.
            continue
        pairs = zip(
            cells.filter(large[place]).to_pylist(), column.filter(large[place]).to_pylist(),
            strict=True,
        )  # fmt: skip
        rounded = next((cell for cell, value in pairs if _is_rounded(cell, value)), None)
        if rounded is not None:
            warn(
                f"{name}: column {table.column_names[place]!r} has numbers that float64 does not "
                f"have, such as {rounded}: they are rounded, or infinite"
            )


def _is_rounded(cell: str, value: float) -> bool:
    """Return whether the text of a large number is a rounded integer, or exceeds float64."""
    if math.isinf(value):
        return any(map(str.isdigit, cell))
    return bool(_INTEGER.fullmatch(cell)) and int(cell) != value


def _are_integers(texts: Any) -> Any:
    return needed("pyarrow.compute", "reading csv").match_substring_regex(texts, r"^[+-]?\d+$")


_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Convert pyarrow's exceptions to errors that name the file."""
    pa = needed("pyarrow", f"reading {name}", extra="arrow")
    try:
        yield
    except FileNotFoundError as error:
        hint = "check the name and the current directory"
        raise io_error(
            f"{name}: no such file", hint, "io-not-found", path=name, number=errno.ENOENT
        ) from error
    except UnicodeDecodeError as error:
        text = ascii(error.object)
        raise usage(
            f"{name}: invalid name {text}: expected UTF-8", "write the file with other names"
        ) from error
    except pa.ArrowException as error:
        hint = "check that the file is complete and has the format of its name"
        raise usage(f"{name}: {_printable(error)}", hint) from error
    except OSError as error:
        hint = "check that the file is readable and complete"
        raise io_error(
            f"{name}: {_printable(error)}", hint, "io-read", path=name, number=error.errno
        ) from error


def _printable(error: Exception) -> str:
    """Return pyarrow's message, which may quote the file, in characters for a terminal."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(str(error).split()))
