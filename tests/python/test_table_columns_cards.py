"""Cards of columns follow their columns when a table is written without some of them, or edited."""

from __future__ import annotations

from pathlib import Path

import pytest

import tachyfits as tf

#: Keyword and value of cards that belong to columns 2 and 3 of T, X, Y.
CARDS = {
    "TCTYP2": "RA---TAN",
    "TCTYP3": "DEC--TAN",
    "TC2_3": 0.5,
    "TPC2_2": 1.0,
    "TCD3_2": -1.0,
    "TWCS2": "SKY",
    "TCNA2A": "first",
    "2CRVL3": 7.0,
    "12PC3": 8.0,
    "LONP2": 180.0,
    "TCOMM2": "about X",
    "TUCD3": "pos.eq.dec",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "made.fits"
    tf.write_table(made, {"T": [1.0], "X": [2.0], "Y": [3.0]})
    with tf.edit(made) as edition:
        for keyword, value in CARDS.items():
            edition[1].header[keyword] = value
        edition[1].header["EXPTIME3"] = 9.0
    return made


def moved(keyword: str) -> str:
    """The keyword when columns 2 and 3 are 1 and 2."""
    head = "2CRVL" if keyword == "2CRVL3" else "12PC" if keyword == "12PC3" else None
    if head:
        return f"{head}2"
    return keyword.translate(str.maketrans("23", "12"))


def test_cards_of_columns_follow_them_to_a_table_without_others(path: Path) -> None:
    part = path.with_name("part.fits")
    with tf.open(path) as file:
        file[1].write(part, ["X", "Y"])
    with tf.edit(path) as edition:
        edition[1].delete_column("T")
    for name in (part, path):
        with tf.open(name) as file:
            header = file[1].header
            for keyword, value in CARDS.items():
                assert header[moved(keyword)] == value, keyword
            assert "TCTYP3" not in header
            assert "TPC3_3" not in header
            assert header["EXPTIME3"] == 9.0


def test_cards_that_name_a_column_that_is_gone_go_too(path: Path) -> None:
    part = path.with_name("part.fits")
    with tf.open(path) as file:
        file[1].write(part, ["Y"])
    with tf.open(part) as file:
        header = file[1].header
        assert header["TCTYP1"] == "DEC--TAN"
        assert header["2CRVL1"] == 7.0
        assert not any(keyword.startswith(("TC2", "TC1_", "TPC", "TCD")) for keyword in header)
