"""Rows by position: cones and nearest neighbours, compared with astropy's angles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import Angle, SkyCoord, match_coordinates_sky
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from tachyfits.cli import run
from tachyfits.text.cones import cone

RNG = np.random.default_rng(11)
LONGITUDES = np.concatenate([RNG.uniform(0, 360, 400), [0.0, 359.999, 0.001, 10.0, 10.0]])
LATITUDES = np.concatenate([np.degrees(np.arcsin(RNG.uniform(-1, 1, 400))), [0, 0, 0, 90, -90]])


@pytest.fixture(scope="module")
def table(tmp_path_factory: Any) -> tf.Table:
    path = tmp_path_factory.mktemp("cone") / "t.fits"
    data = {"ID": np.arange(len(LONGITUDES)), "RA": LONGITUDES, "DEC": LATITUDES}
    tf.write(path, data, units={"RA": "deg", "DEC": "deg"})
    return tf.open(path)[1]


@given(st.floats(0, 360), st.floats(-90, 90), st.floats(0, 180))
def test_cones_have_the_rows_that_astropy_finds(
    table: tf.Table, ra: float, dec: float, radius: float
) -> None:
    there = SkyCoord(LONGITUDES, LATITUDES, unit="deg")
    angles = there.separation(SkyCoord(ra, dec, unit="deg")).to_value("deg")
    # At the border itself the last digit decides.
    clear = np.abs(angles - radius) > 1e-10
    found = np.isin(np.arange(len(angles)), table.cone(ra, dec, radius, columns="ID")["ID"])
    np.testing.assert_array_equal(found[clear], (angles <= radius)[clear])


def test_a_cone_crosses_the_zero_of_longitude_and_the_poles(table: tf.Table) -> None:
    near = table.cone(0, 0, "4arcsec", columns=["RA"])["RA"]
    assert sorted(near) == [0.0, 0.001, 359.999]
    assert 403 in table.cone(200.0, 89.9999, "1arcsec", columns="ID")["ID"]
    assert len(table.cone("0h", "0d", 4 * u.arcsec, columns="ID", where="ID > 400")["ID"]) == 2


@pytest.mark.parametrize(
    ("names", "units", "ucds"),
    [
        (("lon", "lat"), ("deg", "deg"), ("pos.eq.ra;meta.main", "pos.eq.dec;meta.main")),
        (("lon", "lat"), ("rad", "rad"), ("POS_EQ_RA_MAIN", "POS_EQ_DEC_MAIN")),
        (("RAJ2000", "DEJ2000"), ("h", "arcmin"), ("", "")),
        (("_RAJ2000", "_DEJ2000"), (None, None), ("", "")),
    ],
)
def test_columns_are_found_by_ucd_or_name(
    tmp_path: Path, names: Any, units: Any, ucds: Any
) -> None:
    factors = {"deg": 1, None: 1, "rad": np.pi / 180, "h": 1 / 15, "arcmin": 60}
    data = {"other": [0.0, 1.0], names[0]: np.array([10.0, 20.0]) * factors[units[0]],
            names[1]: np.array([5.0, 6.0]) * factors[units[1]]}  # fmt: skip
    cards = {f"TUCD{number}": ucd for number, ucd in enumerate(ucds, 2) if ucd}
    known = {name: unit for name, unit in zip(names, units, strict=True) if unit}
    tf.write(tmp_path / "t.fits", data, units=known)
    with tf.edit(tmp_path / "t.fits") as editor:
        for keyword, value in cards.items():
            editor[1].header[keyword] = value
    found = tf.open(tmp_path / "t.fits")[1].cone(20, 6, "1arcmin")
    assert found["other"].tolist() == [1.0]


def test_matches_are_those_of_astropy(table: tf.Table, tmp_path: Path) -> None:
    shifted = {"ra": LONGITUDES[::3] + 1e-4, "dec": np.clip(LATITUDES[::3] + 1e-4, -90, 90)}
    tf.write(tmp_path / "o.fits", shifted)
    other = tf.open(tmp_path / "o.fits")[1]
    here = SkyCoord(LONGITUDES, LATITUDES, unit="deg")
    there = SkyCoord(shifted["ra"], shifted["dec"], unit="deg")
    index, angles, _ = match_coordinates_sky(here, there)
    for found in (table.match(other), table.match(there)):
        np.testing.assert_array_equal(found.index, index)
        np.testing.assert_allclose(found.separation, angles.to_value("deg"), rtol=1e-12, atol=1e-12)
    near = table.match(other, "1arcsec")
    np.testing.assert_array_equal(near.index >= 0, angles <= 1 * u.arcsec)


def test_rows_without_a_position_match_nothing(tmp_path: Path) -> None:
    tf.write(tmp_path / "n.fits", {"ra": [1.0, np.nan, 3.0], "dec": [0.0, 0.0, np.nan]})
    table = tf.open(tmp_path / "n.fits")[1]
    found = table.match(table)
    assert found.index.tolist() == [0, -1, -1]
    assert np.isnan(found.separation[1:]).all()
    assert len(table.cone(0, 0, 180)["ra"]) == 1
    others = SkyCoord([np.nan, 1.0], [0.0, 0.0], unit="deg")
    assert table.match(others).index.tolist() == [1, -1, -1]


def test_matches_are_with_positions_alone(table: tf.Table) -> None:
    for other in (5, None, table.to_astropy(), SkyCoord(1, 2, unit="deg")):
        with pytest.raises(tf.UsageError, match=r"expected a Table .* or a SkyCoord of one axis"):
            table.match(other)


@pytest.mark.parametrize("unit", ["deg", "arcmin", "arcsec"])
def test_angles_with_a_unit_are_those_of_astropy(unit: str) -> None:
    for number in ("1", "30", "0.1", "2.5e-3", " +7.25 ", ".3", "0.04567"):
        for text in (f"{number}{unit}", f"{number} {unit}"):
            assert cone(0, 0, text)[2] == Angle(text.strip()).to_value("deg")


def test_invalid_cones_are_refused(table: tf.Table, tmp_path: Path) -> None:
    for wrong in ((0, 91, 1), (0, 0, -1), (0, 0, 181), (np.nan, 0, 1), ("x", 0, 1), (0, 0, "1kg")):
        with pytest.raises(tf.UsageError, match="invalid cone"):
            table.cone(*wrong)
    with pytest.raises(tf.UsageError, match="no columns of a position of these names"):
        table.cone(0, 0, 1, names=("A", "B"))
    for names in ("RA", ["RA"], ("RA", "DEC", "ID"), (1, 2), 5):
        with pytest.raises(tf.UsageError, match=r"invalid names .*: expected two names"):
            table.match(table, names=names)  # type: ignore[arg-type]
    tf.write(tmp_path / "k.fits", {"ra": [1.0], "dec": [0.0]}, units={"ra": "km"})
    with pytest.raises(tf.UsageError, match="is not an angle"):
        tf.open(tmp_path / "k.fits")[1].cone(0, 0, 1)


def test_the_command_line_takes_a_cone(table: tf.Table, tmp_path: Path, capsys: Any) -> None:
    path = table.file.name
    assert run(["table", path, "--cone", "0,0,4arcsec", "--columns", "ID", "-o", "-"]) == 0
    assert capsys.readouterr().out.split() == ["ID", "400", "401", "402"]
    words = ["--cone", "0h,0d,4arcsec", "--where", "ID > 400", "--columns", "ID", "-o", "-"]
    assert run(["table", path, *words]) == 0
    assert capsys.readouterr().out.split() == ["ID", "401", "402"]
    assert run(["table", path, "--cone", "0,0"]) == 2
    assert "expected 3 parts" in capsys.readouterr().err


def test_the_command_line_names_columns_of_a_cone(tmp_path: Path, capsys: Any) -> None:
    path = str(tmp_path / "t.fits")
    tf.write(path, {"A": [10.0, 50.0], "B": [20.0, 20.0]})
    assert run(["table", path, "--cone", "10,20,1deg"]) == 2
    assert "hint: name them: --cone-columns RA,DEC" in capsys.readouterr().err
    words = ["--cone", "10,20,1deg", "--cone-columns", "A, b", "-o", "-"]
    assert run(["table", path, *words]) == 0
    assert capsys.readouterr().out.split() == ["A,B", "10.0,20.0"]
    for wrong in (["--cone", "10,20,1deg", "--cone-columns", "A"], ["--cone-columns", "A,B"]):
        assert run(["table", path, *wrong]) == 2
        assert "--cone-columns takes two names" in capsys.readouterr().err


def test_a_cone_takes_a_position_of_astropy_in_any_frame(table: tf.Table) -> None:
    position = SkyCoord(120.0, 30.0, unit="deg")
    expected = table.cone(120.0, 30.0, "20deg", columns="ID")["ID"]
    assert len(expected) > 3
    for frame in ("icrs", "galactic", "fk5"):
        found = table.cone(position.transform_to(frame), 20 * u.deg, columns="ID")["ID"]
        np.testing.assert_array_equal(found, expected)
    for wrong in ((position,), (position, 1.0, 2.0), (SkyCoord([1.0], [2.0], unit="deg"), 1.0)):
        with pytest.raises((tf.UsageError, TypeError)):
            table.cone(*wrong)  # type: ignore[call-arg]
    with pytest.raises(tf.UsageError, match="expected a radius"):
        table.cone(1.0, 2.0)


def test_a_mask_selects_rows(table: tf.Table) -> None:
    mask = table["DEC"] > 40.0
    rows = table[mask]
    assert rows.rows == len(rows) == np.count_nonzero(mask)
    np.testing.assert_array_equal(rows["ID"], np.flatnonzero(mask))
    with pytest.raises(tf.UsageError, match="a mask of 3 for 405 rows"):
        table[np.ones(3, bool)]
    with pytest.raises(tf.UsageError, match=r"table\[an array\]: an index selects a column"):
        table[np.arange(400)]  # type: ignore[call-overload]
