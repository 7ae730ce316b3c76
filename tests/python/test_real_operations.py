"""Smoothing, arithmetic and reshaping of real cubes, beside NumPy, SciPy and astropy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from astropy.convolution import convolve
from scipy.ndimage import convolve1d

import tachyfits as tf
from realfiles import parameters, path_of

CUBES = parameters(
    f"data/cubes/{name}"
    for name in ("l1448_13co.fits", "minicube.fits", "ngc6946.fits", "NGC4047.co.smo7gain.fits.gz")
)

pytestmark = pytest.mark.once

HANNING = np.array([0.25, 0.5, 0.25])


def cube_of(name: str) -> tf.Image:
    """The first image, and of a long one some channels."""
    file = tf.open(path_of(name))
    return next(hdu for hdu in file if isinstance(hdu, tf.Image))


@pytest.mark.parametrize("name", CUBES)
@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_hanning_is_that_of_scipy(name: str, axis: str) -> None:
    cube = cube_of(name)
    values = cube[...].astype("f8")
    smooth = cube.smooth("hanning", axis=axis, blanks="propagate", fill=True)
    expected = convolve1d(values, HANNING, axis={"x": -1, "y": -2, "z": -3}[axis], mode="nearest")
    scale = np.nanmax(np.abs(values))
    found = smooth[...]
    # SciPy spreads a NaN over the rest of its line where its sums run; compare what both give.
    both = ~np.isnan(found) & ~np.isnan(expected)
    assert both.mean() > 0.1
    np.testing.assert_allclose(found[both] / scale, expected[both] / scale, rtol=0, atol=2e-7)


@pytest.mark.parametrize("name", CUBES)
def test_a_smoothed_plane_is_that_of_astropy(name: str) -> None:
    cube = cube_of(name)
    channel = (0,) * (cube.ndim - 3) + (cube.shape[-3] // 2,)
    plane = cube[channel].astype("f8")
    weights = tf._core.smoothing_weights("gaussian", 2.5)
    with np.errstate(all="ignore"):
        expected = convolve(plane, np.outer(weights, weights), boundary="extend", preserve_nan=True)
    found = cube.smooth_sky(2.5, update_beam=False)[channel]
    scale = np.nanmax(np.abs(plane)) or 1.0
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=2e-7)


@pytest.mark.parametrize("name", CUBES)
def test_written_results_are_read_alike_by_astropy(name: str, tmp_path: Path) -> None:
    from astropy.io import fits

    cube = cube_of(name)
    values = cube[...].astype("f8")
    results = {
        "math": (((cube - 1.5) * 2 / 3), (values - 1.5) * 2 / 3),
        "reordered": (cube.reorder(axes=range(cube.ndim)[::-1]), values.T),
        "smooth": (cube.smooth("boxcar", 3, axis="z"), None),
    }
    for label, (image, expected) in results.items():
        path = tmp_path / f"{label}.fits"
        image.write(path, checksum=True)
        own = tf.open(path, strict=True)[0][...]
        with fits.open(path, checksum=True) as file:
            assert file[0].verify_checksum() == 1
            # astropy makes float32 of scaled 16-bit integers.
            np.testing.assert_allclose(file[0].data, own, rtol=1e-6, atol=1e-8)
        if expected is not None:
            np.testing.assert_allclose(own, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", CUBES)
def test_order_statistics_are_those_of_numpy(name: str) -> None:
    cube = cube_of(name)
    values = cube[...].astype("f8")
    assert cube.median() == np.nanmedian(values)
    np.testing.assert_array_equal(cube.median(axis="xy"), np.nanmedian(values, axis=(-2, -1)))
    np.testing.assert_allclose(
        cube.percentile([5, 95]), np.nanpercentile(values, [5, 95]), rtol=1e-12
    )
