"""Differences between two files, from Python and from the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import cube_cards, primary
from tachyfits.cli import run

pytestmark = pytest.mark.once


def test_the_same_is_the_same() -> None:
    file = primary(np.array([[1.0, math.nan]], "f4"), cube_cards())
    found = tf.diff(file, file)
    assert found.same
    assert not found
    assert (found.compared, found.hdus, found.only) == (1, (), ((), ()))


def test_cards_and_pixels_that_differ() -> None:
    pixels = np.arange(24, dtype="f4").reshape(2, 3, 4)
    other = pixels.copy()
    other[1, 2, 3] += 0.5
    other[0, 1, 2] = math.nan
    a = primary(pixels, [("OBJECT", "M 31"), ("A", 1)])
    b = primary(other, [("OBJECT", "M 33"), ("B", 1)])
    found = tf.diff(a, b)
    assert [card.change for card in found.hdus[0].cards] == ["value", "removed", "added"]
    assert found.hdus[0].cards[0][2:] == ("'M 31'", "'M 33'")
    values = found.hdus[0].data[0]
    assert (values.what, values.compared, values.different, values.undefined) == (
        "values", 24, 2, 1)  # fmt: skip
    assert (values.largest, values.largest_at) == (0.5, (1, 2, 3))
    assert values.places[0] == ((0, 1, 2), "6.0", "nan") or values.places[0].at == (0, 1, 2)
    close = tf.diff(a, b, absolute=0.5, ignore=["OBJECT", "A", "B"])
    assert close.hdus[0].data[0].different == 1


def test_shapes_are_in_numpy_order() -> None:
    found = tf.diff(primary(np.zeros((2, 3), "u1")), primary(np.zeros((3, 2), "u1")))
    assert found.hdus[0].data[0].found == ((2, 3), (3, 2))


def test_differences_of_tables_agree_with_astropy(tmp_path: Path) -> None:
    from astropy.io import fits

    rng = np.random.default_rng(5)
    a = {"X": rng.normal(size=500), "N": rng.integers(0, 9, 500), "S": rng.choice(["a", "b"], 500)}
    b = {name: values.copy() for name, values in a.items()}
    b["X"][[3, 77]] += 1.0
    b["N"][10] += 1
    for name, data in (("a", a), ("b", b)):
        forms = {"X": "D", "N": "J", "S": "1A"}
        columns = [fits.Column(key, forms[key], array=data[key]) for key in data]
        fits.BinTableHDU.from_columns(columns).writeto(tmp_path / f"{name}.fits")
    found = tf.diff(tmp_path / "a.fits", tmp_path / "b.fits")
    theirs = fits.FITSDiff(tmp_path / "a.fits", tmp_path / "b.fits")
    assert theirs.identical == found.same
    said = {data.column: [place.at[0] for place in data.places] for data in found.hdus[0].data}
    assert said == {"X": [3, 77], "N": [10]}


def columns_file(path: Path, order: str, **changes: dict[str, object]) -> str:
    """A table of the columns that the letters name: fixed, strings and arrays, with cards each."""
    from astropy.io import fits

    cells = {
        "A": {"format": "J", "array": [1, 2, 3], "unit": "s", "null": -1},
        "B": {"format": "2A", "array": ["x", "y", "z"], "disp": "A2"},
        "C": {"format": "E", "array": [1.0, math.nan, 3.0], "unit": "Jy"},
        "V": {"format": "PI()", "array": np.array([[1], [2, 3], []], dtype=object)},
    }
    columns = [fits.Column(name, **(cells[name] | changes.get(name, {}))) for name in order]
    fits.BinTableHDU.from_columns(columns).writeto(path)
    return str(path)


def test_columns_and_their_cards_are_paired_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = columns_file(tmp_path / "a.fits", "ABCV")
    second = columns_file(tmp_path / "b.fits", "VCAB")
    found = tf.diff(first, second)
    (order,) = found.hdus[0].data
    assert (order.what, found.hdus[0].cards) == ("order", ())
    assert order.found == (["A", "B", "C", "V"], ["V", "C", "A", "B"])
    assert run(["diff", first, second]) == 1
    assert capsys.readouterr().out == "HDU 1:\n  columns in another order\n"
    run(["diff", first, second, "--json"])
    data = json.loads(capsys.readouterr().out)["hdus"][0]["data"]
    assert data == [{"what": "order", "found": [["A", "B", "C", "V"], ["V", "C", "A", "B"]]}]

    other = columns_file(tmp_path / "c.fits", "CBA", A={"unit": "min"}, C={"disp": "F8.3"})
    found = tf.diff(first, other, ignore=["TFIELDS", "NAXIS1", "PCOUNT"])
    assert [tuple(card) for card in found.hdus[0].cards] == [
        ("TUNIT1", "value", "'s'", "'min'"),
        ("TDISP3", "added", None, "'F8.3'"),
    ]
    assert [data.what for data in found.hdus[0].data] == ["columns", "order"]
    assert run(["diff", first, other]) == 1
    assert "\n  < columns: 'V'\n  columns in another order\n" in capsys.readouterr().out


def test_rows_that_both_tables_have_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = columns_file(tmp_path / "a.fits", "AC")
    short = {"A": {"array": [1, 5]}, "C": {"array": [1.5, math.nan]}}
    second = columns_file(tmp_path / "b.fits", "AC", **short)
    run(["diff", first, second])
    assert capsys.readouterr().out == (
        "HDU 1:\n  < NAXIS2   3\n  > NAXIS2   2\n  < rows: 3\n  > rows: 2\n"
        "  column 'A': 1 of 2 differ, the most by 3.0 at (2,1)\n    (2,1): 2 and 5\n"
        "  column 'C': 1 of 2 differ, the most by 0.5 at (1,1)\n    (1,1): 1.0 and 1.5\n"
    )
    found = tf.diff(first, second, relative=0.5)
    assert [data.column for data in found.hdus[0].data] == [None, "A"]
    assert (found.hdus[0].data[0].what, found.hdus[0].data[0].found) == ("rows", (3, 2))


@pytest.mark.parametrize(
    "ignore", ["HIERARCH ESO DET DIT", "eso det dit", "HIERARCH ESO*", "HIERARCH ESO DET*", "ESO*"]
)
def test_long_keywords_are_ignored_as_they_are_written(tmp_path: Path, ignore: str) -> None:
    paths = [str(tmp_path / name) for name in ("a.fits", "b.fits")]
    for number, path in enumerate(paths):
        tf.write(path, np.zeros(2), {"HIERARCH ESO DET DIT": number})
    assert not tf.diff(*paths).same
    assert tf.diff(*paths, ignore=[ignore]).same


def test_wrong_use_is_named() -> None:
    file = primary(np.zeros(2, "u1"))
    for options in ({"absolute": -1.0}, {"relative": math.nan}, {"places": -1}):
        with pytest.raises(tf.UsageError):
            tf.diff(file, file, **options)


def test_the_diff_command_says_warnings_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "twice.fits"
    tf.write(path, np.zeros(2), {"AAA": 1, "BBB": 2})
    path.write_bytes(path.read_bytes().replace(b"BBB ", b"AAA "))
    assert run(["diff", str(path), str(path)]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said
    assert all(line.startswith(("warning: ", "  - HDU 0", "hint: ")) for line in said)


def test_the_diff_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = str(tmp_path / "a.fits"), str(tmp_path / "b.fits")
    Path(first).write_bytes(primary(np.array([[1, 2], [3, 4]], "i2"), [("A", 1)]))
    Path(second).write_bytes(primary(np.array([[1, 2], [3, 9]], "i2"), [("A", 2)]))
    assert run(["diff", first, first]) == 0
    assert capsys.readouterr().out == "1 HDU is the same\n"
    assert run(["diff", first, second]) == 1
    said = capsys.readouterr().out
    assert "  < A        1\n  > A        2\n" in said
    assert "pixels: 1 of 4 differ, the most by 5.0 at (2,2)\n    (2,2): 4 and 9" in said
    assert run(["diff", first, second, "--tolerance", "5", "--ignore", "A"]) == 0
    assert run(["diff", first, second, "--quiet"]) == 1
    capsys.readouterr()
    assert run(["diff", first, second, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["hdus"][0]["data"][0]["largest_at"] == [2, 2]
    assert answer["hdus"][0]["cards"][0]["keyword"] == "A"
    assert run(["diff", first, str(tmp_path / "none.fits")]) == 2
    assert run(["diff", first]) == 2
