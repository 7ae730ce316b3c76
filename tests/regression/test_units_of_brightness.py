"""Units of pixels are read by one grammar, as FITS, CASA, AIPS and MUSE write them.

A unit per beam is one whose parsed unit has a negative power of the beam, not one with that word.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest

import tachyfits as tf
from smallcubes import write_cube

BEAM = {"BMAJ": 10 / 3600, "BMIN": 8 / 3600, "BPA": 0.0}
#: Ratio of the beams after and before a round kernel of 10 arcsec.
RATIO = np.sqrt(200) * np.sqrt(164) / 80

PER_BEAM = [
    "Jy/beam", "JY/BEAM", "JY/B", "JY/BM", "mJy/bm", "Jy bm-1", "Jy/Beam", "mJy beam^-1",
    "Jy per beam", "JY/B*M/S", "JY/B.KM/S", "JY/B/HZ", "Jy/beam.km/s", "Jy/beam km/s",
    "Jy/beam.rad/m/m", "Jy km / (beam s)", "beam-1 Jy", "(Jy/beam)", "MJY/BEAM",
]  # fmt: skip
OTHERS = ["K", "K (main beam)", "K (Tmb)", "Jy/pixel", "JY/PIXEL.KM/S", "MJy/sr"]


def image(tmp_path: Path, unit: str | None, **cards: Any) -> tf.Image:
    scale = {"CDELT1": -1.5 / 3600, "CDELT2": 1.5 / 3600, "CRPIX1": 16.0, "CRPIX2": 16.0}
    data = np.full((1, 32, 32), 1000.0, "f4")
    path = tmp_path / "image.fits"
    return tf.open(write_cube(path, {**scale, **BEAM, "BUNIT": unit, **cards}, data=data))[0]


@pytest.mark.parametrize(
    ("unit", "power"),
    [*((unit, 1) for unit in PER_BEAM), ("Jy2 beam-2", 2), ("(mJy/beam)**2", 2)]
    + [(unit, 0) for unit in OTHERS],
)
def test_smoothing_rescales_by_the_power_of_the_beam(tmp_path: Path, unit: str, power: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", tf.TachyfitsWarning)
        smooth = image(tmp_path, unit).smooth_sky("10arcsec")
        to_beam = image(tmp_path, unit).smooth(beam=smooth.beam)
    for found in (smooth, to_beam):
        assert float(found[0, 16, 16]) == pytest.approx(1000 * RATIO**power, rel=1e-5)


def test_smoothing_values_of_an_unknown_unit_warns(tmp_path: Path) -> None:
    for call in (
        lambda cube: cube.smooth_sky("10arcsec"),
        lambda cube: cube.smooth(beam="20arcsec"),
    ):
        with pytest.warns(tf.TachyfitsWarning, match="the unit 'W.U.' of the values .* unknown"):
            assert float(call(image(tmp_path, "W.U."))[0, 16, 16]) == pytest.approx(1000)


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("erg/s/cm2/Angstrom", 1), ("erg/s/cm2/A", 1), ("ERG/S/CM**2/A", 1), ("W/(m2 A)", 1e3),
        ("erg cm-2 s-1 A-1", 1), ("10^-20 erg/s/cm^2/A", 1e-20), ("10-20erg/s/cm2/A", 1e-20),
        ("10**(-20)*erg/s/cm**2/Angstrom", 1e-20), ("erg/s/cm2/AA", 1), ("erg/s/cm2/Å", 1),
        ("1E-17 erg/s/cm^2/Ang/spaxel", 1e-17), ("1E-17 erg/s/cm^2/Angstrom/spaxel", 1e-17),
        ("10E-17 ergs/s/cm2/A", 1e-16),
    ],
)  # fmt: skip
def test_flux_densities_by_wavelength_are_converted(
    tmp_path: Path, unit: str, factor: float
) -> None:
    cards = {"CTYPE3": "WAVE", "CUNIT3": "Angstrom", "CRVAL3": 5000.0, "CRPIX3": 1.0, "CDELT3": 1.0}
    try:
        cube = image(tmp_path, unit, **cards)
    except ValueError:
        # A card holds no Å: an expression states it.
        cube = tf.evaluate("a", a=image(tmp_path, None, **cards), unit="erg/s/cm2/AA")
    per_pixel = "/pixel" if "spaxel" in unit else ""
    one = (1 * u.erg / u.s / u.cm**2 / u.AA).to_value(u.Jy, u.spectral_density(5000 * u.AA))
    assert float(cube.to(f"Jy{per_pixel}")[0, 0, 0]) == pytest.approx(1e3 * factor * one, rel=1e-6)
    flux = cube.spectrum(statistic="flux", unit="Jy").values[0]
    assert flux == pytest.approx(1e3 * factor * one * 32 * 32, rel=1e-6)
    assert " A-1" not in str(cube.moment(0).unit)
    own = u.Unit(cube.spectrum().quantity.unit * (u.pix if per_pixel else u.one))
    assert own.is_equivalent(u.W / u.m**3)


@pytest.mark.parametrize("unit", ["A", "mA", "erg/s/A"])
def test_an_ambiguous_unit_is_an_error_that_says_so(tmp_path: Path, unit: str) -> None:
    cube = image(tmp_path, unit)
    plane = cube.plane()
    for call in (
        lambda: cube.to("nm"),
        lambda: plane.to("nm"),
        lambda: plane.quantity,
        lambda: image(tmp_path, "K").to(unit),
    ):
        with pytest.raises(tf.UsageError, match=r"ambiguous unit .* an ampere"):
            call()
    # Where nothing is converted it stays.
    assert (cube * 2).unit == unit


def test_a_unit_that_a_user_gives_means_what_the_values_can_be(tmp_path: Path) -> None:
    wavelengths = image(tmp_path, "nm")
    assert float(wavelengths.to("A")[0, 0, 0]) == pytest.approx(1e4)
    assert wavelengths.to("A").unit == "Angstrom"
    currents = image(tmp_path, "A/m2") * (1 * u.m**2)
    assert float(currents.plane().to("mA").values[0, 0]) == pytest.approx(1e6)


def test_amperes_and_counts_are_certain(tmp_path: Path) -> None:
    assert image(tmp_path, "A/m2").plane().quantity.unit == u.A / u.m**2
    assert image(tmp_path, "count/s/A").plane().quantity.unit == u.ct / u.s / u.AA
    with pytest.raises(tf.UsageError, match="MJY is mJy in some files"):
        image(tmp_path, "MJY/BEAM").to("K")


@pytest.mark.parametrize("unit", ["mJy/bm", "JY/B", "Jy/spaxel", "erg/s/cm2/A/spaxel"])
def test_units_that_a_user_gives_are_read_alike(tmp_path: Path, unit: str) -> None:
    cube = image(tmp_path, "Jy/beam")
    assert cube.to(unit).unit is not None
    values = cube.spectrum(unit=f"{unit}, km/s")
    assert values.axis.unit == "km s-1"
    np.testing.assert_allclose(values.values, cube.to(unit).spectrum().values, rtol=1e-6)
    assert (cube > 3 * u.Unit("mJy/beam")).all()


AXIS = {
    "CTYPE3": "WAVE", "CUNIT3": "Angstrom", "CRVAL3": 5000.0, "CRPIX3": 1.0, "CDELT3": 1.0,
    "RESTWAV": 5.002e-7, "RESTFRQ": None,
}  # fmt: skip


@pytest.mark.parametrize(
    "unit",
    ["A", "Ang", "AA", "Å", "ANGSTROMS", "nm", "um", "microns", "km/s", "KM/S", "km s-1", "km.s-1",
     "km*s^-1", "km/sec", "THz", "eV", "erg", "1/cm", "cm^-1"],
)  # fmt: skip
def test_channels_understand_the_units_that_axes_do(tmp_path: Path, unit: str) -> None:
    cube = tf.open(write_cube(tmp_path / "wave.fits", AXIS, data=np.ones((10, 5, 4))))[0]
    first, last = cube.spectrum(unit=unit).axis.values[[3, 5]].tolist()
    for channels in (f"{first!r}..{last!r} {unit}", tf.SpectralRange(first, last, unit)):
        assert cube.cutout(channels=channels).shape[0] == 3


def test_axes_of_other_units_are_cut_in_them(tmp_path: Path) -> None:
    cards = {"CTYPE3": "FDEP", "CUNIT3": "rad/m/m", "CRVAL3": -5.0, "CRPIX3": 1.0, "CDELT3": 1.0}
    cube = tf.open(write_cube(tmp_path / "fdep.fits", cards, data=np.ones((10, 5, 4))))[0]
    for unit in ("rad/m2", "rad/m/m", "RAD/M/M", "rad m^-2"):
        assert cube.spectrum(unit=unit).axis.values[0] == -5.0
        assert cube.cutout(channels=f"-3..-1 {unit}").shape[0] == 3


@pytest.mark.parametrize(
    "size", ["2arcsec", "2ARCSEC", "2arcsecs", "2asec", "2000mas", "2000000uas", "0.0333333333amin"]
)
def test_regions_understand_the_units_of_angles(size: str) -> None:
    region: Any = tf.region(f"icrs; circle(10,-30,{size})")
    assert region.sizes[0] == pytest.approx(2 / 3600)
