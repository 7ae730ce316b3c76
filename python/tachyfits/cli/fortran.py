"""`tachyfits fortran`: records of unformatted Fortran files: what there are, values, conversion."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

import tachyfits as tf
from tachyfits import TachyfitsError
from tachyfits._errors import usage
from tachyfits._record_file import File
from tachyfits._writer import write_atomically
from tachyfits.cli import _progress
from tachyfits.cli._output import aligned, csv_text, json_text, number_text, say, size_text

#: Rows of the index that are shown, records that are printed, values of each.
SHOWN = 20

_SOURCE = [
    click.option("--markers", type=click.Choice(["4", "8"]),
                 help="Bytes of the markers around records. Default: found out."),
    click.option("--order", type=click.Choice(["big", "little"]),
                 help="Byte order. Default: found out from the markers; else this machine's."),
    click.option("--access", type=click.Choice(["sequential", "direct", "stream"]),
                 default="sequential", show_default=True, help="How the file was written."),
    click.option("--record-bytes", type=click.IntRange(min=1), metavar="N",
                 help="Bytes of a record of direct access."),
    click.option("--recover", is_flag=True, help="Go on after damage, with the next whole record."),
    click.option("--json", is_flag=True, help="Print JSON, a line for each file."),
]  # fmt: skip
_RUN = [
    click.option("--threads", type=click.IntRange(min=0), default=0, metavar="N",
                 help="Threads; 0 (the default): one a core."),
    click.option("--progress/--no-progress", default=None,
                 help="Show progress of work over a second. Default: on a terminal."),
]  # fmt: skip


def _with(options: list[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return functools.reduce(lambda made, option: option(made), reversed(options), function)

    return decorate


def _opened(path: str, given: dict[str, Any]) -> File:
    """Open a file as the options say."""
    markers = given["markers"]
    file = tf.fortran.open(
        path,
        None if markers is None else int(markers),
        given["order"],
        given["access"],
        given["record_bytes"],
        recover=given["recover"],
    )
    for first, last, why in file.skipped:
        say(f"warning: {path}: bytes {first} to {last - 1} passed over: {why.splitlines()[0]}")
    return file


def _each(files: tuple[str, ...], action: Callable[[str], int | None]) -> int:
    """Do something with each file in turn, going on after a failure; the exit status."""
    from tachyfits.cli import complain

    status = 0
    for path in files:
        try:
            status = max(status, action(path) or 0)
        except TachyfitsError as error:
            status = max(status, complain(error))
    return status


@click.group()
def command() -> None:
    """Unformatted files of Fortran programs: records, values, conversion.

    Markers of 4 or 8 bytes in either byte order are found out from the bytes. What is in a record
    is not in the file; say it by --form: items separated by commas, each a count (* once: as many
    as fill the record) and a type: i1 i2 i4 i8 integer, f4 f8 real, c8 c16 complex, l1 l2 l4 l8
    logical, aN text of N characters, xN bytes that are passed over. Sizes are in bytes.

    \b
    Examples:
      tachyfits fortran info run.dat
      tachyfits fortran dump run.dat --form '*f8'
      tachyfits fortran dump run.dat --form '*f8' --records 2: --to run.npy
      tachyfits fortran convert run.dat --form '*f8' --to-order big -o big.dat
    """


@command.command()
@click.argument("files", nargs=-1, required=True, type=click.Path())
@_with(_SOURCE)
def info(files: tuple[str, ...], **given: Any) -> int:
    """Say how files are framed, why, and which records they have.

    A damaged file is told with its whole records; the exit status is then 1.

    \b
    Examples:
      tachyfits fortran info run.dat
      tachyfits fortran info old.dat --markers 4 --order big --recover --json
    """
    return _each(files, lambda path: _tell(_opened(path, given), as_json=given["json"]))


def _tell(file: File, *, as_json: bool) -> int:
    index, damage = file.index, file.damage
    if as_json:
        click.echo(json_text({
            "file": file.name, "bytes": file.nbytes, "access": file.access,
            "markers": file.markers, "order": file.order, "reason": file.reason,
            "evidence": file.evidence, "convention": "records from 0",
            "records": file.whole_records, "damage": damage,
            "skipped": [list(part) for part in file.skipped],
            "runs": [dict(zip(index.dtype.names or (), row, strict=True))
                     for row in index.tolist()],
        }))  # fmt: skip
        return 0 if damage is None else 1
    how = f"{file.markers}-byte markers" if file.markers else f"{file.access} access"
    say_lines = [f"{file.name}: {size_text(file.nbytes)}, {how}, {file.order}-endian, "
                 f"{file.whole_records} whole records"]  # fmt: skip
    if file.reason is not None:
        say_lines.append(f"  decided: {file.reason}")
        say_lines += [f"    {line}" for line in file.evidence]
    click.echo("\n".join(say_lines))
    rows = [("records (from 1)", "count", "bytes each", "at byte")]
    for first, count, size, offset in index[:SHOWN].tolist():
        last = f"-{first + count}" if count > 1 else ""
        rows.append((f"{first + 1}{last}", str(count), str(size), str(offset)))
    click.echo(aligned(rows, right=[1, 2, 3]))
    if len(index) > SHOWN:
        click.echo(f"and {len(index) - SHOWN} more runs of records of one length (--json has all)")
    if damage is not None:
        say(f"{file.name}: {damage}")
        return 1
    return 0


def _range(text: str | None, file: File) -> tuple[int, int | None]:
    """Read A:B, counted from 1, both ends inside."""
    if text is None:
        return 0, None
    first, colon, last = text.partition(":")
    try:
        begin = int(first) if first else 1
        end = (int(last) if last else None) if colon else begin
    except ValueError:
        raise click.BadParameter(f"{text!r} is no A:B", param_hint="'--records'") from None
    if begin < 1 or (end is not None and end < begin):
        raise click.BadParameter(f"{text!r}: records count from 1", param_hint="'--records'")
    return begin - 1, None if end is None else end - begin + 1


@command.command()
@click.argument("file", type=click.Path())
@click.option("--form", metavar="FORM", help="What a record is made of. Default: bytes.")
@click.option("--records", metavar="A:B", help="Only these, counted from 1, both ends inside.")
@click.option(
    "--to",
    "output",
    type=click.Path(),
    metavar="OUT",
    help="Write .fits, .npy or .csv instead; the records must have one length.",
)
@click.option("--overwrite", is_flag=True, help="Replace an older output file.")
@_with(_SOURCE + _RUN)
def dump(
    file: str, form: str | None, records: str | None, output: str | None, overwrite: bool,
    threads: int, progress: bool | None, **given: Any,
) -> int:  # fmt: skip
    """Print the values of records, or write them as FITS, NumPy or CSV.

    Records of one type of numbers become an image in FITS, a row for each; mixed ones a table.

    \b
    Examples:
      tachyfits fortran dump run.dat --form '*f8'
      tachyfits fortran dump run.dat --form '*f8' --records 2:3 --json
      tachyfits fortran dump run.dat --form '*f8' --to run.fits
    """  # fmt: skip

    def act(path: str) -> int:
        opened = _opened(path, given)
        first, count = _range(records, opened)
        if output is None:
            _print(opened, form, first, count, as_json=given["json"])
            return 0
        with _progress.progress(progress, "dump") as meter:
            array = opened.records(first, count, form, threads=threads, progress=meter)
        _save(array, output, overwrite=overwrite)
        say(f"{output}: {len(array)} records, {size_text(Path(output).stat().st_size)}")
        return 0

    return _each((file,), act)


def _print(file: File, form: str | None, first: int, count: int | None, *, as_json: bool) -> None:
    whole = file.whole_records
    end = whole if count is None else first + count
    for number in range(first, end):
        record = file[number]
        values = record.read(form)
        if as_json:
            plain = values.tolist()
            answer = {"record": number, "bytes": record.nbytes, "values": _texts(plain)}
            click.echo(json_text(answer | {"convention": "records from 0"}))
            continue
        shown = [_text(value) for value in values[:SHOWN].tolist()]
        more = f" ... ({len(values)} values)" if len(values) > SHOWN else ""
        click.echo(f"{number + 1}: {' '.join(shown)}{more}")
    if count is None and file.damage is not None:
        len(file)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return repr(value.decode("latin-1").rstrip())
    if isinstance(value, (tuple, list)):
        return " ".join(_text(item) for item in value)
    return number_text(value)


def _texts(value: Any) -> Any:
    """Return bytes as text, wherever they are."""
    if isinstance(value, bytes):
        return value.decode("latin-1").rstrip()
    if isinstance(value, (tuple, list)):
        return [_texts(item) for item in value]
    return value


def _save(array: np.ndarray[Any, Any], output: str, *, overwrite: bool) -> None:
    suffix = Path(output).suffix.lower()
    if suffix == ".npy":
        write_atomically(output, lambda stream: np.save(stream, array), overwrite=overwrite)
    elif suffix == ".csv":
        text = _csv(array)
        write_atomically(output, lambda stream: stream.write(text.encode()), overwrite=overwrite)
    elif suffix == ".fits" and array.dtype.names:
        columns = {name: array[name] for name in array.dtype.names}
        tf.write_table(output, columns, overwrite=overwrite)
    elif suffix == ".fits":
        if array.dtype.kind not in "iuf" or array.dtype == np.float16:
            raise usage(f"an image cannot have pixels of {array.dtype}", "write .npy or .csv")
        tf.write(output, array, overwrite=overwrite)
    else:
        raise usage(f"{output} ends in none of .fits .npy .csv", "name the file so")


def _csv(array: np.ndarray[Any, Any]) -> str:
    if array.dtype.names is None:
        heading = [f"v{number}" for number in range(array.shape[1])]
        return csv_text(heading, [[_csv_cell(x) for x in row] for row in array.tolist()])
    heading, parts = [], []
    for name in array.dtype.names:
        part = array[name].reshape(len(array), -1)
        one = part.shape[1] == 1
        heading += [name] if one else [f"{name}_{number}" for number in range(part.shape[1])]
        parts.append([[_csv_cell(x) for x in row] for row in part.tolist()])
    rows = [[cell for row in rows for cell in row] for rows in zip(*parts, strict=True)]
    return csv_text(heading, rows)


def _csv_cell(value: Any) -> Any:
    return value.decode("latin-1").rstrip() if isinstance(value, bytes) else value


@command.command()
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(),
    metavar="OUT",
    help="The new file; with several files a folder, which is there.",
)
@click.option(
    "--form",
    "forms",
    multiple=True,
    metavar="FORM",
    help="What records are made of; repeated: in turn. Needed for order and precision.",
)
@click.option("--to-order", type=click.Choice(["big", "little"]), help="The new byte order.")
@click.option("--to-markers", type=click.Choice(["4", "8"]), help="The new markers.")
@click.option(
    "--to-access", type=click.Choice(["sequential", "direct", "stream"]), help="The new access."
)
@click.option(
    "--single", is_flag=True, help="Reals of 8 bytes become those of 4, complex numbers likewise."
)
@click.option("--overwrite", is_flag=True, help="Replace older files.")
@_with(_SOURCE + _RUN)
def convert(
    files: tuple[str, ...], output: str, forms: tuple[str, ...], to_order: str | None,
    to_markers: str | None, to_access: str | None, single: bool, overwrite: bool,
    threads: int, progress: bool | None, **given: Any,
) -> int:  # fmt: skip
    """Write files again with another byte order, other markers, or half the precision.

    Each new file appears when it is complete.

    \b
    Examples:
      tachyfits fortran convert run.dat --to-markers 8 -o wide.dat
      tachyfits fortran convert run.dat --form '*f8' --to-order big --single -o single.dat
    """  # fmt: skip
    folder = Path(output).is_dir()
    if len(files) > 1 and not folder:
        raise click.BadParameter(f"{output!r} is no folder", param_hint="'-o' / '--output'")

    def act(path: str) -> int:
        target = Path(output, Path(path).name) if folder else Path(output)
        with _progress.progress(progress, "convert") as meter:
            records = _opened(path, given).convert(
                target,
                markers=None if to_markers is None else int(to_markers),
                order=to_order,
                access=to_access,
                forms=forms,
                precision="single" if single else None,
                overwrite=overwrite,
                threads=threads,
                progress=meter,
            )
        size = target.stat().st_size
        if given["json"]:
            answer = {"file": path, "output": str(target), "records": records, "bytes": size}
            click.echo(json_text(answer))
        else:
            say(f"{target}: {records} records, {size_text(size)}")
        return 0

    return _each(files, act)
