"""Tables of the source documents: what each cell was in print, and what a run measured for it.

A document (papers/*.toml) has tables; a table has rows, one per combination of the lists in its
`rows`, and columns. A column is printed (`printed`, a text per row), measured (`definition`,
`contestant`, `value`), a ratio of two columns (`ratio`), or a parameter of a model (`fit`). `{key}`
stands for the row's value of that key; a page shows the keys that do not begin with "_". Instead of
`rows` a table may list each `row`; one with `_sum` adds the measured cells above it. Nothing here
writes pages; see pages.py.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from bench import HERE, BenchError, toml
from bench.definitions import combinations, substitute
from bench.report import SIZE_WORDS

#: Why a ratio or a sum is missing.
TWO_RUNS = "measured in two runs"

#: Values of a contestant that a column may show, beside "parts." and the name of a step.
VALUES = ("seconds", "rate", "processor", "peak_rss_mb", "hidden", "answer")


@dataclass(frozen=True)
class Cell:
    """A cell of a table: a number with its error, or a text, or the reason why it is empty."""

    number: float | None = None
    error: float = 0.0
    text: str = ""
    missing: str = ""
    run: int | None = None  # that measured it, of the record's


@dataclass(frozen=True)
class Column:
    """A column: one of `printed`, `definition`, `ratio`, `hidden` and `fit` says what it shows."""

    head: str
    printed: tuple[str, ...] = ()
    definition: str = ""
    contestant: str = ""
    value: str = "seconds"
    key: str = ""  # of an answer
    ratio: tuple[str, ...] = ()  # heads of two columns
    hidden: tuple[str, ...] = ()  # heads of three columns: reading, computing, both
    fit: str = ""  # a model of fits.py
    parameter: str = ""  # of it; "chi" is chi-squared with its degrees of freedom
    over: dict[str, list[Any]] = field(default_factory=dict)  # the key and the values of its x

    @property
    def sources(self) -> list[str]:
        """Where its cells come from; one place."""
        measured = "" if self.fit else self.definition
        names = {"printed": self.printed, "definition": measured, "fit": self.fit}
        names |= {"ratio": self.ratio, "hidden": self.hidden}
        return [name for name, value in names.items() if value]


@dataclass(frozen=True)
class Figure:
    """A figure: columns of tables over a key of their rows, in the form of the original."""

    name: str
    title: str
    x: str
    x_label: str
    y_label: str
    series: tuple[dict[str, Any], ...]
    log: bool = False


@dataclass(frozen=True)
class Table:
    """A table of a document, ready to be filled from a record."""

    name: str
    title: str
    rows: tuple[dict[str, Any], ...]
    columns: tuple[Column, ...]
    command: str
    unit: str = ""
    changed: str = ""
    text: str = ""


@dataclass(frozen=True)
class Paper:
    """A source document: its tables and figures in order."""

    name: str
    title: str
    reference: str
    about: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()


class Record:
    """The results of one run or of several, by definition and contestant."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.host: dict[str, Any] = document["host"]
        self.size: str = document.get("size", "full")
        self.verdicts: list[dict[str, Any]] = document.get("verdicts", [])
        self._definitions = {d["definition"]: d for d in document["definitions"]}
        #: The host of each run; parts of a run have the machine, the day and the commit alike.
        self.hosts = [self.host]

    @classmethod
    def load(cls, path: Path) -> Record:
        """Load results.json."""
        try:
            return cls(json.loads(path.read_text()))
        except (OSError, ValueError, KeyError) as error:
            raise BenchError(f"{path}: not the results of a run: {error}") from error

    def fill(self, other: Record) -> None:
        """Take what this run lacks from another one: contestants and verdicts.

        Times with inputs of other sizes are in no table of this run; only their verdicts, which say
        so, are taken.
        """
        same = other.size == self.size
        number = self._number(other.host) if same else 0
        for name, theirs in other._definitions.items() if same else ():
            ours = self._definitions.setdefault(name, theirs | {"contestants": {}})["contestants"]
            for contestant, result in theirs["contestants"].items():
                if not result["missing"] and ours.get(contestant, {"missing": "absent"})["missing"]:
                    ours[contestant] = result | {"run": number}
        key = itemgetter("definition", "row", "what")
        is_same_run = same and number == 0
        theirs = [
            v if is_same_run else v | {"remark": _and_run(v, other, same)} for v in other.verdicts
        ]
        every = {key(v): v for v in (*self.verdicts, *theirs)}
        own_verdicts = {key(v): v for v in self.verdicts if v["verdict"] != "NOT MEASURED"}
        self.verdicts = list((every | own_verdicts).values())

    def _number(self, host: dict[str, Any]) -> int:
        """Return the number of the run of a host, which may be a new one."""
        key = itemgetter("cpu", "kernel", "date", "commit")
        keys = [key(entry) for entry in self.hosts]
        if key(host) not in keys:
            self.hosts.append(host)
            keys.append(key(host))
        return keys.index(key(host))

    def measured(self, definition: str, contestant: str, value: str, key: str = "") -> Cell:
        """Give what a contestant measured, or the reason why it did not."""
        group = self._definitions.get(definition)
        result = group and group["contestants"].get(contestant)
        if not group:
            return Cell(missing="not part of this run")
        if not result:
            return Cell(missing="has no such step here")
        if result["wrong"]:
            return Cell(missing=f"wrong: {result['wrong']}")
        if result["missing"]:
            return Cell(missing=result["missing"])
        return replace(_value(result, group, value, key), run=result.get("run", 0))


