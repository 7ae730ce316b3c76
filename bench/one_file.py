"""`python -m bench file`: how fast this machine is on files, and whether the bits agree.

Shows the median, the spread (slowest minus fastest, of the median), GB/s of what the file holds and
how many times as fast as one thread it is. Rounds of each number of threads take turns. Answers of
different bits are a failure: results must not depend on threads. Other programs take no part.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tachyfits as tf
from bench import BenchError, report

#: Whole reads of more than this are left out: they need the memory.
LARGEST_READ = 4 << 30


def middle(image: tf.Image) -> tuple[slice, ...]:
    """Return the section of 100 x 100 pixels in the middle of each plane."""
    sides = [slice(max(0, n // 2 - 50), n // 2 + 50) for n in image.shape[-2:]]
    return (*[slice(None)] * (len(image.shape) - 2), *sides)


def smoothed(image: tf.Image, threads: int) -> Path:
    """Smooth along x into a file beside the image, which `fingerprint` deletes."""
    path = Path(f"{image.file.name}.smooth-{os.getpid()}")
    image.smooth("hanning", axis="x").write(path, threads=threads)
    return path


#: Name of an experiment to what it does.
EXPERIMENTS: dict[str, Callable[[tf.Image, int], Any]] = {
    "sum": lambda image, threads: image.sum(threads=threads),
    "statistics": lambda image, threads: image.stats(threads=threads),
    "histogram": lambda image, threads: image.histogram(256, (-1.0, 1.0), threads=threads),
    "planes": lambda image, threads: image.max("xy", threads=threads),
    "read": lambda image, threads: image.read(threads=threads),
    "median": lambda image, threads: image.median(threads=threads),
    "along z": lambda image, threads: image.std("z", threads=threads),
    "spectrum": lambda image, threads: image.select(section=middle(image)).mean(
        "xy", threads=threads
    ),
    "smooth x": smoothed,
}

#: Experiments on cubes.
OF_CUBES = ("along z", "spectrum")


def arguments(words: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    summary, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m bench file", description=summary, epilog=details
    )
    parser.add_argument("files", metavar="FILE", nargs="+")
    parser.add_argument("--hdu", default=None, help="number or name; default: the first image")
    parser.add_argument("--storage", default="auto", help="auto, pread, mmap, direct or memory")
    parser.add_argument(
        "--threads",
        type=counts,
        default=[1, os.cpu_count() or 1],
        metavar="N,...",
        help="numbers of threads, with commas (default: 1 and one for each core)",
    )
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="measured rounds")
    parser.add_argument(
        "--reopen", action="store_true", help="open the file for each operation and close it after"
    )
    parser.add_argument("--only", action="append", choices=list(EXPERIMENTS), default=[])
    parser.add_argument("--json", action="store_true", help="a line of JSON for each file")
    options = parser.parse_args(words)
    if options.repeat < 1:
        parser.error("--repeat must be at least 1")
    return options


def counts(text: str) -> list[int]:
    """Parse numbers of threads; one thread, which the others are compared with, is always there."""
    result = sorted({1, *map(int, text.split(","))})
    if result[0] < 1:
        raise argparse.ArgumentTypeError("expected numbers of threads, each at least 1")
    return result


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
        names = options.only or [
            name
            for name in EXPERIMENTS
            if (name != "read" or image.size * image.dtype.itemsize <= LARGEST_READ)
            and (name not in OF_CUBES or len(image.shape) == 3)
        ]
        how = options.threads, options.repeat, options.storage if options.reopen else None
        rows = [
            row for experiment_name in names for row in experiment(image, experiment_name, *how)
        ]
        if options.json:
            print(json.dumps({"file": name, "shape": image.shape, "rows": rows}))
            return
        print(repr(image))
        print(f"{tf.info.build()['tier']}, {os.cpu_count()} cores, {options.storage}")
        print(report.aligned(as_text(rows)), flush=True)


def image_of(file: tf.File, hdu: str | None) -> tf.Image:
    """Return the image to measure."""
    if hdu is not None:
        hdu_object = file[int(hdu) if hdu.isdecimal() else hdu]
        if not isinstance(hdu_object, tf.Image):
            raise BenchError(f"{file.name}: HDU {hdu} has no image")
        return hdu_object
    for candidate in file:
        if isinstance(candidate, tf.Image) and candidate.size:
            return candidate
    raise BenchError(f"{file.name}: no HDU has pixels")


@contextlib.contextmanager
def reopened(image: tf.Image, storage: str) -> Iterator[tf.Image]:
    """Open the file of an image once more."""
    with tf.open(image.file.name, storage=storage) as file:
        again = file[image.index]
        assert isinstance(again, tf.Image)
        yield again


def experiment(
    image: tf.Image, name: str, counts: list[int], repeat: int, reopen: str | None
) -> list[dict[str, Any]]:
    """Measure one experiment; the thread counts take turns so that drifts hit all alike.

    ``reopen`` is the storage by which the file is opened for each measurement; None: it stays open.
    """
    seconds: dict[int, list[float]] = {threads: [] for threads in counts}
    answers: dict[int, Any] = {}
    costs = {}
    for round_number in range(-1, repeat):
        for threads in counts:
            context = reopened(image, reopen) if reopen else contextlib.nullcontext(image)
            started = time.perf_counter()
            with context as open_image, tf.reports() as costs_of_run:
                answer = EXPERIMENTS[name](open_image, threads)
            elapsed = time.perf_counter() - started
            costs[threads] = costs_of_run[-1] if costs_of_run else None
            answers[threads] = fingerprint(answer)
            if round_number >= 0:
                seconds[threads].append(elapsed)
    first, *others = answers.values()
    if any(other != first for other in others):
        raise BenchError(
            f"{image.file.name}: {name}: the answer depends on the number of threads: {answers}\n"
            "this is a defect of tachyfits; please report it with the file"
        )
    alone = statistics.median(seconds[1])
    return [row(image, name, n, seconds[n], costs[n], alone) for n in counts]


def row(
    image: tf.Image, name: str, threads: int, seconds: list[float], cost: Any, alone: float
) -> dict[str, Any]:
    """Return the numbers of an experiment with this number of threads."""
    median = statistics.median(seconds)
    return {
        "experiment": name,
        "threads": threads,
        "median_seconds": median,
        "spread": (max(seconds) - min(seconds)) / median if median else None,
        "gigabytes_per_second": image.data_bytes / median / 1e9 if median else None,
        "times_one_thread": alone / median if median else None,
        "seconds": seconds,
        "hidden_fraction": cost.hidden_fraction if cost else None,
        "buffering": cost.buffering if cost else None,
    }


def as_text(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return the lines of a table."""
    head = ["experiment", "threads", "median s", "spread", "GB/s", "times 1", "hidden", "buffering"]
    table = [head]
    for entry in rows:
        hidden = entry["hidden_fraction"]
        table.append(
            [
                entry["experiment"],
                str(entry["threads"]),
                f"{entry['median_seconds']:.4f}",
                f"{entry['spread'] or 0:.0%}",
                f"{entry['gigabytes_per_second'] or 0:.2f}",
                f"{entry['times_one_thread'] or 0:.2f}",
                "-" if hidden is None else f"{hidden:.2f}",
                entry["buffering"] or "-",
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
    if isinstance(answer, Path):
        crc = 0
        with answer.open("rb") as file:
            while block := file.read(1 << 24):
                crc = zlib.crc32(block, crc)
        answer.unlink()
        return f"{crc}"
    if isinstance(answer, np.ndarray):
        pixels = np.ascontiguousarray(answer).reshape(-1).view(np.uint8)
        return f"{answer.shape} {zlib.crc32(pixels.data)}"
    return repr(answer)
