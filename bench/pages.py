"""The report: a page per source document, with its tables and figures, made from a record.

`python -m bench report [RESULTS ...]` writes the pages beside the (first) results; `--docs` writes
them into docs/performance/. The other results fill the gaps of the first.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import HERE, ROOT, BenchError, definitions, papers
from bench.definitions import BAR_KINDS, LAPTOP
from bench.papers import Cell, Column, Figure, Paper, Record, Table
from bench.report import SIZE_WORDS, markdown, number, row_order

#: A second in each unit of time.
SCALES = {"s": 1.0, "ms": 1e3, "µs": 1e6}
DOCS = ROOT / "docs" / "performance"


def with_error(value: float, error: float) -> str:
    """Write a number with its error, both down to the error's first digit, but two of its own."""
    if not math.isfinite(value):
        return str(value)
    if error > 0 and math.isfinite(error):
        least = 1 - math.floor(math.log10(abs(value))) if value else 0
        digits = max(-math.floor(math.log10(error)), least)
        decimals = max(digits, 0)
        return f"{round(value, digits):.{decimals}f} ± {round(error, digits):.{decimals}f}"
    if value == 0 or 0.001 <= abs(value) < 100000:
        decimals = 2 if value == 0 else max(2 - math.floor(math.log10(abs(value))), 0)
        return f"{value:.{decimals}f}"
    return f"{value:.3g}"


#: Behind numbers of other runs than most of a page.
MARKS = ("†", "‡", "§")


def marked(cell: Cell, column: Column, table: Table, notes: list[str], runs: list[int]) -> str:
    """Write a cell, with a mark where it is not of the first of some runs."""
    text = text_of(cell, column, table, notes)
    foreign = text and not cell.missing and cell.run not in (None, runs[0])
    return f"{text} {MARKS[runs.index(cell.run or 0) - 1]}" if foreign else text


def text_of(cell: Cell, column: Column, table: Table, notes: list[str]) -> str:
    """Write a cell; the reason for an empty one becomes a note below the table."""
    if cell.missing:
        if cell.missing not in notes:
            notes.append(cell.missing)
        return f"[{notes.index(cell.missing) + 1}]"
    if cell.text or cell.number is None:
        return cell.text
    if column.ratio:
        return f"{cell.number:.2f}"
    a_time = column.value == "seconds" or column.value.startswith("parts.")
    scale = (
        SCALES.get(table.unit, 1.0) if a_time and column.parameter in ("", "T", "start") else 1.0
    )
    return with_error(cell.number * scale, cell.error * scale)


def head_of(column: Column) -> str:
    """Write the head of a column, which says so where its numbers are those of the source."""
    marked = not column.printed or "printed" in column.head
    return column.head if marked else f"{column.head}, printed"


def key_text(key: str, value: Any, record: Record) -> str:
    """Write the key of a row, and mark numbers of threads that exceed the cores."""
    beyond = key == "threads" and value > record.host["cores"]
    return f"{value} (more than cores)" if beyond else str(value)


def table_page(table: Table, filled: list[list[Cell]], record: Record, runs: list[int]) -> str:
    """Write a table with its command, its notes, and what has changed since.

    ``runs``: those of the page, the one of most cells first.
    """
    keys = [key for key in table.rows[0] if not key.startswith("_")]
    notes: list[str] = []
    lines = [[*keys, *map(head_of, table.columns)]]
    for row, line in zip(table.rows, filled, strict=True):
        texts = [
            marked(cell, column, table, notes, runs)
            for cell, column in zip(line, table.columns, strict=True)
        ]
        lines.append([*(key_text(key, row[key], record) for key in keys), *texts])
    unit = f" ({table.unit})" if table.unit else ""
    parts = [f"## {table.name}: {table.title}{unit}"]
    parts += [table.text] if table.text else []
    parts += [markdown(lines)]
    parts += ["\n".join(f"[{number}] {note}  " for number, note in enumerate(notes, 1))] * bool(
        notes
    )
    parts += [table.changed] if table.changed else []
    size = "" if record.size == LAPTOP else f"--{record.size} "
    parts += [f"```sh\npython -m bench {size}{table.command}\n```"]
    return "\n\n".join(part.strip() for part in parts)


def draw_series(entry: dict[str, Any], record: Record, axes: Any) -> None:
    """Draw the points of a series, printed ones or those of a contestant, and its model."""
    import numpy as np

    from bench.fits import fit

    fields = {k: v for k, v in entry.items() if k in ("definition", "contestant", "value", "over")}
    column = Column(entry["label"], **fields)
    if "printed" in entry:
        x, y = entry["x"], [papers.number_of(text) for text in entry["printed"]]
        axes.plot(x, y, label=column.head, marker="o", markersize=3, linestyle="--", lw=1)
        return
    x, times, errors = papers.points(column, {}, record)
    if not x:
        return
    scale = entry.get("scale", 1.0)
    y, bars = scale * np.array(times), scale * np.array(errors)
    error_bars = axes.errorbar(x, y, bars, label=column.head, marker="o", markersize=3, lw=1)
    model = entry.get("fit")
    among = papers.shared(column, x, record)
    fitted_model = fit(model, among, list(y), list(bars)) if model else None
    if fitted_model:
        along = np.linspace(min(among), max(among), 200)
        axes.plot(along, fitted_model(along), color=error_bars[0].get_color(), linestyle=":", lw=1)


def counts_of(entry: dict[str, Any]) -> list[int]:
    """List the numbers of threads of a series."""
    return list(entry["x"] if "x" in entry else entry["over"]["threads"])


