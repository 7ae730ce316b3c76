"""Judging: a bar and the results of its definition make one verdict.

A ratio is the median of the ratios round by round: two times of one round were taken within
seconds of each other, so what slows the machine for a while falls on both. MISS means that the
number is on the wrong side of its bar; WRONG that an answer behind it is not the expected one, or
never came. Of "the fastest of" several, those that are missing are left out, and named.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import median

from bench.definitions import BAR_KINDS, Bar, Definition
from bench.measure import Result

PASS, MISS, WRONG, INFO, NOT_MEASURED = "PASS", "MISS", "WRONG", "info", "NOT MEASURED"

#: Bars about answers: on their wrong side nothing is slow, something is wrong.
ABOUT_ANSWERS = ("identical", "relative_error")


@dataclass(frozen=True)
class Verdict:
    """One line of the table."""

    definition: str
    bar: Bar
    outcome: str
    value: float | None = None
    low: float | None = None  # of the values round by round
    high: float | None = None
    remark: str = ""
    ours_missing: bool = False  # nobody was there to be judged

    @property
    def upper(self) -> bool:
        """Whether the bar is an upper limit."""
        return BAR_KINDS[self.bar.kind][1]


def judge(definition: Definition, results: dict[str, Result]) -> list[Verdict]:
    """Give one verdict per bar."""
    return [_judge_one(definition.name, bar, results) for bar in definition.bars]


def _judge_one(name: str, bar: Bar, results: dict[str, Result]) -> Verdict:
    ours, others = _matching(results, (bar.of,)), _matching(results, bar.against)
    wrong = [f"{r.contestant.name} is wrong: {r.wrong}" for r in (*ours, *others) if r.wrong]
    if wrong:
        return Verdict(name, bar, WRONG, remark="; ".join(wrong))
    absent = _absent([r for r in (*ours, *others) if not r.measured])
    ours = [r for r in ours if r.measured]
    present = [r for r in others if r.measured]
    if bar.kind == "identical" and len(ours) < 2:
        absent, ours = f"fewer than two variants to compare: {absent}", []
    if not ours or (others and not present):
        return Verdict(name, bar, NOT_MEASURED, remark=absent, ours_missing=not ours)
    value, low, high, remark = _value(bar, ours, present)
    if absent:
        remark = "; ".join(part for part in (remark, f"WITHOUT {absent}") if part)
    return Verdict(name, bar, _outcome(bar, value), value, low, high, remark)


def _absent(results: list[Result]) -> str:
    """Who is missing and why, each reason once."""
    reasons: dict[str, list[str]] = {}
    for r in results:
        reasons.setdefault(r.missing or "no sample", []).append(r.contestant.name)
    return "; ".join(f"{_some(names)} ({reason})" for reason, names in reasons.items())


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _matching(results: dict[str, Result], patterns: tuple[str, ...]) -> list[Result]:
    return [r for n, r in results.items() if any(fnmatchcase(n, pattern) for pattern in patterns)]


def _outcome(bar: Bar, value: float) -> str:
    if bar.limit is None:
        return INFO
    upper = BAR_KINDS[bar.kind][1]
    if value <= bar.limit if upper else value >= bar.limit:
        return PASS
    return WRONG if bar.kind in ABOUT_ANSWERS else MISS


def _value(
    bar: Bar, ours: list[Result], others: list[Result]
) -> tuple[float, float | None, float | None, str]:
    if bar.kind in ("slowdown", "speedup"):
        fastest = min(others, key=lambda r: r.median)
        pairs = zip(ours[0].samples, fastest.samples, strict=True)
        ratios = [a / b if bar.kind == "slowdown" else b / a for a, b in pairs]
        return median(ratios), min(ratios), max(ratios), _versus(others, fastest)
    if bar.kind == "seconds":
        slowest = max(ours, key=lambda r: r.median)
        return slowest.median, min(slowest.samples), max(slowest.samples), ""
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
