"""`tachyfits math`: expressions on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import cube_cards, extension, primary
from tachyfits.cli import run

pytestmark = pytest.mark.once

CUBE = np.arange(24, dtype="f4").reshape(2, 3, 4)
PLANE = np.arange(12, dtype="i2").reshape(3, 4)


@pytest.fixture
def math(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    """Run the command among some files; returns stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    content = primary(CUBE, cube_cards("K")) + extension(PLANE, [("EXTNAME", "PLANE")])
    (tmp_path / "cube.fits").write_bytes(content)
    (tmp_path / "gain.fits").write_bytes(primary(np.array([1.0, 4.0])))

    def call(*words: str, status: int = 0) -> tuple[str, str]:
        found = run(["math", *words])
        out, err = capsys.readouterr()
        assert found == status, (words, out, err)
        return out, err

    return call


def pixels(path: str) -> np.ndarray:
    with tf.open(path, strict=True) as file:
        values: np.ndarray = file[0][...]
    return values


def test_inputs_are_files_their_hdus_spectra_and_numbers(math: Any) -> None:
    math("(a - p) / g + c", "a=cube.fits", "p=cube.fits[1]", "g=gain.fits@z", "c = 2.5",
         "-o", "out.fits")  # fmt: skip
    expected = (CUBE - PLANE) / np.array([1.0, 4.0]).reshape(2, 1, 1) + 2.5
    # The gain is float64.
    np.testing.assert_array_equal(pixels("out.fits"), expected)
    math("a - p", "a=cube.fits", "p=cube.fits[PLANE,1]", "-o", "out.fits", "--overwrite")
    np.testing.assert_array_equal(pixels("out.fits"), (CUBE - PLANE).astype("f4"))
    with tf.open("out.fits") as file:
        assert (file[0].dtype, file[0].header["OBJECT"]) == ("float32", "test")


def test_a_file_may_have_a_name_like_one_of_its_hdus(math: Any) -> None:
    Path("cube.fits[1]").write_bytes(primary(PLANE + 1))
    math("a", "a=cube.fits[1]", "-o", "out.fits")
    np.testing.assert_array_equal(pixels("out.fits"), PLANE + 1)


def test_types_of_the_output(math: Any) -> None:
    math("a / 3", "a=cube.fits", "-o", "d.fits", "--bitpix", "-64")
    np.testing.assert_array_equal(pixels("d.fits"), CUBE.astype("f8") / 3)
    math("where(a > 5, a / 3, nan)", "a=cube.fits", "-o", "i.fits", "--bitpix", "16",
         "--bscale", "0.001", "--blank", "-1", "--checksum")  # fmt: skip
    expected = np.where(CUBE > 5, CUBE / 3, np.nan)
    np.testing.assert_allclose(pixels("i.fits"), expected, atol=0.00051)


def test_statistics_and_json(math: Any) -> None:
    out, _ = math("a * 2", "a=cube.fits", "--json")
    answer = json.loads(out)
    assert answer["statistics"]["sum"] == 2 * CUBE.sum()
    assert (answer["expression"], answer["naxis"], answer["unit"]) == ("a * 2", [4, 3, 2], "K")
    out, err = math("a * 2", "a=cube.fits", "--report")
    assert dict(line.split() for line in out.splitlines()[1:])["max"] == "46.0"
    assert "GB/s" in err
    out, _ = math("a * 2", "a=cube.fits", "-o", "out.fits", "--json")
    answer = json.loads(out)
    assert (answer["output"], answer["expression"]) == ("out.fits", "a * 2")


def test_mistakes_are_wrong_use_and_leave_files_alone(math: Any) -> None:
    Path("out.fits").write_bytes(b"kept")
    for words, said in [
        (("a + ", "a=cube.fits"), "^"),
        (("a + b", "a=cube.fits"), "b"),
        (("a", "a=cube.fits", "b=1"), '"b"'),
        (("a", "cube.fits"), "NAME=INPUT"),
        (("a", "a=cube.fits", "a=1"), "a names two inputs"),
        (("a", "a=cube.fits[7]"), "no HDU 7"),
        (("a + b", "a=cube.fits", "b=gain.fits@x"), "NAXIS1 = 4"),
    ]:
        out, err = math(*words, "-o", "out.fits", "--overwrite", status=2)
        assert said in err, (words, err)
        assert not out
    _, err = math("a", "a=missing.fits", "-o", "out.fits", status=1)
    assert "missing.fits" in err
    math("a", "a=cube.fits", "-o", "out.fits", status=1)
    assert Path("out.fits").read_bytes() == b"kept"


def test_help_has_every_function(math: Any) -> None:
    out, _ = math("--help")
    for names, arguments, meaning in tf.info.functions():
        assert f"{names[0]}" in out
        assert f"({arguments})" in out
        assert meaning in out
