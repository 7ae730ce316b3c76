"""Running a definition: every contestant once per round, round after round.

A slow minute of the machine affects all of them alike; every other round runs backwards, so that no
contestant always follows the same neighbour. The first round is warm-up and is dropped. Every
answer, warm-up included, is checked, and every file that was written, pixel for pixel; then it is
deleted. The results are raw; bars.py judges them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench import BenchError, host
from bench.cache import make_cold, make_warm, settle
from bench.definitions import FULL, SMALL, Contestant, Definition
from bench.memory import Reserve
from bench.peers import Peer, Runner, RunnerError

#: The file that a contestant is asked to write, in the scratch folder.
OUTPUT = "output.fits"

#: Longest one run may take, seconds.
TIMEOUT = 900.0


@dataclass
class Result:
    """Result of one contestant: a sample per round, or why it has none."""

    contestant: Contestant
    samples: list[float] = field(default_factory=list)
    process_seconds: list[float] = field(default_factory=list)  # fresh processes: start to answer
    processor_seconds: list[float] = field(default_factory=list)  # of all threads, where reported
    answers: list[dict[str, Any]] = field(default_factory=list)
    hidden: list[float] = field(default_factory=list)  # share of the I/O, where a run reports it
    parts: dict[str, list[float]] = field(default_factory=dict)  # of steps: seconds; other numbers
    peak_rss_mb: float | None = None
    worst_error: float | None = None
    wrong: str | None = None  # an answer that is not the expected one, or a failure to answer
    failed: bool = False  # it gave no answer
    missing: str | None = None  # missing, or cannot do this: not a failure
    cold_rounds: int = 0  # that found an input out of the page cache, and read it in first
    runs: int = 0  # the warm-up among them
    lukewarm_rounds: int = 0  # that should have been cold
    unsettled_rounds: int = 0  # that began with the disk still writing
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


def difference(got: Any, expected: Any) -> float:
    """Compare an answer with what it should be: numbers with a point by their relative error.

    Of two lists of one length the worst counts. Anything else is the same, or infinitely wrong.
    """
    if isinstance(expected, list) and isinstance(got, list) and len(got) == len(expected):
        return max(map(difference, got, expected), default=0.0)
    if isinstance(expected, float) and isinstance(got, (int, float)):
        return relative_error(float(got), expected)
    return 0.0 if got == expected else math.inf


def check(
    answer: dict[str, Any], expected: dict[str, Any], contestant: Contestant
) -> tuple[float, str | None]:
    """Find the worst relative error of the fields that must agree, and what is wrong, if any."""
    worst = 0.0
    for name in filter(None, (*contestant.answer, contestant.output)):
        if name not in answer:
            return math.inf, f"{name} is missing from the answer"
        if name not in expected:
            return math.inf, f"{name} has no expected value"
        value, expected_value = answer[name], expected[name]
        error = difference(value, expected_value)
        worst = max(worst, error)
        if not error <= contestant.tolerance:
            within = f" within {contestant.tolerance:g}" if error < math.inf else ""
            return worst, f"{name} = {value!r}, expected {expected_value!r}{within}"
    return worst, None


class Session:
    """The runners of one definition: shared, long-lived or fresh ones.

    With `share` one process of each peer serves all contestants, and a session all definitions:
    where only answers count, most of the time would be that of starting processes. Contestants
    whose memory is judged have a process of their own even then.
    """

    def __init__(self, peers: dict[str, Peer], *, share: bool = False) -> None:
        self._peers = peers
        self.share = share
        self._runners: dict[tuple[Any, ...], Runner] = {}
        self.reserve = Reserve()

    def run(
        self, contestant: Contestant, request: dict[str, Any], result: Result
    ) -> dict[str, Any]:
        """Have one request answered by the contestant's process, started first where needed."""
        key = self._key(contestant)
        runner = self._runners.get(key)
        if runner is None:
            peer = self._peers[contestant.peer]
            runner = self._runners[key] = Runner(peer, contestant.environment)
        if self.share:
            runner.forget_peak()
        self.reserve.release()
        try:
            reply = runner.ask(request, TIMEOUT)
        except RunnerError:
            self._runners.pop(key).close()
            raise
        self.reserve.take()
        if contestant.fresh:
            result.process_seconds.append(time.perf_counter() - runner.started)
        if not contestant.share:
            peak = runner.peak_rss_kb() * 1024 / 1e6
            result.peak_rss_mb = max(result.peak_rss_mb or 0.0, peak)
        if contestant.fresh:
            self._runners.pop(key).close()
        return reply

    def _key(self, contestant: Contestant) -> tuple[Any, ...]:
        environment = tuple(sorted(contestant.environment.items()))
        return (contestant.peer, environment, None if self._shared(contestant) else contestant.name)

    def _shared(self, contestant: Contestant) -> bool:
        """Whether it may be in a process with others."""
        needs_own_process = contestant.fresh or contestant.alone
        return contestant.share or (self.share and not needs_own_process)

    def end(self, contestant: Contestant) -> None:
        """End the process that a contestant has of its own, for the memory that it holds."""
        runner = (
            None if self._shared(contestant) else self._runners.pop(self._key(contestant), None)
        )
        if runner:
            runner.close()

    def close(self) -> None:
        """End all processes."""
        self.reserve.release()
        for runner in self._runners.values():
            runner.close()
        self._runners.clear()


