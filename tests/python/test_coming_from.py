"""The rows of the page for users of CASA run, and both interfaces give the same numbers."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import cube_cards, primary
from tachyfits.cli import run

pytestmark = pytest.mark.once

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from.md"
PART = PAGE.read_text("utf-8").partition("## From CASA")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| `(.+?)` \| `(tachyfits .+?)` \| `(.+?)`", PART, re.M)


@pytest.mark.parametrize(("casa", "command", "python"), ROWS, ids=lambda text: text[:24])
def test_rows_give_the_same_numbers_in_both_interfaces(
    casa: str,
    command: str,
    python: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    stored = np.random.default_rng(1).normal(20, 5, (50, 20, 30)).astype("f4")
    beam = [("BMAJ", 0.02), ("BMIN", 0.02), ("BPA", 0.0)]
    Path("cube.fits").write_bytes(primary(stored, [*cube_cards(), *beam]))
    words = shlex.split(command)[1:]
    assert run(words) == 0, casa
    printed = capsys.readouterr().out
    value = eval(python, {"tf": tf, "cube": tf.open("cube.fits")[0]})
    if isinstance(value, tf.Header):
        assert f"{value['CTYPE3']}" in printed
        return
    if words[0] == "stats":
        assert f"{value.count}" in printed.replace(",", "").replace(" ", "")
        return
    result, expected = tf.open(words[-1])[0].read(), np.asarray(value)
    np.testing.assert_allclose(result.reshape(expected.shape), expected, rtol=1e-6)


def test_every_row_of_the_table_is_tested() -> None:
    assert len(ROWS) == PART.count("\n| `") == 8
