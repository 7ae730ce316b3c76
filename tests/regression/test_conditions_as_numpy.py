"""Conditions mean what NumPy and regular expressions mean: decimals, lists of values, patterns."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given, settings
from hypothesis import strategies as st

import tachyfits as tf

MAG = np.array([0.05, 0.1, 0.2, 0.3, -0.1, np.nan, np.inf, 16777216.0, 0.30000001], "f4")


@pytest.fixture
def table(tmp_path: Path) -> Any:
    path = tmp_path / "t.fits"
    columns = {
        "MAG": MAG, "WIDE": MAG.astype("f8"), "PAIR": np.stack([MAG, -MAG], axis=1),
        "N": np.ma.array(np.arange(9, dtype="i2"), mask=[0, 0, 0, 0, 1, 0, 0, 0, 0]),
        "ID": np.array([2**60 + n for n in range(9)]),
        "CLASS": np.array(["STAR", "QSO", "GALAXY", "STAR", "", "x", "y", "it's", "QSO"]),
    }  # fmt: skip
    tf.write(path, columns)
    return tf.open(path)[1]


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize(
    "number",
    ["0.1", "0.3", "-0.1", "1e-1", "3 * 0.1", "0.1 + 0.2", "10 ** -1", "16777217", "1e300", "inf"],
)
def test_a_number_beside_float32_is_rounded_to_it(table: Any, operator: str, number: str) -> None:
    value = eval(number, {"inf": np.inf})
    functions = {
        "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
        "==": np.equal, "!=": np.not_equal,
    }  # fmt: skip
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    # NumPy takes a number beyond float32 for an infinity.
    rounded = np.float64(value) if np.isinf(rounded) else rounded
    for name, values, other in (("MAG", MAG, rounded), ("WIDE", MAG.astype("f8"), value)):
        truth = functions[operator](values, other) & ~np.isnan(values)
        right = np.flatnonzero(truth).tolist()
        assert table.where(f"{name} {operator} {number}").tolist() == right, name
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
        assert table.where(f"({number}) {turned} {name}").tolist() == right, name
        assert table.where(f"-{name} {turned} -({number})").tolist() == right, name
    truth = functions[operator](MAG, rounded) & ~np.isnan(MAG)
    assert table.where(f"PAIR[1] {operator} {number}").tolist() == np.flatnonzero(truth).tolist()
    found = table.read("MAG", where=f"MAG {operator} {number}")["MAG"]
    assert np.array_equal(found, MAG[truth], equal_nan=True)


def test_arithmetic_and_scaled_columns_are_float64(tmp_path: Path, table: Any) -> None:
    assert table.where("MAG + 0 <= 0.1").tolist() == [0, 4]
    path = tmp_path / "scaled.fits"
    tf.write(path, {"S": np.array([1, 2], "f4")})
    with tf.edit(path) as editor:
        editor[1].header["TSCAL1"] = 0.1
    assert tf.open(path)[1].where("S == 0.1").tolist() == [0]


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("N IN (1, 3)", [1, 3]),
        ("N in (1,3,99)", [1, 3]),
        ("N In (0)", [0]),
        ("N not in (1, 3)", [0, 2, 5, 6, 7, 8]),
        ("N NOT IN (1, 3)", [0, 2, 5, 6, 7, 8]),
        ("!(N in (1, 3))", [0, 2, 4, 5, 6, 7, 8]),
        ("CLASS IN ('STAR', 'QSO')", [0, 1, 3, 8]),
        ("CLASS in ('it''s', \"x\")", [5, 7]),
        ("CLASS NOT IN ('STAR', 'QSO')", [2, 4, 5, 6, 7]),
        ("MAG in (0.1, 0.3)", [1, 3, 8]),
        ("ID in (1152921504606846977, 1152921504606846980)", [1, 4]),
        ("N + 1 in (1, 2) and CLASS in ('STAR')", [0]),
        ("CLASS in ('x') or N in (2)", [2, 5]),
        ("ROW in (1, 9)", [0, 8]),
        ("N in (N, 5)", [0, 1, 2, 3, 5, 6, 7, 8]),
        ("(N & 1) in (1)", [1, 3, 5, 7]),
    ],
)
def test_values_in_a_list(table: Any, condition: str, rows: list[int]) -> None:
    assert table.where(condition).tolist() == rows


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("N in 1", 'expected "(" and the values'),
        ("N in ()", "expected a number"),
        ("N in (1", 'expected an operator, "," or ")"'),
        ("N in (1) in (2)", "expected one comparison"),
        ("N in ('a')", "strings on both sides"),
        ("CLASS in (1)", "strings on both sides"),
        ("N < 2 in (1)", "expected one comparison"),
        ("in (1)", "expected the name of a function"),
    ],
)
def test_a_bad_list_says_what_is_expected(table: Any, condition: str, expected: str) -> None:
    with pytest.raises(tf.UsageError) as error:
        table.where(condition)
    assert expected in str(error.value)


_PATTERN_PARTS = st.sampled_from(["a", "b", "A", ".", "é", "中", " ", "%", "_", "!%", "!_", "!!"])
_TEXTS = st.text("abA.é中 %_!", max_size=7)


def _regular_expression(parts: list[str]) -> str:
    """Return the regular expression of a pattern with the escape character ``!``."""
    while parts and parts[-1] == " ":
        parts = parts[:-1]
    words = {"%": ".*", "_": "."}
    return "".join(words.get(part) or re.escape(part[-1]) for part in parts)


@settings(max_examples=150, deadline=None)
@given(parts=st.lists(_PATTERN_PARTS, max_size=6), texts=st.lists(_TEXTS, min_size=1, max_size=40))
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_like_is_a_regular_expression(encoding: str, parts: list[str], texts: list[str]) -> None:
    # Text is UTF-8 where all of a column is, so one cell decides that this column is Latin-1.
    texts = texts if encoding == "utf-8" else [text.replace("中", "é") for text in texts] + ["aé"]
    stored = np.array([text.encode(encoding) for text in texts], "S24")
    hdu = fits.BinTableHDU.from_columns([fits.Column("NAME", "24A", array=stored)])
    buffer = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(buffer)
    table = tf.open(buffer.getvalue())[1]
    expression = re.compile(_regular_expression(parts), re.DOTALL)
    matches = [bool(expression.fullmatch(text.rstrip(" "))) for text in texts]
    quoted = "'" + "".join(parts) + "' ESCAPE '!'"
    assert table.where(f"NAME LIKE {quoted}").tolist() == np.flatnonzero(matches).tolist()
    others = np.flatnonzero(np.logical_not(matches)).tolist()
    assert table.where(f"name not like {quoted}").tolist() == others


def test_like_reads_the_rows_of_a_catalogue(table: Any) -> None:
    numbers = table.read("N", where="CLASS LIKE '_T%' or CLASS LIKE 'Q%'")["N"]
    assert numbers.tolist() == [0, 1, 3, 8]
    assert table.where("CLASS LIKE '%''s'").tolist() == [7]
    with pytest.raises(tf.UsageError, match="a string before like"):
        table.where("N LIKE '1%'")


def test_a_column_may_be_called_in(tmp_path: Path) -> None:
    path = tmp_path / "t.fits"
    tf.write(path, {"IN": [1, 2], "NOT": [3, 4], "LIKE": ["ab", "b"]})
    table = tf.open(path)[1]
    assert table.where("IN == 2").tolist() == [1]
    assert table.where("`IN` in (1)").tolist() == [0]
    assert table.where("IN in (1, 2)").tolist() == [0, 1]
    assert table.where("LIKE like '_b'").tolist() == [0]


def test_expressions_of_images_have_no_lists() -> None:
    with pytest.raises(tf.UsageError):
        tf.evaluate("a in (1, 2)", a=np.zeros((2, 2)))
