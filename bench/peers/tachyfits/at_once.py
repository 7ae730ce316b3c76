"""Two operations in two threads, which share the cores of the process."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from opened import opened
from python_runner import Model, Request


@dataclass
class Ended:
    """The answers, and when each was there, in seconds from the beginning."""

    begun: float = field(default_factory=time.perf_counter)
    answers: list[dict[str, Any]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def two_statistics(request: Request) -> Ended:
    """Take the statistics of the file twice, by `at_once` threads."""
    ended = Ended()

    def work(_number: int) -> None:
        with opened(request) as file:
            found = file[0].stats(threads=request["threads"])
        ended.seconds.append(time.perf_counter() - ended.begun)
        ended.answers.append({name: getattr(found, name) for name in ("count", "sum", "std")})

    with ThreadPoolExecutor(request["at_once"]) as pool:
        list(pool.map(work, range(2)))
    return ended


def answer(ended: Ended, request: Request) -> dict[str, Any]:
    """Give the first answer; the second one must be the same."""
    first, second = ended.answers
    if first != second:
        raise RuntimeError(f"two answers to one question: {first} and {second}")
    return first


MODELS = {
    "two-statistics": Model(two_statistics, answer),
    "first-of-two-statistics": Model(
        two_statistics, answer, clock=lambda ended: min(ended.seconds)
    ),
}
