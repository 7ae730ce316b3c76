"""Output to stdout: standard JSON and aligned text."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, TextIO

import click

from tachyfits import Report, TachyfitsWarning
from tachyfits.base import printable

#: Output name for stdout.
STDOUT = "-"

#: Minimum width of a text column, even on narrow terminals.
_LEAST_CELL = 8

_COSTS = (
    "bytes", "io_seconds", "compute_seconds", "write_seconds", "wall_seconds", "hidden_fraction",
    "threads", "buffering", "storage",
)  # fmt: skip


def json_text(value: Any) -> str:
    """Return a value as one line of JSON."""
    from tachyfits.results import plain

    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False)
    # Escape file names that are not UTF-8, so that programs can recover their bytes.
    return text if printable(text) == text else json.dumps(plain(value), allow_nan=False)


def number_text(value: Any) -> str:
    """Return a number with enough digits to read it back exactly.

    >>> import numpy as np
    >>> number_text(np.float64(0.1)), number_text(np.uint64(7)), number_text(float("nan"))
    ('0.1', '7', 'nan')

    Truth values are written as the engine writes them in CSV files.

    >>> number_text(np.bool_(True)), number_text(False)
    ('true', 'false')
    """
    value = value.item() if hasattr(value, "item") else value
    return str(value).lower() if isinstance(value, bool) else repr(value)


def cell_text(value: Any) -> str:
    """Return a value as the text of one cell.

    >>> cell_text([3, 4]), cell_text("box(1, 2)"), cell_text(None)
    ('3,4', 'box(1,2)', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, list):
        return ",".join(map(str, value)) or "-"
    # Remove blanks, for example in a region, which would split the cell into several columns.
    return "".join(value.split()) if isinstance(value, str) else number_text(value)


def line_width() -> int:
    """Return the line width of COLUMNS or the terminal; 80 without either."""
    return shutil.get_terminal_size((80, 24)).columns


def row_width() -> int:
    """Return the maximum width of a row: the line width on a terminal, else unlimited."""
    return line_width() if sys.stdout.isatty() else 2**31


def text_width() -> int:
    """Return the maximum width of text: that of COLUMNS or the terminal, else unlimited."""
    return line_width() if "COLUMNS" in os.environ else row_width()


