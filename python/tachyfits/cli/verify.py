"""`tachyfits verify`: departures of files from the Standard, with advice."""

from __future__ import annotations

from dataclasses import dataclass

import click

import tachyfits
from tachyfits import TachyfitsError
from tachyfits.cli import _progress
from tachyfits.cli._failures import complain
from tachyfits.cli._findings import finding_dict, finding_lines
from tachyfits.cli._group import packed
from tachyfits.cli._output import aligned, json_text, row_width


def list_rules(as_json: bool) -> None:
    """Print the rules."""
    rows = tachyfits.info.rules()
    if as_json:
        names = ("code", "severity", "section", "meaning", "advice")
        click.echo(json_text([dict(zip(names, row, strict=True)) for row in rows]))
    else:
        heading = ("code", "severity", "section", "what is wrong")
        click.echo(aligned([heading, *(rule[:4] for rule in rows)], width=row_width()))


@dataclass(frozen=True)
class Form:
    """Options for printing findings."""

    as_json: bool
    quiet: bool


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, type=click.Path())
@click.option(
    "--fix",
    is_flag=True,
    help="Repair faults that need no guessing, and list them; the file gets all repairs or none. "
    "Then list the remaining findings.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
@click.option(
    "--headers-only", is_flag=True, help="Do not check data: neither values nor checksums."
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON per file.")
@click.option("--quiet", is_flag=True, help="Print one line per file and no findings.")
@click.option(
    "--rules",
    is_flag=True,
    help="List the rules and exit; `tachyfits errors` lists those of reading.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Number of threads; 0 (the default): one per core. The findings do not depend on it.",
)
@click.option(
    "--progress/--no-progress",
    default=None,
    help="Show progress if the work takes over a second. Default: on a terminal.",
)
@packed("form", Form)
def command(
    files: tuple[str, ...],
    fix: bool,
    strict: bool,
    headers_only: bool,
    form: Form,
    rules: bool,
    threads: int,
    progress: bool | None,
) -> int:
    """Compare files with the FITS Standard 4.0 and say how they depart from it.

    An error is what the Standard forbids; a warning is what it advises against, or what is legal
    and probably not meant. Each has its place (HDUs and cards from 0, rows and columns from 1),
    what was expected and found, and below the first of a kind what to do about it. Nothing stops at
    the first finding; like findings are counted, not repeated.

    Exit status: 0 without errors, 1 with errors (--strict: or warnings) or where a file cannot be
    read, 2 wrong use.

    \b
    Examples:
      tachyfits verify cube.fits
      tachyfits verify *.fits --quiet
      tachyfits verify cube.fits --headers-only --json
      tachyfits verify cube.fits --fix
    """  # fmt: skip
    if rules:
        list_rules(form.as_json)
        return 0
    if not files:
        raise click.UsageError("Missing argument 'FILE...'.")
    if fix and "-" in files:
        raise click.UsageError("standard input cannot be changed: name a file")
    if form.quiet and form.as_json:
        raise click.UsageError("choose one of --quiet and --json")
    status = 0
    for path in files:
        try:
            fixes: tuple[tachyfits.Fix, ...] = ()
            if fix:
                with _progress.progress(progress, "fix") as meter:
                    fixes = tachyfits.repair(path, threads=threads, progress=meter)
            with _progress.progress(progress, "verify") as meter:
                verification = tachyfits.verify(
                    path, headers_only=headers_only, threads=threads, progress=meter
                )
        except TachyfitsError as error:
            status = max(status, complain(error))
            continue
        if not verification.ok or (strict and verification):
            status = max(status, 1)
        tell(verification, fixes, as_json=form.as_json, quiet=form.quiet)
    return status


def tell(
    verification: tachyfits.Verification,
    fixes: tuple[tachyfits.Fix, ...],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Print the repairs and the findings."""
    if as_json:
        click.echo(
            json_text(
                {
                    "file": verification.file,
                    "convention": "HDUs, cards and bytes from 0; rows and columns from 1",
                    "hdus": verification.hdus,
                    "errors": verification.errors,
                    "warnings": verification.warnings,
                    "fixed": [fix._asdict() for fix in fixes],
                    "findings": [finding_dict(finding) for finding in verification],
                }
            )
        )
        return
    fixed_text = f", {len(fixes)} fixed" if fixes else ""
    click.echo(f"{verification.file}: {verification.summary()}{fixed_text}")
    if not quiet:
        for fix in fixes:
            click.echo(f"fixed: {fix.place}: {fix.before!r} is now {fix.after!r} [{fix.code}]")
        for line in finding_lines(verification):
            click.echo(line)
