"""`tachyfits errors`: list the codes of errors and warnings."""

from __future__ import annotations

import click

from tachyfits import info
from tachyfits.cli._output import aligned, json_text, row_width


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List the codes of errors and warnings, each with its kind and meaning.

    \b
    Examples:
      tachyfits errors
      tachyfits errors --json | jq '.[].code'
    """
    rows = info.error_codes()
    if as_json:
        names = ("code", "kind", "meaning")
        click.echo(json_text([dict(zip(names, row, strict=True)) for row in rows]))
    else:
        click.echo(aligned([("code", "kind", "meaning"), *rows], width=row_width()))
