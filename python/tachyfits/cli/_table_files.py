"""Parquet, Arrow and CSV files in `tachyfits table`: columns, and conversion to a FITS table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from tachyfits import File
from tachyfits.cli._common import Common
from tachyfits.cli._output import aligned, json_text, warnings_said
from tachyfits.interop import TableFile, said_of_columns
from tachyfits.writing import Options, sources_of, temporary_file

COLUMN_HEADING = ("column", "name", "type", "unit", "description")

#: A name in backquotes, quoted text, or a word, with an opening bracket if it is a function.
_WORD = re.compile(r"`([^`]*)`|'[^']*'|\"[^\"]*\"|(?<![\w.])([^\W\d]\w*)(\s*\()?")

#: Words of the language of conditions, which may also be names of columns.
_LANGUAGE = ("AND", "OR", "NOT", "PI", "E", "NAN", "INF", "T", "F", "TRUE", "FALSE", "ROW")


def places_needed(
    source: TableFile, selected: Sequence[int] | None, condition: str | None
) -> list[int]:
    """Return the positions of the needed columns: the selected ones, then those of ``condition``.

    Return all columns in order if ``selected`` is None or if names are ambiguous, because resolving
    an ambiguous name needs all columns.
    """
    names = [name.strip().upper() for name in source.schema.names]
    every = [*range(len(names))]
    if selected is None or len({*names, ""}) <= len(names):
        return every
    words = set()
    for quoted, word, is_function in _WORD.findall(condition or ""):
        name = (quoted or word).strip().upper()
        if name in names:
            words.add(name)
        elif name and not is_function and (quoted or name not in _LANGUAGE):
            # The error about an unknown column lists all columns.
            return every
    return list(
        dict.fromkeys([*selected, *(position for position in every if names[position] in words)])
    )


@contextmanager
def as_fits(common: Common, source: TableFile) -> Iterator[File]:
    """Convert a file of another format to a FITS table and open it."""
    with warnings_said(), common.meter("table") as progress:
        options = Options(threads=common.threads, progress=progress)
        core, _ = temporary_file(sources_of(source, options), (), source.name)
    # The conversion already printed the warnings.
    with File.computed(core, None, threads=common.threads) as file, warnings_said(False):
        yield file


def list_columns(common: Common, source: TableFile, selected: Sequence[int] | None) -> None:
    """Print the columns of the file; details of the FITS table would need its rows."""
    columns = []
    keys, foreign = source.keys, said_of_columns(source.schema.metadata)
    for position in range(len(keys)) if selected is None else selected:
        field = source.schema.field(position)
        metadata = field.metadata or {}
        foreign_metadata = foreign.get(field.name, {})
        columns.append(
            {
                "column": position + 1,
                "name": keys[position],
                "type": str(field.type),
                "unit": metadata.get(b"unit", b"").decode(errors="replace")
                or foreign_metadata.get("unit", ""),
                "description": metadata.get(b"description", b"").decode(errors="replace")
                or foreign_metadata.get("description", ""),
            }
        )
    if common.json:
        click.echo(json_text({"file": source.name, "rows": source.rows, "columns": columns}))
        return
    rows = [tuple(str(column[key]) for key in COLUMN_HEADING) for column in columns]
    click.echo(f"{source.name}: {source.rows} rows")
    click.echo(aligned([COLUMN_HEADING, *rows], right=[0]))
