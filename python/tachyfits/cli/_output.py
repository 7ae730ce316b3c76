"""What goes to stdout: JSON that every parser reads, and aligned text."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import click
import numpy as np

from tachyfits import _core


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it.

    JSON has no NaN, and no infinities: an undefined number is null, an infinite one is text.

    >>> plain({"a": float("nan"), "b": (1, np.float64(0.5)), "c": float("-inf"), "d": 1 + 2j})
    {'a': None, 'b': [1, 0.5], 'c': '-Infinity', 'd': [1.0, 2.0]}
    """
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return None
        return "Infinity" if value > 0 else "-Infinity"
    return value


def json_text(value: Any) -> str:
    """Return a value as one line of JSON; several files give one line each."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)


def number_text(value: Any) -> str:
    """Return a number with as many digits as it takes to read it back exactly.

    >>> number_text(np.float64(0.1)), number_text(np.uint64(7)), number_text(float("nan"))
    ('0.1', '7', 'nan')
    """
    value = value.item() if isinstance(value, np.generic) else value
    return repr(value)


def cell_text(value: Any) -> str:
    """Return a value as one column of a table.

    >>> cell_text([3, 4]), cell_text("box(1, 2)"), cell_text(None)
    ('3,4', 'box(1,2)', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, list):
        return ",".join(map(str, value)) or "-"
    # A region's blanks would make several columns of it.
    return "".join(value.split()) if isinstance(value, str) else number_text(value)


def aligned(rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Return rows as columns two blanks apart; those numbered in ``right`` end flush.

    >>> print(aligned([("a", "10"), ("bb", "9")], right=[1]))
    a   10
    bb   9
    """
    table = [list(row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def csv_text(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as comma-separated values, numbers with every digit that they have."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows([cell if isinstance(cell, str) else number_text(cell) for cell in row]
                     for row in rows)  # fmt: skip
    return stream.getvalue()


def columns_text(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as columns for people and awk; the line of names begins with "#"."""
    table = [[f"# {heading[0]}", *heading[1:]]]
    table += [[cell if isinstance(cell, str) else number_text(cell) for cell in row]
              for row in rows]  # fmt: skip
    return aligned(table, right=range(len(heading)))


def size_text(size: int) -> str:
    """Return a number of bytes as people say it.

    >>> size_text(999), size_text(4_300_000_000)
    ('999 B', '4.3 GB')
    """
    number = float(size)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            break
        number /= 1000
    return f"{size} B" if unit == "B" else f"{number:.1f} {unit}"


def report_dict(report: _core.Report) -> dict[str, Any]:
    """Return what an operation cost."""
    seconds = report.wall_seconds
    return {
        "bytes": report.bytes,
        "io_seconds": report.io_seconds,
        "compute_seconds": report.compute_seconds,
        "wall_seconds": seconds,
        "hidden_fraction": report.hidden_fraction,
        "gigabytes_per_second": report.bytes / seconds / 1e9 if seconds > 0 else None,
        "threads": report.threads,
        "buffering": report.buffering,
        "storage": report.storage,
    }


def report_line(report: _core.Report) -> str:
    """Return what an operation cost, as a line for people."""
    seconds = report.wall_seconds
    rate = f", {report.bytes / seconds / 1e9:.2f} GB/s" if seconds > 0 else ""
    return (
        f"{size_text(report.bytes)} in {seconds:.3f} s{rate}: "
        f"io {report.io_seconds:.3f} s, compute {report.compute_seconds:.3f} s, "
        f"hidden fraction {report.hidden_fraction:.2f}, {report.threads} threads, "
        f"{report.buffering} buffering, {report.storage}"
    )


def say(text: str) -> None:
    """Write words for people to stderr."""
    click.echo(text, err=True)
