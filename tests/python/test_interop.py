"""Objects of other libraries of the field, there and back."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits
from astropy.nddata import CCDData, NDData

import tachyfits as tf
from test_units import beams_cube, cube

pytestmark = pytest.mark.once


def test_specutils_spectra_go_there_and_back(tmp_path: Path) -> None:
    spectrum = cube(tmp_path / "a.fits").spectrum(unit="km/s")
    given = spectrum.to_astropy()
    assert given.flux.unit == u.Jy / u.beam
    np.testing.assert_array_equal(given.flux.value, spectrum.values)
    np.testing.assert_array_equal(given.spectral_axis.to_value("km/s"), spectrum.axis.values)
    # The rest frequency goes along: specutils finds the frequencies of the file.
    hertz = given.with_spectral_axis_unit(u.Hz) if hasattr(given, "with_spectral_axis_unit") else (
        given.with_spectral_unit(u.Hz)
    )  # fmt: skip
    np.testing.assert_allclose(hertz.spectral_axis.value, 1e11 + 5e9 * np.arange(4), rtol=1e-12)
    back = tf.Spectrum.from_specutils(given)
    assert (back.unit, back.axis.name, back.axis.unit) == ("Jy beam-1", "VRAD", "km s-1")
    np.testing.assert_array_equal(back.values, spectrum.values)
    back.write(tmp_path / "s.fits")
    again = tf.open(tmp_path / "s.fits")[0]
    np.testing.assert_allclose(again.world_axis("x").values, spectrum.axis.values, rtol=1e-12)
    np.testing.assert_allclose(back.to("K").values, spectrum.to("K").values, rtol=1e-9)


def test_a_spectrum_of_specutils_alone_gets_coordinates(tmp_path: Path) -> None:
    specutils = pytest.importorskip("specutils", reason="COMPARISONS LEFT OUT: specutils")
    kind = getattr(specutils, "Spectrum", None) or specutils.Spectrum1D
    given = kind(
        flux=np.array([1.0, 2.0, 3.0]) * u.mJy,
        spectral_axis=np.array([5000.0, 5001.0, 5002.0]) * u.AA,
        mask=np.array([False, True, False]),
    )
    spectrum = tf.Spectrum.from_specutils(given)
    assert (spectrum.axis.name, spectrum.axis.unit) == ("WAVE", "Angstrom")
    np.testing.assert_array_equal(spectrum.values, [1.0, np.nan, 3.0])
    assert spectrum.header["CDELT1"] == 1.0
    several = kind(flux=np.ones((2, 5)) * u.Jy, spectral_axis=np.arange(5.0) * u.GHz)
    with pytest.raises(tf.UsageError, match="expected one axis"):
        tf.Spectrum.from_specutils(several)


def test_a_plane_goes_to_ccddata_and_back(tmp_path: Path) -> None:
    plane = cube(tmp_path / "a.fits").plane(np.s_[1])
    data = plane.to_astropy()
    assert isinstance(data, CCDData)
    assert data.unit == u.Jy / u.beam
    np.testing.assert_array_equal(data.mask, np.isnan(plane.values))
    np.testing.assert_allclose(data.wcs.wcs.crval, plane.wcs.wcs.crval)
    back = tf.Plane.from_nddata(data)
    np.testing.assert_array_equal(back.values, plane.values)
    assert (back.unit, back.header["BMAJ"]) == ("Jy beam-1", plane.header["BMAJ"])
    bare = tf.Plane.from_nddata(NDData(np.eye(2), mask=np.eye(2) > 0))
    np.testing.assert_array_equal(bare.values, [[np.nan, 0.0], [0.0, np.nan]])
    with pytest.raises(tf.UsageError, match="expected two axes"):
        tf.Plane.from_nddata(NDData(np.ones(3)))


def test_a_plane_goes_to_a_projection_and_back(tmp_path: Path) -> None:
    plane = cube(tmp_path / "a.fits").collapse("max")
    projection = plane.to_projection()
    assert projection.unit == u.Jy / u.beam
    assert projection.beam.major.to_value("arcsec") == pytest.approx(9.0)
    # The same physics, but a projection has the rest frequency alone.
    kelvin = plane.to("K", frequency="115 GHz")
    np.testing.assert_allclose(projection.to(u.K).value, kelvin.values, rtol=1e-12)
    back = tf.Plane.from_projection(projection)
    np.testing.assert_array_equal(back.values, plane.values)
    assert back.unit == "Jy beam-1"
    assert back.to("K", frequency="115 GHz").header["BUNIT"] == "K"


def test_a_cube_goes_to_spectral_cube_without_reading(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    with tf.reports() as costs:
        given = image.to_spectral_cube()
    assert sum(cost.bytes for cost in costs) < image.size * 8
    assert given.unit == u.Jy / u.beam
    np.testing.assert_array_equal(given.filled_data[:].value, image.read())
    np.testing.assert_allclose(given.spectral_axis.value, image.world_axis("z").values, rtol=1e-12)
    np.testing.assert_allclose(given.to(u.K).filled_data[:].value, image.to("K").read(), rtol=1e-12)
    back = tf.Image.from_spectral_cube(given)
    np.testing.assert_array_equal(back.read(), image.read())
    assert back.beam.major == pytest.approx(9 / 3600)


def test_beams_by_channel_go_to_spectral_cube_and_back(tmp_path: Path) -> None:
    image = beams_cube(tmp_path / "b.fits")
    given = image.to_spectral_cube()
    np.testing.assert_allclose(given.beams.major.to_value("deg"), image.beams.major, rtol=1e-7)
    back = tf.Image.from_spectral_cube(given)
    np.testing.assert_allclose(back.beams.minor, image.beams.minor, rtol=1e-6)
    np.testing.assert_allclose(back.to("K").read(), image.to("K").read()[0], rtol=1e-6)


def test_an_image_goes_to_xarray_and_back(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    with tf.reports() as costs:
        array = image.to_xarray()
        part = array.sel(freq=slice(1.04e11, 1.12e11))[:, 1:, ::2]
    assert sum(cost.bytes for cost in costs) == 0
    assert (array.dims, array.attrs["units"]) == (("freq", "y", "x"), "Jy/beam")
    np.testing.assert_array_equal(array.values, image.read())
    np.testing.assert_array_equal(array.freq.values, image.world_axis("z").values)
    back = tf.Image.from_xarray(part)
    np.testing.assert_array_equal(back.read(), image[1:3, 1:, ::2])
    here, there = back.wcs.pixel_to_world_values(1, 1, 0), image.wcs.pixel_to_world_values(2, 2, 1)
    np.testing.assert_allclose(here, there, rtol=1e-12)
    np.testing.assert_allclose(back.to("K").read(), image.to("K")[1:3, 1:, ::2], rtol=1e-12)
    plane = tf.Image.from_xarray(array[2])
    assert plane.wcs.naxis == 2
    with pytest.raises(tf.UsageError, match="are of another array"):
        tf.Image.from_xarray(array.assign_coords(freq=array.freq * 2))


def test_beams_of_channels_are_not_lost_silently(tmp_path: Path) -> None:
    with pytest.warns(tf.TachyfitsWarning, match="table BEAMS. are left out of the array"):
        array = beams_cube(tmp_path / "b.fits").to_xarray()
    assert tf.Image.from_xarray(array).beam is None


def test_planes_and_spectra_go_to_xarray(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    spectrum = image.spectrum().to_xarray()
    assert (spectrum.dims, spectrum.freq.attrs["units"]) == (("freq",), "Hz")
    plane = image.collapse("max").to_xarray()
    assert (plane.dims, plane.shape, plane.name) == (("y", "x"), (3, 5), "max")


WAVES = [4.9, 4.95, 5.5, 5.6]


@pytest.fixture
def tabulated(tmp_path: Path) -> tf.Image:
    made = fits.Header()
    for keyword, value in {
        "CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CTYPE3": "WAVE-TAB", "CRVAL3": 1.0,
        "CRPIX3": 1.0, "CDELT1": -3e-5, "CDELT2": 3e-5, "CDELT3": 1.0, "CUNIT3": "um",
        "PS3_0": "WCS-TABLE", "PS3_1": "wavelength", "BUNIT": "MJy/sr",
    }.items():  # fmt: skip
        made[keyword] = value
    table = np.zeros(1, dtype=[("wavelength", "f8", (4, 1))])
    table["wavelength"][0, :, 0] = WAVES
    hdus = [fits.PrimaryHDU(np.arange(256.0).reshape(4, 8, 8), made)]
    fits.HDUList([*hdus, fits.BinTableHDU(table, name="WCS-TABLE")]).writeto(tmp_path / "t.fits")
    return tf.open(tmp_path / "t.fits")[0]


def test_tabulated_coordinates_go_to_xarray_and_back(tabulated: tf.Image) -> None:
    array = tabulated.to_xarray()
    assert array.dims == ("wave", "y", "x")
    np.testing.assert_allclose(array.wave.values, WAVES)
    assert array.wave.attrs == {"units": "um", "ctype": "WAVE-TAB"}
    part = array.isel(wave=[0, 2, 3], y=slice(2, 6))
    for given, waves in ((array, WAVES), (part, [4.9, 5.5, 5.6])):
        back = tf.Image.from_xarray(given)
        np.testing.assert_array_equal(back.read(), given.values)
        np.testing.assert_allclose(back.world_axis("z").values, waves)
        assert back.world_axis("z").unit == "um"
        assert back.header["BUNIT"] == "MJy/sr"
    np.testing.assert_allclose(
        tf.Image.from_xarray(part).wcs.celestial.pixel_to_world_values(1, 1),
        tabulated.wcs.celestial.pixel_to_world_values(1, 3),
        rtol=1e-12,
    )
    plane = tf.Image.from_xarray(array[1])
    np.testing.assert_array_equal(plane.read(), tabulated[1])


def test_tabulated_spectra_keep_their_coordinates(tabulated: tf.Image, tmp_path: Path) -> None:
    spectrum = tabulated.spectrum()
    array = spectrum.to_xarray()
    np.testing.assert_allclose(array.wave.values, WAVES)
    np.testing.assert_allclose(tf.Image.from_xarray(array).world_axis("x").values, WAVES)
    spectrum.write(tmp_path / "s.fits")
    tf.write(tmp_path / "w.fits", spectrum, name="SPECTRUM")
    tf.write(tmp_path / "l.fits", [spectrum, spectrum[1:]])
    np.testing.assert_allclose(tf.open(tmp_path / "s.fits")[0].world_axis("x").values, WAVES)
    assert tf.open(tmp_path / "w.fits")["SPECTRUM"].world_axis("x").unit == "um"
    with tf.open(tmp_path / "l.fits") as file:
        np.testing.assert_allclose(file[0].world_axis("x").values, WAVES)
        np.testing.assert_allclose(file[1].world_axis("x").values, WAVES[1:])
    micron = tf.Spectrum.from_specutils(spectrum.to_astropy())
    micron.write(tmp_path / "u.fits")
    np.testing.assert_allclose(tf.open(tmp_path / "u.fits")[0].world_axis("x").values, WAVES)


def test_a_spectrum_whose_coordinates_no_file_holds_warns(tmp_path: Path) -> None:
    spectrum = cube(tmp_path / "a.fits").spectrum()
    axis = tf.WorldAxis("LAMBDA", "nm", np.array([1.0, 2.0, 4.0, 8.0]))
    bare = replace(spectrum, axis=axis, header=tf.Header([]))
    with pytest.warns(tf.TachyfitsWarning, match="a table of them, found 'LAMBDA'"):
        bare.write(tmp_path / "s.fits")


@pytest.mark.parametrize(
    ("cards", "hertz"),
    [
        ({"RESTFRQ": 115271201800}, 115271201800.0),
        ({"RESTFRQ": None, "RESTFREQ": 115271201800.5}, 115271201800.5),
        ({"RESTFRQ": None, "RESTWAV": 2.12e-6}, 299792458 / 2.12e-6),
        ({"RESTFRQ": 0, "RESTWAV": 2}, 299792458 / 2),
    ],
)
def test_specutils_gets_the_rest_value_of_any_card(
    tmp_path: Path, cards: dict[str, Any], hertz: float
) -> None:
    image = cube(tmp_path / "a.fits")
    made = image.header.to_astropy()
    for keyword, value in cards.items():
        made.pop(keyword, None)
        if value is not None:
            made[keyword] = value
    fits.PrimaryHDU(image.read(), made).writeto(tmp_path / "r.fits")
    spectrum = tf.open(tmp_path / "r.fits")[0].spectrum().to_astropy()
    assert spectrum.rest_value.to_value("Hz", u.spectral()) == pytest.approx(hertz, rel=1e-12)


@pytest.mark.parametrize(
    ("unit", "meant"),
    [
        ("JY/BM", u.Jy / u.beam), ("JY/B*M/S", u.Jy / u.beam * u.m / u.s), ("K (Tmb)", u.K),
        ("10^-20 erg/s/cm^2/A", 1e-20 * u.erg / u.s / u.cm**2 / u.AA),
        ("1E-17 erg/s/cm^2/Ang/spaxel", 1e-17 * u.erg / u.s / u.cm**2 / u.AA / u.pix),
    ],
)  # fmt: skip
def test_spectral_cube_gets_the_units_that_are_meant(tmp_path: Path, unit: str, meant: Any) -> None:
    found = cube(tmp_path / "a.fits", unit).to_spectral_cube().unit
    assert found.is_equivalent(meant)
    assert float(found.to(u.Unit(meant))) == pytest.approx(1)


def test_spectral_cube_of_an_unknown_unit_warns(tmp_path: Path) -> None:
    with pytest.warns(tf.TachyfitsWarning, match="'W.U.' .BUNIT. is unknown"):
        cube(tmp_path / "a.fits", "W.U.").to_spectral_cube()


def test_specutils_gets_the_units_that_are_meant(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits", "erg/s/cm2/A")
    assert image.spectrum().to_astropy().flux.unit == u.erg / u.s / u.cm**2 / u.AA


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("specutils", lambda image: image.spectrum().to_astropy()),
        ("spectral_cube", lambda image: image.to_spectral_cube()),
        ("spectral_cube", lambda image: image.collapse("max").to_projection()),
        ("xarray", lambda image: image.to_xarray()),
    ],
)
def test_a_missing_library_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, call: Any
) -> None:
    image = cube(tmp_path / "a.fits")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        tf.UsageError,
        match=f"needs {module.replace('_', '-')}.*\nhint: pip install {module.replace('_', '-')}",
    ):
        call(image)


def test_text_that_astropy_refuses_is_left_out_of_arrays_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.fits"
    header = fits.Header({"OBSERVER": "caf?", "BUNIT": "K"})
    fits.PrimaryHDU(np.ones((2, 3)), header).writeto(path)
    path.write_bytes(path.read_bytes().replace(b"caf?", b"caf\xe9"))
    image = tf.open(path)[0]
    with pytest.warns(
        tf.TachyfitsWarning, match="cards that astropy refuses are left out: OBSERVER"
    ):
        array = image.to_xarray()
    assert tf.Image.from_xarray(array).unit == "K"
