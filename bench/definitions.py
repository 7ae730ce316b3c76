"""Definitions: the input, the contestants, and the bars of each measurement.

A definition (definitions/*.toml) is one group of contestants that run interleaved, on one input
unless they name their own; bars.toml has the bars of all definitions, by the names of their files.
A `[matrix]` repeats a definition for every combination of its lists, and an `each` table repeats
one contestant or one bar; `{key}` in any string is replaced by the value. Tables named `full`,
`laptop` and `small` in a matrix, a contestant or its parameters hold what is different in runs of
that size; `sizes` lists those that a definition is part of. Nothing here runs anything.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from bench import HERE, BenchError, toml

#: The sizes of the inputs: as in the papers, for any laptop, for a test of the answers alone.
FULL, LAPTOP, SMALL = SIZES = ("full", "laptop", "small")

#: kind of bar -> (what is compared, whether the limit is an upper one)
BAR_KINDS = {
    "slowdown": ("time of ours / time of the other", True),
    "speedup": ("time of the fastest other / time of ours", False),
    "seconds": ("time", True),
    "process_seconds": ("time from the start of the process to its answer", True),
    "spread": ("time of the slowest / time of the fastest", True),
    "hidden": ("share of the I/O hidden behind computing, as the run itself reports", False),
    "overlap": ("share of the I/O hidden, (I/O alone + computing alone - both) / I/O", False),
    "rounds": ("requests that a server was sent one after another", True),
    "sent_mb": ("bytes that a server sent, MB", True),
    "peak_rss_mb": ("peak resident memory, MB", True),
    "relative_error": ("relative error of the answer", True),
    "identical": ("different answers", True),
}

#: Kinds that divide two times.
RATIOS = ("slowdown", "speedup")


@dataclass(frozen=True)
class Contestant:
    """One peer doing one model; `name` is unique in its definition."""

    name: str
    peer: str
    model: str
    threads: int | str = 1
    answer: tuple[str, ...] = ()
    tolerance: float = 1e-12
    fresh: bool = False  # a new process for every run
    share: bool = False  # one process for all sharing contestants with this peer and environment
    alone: bool = False  # its memory has a bar: never in a process with another contestant
    input: str = ""  # its own, where contestants are compared from input to input
    output: str = ""  # the operation (operations.py) whose result the file that it writes must be
    rounds: int | None = None  # it takes part in this many of the measured rounds; 1: no warm-up
    cache: str = ""  # "cold": the inputs are dropped from the page cache before each of its runs
    memory_gb: float = 0  # that it needs to run at all, beside what the definition needs
    disk_gb: float = 0  # that it needs instead of what the definition needs
    parameters: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Bar:
    """One line of the result table. Without `limit` it informs and cannot fail."""

    row: str
    claim: str
    kind: str
    of: str
    against: tuple[str, ...] = ()
    limit: float | None = None
    gate: float | None = None  # the share of the limit below which the gate fails
    machine: str = ""  # a contestant that only moves the bytes: see `bars`


@dataclass(frozen=True)
class Definition:
    """A group of contestants, run round-robin."""

    name: str
    title: str
    input: str | None
    repeat: int | None
    warmup: int
    timed: bool  # False: only answers matter, each contestant runs once
    warm_cache: bool
    memory_gb: float
    contestants: tuple[Contestant, ...]
    bars: tuple[Bar, ...]
    expected: dict[str, Any] = field(default_factory=dict)  # beside those of the input
    second: str | None = None  # another input, for what takes two
    operations: tuple[str, ...] = ()  # whose answers are expected, beside those of outputs
    disk_gb: float = 0  # for what its contestants write, at most at one time
    size: str = FULL

    @property
    def gate(self) -> bool:
        """Whether the gate judges one of its ratios."""
        return any(bar.gate is not None for bar in self.bars)

    @property
    def shared_inputs(self) -> tuple[str, ...]:
        """Names of the inputs of contestants that have none of their own, none to two."""
        return tuple(name for name in (self.input, self.second) if name is not None)

    @property
    def own_inputs(self) -> tuple[str, ...]:
        """Names of the inputs that contestants have of their own."""
        return tuple(dict.fromkeys(c.input for c in self.contestants if c.input))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of all inputs."""
        return tuple(dict.fromkeys((*self.shared_inputs, *self.own_inputs)))

    @property
    def writes(self) -> bool:
        """Whether files are written, so that the disk has to be idle before each run."""
        return any(contestant.output for contestant in self.contestants)


def substitute(value: Any, names: dict[str, Any]) -> Any:
    """Replace `{key}` in every string; a string that is one key alone takes its type too."""
    if isinstance(value, str):
        for key, replacement in names.items():
            if value == f"{{{key}}}":
                return replacement
            value = value.replace(f"{{{key}}}", str(replacement))
        return value
    if isinstance(value, list):
        return [substitute(item, names) for item in value]
    if isinstance(value, dict):
        return {key: substitute(item, names) for key, item in value.items()}
    return value


def sized(table: dict[str, Any], size: str) -> dict[str, Any]:
    """Take what a table has for runs of one size, over what it has for those of full size."""
    common = {key: value for key, value in table.items() if key not in SIZES}
    return common | table.get(size, {})


