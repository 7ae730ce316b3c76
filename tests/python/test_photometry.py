"""Aperture photometry: against photutils, with backgrounds, errors, units and magnitudes."""

from __future__ import annotations

import math
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from numpy.typing import NDArray

import tachyfits as tf
from fitsbytes import primary
from realfiles import path_of

#: Square pixels of 1 arcsec.
SCALE = 1 / 3600
CARDS = {
    "CTYPE1": "RA---TAN", "CRVAL1": 40.0, "CDELT1": -SCALE, "CRPIX1": 30.0, "CUNIT1": "deg",
    "CTYPE2": "DEC--TAN", "CRVAL2": 20.0, "CDELT2": SCALE, "CRPIX2": 30.0, "CUNIT2": "deg",
}  # fmt: skip
PLACES = [(20.3, 30.8), (44.0, 12.5)]


def pixels(seed: int = 3) -> NDArray[np.float64]:
    y, x = np.indices((60, 64))
    values = 0.5 + 0.1 * np.random.default_rng(seed).normal(size=(60, 64))
    for number, (at_x, at_y) in enumerate(PLACES):
        values += (number + 2) * np.exp(-((x - at_x) ** 2 + (y - at_y) ** 2) / 8)
    return values


def image(values: NDArray[Any], unit: str = "MJy/sr", **more: Any) -> tf.Image:
    return tf.open(primary(values, [*{**CARDS, "BUNIT": unit, **more}.items()]))[0]


@pytest.mark.parametrize("method", ["exact", "center"])
def test_sums_backgrounds_and_errors_are_those_of_photutils(method: str) -> None:
    photutils = pytest.importorskip("photutils.aperture", reason="COMPARISONS LEFT OUT: photutils")
    values = pixels()
    apertures = photutils.CircularAperture(PLACES, 5.2)
    rings = photutils.CircularAnnulus(PLACES, 8.0, 12.0)
    sums = photutils.aperture_photometry(
        values, apertures, error=np.full(values.shape, 0.1), method=method
    )
    medians = photutils.ApertureStats(values, rings, sum_method="center").median
    areas = apertures.area_overlap(values, method=method)
    jansky = (1 * u.MJy / u.sr).to_value(u.Jy / u.arcsec**2)
    regions = [tf.Circle(x, y, 5.2) for x, y in PLACES]
    weights = "exact" if method == "exact" else None
    found = image(values).photometry(regions, background=(8, 12), noise=0.1, weights=weights)
    np.testing.assert_allclose(found.area, areas, rtol=1e-12)
    np.testing.assert_allclose(found.background, medians, rtol=1e-12)
    expected = (sums["aperture_sum"] - medians * areas) * jansky
    np.testing.assert_allclose(found.flux.to_value(u.Jy), expected, rtol=1e-5)
    plain = image(values).photometry(regions, noise=0.1, weights=weights)
    np.testing.assert_allclose(plain.flux.to_value(u.Jy), sums["aperture_sum"] * jansky, rtol=1e-5)
    np.testing.assert_allclose(
        plain.error.to_value(u.Jy), sums["aperture_sum_err"] * jansky, rtol=1e-5
    )
    assert np.isnan(plain.background).all()


@pytest.mark.parametrize("weights", ["exact", None])
def test_apertures_together_have_the_bits_of_each_alone(weights: Any) -> None:
    values = pixels()
    values[11, 40:46] = np.nan
    places = np.random.default_rng(4).uniform((-1, -1), (65, 61), (60, 2)).tolist()
    regions = [tf.Circle(x, y, 1.5 + number % 7) for number, (x, y) in enumerate(places)]
    together = image(values).photometry(regions, background=(8, 12), weights=weights)
    for number, region in enumerate(regions):
        alone = image(values).photometry(region, background=(8, 12), weights=weights)
        for name in ("flux", "error", "area", "background", "noise"):
            one, other = getattr(together, name)[number], getattr(alone, name)[0]
            np.testing.assert_array_equal(one, other, err_msg=f"{name} of {region}")


def test_errors_are_the_scatter_of_many_skies() -> None:
    regions = [tf.Circle(x, y, 4.0) for x, y in PLACES]
    fluxes, errors = [], []
    for seed in range(150):
        found = image(pixels(seed), "Jy").photometry(regions, background=(8, 12), weights=None)
        fluxes.append(found.flux.to_value(u.Jy))
        errors.append(found.error.to_value(u.Jy))
    scatter = np.std(fluxes, axis=0)
    np.testing.assert_allclose(np.mean(errors, axis=0), scatter, rtol=0.2)


