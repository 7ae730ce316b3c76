"""Edited headers: valid keywords, and the cards that an array adds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits
from astropy.nddata import CCDData, StdDevUncertainty

import tachyfits as tf

pytestmark = pytest.mark.once


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "stars.fits"
    tf.write(tmp_path / "table.fits", {"N": [1, 2, 3], "MAG": [1.5, 2.5, 3.5]}, name="STARS")
    tf.write(path, [np.zeros((3, 4)), tf.open(tmp_path / "table.fits")[1]])
    return path


LONG = "x" * 70


@pytest.mark.parametrize(
    "change",
    [
        lambda editor: editor["STARS"].rename_column("MAG", LONG),
        lambda editor: editor["STARS"].add_column(LONG, [1, 2, 3]),
        lambda editor: editor["STARS"].header.update({"TTYPE2": LONG}),
        lambda editor: editor["STARS"].header.update({"tunit2": (LONG, "a unit")}),
        lambda editor: editor["STARS"].header.update({"EXTNAME": "'" * 35}),
        lambda editor: editor[0].header.insert("NAXIS", "EXTNAME", LONG),
        lambda editor: editor.append(np.zeros(2), name=LONG),
        lambda editor: editor.append({"A": [1]}, name=LONG),
    ],
)
def test_names_that_no_card_holds_are_refused(path: Path, change: Any) -> None:
    before = path.read_bytes()
    found = "of 70 characters: a card holds 68"
    with pytest.raises(tf.UsageError, match=found), tf.edit(path) as editor:
        change(editor)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop(0),
        lambda header: header.__delitem__(0),
        lambda header: header.update({0: 1}),
        lambda header: header.comments.__setitem__(0, "text"),
        lambda header: header.rename(0, "NEW"),
        lambda header: header.rename("MAG", 0),
        lambda header: header.insert(0, "NEW", 1),
        lambda header: header.insert("BITPIX", 0, 1),
    ],
)
def test_keywords_other_than_text_are_refused(path: Path, change: Any) -> None:
    with (
        pytest.raises(tf.UsageError, match=r"HDU 1 .*: invalid keyword 0: expected text\nhint: "),
        tf.edit(path) as editor,
    ):
        change(editor["STARS"].header)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda header: header["NONE"], "the header has no keyword 'NONE'"),
        (lambda header: header.pop("NONE"), "the header has no keyword 'NONE'"),
        (lambda header: header.comments["NONE"], "the header has no keyword 'NONE'"),
        (lambda header: header.update(OBJECT=(1, 2, 3)), r"OBJECT = \(1, 2, 3\)"),
        (lambda header: header.update(OBJECT={}), "expected a value for OBJECT, found {}"),
        (lambda header: header.update(DATASUM="0"), "cannot set DATASUM"),
        (lambda header: header.insert("NONE", "A", 1), "no keyword 'NONE'"),
    ],
)
def test_messages_about_a_header_say_which_it_is(path: Path, change: Any, problem: str) -> None:
    place = rf"^{re.escape(str(path))}: HDU 1 \(0-based\): "
    with pytest.raises(tf.UsageError, match=place + problem), tf.edit(path) as editor:
        change(editor["STARS"].header)


def test_a_ccddata_is_inserted_with_its_header_and_uncertainty(path: Path) -> None:
    data = CCDData(
        np.ones((2, 3)), unit="adu", mask=np.eye(2, 3), meta={"OBJECT": "M 31"},
        uncertainty=StdDevUncertainty(np.full((2, 3), 0.5)),
    )  # fmt: skip
    with tf.edit(path) as editor:
        editor.insert(1, data, name="SCI")
        with pytest.raises(tf.UsageError, match=rf"^{re.escape(str(path))}: units= applies to tab"):
            editor.append(data, units={})
    with tf.open(path) as file:
        assert [hdu.name for hdu in file] == ["PRIMARY", "SCI", "UNCERT", "STARS"]
        assert (file[1].header["OBJECT"], file[1].unit) == ("M 31", "adu")
        np.testing.assert_array_equal(file[1][...], [[np.nan, 1, 1], [1, np.nan, 1]])
        assert (file[2][...] == 0.5).all()


def test_renaming_a_card_to_an_existing_keyword_is_refused(path: Path) -> None:
    with tf.edit(path) as editor:
        header = editor[0].header
        header.update({"FIRST": 1, "SECOND": 2, "HISTORY": "made"})
        for to in ("SECOND", "second", "NAXIS"):
            with pytest.raises(tf.UsageError, match=r"the header has a card \w+"):
                header.rename("FIRST", to)
        header.rename("FIRST", "FIRST")
        header.rename("FIRST", "THIRD")
    header = tf.open(path)[0].header
    assert (header["SECOND"], header["THIRD"], "FIRST" in header) == (2, 1, False)


def test_cards_are_renamed_as_they_are_set_in_either_case(path: Path) -> None:
    with tf.edit(path) as editor:
        header = editor[0].header
        header["FIRST"] = 1
        header.rename("first", " Second ")
    assert b"SECOND  =                    1" in path.read_bytes()


def test_text_is_not_renamed(path: Path) -> None:
    with tf.edit(path) as editor:
        editor[0].header["HISTORY"] = "made"
        with pytest.raises(tf.UsageError, match=r"rename 'HISTORY': .*no value\nhint: delete"):
            editor[0].header.rename("HISTORY", "COMMENT")


def test_arrays_with_a_unit_say_it(path: Path, tmp_path: Path) -> None:
    fluxes = np.ones((2, 2)) * u.Jy / u.beam
    with tf.edit(path) as editor:
        editor.append(fluxes)
        editor.append(fluxes, header={"BUNIT": "K"})
        editor.append(fluxes.value * u.dimensionless_unscaled)
    assert [hdu.header.get("BUNIT") for hdu in tf.open(path)][2:] == ["Jy beam-1", "K", None]
    for given in (fluxes, [(fluxes, None)], [fluxes, fluxes.to(u.mJy / u.beam)]):
        tf.write(tmp_path / "new.fits", given, overwrite=True)
        image = tf.open(tmp_path / "new.fits")[0]
        assert (image.unit, image[:].max()) == ("Jy beam-1", 1.0)
    for other in (fluxes.value, fluxes.value * u.s):
        with pytest.raises(tf.UsageError, match=r"different units: .*\nhint: .*one unit"):
            tf.write(tmp_path / "new.fits", [fluxes, other], overwrite=True)


def test_lines_of_commentary_are_given_as_any_sequence(path: Path) -> None:
    theirs = fits.Header([("HISTORY", "cut"), ("HISTORY", "smoothed")])
    with tf.edit(path) as editor:
        header = editor[0].header
        header["HISTORY"] = theirs["HISTORY"]
        header["COMMENT"] = "one", "two"
        header["COMMENT"] = (f"line {number}" for number in range(2))
    header = tf.open(path)[0].header
    assert header["HISTORY"] == ["cut", "smoothed"]
    assert header["COMMENT"] == ["one", "two", "line 0", "line 1"]


@pytest.mark.parametrize("keyword", ["EXTNAME", "TTYPE1", "TUNIT1"])
def test_names_other_than_text_are_refused(path: Path, keyword: str) -> None:
    with tf.edit(path) as editor:
        header = editor["STARS"].header
        with pytest.raises(tf.UsageError, match=f"invalid {keyword} 5: expected text"):
            header[keyword] = 5
        header["NUMBER"] = 5
        header.pop(keyword, None)
        with pytest.raises(tf.UsageError, match=f"invalid {keyword} 5: expected text"):
            header.rename("NUMBER", keyword)


def test_options_that_an_inserted_hdu_does_not_have_are_refused(path: Path) -> None:
    with tf.edit(path) as editor:
        for data in ({"A": [1]}, np.zeros(3), editor.preview()[0]):
            with pytest.raises(tf.UsageError, match="invalid option overwrite="):
                editor.insert(1, data, overwrite=True)
        assert len(editor) == 2


def test_an_image_with_a_table_of_beams_is_named_where_it_is(path: Path, tmp_path: Path) -> None:
    cube = fits.PrimaryHDU(np.zeros((2, 3, 4), "f4"))
    cube.header["CASAMBM"] = True
    columns = [fits.Column(name, "E", array=[1.0, 2.0]) for name in ("BMAJ", "BMIN", "BPA")]
    beams = fits.BinTableHDU.from_columns(columns, name="BEAMS")
    fits.HDUList([cube, beams]).writeto(tmp_path / "cube.fits")
    with tf.edit(path) as editor:
        editor.insert(0, tf.open(tmp_path / "cube.fits")[0], name="CUBE")
    assert [hdu.name for hdu in tf.open(path)] == ["CUBE", "", "STARS", "BEAMS"]


@pytest.mark.parametrize("data", [np.zeros(3), {"A": [1]}])
def test_an_hdu_with_an_invalid_name_is_not_inserted(path: Path, data: Any) -> None:
    with tf.edit(path) as editor:
        for name in ("é", "a\nb", 5, LONG):
            with pytest.raises(tf.UsageError, match=r"invalid name|name of 70 characters"):
                editor.insert(1, data, name=name)
        assert len(editor) == 2
