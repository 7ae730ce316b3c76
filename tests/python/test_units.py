"""Units of brightness: conversions with the beam and the frequency of each channel, in one pass.

The twin is astropy's equivalency of one pixel at a time, with the beam's area by hand.
"""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from tachyfits.cli import run

SECOND = math.pi / 180 / 3600
#: Hz of the channels of `cube`.
FREQUENCIES = 1.0e11 + 5.0e9 * np.arange(4)
PIXEL = 2.0


def area(major: float, minor: float) -> u.Quantity:
    """Return the solid angle of a Gaussian, by its full widths in arcsec."""
    return math.pi / (4 * math.log(2)) * major * minor * SECOND**2 * u.sr


def header(unit: str | None = "Jy/beam", *, stokes: int = 0, beam: bool = True) -> fits.Header:
    cards: dict[str, Any] = {
        "CTYPE1": "RA---SIN", "CUNIT1": "deg", "CRPIX1": 3.0, "CRVAL1": 83.0,
        "CDELT1": -PIXEL / 3600, "CTYPE2": "DEC--SIN", "CUNIT2": "deg", "CRPIX2": 2.0,
        "CRVAL2": -5.0, "CDELT2": PIXEL / 3600, "CTYPE3": "FREQ", "CUNIT3": "Hz", "CRPIX3": 1.0,
        "CRVAL3": FREQUENCIES[0], "CDELT3": 5.0e9, "RESTFRQ": 1.15e11,
    }  # fmt: skip
    if stokes:
        cards |= {"CTYPE4": "STOKES", "CRPIX4": 1.0, "CRVAL4": 1.0, "CDELT4": 1.0}
    if beam:
        cards |= {"BMAJ": 9.0 / 3600, "BMIN": 6.0 / 3600, "BPA": 30.0}
    if unit:
        cards["BUNIT"] = unit
    found = fits.Header()
    for keyword, value in cards.items():
        found[keyword] = value
    return found


def cube(path: Path, unit: str | None = "Jy/beam", dtype: str = "f8", **options: Any) -> tf.Image:
    pixels = np.random.default_rng(5).normal(size=(4, 3, 5)).astype(dtype)
    pixels[1, 1, 1] = np.nan
    fits.PrimaryHDU(pixels, header(unit, **options)).writeto(path, overwrite=True)
    return tf.open(path)[0]


def beams_table(polarisations: int) -> fits.BinTableHDU:
    """Return a table as CASA writes it: arcsec, one row per channel and polarisation."""
    rows = [
        (9.0 + channel + 10 * pol, 6.0 + channel, 5.0 * channel, channel, pol)
        for pol in range(polarisations)
        for channel in range(4)
    ]
    columns = [
        fits.Column("BMAJ", "1E", unit="arcsec", array=[row[0] for row in rows]),
        fits.Column("BMIN", "1E", unit="arcsec", array=[row[1] for row in rows]),
        fits.Column("BPA", "1E", unit="deg", array=[row[2] for row in rows]),
        fits.Column("CHAN", "1J", array=[row[3] for row in rows]),
        fits.Column("POL", "1J", array=[row[4] for row in rows]),
    ]
    table = fits.BinTableHDU.from_columns(columns, name="BEAMS")
    table.header["NCHAN"], table.header["NPOL"] = 4, polarisations
    return table


def beams_cube(path: Path, stokes: int = 1, unit: str = "Jy/beam") -> tf.Image:
    pixels = np.random.default_rng(6).normal(size=(stokes, 4, 3, 5))
    made = header(unit, stokes=stokes, beam=False)
    made["CASAMBM"] = True
    fits.HDUList([fits.PrimaryHDU(pixels, made), beams_table(stokes)]).writeto(path)
    return tf.open(path)[0]


def close(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=0)


