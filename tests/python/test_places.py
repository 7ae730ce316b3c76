"""Places of pixels in the world, and back."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from realfiles import parameters, path_of
from skyimages import ALL_SKY, sky_image
from test_spectral_selection import AXES, CHANNELS, cube


@pytest.mark.parametrize("kind", AXES)
@given(x=st.floats(-3, 5), y=st.floats(-3, 5), z=st.floats(0, CHANNELS - 1))
def test_places_and_pixels_are_inverse(kind: str, x: float, y: float, z: float) -> None:
    image = cube(kind)
    position, value = image.coordinates.pixel_to_world(x, y, z)
    found = image.coordinates.world_to_pixel(position.galactic, value)
    np.testing.assert_allclose(found, (x, y, z), atol=1e-6)
    only_z = image.coordinates.world_to_pixel(spectral=f"{float(value.value)!r} {AXES[kind][1]}")
    assert np.isnan(only_z[:2]).all()
    assert only_z[2] == pytest.approx(z, abs=1e-6)


def test_places_are_those_of_astropy() -> None:
    image = cube("frequency")
    x, y, z = np.array([0.0, 1.5]), np.array([1.0, 0.25]), np.array([3.0, 17.5])
    position, frequency = image.coordinates.pixel_to_world(x, y, z)
    theirs, spectral = image.wcs.pixel_to_world(x, y, z)
    assert position.separation(theirs).max().arcsec < 1e-9
    np.testing.assert_allclose(frequency.to_value("Hz"), spectral.to_value("Hz"), rtol=1e-14)
    assert image.coordinates.pixel_to_world(0, 0).name == "icrs"
    velocity = image.coordinates.world_to_pixel(spectral="-21.1 km/s", rest="1.42 GHz")[2]
    radio = (1.42e9 * (1 + 21.1 / 299_792.458) - 1.42e9) / 1e5
    assert velocity == pytest.approx(radio, abs=1e-6)


@pytest.mark.parametrize("projection", ALL_SKY)
def test_the_sky_and_back(projection: str) -> None:
    image = sky_image(projection, **ALL_SKY[projection])
    height, width = image.shape
    y, x = np.indices((height, width))[:, ::7, ::7]
    position = image.coordinates.pixel_to_world(x, y)
    known = np.isfinite(position.ra.deg)
    assert known.mean() > 0.3
    there = np.array(image.coordinates.world_to_pixel(position[known]))
    again = image.coordinates.pixel_to_world(*there)
    assert again.separation(position[known]).max().deg < 1e-9


def test_summaries_of_coordinates_are_values() -> None:
    image = cube("radio")
    summary = image.coordinates.summary
    assert summary == image.coordinates.summary
    assert summary.as_dict()["sky"]["frame"] == "ICRS"
    assert pickle.loads(pickle.dumps(summary)) == summary
    assert str(image.coordinates) == str(summary) in repr(image.coordinates)
    assert image.coordinates is image.coordinates


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda i: i.coordinates.pixel_to_world(0, 0, 0, 0), "4 pixel numbers"),
        (lambda i: i.coordinates.pixel_to_world("x", 0), "invalid pixels"),
        (lambda i: i.coordinates.pixel_to_world(0), "no sky position"),
        (lambda i: i.coordinates.world_to_pixel(position=(83.6, 22)), "SkyCoord"),
        (lambda i: i.coordinates.world_to_pixel(spectral="3 K"), "invalid"),
    ],
)
def test_invalid_places_say_what_to_do(call: Any, words: str) -> None:
    with pytest.raises(tf.UsageError, match=words) as caught:
        call(cube("radio"))
    assert "\nhint: " in str(caught.value)


@pytest.mark.parametrize(
    "name", parameters(["data/cubes/ngc6946.fits", "data/cubes/l1448_13co.fits"])
)
def test_places_in_real_cubes(name: str) -> None:
    with tf.open(path_of(name)) as file:
        image = file[0]
        x, y, z = (np.linspace(0, n - 1, 9) for n in reversed(image.shape[-3:]))
        position, value = image.coordinates.pixel_to_world(x, y, z)
        found = image.coordinates.world_to_pixel(position, value)
        np.testing.assert_allclose(found[:3], (x, y, z), atol=1e-6)
