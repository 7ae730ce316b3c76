"""Images in compressed tiles: what a user types, and what two threads can gain on a machine."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from compressed import compressed_answer
from opened import opened
from python_runner import Model, Request

import tachyfits as tf

STATISTICS = ("count", "nan", "sum", "mean", "std", "min", "max")


def array_then_stats(request: Request) -> dict[str, Any]:
    """Decode the image to an array, then take all statistics of the array."""
    with opened(request) as file:
        pixels = file[request["hdu"]].read(threads=request["threads"])
    found = tf.evaluate("a", a=pixels).stats(threads=request["threads"])
    return {name: getattr(found, name) for name in STATISTICS}


def spectrum(request: Request) -> dict[str, Any]:
    """Sum a box of each plane; the box touches as many tiles of a plane as the answer says."""
    y, x, size = request["y"], request["x"], request["size"]
    with opened(request) as file:
        cube = file[request["hdu"]]
        sums = cube[:, y : y + size, x : x + size].sum(axis=(1, 2))
    rows, columns = request["pixels"]["tile"][-2:]
    rows_touched = (y + size - 1) // rows - y // rows + 1
    touched = rows_touched * ((x + size - 1) // columns - x // columns + 1)
    return {"tiles": touched, "channels": len(sums), "sum": float(np.asarray(sums).sum())}


def compress(request: Request) -> None:
    """Compress an image as fpack does: RICE_1, a quarter of the noise as step, dither."""
    with opened(request) as file:
        tf.write(
            request["output"], file[0], compress="rice", overwrite=True, threads=request["threads"]
        )


def decode(path: str, hdu: int) -> tuple[float, float]:
    """Read an image with one thread; when it began and ended."""
    begun = time.perf_counter()
    with tf.open(path) as file:
        file[hdu].read(threads=1)
    return begun, time.perf_counter()


#: Two processes that decode, kept from run to run.
POOL: list[ProcessPoolExecutor] = []


def start_two(request: Request) -> None:
    """Start two processes, and let each decode once."""
    if not POOL:
        POOL.append(ProcessPoolExecutor(2, mp_context=get_context("spawn")))
        read_in_two(request)


def read_in_two(request: Request) -> float:
    """Let two processes decode the image at the same time; give half of their time.

    They share nothing but the processor, its caches and memory: no program gains more by a second
    thread.
    """
    runs = [POOL[0].submit(decode, request["path"], request["hdu"]) for _ in range(2)]
    times = [run.result() for run in runs]
    return (max(end for _, end in times) - min(begun for begun, _ in times)) / 2


MODELS = {
    "array-then-stats": Model(array_then_stats),
    "spectrum-of-tiles": Model(spectrum),
    "compress": Model(compress, compressed_answer),
    "read-in-two": Model(
        read_in_two, answer=lambda result, request: {}, prepare=start_two, clock=float
    ),
}
