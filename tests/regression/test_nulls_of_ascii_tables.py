"""TNULLn of an ASCII table: blanks on either side do not count, in text columns either."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import empty_primary, header, pad


def ascii_table(path: Path, columns: list[tuple[str, str, str | None, list[str]]]) -> Any:
    """A table of (name, form, TNULL, fields of equal widths)."""
    cards: list[tuple[str, Any]] = []
    at = 1
    for number, (name, form, null, fields) in enumerate(columns, 1):
        cards += [(f"TTYPE{number}", name), (f"TBCOL{number}", at), (f"TFORM{number}", form)]
        cards += [] if null is None else [(f"TNULL{number}", null)]
        at += len(fields[0])
    rows = ["".join(fields) for fields in zip(*(each[3] for each in columns), strict=True)]
    first = [("XTENSION", "TABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", at - 1)]
    first += [("NAXIS2", len(rows)), ("PCOUNT", 0), ("GCOUNT", 1), ("TFIELDS", len(columns))]
    path.write_bytes(empty_primary() + header([*first, *cards]) + pad("".join(rows).encode(), b" "))
    return tf.open(path)[1]


@pytest.mark.parametrize("null", ["-99", "x", "***", "  -99", "N/A"])
@pytest.mark.parametrize("form", ["I6", "F6.2", "E6.0", "D6.1"])
def test_null_numbers_may_stand_anywhere(tmp_path: Path, form: str, null: str) -> None:
    text = null.strip()
    fields = [
        f"{text:>6}",
        f"{text:<6}",
        f"{text:^6}",
        "    5."[:6] if form[0] != "I" else "     5",
    ]
    table = ascii_table(tmp_path / "t.fits", [("A", form, null, fields)])
    values = table["A"]
    got = np.ma.getmaskarray(values) | np.isnan(np.ma.filled(values.astype("f8"), np.nan))
    assert got.tolist() == [True, True, True, False]
    assert table.where("isnull(A)").tolist() == [0, 1, 2]
    assert table.where("A < 10").tolist() == [3]
    assert (
        table.to_arrow()["A"].null_count + np.isnan(table.to_pandas()["A"].astype(float)).sum() >= 3
    )


def test_null_text_is_undefined(tmp_path: Path) -> None:
    fields = ["   N/A", "N/A   ", "abc   ", " N/A x"]
    table = ascii_table(tmp_path / "t.fits", [("X", "A6", "N/A", fields)])
    assert np.ma.getmaskarray(table["X"]).tolist() == [True, True, False, False]
    assert table["X"].tolist()[2:] == ["abc", " N/A x"]
    assert table.where("isnull(X)").tolist() == [0, 1]
    # A comparison with a null is false, also by !=.
    assert table.where("X == 'N/A'").tolist() == []
    assert table.where("X != 'abc'").tolist() == [3]
    assert table.read("X", where="!isnull(X)")["X"].tolist() == ["abc", " N/A x"]
    assert table.to_arrow()["X"].to_pylist() == [None, None, "abc", " N/A x"]
    table.write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == 'X\n""\n""\nabc\n N/A x\n'
    # Stored text is not judged.
    assert table.read("X", raw=True)["X"][1] == b"N/A   "


def test_blank_null_makes_blank_fields_undefined(tmp_path: Path) -> None:
    table = ascii_table(tmp_path / "t.fits", [("A", "I3", " ", ["   ", "  7"])])
    assert table["A"].tolist() == [None, 7]
    table = ascii_table(tmp_path / "t.fits", [("A", "I3", None, ["   ", "  7"])])
    assert table["A"].tolist() == [0, 7]


def test_undefined_text_is_written_as_the_null(tmp_path: Path) -> None:
    path = tmp_path / "t.fits"
    ascii_table(path, [("X", "A6", "N/A", ["abc   "]), ("N", "I3", "-9", ["  1"])])
    with tf.edit(path) as editor:
        editor[1].append({"X": [None, "x"], "N": [None, 2]})
    table = tf.open(path)[1]
    assert table["X"].tolist() == ["abc", None, "x"]
    assert table["N"].tolist() == [1, None, 2]


def test_fields_without_characters_are_empty_text(tmp_path: Path) -> None:
    columns = [("S", "A0", None, ["", ""]), ("N", "I3", None, ["  1", "  2"])]
    table = ascii_table(tmp_path / "t.fits", columns)
    with pytest.warns(tf.TachyfitsWarning, match="TFORM1"):
        assert table["S"].tolist() == ["", ""]
    assert table["N"].tolist() == [1, 2]
    assert table.where("S == ''").tolist() == [0, 1]
    table.write(tmp_path / "copy.fits")
    with pytest.warns(tf.TachyfitsWarning, match="TFORM1"):
        assert tf.open(tmp_path / "copy.fits")[1]["N"].tolist() == [1, 2]
    with pytest.raises(tf.UsageError, match="invalid form 'A0'"):
        tf.write(tmp_path / "new.fits", {"S": ["a"]}, kind="ascii", forms={"S": "A0"})


@pytest.mark.parametrize(
    ("form", "values", "fields"),
    [
        ("F4.0", [1.0, 25.0, -3.0], "  1. 25. -3."),
        ("F3.0", [1.0, 125.0, -25.0], " 1.125-25"),
        ("E8.0", [1.0, -25.0, 0.0], "  1.E+00 -2.E+01  0.E+00"),
    ],
)
def test_real_numbers_are_written_with_a_point(
    tmp_path: Path, form: str, values: list[float], fields: str
) -> None:
    path = tmp_path / "t.fits"
    tf.write(path, {"X": values}, kind="ascii", forms={"X": form})
    assert path.read_bytes()[-2880:][: len(fields)] == fields.encode()
    read = tf.open(path)[1]["X"].tolist()
    assert read == values if form[0] == "F" else read[0] == values[0]