def test_units_and_magnitudes() -> None:
    values = pixels()
    region = tf.Circle(*PLACES[0], 5.0)
    jansky = image(values).photometry(region, background=(8, 12), noise=0.1)
    milli = image(values).photometry(region, background=(8, 12), noise=0.1, unit="mJy")
    assert milli.flux.unit == u.mJy
    np.testing.assert_allclose(milli.flux.to_value(jansky.flux.unit), jansky.flux.value)
    np.testing.assert_allclose(milli.error.to_value(jansky.error.unit), jansky.error.value)
    magnitude = image(values).photometry(
        region, background=(8, 12), noise=0.1 * u.MJy / u.sr, unit="mag(AB)"
    )
    expected = -2.5 * np.log10(jansky.flux.to_value(u.Jy) / 3630.7805)
    np.testing.assert_allclose(magnitude.flux.value, expected, atol=1e-6)
    relative = (jansky.error / jansky.flux).to_value("")
    np.testing.assert_allclose(magnitude.error.value, 2.5 / math.log(10) * relative)
    negative = image(-values).photometry(region, noise=0.1, unit="mag(AB)")
    assert np.isnan(negative.flux.value).all()
    # A millijansky per square arcsecond is another number of the same flux.
    other = image(values * (1 * u.MJy / u.sr).to_value("mJy/arcsec2"), "mJy/arcsec2")
    np.testing.assert_allclose(
        other.photometry(region, background=(8, 12), unit="mJy").flux.value, milli.flux.value
    )


def test_noise_is_alike_within_a_beam() -> None:
    values = pixels()
    region = tf.Circle(*PLACES[1], 6.0)
    beam = {"BMAJ": 4 * SCALE, "BMIN": 4 * SCALE, "BPA": 0.0}
    found = image(values, "Jy/beam", **beam).photometry(region, noise="100 mJy/beam")
    per_beam = math.pi * 4 * 4 / (4 * math.log(2))
    expected = 0.1 * math.sqrt(36 * math.pi * per_beam) / per_beam
    np.testing.assert_allclose(found.error.to_value(u.Jy), expected, rtol=1e-5)
    sums = image(values, "Jy/beam", **beam).flux(region, weights="exact")
    np.testing.assert_allclose(found.flux.to_value(u.Jy), [sums.to_value(u.Jy)], rtol=1e-12)


def test_undefined_pixels_are_left_out() -> None:
    values = pixels()
    values[30:32, 18:22] = np.nan
    region = tf.Circle(*PLACES[0], 5.0)
    found = image(values).photometry(region, background=tf.region("annulus(21.3,31.8,8,12)"))
    assert found.area[0] < math.pi * 25 - 6
    nothing = image(np.full((60, 64), np.nan)).photometry(region, background=(8, 12))
    assert np.isnan(nothing.flux.value).all()
    table = found.to_astropy()
    assert table["flux"].unit == found.flux.unit
    assert found.to_dict()["region"] == found.labels


def test_invalid_requests_are_refused() -> None:
    part = image(pixels())
    region = tf.Circle(*PLACES[0], 5.0)
    with pytest.raises(tf.UsageError, match="3 backgrounds for 1 regions"):
        part.photometry(region, background=[region] * 3)
    with pytest.raises(tf.UsageError, match="invalid radii 12 and 8"):
        part.photometry(region, background=(12, 8))
    with pytest.raises(tf.UsageError, match="invalid noise"):
        part.photometry(region, noise=-1)
    with pytest.raises(tf.UsageError, match="photometry is of one plane"):
        tf.open(primary(np.ones((3, 4, 5)), [*CARDS.items(), ("BUNIT", "Jy")]))[0].photometry(
            region
        )


@pytest.mark.real_files
def test_a_source_of_a_real_image() -> None:
    photutils = pytest.importorskip("photutils.aperture", reason="COMPARISONS LEFT OUT: photutils")
    picture = tf.open(path_of("data/images/spitzer_example_image.fits")).image()
    values = picture.read(dtype="float64")
    at = np.unravel_index(np.nanargmax(values[100:400, 100:900]), (300, 800))
    # Programs differ in pixels whose centre is on the border.
    place = (float(at[1] + 100.2), float(at[0] + 100.1))
    found = picture.photometry(tf.Circle(*place, 6), background=(10, 16), unit="mJy")
    sums = photutils.aperture_photometry(values, photutils.CircularAperture(place, 6))
    ring = photutils.ApertureStats(
        values, photutils.CircularAnnulus(place, 10, 16), sum_method="center"
    )
    total = sums["aperture_sum"][0] - ring.median * math.pi * 36
    area = float(picture.to("MJy/pix")[200, 200] / picture[200, 200]) * u.MJy
    np.testing.assert_allclose(
        found.flux.to_value("mJy"), (total * area).to_value("mJy"), rtol=1e-4
    )
