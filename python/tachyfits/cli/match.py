"""`tachyfits match`: join the rows of two tables by position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from tachyfits import Columns, File, Table
from tachyfits.base import format_of, placed, usage
from tachyfits.cli._common import Common, common_options, overwrite_option
from tachyfits.cli._group import packed
from tachyfits.cli._output import (
    STDOUT,
    bytes_of,
    file_for,
    in_blocks,
    print_answer,
    say,
    warnings_said,
    written,
)
from tachyfits.cli._table_chosen import json_cells
from tachyfits.table import columns_of_text

#: Number of rows shown without ``-o``.
HEAD = 20


@dataclass(frozen=True)
class Rules:
    """Options for matching rows, and for the rows of the result."""

    radius: str
    kind: str
    matches: str
    positions: str | None
    other_positions: str | None
    other_hdu: str | None


@click.command()
@common_options(metavar="FILE OTHER", hdu="the first table")
@click.option("--other-hdu", metavar="N|NAME", help="The HDU of OTHER. Default: the first table.")
@click.option(
    "--radius", required=True, metavar="ANGLE", help="Largest separation: 1arcsec; a number is in "
    "degrees.",
)  # fmt: skip
@click.option(
    "--kind",
    type=click.Choice(("inner", "left")),
    default="inner",
    show_default=True,
    help="inner: rows of FILE with a match; left: every row of FILE.",
)
@click.option(
    "--matches",
    type=click.Choice(("nearest", "all")),
    default="nearest",
    show_default=True,
    help="The nearest row of OTHER, or every row within the radius.",
)
@click.option("--positions", metavar="LON,LAT", help="The columns of positions of FILE.")
@click.option("--other-positions", metavar="LON,LAT", help="The columns of positions of OTHER.")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    help="Write the rows: .fits, .csv, .parquet, .arrow, .vot (VOTable), .ecsv; -: CSV on stdout.",
)
@overwrite_option
@packed("rules", Rules)
def command(common: Common, rules: Rules, output: str | None, overwrite: bool) -> int:
    """Join two FITS tables by position: rows of FILE beside the rows of OTHER.

    Columns of positions have UCD pos.eq.ra and pos.eq.dec or a usual name (RA and DEC, RAJ2000 and
    DEJ2000, ...). Both positions are taken to be in one frame. The result has the columns of FILE,
    those of OTHER (with _2 after a name that FILE has too), and SEPARATION in degrees, in the order
    of FILE. A row of OTHER may match several rows of FILE.

    \b
    Examples:
      tachyfits match table.fits catalogue.fits --radius 1arcsec
      tachyfits match table.fits catalogue.fits --radius 2arcsec --kind left -o both.fits
    """  # fmt: skip
    if len(common.files) != 2:
        raise click.UsageError(f"invalid files: expected two tables, found {len(common.files)}")
    if output not in (None, STDOUT):
        format_of(output)
    first, second = common.files
    with warnings_said(), common.open(first) as file, common.open(second) as other_file:
        with placed(first):
            table = _table(file, common.hdu)
        with placed(second):
            other_table = _table(other_file, rules.other_hdu)
        rows = table.join(
            other_table, rules.radius, kind=rules.kind, matches=rules.matches,
            names=_names(rules.positions), other_names=_names(rules.other_positions),
        )  # fmt: skip
        if output is not None:
            with file_for(output, ".csv") as path:
                rows.write(path, overwrite=overwrite)
    _report(common, rows, output)
    return 0


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _table(file: File, name: str | None) -> Table:
    """Return the table of an option; by default the first one."""
    if name is None:
        candidates, problem = list(file), "no HDU is a table"
    else:
        candidates = [file[int(name) if name.isdecimal() else name]]
        problem = f"HDU {name} is not a table"
    for hdu in candidates:
        if isinstance(hdu, Table):
            return hdu
    raise usage(f"{file.name}: {problem}", f"see the list of HDUs: tachyfits info {file.name}")


def _report(common: Common, rows: Columns, output: str | None) -> None:
    """Print the rows, or report the output file."""
    if common.json:
        answer: dict[str, Any] = {
            "files": list(common.files),
            "rows": rows.rows,
            "columns": list(rows),
        }
        if output is None:
            answer["data"] = {name: json_cells(values) for name, values in rows.items()}
        else:
            answer |= {"output": output, "output_bytes": bytes_of(output)}
        print_answer(answer, *filter(None, [output]))
        return
    if output is not None:
        say(written(output, f"{rows.rows} rows, {rows.num_columns} columns"))
        return
    head = {name: values[:HEAD] for name, values in rows.items()}
    cells, flush = columns_of_text(head, [rows.unit(name) or "" for name in rows], characters=None)
    right = [number for number, is_right in enumerate(flush) if is_right]
    click.echo(in_blocks(list(zip(*cells, strict=True)), right=right))
    if rows.rows > HEAD:
        say(f"{HEAD} of {rows.rows} rows; -o writes all")
