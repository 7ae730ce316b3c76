"""Showing and keeping results: a table on the screen; Markdown, and JSON and CSV of every sample.

Text only, readable without colour; the verdict words PASS, MISS and WRONG are the only marks.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import ROOT
from bench.bars import INFO, MISS, NOT_MEASURED, PASS, WRONG, Verdict
from bench.definitions import FULL, LAPTOP, SMALL, Definition
from bench.measure import Result

#: The sizes of inputs, in words.
SIZE_WORDS = {
    FULL: "inputs as large as in the papers",
    LAPTOP: "inputs for any laptop",
    SMALL: "inputs so small that times say nothing",
}
UNITS = {"slowdown": "", "speedup": " x", "spread": "", "hidden": "", "overlap": ""}
UNITS |= {"rounds": " rounds", "sent_mb": " MB"}
Lines = Sequence[Sequence[str]]
#: Each definition with its results and the size of its input, bytes.
Measured = list[tuple[Definition, dict[str, Result], int]]


def aligned(lines: Lines) -> str:
    """Set columns, each as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def markdown(lines: Lines) -> str:
    """Set a Markdown table whose first line is the head."""
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    cells.insert(1, ["---"] * len(cells[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def row_order(row: str) -> tuple[int, str]:
    """Order row names like "2" and "10" by their number."""
    digits = row.partition(" ")[0]
    return (int(digits) if digits.isdigit() else 1000, row)


def number(value: float | None, kind: str) -> str:
    """Write a measured value or limit in the unit of its kind."""
    if value is None:
        return "-"
    if kind == "relative_error":
        return f"{value:.1e}"
    if kind == "identical":
        return f"{value:.0f} differ"
    if kind in ("seconds", "process_seconds"):
        if value < 1e-3:
            return f"{value * 1e6:.1f} us"
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


def below_gate(verdict: Verdict) -> str:
    """Say why a verdict fails the gate: a wrong answer, or the ratio beside its share of a bar."""
    claim, gate = verdict.bar.claim, verdict.bar.gate
    if verdict.outcome == WRONG or gate is None or verdict.value is None:
        return f"{claim}: {verdict.remark}"
    measured = number(verdict.value, verdict.bar.kind)
    return f"{claim}: {measured}, expected {gate:g} of the bar {bar_text(verdict)}"


def table(verdicts: Sequence[Verdict]) -> Lines:
    """Make the result table: the claim, what was measured beside its bar, the verdict."""
    lines = [["row", "what", "measured", "bar", "verdict", "round by round", "remark"]]
    for v in verdicts:
        rounds = "-"
        if v.low is not None and v.high is not None:
            rounds = f"{number(v.low, v.bar.kind)} ... {number(v.high, v.bar.kind)}"
        sized = v.size != FULL and v.outcome in (PASS, MISS)
        outcome = f"{v.outcome} ({v.size})" if sized else v.outcome
        measured = number(v.value, v.bar.kind)
        lines.append([v.bar.row, v.bar.claim, measured, bar_text(v), outcome, rounds, v.remark])
    return lines


def details(definition: Definition, results: dict[str, Result], file_bytes: int) -> Lines:
    """Give one line per contestant: time, spread, rate, memory, and how right it was."""
    if not definition.timed:
        ran = sum(r.measured for r in results.values())
        problems = [[f"{name}: {r.wrong}"] for name, r in results.items() if r.wrong]
        return [["answers only"], [f"{ran} of {len(results)} contestants ran"], *problems]
    lines = [["contestant", "median", "min", "max", "MAD", "GB/s", "peak RSS", "worst error", "n"]]
    for name, r in results.items():
        if not r.samples:
            lines.append(
                [name, *["-"] * 6, f"WRONG: {r.wrong}" if r.wrong else "NOT MEASURED", "0"]
            )
            continue
        data_bytes = r.data_bytes or (file_bytes if definition.warm_cache else 0)
        rate = f"{data_bytes / r.median / 1e9:.2f}" if data_bytes and r.median else "-"
        peak = "-" if r.peak_rss_mb is None else f"{r.peak_rss_mb:.0f} MB"
        error = f"WRONG: {r.wrong}" if r.wrong else f"{r.worst_error or 0.0:.1e}"
        times = [number(t, "seconds") for t in (r.median, min(r.samples), max(r.samples), r.mad)]
        lines.append([name, *times, rate, peak, error, str(len(r.samples))])
    return lines


def summary(verdicts: Sequence[Verdict]) -> str:
    """Say how many rows passed, missed their bar, were wrong, were not measured."""
    words = (PASS, MISS, WRONG, NOT_MEASURED, INFO)
    counts = {word: sum(v.outcome == word for v in verdicts) for word in words}
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def as_json(definition: Definition, results: dict[str, Result], size: int) -> dict[str, Any]:
    """Give a definition's results with every sample."""
    return {
        "definition": definition.name,
        "title": definition.title,
        "file_bytes": size,
        "size": definition.size,
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
                "hidden_fraction": r.hidden,
                "parts": r.parts,
                "processor_seconds": r.processor_seconds,
                "bytes": r.data_bytes,
                "worst_relative_error": r.worst_error,
                "peak_rss_mb": r.peak_rss_mb,
                "cold_rounds": r.cold_rounds,
                "lukewarm_rounds": r.lukewarm_rounds,
                "unsettled_rounds": r.unsettled_rounds,
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
        "what": bar.claim,
        "definition": verdict.definition,
        "kind": bar.kind,
        "measured": verdict.value,
        "round_by_round": [verdict.low, verdict.high],
        "limit": bar.limit,
        "size": verdict.size,
        "verdict": verdict.outcome,
        "remark": verdict.remark,
    }


def samples(host: dict[str, Any], measured: Measured) -> str:
    """Write every sample as a line of CSV, below comments with the host, the commit, versions."""
    text = io.StringIO()
    for key, value in (host | host["versions"]).items():
        if key not in ("versions", "warnings"):
            text.write(f"# {key}: {value}\n")
    table = csv.writer(text, lineterminator="\n")
    words = "definition contestant peer threads round seconds processor_seconds bytes wrong"
    table.writerow(words.split())
    for definition, results, _ in measured:
        for name, r in results.items():
            about = [definition.name, name, r.contestant.peer, r.contestant.threads]
            for number, seconds in enumerate(r.samples):
                worked = r.processor_seconds[number : number + 1] or [""]
                table.writerow([*about, number + 1, seconds, *worked, r.data_bytes or "", r.wrong])
    return text.getvalue()


def on_screen(measured: Measured, verdicts: Sequence[Verdict]) -> str:
    """Make what a run prints: the contestants of each definition, then the table of the rows."""
    parts = [
        f"{definition.name}: {definition.title}\n" + aligned(details(definition, results, size))
        for definition, results, size in measured
        if results
    ]
    return "\n\n".join([*parts, aligned(table(verdicts)), summary(verdicts)])


def write(
    folder: Path,
    host: dict[str, Any],
    measured: Measured,
    verdicts: Sequence[Verdict],
    *,
    size: str,
) -> None:
    """Write table.md, results.json and samples.csv, without the place of this checkout."""
    document = {
        "host": host,
        "size": size,
        "verdicts": [verdict_json(v) for v in verdicts],
        "definitions": [as_json(*entry) for entry in measured],
    }
    parts = [f"# Benchmark results, {SIZE_WORDS[size]}"]
    parts += [markdown(table(verdicts)), summary(verdicts), "## Host"]
    about = {k: v for k, v in host.items() if k not in ("warnings", "versions")} | host["versions"]
    parts += [markdown([["", ""], *([key, str(value)] for key, value in about.items())])]
    parts += [f"WARNING: {warning}" for warning in host.get("warnings", [])]
    for definition, results, size in measured:
        if not results:
            continue
        parts += [f"## {definition.name}: {definition.title}"]
        parts += [markdown(details(definition, results, size))]
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("results.json", json.dumps(document, indent=1)),
        ("table.md", "\n\n".join(parts)),
        ("samples.csv", samples(host, measured)),
    ):
        (folder / name).write_text(text.replace(str(ROOT), ".").rstrip("\n") + "\n")