@pytest.mark.parametrize(
    ("unit", "wanted"),
    [("Jy/beam", "K"), ("K", "Jy/beam"), ("mJy/beam", "mK"), ("Jy/beam", "MJy/sr"),
     ("MJy/sr", "K"), ("K", "Jy/pixel"), ("Jy/pixel", "Jy/beam"), ("Jy beam-1 km s-1", "K km/s"),
     ("erg/s/cm2/Angstrom/arcsec2", "MJy/sr"), ("K", "erg/s/cm2/Angstrom/sr"),
     ("10**(-20)*erg/s/cm**2/Angstrom", "uJy"), ("photon/s/cm2/Angstrom", "Jy"),
     ("Jy/beam", "mJy/arcsec2")],
)  # fmt: skip
def test_each_channel_is_converted_by_its_own_factor(
    tmp_path: Path, unit: str, wanted: str
) -> None:
    image = cube(tmp_path / "a.fits", unit)
    result = image.to(wanted)
    pixels = image.read()
    pixel = (PIXEL * SECOND) ** 2 * u.sr
    source, target = (
        u.Unit(unit.replace("**(-20)", "^-20").replace("10^-20*", "1e-20 ")),
        u.Unit(wanted),
    )
    for channel, hertz in enumerate(FREQUENCIES):
        factor = 1 * source
        # Solid angles by hand, then one equivalency after the other.
        if u.beam in source.bases:
            factor = factor * u.beam / area(9, 6)
        if u.pix in source.bases:
            factor = factor * u.pix / pixel
        goal = target
        if u.beam in target.bases:
            goal = target * u.beam / u.sr
        if u.pix in target.bases:
            goal = target * u.pix / u.sr
        extra = u.km / u.s if u.km in source.bases else 1
        factor, goal = factor / extra, u.Unit(goal / extra)
        near = [*u.brightness_temperature(hertz * u.Hz), *u.spectral_density(hertz * u.Hz)]
        if factor.unit.is_equivalent(u.K) and not goal.is_equivalent(u.K):
            factor = factor.to(u.Jy / u.sr, near)
        if goal.is_equivalent(u.K) and not factor.unit.is_equivalent(u.K):
            factor = factor.to(u.Jy / u.sr, near)
        number = factor.to_value(goal, near)
        if u.beam in target.bases:
            number *= area(9, 6).value
        if u.pix in target.bases:
            number *= pixel.value
        close(result[channel], pixels[channel] * number)
    assert u.Unit(result.unit) == target


def test_pixels_keep_their_type_and_are_rounded_once(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits", dtype="f4")
    result = image.to("K")
    assert result.dtype == np.float32
    factors = (1 * u.Jy / area(9, 6)).to_value(
        u.K, u.brightness_temperature(FREQUENCIES[:, None, None] * u.Hz)
    )
    exact = (image.read(dtype="float64") * factors).astype("f4")
    np.testing.assert_allclose(result.read(), exact, rtol=6e-8)
    result.write(tmp_path / "k.fits")
    written = tf.open(tmp_path / "k.fits")[0]
    assert (written.unit, written.bitpix) == ("K", -32)
    assert any("NAXIS3" in line for line in written.header.history())
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(result)).read(), result.read())


def test_integers_are_converted(tmp_path: Path) -> None:
    made = header()
    made["BLANK"] = -1
    fits.PrimaryHDU(np.array([[[-1, 2]]], dtype="i2"), made).writeto(tmp_path / "i.fits")
    result = tf.open(tmp_path / "i.fits")[0].to("Jy/pixel")
    expected = 2 * (PIXEL * SECOND) ** 2 / area(9, 6).value
    close(result[0, 0], [np.nan, np.float32(expected)])


