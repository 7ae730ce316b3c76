"""Statistics of finite pixels have their digits, however large or small the pixels are."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import tachyfits as tf

RNG = np.random.default_rng(1)

IMAGES = {
    "a constant": np.full((64, 64), 1e300),
    "a constant whose squares exceed the sum": np.full((10, 10), 1e304),
    "uniform": RNG.uniform(1, 2, (100, 100)) * 1e300,
    "five of the largest": np.full((1, 5), 1.5e308),
    "a sum beyond float64": RNG.uniform(0.5, 1, (40, 25)) * 1e307,
    "both signs": RNG.uniform(-1.7, 1.7, (70, 70)) * 1e308,
    "squares alone exceed": RNG.normal(3, 1, (30, 200)) * 1e160,
    "one large": np.where(np.arange(9000).reshape(90, 100) == 4321, 1e305, 1.0),
    "undefined ones": np.where(RNG.uniform(size=(80, 80)) < 0.1, np.nan, 1.2e308),
    "small": RNG.normal(0, 1, (70, 70)) * 1e-170,
    "small about an offset": RNG.normal(30, 1, (70, 70)) * 1e-170,
    "small after zeros": np.where(np.arange(70)[:, None] > 60, RNG.normal(0, 1e-163, (70, 90)), 0),
    "small before zeros": np.where(np.arange(70)[:, None] < 8, RNG.normal(0, 1e-200, (70, 90)), 0),
    "the smallest": RNG.normal(0, 1, (10, 20)) * 1e-300,
    "one small": np.where(np.arange(9000).reshape(90, 100) == 4321, 1e-200, 0.0),
    "small beside usual": np.where(np.arange(9000).reshape(90, 100) == 4321, 1.0, 1e-200),
    "opposite": np.array([[1e-170, -1e-170], [-1e-170, 1e-170]]),
    "small and undefined": np.where(RNG.uniform(size=(80, 80)) < 0.1, np.nan, -1.2e-190),
}


def true(values: np.ndarray) -> dict[str, float]:
    """Return the statistics, computed in units that leave room for squares."""
    defined = values[np.isfinite(values)]
    unit = float(np.abs(defined).max(initial=0)) or 1.0
    scaled = defined / unit
    return {
        "mean": float(scaled.mean()) * unit,
        "rms": float(np.sqrt(np.mean(scaled * scaled))) * unit,
        "std": float(scaled.std()) * unit,
    }


def check(found: dict[str, float], values: np.ndarray) -> None:
    expected = true(values)
    for name, value in expected.items():
        scale = 1e-12 * expected["rms"]
        assert math.isclose(found[name], value, rel_tol=1e-12, abs_tol=scale), name


def of(stats: tf.Stats) -> dict[str, float]:
    return {"mean": stats.mean, "rms": stats.rms, "std": stats.std}


def image_of(pixels: np.ndarray, write: Callable[[np.ndarray], str]) -> tf.Image:
    image = tf.open(write(pixels))[0]
    assert isinstance(image, tf.Image)
    return image


@pytest.fixture
def write(tmp_path: object) -> Callable[[np.ndarray], str]:
    def written(pixels: np.ndarray) -> str:
        path = f"{tmp_path}/large.fits"
        tf.write(path, pixels, overwrite=True)
        return path

    return written


@pytest.mark.parametrize("name", IMAGES)
def test_statistics_of_an_image(name: str, write: Callable[[np.ndarray], str]) -> None:
    stats = image_of(IMAGES[name], write).stats()
    assert isinstance(stats, tf.Stats)
    check(of(stats), IMAGES[name])
    check(of(pickle.loads(pickle.dumps(stats))), IMAGES[name])


@pytest.mark.parametrize("name", IMAGES)
def test_statistics_of_a_region(name: str, write: Callable[[np.ndarray], str]) -> None:
    pixels = IMAGES[name]
    rows, columns = pixels.shape
    everything = tf.Box((columns - 1) / 2, (rows - 1) / 2, columns, rows)
    stats = image_of(pixels, write).stats(everything)
    assert isinstance(stats, tf.Stats)
    check(of(stats), pixels)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", IMAGES)
def test_statistics_along_an_axis(axis: int, name: str, write: Callable[[np.ndarray], str]) -> None:
    image, pixels = image_of(IMAGES[name], write), np.moveaxis(IMAGES[name], axis, 0)
    found = {key: getattr(image, key)(axis=axis) for key in ("mean", "rms", "std")}
    for output in range(pixels.shape[1]):
        check({key: values[output] for key, values in found.items()}, pixels[:, output])


def test_sums_that_come_back_into_range_are_finite(write: Callable[[np.ndarray], str]) -> None:
    pixels = np.array([[1.5e308, 1.5e308, -1.5e308, -1.4e308, 2.0]])
    image = image_of(pixels, write)
    assert image.sum() == pytest.approx(1e307)
    assert image.sum(axis=1).tolist() == pytest.approx([1e307])
    assert image_of(pixels.T.copy(), write).sum(axis=0).tolist() == pytest.approx([1e307])


def test_sums_beyond_float64_are_infinite(write: Callable[[np.ndarray], str]) -> None:
    image = image_of(np.full((3, 5), 1.5e308), write)
    assert image.sum() == math.inf
    assert image.sum(axis=0).tolist() == [math.inf] * 5
    assert image.mean(axis=0).tolist() == [1.5e308] * 5


def test_infinite_pixels_stay_infinite(write: Callable[[np.ndarray], str]) -> None:
    stats = image_of(np.array([[1.5e308, math.inf, 1.5e308]]), write).stats()
    assert isinstance(stats, tf.Stats)
    assert (stats.mean, stats.rms) == (math.inf, math.inf)
    assert math.isnan(stats.std)


def test_merged_states_leave_float64(write: Callable[[np.ndarray], str]) -> None:
    pixels = np.full((2, 3), 1.7e308)
    pixels[1] *= -0.5
    first, second = (image_of(row[None], write).stats() for row in pixels)
    assert isinstance(first, tf.Stats)
    assert isinstance(second, tf.Stats)
    check(of(first.merge(second)), pixels)


def test_flat_backgrounds_add_up_as_close_as_numpy(write: Callable[[np.ndarray], str]) -> None:
    for value in (2180.3, 0.1, 105.83, 1 / 3):
        pixels = np.full((300, 411), value)
        pixels[100, 200] = 0
        exact = math.fsum(pixels.ravel())
        assert abs(image_of(pixels, write).sum() - exact) <= 5e-16 * exact
