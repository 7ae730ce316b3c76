"""`tachyfits diff`: differences between two files."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import click

import tachyfits
from tachyfits import FileDifference
from tachyfits.checks import DataDifference, HduDifference, HduLabel
from tachyfits.cli import _progress
from tachyfits.cli._failures import complain
from tachyfits.cli._group import packed
from tachyfits.cli._output import json_text, number_text, say, warnings_said


@dataclass(frozen=True)
class Rules:
    """Options that define a difference, as arguments of `tachyfits.diff`."""

    absolute: float
    relative: float
    ignore: tuple[str, ...]
    ignore_comments: bool
    places: int
    threads: int


@click.command()
@click.argument("first", type=click.Path())
@click.argument("second", type=click.Path())
@click.option(
    "--tolerance",
    "absolute",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="X",
    help="Largest difference of equal numbers.",
)
@click.option(
    "--relative",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="X",
    help="Largest difference of equal numbers, relative to the larger one; with --tolerance one "
    "of the two is enough.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="KEY",
    help="Ignore a keyword, or a pattern such as DATE*. May be repeated.",
)
@click.option("--ignore-comments", is_flag=True, help="Ignore the comments of cards.")
@click.option(
    "--places",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Number of differing values to list per image or column.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="Print nothing; use the exit status.")
@click.option(
    "--threads",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Number of threads; 0 (the default): one per core. The result does not depend on it.",
)
@click.option(
    "--progress/--no-progress",
    default=None,
    help="Show progress if the work takes over a second. Default: on a terminal.",
)
@packed("rules", Rules)
def command(
    first: str, second: str, rules: Rules, as_json: bool, quiet: bool, progress: bool | None
) -> int:
    """Compare two files: HDUs, cards, pixels, the cells of tables.

    HDUs are paired by EXTNAME and EXTVER if both files have them, else by number; columns, and
    their cards, by name. Of tables of different lengths the rows that both have are compared. The
    order of cards and the notation of a number do not matter. NaN equals NaN.

    Lines with < are of the first file, with > of the second. Pixels are at (x,y,...), cells at
    (row,element), counted from 1.

    Exit status, as that of diff(1): 0 the same, 1 different, 2 a file cannot be read or wrong use.

    \b
    Examples:
      tachyfits diff cube.fits cube.fits
      tachyfits diff cube.fits cube.fits --tolerance 1e-6 --ignore 'DATE*' --ignore HISTORY
      tachyfits diff cube.fits cube.fits --relative 1e-5 --json
    """  # fmt: skip
    if quiet and as_json:
        raise click.UsageError("choose one of --quiet and --json")
    try:
        with warnings_said(), _progress.progress(progress, "diff") as meter:
            difference = tachyfits.diff(first, second, **asdict(rules), progress=meter)
    except tachyfits.TachyfitsError as error:
        complain(error)
        return 2
    if as_json:
        click.echo(json_text(_as_json(difference)))
        listed_count, different = _places(difference)
        if rules.places and listed_count < different:
            say(f"{listed_count} of {different} places of differences; --places shows more")
    elif not quiet:
        click.echo("\n".join(_lines(difference)))
    return int(not difference.same)


def _places(difference: FileDifference) -> tuple[int, int]:
    """Return the number of listed differing values, and the total number."""
    values = [data for hdu in difference.hdus for data in hdu.data if data.what == "values"]
    return sum(len(data.places) for data in values), sum(data.different for data in values)


def _as_json(difference: FileDifference) -> dict[str, Any]:
    convention = "pixels: x first, from 1; rows and elements from 1; HDUs from 0"
    answer = asdict(difference) | {"same": difference.same, "convention": convention}
    for hdu, hdu_difference in zip(answer["hdus"], difference.hdus, strict=True):
        hdu["cards"] = [card._asdict() for card in hdu_difference.cards]
        hdu["data"] = [_data_json(data) for data in hdu_difference.data]
    return answer


def _data_json(data: DataDifference) -> dict[str, Any]:
    answer: dict[str, Any] = {"what": data.what}
    if data.column is not None:
        answer["column"] = data.column
    if data.what != "values":
        return answer | {"found": _found(data)}
    positions = [{"at": _at(data, at), "values": [a, b]} for at, a, b in data.places]
    return answer | {
        "compared": data.compared,
        "different": data.different,
        "undefined": data.undefined,
        "largest": data.largest,
        "largest_at": _at(data, data.largest_at),
        "places": positions,
    }


def _found(data: DataDifference) -> Any:
    if data.what == "shape" and data.found is not None:
        return [list(reversed(axes)) for axes in data.found]
    return data.found


def _found_text(data: DataDifference, content: Any) -> str:
    """Return the found data as text; empty if all columns of the file are in both files."""
    if data.what == "columns":
        return ", ".join(map(repr, content))
    return " x ".join(map(str, content)) if data.what == "shape" else str(content)


def _at(data: DataDifference, at: tuple[int, ...]) -> list[int]:
    """Convert a position to FITS numbers: from 1, and x first for pixels."""
    order = at if data.column is not None else tuple(reversed(at))
    return [index + 1 for index in order]


def _name(label: HduLabel) -> str:
    return f"HDU {label.index}" + (f" {label.name!r}" if label.name else "")


def _lines(difference: FileDifference) -> list[str]:
    if difference.same:
        return [
            "1 HDU is the same"
            if difference.compared == 1
            else f"{difference.compared} HDUs are the same"
        ]
    lines = []
    for name, labels in zip(difference.files, difference.only, strict=True):
        lines += [f"{_name(label)} ({label.kind}): only in {name}" for label in labels]
    for hdu in difference.hdus:
        lines += _hdu_lines(hdu)
    return lines


def _hdu_lines(hdu: HduDifference) -> list[str]:
    first, second = hdu.hdus
    title = _name(first) if first == second else f"{_name(first)} and {_name(second)}"
    lines = [f"{title}:"]
    for card in hdu.cards:
        comment = " (comment)" if card.change == "comment" else ""
        if card.first is not None:
            lines.append(f"  < {card.keyword:<8} {card.first}{comment}")
        if card.second is not None:
            lines.append(f"  > {card.keyword:<8} {card.second}{comment}")
    for data in hdu.data:
        lines += _data_lines(data)
    return lines


def _data_lines(data: DataDifference) -> list[str]:
    name = "pixels" if data.column is None else f"column {data.column!r}"
    if data.what == "order":
        return ["  columns in another order"]
    if data.what != "values":
        name = data.what if data.column is None else f"{data.what} of {name}"
        texts = (_found_text(data, content) for content in _found(data))
        return [f"  {mark} {name}: {text}" for mark, text in zip("<>", texts, strict=True) if text]
    lines = [f"  {name}: {data.different} of {data.compared} differ"]
    if data.largest_at:
        at = ",".join(map(str, _at(data, data.largest_at)))
        lines[0] += f", the most by {number_text(data.largest)} at ({at})"
    if data.undefined:
        lines[0] += f", {data.undefined} are undefined in one file alone"
    for place in data.places:
        position = ",".join(map(str, _at(data, place.at)))
        lines.append(f"    ({position}): {place.first} and {place.second}")
    if data.different > len(data.places) and data.places:
        lines.append(f"    and {data.different - len(data.places)} more")
    return lines
