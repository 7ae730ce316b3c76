"""Findings as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tachyfits import Finding


def finding_dict(finding: Finding) -> dict[str, Any]:
    """Return a finding as a dictionary without unknown members."""
    column = finding.column
    parts = {
        "severity": finding.severity,
        "code": finding.code,
        "hdu": finding.hdu,
        "keyword": finding.keyword,
        "card": finding.card,
        "column": None if column is None else column[0],
        "column_name": None if column is None else column[1],
        "row": finding.row,
        "byte": finding.offset,
        "expected": finding.expected,
        "found": finding.found,
        "count": finding.repeats + 1,
        "advice": finding.advice,
        "section": finding.section or None,
        "fixable": finding.fixable,
    }
    return {name: value for name, value in parts.items() if value is not None}


def finding_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield a line for each finding, and a line with advice and the section of the Standard.

    Advice that applies to several findings only follows the first one.
    """
    printed = set()
    for finding in findings:
        first, _, hint = str(finding).partition("\n")
        section = f" (Standard {finding.section})" if finding.section else ""
        fix = " [--fix does it]" if finding.fixable else ""
        yield first
        below = f"  {hint}{section}{fix}"
        if below not in printed:
            printed.add(below)
            yield below
