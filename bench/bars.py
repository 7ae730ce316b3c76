"""Judging: a bar and the results of its definition make one verdict.

A ratio is the median of the ratios round by round: two times of one round were taken within seconds
of each other, so a temporary load of the machine affects both. MISS means that the number is on the
wrong side of its bar; WRONG that one of its answers is not the expected one, or never came. Of
"the fastest of" several, those that are missing are left out, and named. For a contestant with
fewer rounds it is the ratio of the medians.

A bar may name the contestant that shows what the machine takes to move the bytes (`machine`). Where
that contestant misses the bar too, 0.85 of its speed passes, and the remark says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from statistics import median

from bench.definitions import BAR_KINDS, FULL, RATIOS, Bar, Definition
from bench.measure import Result

PASS, MISS, WRONG, INFO, NOT_MEASURED = "PASS", "MISS", "WRONG", "info", "NOT MEASURED"

#: The share of the machine's own speed that passes where the machine cannot reach the bar.
AT_THE_LIMIT = 0.85

#: Bars about answers: on their wrong side nothing is slow, something is wrong.
ABOUT_ANSWERS = ("identical", "relative_error")

#: Bars about the requests that a server got.
COUNTS = ("rounds", "sent_mb")


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
    size: str = FULL  # of the inputs

    @property
    def upper(self) -> bool:
        """Whether the bar is an upper limit."""
        return BAR_KINDS[self.bar.kind][1]


def below_gate(verdict: Verdict) -> bool:
    """Tell whether an answer is wrong, or a ratio misses the share of its bar that passes the gate.

    The share is in bars.toml, far from what noise and small inputs explain.
    """
    if verdict.outcome == WRONG:
        return True
    bar = verdict.bar
    if bar.gate is None or bar.limit is None or verdict.value is None:
        return False
    if verdict.upper:
        return verdict.value > bar.limit / bar.gate
    return verdict.value < bar.limit * bar.gate


def judge(definition: Definition, results: dict[str, Result]) -> list[Verdict]:
    """Give one verdict per bar."""
    verdicts = (_judge_one(definition.name, bar, results) for bar in definition.bars)
    return [replace(verdict, size=definition.size) for verdict in verdicts]


def _judge_one(name: str, bar: Bar, results: dict[str, Result]) -> Verdict:
    ours, others = _matching(results, (bar.of,)), _matching(results, bar.against)
    problems = [f"{r.contestant.name} is wrong: {r.wrong}" for r in (*ours, *others) if r.wrong]
    if problems:
        return Verdict(name, bar, WRONG, remark="; ".join(problems))
    missing_text = _absent([r for r in (*ours, *others) if not r.measured])
    ours = [r for r in ours if r.measured]
    measured_others = [r for r in others if r.measured]
    if bar.kind in ("identical", "spread") and len(ours) < 2:
        missing_text, ours = f"fewer than two to compare: {missing_text}", []
    if bar.kind in COUNTS and any(bar.kind not in r.parts for r in ours):
        missing_text, ours = "the run reports no requests", []
    if bar.kind == "hidden" and any(not r.hidden for r in ours):
        missing_text, ours = "the run reports no share", []
    if (
        not ours
        or (others and not measured_others)
        or (bar.kind == "overlap" and len(measured_others) < 2)
    ):
        return Verdict(name, bar, NOT_MEASURED, remark=missing_text)
    value, low, high, remark = _value(bar, ours, measured_others)
    outcome = _outcome(bar, value)
    machine = _matching(results, (bar.machine,)) if outcome == MISS else []
    at_limit = _at_the_limit(bar, ours[0], measured_others, machine)
    outcome = PASS if at_limit else outcome
    missing_text = f"WITHOUT {missing_text}" if missing_text else ""
    remarks = [remark, at_limit, missing_text, *map(_doubt, (*ours, *measured_others, *machine))]
    remark = "; ".join(part for part in remarks if part)
    return Verdict(name, bar, outcome, value, low, high, remark)


def _at_the_limit(bar: Bar, ours: Result, others: list[Result], machine: list[Result]) -> str:
    """Say that a speedup is what the machine allows; nothing where it is not."""
    if not machine or not machine[0].measured or bar.limit is None:
        return ""
    fastest = min(others, key=lambda r: r.median)
    possible, reached = (
        _ratio("speedup", *pair)[0] for pair in ((machine[0], fastest), (ours, machine[0]))
    )
    if possible >= bar.limit or reached < AT_THE_LIMIT:
        return ""
    return f"at the limit: {reached:.2f} of {machine[0].contestant.name} ({possible:.2f} x)"


def _doubt(r: Result) -> str:
    """Say where a run did not find what it should have; nothing where it did."""
    name, runs = r.contestant.name, r.runs
    cold = f"{name}: {r.lukewarm_rounds} of {runs} not from a cold cache"
    busy = f"{name}: {r.unsettled_rounds} of {runs} with the disk still busy"
    doubts = [cold if r.lukewarm_rounds else "", busy if r.unsettled_rounds else ""]
    return "; ".join(filter(None, doubts))


def _absent(results: list[Result]) -> str:
    """List missing contestants and why, each reason once."""
    reasons: dict[str, list[str]] = {}
    for r in results:
        reasons.setdefault(r.missing or "no sample", []).append(r.contestant.name)
    return "; ".join(f"{_some(names)} ({reason})" for reason, names in reasons.items())


def _some(names: list[str]) -> str:
    text = ", ".join(names[:3])
    return text if len(names) <= 3 else f"{text} and {len(names) - 3} more"


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
    if bar.kind in RATIOS:
        fastest = min(others, key=lambda r: r.median)
        return *_ratio(bar.kind, ours[0], fastest), _versus(others, fastest)
    if bar.kind == "spread":
        return _spread(ours)
    if bar.kind == "overlap":
        return _overlap(ours[0], *others)
    if bar.kind == "hidden":
        shares = [share for r in ours for share in r.hidden]
        return median(shares), min(shares), max(shares), ""
    if bar.kind == "seconds":
        slowest = max(ours, key=lambda r: r.median)
        return slowest.median, min(slowest.samples), max(slowest.samples), ""
    if bar.kind == "process_seconds":
        started = [seconds for r in ours for seconds in r.process_seconds]
        return median(started), min(started), max(started), ""
    if bar.kind in COUNTS:
        counts = [count for r in ours for count in r.parts[bar.kind]]
        return max(counts), min(counts), max(counts), ""
    if bar.kind == "peak_rss_mb":
        return max(r.peak_rss_mb or 0.0 for r in ours), None, None, ""
    if bar.kind == "relative_error":
        return max(r.worst_error or 0.0 for r in ours), None, None, ""
    return _identical(ours)


def _ratio(kind: str, ours: Result, other: Result) -> tuple[float, float, float]:
    """Divide the times; also give the least and greatest ratio round by round."""
    above, below = (ours, other) if kind == "slowdown" else (other, ours)
    if len(above.samples) == len(below.samples):
        ratios = [a / b for a, b in zip(above.samples, below.samples, strict=True)]
        return median(ratios), min(ratios), max(ratios)
    if len(above.samples) < len(below.samples):  # one sat out rounds: against the other's median
        ratios = [a / below.median for a in above.samples]
    else:
        ratios = [above.median / b for b in below.samples]
    return above.median / below.median, min(ratios), max(ratios)


def _spread(ours: list[Result]) -> tuple[float, None, None, str]:
    """Divide the greatest median by the least, and name both."""
    slowest, fastest = max(ours, key=lambda r: r.median), min(ours, key=lambda r: r.median)
    ends = (f"{r.contestant.name} {r.median:.2f} s" for r in (slowest, fastest))
    return slowest.median / fastest.median, None, None, f"of {len(ours)}: {' / '.join(ends)}"


def _overlap(both: Result, io: Result, compute: Result) -> tuple[float, float, float, str]:
    """Find the share of the I/O's time that went by while computing, round by round."""
    rounds = zip(io.samples, compute.samples, both.samples, strict=True)
    shares = [(i + c - t) / i for i, c, t in rounds]
    return median(shares), min(shares), max(shares), ""


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
