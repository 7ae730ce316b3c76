"""Arithmetic of images, planes and spectra with numbers, arrays and quantities of astropy."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.wcs import WCS

import tachyfits as tf
from smallcubes import write_cube

PIXELS = np.random.default_rng(3).uniform(1, 9, size=(6, 5, 4)).astype("f4")


@pytest.fixture
def cube(tmp_path: Path) -> tf.Image:
    found: tf.Image = tf.open(write_cube(tmp_path / "cube.fits", data=PIXELS))[0]
    return found


BEAM = u.Jy / u.beam
FACTOR = 2 * u.K
ARRAY = np.arange(1.0, 5.0)

#: Operations with a cube in Jy/beam, as a quantity or as an image.
OPERATIONS: list[Callable[[Any], Any]] = [
    lambda x: x * FACTOR, lambda x: FACTOR * x, lambda x: x / FACTOR, lambda x: FACTOR / x,
    lambda x: x * u.K, lambda x: x / u.K, lambda x: x + 5 * u.mJy / u.beam,
    lambda x: 5 * u.mJy / u.beam - x, lambda x: x * (ARRAY * u.km / u.s),
    lambda x: (ARRAY * u.km / u.s) * x, lambda x: (x * FACTOR) * 3 - x * FACTOR / 2,
    lambda x: (x * FACTOR) ** 2, lambda x: np.sqrt(x * BEAM), lambda x: abs(-(x * FACTOR)),
    lambda x: np.maximum(x, 3000 * u.mJy / u.beam), lambda x: x / (2 * BEAM),
    lambda x: np.multiply(x, FACTOR), lambda x: np.exp(x / (4000 * u.mJy / u.beam)),
    lambda x: x * (50 * u.percent), lambda x: (x / BEAM) * u.rad, lambda x: 1 / (x * u.s),
]  # fmt: skip

COMPARISONS: list[Callable[[Any], Any]] = [
    lambda x: x > 3 * BEAM, lambda x: x <= 3000 * u.mJy / u.beam, lambda x: x > 3 * BEAM,
    lambda x: (x * FACTOR) >= 8 * BEAM * u.K, lambda x: (x > 3 * BEAM) & (x < 5 * BEAM),
]  # fmt: skip


def same_quantity(found: Any, unit: str | None, expected: u.Quantity) -> None:
    read = u.Unit(unit or "")
    assert read.is_equivalent(expected.unit)
    np.testing.assert_allclose(
        np.asarray(found) * read.to(expected.unit), expected.value, rtol=1e-6
    )


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_images_carry_the_unit_that_astropy_gives(cube: tf.Image, number: int) -> None:
    expected = OPERATIONS[number](u.Quantity(PIXELS.astype("f8"), BEAM))
    found = OPERATIONS[number](cube)
    assert isinstance(found, tf.Image)
    same_quantity(found, found.unit, expected)
    again = pickle.loads(pickle.dumps(found))
    assert again.unit == found.unit


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_planes_and_spectra_carry_the_unit_that_astropy_gives(cube: tf.Image, number: int) -> None:
    plane, spectrum = cube.plane(0), cube.select(channels=slice(0, 4)).spectrum(statistic="max")
    for given in (plane, spectrum):
        expected = OPERATIONS[number](u.Quantity(given.values, BEAM))
        found = OPERATIONS[number](given)
        assert type(found) is type(given)
        same_quantity(found, found.unit, expected)
        assert found.header.get("BUNIT") == found.unit
        assert found.quantity.unit == u.Unit(found.unit or "")


@pytest.mark.parametrize("number", range(len(COMPARISONS)))
def test_comparisons_convert_units_and_give_truth_values(cube: tf.Image, number: int) -> None:
    expected = COMPARISONS[number](u.Quantity(PIXELS.astype("f8"), BEAM))
    found = COMPARISONS[number](cube)
    assert (found.dtype, found.unit) == (np.bool_, None)
    np.testing.assert_array_equal(found.read(), expected)
    plane = cube.plane(0)
    of_plane = COMPARISONS[number](plane)
    assert isinstance(of_plane, np.ndarray)
    np.testing.assert_array_equal(of_plane, COMPARISONS[number](plane.quantity))


def test_incompatible_units_are_refused(cube: tf.Image) -> None:
    plane = cube.plane(0)
    for wrong in (
        lambda x: x + 2 * u.K, lambda x: x > 3 * u.m, lambda x: x ** (2 * u.s),
        lambda x: np.exp(x * u.K), lambda x: x * (3 * u.mag(u.Jy)),
    ):  # fmt: skip
        for given in (cube, plane):
            with pytest.raises(tf.UsageError, match=r"invalid .*\nhint: "):
                wrong(given)


def test_the_result_is_written_with_its_unit(cube: tf.Image, tmp_path: Path) -> None:
    (cube * FACTOR).write(tmp_path / "product.fits")
    with tf.open(tmp_path / "product.fits", strict=True) as file:
        assert u.Unit(file[0].unit or "") == BEAM * u.K
        assert file[0].header["CTYPE3"] == "VRAD"
    (cube.plane(0) * FACTOR).write(tmp_path / "plane.fits")
    with tf.open(tmp_path / "plane.fits", strict=True) as file:
        assert u.Unit(file[0].unit or "") == BEAM * u.K


def test_pixels_without_a_unit_count_as_numbers(tmp_path: Path) -> None:
    path = write_cube(tmp_path / "cube.fits", {"BUNIT": None}, data=PIXELS)
    cube = tf.open(path)[0]
    assert (cube * FACTOR).unit == "K"
    assert (cube / (2 * u.s)).unit == "s-1"
    assert (cube.plane(0) * FACTOR).unit == "K"
    assert cube.plane(0).unit is None
    odd = tf.open(write_cube(tmp_path / "odd.fits", {"BUNIT": "W.U."}, data=PIXELS))[0]
    assert (odd * FACTOR).unit == "W.U. K"
    assert (odd / FACTOR).unit is None


def test_images_and_planes_convert_units(cube: tf.Image) -> None:
    found = cube.to("mJy/beam")
    assert found.unit == "mJy beam-1"
    np.testing.assert_allclose(found.read(), PIXELS * 1000, rtol=1e-6)
    plane = cube.plane(0).to(u.mJy / u.beam)
    np.testing.assert_allclose(plane.values, PIXELS[0] * 1000.0, rtol=1e-6)
    for given in (cube, plane):
        with pytest.raises(tf.UsageError, match=r"no usable beam|invalid unit 'K'"):
            given.to("K")


def test_images_and_planes_broadcast(cube: tf.Image) -> None:
    plane = cube.collapse("mean")
    difference = cube - plane
    assert isinstance(difference, tf.Image)
    assert difference.unit == "Jy/beam"
    np.testing.assert_allclose(difference.read(), PIXELS - plane.values, rtol=1e-5, atol=1e-6)
    ratio = plane / cube
    assert isinstance(ratio, tf.Image)
    assert ratio.unit is None
    np.testing.assert_allclose(ratio.read(), plane.values / PIXELS, rtol=1e-6)


def test_expressions_take_quantities_in_the_unit_of_the_images(cube: tf.Image) -> None:
    plane = cube.plane(0)
    for text, value, expected, unit in [
        ("a + q", 500 * u.mJy / u.beam, PIXELS + 0.5, "Jy/beam"),
        ("a > q", 3000 * u.mJy / u.beam, PIXELS > 3, None),
        ("a * q", 2 * u.K, PIXELS * 2, None),
        ("a * q", 50 * u.percent, PIXELS / 2, "Jy/beam"),
        ("a - q", plane, PIXELS - PIXELS[0], "Jy/beam"),
        ("a * q", tf.along(np.arange(6.0) * u.K, "z"), PIXELS * np.arange(6)[:, None, None], None),
        ("q - a", ARRAY * u.mJy / u.beam, ARRAY / 1000 - PIXELS, "Jy/beam"),
    ]:
        found = tf.evaluate(text, a=cube, q=value)
        np.testing.assert_allclose(found.read(), expected, rtol=1e-6, atol=1e-6)
        assert found.unit == unit
        assert pickle.loads(pickle.dumps(found)).unit == unit
    product = cube * tf.along(np.arange(6.0) * u.K, "z")
    assert product.unit == "Jy K beam-1"


def test_spectra_lie_along_the_spectral_axis(tmp_path: Path) -> None:
    pixels = np.random.default_rng(4).uniform(1, 9, size=(4, 4, 4)).astype("f4")
    cube = tf.open(write_cube(tmp_path / "cube.fits", data=pixels))[0]
    spectrum = cube.spectrum()
    expected = spectrum.values[:, None, None]
    for found, values, unit in [
        (cube - spectrum, pixels - expected, "Jy/beam"),
        (spectrum / cube, expected / pixels, None),
        (np.maximum(cube, spectrum), np.maximum(pixels, expected), "Jy/beam"),
    ]:
        np.testing.assert_allclose(found.read(), values, rtol=1e-5, atol=1e-6)
        assert found.unit == unit


def test_results_are_written_with_their_headers(cube: tf.Image, tmp_path: Path) -> None:
    plane, spectrum = cube.moment(0, keep_axis=True), cube.spectrum()
    tf.write(tmp_path / "plane.fits", plane)
    tf.write(tmp_path / "all.fits", [cube, plane, spectrum, (spectrum, {"OBJECT": "M 31"})])
    with tf.open(tmp_path / "plane.fits") as file, tf.open(tmp_path / "all.fits") as every:
        assert file[0].unit == every[1].unit == plane.unit
        assert file[0].shape == every[1].shape == (1, 5, 4)
        assert file[0].header["CTYPE3"] == every[1].header["CTYPE3"] == "VRAD"
        np.testing.assert_array_equal(every[2].world_axis("x").values, spectrum.axis.values)
        assert every[3].header["OBJECT"] == "M 31"


# Planes and spectra as arrays.


@pytest.fixture
def plane(cube: tf.Image) -> tf.Plane:
    return cube.moment(0)


@pytest.fixture
def spectrum(cube: tf.Image) -> tf.Spectrum:
    return cube.spectrum(tf.Box(1, 1, 2, 2))


def test_planes_and_spectra_pickle(plane: tf.Plane, spectrum: tf.Spectrum) -> None:
    again = pickle.loads(pickle.dumps(plane))
    np.testing.assert_array_equal(again.values, plane.values)
    assert (again.unit, again.name, again.header) == (plane.unit, plane.name, plane.header)
    other = pickle.loads(pickle.dumps(spectrum))
    np.testing.assert_array_equal(other.values, spectrum.values)
    np.testing.assert_array_equal(other.axis.values, spectrum.axis.values)
    assert (other.unit, other.region, other.header) == (
        spectrum.unit, spectrum.region, spectrum.header,
    )  # fmt: skip


def test_equality_is_element_by_element(plane: tf.Plane, spectrum: tf.Spectrum) -> None:
    for given in (plane, spectrum):
        equal = given == given
        assert isinstance(equal, np.ndarray)
        assert equal.dtype == np.bool_
        assert equal.shape == given.shape
        assert equal.all()
        assert not (given == given.values + 1).any()
        assert ((given != given.values[0]) == (given.values != given.values[0])).all()
        with pytest.raises(ValueError, match=r"truth value .*ambiguous.*any\(\).*all\(\)"):
            bool(given)
        assert given in {given}
    assert bool(spectrum[1:2])


def test_planes_and_spectra_are_arrays_to_numpy(plane: tf.Plane, spectrum: tf.Spectrum) -> None:
    for given in (plane, spectrum):
        np.testing.assert_array_equal(np.asarray(given), given.values)
        assert np.asarray(given, dtype="f4").dtype == np.float32
        assert (given.shape, given.ndim, given.size) == (
            given.values.shape, given.values.ndim, given.values.size,
        )  # fmt: skip
        assert given.dtype == np.float64
        assert len(given) == len(given.values)
        np.testing.assert_array_equal(list(given), list(given.values))
        assert np.nanmax(given) == given.values.max()
        np.testing.assert_array_equal(2 * given + 1, 2 * given.values + 1)
        np.testing.assert_array_equal(np.add.reduce(given), np.add.reduce(given.values))
        np.testing.assert_array_equal(np.isnan(given), np.isnan(given.values))
        mask = given > float(given.values.mean())
        np.testing.assert_array_equal(given[mask], given.values[mask])
        np.testing.assert_array_equal(given[[0, 2]], given.values[[0, 2]])
        np.testing.assert_array_equal(given[..., None], given.values[..., None])
    assert plane[1, 2] == plane.values[1, 2]
    np.testing.assert_array_equal(plane[1], plane.values[1])
    assert spectrum[-1] == spectrum.values[-1]
    with pytest.raises(IndexError):
        spectrum[99]


CUTS = [np.s_[1:4], np.s_[:, 1:], np.s_[::2, ::-1], np.s_[-3:-1, 1:3], np.s_[...], np.s_[4:0:-2]]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("keep_axis", [False, True])
def test_slices_of_planes_keep_their_coordinates(cube: tf.Image, cut: Any, keep_axis: bool) -> None:
    plane = cube.moment(0, keep_axis=keep_axis)
    part = plane[cut]
    assert isinstance(part, tf.Plane)
    np.testing.assert_array_equal(part.values, plane.values[cut])
    rows, columns = np.indices(plane.shape)
    whole, own = plane.wcs, part.wcs
    y, x = np.indices(part.shape)
    expected = whole.wcs_pix2world(columns[cut].ravel(), rows[cut].ravel(), 0)
    found = own.wcs_pix2world(x.ravel(), y.ravel(), 0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert part.header["BUNIT"] == plane.unit
    assert part.header["OBJECT" if "OBJECT" in plane.header else "CTYPE1"]


@pytest.mark.parametrize("cut", [slice(1, 4), slice(None, None, -1), slice(0, None, 2)])
def test_slices_of_spectra_keep_their_coordinates(spectrum: tf.Spectrum, cut: slice) -> None:
    part = spectrum[cut]
    assert isinstance(part, tf.Spectrum)
    np.testing.assert_array_equal(part.values, spectrum.values[cut])
    np.testing.assert_array_equal(part.axis.values, spectrum.axis.values[cut])
    (found,) = WCS(part.header.to_astropy()).wcs_pix2world(np.arange(len(part)), 0)
    np.testing.assert_allclose(found, spectrum.axis.values[cut])


def test_slices_are_written_with_their_coordinates(spectrum: tf.Spectrum, tmp_path: Path) -> None:
    spectrum[2:5].write(tmp_path / "part.fits")
    with tf.open(tmp_path / "part.fits", strict=True) as file:
        np.testing.assert_array_equal(file[0].world_axis("x").values, spectrum.axis.values[2:5])


def test_spectra_of_other_channels_are_not_added(spectrum: tf.Spectrum) -> None:
    doubled = spectrum + spectrum[:]
    np.testing.assert_array_equal(doubled.values, 2 * spectrum.values)
    assert doubled.unit == spectrum.unit
    with pytest.raises(tf.UsageError, match="different axes"):
        spectrum[:3] + spectrum[1:4]


def test_a_quantity_of_a_plane_has_its_unit(plane: tf.Plane) -> None:
    assert plane.quantity.unit == u.Jy / u.beam * u.m / u.s
    np.testing.assert_array_equal(plane.quantity.value, plane.values)