def test_conversions_go_on_in_one_expression(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    back = image.to("K").to("Jy/beam")
    close(back.read(), image.read(), 4e-16 * 4)
    double = 2 * image.to("mK") + image.to("K")
    assert double.unit == "mK"
    close(double.read(), 3 * image.to("K").read() * 1e3, 1e-14)


@pytest.mark.parametrize("stokes", [1, 2])
def test_each_channel_and_polarisation_has_its_beam(tmp_path: Path, stokes: int) -> None:
    image = beams_cube(tmp_path / "b.fits", stokes)
    result, pixels = image.to("K"), image.read()
    for pol in range(stokes):
        for channel, hertz in enumerate(FREQUENCIES):
            solid = area(9.0 + channel + 10 * pol, 6.0 + channel)
            factor = (1 * u.Jy / solid).to_value(u.K, u.brightness_temperature(hertz * u.Hz))
            close(result[pol, channel], pixels[pol, channel] * factor, 1e-6)
    # The table goes along, and so does the conversion.
    image.cutout(section=np.s_[:, 1:3]).write(tmp_path / "cut.fits")
    cut = tf.open(tmp_path / "cut.fits")[0]
    np.testing.assert_array_equal(cut.to("K").read(), result[:, 1:3])
    result.write(tmp_path / "k.fits")
    again = tf.open(tmp_path / "k.fits")[0].to("Jy/beam")
    close(again.read(), pixels, 1e-14)


def test_beam_and_frequency_can_be_given(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits", beam=False)
    with pytest.raises(tf.UsageError, match="no usable beam"):
        image.to("K")
    factor = (1 * u.Jy / area(4, 4)).to_value(u.K, u.brightness_temperature(115 * u.GHz))
    for beam in ("4arcsec", 4 * u.arcsec, "4arcsec, 4 arcsec, 10", tf.Beam(4 / 3600, 4 / 3600, 0)):
        result = image.to("K", beam=beam, frequency="115 GHz")
        close(result.read(), image.read() * factor)


def test_an_image_of_the_sky_has_the_rest_frequency(tmp_path: Path) -> None:
    made = header()
    for keyword in ("CTYPE3", "CUNIT3", "CRPIX3", "CRVAL3", "CDELT3"):
        del made[keyword]
    fits.PrimaryHDU(np.ones((3, 4)), made).writeto(tmp_path / "m.fits")
    image = tf.open(tmp_path / "m.fits")[0]
    factor = (1 * u.Jy / area(9, 6)).to_value(u.K, u.brightness_temperature(115 * u.GHz))
    close(image.to("K").read(), np.full((3, 4), factor))
    del made["RESTFRQ"]
    fits.PrimaryHDU(np.ones((3, 4)), made).writeto(tmp_path / "n.fits")
    with pytest.raises(tf.UsageError, match="neither a spectral axis nor a rest frequency"):
        tf.open(tmp_path / "n.fits")[0].to("K")


def test_velocities_give_frequencies(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    made = header()
    for keyword, value in (("CTYPE3", "VRAD"), ("CUNIT3", "km/s"), ("CDELT3", 1.0)):
        made[keyword] = value
    made["CRVAL3"] = 10.0
    fits.PrimaryHDU(image.read(), made).writeto(tmp_path / "v.fits")
    hertz = 1.15e11 * (1 - np.array([10.0, 11.0, 12.0, 13.0]) / 299792.458)
    factors = (1 * u.Jy / area(9, 6)).to_value(u.K, u.brightness_temperature(hertz * u.Hz))
    moving = tf.open(tmp_path / "v.fits")[0]
    close(moving.to("K").read(), image.read() * factors[:, None, None])
    # Velocities about another line are of the same frequencies.
    own, other = (moving.spectrum(unit="K, km/s", rest=rest) for rest in (None, "110 GHz"))
    close(own.values, other.values)
    assert abs(own.axis.values[0] - other.axis.values[0]) > 1000


def test_reductions_convert_in_the_same_pass(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    kelvin = image.to("K")
    region = tf.Box(1, 0, 3, 2)
    spectrum = image.spectrum(region, unit="K")
    assert (spectrum.unit, spectrum.axis.unit, spectrum.header["BUNIT"]) == ("K", "Hz", "K")
    close(spectrum.values, kelvin.spectrum(region).values)
    both = image.spectrum(region, unit="mK, GHz", statistic="max")
    assert (both.unit, both.axis.unit) == ("mK", "GHz")
    close(both.values, 1e3 * kelvin.spectrum(region, statistic="max").values)
    with tf.reports() as costs:
        plane = image.select(where=0.0).collapse("max", unit="K")
    assert (plane.unit, plane.header["BUNIT"]) == ("K", "K")
    close(plane.values, kelvin.select(where=0.0).collapse("max").values)
    # Each byte was read once, but for the factors.
    assert costs[-1].bytes <= image.size * 8 + 4 * 8
    integral, mean = image.moments((0, 1), unit=("K", "km/s"))
    assert (integral.unit, mean.unit) == ("K km s-1", "km s-1")
    close(integral.values, kelvin.moment(0, unit="km/s").values)
    with pytest.raises(tf.UsageError, match="the count of pixels has no unit"):
        image.spectrum(statistic="count", unit="K")
    with pytest.raises(tf.UsageError, match="expected one unit of values, found two"):
        image.spectrum(unit="K, Jy/beam")


def test_a_flux_is_the_sum_times_the_solid_angle(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    region = tf.Circle(2, 1, 1)
    sums = image.spectrum(region, statistic="sum").values
    ratio = (PIXEL * SECOND) ** 2 / area(9, 6).value
    flux = image.spectrum(region, statistic="flux")
    assert (flux.unit, flux.statistic) == ("Jy", "flux")
    close(flux.values, sums * ratio)
    close(image.spectrum(region, statistic="flux", unit="mJy").values, sums * ratio * 1e3)
    close(image.to("K").spectrum(region, statistic="flux").values, flux.values)
    close(image.to("MJy/sr").spectrum(region, statistic="flux", unit="Jy").values, flux.values)
    plain = cube(tmp_path / "p.fits", "Jy").spectrum(region, statistic="flux")
    close(plain.values, sums)
    bare = cube(tmp_path / "u.fits", "km/s")
    with pytest.raises(tf.UsageError, match="do not add up to a flux"):
        bare.spectrum(region, statistic="flux")


def test_results_are_converted_with_their_own_coordinates(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    spectrum = image.spectrum(statistic="max", unit="km/s")
    close(spectrum.to("K").values, image.to("K").spectrum(statistic="max").values, 1e-9)
    # A plane of several channels has one factor, that of their middle.
    plane = image.collapse("max")
    factor = (1 * u.Jy / area(9, 6)).to_value(u.K, u.brightness_temperature(107.5 * u.GHz))
    with pytest.warns(tf.TachyfitsWarning, match="combine frequencies over 2e"):
        close(plane.to("K").values, plane.values * factor)
    assert plane.to("Jy/pixel").header["BUNIT"] == "Jy pix-1"
    with pytest.raises(tf.UsageError, match="no sky coordinates"):
        spectrum.to("Jy/pixel")


def test_units_are_texts_or_units_of_astropy(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    for wanted in (None, 3, u.ABmag):
        for values in (image, image.spectrum()):
            with pytest.raises(tf.UsageError, match="invalid unit"):
                values.to(wanted)


@pytest.mark.parametrize("unit", ["mag(AB)", "dex(cm/s2)", "dB(mW)"])
def test_logarithms_of_units_are_no_factors(tmp_path: Path, unit: str) -> None:
    image = cube(tmp_path / "a.fits", unit)
    plane = image.collapse("mean")
    for values in (image, plane, image.spectrum()):
        for wanted in ("Jy", "K", "cm/s2", "mW"):
            with pytest.raises(tf.UsageError, match=r"invalid unit '.*\(.*\)' of the values"):
                values.to(wanted)
    with pytest.raises(tf.UsageError, match="do not add up to a flux"):
        image.spectrum(statistic="flux")
    with pytest.raises(tf.UsageError, match="invalid unit"):
        _ = plane.quantity
    assert (plane * plane).unit == f"{unit} {unit}"


@pytest.mark.parametrize(
    ("unit", "wanted"), [("Jy/beam", "s"), ("K", "Jy"), (None, "K"), ("Jy", "K"), ("adu", "Jy")]
)
def test_units_that_no_physics_connects_are_refused(
    tmp_path: Path, unit: str | None, wanted: str
) -> None:
    image = cube(tmp_path / "a.fits", unit)
    with pytest.raises(tf.UsageError, match="invalid unit"):
        image.to(wanted)


@pytest.mark.parametrize("beam", ["x", "0arcsec", "-1arcsec", "1arcsec,2arcsec", "1m", "1,2,3,4"])
def test_invalid_beams_are_refused(tmp_path: Path, beam: str) -> None:
    with pytest.raises(tf.UsageError, match="invalid beam"):
        cube(tmp_path / "a.fits").to("K", beam=beam)


def test_a_cube_that_lost_its_table_of_beams_is_refused(tmp_path: Path) -> None:
    made = header(beam=False)
    made["CASAMBM"] = True
    fits.PrimaryHDU(np.ones((4, 2, 2)), made).writeto(tmp_path / "b.fits")
    with pytest.raises(tf.UsageError, match="no table BEAMS"):
        tf.open(tmp_path / "b.fits")[0].to("K")


@pytest.mark.parametrize(
    "statistic", ["sum", "mean", "rms", "std", "min", "max", "median", "mad", "percentile90"]
)
@pytest.mark.parametrize("stokes", [1, 2])
def test_results_are_converted_as_their_pixels_would_be(
    tmp_path: Path, statistic: str, stokes: int
) -> None:
    """A spectrum has one factor for all pixels of a channel, so its values are converted."""
    for image, pol in (
        (cube(tmp_path / "a.fits"), None),
        (beams_cube(tmp_path / "b.fits", stokes), "I"),
    ):
        for region in (None, tf.Circle(2, 1, 1.2)):
            for channels in (None, slice(3, 0, -2), 2):
                options: Any = {"channels": channels, "pol": pol}
                kelvin = image.to("K").select(region, **options).spectrum(statistic=statistic)
                found = image.select(region, **options).spectrum(statistic=statistic, unit="K")
                assert (found.unit, found.values.shape) == (kelvin.unit, kelvin.values.shape)
                close(found.values, kelvin.values)


def test_the_unit_of_an_expression_converts_its_values(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    other = beams_cube(tmp_path / "b.fits")
    kelvin = image.to("K")
    found = tf.evaluate("2 * x - b", x=image, b=1.5 * u.Jy / u.beam, unit="mK")
    assert (found.unit, found.dtype) == ("mK", np.float64)
    close(found.read(), (2 * image.read() - 1.5) * (kelvin.read() / image.read()) * 1e3, 1e-14)
    # Of each channel and its beam; names that are taken, and units that are the same.
    found = tf.evaluate("a + b", a=other, b=1e-3 * other, unit=u.K)
    close(found.read(), 1.001 * other.to("K").read())
    same = tf.evaluate("a + 1", a=image, unit="Jy beam-1")
    np.testing.assert_array_equal(same.read(), image.read() + 1)
    # Rounded once, and no value in between beyond float32.
    huge = cube(tmp_path / "c.fits", dtype="f4")
    found = tf.evaluate("a * 1e39", a=huge, unit="GJy/beam")
    assert (found.dtype, found.unit) == (np.float32, "GJy beam-1")
    expected = (huge.read().astype("f8") * 1e39 * 1e-9).astype("f4")
    np.testing.assert_array_equal(found.read(), expected)
    again = pickle.loads(pickle.dumps(tf.evaluate("a", a=image, unit="K")))
    close(again.read(), kelvin.read())


def test_the_unit_of_an_expression_is_stated_where_none_is_certain(tmp_path: Path) -> None:
    image, plain = cube(tmp_path / "a.fits"), cube(tmp_path / "b.fits", None)
    squares = tf.evaluate("a * b", a=image, b=image, unit="Jy2/beam2")
    np.testing.assert_array_equal(squares.read(), image.read() ** 2)
    assert squares.unit == "Jy2/beam2"
    assert tf.evaluate("a", a=plain, unit="K").sum() == plain.sum()
    bare = tf.evaluate("a", a=image, unit="")
    assert bare.unit is None
    assert tf.evaluate("a", a=bare, unit="adu").unit == "adu"
    with pytest.raises(tf.UsageError, match="expected one like Jy/beam"):
        tf.evaluate("a", a=image, unit="km/s")
    with pytest.raises(tf.UsageError, match="no usable beam"):
        tf.evaluate("a", a=cube(tmp_path / "c.fits", beam=False), unit="K")


def test_the_command_line_converts(tmp_path: Path, capsys: Any) -> None:
    image = cube(tmp_path / "a.fits")
    path, out = str(tmp_path / "a.fits"), str(tmp_path / "k.fits")

    def called(*words: str) -> str:
        assert run(list(words)) == 0
        return str(capsys.readouterr().out)

    called("math", "a", f"a={path}", "--unit", "K", "-o", out)
    np.testing.assert_array_equal(tf.open(out)[0].read(), image.to("K").read())
    called("math", "a", f"a={path}", "--unit", "K", "--beam", "4arcsec", "-o", out, "--overwrite")
    np.testing.assert_array_equal(tf.open(out)[0].read(), image.to("K", beam="4arcsec").read())
    lines = called("spectrum", path, "--unit", "K,GHz", "--csv").splitlines()
    assert lines[0] == "channel,FREQ[GHz],mean[K]"
    close(float(lines[1].split(",")[2]), image.spectrum(unit="K").values[0])
    assert "flux[Jy]" in called("spectrum", path, "--statistic", "flux")
    called("collapse", path, "--moment", "0", "--unit", "K,km/s", "-o", str(tmp_path / "m.fits"))
    assert tf.open(tmp_path / "m.fits")[0].unit == "K km s-1"