def _and_run(verdict: dict[str, Any], run: Record, same_size: bool) -> str:
    """Return the remark of a verdict with the size or the processor, and the commit, of its run."""
    words = run.host["cpu"] if same_size else SIZE_WORDS[run.size]
    run_text = f"{words}, commit `{run.host['commit'][:12]}`"
    return "; ".join(filter(None, (verdict["remark"], run_text)))


def _value(result: dict[str, Any], group: dict[str, Any], value: str, key: str) -> Cell:
    seconds = result["seconds"]
    if value == "answer":
        answer = (result["answer"] or {}).get(key)
        if isinstance(answer, (int, float)) and not isinstance(answer, bool):
            return Cell(float(answer))
        text = ", ".join(answer) if isinstance(answer, list) else str(answer)
        return Cell(text=text) if answer is not None else Cell(missing="not reported")
    if value == "peak_rss_mb":
        return Cell(result[value]) if result[value] else Cell(missing="of a shared process")
    if value == "hidden":
        return _of(result["hidden_fraction"])
    if value.startswith("parts."):
        return _of(result["parts"].get(value.removeprefix("parts."), []))
    if value == "processor":
        shares = zip(result["processor_seconds"], seconds, strict=False)
        return _of([100 * worked / wall for worked, wall in shares if wall])
    if value == "rate":
        total = result.get("bytes") or group.get("file_bytes", 0)
        return _of([total / wall / 1e6 for wall in seconds if wall and total])
    if value != "seconds":
        raise BenchError(f"invalid value {value!r}: expected {', '.join(VALUES)} or parts.NAME")
    return _of(seconds)


def _of(samples: list[float]) -> Cell:
    if not samples:
        return Cell(missing="not reported")
    error = statistics.stdev(samples) if len(samples) > 1 else 0.0
    return Cell(statistics.median(samples), error)


def number_of(text: str) -> float | None:
    """Find the number that a printed cell begins with."""
    match = re.match(r"\s*([-+]?[0-9]*\.?[0-9]+(?:e[-+]?[0-9]+)?)", text)
    return float(match[1]) if match else None


def cells(table: Table, record: Record) -> list[list[Cell]]:
    """Fill a table: for each row a cell per column."""
    filled: list[list[Cell]] = []
    for position, row in enumerate(table.rows):
        line: list[Cell] = []
        for number, column in enumerate(table.columns):
            if "_sum" in row and column.definition:
                line.append(_sum([cells_above[number] for cells_above in filled]))
            else:
                line.append(_cell(table, column, position, row, line, record))
        filled.append(line)
    return filled


def _sum(above: list[Cell]) -> Cell:
    """Add the cells of a column."""
    numbers = [cell.number for cell in above if cell.number is not None]
    if len(numbers) < len(above):
        return Cell(missing="not all steps were measured")
    if _runs(above) > 1:
        return Cell(missing=TWO_RUNS)
    return Cell(sum(numbers), sum(cell.error**2 for cell in above) ** 0.5, run=above[0].run)


def _runs(of: Sequence[Cell]) -> int:
    """Count the runs that measured some cells."""
    return len({cell.run for cell in of if cell.run is not None})


