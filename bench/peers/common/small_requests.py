"""Small requests of a file that stays open: one after another, at places that do not repeat.

The time is the median of the requests. The answer is the sum of all that was read, which is exact:
the pixels are integers times a power of two.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from python_runner import Model, Request

#: Requests that count, and those before them.
REQUESTS, WARM = 60, 5

#: Reads or computes what one request is about, at a place (y, x) of an image or a plane.
Ask = Callable[[int, int, int], Any]


def model(ask_of: Callable[[Request], Ask]) -> Model:
    """Make the model of a peer, of what asks its open file."""
    asks: list[Ask] = []

    def prepare(request: Request) -> None:
        asks[:] = [ask_of(request)]

    def run(request: Request) -> tuple[float, float]:
        times, total = [], 0.0
        for number, (y, x) in enumerate(places(request)):
            begun = time.perf_counter()
            found = asks[0](number, y, x)
            times.append(time.perf_counter() - begun)
            total += float(np.sum(found, dtype="f8"))
        return statistics.median(times[WARM:]), total

    return Model(run, lambda result, _: {"total": result[1]}, prepare, lambda result: result[0])


def places(request: Request) -> list[tuple[int, int]]:
    """Give places that leave `margin` pixels around them."""
    margin, size = request["margin"], request["size"]
    shape = (WARM + REQUESTS, 2)
    numbers = np.random.default_rng(20130041).integers(margin, size - margin, shape)
    return [(int(y), int(x)) for y, x in numbers]
