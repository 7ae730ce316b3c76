"""The mean of equal pixels is their value, whatever the length, section, axis and holes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf

VALUES = [105.83, 0.1, -2.7e-5, 1e300 / 3, 1e-310]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("shape", [(7, 11, 13), (3, 100, 1000), (300, 5, 17)])
def test_the_mean_of_a_constant_is_that_constant(
    tmp_path: Path, value: float, shape: tuple[int, ...]
) -> None:
    path = tmp_path / "flat.fits"
    tf.write(path, np.full(shape, value))
    for threads in (1, 2):
        image = tf.open(path, threads=threads)[0]
        assert image.mean() == value
        assert image.stats().mean == value
        assert image.stats(tf.Box(3, 2, 4, 3)).mean == value
        section = np.s_[1:, ::2, 3:]
        assert image.select(section=section).mean() == value
        for axis in ("x", "y", "z", "xy", "yz", "xz"):
            assert (image.mean(axis=axis) == value).all(), axis
            assert (image.select(section=section).mean(axis=axis) == value).all(), axis
            assert (image.stats(axis=axis)["mean"] == value).all(), axis
        assert (image.rebin((3, 5, 7), partial="keep").read() == value).all()


@pytest.mark.parametrize("axis", ["x", "y", "z", "xz"])
def test_undefined_pixels_do_not_change_that(tmp_path: Path, axis: str) -> None:
    data = np.full((40, 30, 50), 105.83)
    data[np.random.default_rng(3).random(data.shape) < 0.3] = np.nan
    tf.write(tmp_path / "holes.fits", data)
    image = tf.open(tmp_path / "holes.fits")[0]
    assert image.mean() == 105.83
    found = image.mean(axis=axis)
    assert (found[~np.isnan(found)] == 105.83).all()


def test_columns_of_different_constants_have_their_own_means(tmp_path: Path) -> None:
    plane = np.random.default_rng(4).normal(0, 1, (20, 70))
    tf.write(tmp_path / "columns.fits", np.broadcast_to(plane, (333, 20, 70)).copy())
    image = tf.open(tmp_path / "columns.fits")[0]
    np.testing.assert_array_equal(image.mean(axis="z"), plane)
    np.testing.assert_array_equal(image.stats(axis="z")["mean"], plane)


def test_scaled_integers_too(tmp_path: Path) -> None:
    tf.write(tmp_path / "scaled.fits", np.full((30, 1000), 17.3), dtype="int16", scaling=(0.1, 0.0))
    image = tf.open(tmp_path / "scaled.fits")[0]
    value = image[0, 0]
    assert image.mean() == value
    assert (image.mean(axis="y") == value).all()


@pytest.mark.parametrize("value", [1e300, -1e200, 1e-200, 0.0])
def test_rms_of_values_whose_squares_leave_float64(tmp_path: Path, value: float) -> None:
    tf.write(tmp_path / "far.fits", np.full((4, 8), value))
    image = tf.open(tmp_path / "far.fits")[0]
    assert image.stats().rms == pytest.approx(abs(value), rel=1e-12)
    np.testing.assert_allclose(image.rms(axis=0), np.full(8, abs(value)), rtol=1e-12)
    np.testing.assert_allclose(image.rms(axis=1), np.full(4, abs(value)), rtol=1e-12)