def _cell(
    table: Table,
    column: Column,
    position: int,
    row: dict[str, Any],
    before: list[Cell],
    record: Record,
) -> Cell:
    if column.printed:
        text = column.printed[position]
        return Cell(number_of(text), text=text) if text else Cell()
    heads = [other.head for other in table.columns]
    if column.hidden:
        reading, computing, both = (before[heads.index(head)] for head in column.hidden)
        if reading.number is None or computing.number is None or both.number is None:
            return Cell(missing=reading.missing or computing.missing or both.missing)
        hidden = (reading.number + computing.number - both.number) / reading.number
        return Cell(hidden, run=both.run)
    if column.ratio:
        above, below = (before[heads.index(head)] for head in column.ratio)
        if above.number is None or not below.number:
            return Cell(missing=above.missing or below.missing)
        if _runs([above, below]) > 1:
            return Cell(missing=TWO_RUNS)
        run = above.run if below.run is None else below.run
        return Cell(above.number / below.number, run=run)
    if column.fit:
        return fitted(column, row, record)
    definition = str(substitute(column.definition, row))
    contestant = str(substitute(column.contestant, row))
    return record.measured(definition, contestant, column.value, column.key)


def points(
    column: Column, row: dict[str, Any], record: Record
) -> tuple[list[float], list[float], list[float]]:
    """Collect the points of a fit or a figure: x, times, errors."""
    result: tuple[list[float], list[float], list[float]] = ([], [], [])
    for value, cell in cells_over(column, row, record):
        for numbers, item in zip(result, (value, cell.number, cell.error), strict=True):
            numbers.append(float(item or 0.0))
    return result


def cells_over(column: Column, row: dict[str, Any], record: Record) -> list[tuple[Any, Cell]]:
    """Collect what was measured over the key of a column, with the values of that key."""
    (key, values), *_ = column.over.items()
    result = []
    for value in values:
        names = row | {key: value}
        cell = record.measured(
            str(substitute(column.definition, names)),
            str(substitute(column.contestant, names)),
            column.value,
        )
        if cell.number is not None:
            result.append((value, cell))
    return result


def shared(column: Column, x: list[float], record: Record) -> list[float]:
    """Count more threads than cores as the cores, which they share; leave any other x."""
    return [min(value, record.host["cores"]) for value in x] if "threads" in column.over else x


def fitted(column: Column, row: dict[str, Any], record: Record) -> Cell:
    """Fit a model and give one of its parameters."""
    from bench.fits import fit

    x, times, errors = points(column, row, record)
    result = fit(column.fit, shared(column, x, record), times, errors)
    if result is None:
        return Cell(missing="too few points")
    points_and_cells = [cell for _, cell in cells_over(column, row, record)]
    if _runs(points_and_cells) > 1:
        return Cell(missing=TWO_RUNS)
    run = points_and_cells[0].run
    if column.parameter == "chi":
        text = f"{result.chi_squared:.3g} ({result.freedom})"
        return Cell(result.chi_squared, text=text, run=run)
    return Cell(result.values[column.parameter], result.errors[column.parameter], run=run)


def load(folder: Path = HERE / "papers") -> list[Paper]:
    """Load all documents of a folder, in the order of their file names."""
    return [parse(toml.load(path), path.stem) for path in sorted(folder.glob("*.toml"))]


def parse(document: dict[str, Any], name: str) -> Paper:
    """Build one document."""
    try:
        return Paper(
            name,
            document["title"],
            document["reference"],
            document["about"],
            tuple(_table(table) for table in document["table"]),
            tuple(
                Figure(**{k: tuple(v) if isinstance(v, list) else v for k, v in f.items()})
                for f in document.get("figure", [])
            ),
        )
    except (KeyError, TypeError) as error:
        raise BenchError(f"papers/{name}.toml: {error}") from error


def _table(entry: dict[str, Any]) -> Table:
    rows = tuple(entry["row"] if "row" in entry else combinations(entry["rows"]))
    columns: list[Column] = []
    for column_entry in entry["column"]:
        for names in combinations(column_entry.get("each", {})):
            fields = substitute({k: v for k, v in column_entry.items() if k != "each"}, names)
            columns.append(
                Column(**{k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()})
            )
    for column in columns:
        if column.printed and len(column.printed) != len(rows):
            count_text = f"found {len(column.printed)} texts"
            raise BenchError(
                f"{entry['name']}: {column.head}: expected {len(rows)} rows, {count_text}"
            )
        if len(column.sources) != 1:
            raise BenchError(f"{entry['name']}: {column.head}: expected one source of its cells")
    options = {k: v for k, v in entry.items() if k not in ("rows", "row", "column")}
    return Table(rows=rows, columns=tuple(columns), **options)
