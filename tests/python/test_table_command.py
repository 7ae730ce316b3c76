"""The command `table`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from tachyfits.cli import run

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def _stars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stars = {
        "NAME": [f"star {n}" for n in range(1, 31)],
        "RA": np.arange(30.0),
        "N": np.ma.MaskedArray(np.arange(30), mask=np.arange(30) == 1),
        "X": np.full(30, 0.1, "f4"),
        "HITS": [[1] * (n % 3) for n in range(30)],
    }
    table = (stars, tf.Header([("EXTNAME", "STARS", "")]))
    tf.write("stars.fits", [(np.zeros((2, 2)), None), table, {"A": [1]}])


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    status = run(["table", "stars.fits", *words])
    out, err = capsys.readouterr()
    assert status == 0, err
    return out, err


def test_the_first_rows_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capsys)
    lines = out.splitlines()
    assert len(lines) == 21
    assert lines[0].split() == ["NAME", "RA", "N", "X", "HITS"]
    assert lines[1].split() == ["star", "1", "0.0", "0", "0.1", "[]"]
    assert "--" in lines[2]
    assert "20 of 30 rows" in err


def test_numbers_of_4_bytes_have_their_own_digits(capsys: pytest.CaptureFixture[str]) -> None:
    complexes = np.array([0.1 + 0.2j, 1e20 - 0.3j], "c8")
    tf.write("few.fits", {
        "X": np.ma.array([0.1, 0.2], "f4", mask=[False, True]),
        "R": [np.array([0.1, 0.2], "f4"), np.array([], "f4")],
        "C": complexes,
        "RC": [complexes, complexes[:1]],
    })  # fmt: skip
    assert run(["table", "few.fits", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"] == {
        "X": [0.1, None],
        "R": [[0.1, 0.2], []],
        "C": [[0.1, 0.2], [1e20, -0.3]],
        "RC": [[[0.1, 0.2], [1e20, -0.3]], [[0.1, 0.2]]],
    }
    assert run(["table", "few.fits"]) == 0
    first = " ".join(capsys.readouterr().out.splitlines()[1].split())
    assert first == "0.1 [0.1, 0.2] 0.1+0.2j [0.1+0.2j, 1e+20-0.3j]"
    assert run(["table", "few.fits", "-o", "-"]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[1:] == [
        "0.1,0.1 0.2,(0.1+0.2j),(0.1+0.2j) (1e+20-0.3j)",
        ",,(1e+20-0.3j),(0.1+0.2j)",
    ]


def test_a_closed_output_is_not_an_error() -> None:
    command = f"{sys.executable} -m tachyfits table stars.fits --columns RA -o - >&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_rows_and_columns_are_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(capsys, "--columns", "n,2", "--rows", "29:30")
    assert [line.split() for line in out.splitlines()] == [
        ["N", "RA"],
        ["28", "28.0"],
        ["29", "29.0"],
    ]
    out, err = printed(capsys, "--where", "RA >= 10 && RA < 15", "--columns", "RA", "--head", "2")
    assert out.split() == ["RA", "10.0", "11.0"]
    assert "2 of 5" in err
    out, _ = printed(capsys, "--columns", "RA", "--rows", "3")
    assert out.split() == ["RA", "2.0"]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(capsys, "--json", "--rows", "2:3")
    answer = json.loads(out)
    assert answer["rows"] == 30
    assert answer["hdu"] == 1
    assert answer["data"]["N"] == [None, 2]
    assert answer["data"]["X"] == [0.1, 0.1]
    assert answer["data"]["HITS"] == [[1], [1, 1]]
    out, _ = printed(capsys, "--json", "--list", "--columns", "HITS")
    assert json.loads(out)["columns"][0]["variable"] is True
    tf.write("strings.fits", {"S": [["a"], ["b", "long"]]})
    assert run(["table", "strings.fits", "--list", "--json"]) == 0
    column = json.loads(capsys.readouterr().out)["columns"][0]
    assert (column["delimiter"], column["position"]) == ("|", None)


def test_the_columns_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(capsys, "--list")
    assert "30 rows" in out.splitlines()[0]
    assert out.splitlines()[2].split()[:3] == ["1", "NAME", "7A"]


@pytest.mark.parametrize("name", ["out.fits", "out.csv"])
def test_files_are_written(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capsys, "--where", "RA > 26", "--columns", "RA,NAME", "-o", name)
    assert out == ""
    assert f"{name}: 3 rows, 2 columns" in err
    if name == "out.fits":
        table = tf.open(name)[1]
        assert table.name == "STARS"
        assert table["RA"].tolist() == [27.0, 28.0, 29.0]
    else:
        assert Path(name).read_text().splitlines()[1] == "27.0,star 28"
    assert run(["table", "stars.fits", "-o", name]) == 1
    assert run(["table", "stars.fits", "-o", name, "--overwrite"]) == 0


def test_csv_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capsys, "--where", "RA > 26", "--columns", "RA,NAME", "-o", "-")
    assert out.splitlines() == ["RA,NAME", "27.0,star 28", "28.0,star 29", "29.0,star 30"]
    assert err == ""
    out, _ = printed(capsys, "--columns", "N", "-o", "-")
    assert out.splitlines()[:4] == ["N", "0", '""', "2"]
    assert len(out.splitlines()) == 31
    out, _ = printed(capsys, "--columns", "N", "--rows", "5:9", "--head", "2", "-o", "-")
    assert out.split() == ["N", "4", "5"]
    assert not Path("-").exists()
    assert run(["table", "stars.fits", "-o", "-", "--json"]) == 2


def test_undefined_numbers_are_empty_in_csv_and_seen_within_arrays(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nan = float("nan")
    columns = {
        "X": [1.5, nan],
        "Y": np.array([0.1, nan], "f4"),
        "N": np.ma.MaskedArray([[1, 2, 3], [4, 5, 6]], mask=[[0, 1, 0], [0, 0, 0]]),
        "P": np.array([[0.1, nan], [1, 2]], "f4"),
        "R": tf.Ragged([0, 2, 2], np.ma.MaskedArray([1, 2], mask=[0, 1])),
    }
    tf.write("nulls.fits", columns)
    assert run(["table", "nulls.fits", "-o", "-"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "X,Y,N,P,R",
        "1.5,0.1,1 nan 3,0.1 nan,1 nan",
        ",,4 5 6,1.0 2.0,",
    ]


def test_another_table_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(capsys, "--hdu", "2")
    assert out.split() == ["A", "1"]
    out, _ = printed(capsys, "--hdu", "STARS", "--head", "0")
    assert out.split()[0] == "NAME"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--hdu", "0"], "is not a table"),
        (["--columns", "DEC"], "DEC"),
        (["--rows", "31"], "1 to 30"),
        (["--rows", "x"], "Invalid value for '--rows': invalid range 'x'"),
        (["--rows", "3:2"], "ascending"),
        (["--rows", "1:9:2"], "every row"),
        (["--rows", "0:3"], "1 to 30"),
        (["--where", "DEC > 3"], "DEC"),
        (["--where", "RA >"], "RA >"),
        (["-o", "out.doc"], "format"),
        (["--list", "--where", "RA > 1"], "--list"),
    ],
)
def test_wrong_use_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["table", "stars.fits", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_file_without_a_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    tf.write("image.fits", np.zeros(3))
    assert run(["table", "image.fits"]) == 2
    assert "no HDU is a table" in capsys.readouterr().err