def draw(figure: Figure, record: Record, path: Path) -> None:
    """Draw a figure as SVG, the same bytes for the same record."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": figure.name, "svg.fonttype": "none", "font.size": 9}):
        picture, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        for entry in figure.series:
            draw_series(entry, record, axes)
        axes.set_xlabel(figure.x_label)
        axes.set_ylabel(figure.y_label)
        if figure.log:
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        if figure.x == "threads":
            counts = sorted({x for entry in figure.series for x in counts_of(entry)})
            axes.set_xticks(counts, labels=[str(count) for count in counts])
            axes.minorticks_off()
        axes.legend(fontsize=7)
        axes.set_title(figure.title, fontsize=9)
        picture.savefig(path, format="svg", metadata={"Date": None})
        plt.close(picture)


def page(paper: Paper, record: Record) -> str:
    """Write the page of a document."""
    filled_tables = [papers.cells(table, record) for table in paper.tables]
    count = Counter(cell.run for rows in filled_tables for line in rows for cell in line)
    runs = [run for run, _ in count.most_common() if run is not None] or [0]
    parts = [f"# {paper.title}", paper.reference, paper.about, machine(record, runs)]
    parts += [
        table_page(*table_and_cells, record, runs)
        for table_and_cells in zip(paper.tables, filled_tables, strict=True)
    ]
    for figure in paper.figures:
        parts += [f"## {figure.name}\n\n![{figure.title}]({paper.name}-{slug(figure.name)}.svg)"]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def bars_page(record: Record) -> str:
    """Write the page of all bars of bars.toml, with the value and the verdict of the run."""
    verdicts = {(v["definition"], v["row"], v["what"]): v for v in record.verdicts}
    lines = [["row", "what", "bar", "gate", "measured", "verdict", "remark"]]
    everything = [(d, bar) for d in definitions.load() for bar in d.bars]
    for definition, bar in sorted(everything, key=lambda item: row_order(item[1].row)):
        v = verdicts.get((definition.name, bar.row, bar.claim), {})
        sign = "≤" if BAR_KINDS[bar.kind][1] else "≥"
        limit = "-" if bar.limit is None else f"{sign} {number(bar.limit, bar.kind)}"
        gate = "-" if bar.gate is None else f"{bar.gate:g}"
        measured = number(v.get("measured"), bar.kind)
        lines.append(
            [bar.row, bar.claim, limit, gate, measured, v.get("verdict", ""), v.get("remark", "")]
        )
    about = (
        "A bar is what this engine has promised: for a speed a ratio to another program or to the "
        "machine's limit. All are in `bench/bars.toml`; `info` has none. A row without a verdict "
        "was not part of the run. `make bench-gate` fails where a ratio of small inputs is twice "
        "below the share of its bar in the column *gate*."
    )
    return f"# All bars\n\n{about}\n\n{machine(record, [0])}\n\n{markdown(lines)}\n"


def machine(record: Record, runs: list[int]) -> str:
    """Say on what machine, when, from which commit and with which sizes runs measured."""
    host, *others = (record.hosts[run] for run in runs)
    words = f"{host['cpu']}, {host['cores']} cores, {host['memory_gb']:g} GB, {host['kernel']}"
    later = "".join(
        f" {mark}: {other['cpu']}, {other['cores']} cores, {other['date']}, "
        f"commit `{other['commit'][:12]}`; no ratio is taken between two runs."
        for mark, other in zip(MARKS, others, strict=False)
    )
    return (
        f"Measured here: {words}, {host['date']}, commit `{host['commit'][:12]}`, "
        f"{SIZE_WORDS[record.size]}. Times are medians with the standard deviation of the "
        f"rounds; each contestant's answer was checked in every round.{later}"
    )


def slug(name: str) -> str:
    """Make a file's name of a figure's."""
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def write(record: Record, folder: Path, known: Sequence[Paper] | None = None) -> list[Path]:
    """Write the pages and figures of all documents; the paths of the pages."""
    known = papers.load() if known is None else known
    missing_packages = [
        name for name in ("scipy", "matplotlib") if importlib.util.find_spec(name) is None
    ]
    if missing_packages:
        needs = f"the report needs {' and '.join(missing_packages)}"
        raise BenchError(f"{needs}\nrun: pip install {' '.join(missing_packages)}")
    folder.mkdir(parents=True, exist_ok=True)
    bars = folder / "bars.md"
    bars.write_text(bars_page(record))
    paths = [bars]
    for paper in known:
        path = folder / f"{paper.name}.md"
        path.write_text(page(paper, record))
        paths.append(path)
        for figure in paper.figures:
            draw(figure, record, folder / f"{paper.name}-{slug(figure.name)}.svg")
    return paths


def main(words: list[str]) -> int:
    """Run `python -m bench report`."""
    parser = argparse.ArgumentParser(prog="python -m bench report", description=__doc__)
    parser.add_argument("results", nargs="*", metavar="RESULTS", help="results.json of a run")
    parser.add_argument("--docs", action="store_true", help="write into docs/performance/")
    options = parser.parse_args(words)
    latest = HERE / "build" / "latest" / "results.json"
    results = [Path(name) for name in options.results] or [latest]
    for path in results:
        if not path.exists():
            raise BenchError(f"{path}: no such results\nrun: python -m bench")
    record, *others = map(Record.load, results)
    for other in others:
        record.fill(other)
    folder = DOCS if options.docs else results[0].parent / "report"
    for path in write(record, folder):
        print(path)
    return 0
