"""Real cubes have the same numbers as in the packages of the field that compute them, too.

To 1e-12 of the largest value where the peer computes in float64, else to 1e-6. Where a peer
computes otherwise, the test says how; docs/guides/units.md has the list.
"""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import astropy.units as u
import numpy as np
import pytest

import tachyfits as tf
from realfiles import path_of

pytestmark = [pytest.mark.once, pytest.mark.real_files]
spectral_cube = pytest.importorskip("spectral_cube", reason="COMPARISONS LEFT OUT: spectral_cube")
regions = pytest.importorskip("regions", reason="COMPARISONS LEFT OUT: regions")

#: Cubes, and the HDU: scaled integers with optical velocities in an old spelling, float32 without a
#: unit, four axes with an unknown unit, wavelengths in air.
CUBES = {
    "ngc6946.fits": 0,
    "l1448_13co.fits": 0,
    "NGC4047.co.smo7gain.fits.gz": 0,
    "minicube.fits": 1,
}
#: Tolerances of results in float32, and of sums of 10^4 pixels in float64.
SINGLE, DOUBLE = 1e-6, 1e-12


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@functools.cache
def opened(name: str) -> tuple[tf.Image, Any, Any, Any]:
    """Return a cube, its pixels (z, y, x) in float64, and the peer's as read and with these."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = path_of(f"data/cubes/{name}")
        image = tf.open(path)[CUBES[name]]
        peer = spectral_cube.SpectralCube.read(path, hdu=CUBES[name])
        pixels = image.read(dtype="float64").reshape(image.shape[-3:])
        exact = spectral_cube.SpectralCube(pixels * u.one, wcs=peer.wcs, meta=peer.meta)
    return image, pixels, peer, exact


def close(found: Any, expected: Any, tolerance: float = DOUBLE) -> None:
    """Compare in parts of the largest value; NaN are at the same places."""
    scale = float(np.nanmax(np.abs(expected)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def pol_of(image: tf.Image) -> dict[str, str]:
    return {"pol": "I"} if image.ndim == 4 else {}


@pytest.mark.parametrize("name", CUBES)
def test_spectra_planes_and_moments_are_those_of_spectral_cube(name: str) -> None:
    whole, _pixels, peer, exact = opened(name)
    image = whole.select(**pol_of(whole))
    # As the file is read: pixels in float32, and means of them in it.
    close(image.spectrum().values, peer.mean(axis=(1, 2)).value, SINGLE)
    close(image.collapse("max").values, peer.max(axis=0).value, SINGLE)
    close(image.spectrum().values, exact.mean(axis=(1, 2)).value)
    np.testing.assert_array_equal(image.collapse("max").values, exact.max(axis=0).value)
    axis = image.world_axis("z")
    unit = u.Unit(axis.unit)
    close(axis.values, exact.spectral_axis.to_value(unit))
    for order, of in ((0, exact.unit * unit), (1, unit)):
        close(image.moment(order).values, exact.moment(order=order).to_value(of))
    # Order 2 is a width here.
    close(image.moment(2).values, exact.linewidth_sigma().to_value(unit))


@pytest.mark.parametrize("name", CUBES)
def test_channels_between_two_values_are_those_of_spectral_cube(name: str) -> None:
    image, pixels, _, exact = opened(name)
    ends = exact.spectral_axis[5], exact.spectral_axis[11]
    part = image.cutout(channels=slice(*ends))
    slab = exact.spectral_slab(*ends).filled_data[:].value
    np.testing.assert_array_equal(part.read(dtype="float64").reshape(slab.shape), slab)
    np.testing.assert_array_equal(slab, pixels[5:12])


@pytest.mark.parametrize("name", CUBES)
def test_a_circle_on_the_sky_is_that_of_regions(name: str) -> None:
    image, pixels, _, exact = opened(name)
    sky = image.coordinates.sky
    height, width = image.shape[-2:]
    at = sky.wcs.pixel_to_world(width * 0.47 + 0.3, height * 0.52 - 0.2)
    circle = regions.CircleSkyRegion(at, 6.37 * sky.scales[0] * u.deg)
    y, x = np.indices((height, width))
    theirs = circle.to_pixel(sky.wcs).contains(regions.PixCoord(x, y))
    mask = image.region_mask(circle)
    inside = sky.wcs.pixel_to_world(x, y).separation(at) < circle.radius
    np.testing.assert_array_equal(mask, inside)
    spectrum = image.select(circle, **pol_of(image)).spectrum().values
    close(spectrum, np.nanmean(pixels[:, inside], axis=1))
    if name == "l1448_13co.fits":
        # 30 degrees from the reference point of SFL a circle is an ellipse; the peer has a circle.
        assert (mask != theirs).sum() == 2
        return
    np.testing.assert_array_equal(mask, theirs)
    part = exact.subcube_from_regions([circle])
    close(spectrum, part.mean(axis=(1, 2)).value)
    assert image.cutout(circle).shape[-3:] == part.shape


@pytest.mark.parametrize("name", CUBES)
def test_sums_of_shares_of_pixels_are_those_of_photutils(name: str) -> None:
    aperture = pytest.importorskip("photutils.aperture", reason="COMPARISONS LEFT OUT: photutils")
    image, pixels, _, _ = opened(name)
    channel = len(pixels) // 2
    plane = np.nan_to_num(pixels[channel])
    at = (pixels.shape[2] * 0.47 + 0.3, pixels.shape[1] * 0.52 - 0.2)
    ellipse = tf.Ellipse(*at, 8.1, 4.2, math.degrees(0.7))
    shapes = [
        (aperture.CircularAperture(at, 7.3), tf.Circle(*at, 7.3)),
        (aperture.EllipticalAperture(at, 8.1, 4.2, 0.7), ellipse),
    ]
    for theirs, ours in shapes:
        expected = aperture.aperture_photometry(plane, theirs, method="exact")["aperture_sum"][0]
        chosen = image.select(ours, **pol_of(image))
        found = chosen.spectrum(weights="exact", statistic="sum")
        np.testing.assert_allclose(found.values[channel], expected, rtol=DOUBLE)
    # Its rectangles are 32 x 32 points of a pixel, ours the area.
    box = aperture.RectangularAperture(at, 9.3, 5.1, 0.4)
    weights = aperture.RectangularAperture.to_mask(box, method="exact").to_image(plane.shape)
    assert abs(weights.sum() - 9.3 * 5.1) > 1e-5
    ones = tf.evaluate("a * 0 + 1", a=np.ones(pixels.shape[1:]))
    area = ones.select(tf.Box(*at, 9.3, 5.1, math.degrees(0.4))).sum(weights="exact")
    np.testing.assert_allclose(area, 9.3 * 5.1, rtol=DOUBLE)
    chosen = image.select(tf.Box(*at, 9.3, 5.1, math.degrees(0.4)), **pol_of(image))
    found = chosen.spectrum(weights="exact", statistic="sum")
    assert abs(found.values[channel] - (weights * plane).sum()) < 1e-3 * np.abs(plane).max()


@pytest.mark.parametrize("name", CUBES)
def test_a_cut_along_a_line_is_that_of_pvextractor(name: str) -> None:
    pvextractor = pytest.importorskip("pvextractor", reason="COMPARISONS LEFT OUT: pvextractor")
    image, pixels, _, _ = opened(name)
    begin, end = np.array([5.2, 6.1]), np.array([30.7, 33.3])
    line = pvextractor.Path([tuple(begin), tuple(end)])
    theirs = pvextractor.extract_pv_slice(pixels, line, spacing=1.0, order=1).data
    # Its samples are at the centres of intervals, ours begin at the first point.
    along = (end - begin) / np.hypot(*(end - begin))
    ours = np.squeeze(image.pv([tuple(begin + along / 2), tuple(end)]).read())
    # float32 pixels give float32 samples.
    close(ours, theirs, SINGLE)


@pytest.mark.parametrize("name", ["ngc6946.fits", "minicube.fits"])
def test_the_flux_of_a_line_is_that_of_specutils(name: str) -> None:
    analysis = pytest.importorskip("specutils.analysis", reason="COMPARISONS LEFT OUT: specutils")
    image = opened(name)[0]
    spectrum = image.spectrum(tf.Circle(20, 20, 9))
    given = spectrum.to_astropy()
    axis = image.world_axis("z")
    close(given.spectral_axis.to_value(axis.unit), axis.values)
    step = abs(np.diff(axis.values).mean())
    found = analysis.line_flux(given)
    unit = given.flux.unit * u.Unit(axis.unit)
    np.testing.assert_allclose(found.to_value(unit), spectrum.values.sum() * step, rtol=DOUBLE)
    centre = analysis.centroid(given)
    expected = (spectrum.values * axis.values).sum() / spectrum.values.sum()
    np.testing.assert_allclose(centre.to_value(axis.unit), expected, rtol=DOUBLE)


@pytest.mark.parametrize("name", ["ngc6946.fits", "NGC4047.co.smo7gain.fits.gz"])
def test_the_beam_is_that_of_radio_beam(name: str) -> None:
    radio_beam = pytest.importorskip("radio_beam", reason="COMPARISONS LEFT OUT: radio_beam")
    image, pixels, _, _ = opened(name)
    if image.header.get("BMAJ") is None:
        theirs = radio_beam.Beam.from_fits_history(image.header.to_astropy())
    else:
        theirs = radio_beam.Beam.from_fits_header(image.header.to_astropy())
    np.testing.assert_allclose(image.beam.solid_angle, theirs.sr.value, rtol=DOUBLE)
    if image.unit == "JY/BEAM":
        found = tf.evaluate("a", a=image, dtype="float64").to("Jy/beam").with_beam(theirs)
        kelvin = found.to("K", frequency="1.42 GHz")[10]
        close(kelvin, pixels[10] * theirs.jtok(1.42 * u.GHz).value)
