"""Thresholds of selections, with and without a unit."""

from __future__ import annotations

from pathlib import Path

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf


@pytest.fixture
def cube(tmp_path: Path) -> tf.Image:
    hdu = fits.PrimaryHDU(np.arange(24, dtype="f4").reshape(4, 2, 3))
    hdu.header["BUNIT"] = "Jy/beam"
    hdu.header["CTYPE3"], hdu.header["CUNIT3"], hdu.header["CDELT3"] = "VRAD", "m/s", 500.0
    hdu.writeto(tmp_path / "cube.fits")
    return tf.open(tmp_path / "cube.fits").image(0)


def test_a_quantity_is_a_threshold_in_its_own_unit(cube: tf.Image) -> None:
    plain = cube.select(where=7.0).moment(0)
    np.testing.assert_array_equal(plain.values[0, 0], (12 + 18) * 500.0)
    for quantity in (7 * u.Jy / u.beam, 7000 * u.mJy / u.beam):
        plane = cube.select(where=quantity).moment(0)
        np.testing.assert_array_equal(plane.values, plain.values)
        assert plane.header["HISTORY"] == plain.header["HISTORY"]
        np.testing.assert_array_equal(
            cube.select(where=quantity).collapse("max").values,
            cube.select(where=7).collapse("max").values,
        )


def test_a_threshold_of_another_kind_names_both_units(cube: tf.Image) -> None:
    with pytest.raises(tf.UsageError, match=r"Jy/beam.*K|K.*Jy"):
        cube.select(where=7 * u.K).moment(0)
    with pytest.raises(tf.UsageError, match="a mask of 5 pixels does not broadcast"):
        cube.select(where=[1.0, 2.0, 3.0, 4.0, 5.0])
    with pytest.raises(tf.UsageError, match="invalid condition 'high': expected a threshold"):
        cube.select(where="high")
