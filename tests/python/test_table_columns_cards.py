"""Cards of columns follow their columns when a table is written without some of them, or edited."""

from __future__ import annotations

from pathlib import Path

import astropy.io.fits
import astropy.table
import numpy as np
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
    tf.write(made, {"T": [1.0], "X": [2.0], "Y": [3.0]})
    with tf.edit(made) as editor:
        for keyword, value in CARDS.items():
            editor[1].header[keyword] = value
        editor[1].header["EXPTIME3"] = 9.0
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
    with tf.edit(path) as editor:
        editor[1].delete_column("T")
    for name in (part, path):
        with tf.open(name) as file:
            header = file[1].header
            for keyword, value in CARDS.items():
                assert header[moved(keyword)] == value, keyword
            assert "TCTYP3" not in header
            assert "TPC3_3" not in header
            assert header["EXPTIME3"] == 9.0


def test_cards_of_removed_columns_are_removed(path: Path) -> None:
    part = path.with_name("part.fits")
    with tf.open(path) as file:
        file[1].write(part, ["Y"])
    with tf.open(part) as file:
        header = file[1].header
        assert header["TCTYP1"] == "DEC--TAN"
        assert header["2CRVL1"] == 7.0
        assert not any(keyword.startswith(("TC2", "TC1_", "TPC", "TCD")) for keyword in header)


def test_a_card_of_an_impossible_column_stays(path: Path) -> None:
    with tf.edit(path) as editor:
        editor[1].header["TC2_0"] = 1.0
    with tf.edit(path) as editor:
        editor[1].delete_column("T")
    assert tf.open(path)[1].header["TC1_0"] == 1.0


# Descriptions.

LONG = "right ascension of the centre, ICRS, at the epoch of the first exposure; " * 4


@pytest.mark.parametrize("kind", ["binary", "ascii"])
@pytest.mark.parametrize("name", ["A", "IT'S ONE", "A_NAME_OF_25_CHARACTERS__", "N" * 68])
def test_a_description_that_the_comment_has_no_room_for_is_whole(
    tmp_path: Path, kind: str, name: str
) -> None:
    path = tmp_path / "made.fits"
    for length in (*range(1, 60), 200):
        text = LONG[:length].rstrip()
        data = {"FIRST": [0], name: [1]}
        tf.write(path, data, descriptions={name: text}, kind=kind, overwrite=True)
        table = tf.open(path)[1]
        assert table.column(name).description == text
        is_whole = table.header.comments["TTYPE2"] == text
        assert ("TCOMM2" in table.header) != is_whole
        assert "TCOMM1" not in table.header
        read = astropy.table.Table.read(path)
        assert (read.colnames, read[name].tolist()) == (["FIRST", name], [1])


def test_long_descriptions_survive_every_conversion(tmp_path: Path) -> None:
    path, made = tmp_path / "made.fits", tmp_path / "copy.fits"
    tf.write(path, {"A": [1], "B": [2]}, descriptions={"A": "first", "B": LONG})
    table = tf.open(path)[1]
    assert table.to_astropy()["B"].description == LONG.strip()
    assert "TCOMM2" not in table.to_astropy().meta
    table.write(made.with_suffix(".parquet"))
    hdus = astropy.io.fits.open(path)
    for data in (table.read(["B"]), table.to_astropy(["B"]), made.with_suffix(".parquet"), hdus[1]):
        tf.write(made, data, columns=["B"], overwrite=True)
        assert tf.open(made)[1].column("B").description == LONG.strip()
    hdus.close()
    tf.write(made, table, columns=["B"], overwrite=True)
    assert tf.open(made)[1].header["TCOMM1"] == LONG.strip()
    with tf.edit(path) as editor:
        editor[1].add_column("C", [3], before="A", description=LONG + "C")
        editor[1].delete_column("A")
    assert [column.description for column in tf.open(path)[1].columns] == [
        LONG + "C",
        LONG.strip(),
    ]


def test_a_new_description_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path, made = tmp_path / "made.fits", tmp_path / "new.fits"
    tf.write(path, {"A": [1], "B": [2]}, descriptions={"B": LONG})
    old = tf.open(path)[1]
    for data in (old, old.read(), astropy.table.Table.read(path)):
        for given in ("short", LONG + "new"):
            tf.write(made, data, descriptions={"B": given}, overwrite=True)
            assert tf.open(made)[1].column("B").description == given
    tf.write(made, old, descriptions={"B": ""}, overwrite=True)
    assert tf.open(made)[1].column("B").description == ""
    # Where astropy keeps descriptions in comments, too.
    astropys = astropy.table.Table({"A": [1], "B": [2]})
    astropys["B"].description = "of astropy"
    astropys.write(path, overwrite=True)
    for data in (astropys, tf.open(path)[1], tf.open(path)[1].read()):
        tf.write(made, data, descriptions={"B": "new"}, overwrite=True)
        assert astropy.table.Table.read(made)["B"].description == "new"


def test_descriptions_of_data_are_shortened_to_a_card(tmp_path: Path) -> None:
    table = astropy.table.Table({"A": [1], "B": [2]})
    table["A"].description, table["B"].description = "two\nlines", "in \u00b5m"
    with pytest.warns(tf.TachyfitsWarning, match="column 'B': its description"):
        tf.write(tmp_path / "made.fits", table)
    assert [c.description for c in tf.open(tmp_path / "made.fits")[1].columns] == ["two lines", ""]
    assert astropy.table.Table.read(tmp_path / "made.fits")["B"].description == "in \u00b5m"


def test_column_cards_in_astropys_meta_follow_the_columns(tmp_path: Path) -> None:
    path, made = tmp_path / "made.fits", tmp_path / "new.fits"
    known = {"TUCD1": "of A", "TUCD2": "of B", "TCOMM1": "A is described", "OBJECT": "M31"}
    tf.write(path, {"A": [1], "B": [2], "C": [3]}, header=known)
    table = astropy.table.Table.read(path)
    assert table.meta["TUCD2"] == "of B"
    tf.write(made, table, columns=["C", "B"])
    header = tf.open(made)[1].header
    assert (header["TUCD2"], header["OBJECT"]) == ("of B", "M31")
    assert not {"TUCD1", "TCOMM1"} & set(header)
    tf.write(made, table, columns=["C", "A"], header={"TUCD1": "of C"}, overwrite=True)
    new = tf.open(made)[1]
    assert (new.header["TUCD1"], new.header["TUCD2"]) == ("of C", "of A")
    assert new.column("A").description == "A is described"
    tf.write(made, table, overwrite=True)
    assert tf.open(made)[1].header["TUCD1"] == "of A"


def test_limits_in_meta_are_numbers_of_numpy_too(tmp_path: Path) -> None:
    made = tmp_path / "made.fits"
    table = astropy.table.Table({"A": np.array([1, 2], "i2"), "B": [1.0, 2.0]})
    table["A"].meta = {"TLMIN": table["A"].min(), "TLMAX": np.float32(2.5), "TUCD": ["a", "b"]}
    # A value that fits no card stays in astropy's place for it.
    table["B"].meta = {"TLMIN": float("nan"), "TUCD": "\u03b1", "note": "mine"}
    tf.write(made, table)
    header = tf.open(made)[1].header
    assert (header["TLMIN1"], header["TLMAX1"], "TLMIN2" in header) == (1, 2.5, False)
    for back in (astropy.table.Table.read(made), tf.open(made)[1].to_astropy()):
        assert back["A"].meta["TUCD"] == ["a", "b"]
        assert back["B"].meta["TUCD"] == "\u03b1"
        assert back["B"].meta["note"] == "mine"
