"""Which axis has the channels: a spectral one, or one beside the sky that is not STOKES, or none.

No axis of the sky and no axis of polarisations is taken for it, wherever it is in the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.cli import run

RNG = np.random.default_rng(0)
NONE: dict[str, Any] = dict.fromkeys(("CTYPE3", "CUNIT3", "CRVAL3", "CRPIX3", "CDELT3"))
STOKES: dict[str, Any] = {**NONE, "CTYPE3": "STOKES", "CRVAL3": 1.0, "CRPIX3": 1.0, "CDELT3": 1.0}
DEPTH = {"CTYPE": "FDEP", "CUNIT": "rad/m2", "CRVAL": -200.0, "CRPIX": 1.0, "CDELT": 10.0}


def opened(tmp_path: Path, data: np.ndarray, cards: dict[str, Any], **options: Any) -> tf.Image:
    return tf.open(write_cube(tmp_path / "cube.fits", cards, data=data, **options))[0]


def numbered(cards: dict[str, Any], number: int) -> dict[str, Any]:
    return {f"{key}{number}": value for key, value in cards.items()}


@pytest.mark.parametrize("name", ["FDEP", "LAMBDA", "Time", "", "LINEAR", "FREQ"])
def test_an_axis_of_channels_is_found_wherever_it_is(tmp_path: Path, name: str) -> None:
    data = RNG.random((5, 6, 7)).astype("f4")
    cards = {**NONE, **numbered(DEPTH | {"CTYPE": name, "CUNIT": "Hz"}, 3)}
    third = opened(tmp_path, data, cards)
    cards |= STOKES | numbered(DEPTH | {"CTYPE": name, "CUNIT": "Hz"}, 4)
    path = write_cube(tmp_path / "fourth.fits", cards, data=data[:, None])
    fourth = tf.open(path)[0]
    smooth = np.asarray(third.smooth("hanning"))
    for image, number in ((third, 0), (third.reorder("zxy"), 2), (fourth, 0)):
        assert image.channel_axis == number
        np.testing.assert_allclose(image.spectrum().values, data.mean((1, 2)), rtol=1e-6)
        np.testing.assert_allclose(image.collapse("sum").values, data.sum(0), rtol=1e-6)
        found = np.moveaxis(np.asarray(image.smooth("hanning")), number, 0).reshape(data.shape)
        np.testing.assert_array_equal(found, smooth)
        assert image.cutout(channels=slice(1, 3)).shape[number] == 2
        np.testing.assert_array_equal(image.world_axis().values, -200 + 10.0 * np.arange(5))
        np.testing.assert_allclose(
            np.moveaxis(np.asarray(image - image.spectrum()), number, 0).reshape(data.shape),
            data - data.mean((1, 2))[:, None, None], rtol=1e-4, atol=1e-6,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "cards"),
    [
        ((4, 5, 6), STOKES),
        ((4, 5, 6), STOKES | {"CTYPE3": "stokes"}),
        ((2, 5, 6), STOKES | {"CTYPE3": "COMPLEX"}),
        ((6, 4, 5), {**NONE, "CTYPE1": "STOKES", "CTYPE2": "RA---SIN", "CTYPE3": "DEC--SIN"}),
        ((5, 6), NONE),
    ],
)
def test_an_image_without_channels_is_not_reduced_along_another_axis(
    tmp_path: Path, shape: tuple[int, ...], cards: dict[str, Any]
) -> None:
    image = opened(tmp_path, RNG.random(shape).astype("f4"), cards)
    assert image.channel_axis is None
    assert image.coordinates.summary.spectral is None
    calls = [
        image.spectrum, image.collapse, image.smooth, lambda: image.moment(0),
        lambda: image.cutout(channels=slice(0, 1)), lambda: image.spectral_axis,
        lambda: image.spectrum(unit="K"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(tf.UsageError, match="axes and no spectral one"):
            call()
    with pytest.raises(tf.UsageError, match="axes and no spectral one"):
        image.world_axis()
    # A named axis is what was requested.
    assert image.smooth("hanning", axis=0).shape == shape
    assert image.mean(axis=0).shape == shape[1:]


def test_the_command_line_names_the_axes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened(tmp_path, np.ones((4, 5, 6), "f4"), STOKES)
    path = str(tmp_path / "cube.fits")
    for words in (
        ["spectrum", path],
        ["collapse", path, "--moment", "0", "-o", str(tmp_path / "m.fits")],
        ["smooth", path, "-o", str(tmp_path / "s.fits")],
    ):
        assert run(words) == 2
        assert "no spectral one (CTYPE RA---SIN, DEC--SIN, STOKES)" in capsys.readouterr().err
    # A polarisation is a picture.
    out = str(tmp_path / "q.fits")
    assert run(["collapse", path, "--pol", "Q", "-o", out]) == 0
    assert tf.open(out)[0].shape == (5, 6)
    assert run(["collapse", path, "-o", out, "--overwrite"]) == 2
    assert "a picture has two" in capsys.readouterr().err


def test_the_spectral_axis_is_its_coordinates(tmp_path: Path) -> None:
    data = np.arange(6.0)[:, None, None] * np.ones((1, 5, 4))
    cube = opened(tmp_path, data, {})
    expected = (5000 + 2000 * (np.arange(6) - 2.0)) * u.m / u.s
    assert isinstance(cube.spectral_axis, u.Quantity)
    np.testing.assert_allclose(cube.spectral_axis.to_value("m/s"), expected.value)
    slow = cube[cube.spectral_axis < 6 * u.km / u.s]
    np.testing.assert_array_equal(slow[:, 0, 0], [0, 1, 2])
    # The number of the axis has another name.
    assert cube.channel_axis == 0
    bare = opened(tmp_path, data, NONE)
    np.testing.assert_array_equal(bare.spectral_axis, np.arange(1, 7) * u.pix)


MAJOR = np.array([10.0, 11.0, 12.0, 13.0])


def beams_table(**units: str | None) -> fits.BinTableHDU:
    named = {"BMAJ": "arcsec", "BMIN": "arcsec", "BPA": "deg"} | units
    values = {"BMAJ": MAJOR, "BMIN": MAJOR / 2, "BPA": np.full(4, 30.0)}
    columns = [fits.Column(name, "D", unit=named[name], array=values[name]) for name in values]
    columns += [
        fits.Column("CHAN", "J", array=np.zeros(4)), fits.Column("POL", "J", array=np.arange(4))
    ]  # fmt: skip
    return fits.BinTableHDU.from_columns(columns, name="BEAMS")


@pytest.fixture
def iquv(tmp_path: Path) -> tf.Image:
    data = np.zeros((4, 64, 64))
    data[:, 32, 32] = [4, 3, 2, 1]
    cards = STOKES | {
        "CRPIX1": 33.0, "CRPIX2": 33.0, "CDELT1": -2 / 3600, "CDELT2": 2 / 3600,
        "CASAMBM": True, "RESTFRQ": 1e11,
    }  # fmt: skip
    return opened(tmp_path, data, cards, extra=[beams_table()])


def test_polarisations_have_beams_without_channels(iquv: tf.Image, tmp_path: Path) -> None:
    beams = iquv.beams
    assert beams is not None
    assert beams.shape == (4,)
    np.testing.assert_allclose(beams.major * 3600, MAJOR)
    areas = np.pi / (4 * np.log(2)) * MAJOR * MAJOR / 2 * u.arcsec**2
    kelvin = (1 * u.Jy / areas).to_value(u.K, u.brightness_temperature(100 * u.GHz))
    np.testing.assert_allclose(iquv.to("K")[:, 32, 32], kelvin * [4, 3, 2, 1])
    smooth = iquv.smooth(beam="16arcsec")
    flux = np.asarray(smooth).sum((1, 2)) / (256 / (MAJOR * MAJOR / 2))
    np.testing.assert_allclose(flux, [4, 3, 2, 1], rtol=1e-9)
    grown = iquv.smooth_sky("12arcsec").beams
    assert grown is not None
    np.testing.assert_allclose(grown.major * 3600, np.hypot(MAJOR, 12))
    for number, name in enumerate("IQUV"):
        cut = iquv.cutout(pol=name)
        assert cut.beam is not None
        assert cut.beam.major * 3600 == pytest.approx(MAJOR[number])
        np.testing.assert_allclose(cut.to("K")[0, 32, 32], kelvin[number] * (4 - number))
        plane = iquv.plane(np.s_[number])
        np.testing.assert_allclose(plane.to("K").values[32, 32], kelvin[number] * (4 - number))
    with pytest.warns(tf.TachyfitsWarning, match="beams of these polarisations .* are left out"):
        assert iquv.cutout(pol="Q,U").beams is None


def cube_of_beams(tmp_path: Path, **units: str | None) -> tf.Image:
    table = beams_table(**units)
    table.data["CHAN"], table.data["POL"] = np.arange(4), 0
    data = np.ones((4, 32, 32))
    cards = {"CASAMBM": True, "CDELT1": -2 / 3600, "CDELT2": 2 / 3600}
    return opened(tmp_path, data, cards, extra=[table])


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("degrees", 3600),
        ("ARCSEC", 1),
        ("arcsecs", 1),
        ("amin", 60),
        ("mas", 1e-3),
    ],
)
def test_the_table_of_beams_is_read_by_its_units(tmp_path: Path, unit: str, factor: float) -> None:
    cube = cube_of_beams(tmp_path, BMAJ=unit, BMIN=unit, BPA="degrees")
    beams = cube.beams
    assert beams is not None
    np.testing.assert_allclose(beams.major * 3600, MAJOR * factor)
    np.testing.assert_allclose(beams.angle, 30)
    assert np.isfinite(cube.to("Jy/sr").read()).all()
    beam = cube.plane(np.s_[1]).header["BMAJ"]
    assert beam * 3600 == pytest.approx(MAJOR[1] * factor)


@pytest.mark.parametrize("unit", [None, "furlong", "m"])
def test_beams_without_a_unit_of_angles_are_an_error(tmp_path: Path, unit: str | None) -> None:
    cube = cube_of_beams(tmp_path, BMAJ=unit)
    calls = [
        lambda: cube.beams, lambda: cube.to("K"), lambda: cube.smooth_sky("12arcsec"),
        lambda: cube.smooth(beam="20arcsec"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(tf.UsageError, match="invalid TUNIT1 of BMAJ in the table BEAMS"):
            call()
    assert any("TUNIT1" in problem for problem in cube.coordinates.summary.problems)
    with pytest.warns(tf.TachyfitsWarning, match="TUNIT1 .* the result has no beam"):
        assert "BMAJ" not in cube.plane(np.s_[1]).header


def test_channels_without_a_beam_are_named(tmp_path: Path) -> None:
    cube = cube_of_beams(tmp_path)
    with fits.open(tmp_path / "cube.fits", mode="update") as hdus:
        hdus["BEAMS"].data["BMAJ"][2] = 0
    cube = tf.open(tmp_path / "cube.fits")[0]
    with pytest.warns(tf.TachyfitsWarning, match="without a usable beam .* undefined: 2"):
        assert np.isnan(cube.to("K").read()).all((1, 2)).tolist() == [False, False, True, False]
