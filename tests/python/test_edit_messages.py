"""Messages about invalid edits: where, what is wrong, and what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

pytestmark = pytest.mark.once


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "stars.fits"
    tf.write(path, [np.zeros((3, 4)), {"NAME": ["a", "b", "c"], "MAG": [1.5, 2.5, 3.5]}])
    with tf.edit(path) as editor:
        editor[1].header["EXTNAME"] = "STARS"
    return path


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda stars: stars.insert(1.0, {}), r"invalid row 1\.0"),
        (lambda stars: stars.insert("1", {}), "invalid row '1'"),
        (lambda stars: stars.insert(True, {}), "invalid row True"),
        (lambda stars: stars.insert(9, {}), "no row 9"),
        (lambda stars: stars.append(3), "invalid table of type int"),
        (lambda stars: stars.delete(rows=9), "no row 9"),
        (lambda stars: stars.delete(rows=1.0), "rows of type float64"),
        (lambda stars: stars.delete(where=3), "invalid where 3: expected text"),
        (lambda stars: stars.delete(where="NONE > 1"), "expression, character 1"),
        (lambda stars: stars.update("MAG", 1, rows=[9]), "no row 9"),
        (lambda stars: stars.update("MAG", object()), "column 'MAG' has values of type object"),
        (lambda stars: stars.add_column("A", [1]), "column 'A': 1 values for 3 rows"),
        (lambda stars: stars.add_column("A", 1), "column 'A' is a single value"),
        (
            lambda stars: stars.add_column("A", [1] * 3, unit=3),
            "column 'A': invalid unit 3: expected text",
        ),
        (
            lambda stars: stars.add_column("A", [1] * 3, description=3),
            "column 'A': invalid description 3",
        ),
        (lambda stars: stars.add_column("A", [1] * 3, before=1.0), "no column is named 1.0"),
        (
            lambda stars: stars.add_column("A", [1] * 3, form="I6"),
            "column 'A': invalid form 'I6' for a binary",
        ),
        (lambda stars: stars.rename_column("MAG", 3), "invalid column name 3: expected text"),
        (lambda stars: stars.table.read(1.0), "no column is named 1.0"),
    ],
)
def test_messages_about_a_table_say_which_it_is(path: Path, change: Any, problem: str) -> None:
    place = rf"^{re.escape(str(path))}: HDU 1 \(0-based\): "
    before = path.read_bytes()
    with (
        pytest.raises(tf.UsageError, match=f"(?s){place}{problem}.*\nhint: "),
        tf.edit(path) as file,
    ):
        change(file["STARS"])
    assert path.read_bytes() == before


@pytest.mark.parametrize("at", [1.0, "1", None, True, -1])
def test_invalid_positions_of_hdus_are_refused(path: Path, at: Any) -> None:
    with tf.edit(path) as editor:
        for name, change in (("invalid position", lambda: editor.insert(at, np.zeros(2))),
                             ("invalid HDU .* found several", lambda: editor[0:1])):  # fmt: skip
            with pytest.raises(tf.UsageError, match=f"{path.name}: .*{name}.*\nhint: "):
                change()
        with pytest.raises(tf.UsageError, match=r"invalid name 3: expected text\nhint: "):
            editor.append(np.zeros(2), name=3)  # type: ignore[arg-type]
        editor.discard()


def test_what_is_not_data_is_named(path: Path) -> None:
    hdu = fits.ImageHDU(np.zeros((2, 2)))
    for data, said in (
        (fits.ImageHDU, "found the class ImageHDU\nhint: give hdu.data, and header="),
        (hdu, "found an object of ImageHDU\nhint: give hdu.data, and header="),
        (object(), "found an object of object\nhint: give an array"),
    ):
        with (
            pytest.raises(tf.UsageError, match=f"expected numbers, a table or an HDU, {said}"),
            tf.edit(path) as editor,
        ):
            editor.append(data)


@pytest.mark.parametrize("bad", [b"stars.fits", 3, None])
def test_what_is_not_a_path_is_named(bad: Any) -> None:
    with pytest.raises(tf.UsageError, match=f"invalid path of type {type(bad).__name__}"):
        tf.edit(bad)
