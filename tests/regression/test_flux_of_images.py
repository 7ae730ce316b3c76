"""The flux of a region: of images of two axes as of cubes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from tachyfits.cli import run

CARDS: dict[str, Any] = {
    "CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 10.0, "CRVAL2": -30.0, "CRPIX1": 4.0,
    "CRPIX2": 4.0, "CDELT1": -1e-4, "CDELT2": 1e-4, "BUNIT": "MJy/sr",
}  # fmt: skip
PIXEL = np.radians(1e-4) ** 2


def image_of(path: Path, data: np.ndarray, **cards: Any) -> tf.Image:
    fits.PrimaryHDU(data, fits.Header(CARDS | cards)).writeto(path, overwrite=True)
    return tf.open(path)[0]


@pytest.mark.parametrize(
    ("unit", "factor", "total"),
    [
        ("MJy/sr", PIXEL * 1e6, "MJy"), ("Jy/pixel", 1.0, "Jy"), ("Jy", 1.0, "Jy"),
        ("Jy/beam", PIXEL / (3e-4 * 2e-4 * np.radians(1) ** 2 * np.pi / 4 / np.log(2)), "Jy"),
    ],
)  # fmt: skip
def test_an_image_has_the_flux_of_its_pixels(
    tmp_path: Path, unit: str, factor: float, total: str
) -> None:
    data = np.arange(64.0).reshape(8, 8)
    image = image_of(tmp_path / "i.fits", data, BUNIT=unit, BMAJ=3e-4, BMIN=2e-4, BPA=0.0)
    mask = image.region_mask("circle(4,4,1.5)")
    flux = image.flux("circle(4,4,1.5)", unit="Jy")
    assert flux.unit == u.Jy
    np.testing.assert_allclose(flux.value, data[mask].sum() * factor, rtol=1e-12)
    assert image.flux("circle(4,4,1.5)").unit == u.Unit(total)
    number = image.select("circle(4,4,1.5)").reduce("flux")
    assert number == image.flux("circle(4,4,1.5)").value
    both = image.flux(["circle(4,4,1.5)", "point(1,1)"], unit="mJy")
    assert both.shape == (2,)
    np.testing.assert_allclose(both[0], flux)


def test_the_flux_of_each_channel_is_that_of_a_spectrum(tmp_path: Path) -> None:
    data = np.random.default_rng(1).normal(1, 1, (3, 8, 8)).astype("f4")
    data[1] = np.nan
    cube = image_of(tmp_path / "c.fits", data, CTYPE3="FREQ", CRVAL3=1e11, CDELT3=1e9, BUNIT="K")
    for weights in (None, "exact"):
        region = "circle(4,4,2.3)"
        spectrum = cube.spectrum(region, statistic="flux", weights=weights)
        found = cube.flux(region, weights=weights)
        assert found.unit == u.Jy
        np.testing.assert_allclose(found.value, spectrum.values, rtol=1e-12)
        assert np.isnan(found.value[1])
    assert cube.reduce("flux", "xy", keepdims=True).shape == (3, 1, 1)
    with pytest.raises(tf.UsageError, match="sum over the two axes of the sky alone"):
        cube.reduce("flux")
    with pytest.raises(tf.UsageError, match="not over NAXIS1"):
        cube.reduce("flux", "x")


def test_what_has_no_flux_says_what_to_do(tmp_path: Path) -> None:
    image = image_of(tmp_path / "i.fits", np.ones((8, 8)))
    with pytest.raises(tf.UsageError, match=r"one flux, and no spectrum(.|\n)*flux\(region\)"):
        image.spectrum("circle(4,4,1)", statistic="flux")
    velocity = image_of(tmp_path / "v.fits", np.ones((8, 8)), BUNIT="km/s")
    with pytest.raises(tf.UsageError, match="do not add up to a flux"):
        velocity.flux()


def test_the_command_line_shows_the_flux_with_its_unit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image_of(tmp_path / "i.fits", np.ones((8, 8)))
    words = ["stats", str(tmp_path / "i.fits"), "--flux"]
    assert run(words) == 0
    line = capsys.readouterr().out.splitlines()[-1].split()
    assert (line[0], line[2]) == ("flux", "MJy")
    assert run([*words, "--region", "circle(4,4,1)", "--region", "point(1,1)", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["flux_unit"] == "MJy"
    np.testing.assert_allclose([row["flux"] for row in answer["statistics"]], [5 * PIXEL, PIXEL])
