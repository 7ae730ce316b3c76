"""The report: fits recover known parameters, pages show a record and the reason of empty cells."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench import BenchError, definitions, fits, pages, papers  # noqa: E402
from bench.definitions import substitute  # noqa: E402

pytestmark = pytest.mark.once


@pytest.mark.parametrize(("single", "parallel"), [(2.38, 0.164), (0.42, 0.92), (8.0, 0.5)])
def test_amdahls_law_is_recovered_from_synthetic_times(single: float, parallel: float) -> None:
    random = np.random.default_rng(2013)
    threads = np.arange(1, 9, dtype=float)
    exact = single * ((1 - parallel) + parallel / threads)
    errors = 0.005 * exact
    pulls = []
    for _ in range(40):
        found = fits.fit("amdahl", list(threads), list(random.normal(exact, errors)), list(errors))
        assert found is not None
        assert found.freedom == 6
        pulls.append(
            [
                (found.values["T"] - single) / found.errors["T"],
                (found.values["P"] - parallel) / found.errors["P"],
                found.chi_squared / found.freedom,
            ]
        )
    mean, spread = np.mean(pulls, axis=0), np.std(pulls, axis=0)
    assert np.all(np.abs(mean[:2]) < 0.6)  # no bias beyond that of 40 experiments
    assert np.all((spread[:2] > 0.6) & (spread[:2] < 1.5))  # the errors are those of the parameters
    assert 0.7 < mean[2] < 1.3


@pytest.mark.parametrize(
    ("slope", "start"), [(1.7e-3, -0.013), (1.27e-3, 0.021), (1.252e-3, 0.0008), (0.85e-3, 0.028)]
)
def test_the_lines_of_the_paper_are_recovered_with_their_errors(slope: float, start: float) -> None:
    random = np.random.default_rng(8)
    size = np.array([21.4, 55.0, 66.9, 78.4, 88.7, 106.9, 150.3])
    exact = slope * size + start
    errors = 0.0005 + 0.01 * exact
    inside, count = np.zeros(2), 400
    for _ in range(count):
        times = random.normal(exact, errors)
        found = fits.fit("line", list(size), list(times), list(errors))
        assert found is not None
        assert found.freedom == 5
        pulls = [
            abs(found.values[name] - true) / found.errors[name]
            for name, true in (("slope", slope), ("start", start))
        ]
        assert max(pulls) < 5
        inside += [pull < 1 for pull in pulls]
    # One standard error holds 68 % of the fits.
    assert np.all((inside / count > 0.6) & (inside / count < 0.76))


def test_a_fit_is_a_function() -> None:
    found = fits.fit("line", [1.0, 2.0, 3.0], [1.5, 2.5, 3.5], [0.01] * 3)
    assert found is not None
    np.testing.assert_allclose(found([100.0]), [100.5])


def test_a_fit_needs_a_degree_of_freedom() -> None:
    assert fits.fit("line", [1.0, 2.0], [1.0, 2.0], [0.1, 0.1]) is None
    assert fits.fit("amdahl", [1.0, 1.0, 1.0], [1.0, 1.1, 0.9], [0.1] * 3) is None


#: Cells that no contestant fills: a package lacks the step, or the bench does not run it.
EMPTY = {
    "ours, write-raw",
    "ours, read-raw",
    "spectral-cube, FITS",
    "spectral-cube, STATS",
    "scipy, FITS",
    "scipy, STATS",
    "scipy, MATH",
    "astropy, MATH",
}
OTHERS = ("gfortran", "CFITSIO", "spectral-cube", "scipy", "astropy", "MIRIAD", "NEMO")
EMPTY |= {f"{name}, sum-2" for name in OTHERS}
EMPTY |= {f"{package}, {axis}" for package in ("spectral-cube", "astropy") for axis in "xyz"}
EMPTY |= {
    f"{name}-fortran, {step}"
    for name in ("fitsio", "tachyfits")
    for step in ("f32 null check", "i16 with BLANK as f32", "u16", "nine columns")
}
EMPTY |= {
    f"cfitsio-reads-limit: {program}"
    for program in (
        "aststatistics of RICE_1",
        "aststatistics of RICE_1, median",
        "funpack",
        "mShrink, row by row",
    )
}
EMPTY |= {"limit, nine columns as f64"}
EMPTY |= {f"limit: {call}" for call in ("f32, nulls", "f32, subset", "scaled i16 as f32, nulls")}


def test_every_measured_cell_names_a_contestant_of_a_full_run() -> None:
    known = {d.name: {c.name for c in d.contestants} for d in definitions.load()}
    documents = papers.load()
    assert len(documents) == 6
    empty = set()
    for table in (table for paper in documents for table in paper.tables):
        for column in (column for column in table.columns if column.definition):
            for row in (row for row in table.rows if "_sum" not in row):
                for names in definitions.combinations(column.over):
                    definition = substitute(column.definition, row | names)
                    contestant = substitute(column.contestant, row | names)
                    assert definition in known, f"{table.name}: {column.head}"
                    if contestant not in known[definition]:
                        empty.add(contestant)
    assert empty == EMPTY


def record(**contestants: Any) -> papers.Record:
    """Make a record of one definition with these contestants."""
    plain = {
        "wrong": None,
        "missing": None,
        "answer": None,
        "hidden_fraction": [],
        "parts": {},
        "processor_seconds": [],
        "peak_rss_mb": None,
        "seconds": [],
        "bytes": 0,
    }
    definition = {
        "definition": "d",
        "file_bytes": 4_000_000,
        "contestants": {name: plain | values for name, values in contestants.items()},
    }
    host = {
        "cpu": "a processor",
        "cores": 2,
        "memory_gb": 8.0,
        "kernel": "Linux 6",
        "date": "2026-01-01",
        "commit": "0123456789abcdef",
    }
    return papers.Record({"host": host, "size": "full", "definitions": [definition]})


DOCUMENT: dict[str, Any] = {
    "title": "A paper",
    "reference": "Somebody",
    "about": "Something.",
    "table": [
        {
            "name": "Table 1",
            "title": "times",
            "unit": "ms",
            "command": "--only d",
            "row": [
                {"who": "quick"},
                {"who": "slow"},
                {"who": "absent"},
                {"who": "sum", "_sum": True},
            ],
            "column": [
                {"head": "printed", "printed": ["100 ± 2", "", "7", "107"]},
                {"head": "here", "definition": "d", "contestant": "{who}"},
                {"head": "MB/s", "definition": "d", "contestant": "{who}", "value": "rate"},
                {"head": "printed / here", "ratio": ["printed", "here"]},
            ],
        }
    ],
    "figure": [
        {
            "name": "Figure 1",
            "title": "a figure",
            "x": "threads",
            "x_label": "threads",
            "y_label": "s",
            "series": [
                {"label": "printed", "x": [1, 2], "printed": ["3", "2 ± 1"]},
                {
                    "label": "here",
                    "definition": "d",
                    "contestant": "quick",
                    "over": {"threads": [1, 2, 4]},
                    "fit": "amdahl",
                },
            ],
        }
    ],
}


def test_a_page_shows_what_was_measured_and_why_the_rest_was_not() -> None:
    found = record(
        quick={"seconds": [0.010, 0.0102, 0.0098]},
        slow={"seconds": [], "wrong": "sum = 1, expected 2"},
        absent={"missing": "run: python -m bench setup"},
    )
    text = pages.page(papers.parse(DOCUMENT, "paper"), found)
    assert "| quick | 100 ± 2 | 10.0 ± 0.2 | 400 ± 8 | 10000.00 |" in text
    assert "| slow |  | [1] | [1] | [1] |" in text
    assert "| absent | 7 | [2] | [2] | [2] |" in text
    assert "| sum | 107 | [3] | [3] | [3] |" in text
    assert "[1] wrong: sum = 1, expected 2" in text
    assert "[2] run: python -m bench setup" in text
    assert "[3] not all steps were measured" in text
    assert "python -m bench --full --only d" in text
    assert "commit `0123456789ab`" in text


def test_printed_columns_and_threads_beyond_the_cores_are_marked() -> None:
    columns = [
        {"head": "A", "printed": ["5", "4", "3"]},
        {"head": "A, as printed", "printed": ["5", "4", "3"]},
        {"head": "here", "definition": "d", "contestant": "quick"},
    ]
    table = DOCUMENT["table"][0] | {"column": columns, "rows": {"threads": [1, 2, 3]}}
    del table["row"]
    paper = papers.parse(DOCUMENT | {"table": [table]}, "paper")
    text = pages.page(paper, record(quick={"seconds": [0.01]}))
    assert "| threads | A, printed | A, as printed | here |" in text
    assert "| 2 | 4 | 4 | 10.0 |" in text
    assert "| 3 (more than cores) | 3 | 3 | 10.0 |" in text


def test_all_bars_are_on_a_page_with_their_gates_and_what_was_measured() -> None:
    found = record()
    everything = [(d.name, bar) for d in definitions.load() for bar in d.bars]
    name, gated = next((name, bar) for name, bar in everything if bar.gate is not None)
    found.verdicts = [
        {"definition": name, "row": gated.row, "what": gated.claim, "kind": gated.kind,
         "measured": 3.5, "verdict": "PASS", "limit": gated.limit, "remark": "why"}
    ]  # fmt: skip
    lines = pages.bars_page(found).splitlines()
    assert sum(line.startswith("| ") for line in lines) == len(everything) + 2
    limit = f"≥ {gated.limit:.2f} x"
    assert (
        f"| {gated.row} | {gated.claim} | {limit} | {gated.gate:g} | 3.50 x | PASS | why |" in lines
    )


def test_a_sum_row_adds_the_cells_above_it() -> None:
    found = record(quick={"seconds": [1.0]}, slow={"seconds": [2.0]}, absent={"seconds": [4.0]})
    table = papers.parse(DOCUMENT, "paper").tables[0]
    assert papers.cells(table, found)[3][1].number == 7.0


def test_pages_are_the_same_for_the_same_record(tmp_path: Path) -> None:
    found = record(quick={"seconds": [0.010, 0.0102, 0.0098]}, slow={}, absent={})
    known = [papers.parse(DOCUMENT, "paper")]
    for name in ("one", "two"):
        pages.write(found, tmp_path / name, known)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["bars.md", "paper-figure-1.svg", "paper.md"]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_later_run_fills_what_the_first_lacks() -> None:
    first = record(quick={"seconds": [1.0], "peer": "a"}, slow={"missing": "not here", "peer": "b"})
    later = record(
        quick={"seconds": [9.0], "peer": "a"},
        slow={"seconds": [2.0], "peer": "b"},
        more={"seconds": [3.0], "peer": "b"},
    )
    bar = {"definition": "d", "row": "1"}
    first.verdicts = [
        bar | {"what": "quick", "verdict": "PASS"},
        bar | {"what": "slow", "verdict": "NOT MEASURED"},
    ]
    later.verdicts = [bar | {"what": what, "verdict": "MISS"} for what in ("quick", "slow")]
    first.fill(later)
    found = [first.measured("d", name, "seconds").number for name in ("quick", "slow", "more")]
    assert found == [1.0, 2.0, 3.0]
    assert [v["verdict"] for v in first.verdicts] == ["PASS", "MISS"]
    # The same commit and machine: parts of one run.
    assert first.hosts == [later.host]
    assert {first.measured("d", name, "seconds").run for name in ("quick", "slow")} == {0}


def test_numbers_of_another_machine_are_marked_and_no_ratio_is_taken_between_two_runs() -> None:
    first = record(quick={"seconds": [1.0], "peer": "a"})
    later = record(slow={"seconds": [2.0], "peer": "b"}, absent={"seconds": [4.0], "peer": "b"})
    later.host |= {"cpu": "another processor", "commit": "f" * 40}
    verdict = {"definition": "d", "row": "1", "what": "slow", "verdict": "MISS", "remark": ""}
    later.verdicts = [verdict]
    first.fill(later)
    remark = f"another processor, commit `{'f' * 12}`"
    assert first.verdicts == [verdict | {"remark": remark}]
    columns = [
        {"head": "here", "definition": "d", "contestant": "{who}"},
        {"head": "quick", "definition": "d", "contestant": "quick"},
        {"head": "here / quick", "ratio": ["here", "quick"]},
    ]
    table = DOCUMENT["table"][0] | {"column": columns}
    text = pages.page(papers.parse(DOCUMENT | {"table": [table]}, "paper"), first)
    # Most cells are of the first run.
    assert "here: a processor" in text
    assert f"†: another processor, 2 cores, 2026-01-01, commit `{'f' * 12}`" in text
    assert "| quick | 1000 | 1000 | 1.00 |" in text
    assert "| slow | 2000 † | 1000 | [1] |" in text
    assert "| sum | [1] | 3000 | [1] |" in text
    assert "[1] measured in two runs" in text
    # A page of another run alone is of that one.
    table = table | {"row": [{"who": "slow"}, {"who": "absent"}], "column": columns[:1]}
    text = pages.page(papers.parse(DOCUMENT | {"table": [table]}, "paper"), first)
    assert "here: another processor" in text
    assert "†" not in text


def test_a_smaller_run_fills_bars_alone() -> None:
    first = record(quick={"seconds": [1.0], "peer": "a"}, slow={"missing": "not here", "peer": "b"})
    smaller = record(slow={"seconds": [2.0], "peer": "b"})
    smaller.size = "laptop"
    verdict = {"definition": "d", "row": "1", "what": "slow", "verdict": "MISS", "remark": "far"}
    smaller.verdicts = [verdict]
    first.fill(smaller)
    assert first.measured("d", "slow", "seconds").missing == "not here"
    remark = "far; inputs for any laptop, commit `0123456789ab`"
    assert first.verdicts == [verdict | {"remark": remark}]
    assert first.hosts == [smaller.host]


def test_the_report_of_a_results_file_lies_beside_it(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    host = {"cpu": "p", "cores": 2, "memory_gb": 1.0, "kernel": "k", "date": "d", "commit": "c"}
    results.write_text(json.dumps({"host": host, "size": "small", "definitions": []}))
    assert pages.main([str(results)]) == 0
    assert (tmp_path / "report" / "endian-conversion.md").exists()
    with pytest.raises(BenchError, match="no such results"):
        pages.main([str(tmp_path / "nothing.json")])


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (410.2, 1.6, "410 ± 2"),
        (0.02953, 0.00006, "0.02953 ± 0.00006"),
        (1234.0, 56.0, "1230 ± 60"),
        (36.4, 210.0, "36 ± 210"),
        (12.345, 0.0, "12.3"),
        (0.0, 0.0, "0.00"),
        (float("inf"), 0.0, "inf"),
    ],
)
def test_a_number_ends_where_its_error_begins(value: float, error: float, text: str) -> None:
    assert pages.with_error(value, error) == text


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"head": "h", "printed": ["1"]}, "expected 4 rows, found 1"),
        ({"head": "h"}, "expected one source"),
        ({"head": "h", "printed": ["1"] * 4, "definition": "d"}, "expected one source"),
    ],
)
def test_a_column_that_cannot_be_filled_is_refused(column: dict[str, Any], words: str) -> None:
    table = DOCUMENT["table"][0] | {"column": [column]}
    with pytest.raises(BenchError, match=words):
        papers.parse(DOCUMENT | {"table": [table]}, "paper")