def combinations(lists: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """List every combination of one value per key, the last key fastest; for no keys one empty."""
    return [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]


def _each(kind: type, tables: list[dict[str, Any]], where: str) -> list[Any]:
    """Build every table, once per combination of its `each`."""
    result = []
    for table in tables:
        for names in combinations(table.get("each", {})):
            entry = substitute({k: v for k, v in table.items() if k != "each"}, names)
            result.append(_build(kind, entry, where))
    return result


def _contestants(tables: list[dict[str, Any]], where: str, size: str) -> tuple[Contestant, ...]:
    tables = [sized(t, size) | {"parameters": sized(t.get("parameters", {}), size)} for t in tables]
    contestants: list[Contestant] = _each(Contestant, tables, where)
    for contestant in contestants:
        if contestant.cache not in ("", "cold"):
            raise BenchError(f'{where}: {contestant.name}: cache is "cold" or not given')
        if contestant.rounds is not None and contestant.rounds < 1:
            raise BenchError(f"{where}: {contestant.name}: rounds must be at least 1")
    repeated = {
        c.name for c in contestants if sum(other.name == c.name for other in contestants) > 1
    }
    if repeated:
        raise BenchError(f"{where}: contestants share a name: {', '.join(sorted(repeated))}")
    return tuple(contestants)


def _build(kind: type, entry: dict[str, Any], where: str) -> Any:
    fields = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    try:
        return kind(**fields)
    except TypeError as error:
        raise BenchError(f"{where}: {kind.__name__.lower()}: {error}") from error


def _bars(
    tables: list[dict[str, Any]], contestants: tuple[Contestant, ...], where: str
) -> tuple[Bar, ...]:
    bars: tuple[Bar, ...] = tuple(_each(Bar, tables, where))
    names = [c.name for c in contestants]
    for bar in bars:
        if bar.kind not in BAR_KINDS:
            kinds = ", ".join(BAR_KINDS)
            raise BenchError(
                f"{where}: bar {bar.row}: invalid kind {bar.kind!r}: expected one of {kinds}"
            )
        if bar.kind in RATIOS and not bar.against:
            raise BenchError(f"{where}: bar {bar.row}: a {bar.kind} needs `against`")
        if bar.kind == "overlap" and len(bar.against) != 2:
            raise BenchError(
                f"{where}: bar {bar.row}: an overlap needs two `against`: I/O, computing"
            )
        if bar.gate is not None and (bar.kind not in RATIOS or bar.limit is None):
            raise BenchError(f"{where}: bar {bar.row}: a gate needs a ratio with a limit")
        if bar.machine and bar.kind != "speedup":
            raise BenchError(f"{where}: bar {bar.row}: only a speedup has a `machine`")
        for pattern in (bar.of, *bar.against, *filter(None, [bar.machine])):
            if not any(fnmatchcase(name, pattern) for name in names):
                raise BenchError(f"{where}: bar {bar.row}: no contestant is named {pattern!r}")
    return bars


def parse(document: dict[str, Any], name: str, where: str, size: str = FULL) -> list[Definition]:
    """Build the definitions of one TOML document, one per combination of its matrix."""
    result = []
    for names in combinations(sized(document.get("matrix", {}), size)):
        table = substitute({k: v for k, v in document.items() if k != "matrix"}, names)
        suffix = "".join(f"/{value}" for value in names.values())
        contestants = _contestants(table.get("contestant", []), where, size)
        bars = _bars(table.get("bar", []), contestants, where)
        # Of small inputs only the answers count, and starting a process takes longer than most.
        weighed = [bar.of for bar in bars if bar.kind == "peak_rss_mb" and size != SMALL]
        contestants = tuple(
            replace(c, alone=any(fnmatchcase(c.name, pattern) for pattern in weighed))
            for c in contestants
        )
        result.append(
            Definition(
                name=name + suffix,
                title=table.get("title", name),
                input=table.get("input"),
                repeat=table.get("repeat"),
                warmup=table.get("warmup", 1 if table.get("timed", True) else 0),
                timed=table.get("timed", True),
                warm_cache=table.get("warm_cache", True),
                memory_gb=float(table.get("memory_gb", 0)),
                contestants=contestants,
                bars=bars,
                expected=table.get("expected", {}),
                second=table.get("second"),
                operations=tuple(table.get("operations", [])),
                disk_gb=float(table.get("disk_gb", 0)),
                size=size,
            )
        )
    return result


def load(folder: Path = HERE / "definitions", size: str = FULL) -> list[Definition]:
    """Load all definitions of a folder for runs of one size, files in name order, with their bars.

    The bars are in bars.toml beside the folder.
    """
    table = folder.parent / "bars.toml"
    bars = toml.load(table)
    result: list[Definition] = []
    paths = sorted(folder.glob("*.toml"))
    if strange := sorted(set(bars) - {path.stem for path in paths}):
        raise BenchError(f"{table}: no definition is named {strange[0]!r}")
    for path in paths:
        document = toml.load(path)
        if "bar" in document:
            raise BenchError(f"{path}: found a bar; bars are in {table}")
        document["bar"] = bars.get(path.stem, [])
        if size in document.get("sizes", SIZES):
            result += parse(document, path.stem, str(path), size)
    return result
