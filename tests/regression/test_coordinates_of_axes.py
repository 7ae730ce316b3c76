"""Every coordinate of an axis comes from cards of the right type, or is an error that names one."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.cli import run

#: The channels of the small cube, m/s; its flux is in the third.
VELOCITY = 1000.0 + 2000.0 * np.arange(6)


def opened(path: Path, cards: Any = None, **options: Any) -> tf.Image:
    image: tf.Image = tf.open(write_cube(path / "cube.fits", cards, **options))[0]
    return image


USES = {
    "spectrum": lambda image: image.spectrum(),
    "moment": lambda image: image.moment(1),
    "integral": lambda image: image.moment(0),
    "peak": lambda image: image.collapse("max_coordinate"),
    "world_axis": lambda image: image.world_axis("z"),
    "wcs": lambda image: image.wcs,
    "unit": lambda image: image.moment(1, unit="km/s"),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize(
    ("keyword", "raw", "value"),
    [
        ("CRPIX3", "  3,000000000000E+00", "'3,000000000000E+00'"),
        ("CRVAL3", "'5000.0  '", "'5000.0'"),
        ("CDELT3", "'2000.0  '", "'2000.0'"),
        ("CDELT3", "2000.0.0", "'2000.0.0'"),
        ("CRVAL3", "                   T", "True"),
        ("CRPIX3", "(3.0, 0.0)", "(3+0j)"),
        ("CRVAL3", "", ""),
        ("CTYPE3", "                  12", "12"),
        ("CUNIT3", "                 1.0", "1.0"),
    ],
)
def test_a_card_of_the_wrong_type_is_an_error_where_its_axis_is_used(
    tmp_path: Path, use: Any, keyword: str, raw: str, value: str
) -> None:
    image = opened(tmp_path, raw={keyword: raw})
    with pytest.raises(tf.FormatError) as caught:
        use(image)
    assert f"invalid {keyword} {value}".rstrip() + ": expected" in str(caught.value)
    assert "cube.fits: HDU 0" in str(caught.value)
    assert "\nhint: " in str(caught.value)


@pytest.mark.parametrize("keyword", ["CRPIX3", "CRVAL3", "CDELT3", "CUNIT3"])
def test_the_error_is_one_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keyword: str
) -> None:
    value = "                 5.0" if keyword == "CUNIT3" else "'5,0     '"
    path = write_cube(tmp_path / "cube.fits", raw={keyword: value})
    out = str(tmp_path / "out.fits")
    for command in (["spectrum", str(path)], ["collapse", str(path), "--moment", "1", "-o", out]):
        assert run(command) == 1
        assert keyword in capsys.readouterr().err
    assert not Path(out).exists()


def test_axes_that_are_not_used_may_be_wrong(tmp_path: Path) -> None:
    image = opened(tmp_path, {"CRVAL1": "150.0", "CDELT2": "0.001"})
    np.testing.assert_array_equal(image.spectrum().axis.values, VELOCITY)
    assert image.moment(1).values[0, 0] == 5000.0
    assert image.smooth(axis="z").stats().count == 120
    wrong = opened(tmp_path, {"CRVAL3": "5000.0"})
    assert wrong.pv([(0, 0), (3, 4)]).header["CUNIT1"] == "deg"
    assert wrong.collapse("max").values.max() == 1.0


@pytest.mark.parametrize("keyword", ["CRVAL1", "CDELT1", "CRPIX2", "CTYPE2", "CUNIT1"])
def test_the_sky_is_read_with_the_same_care(tmp_path: Path, keyword: str) -> None:
    value = 12.5 if keyword[:5] in ("CTYPE", "CUNIT") else "0.001"
    image = opened(tmp_path, {keyword: value, "BMAJ": 4e-3, "BMIN": 4e-3, "BPA": 0.0})
    for use in (lambda: image.pv([(0, 0), (3, 4)]), lambda: image.smooth_sky("10arcsec"),
                lambda: image.smooth_sky(2.0), lambda: image.wcs):  # fmt: skip
        if keyword == "CTYPE2":
            continue  # then NAXIS2 is not a sky axis
        with pytest.raises(tf.FormatError, match=f"invalid {keyword} .*{value}"):
            use()
    assert image.smooth_sky(2.0, update_beam=False).stats().count == 120


EXTRAS = [
    ({"RESTFRQ": "1420405752.0"}, "RESTFRQ"),
    ({"RESTFRQ": True}, "RESTFRQ"),
    ({"RESTFREQ": "1.4E9"}, "RESTFREQ"),
    ({"RESTWAV": "0.21"}, "RESTWAV"),
    ({"VELREF": 257.5}, "VELREF"),
    ({"VELREF": 257.0}, "VELREF"),
    ({"VELREF": "257"}, "VELREF"),
    ({"SPECSYS": 3}, "SPECSYS"),
    ({"SSYSOBS": 1.0}, "SSYSOBS"),
    ({"ZSOURCE": "0.1"}, "ZSOURCE"),
    ({"PC3_1": 1e-18, "PC3_3": 1.0}, "PC3_1"),
    ({"PC3_2": -3e-17, "PC1_1": 1.0, "PC3_3": 1.0}, "PC3_2"),
    ({"CD1_1": -1e-3, "CD2_2": 1e-3, "CD3_3": 2000.0, "CD3_1": 2e-13}, "CD3_1"),
]


@pytest.mark.parametrize(("cards", "keyword"), EXTRAS)
def test_cards_that_an_axis_does_not_need_are_ignored_with_a_warning(
    tmp_path: Path, cards: dict[str, Any], keyword: str
) -> None:
    image = opened(tmp_path, cards)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        spectrum = image.spectrum()
        moment = image.moment(1)
    np.testing.assert_array_equal(spectrum.axis.values, VELOCITY)
    assert spectrum.axis.unit == "m/s"
    np.testing.assert_array_equal(moment.values, 5000.0)
    # Once of each image, however often its axis is read.
    said = [str(one.message) for one in caught if keyword in str(one.message)]
    assert len(said) == 1
    assert {one.category for one in caught} == {tf.TachyfitsWarning}


def test_a_whole_velref_counts_though_it_is_a_real_number(tmp_path: Path) -> None:
    found = {}
    for velref in (257.0, 257, 1, 1.0):
        cards = {"CTYPE3": "VELO-LSR", "VELREF": velref}
        found[repr(velref)] = opened(tmp_path, cards).spectrum(unit="GHz").axis.values
    np.testing.assert_array_equal(found["257.0"], found["257"])
    np.testing.assert_array_equal(found["1.0"], found["1"])
    np.testing.assert_allclose(found["257"], 1.420405752 * (1 - VELOCITY / 299_792_458))


LINEAR = [
    ({"CTYPE3": "FDEP", "CUNIT3": "rad/m^2"}, "FDEP", "rad/m^2"),
    ({"CTYPE3": "LAMBDA", "CUNIT3": "nm"}, "LAMBDA", "nm"),
    ({"CTYPE3": "LAMBDA", "CUNIT3": "ANGSTROMS"}, "LAMBDA", "Angstrom"),
    ({"CTYPE3": "VEL", "CUNIT3": "KM/S"}, "VEL", "km/s"),
    ({"CTYPE3": "TIME", "CUNIT3": "S"}, "TIME", "s"),
    ({"CTYPE3": "", "CUNIT3": "mm"}, "LINEAR", "mm"),
    ({"CTYPE3": None, "CUNIT3": "GHZ"}, "LINEAR", "GHz"),
    ({"CTYPE3": "LINEAR", "CUNIT3": None}, "LINEAR", ""),
    ({"CTYPE3": "FREQ", "CUNIT3": None}, "FREQ", "Hz"),
]


@pytest.mark.parametrize(("cards", "name", "unit"), LINEAR)
def test_a_linear_axis_of_any_type_has_its_coordinate(
    tmp_path: Path, cards: dict[str, Any], name: str, unit: str
) -> None:
    image = opened(tmp_path, cards | {"CRVAL3": -200.0, "CRPIX3": 1.0, "CDELT3": 5.0})
    axis = image.spectrum().axis
    assert (axis.name, axis.unit) == (name, unit)
    np.testing.assert_array_equal(axis.values, -200.0 + 5.0 * np.arange(6))
    first, second = image.moments((1, 2))
    np.testing.assert_array_equal(first.values, -190.0)
    np.testing.assert_array_equal(second.values, 0.0)
    assert first.unit == unit
    np.testing.assert_array_equal(image.moment(0).values, 5.0)
    np.testing.assert_array_equal(image.collapse("max_coordinate").values, -190.0)
    np.testing.assert_array_equal(image.world_axis("z", slice(1, 6, 2)).values, [-195, -185, -175])


NONE = {keyword + "3": None for keyword in ("CTYPE", "CUNIT", "CRVAL", "CRPIX", "CDELT")}


@pytest.mark.parametrize(
    "cards", [NONE, {"PC3_1": 0.5, "PC3_3": 1.0}, {"CD1_1": 1.0, "CD3_3": 5.0, "CD3_2": 0.1}]
)
def test_pixels_are_counted_from_1_in_every_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cards: dict[str, Any]
) -> None:
    image = opened(tmp_path, cards)
    spectrum = image.spectrum()
    assert (spectrum.axis.name, spectrum.axis.unit) == ("pixel", "pixel")
    np.testing.assert_array_equal(spectrum.axis.values, np.arange(1.0, 7.0))
    np.testing.assert_array_equal(image.moment(1).values, 3.0)
    np.testing.assert_array_equal(image.collapse("max_coordinate").values, 3.0)
    path, out = str(tmp_path / "cube.fits"), tmp_path / "out.fits"
    assert run(["collapse", path, "--moment", "1", "-o", str(out)]) == 0
    np.testing.assert_array_equal(fits.getdata(out), 3.0)
    capsys.readouterr()
    assert run(["spectrum", path, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["axis"]["values"] == answer["channels"] == [1, 2, 3, 4, 5, 6]
    assert run(["spectrum", path, "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[3].split(",")[:2] == ["3", "3.0"]
    spectrum.write(tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_text().splitlines()[3] == "3.0,1.0"
    if cards is NONE:
        spectrum.write(tmp_path / "s.fits")
        written = tf.open(tmp_path / "s.fits")[0].world_axis("x").values
        np.testing.assert_array_equal(written, spectrum.axis.values)


def test_an_axis_that_depends_on_others_says_so(tmp_path: Path) -> None:
    image = opened(tmp_path, {"PC3_1": 0.5, "PC3_3": 1.0})
    with pytest.warns(tf.TachyfitsWarning, match=r"NAXIS3 \(VRAD\) depends on .*NAXIS1 \(PC3_1"):
        image.spectrum()
    with pytest.raises(tf.UsageError, match="PC3_1"):
        image.spectrum(unit="km/s")


def test_an_increment_of_0_gives_no_coordinates(tmp_path: Path) -> None:
    image = opened(tmp_path, {"CDELT3": 0.0, "PC3_3": 1.0})
    for use in (image.spectrum, lambda: image.moment(0)):
        with pytest.raises(tf.FormatError, match=r"invalid CDELT3 0\.0: expected"):
            use()
    # A single channel needs none.
    assert image.select(channels=slice(2, 3)).spectrum().axis.values.tolist() == [5000.0]


# Axes that are not linear.

LIGHT = 299_792_458.0


def test_logarithmic_wavelengths_are_coordinates(tmp_path: Path) -> None:
    cards = {"CTYPE3": "WAVE-LOG", "CUNIT3": "A", "CRVAL3": 5000.0, "CDELT3": 10.0}
    image = opened(tmp_path, cards)
    expected = 5000.0 * np.exp(10.0 * (np.arange(6) - 2) / 5000.0)
    axis = image.spectrum().axis
    assert (axis.name, axis.unit) == ("WAVE-LOG", "Angstrom")
    np.testing.assert_allclose(axis.values, expected, rtol=1e-12)
    np.testing.assert_allclose(image.world_axis("z").values, expected, rtol=1e-12)
    np.testing.assert_allclose(image.moment(1).values, expected[2], rtol=1e-12)
    edges = 5000.0 * np.exp(10.0 * (np.array([1.5, 2.5]) - 2) / 5000.0)
    np.testing.assert_allclose(image.moment(0).values, np.diff(edges)[0], rtol=1e-9)
    nm = image.spectrum(unit="nm").axis.values
    np.testing.assert_allclose(nm, expected / 10, rtol=1e-12)


@pytest.mark.parametrize("ctype", ["WAVE-GRI", "AWAV-GRA"])
def test_wavelengths_of_grisms_have_a_refractive_index(tmp_path: Path, ctype: str) -> None:
    # PVi_3 is the axis of a table of -TAB, and here the index.
    cards = {
        "CTYPE3": ctype, "CUNIT3": "nm", "CRVAL3": 600.0, "CDELT3": 1.0, "PV3_0": 1e6,
        "PV3_1": 1, "PV3_2": 27.0, "PV3_3": 1.7, "PV3_4": -1e5,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error", tf.TachyfitsWarning)
        image = opened(tmp_path, cards)
        axis = image.spectrum().axis
    pixels = np.zeros((6, 3))
    pixels[:, 2] = np.arange(6)
    expected = image.wcs.wcs_pix2world(pixels, 0)[:, 2] * 1e9
    assert (axis.name, axis.unit) == (ctype, "nm")
    np.testing.assert_allclose(axis.values, expected, rtol=1e-12)
    assert not np.allclose(np.diff(expected), 1.0, rtol=1e-9)


@pytest.mark.parametrize("rest", [None, 1.420405752e9, "1.4E9"])
@pytest.mark.parametrize("ctype", ["FELO-HEL", "FELO", "VOPT-F2W"])
def test_optical_velocities_of_equal_steps_in_frequency(
    tmp_path: Path, ctype: str, rest: Any
) -> None:
    cards = {"CTYPE3": ctype, "CUNIT3": "KM/S", "CRVAL3": 5000.0, "CDELT3": 20.0, "RESTFRQ": rest}
    image = opened(tmp_path, cards)
    # Frequencies in units of the one at rest: equally spaced, with this slope at the reference.
    reference = 1 / (1 + 5e6 / LIGHT)
    ratio = reference - reference**2 * (20e3 / LIGHT) * (np.arange(6) - 2)
    expected = LIGHT * (1 / ratio - 1) / 1e3
    axis = image.spectrum().axis
    assert (axis.name, axis.unit) == (ctype, "km/s")
    np.testing.assert_allclose(axis.values, expected, rtol=1e-10)
    np.testing.assert_allclose(image.moment(1).values, 5000.0, rtol=1e-12)


def test_tabulated_coordinates_are_looked_up(tmp_path: Path) -> None:
    wavelengths = np.array([4000.0, 4010.0, 4030.0, 4060.0, 4100.0, 4150.0])
    coords = fits.Column("COORDS", "6D", array=wavelengths[None, :], dim="(1,6)")
    table = fits.BinTableHDU.from_columns([coords], name="WCS-TAB")
    cards = {"CTYPE3": "WAVE-TAB", "CUNIT3": "nm", "CRVAL3": 1.0, "CRPIX3": 1.0, "CDELT3": 1.0,
             "PS3_0": "WCS-TAB", "PS3_1": "COORDS"}  # fmt: skip
    image = opened(tmp_path, cards, extra=[table])
    axis = image.spectrum().axis
    np.testing.assert_allclose(axis.values, wavelengths, rtol=1e-12)
    assert axis.unit == "nm"
    for order, expected in ((0, 25.0), (1, 4030.0), (2, 0.0)):
        np.testing.assert_allclose(image.moment(order).values, expected, atol=1e-9)
    np.testing.assert_allclose(image.spectrum(unit="um").axis.values, wavelengths / 1e3)
    world = image.wcs.wcs_pix2world([[1, 2, n] for n in range(6)], 0)
    np.testing.assert_allclose(world[:, 2], wavelengths, rtol=1e-12)
    lost = opened(tmp_path, cards)
    with pytest.warns(tf.TachyfitsWarning, match="WAVE-TAB.*cannot be evaluated"):
        assert lost.spectrum().axis.unit == "pixel"


def test_a_cube_without_channels_has_an_empty_spectrum(tmp_path: Path) -> None:
    image = opened(tmp_path, data=np.zeros((0, 5, 4), "f4"))
    for statistic in ("mean", "median", "count"):
        spectrum = image.spectrum(statistic=statistic)
        assert (len(spectrum), len(spectrum.axis)) == (0, 0)
        spectra = image.spectrum([tf.Circle(1, 1, 1), tf.Box(1, 1, 2, 2)], statistic=statistic)
        assert [len(one) for one in spectra] == [0, 0]
    assert image.spectrum(unit="km/s").axis.unit == "km s-1"
    assert np.isnan(image.moment(1).values).all()
    full = opened(tmp_path)
    assert len(full.select(channels=slice(3, 3)).spectrum()) == 0


def test_names_and_errors_of_axes_reach_astropy(tmp_path: Path) -> None:
    image = opened(tmp_path, {"CNAME3": "velocity", "CRDER3": 10.0, "SPECSYS": "LSRK"})
    assert image.wcs.wcs.cname[2] == "velocity"
    assert image.wcs.wcs.crder[2] == 10.0
    assert image.wcs.wcs.specsys == "LSRK"
    with pytest.warns(tf.TachyfitsWarning, match="CNAME3 = 5 is ignored"):
        assert opened(tmp_path, {"CNAME3": 5}).wcs.wcs.cname[2] == ""


def test_pictures_say_why_their_axes_are_in_pixels(tmp_path: Path) -> None:
    image = opened(tmp_path, {"CRVAL1": "150.0"})
    with pytest.warns(tf.TachyfitsWarning, match=r"drawn in pixels: .*invalid CRVAL1 '150\.0'"):
        image.collapse("mean").plot()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened(tmp_path).collapse("mean").plot()
        opened(tmp_path, {f"CTYPE{n}": None for n in (1, 2)}).collapse("mean").plot()


def test_an_equinox_of_0_is_unknown(tmp_path: Path) -> None:
    """Programs write 0; astropy made FK4 of it, and regions lay elsewhere than the summary said."""
    path = write_cube(tmp_path / "zero.fits", {"EQUINOX": 0.0})
    image = tf.open(path)[0]
    plain = tf.open(write_cube(tmp_path / "plain.fits", {}))[0]
    assert (
        image.coordinates.pixel_to_world(1, 2).name
        == plain.coordinates.pixel_to_world(1, 2).name
        == "icrs"
    )
    assert "ICRS" in str(image.coordinates)
