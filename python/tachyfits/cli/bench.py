"""`tachyfits bench`: how fast this machine is on a file, and whether the bits agree."""

from __future__ import annotations

import os
import statistics
import time
import zlib
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from tachyfits import File, Histogram, Image, Stats, TachyfitsError, info, reports
from tachyfits.cli._common import Common, common_options, described, heading
from tachyfits.cli._output import aligned, json_text, report_dict, say

#: Whole reads of more than this are left out: they need the memory.
LARGEST_READ = 4 << 30

#: Name of an experiment to what it does.
EXPERIMENTS: dict[str, Callable[[Image, int], Any]] = {
    "sum": lambda image, threads: image._core_image().total(threads=threads),
    "statistics": lambda image, threads: image.stats(threads=threads),
    "histogram": lambda image, threads: image.histogram(256, (-1.0, 1.0), threads=threads),
    "planes": lambda image, threads: image.max("xy", threads=threads),
    "read": lambda image, threads: image.read(threads=threads),
}


@click.command()
@common_options()
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Measured rounds, after one warm-up round.",
)
@click.option(
    "--only",
    type=click.Choice(list(EXPERIMENTS)),
    multiple=True,
    help="Only this experiment. May be repeated.",
)
def command(common: Common, repeat: int, only: tuple[str, ...]) -> int:
    """Measure sums, statistics and reading of a file, on one thread and on all of them.

    Shows the median, the spread (slowest minus fastest, of the median) and GB/s of what the file
    holds. Rounds of one and of all threads take turns. Answers of different bits are a failure:
    results must not depend on threads. The comparison with other programs is in the benchmarks of
    the source tree (make bench).

    \b
    Examples:
      tachyfits bench cube.fits
      tachyfits bench cube.fits --only sum --repeat 20 --json
      tachyfits bench cube.fits --storage direct
    """

    def measure(file: File) -> None:
        image = common.image(file)
        if not common.json:
            click.echo(heading(image))
            click.echo(f"{info.build()['tier']}, {os.cpu_count()} cores, {common.storage}")
        rows = []
        for name in only or EXPERIMENTS:
            if name == "read" and image.size * image.dtype.itemsize > LARGEST_READ and not only:
                say("read: skipped, the image is larger than 4 GiB (use --only read)")
                continue
            rows += _experiment(image, name, _thread_counts(common.threads), repeat)
        click.echo(json_text(described(image, rows=rows)) if common.json else _as_text(rows))

    return common.each(measure)


def _thread_counts(threads: int) -> list[int]:
    """One thread and all of them; all means ``--threads`` where that is given."""
    return sorted({1, threads or os.cpu_count() or 1})


def _experiment(image: Image, name: str, counts: list[int], repeat: int) -> list[dict[str, Any]]:
    """Measure one experiment; the thread counts take turns so that drifts hit all alike."""
    seconds: dict[int, list[float]] = {threads: [] for threads in counts}
    answers: dict[int, Any] = {}
    costs = {}
    for measured in range(-1, repeat):
        for threads in counts:
            started = time.perf_counter()
            with reports() as found:
                answer = EXPERIMENTS[name](image, threads)
            elapsed = time.perf_counter() - started
            costs[threads] = found[-1] if found else None
            answers[threads] = _fingerprint(answer)
            if measured >= 0:
                seconds[threads].append(elapsed)
    first, *others = answers.values()
    if any(other != first for other in others):
        raise TachyfitsError(
            f"{image.file.name}: {name}: the answer depends on the number of threads: {answers}\n"
            "hint: this is a defect of tachyfits; please report it with the file"
        )
    return [_row(image, name, n, seconds[n], costs[n]) for n in counts]


def _row(
    image: Image, name: str, threads: int, seconds: list[float], report: Any
) -> dict[str, Any]:
    median = statistics.median(seconds)
    return {
        "experiment": name,
        "threads": threads,
        "median_seconds": median,
        "spread": (max(seconds) - min(seconds)) / median if median else None,
        "gigabytes_per_second": image.data_bytes / median / 1e9 if median else None,
        "seconds": seconds,
        "report": report_dict(report) if report else None,
    }


def _as_text(rows: list[dict[str, Any]]) -> str:
    table = [("experiment", "threads", "median s", "spread", "GB/s", "hidden", "buffering")]
    for row in rows:
        report = row["report"] or {}
        table.append(
            (
                row["experiment"],
                str(row["threads"]),
                f"{row['median_seconds']:.4f}",
                f"{row['spread'] or 0:.0%}",
                f"{row['gigabytes_per_second'] or 0:.2f}",
                f"{report.get('hidden_fraction', float('nan')):.2f}",
                str(report.get("buffering", "")),
            )
        )
    return aligned(table, right=[1, 2, 3, 4, 5])


def _fingerprint(answer: Any) -> str:
    """Return text that differs when one bit of the answer does."""
    if isinstance(answer, Stats):
        names = ("count", "nan", "sum", "mean", "rms", "std", "min", "max")
        positions = (answer.min_position, answer.max_position)
        return repr(([getattr(answer, name) for name in names], positions))
    if isinstance(answer, Histogram):
        return repr((answer.counts.tolist(), answer.below, answer.above, answer.nan))
    if isinstance(answer, np.ndarray):
        pixels = np.ascontiguousarray(answer).reshape(-1).view(np.uint8)
        return f"{answer.shape} {zlib.crc32(pixels.data)}"
    return repr(answer)
