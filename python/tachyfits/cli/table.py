"""`tachyfits table`: show columns and rows of a table, and convert it to other formats."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import tachyfits
from tachyfits import Columns, File, Table
from tachyfits.base import FORMATS, format_of, usage
from tachyfits.cli._common import Common, common_options, overwrite_option
from tachyfits.cli._group import packed
from tachyfits.cli._output import STDOUT, aligned, in_blocks, json_text, say, warnings_said, written
from tachyfits.cli._syntax import RANGE
from tachyfits.cli._table_chosen import (
    RowChoice,
    chosen_columns,
    chosen_places,
    chosen_rows,
    chosen_slice,
    json_cells,
    rows_in_intervals,
)
from tachyfits.cli._table_files import as_fits, list_columns, places_needed
from tachyfits.interop import TableFile, open_table_file
from tachyfits.table import Part, columns_of_text, cone_condition, resolve_rows
from tachyfits.text import Range, cone_of_text
from tachyfits.writing import write_stream

#: Default number of rows shown.
HEAD = 20

#: Number of rows printed at a time, so that the first rows appear soon.
PRINTED_ROWS = 10_000

COLUMN_HEADING = ("column", "name", "TFORM", "type", "unit", "null", "description")


@dataclass(frozen=True)
class RowOptions:
    """Options that select rows."""

    where: str | None
    cone: str | None
    cone_columns: str | None
    head: int | None
    rows: tuple[str, Range] | None
    gti: str | None
    time: str

    @property
    def is_whole(self) -> bool:
        """Whether all rows are selected."""
        return not (self.where or self.cone or self.rows or self.gti or self.head is not None)

    @property
    def names(self) -> list[str] | None:
        """The columns of the positions; None: detected by UCD or name."""
        if self.cone_columns is None:
            return None
        names = [name.strip() for name in self.cone_columns.split(",")]
        if self.cone is None or len(names) != 2:
            raise click.UsageError("--cone-columns takes two names, and goes with --cone")
        return names


@click.command()
@common_options(many=False, hdu="the first table")
@click.option(
    "--columns",
    metavar="A,B,...",
    help="Only these columns, by name (any case) or number (from 1), in this order.",
)
@click.option(
    "--where",
    metavar="CONDITION",
    help="Only rows that satisfy this condition: 'MAG < 20 && CLASS == \"STAR\"'.",
)
@click.option(
    "--cone",
    metavar="RA,DEC,RADIUS",
    help="Only rows within this angle of a position, in degrees or with units: "
    "83.63,22.01,5arcmin. Columns are found by UCD or by name (RA and DEC, ...). FITS tables only.",
)
@click.option(
    "--cone-columns",
    "cone_columns",
    metavar="LON,LAT",
    help="The columns of the positions for --cone.",
)
@click.option(
    "--head",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Only the first N rows, after the other selections. Default: {HEAD} (a message says so), "
    "with -o and --rows all.",
)
@click.option(
    "--rows",
    type=RANGE,
    metavar="A:B",
    help="Only these rows, counted from 1, both ends included; 'A:' extends to the end.",
)
@click.option(
    "--gti",
    metavar="FILE[,HDU]",
    help="Only rows whose time lies in the intervals of a table, from START to STOP with both ends "
    "included, as gtifilter. HDU: its number or EXTNAME. Default: GTI. FITS tables only.",
)
@click.option(
    "--time",
    default="TIME",
    show_default=True,
    metavar="NAME",
    help="The column of times for --gti.",
)
@click.option("--list", "listed", is_flag=True, help="List the columns instead of the rows.")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    help="Write a file instead, in the format that its name ends in: .fits, .csv, "
    ".parquet, .arrow, .vot (VOTable), .ecsv. It appears when it is complete. -: CSV on stdout.",
)
@overwrite_option
@packed("which", RowOptions)
def command(
    common: Common, columns: str | None, which: RowOptions, listed: bool, output: str | None,
    overwrite: bool,
) -> int:  # fmt: skip
    """Show a table, choose columns and rows of it, or write it in another format.

    The table is the first of the file unless --hdu names another. Rows and columns are counted
    from 1. Undefined cells are shown as --, NaN as nan; both are null in JSON, in CSV empty, but
    nan as elements of an array. FITS, CSV, Parquet and Arrow files are written row by row, so that
    a table may be larger than memory; astropy writes VOTable and ECSV from memory. Parquet and
    Arrow need pyarrow: pip install 'tachyfits[arrow]'.

    A FILE that ends in .parquet, .arrow or .csv is shown, filtered and written like the FITS table
    that -o OUT.fits makes of it: undefined values are TNULL, NaN or empty text. That table is
    made first, in a temporary file: of the selected columns, and without --where of the selected
    rows. --list and --json show the types of the file itself.

    A condition compares columns, numbers and text: < <= > >= == != with && || ! and ( ), arithmetic
    (in float64) and functions as in 'tachyfits math'. Text is in quotes, 'a' or "a"; a column named
    T, F or ROW, or with odd characters, in backquotes. ROW is the number of the row. Of integers &
    and | take the bits: (QUALITY & 128) == 0. N IN (1, 2) is true for one of the values, NAME LIKE
    'NGC%' for text that matches: % is any text, _ one character. isnull(X) is true where X is
    undefined. A comparison with an undefined value is false, so !(N == 1) is true there.

    \b
    Examples:
      tachyfits table table.fits
      tachyfits table table.fits --list
      tachyfits table table.fits --columns NAME,MAG --where 'MAG < 20 && RA > 10' --head 5
      tachyfits table table.fits --rows 2:4 --json
      tachyfits table table.fits --where "NAME != 'beta'" -o bright.csv
      tachyfits table table.fits --where 'MAG < 20' -o - | head
      tachyfits table table.fits --cone 11.5,-0.5,1deg
      tachyfits table events.fits --gti gti.fits,GTI -o good.fits
      tachyfits table table.fits --hdu STARS --columns RA,DEC -o positions.fits
      tachyfits table survey.parquet -o survey.fits
      tachyfits table survey.parquet --where 'MAG < 20' --head 5
    """
    path = common.files[0]
    if output == STDOUT and common.json:
        raise click.UsageError("-o - prints CSV: it does not go with --json")
    where, cone, head = which.where, which.cone, which.head
    if listed and (output or not which.is_whole):
        raise click.UsageError("--list shows columns: it goes with neither rows nor -o")
    if output is not None and output != STDOUT:
        format_of(output)

    if which.gti is not None and which.rows is not None:
        raise click.UsageError("choose one of --gti and --rows")
    names, row_range = which.names, None if which.rows is None else which.rows[1]
    limit = HEAD if head is None and row_range is None and output is None else head

    def show(
        file: File, made: Made | None = None, places: list[str | int] | None = None,
        some: RowChoice = row_range,
    ) -> None:  # fmt: skip
        table = _table(common, file)
        if which.gti is not None:
            some = rows_in_intervals(common, table, which.gti, which.time)
        where = _within(table, which.where, cone, names)
        selected = places or chosen_columns(table, columns)
        if listed:
            click.echo(_listed(common, table, selected))
        elif output == STDOUT:
            _print(common, table, selected, some, where, limit)
        elif output is not None:
            _write(common, table, selected, _numbers(table, some, where, limit, None), output,
                   overwrite)  # fmt: skip
        else:
            _show(common, table, selected, some, where, limit, made)

    if FORMATS.get(Path(path).suffix.lower(), "fits") == "fits":
        return common.each(show)
    if common.hdu is not None:
        raise usage(f"{path}: only FITS files have HDUs", "leave out --hdu")
    if cone is not None or which.gti is not None:
        raise usage(f"{path}: --cone and --gti need a FITS table", "write one first: -o table.fits")
    with warnings_said():
        source = open_table_file(path)
    selected = chosen_places(columns, source.keys, source.place)
    if listed:
        list_columns(common, source, selected)
        return 0
    selected_rows = chosen_slice(row_range, source.rows, source.name)
    if output not in (None, STDOUT) and which.is_whole and format_of(str(output)) == "fits":
        return _make(common, source if selected is None else source.only(selected), str(output),
                     overwrite)  # fmt: skip
    needed_columns = places_needed(source, selected, where)
    part, some, count = source.only(needed_columns), row_range, None
    if where is None:
        count, some = selected_rows.stop - selected_rows.start, None
        first = selected_rows if limit is None else _first(selected_rows, limit)
        part = part.between(first.start, first.stop)
    shown_columns = needed_columns if selected is None else list(dict.fromkeys(selected))
    with as_fits(common, part) as file:
        origin = Made(source.only(shown_columns), count)
        show(
            file,
            origin,
            None if selected is None else [needed_columns.index(at) for at in selected],
            some,
        )
    return 0


def _within(
    table: Table, where: str | None, cone: str | None, names: list[str] | None
) -> str | None:
    """Return the condition for rows combined with the condition of a cone."""
    if cone is None:
        return where
    condition = cone_condition(table.columns, cone_of_text(cone), names)
    return condition if where is None else f"({where}) and {condition}"


@dataclass(frozen=True)
class Made:
    """The file of another format that a table was converted from.

    Attributes
    ----------
    source
        The file, with the shown columns.
    count
        Number of selected rows, if the table may only have the first of them; None: the table has
        all rows of the file.
    """

    source: TableFile
    count: int | None


def _table(common: Common, file: File) -> Table:
    """Return the table of ``--hdu``; by default the first one."""
    if common.hdu == "all":
        raise click.UsageError("invalid --hdu all: expected one table")
    is_named = common.hdu is not None
    for hdu in common.hdus(file):
        if isinstance(hdu, Table):
            return hdu
        if is_named:
            raise usage(
                f"{file.name}: HDU {hdu.index} ({hdu.kind}) is not a table",
                f"see the list of HDUs: tachyfits info {file.name}",
            )
    raise usage(
        f"{file.name}: no HDU is a table", f"see the list of HDUs: tachyfits info {file.name}"
    )


def _numbers(
    table: Table, rows: RowChoice, where: str | None, head: int | None, threads: int | None
) -> Any:
    """Return the selected rows: a slice, or the numbers of rows that satisfy the condition."""
    selection = chosen_rows(table, rows)
    if where is None:
        return selection if head is None else _first(selection, head)
    matches = table.where(where, rows=selection, threads=threads)
    return matches if head is None else _first(matches, head)


def _first(rows: Any, count: int) -> Any:
    """Return the first ``count`` rows of a selection."""
    if isinstance(rows, slice):
        return slice(rows.start, min(rows.stop, rows.start + count))
    return rows[:count]


def _show(
    common: Common, table: Table, columns: list[str | int], rows: RowChoice, where: str | None,
    head: int | None, made: Made | None,
) -> None:  # fmt: skip
    """Show rows; ``made`` is the source of a converted table."""
    with common.meter("table") as progress:
        numbers = _numbers(table, rows, where, None, None)
        count = numbers.stop - numbers.start if isinstance(numbers, slice) else len(numbers)
        if made is not None and made.count is not None:
            count = made.count
        if head is not None:
            numbers = _first(numbers, head)
        read = table.read(columns, rows=numbers, progress=progress)
    if common.json:
        click.echo(json_text(_as_json(table, read, count, made)))
    elif read.num_columns:
        units = [read.unit(key) or "" for key in read]
        cells, flush = columns_of_text(dict(read), units, characters=None)
        numbers_right = [number for number, right in enumerate(flush) if right]
        click.echo(in_blocks(list(zip(*cells, strict=True)), right=numbers_right))
    if read.rows < count:
        which = "rows" if where is None else f"rows that fit, of {len(table)}"
        say(f"{read.rows} of {count} {which}; --head or --rows shows more")
    elif where is not None and not common.json:
        say(f"{count} of {len(table)} rows")


def _as_json(table: Table, data_columns: Columns, count: int, made: Made | None) -> dict[str, Any]:
    columns: list[dict[str, Any]] = [
        {"name": key, "unit": data_columns.unit(key), "form": info.form, "type": info.type_text}
        for key, info in data_columns.info.items()
    ]
    if made is not None:
        # The width of text in FITS depends on all rows: show the types of the source.
        for column, field in zip(columns, made.source.schema, strict=True):
            column |= {"form": None, "type": str(field.type)}
    return {
        "file": table.file.name,
        "hdu": table.index if made is None else None,
        "convention": "FITS: rows and columns from 1; HDUs from 0; cells in NumPy order",
        "rows": len(table) if made is None else made.source.rows,
        "rows_chosen": count,
        "columns": columns,
        "data": {key: json_cells(values) for key, values in data_columns.items()},
    }


def _listed(common: Common, table: Table, names: list[str | int]) -> str:
    columns = [table.column(name) for name in names]
    if common.json:
        entries = [
            {
                "column": column.number + 1,
                "name": column.key,
                "form": column.form,
                "type": str(column.dtype),
                "shape": list(column.shape),
                "variable": column.is_variable,
                "delimiter": column.delimiter,
                "unit": column.unit,
                "null": column.null,
                "scale": column.scale,
                "zero": column.zero,
                "display": column.display,
                "position": column.position,
                "time_scale": column.time_scale,
                "description": column.description,
            }
            for column in columns
        ]
        return json_text(
            {"file": table.file.name, "hdu": table.index, "rows": len(table), "columns": entries}
        )
    rows = [
        (
            str(column.number + 1),
            column.key,
            column.form,
            column.type_text,
            column.unit or "",
            "" if column.null is None else str(column.null),
            column.description,
        )
        for column in columns
    ]
    name = f" {table.name!r}" if table.name else ""
    heading = f"{table.file.name}, HDU {table.index}{name}: {len(table)} rows, {table.kind}"
    return f"{heading}\n{aligned([COLUMN_HEADING, *rows], right=[0])}"


def _write(
    common: Common, table: Table, columns: list[str | int], rows: Any, output: str,
    overwrite: bool,
) -> None:  # fmt: skip
    with common.meter("table") as progress:
        table.write(output, columns, rows=rows, overwrite=overwrite, progress=progress)
    count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    names = [table.column(name).key for name in columns]
    _written(common, table.file.name, table.index, output, count, names)


def _print(
    common: Common, table: Table, columns: list[str | int], rows: RowChoice, where: str | None,
    head: int | None,
) -> None:  # fmt: skip
    """Print rows as CSV while they are read."""
    if head is None:
        # Evaluate the condition while printing, so that the first rows appear soon.
        selection = chosen_rows(table, rows)
    else:
        selection, where = _numbers(table, rows, where, head, None), None
    printed_columns = [table.column(name) for name in columns]
    with common.meter("table") as progress:
        rows_chosen = resolve_rows(selection, len(table))
        part = Part(
            table, printed_columns, rows_chosen, where, PRINTED_ROWS, common.threads, progress
        )
        write_stream(part, sys.stdout.buffer, "csv")


def _make(common: Common, source: TableFile, output: str, overwrite: bool) -> int:
    """Convert a file of another format to a FITS table."""
    with warnings_said(), common.meter("table") as progress:
        tachyfits.write(
            output, source, overwrite=overwrite, threads=common.threads, progress=progress
        )
    # Warnings about the table have already been printed.
    with warnings_said(False), tachyfits.open(output) as file:
        table = file[1]
        _written(common, source.name, None, output, len(table), list(table.names))
    return 0


def _written(
    common: Common, path: str, hdu: int | None, output: str, rows: int, columns: list[str]
) -> None:
    """Report the written file."""
    if not common.json:
        say(written(output, f"{rows} rows, {len(columns)} columns"))
        return
    size = Path(output).stat().st_size
    answer = {"file": path, "hdu": hdu, "output": output, "output_bytes": size, "rows": rows}
    click.echo(json_text(answer | {"columns": columns}))
