"""The same numbers as spectral-cube, radio_beam and specutils, on real cubes and on made ones.

Peers that compute in float32 agree to 1e-6, others to 1e-12; docs/guides/units.md has the rest.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest

import tachyfits as tf
from realfiles import path_of
from test_beams import sources
from test_units import cube

pytestmark = pytest.mark.once
spectral_cube = pytest.importorskip("spectral_cube", reason="COMPARISONS LEFT OUT: spectral_cube")
radio_beam = pytest.importorskip("radio_beam", reason="COMPARISONS LEFT OUT: radio_beam")

REST = 1.420405752 * u.GHz
OPTICAL = {"rest": REST, "convention": "optical"}


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def galaxy() -> tf.Image:
    return tf.open(path_of("data/cubes/ngc6946.fits"))[0]


@pytest.fixture(scope="module")
def theirs(galaxy: tf.Image) -> Any:
    """The same cube with exact float64 pixels: astropy scales 16-bit pixels in float32."""
    cube = spectral_cube.SpectralCube.read(path_of("data/cubes/ngc6946.fits"))
    exact = spectral_cube.SpectralCube(
        galaxy.read() * cube.unit, wcs=cube.wcs, beam=cube.beam, meta=cube.meta
    )
    return exact.with_spectral_unit(u.Hz, rest_value=REST, velocity_convention="optical")


@pytest.mark.parametrize("unit", ["K", "MJy/sr", "Jy/pixel"])
def test_a_real_cube_has_the_values_of_spectral_cube(
    galaxy: tf.Image, theirs: Any, unit: str
) -> None:
    expected = theirs.to(u.Unit(unit)).filled_data[:].value
    # Pixels are rounded to float32, once; reductions do not round before.
    found = galaxy.to(unit, **OPTICAL).read(dtype="float64")
    np.testing.assert_allclose(found, expected, rtol=2**-24)
    peaks = galaxy.collapse("max", unit=unit, **OPTICAL).values
    np.testing.assert_allclose(peaks, np.nanmax(expected, axis=0), rtol=1e-12)
    spectrum = galaxy.spectrum(unit=unit, **OPTICAL).values
    np.testing.assert_allclose(spectrum, np.nanmean(expected, axis=(1, 2)), rtol=1e-12)


def test_pixels_of_16_bits_differ_where_astropy_scales_them_in_float32(galaxy: tf.Image) -> None:
    """CFITSIO and the Standard scale in float64; the peer differs near zero."""
    with tf.open(path_of("data/cubes/ngc6946.fits"))[0].file as file:
        stored = file[0].read(dtype="raw").astype("f8")
        scaling = file[0].scaling
        np.testing.assert_array_equal(
            file[0].read(dtype="float64"), np.where(
                stored == scaling.blank, np.nan, stored * scaling.bscale + scaling.bzero
            ),
        )  # fmt: skip
    peer = spectral_cube.SpectralCube.read(path_of("data/cubes/ngc6946.fits"))
    apart = np.abs(peer.filled_data[:].value - galaxy.read())
    assert 0 < np.nanmax(apart) < 1e-7 * float(galaxy.max())


def test_a_moment_in_kelvins_is_that_of_spectral_cube(galaxy: tf.Image, theirs: Any) -> None:
    kelvin = theirs.to(u.K).with_spectral_unit(
        u.km / u.s, rest_value=REST, velocity_convention="optical"
    )
    expected = kelvin.moment(order=0)
    found = galaxy.moment(0, unit="K, km/s", **OPTICAL)
    assert found.unit == "K km s-1"
    # spectral-cube has one width for all channels; this axis has equal steps of velocity.
    np.testing.assert_allclose(found.values, expected.to_value("K km/s"), rtol=1e-12)


def test_the_flux_of_a_region_is_its_sum_by_radio_beam(galaxy: tf.Image, theirs: Any) -> None:
    region = tf.Circle(50, 50, 20)
    beam = radio_beam.Beam.from_fits_header(galaxy.header.to_astropy())
    pixel = abs(galaxy.header["CDELT1"] * galaxy.header["CDELT2"]) * u.deg**2
    sums = galaxy.spectrum(region, statistic="sum").values
    expected = sums * float(pixel / beam.sr)
    found = galaxy.spectrum(region, statistic="flux").values
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_beams_have_the_solid_angle_and_the_factor_of_radio_beam(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    beam = radio_beam.Beam.from_fits_header(image.header.to_astropy())
    assert image.beam is not None
    assert image.beam.solid_angle == pytest.approx(beam.sr.to_value(u.sr), rel=1e-12)
    factor = beam.jtok(1e11 * u.Hz).to_value(u.K)
    np.testing.assert_allclose(image.to("K")[0], image[0] * factor, rtol=1e-12)


TARGETS = [(15.0, 12.0, 80.0), (20.0, 20.0, 0.0), (12.0, 11.0, 30.0)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("f8", 1e-12), ("f4", 1e-6)])
def test_a_cube_is_convolved_as_by_spectral_cube(
    tmp_path: Path, target: tuple[float, float, float], dtype: str, tolerance: float
) -> None:
    sources(tmp_path / "s.fits", [(9.0, 6.0, 30.0)], dtype=dtype)
    check_convolved(tmp_path / "s.fits", target, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [("f8", 1e-12), ("f4", 1e-6)])
def test_channels_of_different_beams_are_convolved_as_by_spectral_cube(
    tmp_path: Path, dtype: str, tolerance: float
) -> None:
    beams = [(9.0, 6.0, 30.0), (7.0, 7.0, 0.0), (10.0, 5.0, 140.0)]
    sources(tmp_path / "s.fits", beams, dtype=dtype)
    check_convolved(tmp_path / "s.fits", (16.0, 14.0, 100.0), tolerance)


def check_convolved(path: Path, target: tuple[float, float, float], tolerance: float) -> None:
    """Compare with the peer, away from edges, in parts of the peak; NaN pixels are filled by it."""
    major, minor, angle = target
    beam = radio_beam.Beam(major * u.arcsec, minor * u.arcsec, angle * u.deg)
    peer = spectral_cube.SpectralCube.read(str(path)).convolve_to(beam).filled_data[:].value
    with tf.open(path) as file:
        found = file[0].smooth(beam=beam, edge="zero").read()
    inside = np.s_[:, 25:-25, 25:-25]
    scale = float(np.abs(peer).max())
    np.testing.assert_allclose(found[inside], peer[inside], rtol=0, atol=tolerance * scale)


def test_specutils_integrates_and_converts_to_the_same(tmp_path: Path) -> None:
    specutils = pytest.importorskip("specutils", reason="COMPARISONS LEFT OUT: specutils")
    from specutils.analysis import line_flux

    assert specutils is not None
    image = cube(tmp_path / "a.fits", "Jy")
    spectrum = image.spectrum(statistic="sum", unit="mJy")
    given = spectrum.to_astropy()
    # It adds up bins, as a moment of order 0 does.
    np.testing.assert_allclose(
        line_flux(given).to_value("mJy Hz"), spectrum.values.sum() * 5e9, rtol=1e-12
    )
    per_wavelength = image.spectrum(statistic="sum", unit="erg/s/cm2/Angstrom")
    flux = (
        given.new_flux_unit(u.Unit("erg / (s cm2 AA)"))
        if hasattr(given, "new_flux_unit")
        else (given.with_flux_unit(u.Unit("erg / (s cm2 AA)")))
    )
    np.testing.assert_allclose(per_wavelength.values, flux.flux.value, rtol=1e-12)


@pytest.mark.real_files
def test_a_cube_of_muse_is_converted_as_by_astropy() -> None:
    image = tf.open(path_of("data/cubes/minicube.fits"))["DATA"]
    part = np.s_[1000:1010, 20, 20]
    found = image.to("uJy")[part]
    axis = image.world_axis("z", slice(1000, 1010))
    hertz = image.select(channels=slice(1000, 1010)).spectrum(unit="Hz").axis.values * u.Hz
    # The axis is of wavelengths in air; flux densities go by the frequency.
    assert axis.name.startswith("AWAV")
    expected = (image[part] * u.Unit("1e-20 erg / (s cm2 AA)")).to_value(
        "uJy", u.spectral_density(hertz)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)
