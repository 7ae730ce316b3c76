"""Showing and keeping results: the table on the screen, and CSV and JSON with every sample.

Text only, readable without colour; the verdict words PASS and FAIL are the only marks.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.bars import FAIL, INFO, NOT_MEASURED, PASS, Verdict
from bench.definitions import Definition
from bench.measure import Result

UNITS = {"slowdown": "", "speedup": " x"}


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Set columns, each as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def number(value: float | None, kind: str) -> str:
    """Write a measured value or limit in the unit of its kind."""
    if value is None:
        return "-"
    if kind == "relative_error":
        return f"{value:.1e}"
    if kind == "identical":
        return f"{value:.0f} differ"
    if kind in ("seconds", "process_seconds"):
        return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"
    if kind == "peak_rss_mb":
        return f"{value:.0f} MB"
    return f"{value:.2f}{UNITS[kind]}"


def bar_text(verdict: Verdict) -> str:
    """Write the bar of a verdict: "<= 1.05", or "-" where it only informs."""
    if verdict.bar.limit is None:
        return "-"
    sign = "<=" if verdict.upper else ">="
    return f"{sign} {number(verdict.bar.limit, verdict.bar.kind)}"


def table(verdicts: Sequence[Verdict], *, small: bool) -> str:
    """Make the result table: the claim, what was measured beside its bar, the verdict."""
    lines = [["row", "claim", "measured", "bar", "verdict", "round by round", "remark"]]
    for v in verdicts:
        rounds = "-"
        if v.low is not None and v.high is not None:
            rounds = f"{number(v.low, v.bar.kind)} ... {number(v.high, v.bar.kind)}"
        judged = v.outcome not in (INFO, NOT_MEASURED)
        outcome = f"{v.outcome} (small)" if small and judged else v.outcome
        measured = number(v.value, v.bar.kind)
        lines.append([v.bar.row, v.bar.claim, measured, bar_text(v), outcome, rounds, v.remark])
    return aligned(lines)


def details(definition: Definition, results: dict[str, Result], data_bytes: int) -> str:
    """Give one line per contestant: time, spread, rate, memory, and how right it was."""
    if not definition.timed:
        ran = sum(r.measured for r in results.values())
        wrong = [f"{name}: {r.wrong}" for name, r in results.items() if r.wrong]
        head = f"{definition.name}: {definition.title}\n{ran} of {len(results)} variants ran"
        return "\n".join([head, *wrong])
    lines = [["contestant", "median", "min", "max", "MAD", "GB/s", "peak RSS", "worst error", "n"]]
    for name, r in results.items():
        if not r.measured:
            lines.append([name, "NOT MEASURED", *["-"] * 7])
            continue
        rate = f"{data_bytes / r.median / 1e9:.2f}" if data_bytes and r.median else "-"
        peak = "-" if r.peak_rss_mb is None else f"{r.peak_rss_mb:.0f} MB"
        error = f"WRONG: {r.wrong}" if r.wrong else f"{r.worst_error or 0.0:.1e}"
        times = [number(t, "seconds") for t in (r.median, min(r.samples), max(r.samples), r.mad)]
        lines.append([name, *times, rate, peak, error, str(len(r.samples))])
    return f"{definition.name}: {definition.title}\n" + aligned(lines)


def summary(verdicts: Sequence[Verdict]) -> str:
    """Say how many rows passed, failed, were not measured."""
    words = (PASS, FAIL, NOT_MEASURED)
    counted = {word: sum(v.outcome == word for v in verdicts) for word in words}
    return ", ".join(f"{count} {word}" for word, count in counted.items())


COLUMNS = (
    *("definition", "contestant", "peer", "version", "model", "threads"),
    *("runs", "median_s", "min_s", "max_s", "mad_s", "process_median_s"),
    *("peak_rss_mb", "worst_relative_error", "cold_rounds", "problem"),
)


def csv_rows(definition: Definition, results: dict[str, Result], versions: dict[str, str]) -> Any:
    """Give one row per contestant."""
    for name, r in results.items():
        c = r.contestant
        started = sorted(r.process_seconds)
        times: list[Any] = [len(r.samples)]
        times += [r.median, min(r.samples), max(r.samples), r.mad] if r.samples else [""] * 4
        times.append(started[len(started) // 2] if started else "")
        yield [
            *(definition.name, name, c.peer, versions.get(c.peer, ""), c.model, c.threads),
            *times,
            "" if r.peak_rss_mb is None else round(r.peak_rss_mb, 1),
            *(r.worst_error, r.cold_rounds, r.wrong or r.missing or ""),
        ]


def as_json(definition: Definition, results: dict[str, Result]) -> dict[str, Any]:
    """Give a definition's results with every sample and answer."""
    return {
        "definition": definition.name,
        "title": definition.title,
        "contestants": {
            name: {
                "peer": r.contestant.peer,
                "model": r.contestant.model,
                "threads": r.contestant.threads,
                "parameters": r.contestant.parameters,
                "note": r.contestant.note,
                "tolerance": r.contestant.tolerance,
                "seconds": r.samples,
                "process_seconds": r.process_seconds,
                "answer": r.answers[-1] if r.answers else None,
                "worst_relative_error": r.worst_error,
                "peak_rss_mb": r.peak_rss_mb,
                "cold_rounds": r.cold_rounds,
                "wrong": r.wrong,
                "missing": r.missing,
            }
            for name, r in results.items()
        },
    }


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Give a line of the table as data."""
    bar = verdict.bar
    return {
        "row": bar.row,
        "claim": bar.claim,
        "definition": verdict.definition,
        "kind": bar.kind,
        "measured": verdict.value,
        "round_by_round": [verdict.low, verdict.high],
        "limit": bar.limit,
        "verdict": verdict.outcome,
        "remark": verdict.remark,
    }


def write(
    folder: Path,
    host: dict[str, Any],
    versions: dict[str, str],
    measured: Sequence[tuple[Definition, dict[str, Result], int]],
    verdicts: Sequence[Verdict],
    *,
    small: bool,
) -> None:
    """Write table.txt, results.csv and results.json into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "host": host,
        "small": small,
        "versions": versions,
        "verdicts": [verdict_json(v) for v in verdicts],
        "definitions": [as_json(definition, results) for definition, results, _ in measured],
    }
    (folder / "results.json").write_text(json.dumps(document, indent=1) + "\n")
    with (folder / "results.csv").open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for definition, results, _ in measured:
            writer.writerows(csv_rows(definition, results, versions))
    head = "\n".join(f"{key}: {value}" for key, value in host.items())
    parts = [details(definition, results, size) for definition, results, size in measured]
    text = "\n\n".join([head, table(verdicts, small=small), summary(verdicts), *parts])
    (folder / "table.txt").write_text(text + "\n")
