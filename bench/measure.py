"""Running a definition: every contestant once per round, round after round.

So a slow minute of the machine falls on all of them alike; every other round runs backwards, so
that nobody always comes after the same neighbour. The first round is warm-up and is dropped. Every
answer, warm-up included, is checked. The numbers that come out are raw; bars.py judges them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench import BenchError
from bench.cache import make_warm
from bench.definitions import Contestant, Definition
from bench.peers import Peer, Runner, RunnerError

#: Longest one run may take, seconds.
TIMEOUT = 900.0


@dataclass
class Result:
    """What one contestant did: a sample per round, or why there is none."""

    contestant: Contestant
    samples: list[float] = field(default_factory=list)
    process_seconds: list[float] = field(default_factory=list)  # fresh processes: start to answer
    answers: list[dict[str, Any]] = field(default_factory=list)
    peak_rss_mb: float | None = None
    worst_error: float | None = None
    wrong: str | None = None  # an answer that is not the expected one, or a failure to answer
    failed: bool = False  # it gave no answer
    missing: str | None = None  # not there, or cannot do this: nobody's fault
    cold_rounds: int = 0
    data_bytes: int = 0  # that a run goes over, as the runner says

    def ended(self) -> bool:
        """Whether it is not asked again."""
        return self.failed or self.missing is not None

    @property
    def median(self) -> float:
        """Median of the samples, seconds."""
        return median(self.samples)

    @property
    def mad(self) -> float:
        """Median absolute deviation from the median, seconds."""
        return median(abs(sample - self.median) for sample in self.samples)

    @property
    def measured(self) -> bool:
        """Whether there is a number to judge."""
        return bool(self.samples) and self.missing is None and self.wrong is None


def relative_error(got: float, expected: float) -> float:
    """Compute |got - expected| / |expected|.

    Absolute where `expected` is 0, infinite where only one of the two is finite.
    """
    if got == expected or (math.isnan(got) and math.isnan(expected)):
        return 0.0
    if not (math.isfinite(got) and math.isfinite(expected)):
        return math.inf
    return abs(got - expected) / (abs(expected) or 1.0)


def check(
    answer: dict[str, Any], expected: dict[str, Any], contestant: Contestant
) -> tuple[float, str | None]:
    """Find the worst relative error of the fields that must agree, and what is wrong, if any."""
    worst = 0.0
    for name in contestant.answer:
        if name not in answer:
            return math.inf, f"{name} is missing from the answer"
        if name not in expected:
            return math.inf, f"{name} has no expected value"
        got, wanted = answer[name], expected[name]
        if isinstance(wanted, float) and isinstance(got, (int, float)):
            error = relative_error(float(got), wanted)
            worst = max(worst, error)
            if not error <= contestant.tolerance:
                within = f"within {contestant.tolerance:g}"
                return worst, f"{name} = {got!r}, expected {wanted!r} {within}"
        elif got != wanted:
            return math.inf, f"{name} = {got!r}, expected {wanted!r}"
    return worst, None


class _Session:
    """The runners of one definition: shared, long-lived or fresh ones."""

    def __init__(self, peers: dict[str, Peer]) -> None:
        self._peers = peers
        self._runners: dict[tuple[Any, ...], Runner] = {}

    def run(
        self, contestant: Contestant, request: dict[str, Any], result: Result
    ) -> dict[str, Any]:
        """Have one request answered by the contestant's process, started first where needed."""
        environment = tuple(sorted(contestant.environment.items()))
        key = (contestant.peer, environment, None if contestant.share else contestant.name)
        runner = self._runners.get(key)
        if runner is None:
            peer = self._peers[contestant.peer]
            runner = self._runners[key] = Runner(peer, contestant.environment)
        reply = runner.ask(request, TIMEOUT)
        if contestant.fresh:
            result.process_seconds.append(time.perf_counter() - runner.started)
        if not contestant.share:
            peak = runner.peak_rss_kb() * 1024 / 1e6
            result.peak_rss_mb = max(result.peak_rss_mb or 0.0, peak)
        if contestant.fresh:
            self._runners.pop(key).close()
        return reply

    def close(self) -> None:
        """End all processes."""
        for runner in self._runners.values():
            runner.close()


@dataclass(frozen=True)
class Source:
    """What a definition reads: the file, the answers that are right, where the pixels lie."""

    path: Path | None
    expected: dict[str, Any]
    pixels: dict[str, Any] = field(default_factory=dict)


def run(
    definition: Definition,
    peers: dict[str, Peer],
    source: Source,
    *,
    repeat: int,
    all_threads: int,
    small: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, Result]:
    """Measure a definition; one Result per contestant, in the definition's order."""
    results = {c.name: Result(c) for c in definition.contestants}
    _note_missing(results, peers, say)
    session = _Session(peers)
    rounds = definition.warmup + repeat
    try:
        for number in range(rounds):
            for contestant in definition.contestants[:: -1 if number % 2 else 1]:
                result = results[contestant.name]
                if result.ended():
                    continue
                if definition.warm_cache and source.path and not make_warm(source.path):
                    result.cold_rounds += 1
                request = _request(contestant, source, all_threads, small)
                _one(session, request, result, source.expected, number < definition.warmup)
                if result.ended():
                    say(f"  {contestant.name}: NOT MEASURED: {result.missing or result.wrong}")
            say(f"  round {number + 1} of {rounds} done")
    finally:
        session.close()
    return results


def _note_missing(
    results: dict[str, Result], peers: dict[str, Peer], say: Callable[[str], None]
) -> None:
    reasons: dict[str, str | None] = {}
    for result in results.values():
        name = result.contestant.peer
        if name not in reasons:
            if name not in peers:
                raise BenchError(f"a definition names the peer {name!r}, which has no folder")
            reasons[name] = peers[name].missing()
            if reasons[name] is not None:
                say(f"  MISSING PEER {name}: {reasons[name]}")
        result.missing = reasons[name]


def _request(
    contestant: Contestant, source: Source, all_threads: int, small: bool
) -> dict[str, Any]:
    threads = all_threads if contestant.threads == "all" else int(contestant.threads)
    return {
        "model": contestant.model,
        "path": str(source.path or ""),
        "pixels": source.pixels,
        "threads": threads,
        "small": small,
        **contestant.parameters,
    }


def _one(
    session: _Session,
    request: dict[str, Any],
    result: Result,
    expected: dict[str, Any],
    dropped: bool,
) -> None:
    contestant = result.contestant
    try:
        reply = session.run(contestant, request, result)
    except RunnerError as failure:
        result.wrong, result.failed = str(failure), True
        return
    if "unsupported" in reply:
        result.missing = str(reply["unsupported"])
        return
    if "seconds" not in reply or "answer" not in reply:
        result.wrong, result.failed = str(reply.get("error", f"odd reply {reply!r}")), True
        return
    result.data_bytes = int(reply.get("bytes", 0))
    error, wrong = check(reply["answer"], expected, contestant)
    result.worst_error = max(result.worst_error or 0.0, error)
    result.wrong = result.wrong or wrong
    if dropped:
        result.process_seconds.clear()
    else:
        result.samples.append(float(reply["seconds"]))
        result.answers.append(reply["answer"])
