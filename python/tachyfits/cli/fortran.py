"""`tachyfits fortran`: index, values and statistics of records of unformatted Fortran files."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import tachyfits as tf
from tachyfits import TachyfitsError
from tachyfits.base import listed, usage
from tachyfits.cli import _progress
from tachyfits.cli._failures import complain
from tachyfits.cli._group import Group, packed, with_options
from tachyfits.cli._output import (
    bytes_of,
    file_for,
    json_text,
    print_answer,
    quiet_option,
    report_dict,
    report_line,
    say,
    written,
)
from tachyfits.cli._record_index import tell
from tachyfits.cli._record_stats import as_text, statistics
from tachyfits.cli._record_values import line, plain, save
from tachyfits.cli._syntax import RANGE
from tachyfits.fortran import File, Record
from tachyfits.records import as_list, number_of_form
from tachyfits.text import Range

#: Maximum number of printed values of a record.
SHOWN = 20

_SOURCE = [
    click.option("--markers", type=click.Choice(["4", "8"]),
                 help="Bytes of the markers around records. Default: detected."),
    click.option("--order", type=click.Choice(["big", "little"]),
                 help="Byte order. Default: detected from the markers; else this machine's."),
    click.option("--access", type=click.Choice(["sequential", "direct", "stream"]),
                 default="sequential", show_default=True, help="How the file was written."),
    click.option("--record-bytes", type=click.IntRange(min=1), metavar="N",
                 help="Bytes of a record of direct access."),
    click.option("--recover", is_flag=True, help="Continue after damage, with the next whole "
                                                 "record."),
    click.option("--json", is_flag=True, help="Print one line of JSON per file."),
    quiet_option,
]  # fmt: skip
_RUN = [
    click.option("--threads", type=click.IntRange(min=0), default=0, metavar="N",
                 help="Number of threads; 0 (the default): one per core."),
    click.option("--progress/--no-progress", default=None,
                 help="Show progress if the work takes over a second. Default: on a terminal."),
]  # fmt: skip
_STATS = [
    click.option("--form", required=True, metavar="FORM",
                 help="Form of the records: f8 for any number of reals, or several items."),
    click.option("--field", "fields", multiple=True, metavar="NAME",
                 help="Field of mixed records: f0, f1, ... in the order of the form, f1.f0 in a "
                      "group. May be repeated. Default: all numeric fields."),
    click.option("--records", type=RANGE, metavar="A:B",
                 help="Only these records, counted from 1, both ends included."),
    click.option("--ddof", type=click.IntRange(min=0), default=0, show_default=True,
                 help="The divisor of std is count - ddof."),
    click.option("--report", is_flag=True,
                 help="Report the cost: seconds of io, compute, wall; hidden fraction; GB/s."),
]  # fmt: skip


def _opened(path: str, options: dict[str, Any]) -> File:
    """Open a file with the given options."""
    markers = options["markers"]
    if (options["access"] == "direct") != (options["record_bytes"] is not None):
        raise click.UsageError("--access direct and --record-bytes belong together")
    if markers is not None and options["access"] != "sequential":
        raise click.UsageError(f"--markers: files of {options['access']} access have none")
    file = tf.fortran.open(
        path,
        None if markers is None else int(markers),
        options["order"],
        options["access"],
        options["record_bytes"],
        recover=options["recover"],
    )
    for first, last, why in file.skipped:
        say(f"warning: {path}: bytes {first} to {last - 1} skipped: {why.splitlines()[0]}")
    return file


def _each(files: tuple[str, ...], action: Callable[[str], int | None]) -> int:
    """Call ``action`` with each path, continue after failures, and return the exit status."""
    status = 0
    for path in files:
        try:
            status = max(status, action(path) or 0)
        except TachyfitsError as error:
            error.args = tuple(_from_one(part) for part in error.args)
            status = max(status, complain(error))
    return status


def _from_one(text: Any) -> Any:
    """Convert 0-based record numbers in a message to 1-based ones."""

    def further(match: re.Match[str]) -> str:
        word, first, between, last = match.groups()
        last_text = "" if last is None else f"{between}{int(last) + 1}"
        return f"{word} {int(first) + 1}{last_text} (from 1)"

    pattern = r"(records?) (\d+)(?:( to | and )(\d+))? \(from 0\)"
    return re.sub(pattern, further, text) if isinstance(text, str) else text


@click.group(cls=Group)
def command() -> None:
    """Unformatted files of Fortran programs: records, values, statistics, conversion.

    Markers of 4 or 8 bytes in either byte order are detected from the bytes. The file does not
    store types; give them with --form: items separated by commas, each a count (* once to fill the
    record, as a single item does) and a type: i1 i2 i4 i8 i16 integer, f2 f4 f8 f16 real (r is the
    same), c8 c16 c32 complex, l1 l2 l4 l8 logical, aN text of N characters, xN bytes to skip; items
    in parentheses are a group with a count: 1000(3f8,i4) is an array of 1000 derived types. Sizes
    are in bytes, records count from 1. i16, and on most machines f16 and c32, can be converted but
    not printed.

    \b
    Examples:
      tachyfits fortran info run.dat
      tachyfits fortran dump run.dat --form '*f8'
      tachyfits fortran dump run.dat --form '*f8' --records 2: -o run.npy
      tachyfits fortran stats run.dat --form '*f8'
      tachyfits fortran convert run.dat --form '*f8' --to-order big -o big.dat
    """


@command.command()
@click.argument("files", nargs=-1, required=True, type=click.Path())
@with_options(_SOURCE)
def info(files: tuple[str, ...], **options: Any) -> int:
    """Say how files are framed, why, and which records they have.

    Reports a damaged file with its whole records; the exit status is then 1.

    \b
    Examples:
      tachyfits fortran info run.dat
      tachyfits fortran info old.dat --markers 4 --order big --recover --json
    """

    def act(path: str) -> int:
        file = _opened(path, options)
        return tell(file, order_given=options["order"] is not None, as_json=options["json"])

    return _each(files, act)


def _chosen(records: tuple[str, Range] | None, file: File) -> tuple[range, bool]:
    """Return the numbers of records, from 0, and whether they extend to the end."""
    requested = Range(None, None, 1) if records is None else records[1]
    count = file.whole_records
    if file.damage is not None:
        # Damage is reported after the whole records before it.
        count = max(count, requested.first or 0, requested.last or 0)
    numbers = range(count)[requested.to_slice(count, file.name, "record")]
    if numbers.step < 1:
        raise usage("invalid --records: expected an ascending range", "use A:B or A:B:STEP")
    return numbers, requested.last is None


@command.command()
@click.argument("file", type=click.Path())
@click.option(
    "--form",
    "forms",
    multiple=True,
    metavar="FORM",
    help="Form of a record. Default: bytes. May be repeated, as for convert.",
)
@click.option(
    "--records",
    type=RANGE,
    metavar="A:B:STEP",
    help="Only these records, counted from 1, both ends included.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    help="Write .fits, .npy or .csv instead, -: CSV on stdout; the records must have equal "
    "lengths.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing output file.")
@with_options(_SOURCE + _RUN)
def dump(
    file: str, forms: tuple[str, ...], records: tuple[str, Range] | None, output: str | None,
    overwrite: bool, threads: int, progress: bool | None, **options: Any,
) -> int:  # fmt: skip
    """Print the values of records, or write them as FITS, NumPy or CSV.

    Records of integers or reals become an image in FITS, a row for each; mixed ones become a
    table, and so do complex numbers, logical values and text.

    \b
    Examples:
      tachyfits fortran dump run.dat --form '*f8'
      tachyfits fortran dump run.dat --form '*f8' --records 2:3 --json
      tachyfits fortran dump run.dat --form '*f8' -o run.fits
      tachyfits fortran dump run.dat --form i4,f8 --form '*f8'
      tachyfits fortran dump run.dat --form '*f8' --records 2::2 -o fields.npy
    """  # fmt: skip

    def act(path: str) -> int:
        source = _opened(path, options)
        numbers, to_the_end = _chosen(records, source)
        all_forms, repeats = as_list(forms)
        form_of = functools.partial(number_of_form, forms=len(all_forms), repeats=repeats)
        if output is None:
            for number in numbers:
                form = all_forms[form_of(number)] if all_forms else None
                _print(source[number], form, as_json=options["json"])
            if to_the_end:
                # Raises an error about damage.
                len(source)
            return 0
        # Every form occurs in the first len(all_forms) records.
        forms_used = {all_forms[form_of(number)] for number in numbers[: len(all_forms)]}
        if len(forms_used) > 1:
            of_the_last = f"{len(all_forms)}:" if repeats else f"{len(all_forms)}::{len(all_forms)}"
            raise usage(
                f"{output}: the records have the forms {listed(sorted(forms_used))}",
                f"write records of one form: --records {of_the_last} takes those of the last",
            )
        with _progress.progress(progress, "dump") as meter:
            array = source.records(
                numbers.start,
                None if to_the_end else len(numbers),
                next(iter(forms_used), all_forms[0] if all_forms else None),
                step=numbers.step,
                threads=threads,
                progress=meter,
            )
        with file_for(output, ".csv") as name:
            save(array, name, overwrite=overwrite)
        if options["json"]:
            answer = {"file": path, "output": output, "records": len(array)}
            print_answer(answer | {"bytes": bytes_of(output)}, output)
        else:
            say(written(output, f"{len(array)} records"))
        return 0

    return _each((file,), act)


def _print(record: Record, form: str | None, *, as_json: bool) -> None:
    values = record.read(form)
    if not as_json:
        click.echo(f"{record.number + 1}: {line(values, SHOWN)}")
        return
    answer = {"record": record.number + 1, "bytes": record.nbytes, "values": plain(values)}
    click.echo(json_text(answer | {"convention": "records from 1"}))


@dataclass(frozen=True)
class Numbers:
    """Options that select the numbers for statistics."""

    form: str
    fields: tuple[str, ...]
    records: tuple[str, Range] | None


@dataclass(frozen=True)
class Target:
    """Options for the framing of new records."""

    to_order: str | None
    to_markers: str | None
    to_access: str | None
    single: bool
    double: bool

    @property
    def options(self) -> dict[str, Any]:
        """The options as arguments of `tachyfits.fortran.convert`."""
        return {
            "order": self.to_order,
            "markers": None if self.to_markers is None else int(self.to_markers),
            "access": self.to_access,
            "precision": "single" if self.single else "double" if self.double else None,
        }


@command.command()
@click.argument("files", nargs=-1, required=True, type=click.Path())
@with_options(_STATS + _SOURCE + _RUN)
@packed("numbers", Numbers)
def stats(
    files: tuple[str, ...], numbers: Numbers, ddof: int, report: bool, threads: int,
    progress: bool | None, **options: Any,
) -> int:  # fmt: skip
    """Count, sum, mean, rms, std, min and max of the numbers of records, without an array of them.

    Records of one type may have any lengths; mixed ones have one length, and a row for each field
    of numbers, which is a pass over the file each. NaN are counted (nan) and otherwise ignored.
    Positions are the record and the element in it, or in the field, both counted from 1. Complex
    numbers have no order: min and max are those of their parts. Numbers have as many digits as it
    takes to read them back exactly.

    \b
    Examples:
      tachyfits fortran stats run.dat --form f8
      tachyfits fortran stats run.dat --form f8 --records 2:10 --json | jq .statistics[0].max
      tachyfits fortran stats run.dat --form 'f8,(f8,f8)'
      tachyfits fortran stats run.dat --form 'f8,2(f8)' --field f1.f0 --report
    """  # fmt: skip

    def act(path: str) -> int:
        file, form = _opened(path, options), numbers.form
        selected, to_the_end = _chosen(numbers.records, file)
        if selected.step != 1:
            raise usage("invalid --records: expected every record of a range", "use N or A:B")
        with _progress.progress(progress, "stats") as meter:
            rows, costs = statistics(
                file,
                (selected.start, None if to_the_end else len(selected)),
                form,
                numbers.fields,
                ddof=ddof,
                threads=threads,
                progress=meter,
            )
        if options["json"]:
            cost_json = {name: report_dict(cost) for name, cost in costs.items()}
            report_json = {"report": cost_json.get("", cost_json)} if report and cost_json else {}
            click.echo(json_text({
                "file": file.name, "convention": "records and elements from 1",
                "records": [selected.start + 1, selected.stop], "form": form, "ddof": ddof,
                "statistics": rows, **report_json,
            }))  # fmt: skip
            return 0
        click.echo(f"{file.name}, records {selected.start + 1}-{selected.stop} (from 1), {form}")
        click.echo(as_text(rows))
        for name, cost in costs.items() if report else ():
            say(f"{name}: {report_line(cost)}" if name else report_line(cost))
        return 0

    return _each(files, act)


@command.command()
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(),
    metavar="OUT",
    help="The new file; for several files an existing folder. -: stdout.",
)
@click.option(
    "--form",
    "forms",
    multiple=True,
    metavar="FORM",
    help="Form of the records. Required for order and precision. If repeated, records use the "
    "forms in rotation; with ... as the last one, all further records use the form before it.",
)
@click.option("--to-order", type=click.Choice(["big", "little"]), help="The new byte order.")
@click.option("--to-markers", type=click.Choice(["4", "8"]), help="The new markers.")
@click.option(
    "--to-access", type=click.Choice(["sequential", "direct", "stream"]), help="The new access."
)
@click.option(
    "--single", is_flag=True, help="Convert reals of 8 bytes to 4, complex numbers likewise."
)
@click.option(
    "--double", is_flag=True, help="Convert reals of 16 bytes to 8, complex numbers likewise."
)
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@with_options(_SOURCE + _RUN)
@packed("target", Target)
def convert(
    files: tuple[str, ...], output: str, forms: tuple[str, ...], target: Target, overwrite: bool,
    threads: int, progress: bool | None, **options: Any,
) -> int:  # fmt: skip
    """Write files again with another byte order, other markers, or half the precision.

    Each new file appears when it is complete.

    \b
    Examples:
      tachyfits fortran convert run.dat --to-markers 8 -o wide.dat
      tachyfits fortran convert run.dat --form '*f8' --to-order big --single -o single.dat
      tachyfits fortran convert run.dat --form i4,a8 --form '*f8' --form ... --to-order big -o b.dat
    """  # fmt: skip
    if target.single and target.double:
        raise click.UsageError("give only one of --single and --double")
    folder = Path(output).is_dir()
    if len(files) > 1 and not folder:
        raise click.BadParameter(f"{output!r} is not a folder", param_hint="'-o' / '--output'")
    outputs = {path: Path(output, Path(path).name) if folder else Path(output) for path in files}
    of_output: dict[Path, str] = {}
    for path, name in outputs.items():
        if (first_path := of_output.setdefault(name, path)) != path:
            raise click.UsageError(f"{first_path} and {path} would both become {name}")

    def act(path: str) -> int:
        name = outputs[path]
        with (
            _progress.progress(progress, "convert") as meter,
            file_for(str(name), Path(path).suffix) as path_to_write,
        ):
            records = _opened(path, options).convert(
                path_to_write,
                **target.options,
                forms=forms,
                overwrite=overwrite,
                threads=threads,
                progress=meter,
            )
        if options["json"]:
            answer = {"file": path, "output": str(name), "records": records}
            print_answer(answer | {"bytes": bytes_of(str(name))}, str(name))
        else:
            say(written(str(name), f"{records} records"))
        return 0

    return _each(files, act)
