"""The page of the server's figures, docs/performance/server.md: a section for each case."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench import ROOT, host

PAGE = ROOT / "docs" / "performance" / "server.md"

_HEAD = """# The server

Client and server run on the same machine and share its cores. Each section says when and on which
machine it was measured, and the command that repeats it.
"""


@dataclass
class Row:
    """A measurement beside its bar."""

    name: str
    value: float
    unit: str
    bar: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the bar is met."""
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    @property
    def limit(self) -> str:
        """The bar, as text."""
        return f"{'≥' if self.at_least else '≤'} {self.bar:.4g} {self.unit}".rstrip()

    def __str__(self) -> str:
        mark = "" if self.met else "  MISSED"
        return f"{self.name:55} {self.value:10.3f} {self.unit:4} (bar {self.limit}){mark}"


def machine() -> str:
    """Describe the machine and its load in a sentence."""
    description = host.describe()
    return (
        f"{description['date']}, {description['cpu']}, {description['cores']} cores, "
        f"{description['memory_gb']:.0f} GB, load average {os.getloadavg()[0]:.1f} at the end"
    )


def section(heading: str, command: str, text: str, rows: Iterable[Row]) -> str:
    """Return the section of a case."""
    lines = [f"## {heading}", "", text, "", f"Measured: {machine()}.", "", "```sh", command,
             "```", "", "| | measured | bar |", "|---|---|---|"]  # fmt: skip
    lines += [
        f"| {row.name} | {row.value:.4g} {row.unit} | {row.limit}{'' if row.met else ', missed'} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def put(text: str, page: Path = PAGE) -> None:
    """Write a section into the page, in place of the one with the same heading."""
    heading = text.partition("\n")[0]
    content = page.read_text(encoding="utf-8") if page.exists() else _HEAD
    before, separator, remainder = content.partition(f"{heading}\n")
    if not separator:
        page.write_text(f"{content.rstrip()}\n\n{text}", encoding="utf-8")
        return
    _, next_heading, after = remainder.partition("\n## ")
    tail = f"\n## {after}" if next_heading else ""
    page.write_text(before + text + tail, encoding="utf-8")
