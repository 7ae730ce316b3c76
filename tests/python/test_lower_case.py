"""Keywords in lower case break the Standard, but all of them are read."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import empty_primary, header, pad

pytestmark = pytest.mark.once

#: Values of the columns of `scaled`.
COLUMNS = {"A": [1, 4], "B": [102, 105], "C": [6, 12]}


@pytest.fixture(params=[str.lower, str.upper], ids=["lower", "upper"])
def scaled(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A table with column cards in the requested case, except some of the third column."""
    cards = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", 6), ("NAXIS2", 2)]
    cards += [("PCOUNT", 0), ("GCOUNT", 1), ("TFIELDS", 3)]
    for number, name in enumerate(COLUMNS, 1):
        cards += [(request.param(f"ttype{number}"), name), (request.param(f"tform{number}"), "1I")]
    # Of two the one in upper case is read.
    cards += [("tscal3", 2.0), ("tzero3", 9.0), ("TZERO3", 0.0), ("tzero2", 100.0)]
    cards += [("tcrvl3", 7.0), ("exptime3", 9.0)]
    path = tmp_path / "scaled.fits"
    stored = np.array([[1, 2, 3], [4, 5, 6]], ">i2")
    path.write_bytes(empty_primary() + header(cards) + pad(stored.tobytes()))
    return path


def columns(path: Path) -> dict[str, list[float]]:
    with tf.open(path) as file:
        return {name: values.tolist() for name, values in file[1].read().items()}


def test_columns_keep_their_cards_when_others_are_removed_and_added(scaled: Path) -> None:
    assert columns(scaled) == COLUMNS
    with tf.edit(scaled) as editor:
        editor[1].delete_column("A")
    assert columns(scaled) == {"B": COLUMNS["B"], "C": COLUMNS["C"]}
    assert tf.open(scaled)[1].header["TCRVL2"] == 7.0
    with tf.edit(scaled) as editor:
        editor[1].delete_column("C")
        editor[1].add_column("Z", np.arange(2))
        editor[1].add_column("Y", np.arange(2), before="B")
    assert columns(scaled) == {"Y": [0, 1], "B": COLUMNS["B"], "Z": [0, 1]}
    found = tf.open(scaled)[1].header
    assert "TCRVL3" not in found
    assert found["EXPTIME3"] == 9.0


def test_a_part_of_a_table_has_the_cards_of_its_columns(scaled: Path) -> None:
    part = scaled.with_name("part.fits")
    with tf.open(scaled) as file:
        file[1].write(part, ["C"])
    assert columns(part) == {"C": COLUMNS["C"]}
    with tf.open(part) as file:
        found = file[1].header
        assert (found["TCRVL1"], found["EXPTIME3"]) == (7.0, 9.0)
        assert "TCRVL3" not in found
        assert set(file[1].to_astropy().meta) == {"exptime3"}


def test_meta_of_a_table_has_no_cards_of_structure_or_columns(scaled: Path) -> None:
    file = scaled.read_bytes().replace(b"GCOUNT ", b"gcount ")
    with tf.open(file) as opened:
        assert set(opened[1].to_astropy().meta) == {"exptime3"}


def test_differences_of_columns_use_numbers_of_the_first_table(scaled: Path) -> None:
    fewer = Path(shutil.copy(scaled, scaled.with_name("fewer.fits")))
    with tf.edit(fewer) as editor:
        editor[1].delete_column("A")
    found = tf.diff(scaled, fewer)
    assert {card.keyword for hdu in found.hdus for card in hdu.cards} == {*("NAXIS1", "TFIELDS")}


def test_positions_of_fields_are_not_compared_for_other_columns(
    tmp_path: Path,
) -> None:
    paths = [tmp_path / "a.fits", tmp_path / "b.fits"]
    tf.write(paths[0], {"A": [1], "B": [2]}, kind="ascii")
    with tf.edit(shutil.copy(*paths)) as editor:
        editor[1].delete_column("A")
    for path in paths:
        path.write_bytes(path.read_bytes().replace(b"TBCOL", b"tbcol"))
    (found,) = tf.diff(*paths).hdus
    assert {card.keyword for card in found.cards} == {"NAXIS1", "TFIELDS"}


def test_a_place_that_a_table_states_is_not_written_over(tmp_path: Path) -> None:
    from astropy.coordinates import EarthLocation
    from astropy.time import Time

    path = tmp_path / "a.fits"
    times = Time([5e4, 6e4], format="mjd", location=EarthLocation.from_geocentric(1, 2, 3, "m"))
    tf.write(path, {"T": times})
    path.write_bytes(path.read_bytes().replace(b"OBSGEO-", b"obsgeo-"))
    elsewhere = Time(times.mjd, format="mjd", location=EarthLocation.from_geocentric(9, 2, 3, "m"))
    with pytest.raises(tf.UsageError, match="OBSGEO-X"), tf.edit(path) as editor:
        editor[1].add_column("U", elsewhere)