@dataclass(frozen=True)
class Source:
    """Input of contestants: the file, the right answers, the position of the pixels."""

    path: Path | None
    expected: dict[str, Any]
    pixels: dict[str, Any] = field(default_factory=dict)
    second: Path | None = None
    scratch: Path | None = None  # a folder for what is written
    check_output: Callable[[Path, str], dict[str, Any]] | None = None  # a file, an operation
    own: dict[str, Source] = field(default_factory=dict)  # of contestants that name their input

    @property
    def paths(self) -> list[Path]:
        """The input files, none to two."""
        return [path for path in (self.path, self.second) if path is not None]


def run(
    definition: Definition,
    peers: dict[str, Peer],
    source: Source,
    *,
    repeat: int,
    all_threads: int,
    timed: bool = True,
    session: Session | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, Result]:
    """Measure a definition; one Result per contestant, in the definition's order.

    Where it is not `timed`, only the answers count. The caller closes a `session` that it gives.
    """
    results = {c.name: Result(c) for c in definition.contestants}
    size = definition.size
    _note_missing(results, peers, size, say)
    owns_session = session is None
    session = session or Session(peers)
    warmup = definition.warmup if timed and size != SMALL else 0
    rounds = warmup + repeat if definition.contestants else 0
    try:
        for number in range(rounds):
            for contestant in definition.contestants[:: -1 if number % 2 else 1]:
                result = results[contestant.name]
                if result.ended():
                    continue
                if sits_out(contestant, number - warmup):
                    session.end(contestant)
                    continue
                its = source.own.get(contestant.input, source)
                _ready(definition, result, its, idle=timed)
                if size == FULL:
                    files = set(its.paths)
                    session.reserve.want(sum(path.stat().st_blocks * 512 for path in files))
                request = _request(contestant, its, all_threads, size)
                _one(session, request, result, its, number < warmup)
                if result.ended():
                    say(f"  {contestant.name}: NOT MEASURED: {result.missing or result.wrong}")
            say(f"  round {number + 1} of {rounds} done")
    finally:
        session.reserve.release()
        for contestant in definition.contestants:
            session.end(contestant)
        if owns_session:
            session.close()
    return results


def sits_out(contestant: Contestant, number: int) -> bool:
    """Tell whether a contestant takes no part in a round; they count from 0, warm-up from -1."""
    if contestant.rounds is None:
        return False
    return number >= contestant.rounds or (contestant.rounds == 1 and number < 0)


def _ready(definition: Definition, result: Result, source: Source, *, idle: bool) -> None:
    """Have the inputs in the page cache or out of it, and the disk idle, where times count."""
    result.runs += 1
    if idle and (definition.writes or result.contestant.cache):
        result.unsettled_rounds += not settle()
    for path in source.paths:
        if result.contestant.cache == "cold":
            result.lukewarm_rounds += not make_cold(path)
        elif definition.warm_cache:
            result.cold_rounds += not make_warm(path)


def _note_missing(
    results: dict[str, Result],
    peers: dict[str, Peer],
    size: str,
    say: Callable[[str], None],
) -> None:
    available = host.memory("MemAvailable")
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
        required = result.contestant.memory_gb if size == FULL else 0.0
        if result.missing is None and available < required:
            result.missing = f"needs {required:g} GB of memory, {available:.1f} GB are available"


def _request(contestant: Contestant, source: Source, all_threads: int, size: str) -> dict[str, Any]:
    threads = all_threads if contestant.threads == "all" else int(contestant.threads)
    return {
        "model": contestant.model,
        "path": str(source.path or ""),
        "second": str(source.second or ""),
        "scratch": str(source.scratch or ""),
        "output": str(source.scratch / OUTPUT) if source.scratch else "",
        "pixels": source.pixels,
        "threads": threads,
        "small": size == SMALL,
        **contestant.parameters,
    }


def _one(
    session: Session, request: dict[str, Any], result: Result, source: Source, dropped: bool
) -> None:
    contestant = result.contestant
    try:
        reply = session.run(contestant, request, result)
        if "answer" in reply and contestant.output:
            reply["answer"] |= _written(Path(request["output"]), contestant.output, source)
    except RunnerError as failure:
        result.wrong, result.failed = str(failure), True
        return
    finally:
        if contestant.output:
            Path(request["output"]).unlink(missing_ok=True)
            session.reserve.take()
    if "unsupported" in reply:
        result.missing = str(reply["unsupported"])
        return
    if "seconds" not in reply or "answer" not in reply:
        result.wrong, result.failed = str(reply.get("error", f"odd reply {reply!r}")), True
        return
    file_bytes = source.path.stat().st_size if contestant.input and source.path else 0
    result.data_bytes = int(reply.get("bytes", file_bytes))
    error, problem = check(reply["answer"], source.expected, contestant)
    result.worst_error = max(result.worst_error or 0.0, error)
    result.wrong = result.wrong or problem
    if dropped:
        result.process_seconds.clear()
    else:
        result.samples.append(float(reply["seconds"]))
        result.answers.append(reply["answer"])
        if "processor_seconds" in reply:
            result.processor_seconds.append(float(reply["processor_seconds"]))
        for part, seconds in reply.get("parts", {}).items():
            result.parts.setdefault(part, []).append(float(seconds))
        if "hidden_fraction" in reply:
            result.hidden.append(float(reply["hidden_fraction"]))


def _written(path: Path, operation: str, source: Source) -> dict[str, Any]:
    """Describe the file that was written, as the answer of the operation that it should be."""
    if source.check_output is None or not path.exists():
        raise RunnerError(f"{path.name} was not written")
    description = source.check_output(path, operation)
    if "answer" not in description:
        raise RunnerError(f"{path.name} is not a result of {operation}: {description.get('error')}")
    return {operation: description["answer"]}
