"""Planes and spectra as arrays: reductions, functions of NumPy, indices on the sky, astropy."""

from __future__ import annotations

import warnings
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import SkyCoord

import tachyfits as tf
from fitsbytes import cube_cards, primary

SHAPE = (6, 9, 8)


def cube() -> tf.Image:
    random = np.random.default_rng(2)
    values = random.normal(3, 2, SHAPE).astype("f4")
    values[:, 2:4, 5] = np.nan
    values[:, :, 7] = np.nan
    image: tf.Image = tf.open(primary(values, cube_cards()))[0]
    return image


def results() -> list[Any]:
    spectrum = cube().select(channels=[slice(0, 2), 4]).spectrum()
    return [cube().collapse("max"), cube().moment(0), spectrum]


@pytest.mark.parametrize("name", ["max", "min", "sum", "mean", "std", "var", "median"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_reductions_ignore_undefined_values(name: str, axis: int | None) -> None:
    for result in results():
        found = getattr(result, name)(axis=axis)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            expected = getattr(np, f"nan{name}")(result.values, axis=axis)
        if name == "sum":
            expected = np.where(np.isfinite(result.values).any(axis=axis), expected, np.nan)
        np.testing.assert_array_equal(found, expected)
        if name != "median":
            np.testing.assert_array_equal(getattr(np, name)(result, axis=axis), expected)
        assert np.ndim(found) == (0 if axis is None else result.ndim - 1)
        assert getattr(result, name)(axis=axis, keepdims=True).ndim == result.ndim


def test_places_of_extremes_are_those_of_defined_values() -> None:
    for result in results():
        assert result.argmax() == np.nanargmax(result.values) == np.argmax(result)
        assert result.argmin() == np.nanargmin(result.values)
        assert result.count() == np.isfinite(result.values).sum()
    plane = results()[0]
    places = plane.argmax(axis=0)
    assert places[7] == -1
    np.testing.assert_array_equal(places[:7], np.nanargmax(plane.values[:, :7], axis=0))
    infinite = tf.evaluate("where(isnan(a), nan, -inf)", a=plane.to_image()).plane()
    assert infinite.argmax() == infinite.argmin() == 0
    out = np.empty(8)
    assert plane.max(axis=0, out=out) is out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(plane[:, 7:].mean())


def test_ufuncs_have_the_units_that_astropy_has() -> None:
    plane = cube().collapse("max").to("mJy/beam")
    quantity = plane.quantity
    functions = (np.hypot, np.fmod, np.copysign, np.nextafter, np.maximum, np.add, np.multiply,
                 np.divide, np.conjugate, np.spacing, np.sqrt, np.square, np.cbrt, np.reciprocal,
                 np.abs, np.trunc, np.rint)  # fmt: skip
    with np.errstate(all="ignore"):
        for function in functions:
            found = function(*[plane] * function.nin)
            expected = function(*[quantity] * function.nin)
            assert isinstance(found, tf.Plane)
            assert found.quantity.unit == expected.unit, function
            np.testing.assert_array_equal(found.values, expected.value)
        for function in (np.log10, np.log, np.log1p, np.exp, np.arcsinh):
            with pytest.raises(tf.UsageError, match="divide by a unit first"):
                function(plane)
            found = function(plane / u.Unit("Jy/beam"))
            np.testing.assert_allclose(found.values, function(plane.values / 1000), rtol=1e-14)
            assert found.unit in (None, "")
    limited = np.clip(plane, 2 * u.Jy / u.beam, 5000)
    assert isinstance(limited, tf.Plane)
    np.testing.assert_array_equal(limited.values, np.clip(plane.values, 2000, 5000))
    np.testing.assert_array_equal(np.round(plane, 1).values, plane.values.round(1))


def test_planes_are_indexed_by_places_on_the_sky() -> None:
    for keep_axis in (False, True):
        plane = cube().collapse("max", keep_axis=keep_axis)
        places = plane.wcs.pixel_to_world([1, 4.4, 30], [2, 5.6, 2])
        np.testing.assert_array_equal(
            plane[places], [plane.values[2, 1], plane.values[6, 4], np.nan]
        )
        assert plane[places[0].galactic] == plane.values[2, 1]
        region = tf.Circle(4, 3, 1.5)
        part = plane[region]
        np.testing.assert_array_equal(part.values, plane.values[2:5, 3:6])
        assert (
            part.wcs.pixel_to_world(0, 0).separation(plane.wcs.pixel_to_world(3, 2)) < 1e-9 * u.deg
        )
        np.testing.assert_array_equal(plane["circle(5,4,1.5)"].values, part.values)
    centre = SkyCoord(150.02, 2.51, unit="deg")
    text = f"icrs; circle({centre.ra.deg},{centre.dec.deg},0.012)"
    expected = cube().cutout(text).collapse("max")
    np.testing.assert_array_equal(cube().collapse("max")[text].values, expected.values)
    with pytest.raises(tf.UsageError, match="has no pixel on the image"):
        plane["circle(900,4,1.5)"]


def test_spectra_are_indexed_by_coordinates() -> None:
    spectrum = cube().spectrum()
    part = spectrum["1.25..1.75 km/s"]
    np.testing.assert_array_equal(part.values, spectrum.values[1:4])
    np.testing.assert_array_equal(part.axis.values, spectrum.axis.values[1:4])
    again = spectrum[1.25 * u.km / u.s : 1.75 * u.km / u.s]
    np.testing.assert_array_equal(again.values, part.values)
    assert again.header["CRVAL1"] == part.header["CRVAL1"]
    with pytest.raises(tf.UsageError, match="no channel in"):
        spectrum["9..10 km/s"]
    with pytest.raises(tf.UsageError, match="expected one range of channels"):
        spectrum["1.0 km/s, 2.0 km/s"]


def test_results_become_images_and_objects_of_astropy() -> None:
    plane = cube().collapse("max")
    image = plane.to_image()
    np.testing.assert_array_equal(image[...], plane.values)
    assert image.unit == "Jy/beam"
    assert image.stats("circle(5,4,1.5)").count == 7
    data = plane.to_astropy()
    assert type(data).__name__ == "CCDData"
    assert data.unit == u.Jy / u.beam
    np.testing.assert_array_equal(data.mask, np.isnan(plane.values))
    spectrum = cube().spectrum()
    np.testing.assert_array_equal(spectrum.to_astropy().flux.value, spectrum.values)


def test_statistics_become_a_dictionary() -> None:
    stats = cube().stats()
    told = stats.to_dict()
    assert list(told) == ["count", "nan", "sum", "mean", "rms", "std", "min", "max",
                          "min_position", "max_position"]  # fmt: skip
    assert told == {name: getattr(stats, name) for name in told}
    assert type(told["count"]) is int
