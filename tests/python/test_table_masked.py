"""Undefined values of astropy's Masked are undefined in the file, in every form of input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.table import QTable, Table
from astropy.utils.masked import Masked

import tachyfits as tf

pytestmark = pytest.mark.once

NUMBERS = Masked(np.array([1, 2]), mask=[True, False])
LENGTHS = Masked([1.0, 2.0] * u.m, mask=[True, False])


@pytest.mark.parametrize(
    "data",
    [
        {"X": NUMBERS},
        Table({"X": NUMBERS}),
        QTable({"X": NUMBERS}),
        {"X": list(NUMBERS)},
        {"X": np.array([*NUMBERS, None], object)[:2]},
    ],
)
def test_masked_numbers_are_undefined(tmp_path: Path, data: Any) -> None:
    path = tmp_path / "masked.fits"
    tf.write(path, data)
    assert tf.open(path)[1]["X"].tolist() == [None, 2]


def test_masked_cells_of_arrays_are_undefined(tmp_path: Path) -> None:
    path = tmp_path / "masked.fits"
    arrays = {"A": [NUMBERS, NUMBERS], "Q": [LENGTHS, LENGTHS], "R": tf.Ragged([0, 1, 2], NUMBERS)}
    tf.write(path, arrays)
    table = tf.open(path)[1]
    assert table["A"].tolist() == [[None, 2]] * 2
    np.testing.assert_array_equal(table["Q"], [[np.nan, 2.0]] * 2)
    assert table["R"].to_list() == [[None], [2]]


def test_masked_quantities_in_a_list_are_undefined(tmp_path: Path) -> None:
    path = tmp_path / "masked.fits"
    tf.write(path, {"X": [*LENGTHS, 3 * u.km]})
    column = tf.open(path)[1].column("X")
    assert column.unit == "m"
    np.testing.assert_array_equal(tf.open(path)[1]["X"], [np.nan, 2.0, 3000.0])


def test_masked_cells_are_undefined_after_an_edit(tmp_path: Path) -> None:
    path = tmp_path / "masked.fits"
    old = {"X": [5.0, 6.0], "N": np.ma.MaskedArray([1, 2], mask=[0, 1])}
    tf.write(path, old, units={"X": "m"})
    with tf.edit(path) as editor:
        editor[1].update("X", list(LENGTHS))
        editor[1].update("N", NUMBERS)
        editor[1].add_column("ADDED", NUMBERS)
        editor[1].append({"X": LENGTHS, "N": NUMBERS, "ADDED": list(NUMBERS)})
        editor[1].update("N", NUMBERS[0], rows=[3])
    table = tf.open(path)[1]
    np.testing.assert_array_equal(table["X"], [np.nan, 2.0] * 2)
    assert table["N"].tolist() == [None, 2, None, None]
    assert table["ADDED"].tolist() == [None, 2] * 2


def test_masked_text_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "masked.fits"
    tf.write(path, {"S": Masked(np.array(["a", "b"]), mask=[False, True])})
    assert tf.open(path)[1]["S"].tolist() == ["a", ""]


def test_masked_items_of_a_record_are_refused(tmp_path: Path) -> None:
    with pytest.raises(tf.UsageError, match="masked elements"):
        tf.fortran.write(tmp_path / "a.dat", NUMBERS)
    tf.fortran.write(tmp_path / "a.dat", Masked(np.array([1, 2])))
    assert tf.fortran.open(tmp_path / "a.dat").read("i8").tolist() == [1, 2]
