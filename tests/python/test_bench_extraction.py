"""The lines of extraction times: fits find the parameters of synthetic data, with their errors."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from bench import extraction
from bench.fits import fit
from bench.server_page import Row, put
from bench.server_page import section as section_of

pytestmark = pytest.mark.once

VOLUMES = np.array([537.0, 1074.0, 2147.0, 4295.0, 8590.0])


@pytest.mark.parametrize(
    ("slope", "offset"), [(1.7e-3, -0.013), (1.27e-3, 0.021), (1.252e-3, 0.0008), (0.85e-3, 0.028)]
)
def test_fit_finds_the_published_lines_within_its_errors(slope: float, offset: float) -> None:
    rng = np.random.default_rng(8)
    exact = slope * VOLUMES + offset
    errors = 0.004 + 0.01 * exact
    inside = np.zeros(2)
    count = 400
    for _ in range(count):
        line = fit("line", VOLUMES.tolist(), rng.normal(exact, errors).tolist(), errors.tolist())
        assert line is not None
        assert abs(line.values["slope"] - slope) < 5 * line.errors["slope"]
        assert abs(line.values["start"] - offset) < 5 * line.errors["start"]
        inside += [
            abs(line.values["slope"] - slope) < line.errors["slope"],
            abs(line.values["start"] - offset) < line.errors["start"],
        ]
    # One standard error holds 68 % of the fits.
    assert ((inside / count > 0.6) & (inside / count < 0.76)).all()


def test_fit_of_points_on_a_line_is_exact() -> None:
    exact = 2e-3 * VOLUMES + 0.5
    line = fit("line", VOLUMES.tolist(), exact.tolist(), [0.1] * 5)
    assert line is not None
    assert list(line.values.values()) == pytest.approx([2e-3, 0.5], rel=1e-6)
    # By the formula of ordinary least squares with known errors.
    expected = 0.1 / np.sqrt(((VOLUMES - VOLUMES.mean()) ** 2).sum())
    assert line.errors["slope"] == pytest.approx(expected, rel=1e-4)
    assert (line.chi_squared, line.freedom) == (pytest.approx(0, abs=1e-9), 3)
    assert fit("line", [1, 2], [1, 2], [0.1, 0.1]) is None


def test_table_is_written_once_and_replaced(tmp_path: Path) -> None:
    runs = {
        (kind, way): [
            extraction.Timed(v, (1e-3 * v, 1.01e-3 * v, 0.99e-3 * v)) for v in VOLUMES.tolist()
        ]
        for kind in ("image", "spectrum")
        for way in ("on ahead", "just in time")
    }
    section = extraction.table(runs, "load average 0.1 of 2 cores")
    assert section.count("× 10⁻³ V/MB") == 4  # noqa: RUF001
    assert "8590 MB" in section
    page = tmp_path / "new.md"
    put(section, page)
    assert page.read_text().startswith("# The server\n")
    assert page.read_text().endswith(f"\n\n{section}")
    page = tmp_path / "page.md"
    page.write_text("# Page\n\ntext\n")
    put(section, page)
    once = page.read_text()
    assert once == f"# Page\n\ntext\n\n{section}"
    page.write_text(f"{once}\n## Next\n\nmore\n")
    put(section.replace("load average 0.1", "load average 0.2"), page)
    twice = page.read_text()
    assert twice.count(extraction.HEADING) == 1
    assert "load average 0.2" in twice
    assert twice.endswith("## Next\n\nmore\n")


def test_section_of_a_case_says_what_was_missed() -> None:
    rows = [Row("median", 12.345, "ms", 50), Row("replies", 150, "1/s", 160, at_least=True)]
    text = section_of("Under load", "python -m bench.server", "A pattern.", rows)
    assert "| median | 12.35 ms | ≤ 50 ms |\n" in text
    assert "| replies | 150 1/s | ≥ 160 1/s, missed |\n" in text


def test_both_ways_of_extraction_are_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = importlib.import_module("bench.server")
    monkeypatch.setattr(server, "DATA", tmp_path)
    monkeypatch.setattr(extraction, "SIDE", 64)
    found = extraction.measured(server.made, server.serving, tmp_path, (2e-4, 4e-4, 8e-4))
    assert len(found) == 4
    for timed in found.values():
        assert [round(one.volume, 2) for one in timed] == [0.2, 0.39, 0.8]
        assert all(len(one.runs) == extraction.RUNS and min(one.runs) > 0 for one in timed)
    assert list(tmp_path.glob("*.fits")) == []


def test_volumes_that_the_disk_cannot_hold_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = type("usage", (), {"free": 6_000_000_000 + extraction.SPARE})
    monkeypatch.setattr(extraction.shutil, "disk_usage", lambda _: usage)
    assert extraction.fitting_volumes(tmp_path) == [0.5, 1.0, 2.0, 4.0]
    assert "6 GB to spare" in capsys.readouterr().out
