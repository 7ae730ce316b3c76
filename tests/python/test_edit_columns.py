"""Cells and columns that are edited: a single value for many, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

pytestmark = pytest.mark.once

ARRAYS = {
    "A": [[1, 2], [3, 4]],
    "V": tf.Ragged.from_cells([[1, 2], [3]], "i4"),
    "N": [1, 2],
    "S": [["a", "b"], ["c", "d"]],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tf.write(tmp_path / "arrays.fits", ARRAYS)
    return tmp_path / "arrays.fits"


@pytest.mark.parametrize(
    ("column", "value", "rows", "expected"),
    [
        ("A", 7, [1], [[1, 2], [7, 7]]),
        ("A", 7, None, [[7, 7], [7, 7]]),
        ("A", [7, 8], None, [[7, 8], [7, 8]]),
        ("S", "z", [0], [["z", "z"], ["c", "d"]]),
        ("N", 7, None, [7, 7]),
        ("V", [[7, 8, 9]], [1], [[1, 2], [7, 8, 9]]),
    ],
)
def test_a_single_value_serves_all(
    path: Path, column: str, value: Any, rows: Any, expected: list[Any]
) -> None:
    with tf.edit(path) as editor:
        editor[1].update(column, value, rows=rows)
    found = tf.open(path)[1][column]
    cells = found.to_object_array() if isinstance(found, tf.Ragged) else found
    assert [np.asarray(cell).tolist() for cell in cells] == expected


@pytest.mark.parametrize(
    ("value", "rows"), [(5, None), ([1, 2, 3], [0]), (np.array([1, 2, 3]), [0]), (np.int16(5), [1])]
)
def test_cells_of_any_length_are_lists(path: Path, value: Any, rows: Any) -> None:
    found = r"column 'V'.*\nhint: .*\[\[1, 2, 3\]\]"
    with tf.edit(path) as editor, pytest.raises(tf.UsageError, match=found):
        editor[1].update("V", value, rows=rows)


def test_text_of_any_length_is_one_for_all(tmp_path: Path) -> None:
    texts = np.array(["a" * 9, "b"], object)
    hdu = fits.BinTableHDU.from_columns([fits.Column("T", "PA()", array=texts)])
    hdu.writeto(tmp_path / "text.fits")
    with tf.edit(tmp_path / "text.fits") as editor:
        editor[1].update("T", "new")
    assert tf.open(tmp_path / "text.fits")[1]["T"].tolist() == ["new", "new"]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda table: table.add_column(5, [1, 2]), "invalid column name 5: expected text"),
        (lambda table: table.rename_column("N", 5), "invalid column name 5: expected text"),
        (lambda table: table.add_column("X", [1.0, 2.0], null=3), "has no null of its own"),
        (
            lambda table: table.update("A", [[], [1]]),
            "hold arrays of 0, 1 elements\nhint: cells have",
        ),
        (lambda table: table.delete_column(), "needs columns"),
    ],
)
def test_wrong_use_is_named(path: Path, change: Any, found: str) -> None:
    with tf.edit(path) as editor, pytest.raises(tf.UsageError, match=found):
        change(editor[1])
    assert len(tf.open(path)[1].columns) == 4


def test_discarded_edits_are_not_written(path: Path) -> None:
    before = path.read_bytes()
    with tf.edit(path) as editor:
        editor[1].update("N", 7)
        editor.discard()
    assert path.read_bytes() == before


def test_a_single_number_is_refused_as_an_image(path: Path, tmp_path: Path) -> None:
    with tf.edit(path) as editor, pytest.raises(tf.UsageError, match="invalid data 5"):
        editor.append(np.array(5))
    with pytest.raises(tf.UsageError, match=r"invalid data 5\.0"):
        tf.write(tmp_path / "no.fits", np.float64(5))
