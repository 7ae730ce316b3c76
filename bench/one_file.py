"""`python -m bench file`: how fast this machine is on files, and whether the bits agree.

Shows the median, the spread (slowest minus fastest, of the median) and GB/s of what the file holds.
Rounds of one and of all threads take turns. Answers of different bits are a failure: results must
not depend on threads. Other programs take no part.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import tachyfits as tf
from bench import BenchError, report

#: Whole reads of more than this are left out: they need the memory.
LARGEST_READ = 4 << 30

#: Name of an experiment to what it does.
EXPERIMENTS: dict[str, Callable[[tf.Image, int], Any]] = {
    "sum": lambda image, threads: image.sum(threads=threads),
    "statistics": lambda image, threads: image.stats(threads=threads),
    "histogram": lambda image, threads: image.histogram(256, (-1.0, 1.0), threads=threads),
    "planes": lambda image, threads: image.max("xy", threads=threads),
    "read": lambda image, threads: image.read(threads=threads),
}


def arguments(words: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    summary, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m bench file", description=summary, epilog=details
    )
    parser.add_argument("files", metavar="FILE", nargs="+")
    parser.add_argument("--hdu", default=None, help="number or name; default: the first image")
    parser.add_argument("--storage", default="auto", help="auto, pread, mmap, direct or memory")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help='what "all" means')
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="measured rounds")
    parser.add_argument("--only", action="append", choices=list(EXPERIMENTS), default=[])
    parser.add_argument("--json", action="store_true", help="a line of JSON for each file")
    options = parser.parse_args(words)
    if options.repeat < 1:
        parser.error("--repeat must be at least 1")
    if options.threads < 0:
        parser.error("--threads must be at least 1")
    return options


def main(words: list[str]) -> int:
    """Run the command line."""
    options = arguments(words)
    try:
        for name in options.files:
            measure_file(name, options)
    except tf.TachyfitsError as error:
        raise BenchError(str(error)) from error
    return 0


def measure_file(name: str, options: argparse.Namespace) -> None:
    """Measure the experiments on one file and print them."""
    with tf.open(name, storage=options.storage) as file:
        image = image_of(file, options.hdu)
        names = options.only or list(EXPERIMENTS)
        if not options.only and image.size * image.dtype.itemsize > LARGEST_READ:
            names.remove("read")  # it needs the memory
        counts = sorted({1, options.threads or os.cpu_count() or 1})
        rows = [row for each in names for row in experiment(image, each, counts, options.repeat)]
        if options.json:
            print(json.dumps({"file": name, "shape": image.shape, "rows": rows}))
            return
        print(repr(image))
        print(f"{tf.info.build()['tier']}, {os.cpu_count()} cores, {options.storage}")
        print(report.aligned(as_text(rows)), flush=True)


def image_of(file: tf.File, hdu: str | None) -> tf.Image:
    """Return the image to measure."""
    if hdu is not None:
        found = file[int(hdu) if hdu.isdecimal() else hdu]
        if not isinstance(found, tf.Image):
            raise BenchError(f"{file.name}: HDU {hdu} has no image")
        return found
    for each in file:
        if isinstance(each, tf.Image) and each.size:
            return each
    raise BenchError(f"{file.name}: no HDU has pixels")


def experiment(image: tf.Image, name: str, counts: list[int], repeat: int) -> list[dict[str, Any]]:
    """Measure one experiment; the thread counts take turns so that drifts hit all alike."""
    seconds: dict[int, list[float]] = {threads: [] for threads in counts}
    answers: dict[int, Any] = {}
    costs = {}
    for measured in range(-1, repeat):
        for threads in counts:
            started = time.perf_counter()
            with tf.reports() as found:
                answer = EXPERIMENTS[name](image, threads)
            elapsed = time.perf_counter() - started
            costs[threads] = found[-1] if found else None
            answers[threads] = fingerprint(answer)
            if measured >= 0:
                seconds[threads].append(elapsed)
    first, *others = answers.values()
    if any(other != first for other in others):
        raise BenchError(
            f"{image.file.name}: {name}: the answer depends on the number of threads: {answers}\n"
            "this is a defect of tachyfits; please report it with the file"
        )
    return [row(image, name, n, seconds[n], costs[n]) for n in counts]


def row(
    image: tf.Image, name: str, threads: int, seconds: list[float], cost: Any
) -> dict[str, Any]:
    """Return the numbers of an experiment with this number of threads."""
    median = statistics.median(seconds)
    return {
        "experiment": name,
        "threads": threads,
        "median_seconds": median,
        "spread": (max(seconds) - min(seconds)) / median if median else None,
        "gigabytes_per_second": image.data_bytes / median / 1e9 if median else None,
        "seconds": seconds,
        "hidden_fraction": cost.hidden_fraction if cost else None,
        "buffering": cost.buffering if cost else None,
    }


def as_text(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return the lines of a table."""
    table = [["experiment", "threads", "median s", "spread", "GB/s", "hidden", "buffering"]]
    for one in rows:
        hidden = one["hidden_fraction"]
        table.append(
            [
                one["experiment"],
                str(one["threads"]),
                f"{one['median_seconds']:.4f}",
                f"{one['spread'] or 0:.0%}",
                f"{one['gigabytes_per_second'] or 0:.2f}",
                "-" if hidden is None else f"{hidden:.2f}",
                one["buffering"] or "-",
            ]
        )
    return table


def fingerprint(answer: Any) -> str:
    """Return text that differs when one bit of the answer does."""
    if isinstance(answer, tf.Stats):
        names = ("count", "nan", "sum", "mean", "rms", "std", "min", "max")
        positions = (answer.min_position, answer.max_position)
        return repr(([getattr(answer, name) for name in names], positions))
    if isinstance(answer, tf.Histogram):
        return repr((answer.counts.tolist(), answer.below, answer.above, answer.nan))
    if isinstance(answer, np.ndarray):
        pixels = np.ascontiguousarray(answer).reshape(-1).view(np.uint8)
        return f"{answer.shape} {zlib.crc32(pixels.data)}"
    return repr(answer)