def aligned(
    rows: Iterable[Sequence[str]], *, right: Sequence[int] = (), width: int | None = None
) -> str:
    """Return rows as columns two blanks apart; columns in ``right`` are right-aligned.

    If lines would be longer than ``width`` (None: the text width), the widest cells are wrapped.

    >>> print(aligned([("a", "10"), ("bb", "9")], right=[1]))
    a   10
    bb   9
    >>> print(aligned([("1", "one two three"), ("2", "four")], width=12))
    1  one two
       three
    2  four
    """
    table = [list(row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    widths = _narrowed(table, widths, right, width or text_width())
    lines = []
    for row in table:
        cells = [
            [cell] if len(cell) <= limit else textwrap.wrap(cell, limit, break_on_hyphens=False)
            for cell, limit in zip(row, widths, strict=True)
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            line = (
                part.rjust(limit) if number in right else part.ljust(limit)
                for number, (part, limit) in enumerate(zip(parts, widths, strict=True))
            )
            lines.append("  ".join(line).rstrip())
    return "\n".join(lines)


def _narrowed(
    table: list[list[str]], widths: list[int], right: Sequence[int], width: int
) -> list[int]:
    """Reduce the widths of text columns until a line fits; columns in ``right`` keep theirs."""
    widths = list(widths)
    excess = sum(widths) + 2 * len(widths) - 2 - width
    words = [
        max((len(word) for cell in column for word in cell.split()), default=0)
        for column in zip(*table, strict=True)
    ]
    # Break lines between words first, then within words if necessary.
    for minimum in (words, [_LEAST_CELL] * len(widths)):
        while excess > 0:
            text = (n for n in range(len(widths)) if n not in right)
            spare, column = max(((widths[n] - minimum[n], n) for n in text), default=(0, 0))
            if spare <= 0:
                break
            # Reduce the widest column in small steps, so that columns get similar widths.
            step = min(excess, max(1, spare // 4))
            widths[column] -= step
            excess -= step
    return widths


def in_blocks(
    rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), width: int | None = None
) -> str:
    """Return rows as columns; columns that do not fit follow in blocks after a blank line.

    >>> print(in_blocks([("RA", "DEC", "MAG"), ("1.5", "2.5", "17")], width=10))
    RA   DEC
    1.5  2.5
    <BLANKLINE>
    MAG
    17
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    limit = width or text_width()
    blocks: list[list[int]] = []
    total = limit + 1
    for number, column in enumerate(columns):
        size = max(map(len, column)) + 2
        if total + size - 2 > limit:
            blocks.append([])
            total = 0
        blocks[-1].append(number)
        total += size
    return "\n\n".join(
        aligned(
            [[row[number] for number in block] for row in rows],
            right=[position for position, number in enumerate(block) if number in right],
            # Do not wrap a cell that is longer than the line.
            width=2**31,
        )
        for block in blocks
    )


def csv_text(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as comma-separated values, with all digits of numbers."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows([cell if isinstance(cell, str) else number_text(cell) for cell in row]
                     for row in rows)  # fmt: skip
    return stream.getvalue()


def columns_text(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as columns for people and awk; the line of names starts with "#"."""
    table = [[f"# {heading[0]}", *heading[1:]]]
    table += [[cell if isinstance(cell, str) else number_text(cell) for cell in row]
              for row in rows]  # fmt: skip
    # A terminal gets blocks of columns that fit; programs get one line per row.
    return in_blocks(table, right=range(len(heading)), width=row_width())


def size_text(size: int) -> str:
    """Return a number of bytes as readable text.

    >>> size_text(999), size_text(4_300_000_000)
    ('999 B', '4.3 GB')
    """
    number = float(size)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            break
        number /= 1000
    return f"{size} B" if unit == "B" else f"{number:.1f} {unit}"


def report_dict(report: Report) -> dict[str, Any]:
    """Return the cost of an operation, by Python's attribute names."""
    return {name: getattr(report, name) for name in _COSTS}


def report_line(report: Report) -> str:
    """Return the cost of an operation as a readable line."""
    seconds = report.wall_seconds
    rate = f", {report.bytes / seconds / 1e9:.2f} GB/s" if seconds > 0 else ""
    return (
        f"{size_text(report.bytes)} in {seconds:.3f} s{rate}: io {report.io_seconds:.3f} s, "
        f"compute {report.compute_seconds:.3f} s, write {report.write_seconds:.3f} s a thread; "
        f"{100 * report.hidden_fraction:.0f} % of reading and writing hidden, "
        f"{report.threads} threads, {report.buffering} buffering, {report.storage}"
    )


quiet_option = click.option(
    "--quiet", is_flag=True,
    help="Write nothing but errors to stderr: no warnings, notes or progress.",
)  # fmt: skip


def is_quiet() -> bool:
    """Return whether the running command has ``--quiet``."""
    context = click.get_current_context(silent=True)
    return context is not None and context.params.get("quiet") is True


def say(text: str) -> None:
    """Print a message to stderr, except with ``--quiet``."""
    if not is_quiet():
        click.echo(text, err=True)


def bytes_of(output: str) -> int | None:
    """Return the size of a written file; None for stdout."""
    return None if output == STDOUT else Path(output).stat().st_size


@contextmanager
def file_for(output: str, suffix: str) -> Iterator[str]:
    """Yield the name of a file to write; for ``-``, a temporary file that is copied to stdout.

    ``suffix``: suffix of the temporary file, which determines its format.
    """
    if output != STDOUT:
        yield output
        return
    from tachyfits.writing import stream_of

    stream = stream_of(STDOUT)
    assert stream is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"stdout{suffix}")
        yield str(path)
        with path.open("rb") as source:
            shutil.copyfileobj(source, stream)
    stream.flush()


def written(output: str, text: str) -> str:
    """Return a line about an output: name, text and size."""
    size = bytes_of(output)
    return f"stdout: {text}" if size is None else f"{output}: {text}, {size_text(size)}"


def print_answer(value: Any, *outputs: str) -> None:
    """Print the JSON of a command to stdout, or to stderr if an output goes to stdout."""
    click.echo(json_text(value), err=STDOUT in outputs)


@contextmanager
def warnings_said(said: bool = True) -> Iterator[None]:
    """Print the warnings of this package to stderr, one line each, or suppress them."""
    with warnings.catch_warnings():
        warnings.simplefilter("always" if said else "ignore", TachyfitsWarning)
        original = warnings.showwarning
        # Print a warning once, even if several statistics of a command raise it.
        printed: set[str] = set()

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, TachyfitsWarning):
                if str(message) not in printed:
                    printed.add(str(message))
                    say(f"warning: {message}")
            elif not is_quiet():
                original(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield
