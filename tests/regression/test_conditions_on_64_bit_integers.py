"""Comparisons of 64-bit integers with numbers are exact: float64 holds only some of them."""

from __future__ import annotations

import io
import operator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given, settings
from hypothesis import strategies as st

import tachyfits as tf
from tachyfits.cli import run

OPERATORS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip

SIGNED = np.array([2**53, 2**53 + 1, -1, -(2**53) - 1, 2**63 - 1, -(2**63), 0], "i8")
UNSIGNED = np.array([2**53, 2**53 + 1, 1, 2**63, 2**64 - 1, 2**63 + 1, 0], "u8")
FLOATS = np.array([2.0**53, 2.0**53, np.nan, -(2.0**53), 2.0**63, -(2.0**63), -0.0])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Integers and floats of 64 bits; the numbers as text; nulls where N is 0."""
    path = tmp_path_factory.mktemp("long") / "long.fits"
    nulls = np.ma.masked_equal(SIGNED, 0)
    columns = {"A": SIGNED, "U": UNSIGNED, "X": FLOATS, "N": nulls, "G": FLOATS.astype("f4")}
    tf.write(path, columns)
    with tf.open(path) as file:
        yield file[1]


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("A > 9007199254740992.5", [1, 4]),
        ("A == 9007199254740993.0", [1]),
        ("9007199254740993.0 == A", [1]),
        ("A == 9007199254740992.0", [0]),
        ("A <= 9007199254740992.5", [0, 2, 3, 5, 6]),
        ("A != 9007199254740992.5", [0, 1, 2, 3, 4, 5, 6]),
        ("A == 9007199254740992.5", []),
        ("A < -9007199254740992.25", [3, 5]),
        ("-9007199254740992.25 > A", [3, 5]),
        ("A < 9223372036854775807.0", [0, 1, 2, 3, 5, 6]),
        ("A < 9.3e18", [0, 1, 2, 3, 4, 5, 6]),
        ("A >= 9223372036854775807.5", []),
        ("A < 1e300", [0, 1, 2, 3, 4, 5, 6]),
        ("A > -1e300", [0, 1, 2, 3, 4, 5, 6]),
        ("A == -0.0", [6]),
        ("A > nan", []),
        ("A != nan", []),
        ("A < inf", [0, 1, 2, 3, 4, 5, 6]),
        ("U == 18446744073709551615.0", [4]),
        ("U > 9223372036854775808.5", [4, 5]),
        ("U < 18446744073709551614.5", [0, 1, 2, 3, 5, 6]),
        ("U > -0.5", [0, 1, 2, 3, 4, 5, 6]),
        ("A == X", [0, 5, 6]),
        ("A > X", [1]),
        ("X < A", [1]),
        ("A != X", [1, 3, 4]),
        ("A < X", [3, 4]),
        ("A > X + 0", [1]),
        ("A == G", [0, 5, 6]),
        ("U > X", [1, 3, 4, 5]),
        ("!(A == X)", [1, 2, 3, 4]),
        ("N != X", [1, 3, 4]),
        ("N >= -0.5", [0, 1, 4]),
        ("N != 0.5", [0, 1, 2, 3, 4, 5]),
        ("A == 2**53", [0]),
    ],
)
def test_decimal_numbers_columns_and_expressions(
    table: tf.Table, condition: str, rows: list[int]
) -> None:
    assert table.where(condition).tolist() == rows
    assert table.read("A", where=condition)["A"].tolist() == SIGNED[rows].tolist()


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-2e19, max_value=2e19),
    st.sampled_from(sorted(OPERATORS)),
    st.integers(0, 3),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_any_decimal_is_compared_exactly(
    integers: list[int], decimal: Any, comparison: str, near: int
) -> None:
    values = [*integers, int(decimal), int(decimal) + near, int(decimal) - near]
    values = [min(max(value, -(2**63)), 2**63 - 1) for value in values]
    column = fits.Column("A", "K", array=np.array(values, "i8"))
    stream = fits.HDUList([fits.PrimaryHDU(), fits.BinTableHDU.from_columns([column])])
    content = io.BytesIO()
    stream.writeto(content)
    with tf.open(content.getvalue()) as file:
        found = file[1].where(f"A {comparison} {decimal:f}").tolist()
    holds = OPERATORS[comparison]
    expected = [n for n, value in enumerate(values) if holds(Fraction(value), Fraction(decimal))]
    assert found == expected


def test_integers_of_text_tables(tmp_path: Path) -> None:
    path = tmp_path / "text.fits"
    tf.write(path, {"A": SIGNED, "X": FLOATS}, kind="ascii")
    with tf.open(path) as file:
        assert file[1].where("A > 9007199254740992.5").tolist() == [1, 4]
        assert file[1].where("A > X").tolist() == [1]


def test_edits_and_the_command_choose_the_same_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "edit.fits"
    tf.write(path, {"A": SIGNED})
    assert run(["table", str(path), "--where", "A == 9007199254740993.0"]) == 0
    assert "9007199254740993" in capsys.readouterr().out
    with tf.edit(path) as editor:
        editor[1].delete(where="A > 9007199254740992.5")
    with tf.open(path) as file:
        assert file[1]["A"].tolist() == [2**53, -1, -(2**53) - 1, -(2**63), 0]
