"""Columns in astropy, Arrow and lists: displays and dimensions that do not fit them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

CELLS = [np.arange(4.0), np.arange(12.0), np.arange(2.0), np.zeros(0)]


def _ragged(path: Path, dimensions: str, cells: list[Any] = CELLS) -> tf.Table:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    column = fits.Column("A", "PD(12)", array=array)
    hdu = fits.BinTableHDU.from_columns([column])
    hdu.header["TDIM1"] = dimensions
    hdu.writeto(path, overwrite=True)
    return tf.open(path)[1]


@pytest.mark.parametrize("dimensions", ["(2,1)", "(2,2)", "(3,4)", "(2,6)", "(5,5)"])
def test_every_view_has_all_elements_where_dimensions_do_not_fit(
    tmp_path: Path, dimensions: str
) -> None:
    pytest.importorskip("pyarrow", reason="LEFT OUT: pyarrow is not installed")
    wanted = [cell.tolist() for cell in CELLS]
    table = _ragged(tmp_path / "a.fits", dimensions)
    with pytest.warns(tf.TachyfitsWarning, match="TDIM1 is for arrays of"):
        ragged = table["A"]
    assert ragged.to_list() == wanted
    assert [cell.tolist() for cell in ragged] == wanted
    assert [ragged[n].tolist() for n in range(4)] == wanted
    assert [cell.tolist() for cell in ragged[1:]] == wanted[1:]
    assert [cell.tolist() for cell in ragged.to_object_array()] == wanted
    assert table.to_arrow()["A"].to_pylist() == wanted
    assert [cell.tolist() for cell in table.to_astropy()["A"]] == wanted
    assert [cell.tolist() for cell in table.read("A", raw=True)["A"]] == wanted
    batches = table.batches(rows=2)
    assert [cell.ravel().tolist() for batch in batches for cell in batch["A"]] == wanted
    tf.write(tmp_path / "b.fits", table.read())
    assert tf.open(tmp_path / "b.fits")[1]["A"].to_list() == wanted
    table.write(tmp_path / "c.fits")
    assert tf.open(tmp_path / "c.fits")[1]["A"].to_list() == wanted


def test_dimensions_that_fit_shape_the_cells(tmp_path: Path) -> None:
    ragged = _ragged(tmp_path / "a.fits", "(2,2)", [np.arange(4.0), np.zeros(0)])["A"]
    assert [cell.tolist() for cell in ragged] == [[[0.0, 1.0], [2.0, 3.0]], []]
    assert ragged.to_list() == [[0.0, 1.0, 2.0, 3.0], []]


def test_cells_of_a_ragged_that_have_another_length_keep_all_elements() -> None:
    ragged = tf.Ragged([0, 4, 10], np.arange(10), cell_shape=(2, 2))
    assert ragged[0].shape == (2, 2)
    assert ragged[1].tolist() == [4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("form", "display", "values", "fits_it"),
    [
        ("D", "I12", [87312277.31, 2.5], False),
        ("E", "Z8", [0.5, 1.5], False),
        ("D", "A10", [0.5, 1.5], False),
        ("J", "A5", [1, 2], False),
        ("5A", "F5.1", ["a", "b"], False),
        ("L", "I5", [True, False], False),
        ("D", "F8.3", [0.5, 1.5], True),
        ("J", "I5", [1, 2], True),
        ("J", "F8.1", [1, 2], True),
        ("5A", "A5", ["a", "b"], True),
        ("L", "L1", [True, False], True),
    ],
)
def test_displays_that_do_not_fit_are_warned_of(
    tmp_path: Path, form: str, display: str, values: list[Any], fits_it: bool
) -> None:
    column = fits.Column("X", form, array=np.array(values))
    fits.BinTableHDU.from_columns([column]).writeto(tmp_path / "a.fits")
    fits.setval(tmp_path / "a.fits", "TDISP1", value=display, ext=1)
    table = tf.open(tmp_path / "a.fits")[1]
    if fits_it:
        with warnings.catch_warnings():
            warnings.simplefilter("error", tf.TachyfitsWarning)
            made = table.to_astropy()
    else:
        with pytest.warns(tf.TachyfitsWarning, match=f"TDISP does not fit.*\n.*X .*'{display}'"):
            made = table.to_astropy()
        assert made["X"].format is None
    assert made["X"].tolist() == values
    assert len(made.pformat()) > 2
    assert table.to_astropy(rows=slice(0, 0))["X"].format == made["X"].format
