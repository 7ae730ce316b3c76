"""Cubes, planes, cuts, and files of them have one frequency of values: that of their channels.

A source at redshift 1 tells it from the rest frequency: brightness temperatures differ by four.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from smallcubes import write_cube

REST = 2.30538e11
OBSERVED = 1.15269e11
WIDTH = 1e7
CARDS: dict[str, Any] = {
    "CTYPE3": "FREQ", "CUNIT3": "Hz", "CRVAL3": OBSERVED, "CRPIX3": 3.0, "CDELT3": WIDTH,
    "RESTFRQ": REST, "BMAJ": 10 / 3600, "BMIN": 8 / 3600, "BPA": 0.0,
}  # fmt: skip
AREA = math.pi / (4 * math.log(2)) * 10 * 8 * u.arcsec**2


def kelvin(hertz: float) -> float:
    found: float = (1 * u.Jy).to_value(u.K, u.brightness_temperature(hertz * u.Hz, AREA))
    return found


@pytest.fixture
def cube(tmp_path: Path) -> tf.Image:
    return tf.open(write_cube(tmp_path / "cube.fits", CARDS, data=np.ones((6, 5, 4))))[0]


def written(tmp_path: Path, data: Any) -> tf.Image:
    data.write(tmp_path / "written.fits", overwrite=True)
    return tf.open(tmp_path / "written.fits")[0]


def dropped(cube: tf.Image, tmp_path: Path) -> tf.Image:
    cube.cutout(section=np.s_[2:3], drop_degenerate=True).write(tmp_path / "dropped.fits")
    image = tf.open(tmp_path / "dropped.fits")[0]
    assert image.ndim == 2
    assert image.header["WCSAXES"] == 3
    return image


#: Results of the channel at the reference frequency: one value per beam is one jansky.
RESULTS: dict[str, Callable[[tf.Image, Path], Any]] = {
    "cut": lambda cube, path: cube.cutout(channels=2),
    "plane": lambda cube, path: cube.plane(np.s_[2]),
    "plane of a file": lambda cube, path: written(path, cube.plane(np.s_[2])),
    "plane of a plane of a file": lambda cube, path: written(path, cube.plane(np.s_[2])).plane(),
    "part of a plane": lambda cube, path: cube.plane(np.s_[2])[1:, ::-1],
    "arithmetic": lambda cube, path: cube.plane(np.s_[2]) * 1.0,
    "collapse": lambda cube, path: cube.select(channels=2).collapse("max"),
    "collapse of a file": lambda cube, path: written(path, cube.select(channels=2).collapse("max")),
    "kept axis": lambda cube, path: cube.select(channels=2).collapse("max", keep_axis=True),
    "kept axis of a file": lambda cube, path: written(
        path, cube.select(channels=2).collapse("max", keep_axis=True)
    ),
    "reordered": lambda cube, path: cube.reorder("zxy").select(channels=2).collapse("max"),
    "reordered, kept axis": lambda cube, path: (
        cube.reorder("zxy").select(channels=2).collapse("max", keep_axis=True)
    ),
    "dropped axis": dropped,
    "dropped axis, plane": lambda cube, path: dropped(cube, path).plane(),
    "dropped axis, reordered": lambda cube, path: dropped(cube, path).reorder("yx"),
    "dropped axis, expression": lambda cube, path: dropped(cube, path) * 1.0,
    "dropped axis, rebinned": lambda cube, path: dropped(cube, path).rebin(x=2),
    "spectrum": lambda cube, path: cube.select(channels=2).spectrum(),
    "spectrum of velocities": lambda cube, path: cube.select(channels=2).spectrum(unit="km/s"),
    "spectrum of a file": lambda cube, path: written(path, cube.select(channels=2).spectrum()),
    "xarray": lambda cube, path: tf.Image.from_xarray(cube.plane(np.s_[2]).to_xarray()),
    "CCDData": lambda cube, path: tf.Plane.from_nddata(cube.plane(np.s_[2]).to_astropy()),
}


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_of_a_channel_has_its_frequency(
    cube: tf.Image, tmp_path: Path, name: str
) -> None:
    found = RESULTS[name](cube, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", tf.TachyfitsWarning)
        values = np.asarray(found.to("K"))
    np.testing.assert_allclose(values, kelvin(OBSERVED), rtol=1e-9)


def test_a_moment_has_the_frequency_of_its_channels(cube: tf.Image) -> None:
    moment = cube.select(channels=2).moment(0)
    np.testing.assert_allclose(moment.to("K Hz").values, kelvin(OBSERVED) * WIDTH, rtol=1e-9)
    assert "OBSFREQ" not in cube.moment(1).header


def test_a_cut_along_a_path_and_its_plane_have_a_frequency_per_row(cube: tf.Image) -> None:
    diagram = cube.pv([(0, 0), (3, 4)])
    expected = [kelvin(OBSERVED + WIDTH * (channel - 2)) for channel in range(6)]
    np.testing.assert_allclose(diagram.to("K")[:, 1], expected, rtol=1e-6)
    np.testing.assert_allclose(diagram.plane().to("K").values[:, 1], expected, rtol=1e-9)


def test_a_plane_of_distant_channels_warns(tmp_path: Path) -> None:
    cards = CARDS | {"CDELT3": 1e9}
    cube = tf.open(write_cube(tmp_path / "wide.fits", cards, data=np.ones((6, 5, 4))))[0]
    plane = cube.collapse("max")
    centre = OBSERVED + 0.5e9
    assert plane.header["OBSFREQ"] == pytest.approx(centre)
    assert plane.header["BANDWID"] == pytest.approx(6e9)
    with pytest.warns(tf.TachyfitsWarning, match="combine frequencies over 6e"):
        np.testing.assert_allclose(plane.to("K").values, kelvin(centre), rtol=1e-9)
    # Nothing depends on it elsewhere.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plane.to("mJy/beam")


def test_the_rest_frequency_of_a_redshifted_source_warns(tmp_path: Path) -> None:
    plain = dict.fromkeys(("CTYPE3", "CUNIT3", "CRVAL3", "CRPIX3", "CDELT3"))
    path = write_cube(tmp_path / "map.fits", CARDS | plain, data=np.ones((5, 4)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", tf.TachyfitsWarning)
        np.testing.assert_allclose(tf.open(path)[0].to("K").read(), kelvin(REST))
    for cards in (
        {"ZSOURCE": 1.0},
        {"OBSFREQ": 1420.4},
        {"CTYPE3": "FREQ"},
        {"CTYPE3": "FREQ", "CRVAL3": -1.0},
    ):
        write_cube(path, CARDS | plain | cards, data=np.ones((5, 4)))
        with pytest.warns(tf.TachyfitsWarning, match="converted at the rest frequency"):
            np.testing.assert_allclose(tf.open(path)[0].to("K").read(), kelvin(REST))


def test_a_spectrum_without_cards_of_its_axis_has_its_frequencies(cube: tf.Image) -> None:
    specutils = pytest.importorskip("specutils", reason="COMPARISONS LEFT OUT: specutils")
    kind = getattr(specutils, "Spectrum", None) or specutils.Spectrum1D
    hertz = np.array([1.0, 1.1, 1.5]) * OBSERVED
    given = kind(
        flux=np.ones(3) * u.Jy / u.beam,
        spectral_axis=hertz * u.Hz,
        meta={"header": cube.header.to_astropy()},
    )
    spectrum = tf.Spectrum.from_specutils(given)
    expected = [kelvin(value) for value in hertz]
    np.testing.assert_allclose(spectrum.to("K").values, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("cards", "unit"),
    [
        ({"CTYPE3": "ENER", "CUNIT3": "keV", "CRVAL3": 0.75, "CDELT3": 0.25}, "Angstrom"),
        ({"CTYPE3": "FREQ", "CUNIT3": "MHz", "CRVAL3": 15.0, "CDELT3": 5.0}, "m"),
        ({"CTYPE3": "WAVE", "CUNIT3": "um", "CRVAL3": 2.0, "CDELT3": 0.5}, "THz"),
        ({"CTYPE3": "AWAV", "CUNIT3": "Angstrom", "CRVAL3": 4e3, "CDELT3": 1e3}, "1/cm"),
        ({"CTYPE3": "VOPT", "CUNIT3": "km/s", "CRVAL3": 9e4, "CDELT3": 2e4}, "GHz"),
        ({"CTYPE3": "VELO", "CUNIT3": "km/s", "CRVAL3": 9e4, "CDELT3": 2e4}, "GHz"),
        ({"CTYPE3": "ZOPT", "CUNIT3": None, "CRVAL3": 0.5, "CDELT3": 0.2}, "GHz"),
        ({"CTYPE3": "BETA", "CUNIT3": None, "CRVAL3": 0.2, "CDELT3": 0.1}, "m"),
        ({"CTYPE3": "FREQ", "CUNIT3": "Hz", "CRVAL3": 1.3e9, "CDELT3": 1e8}, "km/s"),
    ],
)
def test_converted_axes_of_wide_channels_survive_a_file(
    tmp_path: Path, cards: dict[str, Any], unit: str
) -> None:
    path = write_cube(tmp_path / "wide.fits", {"CRPIX3": 1.0, **cards})
    spectrum = tf.open(path)[0].spectrum(unit=unit)
    again = written(tmp_path, spectrum).world_axis("x")
    assert u.Unit(again.unit) == u.Unit(spectrum.axis.unit)
    # WCSLIB has the refractive index of air by another formula.
    np.testing.assert_allclose(again.values, spectrum.axis.values, rtol=1e-8)


def test_the_increment_is_the_derivative(tmp_path: Path) -> None:
    cards = {"CTYPE3": "FREQ", "CUNIT3": "Hz", "CRVAL3": 15e6, "CRPIX3": 1.0, "CDELT3": 5e6}
    path = write_cube(tmp_path / "low.fits", cards)
    tf.open(path)[0].spectrum(unit="m").write(tmp_path / "s.fits")
    expected = -299792458 / 15e6**2 * 5e6
    assert fits.getval(tmp_path / "s.fits", "CDELT1") == pytest.approx(expected, rel=1e-12)
