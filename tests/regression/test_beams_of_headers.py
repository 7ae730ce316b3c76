"""The beam of a header: from BMAJ, BMIN and BPA, from HISTORY of AIPS, or none, and it says so."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.cli import run

AIPS = "AIPS   CLEAN BMAJ=  4.0000E-03 BMIN=  4.0000E-03 BPA=   0.00"


def point(path: Path, cards: dict[str, Any]) -> tf.Image:
    data = np.zeros((2, 41, 45), "f4")
    data[:, 20, 22] = 1
    centre = {"CRPIX1": 23.0, "CRPIX2": 21.0, "BUNIT": "JY/BEAM"}
    image: tf.Image = tf.open(write_cube(path / "point.fits", centre | cards, data=data))[0]
    return image


@pytest.mark.parametrize(
    "cards",
    [
        {"BMAJ": 4e-3, "BMIN": 4e-3, "BPA": 0.0},
        {"HISTORY": AIPS},
        {"HISTORY": AIPS.replace("AIPS   CLEAN", "AIPS CLEAN")},
        {"BMAJ": "4E-3", "BMIN": 4e-3, "BPA": 0.0, "HISTORY": AIPS},
        {"BMAJ": 0.0, "BMIN": 0.0, "BPA": 0.0, "HISTORY": AIPS},
        {"BMAJ": 4e-3},
        {"BMAJ": 4e-3, "BMIN": 4e-3, "BPA": "north"},
    ],
)
def test_values_per_beam_follow_whatever_beam_the_header_has(
    tmp_path: Path, cards: dict[str, Any]
) -> None:
    # FWHM 4e-3 and 3e-3 degrees make 5e-3: areas as 25 to 16.
    smooth = point(tmp_path, cards).smooth_sky("10.8arcsec")
    header = smooth.header
    np.testing.assert_allclose([header["BMAJ"], header["BMIN"]], 5e-3, rtol=1e-6)
    np.testing.assert_allclose(smooth[0].sum(), 25 / 16, rtol=1e-6)


def test_the_last_beam_of_aips_counts(tmp_path: Path) -> None:
    path = write_cube(tmp_path / "cube.fits", {"HISTORY": AIPS}, data=np.ones((2, 21, 25), "f4"))
    with fits.open(path, mode="update") as file:
        file[0].header.add_history(AIPS.replace("4.0000E-03", "1.2000E-02"))
    smooth = tf.open(path)[0].smooth_sky(5.0)
    np.testing.assert_allclose(smooth.header["BMAJ"], 13e-3, rtol=1e-6)


@pytest.mark.parametrize(
    "cards",
    [
        {},
        {"BMAJ": "4E-3", "BMIN": "4E-3", "BPA": 0.0},
        {"BMAJ": 4e-3, "BMIN": "4E-3", "BPA": 0.0},
        {"BMAJ": 4e-3, "BMIN": 2e-3, "BPA": "north"},
        {"BMAJ": -4e-3, "BMIN": 2e-3, "BPA": 0.0},
        {"HISTORY": AIPS.replace("BMAJ=  4.0000E-03", "BMAJ=  ********")},
    ],
)
def test_values_that_cannot_follow_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cards: dict[str, Any]
) -> None:
    image = point(tmp_path, cards)
    with pytest.warns(tf.TachyfitsWarning, match="'JY/BEAM' were not rescaled"):
        smooth = image.smooth_sky(3.0)
    np.testing.assert_allclose(smooth[0].sum(), 1.0, rtol=1e-6)
    assert smooth.header.get("BMAJ") == cards.get("BMAJ")
    out = str(tmp_path / "smooth.fits")
    assert run(["smooth", str(tmp_path / "point.fits"), "--sky", "3", "-o", out]) == 0
    assert "were not rescaled" in capsys.readouterr().err
    for word in [
        key for key, value in cards.items() if isinstance(value, str) and key != "HISTORY"
    ]:
        with pytest.warns(tf.TachyfitsWarning, match=f"{word} = .* is ignored"):
            point(tmp_path, cards).smooth_sky(3.0)


def test_other_units_need_no_beam(tmp_path: Path) -> None:
    image = point(tmp_path, {"BUNIT": "K"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image.smooth_sky(3.0)
        point(tmp_path, {}).smooth_sky(3.0, update_beam=False)
