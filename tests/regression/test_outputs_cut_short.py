"""An output that is cut short says so on stderr, JSON as well as text."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from tachyfits.cli import run


@pytest.fixture
def table(tmp_path: Path) -> str:
    tf.write(tmp_path / "t.fits", {"RA": np.arange(50.0)})
    return str(tmp_path / "t.fits")


@pytest.mark.parametrize(
    ("words", "rows", "said"),
    [
        ([], 20, "20 of 50 rows"),
        (["--where", "RA < 30"], 20, "20 of 30 rows that fit, of 50"),
        (["--head", "3"], 3, "3 of 50 rows"),
        (["--rows", "1:"], 50, ""),
        (["--where", "RA < 10"], 10, ""),
        (["--head", "99"], 50, ""),
    ],
)
def test_json_of_a_table_says_how_many_rows_it_lacks(
    table: str, capsys: pytest.CaptureFixture[str], words: list[str], rows: int, said: str
) -> None:
    assert run(["table", table, "--json", *words]) == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)["data"]["RA"]) == rows
    assert said in err
    assert bool(err) == bool(said)


def test_json_of_differences_says_how_many_places_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(tmp_path / name) for name in ("a.fits", "b.fits")]
    for path, value in zip(paths, (0.0, 1.0), strict=True):
        tf.write(path, np.full(500, value))
    assert run(["diff", *paths, "--json", "--places", "4"]) == 1
    assert "4 of 500 places" in capsys.readouterr().err
    assert run(["diff", *paths, "--json", "--places", "500"]) == 1
    assert not capsys.readouterr().err
