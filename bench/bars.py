"""Judging: a bar and the results of its definition make one verdict.

Ratios are of medians. FAIL means that the number misses the bar or that an answer behind it is
wrong; NOT MEASURED means that somebody needed is missing, and never counts as a pass.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import median

from bench.definitions import BAR_KINDS, Bar, Definition
from bench.measure import Result

PASS, FAIL, INFO, NOT_MEASURED = "pass", "FAIL", "info", "NOT MEASURED"


@dataclass(frozen=True)
class Verdict:
    """One line of the table."""

    definition: str
    bar: Bar
    outcome: str
    value: float | None = None
    low: float | None = None  # of the ratios round by round
    high: float | None = None
    remark: str = ""

    @property
    def upper(self) -> bool:
        """Whether the bar is an upper limit."""
        return BAR_KINDS[self.bar.kind][1]


def judge(definition: Definition, results: dict[str, Result]) -> list[Verdict]:
    """Give one verdict per bar."""
    return [_judge_one(definition.name, bar, results) for bar in definition.bars]


def _judge_one(name: str, bar: Bar, results: dict[str, Result]) -> Verdict:
    involved = _matching(results, (bar.of, *bar.against))
    wrong = [f"{r.contestant.name} is wrong: {r.wrong}" for r in involved if r.wrong]
    if wrong:
        return Verdict(name, bar, FAIL, remark="; ".join(wrong))
    absent = _absent([r for r in involved if not r.measured])
    ours = [r for r in _matching(results, (bar.of,)) if r.measured]
    others = [r for r in _matching(results, bar.against) if r.measured]
    # Identity is judged among those that ran (a vector width that this CPU lacks cannot); a
    # comparison with the fastest of several needs all: the missing one might have been the fastest.
    if not ours or (absent and bar.kind != "identical"):
        return Verdict(name, bar, NOT_MEASURED, remark=absent)
    value, low, high, remark = _value(bar, ours, others)
    if absent:
        remark = f"{remark}; without {absent}"
    return Verdict(name, bar, _outcome(bar, value), value, low, high, remark)


def _absent(results: list[Result]) -> str:
    """Who is missing and why, each reason once."""
    reasons: dict[str, list[str]] = {}
    for r in results:
        reasons.setdefault(r.missing or "no sample", []).append(r.contestant.name)
    return "; ".join(f"{_some(names)}: {reason}" for reason, names in reasons.items())


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _matching(results: dict[str, Result], patterns: tuple[str, ...]) -> list[Result]:
    return [r for n, r in results.items() if any(fnmatchcase(n, pattern) for pattern in patterns)]


def _outcome(bar: Bar, value: float) -> str:
    if bar.limit is None:
        return INFO
    upper = BAR_KINDS[bar.kind][1]
    return PASS if (value <= bar.limit if upper else value >= bar.limit) else FAIL


def _value(
    bar: Bar, ours: list[Result], others: list[Result]
) -> tuple[float, float | None, float | None, str]:
    if bar.kind == "slowdown":
        other = min(others, key=lambda r: r.median)
        ratios = [a / b for a, b in zip(ours[0].samples, other.samples, strict=True)]
        value = ours[0].median / other.median
        return value, min(ratios), max(ratios), _versus(others, other)
    if bar.kind == "speedup":
        other = min(others, key=lambda r: r.median)
        ratios = [b / a for a, b in zip(ours[0].samples, other.samples, strict=True)]
        value = other.median / ours[0].median
        return value, min(ratios), max(ratios), _versus(others, other)
    if bar.kind == "seconds":
        worst = max(ours, key=lambda r: r.median)
        return worst.median, min(worst.samples), max(worst.samples), ""
    if bar.kind == "process_seconds":
        started = [seconds for r in ours for seconds in r.process_seconds]
        return median(started), min(started), max(started), ""
    if bar.kind == "peak_rss_mb":
        return max(r.peak_rss_mb or 0.0 for r in ours), None, None, ""
    if bar.kind == "relative_error":
        return max(r.worst_error or 0.0 for r in ours), None, None, ""
    return _identical(ours)


def _versus(others: list[Result], fastest: Result) -> str:
    return f"fastest of {len(others)}: {fastest.contestant.name}" if len(others) > 1 else ""


def _identical(ours: list[Result]) -> tuple[float, None, None, str]:
    """How many answers differ from the first one."""
    answers = [(r.contestant.name, json.dumps(a, sort_keys=True)) for r in ours for a in r.answers]
    first = answers[0][1]
    different = sorted({name for name, answer in answers if answer != first})
    remark = f"{len(answers)} answers of {len(ours)} variants"
    if different:
        remark += f"; unlike {answers[0][0]}: {_some(different)}"
    return float(sum(answer != first for _, answer in answers)), None, None, remark
