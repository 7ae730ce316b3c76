"""Text with lone surrogates, which UTF-8 cannot encode, is refused or not found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf

HALF = "a\ud800b"


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tf.write("made.fits", {"A": [1, 2], "S": ["x", "y"], "V": [[1], [2, 3]]})
    tf.write("image.fits", np.zeros((3, 4)))
    return tmp_path / "made.fits"


WRITTEN: dict[str, Callable[[], object]] = {
    "name": lambda: tf.write("no.fits", {HALF: [1]}),
    "field": lambda: tf.write("no.fits", np.zeros(2, [(HALF, "i4")])),
    "unit": lambda: tf.write("no.fits", {"A": [1]}, units={"A": HALF}),
    "description": lambda: tf.write("no.fits", {"A": [1]}, descriptions={"A": HALF}),
    "extname": lambda: tf.write("no.fits", {"A": [1]}, name=HALF),
    "cell": lambda: tf.write("no.fits", {"A": ["x", HALF]}),
    "cells": lambda: tf.write("no.fits", {"A": [["x"], ["y", HALF]]}),
    "value": lambda: tf.write("no.fits", np.zeros(3), header={"X": HALF}),
    "keyword": lambda: tf.write("no.fits", np.zeros(3), header={HALF: 1}),
    "comment": lambda: tf.write("no.fits", np.zeros(3), header=tf.Header([("X", 1, HALF)])),
    "commentary": lambda: tf.write("no.fits", np.zeros(3), header={"HISTORY": HALF}),
}


@pytest.mark.parametrize("part", WRITTEN)
def test_it_is_not_written(part: str, path: Path) -> None:
    with pytest.raises(tf.TachyfitsError, match=r"printable|A-Z|characters that FITS"):
        WRITTEN[part]()
    assert not Path("no.fits").exists()


EDITED: dict[str, Callable[[Any], object]] = {
    "value": lambda hdu: hdu.header.__setitem__("X", HALF),
    "keyword": lambda hdu: hdu.header.__setitem__(HALF, 1),
    "comment": lambda hdu: hdu.header.__setitem__("X", (1, HALF)),
    "deleted keyword": lambda hdu: hdu.header.__delitem__(HALF),
    "new keyword": lambda hdu: hdu.header.rename("TTYPE1", HALF),
    "cell": lambda hdu: hdu.update("S", HALF, rows=[0]),
    "column": lambda hdu: hdu.update(HALF, 1),
    "row": lambda hdu: hdu.append({"A": [1], "S": [HALF], "V": [[1]]}),
    "added column": lambda hdu: hdu.add_column(HALF, [1, 2]),
    "unit": lambda hdu: hdu.add_column("B", [1, 2], unit=HALF),
    "renamed column": lambda hdu: hdu.rename_column("A", HALF),
    "deleted column": lambda hdu: hdu.delete_column(HALF),
}


@pytest.mark.parametrize("part", EDITED)
def test_it_is_not_edited_in(part: str, path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(tf.TachyfitsError), tf.edit(path) as editor:
        EDITED[part](editor[1])
    assert path.read_bytes() == before


ASKED: dict[str, Callable[[tf.Table], object]] = {
    "column": lambda table: table[HALF],
    "columns": lambda table: table.read(["A", HALF]),
    "keyword": lambda table: table.header[HALF],
    "comment": lambda table: table.header.comments[HALF],
    "hdu": lambda table: table.file[HALF],
}


@pytest.mark.parametrize("part", ASKED)
def test_it_is_not_found(part: str) -> None:
    with tf.open("made.fits") as file, pytest.raises(LookupError):
        ASKED[part](file[1])


def test_it_is_nowhere() -> None:
    with tf.open("made.fits") as file:
        table = file[1]
        assert HALF not in table
        assert HALF not in table.header
        assert table.header.get(HALF) is None
        assert len(table.where(f"S == '{HALF}'")) == 0
        with pytest.raises(tf.UsageError):
            table.where(HALF)
    with pytest.raises(tf.UsageError):
        tf.evaluate(f"image + {HALF}", image="image.fits")
