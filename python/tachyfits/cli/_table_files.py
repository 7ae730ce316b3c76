"""Parquet, Arrow and CSV files in `tachyfits table`: their columns, and the FITS table of some."""

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

#: A name in backquotes, text, or a word, with the bracket that follows the name of a function.
_WORD = re.compile(r"`([^`]*)`|'[^']*'|\"[^\"]*\"|(?<![\w.])([^\W\d]\w*)(\s*\()?")

#: Words of conditions that are not columns, unless columns have these names.
_LANGUAGE = ("AND", "OR", "NOT", "PI", "E", "NAN", "INF", "T", "F", "TRUE", "FALSE", "ROW")


def places_needed(source: TableFile, chosen: Sequence[int] | None, where: str | None) -> list[int]:
    """Return the places of the columns that are needed: those that are chosen come first.

    All of them, in their order, if None are chosen, and where names do not tell all apart: those
    that a name stands for follow from all.
    """
    names = [name.strip().upper() for name in source.schema.names]
    every = [*range(len(names))]
    if chosen is None or len({*names, ""}) <= len(names):
        return every
    words = set()
    for quoted, word, is_function in _WORD.findall(where or ""):
        name = (quoted or word).strip().upper()
        if name in names:
            words.add(name)
        elif name and not is_function and (quoted or name not in _LANGUAGE):
            # The message lists all columns, so the table needs all of them.
            return every
    return list(dict.fromkeys([*chosen, *(place for place in every if names[place] in words)]))


@contextmanager
def as_fits(common: Common, source: TableFile) -> Iterator[File]:
    """Open a file of another format as the FITS table that it becomes."""
    with warnings_said(), common.meter("table") as progress:
        options = Options(threads=common.threads, progress=progress)
        core, _ = temporary_file(sources_of(source, options), (), source.name)
    # The conversion has already printed the warnings.
    with File.computed(core, None, threads=common.threads) as file, warnings_said(False):
        yield file


def list_columns(common: Common, source: TableFile, chosen: Sequence[int] | None) -> None:
    """Print the columns as the file has them: of the FITS table more is known from its rows."""
    columns = []
    keys, foreign = source.keys, said_of_columns(source.schema.metadata)
    for place in range(len(keys)) if chosen is None else chosen:
        field = source.schema.field(place)
        said = field.metadata or {}
        theirs = foreign.get(field.name, {})
        columns.append(
            {
                "column": place + 1,
                "name": keys[place],
                "type": str(field.type),
                "unit": said.get(b"unit", b"").decode(errors="replace") or theirs.get("unit", ""),
                "description": said.get(b"description", b"").decode(errors="replace")
                or theirs.get("description", ""),
            }
        )
    if common.json:
        click.echo(json_text({"file": source.name, "rows": source.rows, "columns": columns}))
        return
    rows = [tuple(str(column[key]) for key in COLUMN_HEADING) for column in columns]
    click.echo(f"{source.name}: {source.rows} rows")
    click.echo(aligned([COLUMN_HEADING, *rows], right=[0]))
