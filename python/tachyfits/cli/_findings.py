"""Findings as text and as JSON."""

from __future__ import annotations

from typing import Any

from tachyfits import Finding


def finding_dict(finding: Finding) -> dict[str, Any]:
    """Return a finding by the names of its parts; what is not known is left out."""
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


def finding_text(finding: Finding) -> str:
    """Return a finding as two lines, the section of the Standard with what is to be done."""
    first, _, hint = str(finding).partition("\n")
    section = f" (Standard {finding.section})" if finding.section else ""
    fix = " [--fix does it]" if finding.fixable else ""
    return f"{first}\n  {hint}{section}{fix}"
