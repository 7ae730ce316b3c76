"""Units are read as files and people write them, in any letter case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.cli import run


def opened(path: Path, cards: Any = None, **options: Any) -> tf.Image:
    image: tf.Image = tf.open(write_cube(path / "cube.fits", cards, **options))[0]
    return image


AXES = [
    ("VRAD", "KM/S", "m/s", 1e3), ("VELO-LSR", "Km/Sec", "m/s", 1e3), ("VOPT", "M/S", "km/s", 1e-3),
    ("VRAD", "km s-1", "m/s", 1e3), ("VRAD", "KM S-1", "m/s", 1e3), ("VRAD", "km/S", "m/s", 1e3),
    ("FREQ", "HZ", "kHz", 1e-3), ("FREQ", "GHZ", "MHz", 1e3), ("FREQ", "mhz", "Hz", 1e6),
    ("FREQ", "MHZ", "GHz", 1e-3), ("WAVE", "A", "nm", 0.1), ("WAVE", "ANG", "nm", 0.1),
    ("AWAV", "ANGSTROM", "nm", 0.1), ("WAVE", "Angstroms", "nm", 0.1), ("WAVE", "UM", "nm", 1e3),
    ("WAVE", "NM", "um", 1e-3), ("WAVE", "MICRON", "nm", 1e3), ("WAVE", "microns", "nm", 1e3),
    ("ENER", "KEV", "eV", 1e3), ("ENER", "keV", "KEV", 1.0), ("WAVN", "CM-1", "m-1", 100.0),
    ("FDEP", "RAD/M^2", "rad/m2", 1.0), ("VRAD", "KM/S (LSR)", "m/s", 1e3),
]  # fmt: skip


@pytest.mark.parametrize(("ctype", "cunit", "unit", "factor"), AXES)
def test_units_of_axes_convert(
    tmp_path: Path, ctype: str, cunit: str, unit: str, factor: float
) -> None:
    image = opened(tmp_path, {"CTYPE3": ctype, "CUNIT3": cunit, "CRVAL3": 5000.0, "CDELT3": 1.0})
    own = image.spectrum()
    np.testing.assert_array_equal(own.axis.values, np.arange(4998.0, 5004.0))
    for asked in (unit, unit.lower() if unit not in ("MHz", "Hz", "kHz") else unit.upper()):
        other = image.spectrum(unit=asked)
        np.testing.assert_allclose(other.axis.values, own.axis.values * factor, rtol=1e-14)
        np.testing.assert_allclose(image.moment(1, unit=asked).values, 5000.0 * factor)


def test_an_angstrom_is_not_an_ampere_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_cube(tmp_path / "cube.fits", {"CTYPE3": "WAVE", "CUNIT3": "A"})
    assert run(["spectrum", str(path), "--unit", "nm", "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("channel,WAVE[nm],")
    assert lines[3].split(",")[1] == "500.0"
    out = tmp_path / "m.fits"
    assert run(["collapse", str(path), "--moment", "1", "--unit", "A", "-o", str(out)]) == 0
    assert tf.open(out)[0].unit == "Angstrom"
    np.testing.assert_array_equal(tf.open(out)[0][...], 5000.0)


@pytest.mark.parametrize("cunit", ["KM/S", "km/s", "KM/SEC"])
def test_other_axes_do_not_hinder_the_sky(tmp_path: Path, cunit: str) -> None:
    cards = {"CTYPE3": "VELO-HEL", "CUNIT3": cunit, "CRVAL3": 5.0, "CDELT3": 2.0, "CRPIX1": 12.0,
             "CRPIX2": 10.0, "BMAJ": 4e-3, "BMIN": 4e-3, "BPA": 0.0}  # fmt: skip
    image = opened(tmp_path, cards, data=np.ones((4, 20, 25), "f4"))
    diagram = image.pv([(2, 2), (20, 15)])
    assert diagram.header["CUNIT1"] == "deg"
    np.testing.assert_allclose(diagram.header["CDELT1"], 1e-3, rtol=1e-3)
    smooth = image.smooth_sky("10.8arcsec")
    np.testing.assert_allclose(smooth.header["BMAJ"], 5e-3, rtol=1e-12)
    assert image.spectrum().axis.unit == cunit.lower().replace("sec", "s")


@pytest.mark.parametrize("cunit", ["DEG", "Degrees", "deg", "arcsec", "ARCMIN", None])
def test_angles_of_the_sky_in_any_case(tmp_path: Path, cunit: str | None) -> None:
    factor = {"arcsec": 3600.0, "ARCMIN": 60.0}.get(cunit or "", 1.0)
    cards = {"CUNIT1": cunit, "CUNIT2": cunit, "CDELT1": -1e-3 * factor, "CDELT2": 1e-3 * factor,
             "CRVAL1": 150.0 * factor, "CRVAL2": 2.0 * factor, "BMAJ": 4e-3, "BMIN": 4e-3,
             "BPA": 0.0}  # fmt: skip
    image = opened(tmp_path, cards)
    np.testing.assert_allclose(image.smooth_sky("10.8arcsec").header["BMAJ"], 5e-3, rtol=1e-12)
    assert image.pv([(0, 0), (3, 4)]).header["CUNIT1"] == "deg"
    there = image.wcs.celestial.pixel_to_world_values(1, 2)
    np.testing.assert_allclose(there, [150.0, 2.0], rtol=1e-12)


def test_a_sky_axis_in_another_unit_than_angles_is_an_error(tmp_path: Path) -> None:
    image = opened(tmp_path, {"CUNIT1": "furlong"})
    with pytest.raises(tf.FormatError, match="invalid CUNIT1 'furlong': expected a unit of an"):
        image.pv([(0, 0), (3, 4)])
    assert image.spectrum().axis.unit == "m/s"


def test_an_unknown_unit_stays_where_nothing_is_converted(tmp_path: Path) -> None:
    image = opened(tmp_path, {"CUNIT3": "FURLONG"})
    assert image.spectrum().axis.unit == "FURLONG"
    with pytest.raises(tf.FormatError, match="invalid CUNIT3 'FURLONG'"):
        image.spectrum(unit="km/s")


def test_remarks_do_not_belong_to_a_unit() -> None:
    from tachyfits.text.pixel_units import product_text
    from tachyfits.text.units import fits_unit

    for text in ("K (Tmb)", "K (TMB)", "K(TA*)", "KELVIN (tmb)"):
        assert str(fits_unit(text)) == "K", text
    assert product_text("K (Tmb)", "km/s") == "K km s-1"
    assert product_text("erg/(cm2 s)", "nm") == "erg s-1 cm-2 nm"
    assert product_text("Jy/beam.km/s", "") == "Jy km beam-1 s-1"


@pytest.mark.parametrize("text", ["mHz", "MHz", "MHZ", "mhz", "Mhz"])
def test_milli_and_mega_are_distinguished_where_possible(text: str) -> None:
    from tachyfits.text.units import fits_unit

    assert fits_unit(text).to("Hz") == (1e-3 if text == "mHz" else 1e6)


@pytest.mark.parametrize("rest", ["656.28 nm", "6562.8 A", "6562.8 ANGSTROM", "0.65628 MICRON"])
def test_a_rest_wavelength_is_in_the_medium_of_the_axis(tmp_path: Path, rest: str) -> None:
    # H alpha: 656.28 nm in air, 656.461 nm in vacuum.
    cards = {"CTYPE3": "AWAV", "CUNIT3": "nm", "CRVAL3": 656.28, "CDELT3": 0.05, "RESTFRQ": None}
    image = opened(tmp_path, cards)
    found = image.spectrum(unit="km/s", rest=rest).axis.values[2]
    assert abs(found) < 1e-6
    wrong = image.spectrum(unit="km/s", rest=rest, rest_medium="vacuum").axis.values[2]
    assert 80 < wrong < 86
    vacuum = image.moment(1, unit="km/s", rest="656.4614 nm", rest_medium="vacuum").values
    np.testing.assert_allclose(vacuum, 0, atol=0.1)
    waves = opened(tmp_path, cards | {"CTYPE3": "WAVE", "CRVAL3": 656.4614})
    there = waves.spectrum(unit="km/s", rest=rest, rest_medium="air").axis.values[2]
    assert abs(there) < 0.1


def test_the_hint_says_in_which_medium_a_rest_wavelength_is(tmp_path: Path) -> None:
    cards = {"CTYPE3": "AWAV", "CUNIT3": "nm", "CRVAL3": 656.28, "CDELT3": 0.05, "RESTFRQ": None}
    with pytest.raises(tf.UsageError) as caught:
        opened(tmp_path, cards).spectrum(unit="km/s")
    for word in ("in air", "rest_medium", "Edlén"):
        assert word in str(caught.value)
    # A rest frequency is the same in any medium.
    image = opened(tmp_path, cards)
    by_frequency = image.spectrum(unit="km/s", rest="456.6779 THz").axis.values
    by_both = image.spectrum(unit="km/s", rest="456.6779 THz", rest_medium="air").axis.values
    np.testing.assert_array_equal(by_frequency, by_both)


@pytest.mark.parametrize("rest", ["fast", "12 Jy", "-1 GHz", "0 GHz", "nan", "1 2 GHz", [1, 2]])
def test_invalid_rest_values_are_refused(tmp_path: Path, rest: Any) -> None:
    with pytest.raises(tf.UsageError, match=r"invalid (rest|unit)"):
        opened(tmp_path, {"CTYPE3": "FREQ", "CUNIT3": "GHz"}).spectrum(unit="km/s", rest=rest)


def test_spectra_take_a_unit_and_a_rest_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    light = 299_792.458
    cards = {"CTYPE3": "FREQ", "CUNIT3": "MHZ", "CRVAL3": 1420.0, "CDELT3": -0.1, "RESTFRQ": None}
    image = opened(tmp_path, cards)
    expected = light * (1 - (1420.0 - 0.1 * (np.arange(6) - 2)) / 1420.405752)
    spectrum = image.spectrum(unit="km/s", rest="1.420405752 GHz")
    assert (spectrum.axis.name, spectrum.axis.unit) == ("VRAD", "km s-1")
    np.testing.assert_allclose(spectrum.axis.values, expected, rtol=1e-9)
    np.testing.assert_array_equal(spectrum.values, [0, 0, 1, 0, 0, 0])
    words = ["--unit", "KM/S", "--rest", "1420.405752 MHZ", "--convention", "radio", "--csv"]
    assert run(["spectrum", str(tmp_path / "cube.fits"), *words]) == 0
    lines = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    assert lines[0][1] == "VRAD[km.s-1]"
    np.testing.assert_allclose([float(line[1]) for line in lines[1:]], expected, rtol=1e-9)
    assert run(["spectrum", str(tmp_path / "cube.fits"), "--unit", "km/s"]) == 2
    assert run(["spectrum", str(tmp_path / "cube.fits"), "--rest", "1 GHz"]) == 2


CONVERTED = [
    ("FREQ", "GHz", 1.4, 1e-3, "km/s", "radio", "VRAD"),
    ("FREQ", "GHz", 1.4, 1e-3, "km/s", "optical", "VOPT-F2W"),
    ("FREQ", "GHz", 1.4, 1e-3, "km/s", "relativistic", "VELO-F2V"),
    ("FREQ", "MHZ", 1400.0, 1.0, "cm", None, "WAVE-F2W"),
    ("FREQ", "MHZ", 1400.0, 1.0, "Hz", None, "FREQ"),
    ("VRAD", "KM/S", 5000.0, 20.0, "GHz", None, "FREQ"),
    ("VRAD", "KM/S", 5000.0, 20.0, "m/s", "optical", "VOPT-F2W"),
    ("VOPT", "KM/S", 5000.0, 20.0, "um", None, "WAVE"),
    ("VOPT", "KM/S", 5000.0, 20.0, "MHz", None, "FREQ-W2F"),
    ("VELO", "KM/S", 5000.0, 20.0, "MHz", None, "FREQ-V2F"),
    ("WAVE", "cm", 21.2, 0.01, "km/s", "radio", "VRAD-W2F"),
    ("ENER", "KEV", 6.4, 0.01, "A", None, "WAVE-F2W"),
    ("AWAV", "A", 6562.8, 1.25, "nm", None, "AWAV"),
    ("FDEP", "rad/m^2", -200.0, 5.0, "rad/cm2", None, "FDEP"),
]


@pytest.mark.parametrize("piece", [slice(None), slice(4, 0, -2)])
@pytest.mark.parametrize(("ctype", "cunit", "start", "step", "unit", "way", "expected"), CONVERTED)
def test_a_spectrum_is_written_with_the_coordinates_that_it_has(
    tmp_path: Path, ctype: str, cunit: str, start: float, step: float, unit: str,
    way: str | None, expected: str, piece: slice,
) -> None:  # fmt: skip
    cards = {"CTYPE3": ctype, "CUNIT3": cunit, "CRVAL3": start, "CDELT3": step}
    spectrum = (
        opened(tmp_path, cards)
        .select(channels=piece, convention=way)
        .spectrum(unit=unit, convention=way)
    )
    spectrum.write(tmp_path / "spectrum.fits")
    written = tf.open(tmp_path / "spectrum.fits")[0]
    assert written.header["CTYPE1"] == expected
    axis = written.world_axis("x")
    assert axis.unit == spectrum.axis.unit
    np.testing.assert_allclose(axis.values, spectrum.axis.values, rtol=1e-10)
    # astropy agrees: its unit is that of SI.
    world = written.wcs
    theirs = world.wcs_pix2world(np.arange(len(spectrum)), 0)[0] * world.wcs.cunit[0]
    np.testing.assert_allclose(theirs.to_value(axis.unit), spectrum.axis.values, rtol=1e-9)
