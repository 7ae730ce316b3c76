"""Sums of integer pixels are exact: 64-bit integers where they fit, else float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from tachyfits import fortran


def image_of(path: Path, data: np.ndarray, **cards: object) -> tf.Image:
    hdu = fits.PrimaryHDU(data)
    hdu.header.update(cards)
    hdu.writeto(path, overwrite=True)
    return tf.open(path)[0]


@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_sums_of_blocks_and_along_axes_equal_those_of_numpy(tmp_path: Path, dtype: str) -> None:
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(5)
    if limits.bits == 64:
        low, high = limits.min // 512, limits.max // 512
    else:
        low, high = limits.min, limits.max
    data = rng.integers(low, high, (4, 6, 10), dtype=dtype, endpoint=True)
    image = image_of(tmp_path / "cube.fits", data)
    exact = data.astype(object)
    for axis, letters in [((0,), "z"), ((1,), "y"), ((2,), "x"), ((0, 1), "yz"), ((1, 2), "xy")]:
        found = image.sum(axis=letters)
        assert found.dtype == np.int64
        assert (found.astype(object) == exact.sum(axis=axis)).all(), letters
    assert int(image.sum()) == exact.sum()
    binned = image.rebin((2, 3, 5), statistic="sum")
    assert binned.dtype == np.int64
    blocks = exact.reshape(2, 2, 2, 3, 2, 5).sum(axis=(1, 3, 5))
    assert (binned.read().astype(object) == blocks).all()
    binned.write(tmp_path / "binned.fits")
    assert fits.getheader(tmp_path / "binned.fits")["BITPIX"] == 64
    assert (fits.getdata(tmp_path / "binned.fits").astype(object) == blocks).all()


def test_counts_of_16_bits_are_not_rounded_to_float32(tmp_path: Path) -> None:
    image = image_of(tmp_path / "counts.fits", np.full((1, 257), 65535, "u2"))
    found = image.rebin(x=257, statistic="sum")[0, 0]
    assert (found, found.dtype) == (257 * 65535, np.int64)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_sums_that_leave_64_bits_are_float64(tmp_path: Path, dtype: str) -> None:
    data = np.full((3, 8), np.iinfo(dtype).max, dtype)
    image = image_of(tmp_path / "large.fits", data)
    exact = 8 * int(np.iinfo(dtype).max)
    for found in (image.sum(axis="x"), image.rebin(x=8, statistic="sum").read()[:, 0]):
        assert found.dtype == np.float64
        assert (found == float(exact)).all()
    assert image.sum() == float(3 * exact)


def test_the_mean_of_large_integers_comes_from_their_exact_sum(tmp_path: Path) -> None:
    data = np.array([[2**60 + 1, -(2**60)], [3, 2**53 + 1]], "i8")
    image = image_of(tmp_path / "mixed.fits", data)
    assert image.mean(axis="x").tolist() == [0.5, (2**53 + 4) / 2]
    assert image.mean(axis="y").tolist() == [(2**60 + 4) / 2, (-(2**60) + 2**53 + 1) / 2]
    assert image.stats().sum == float(2**53 + 5)


def test_blank_pixels_are_left_out(tmp_path: Path) -> None:
    data = np.array([[1, -99, 5, 7], [-99, -99, 2, 2]], "i2")
    image = image_of(tmp_path / "blank.fits", data, BLANK=-99)
    assert image.sum(axis="x").tolist() == [13, 4]
    np.testing.assert_array_equal(image.sum(axis="y"), [1, np.nan, 7, 9])
    found = image.rebin(x=2, statistic="sum")
    np.testing.assert_array_equal(found.read(), [[1, 12], [np.nan, 4]])
    found.write(tmp_path / "out.fits")
    written = tf.open(tmp_path / "out.fits")[0]
    assert written.scaling.blank is not None
    np.testing.assert_array_equal(written.read(), [[1, 12], [np.nan, 4]])


def test_many_rows_of_32_bits_are_exact(tmp_path: Path) -> None:
    rows = (1 << 21) + 3
    data = np.full((rows, 2), 2**31 - 1, "i4")
    image = image_of(tmp_path / "rows.fits", data)
    assert image.sum(axis="y").tolist() == [rows * (2**31 - 1)] * 2


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("statistic", ["min", "max"])
def test_extremes_of_blocks_of_64_bit_integers_are_exact(
    tmp_path: Path, dtype: str, statistic: str
) -> None:
    top = int(np.iinfo(dtype).max)
    data = np.array([[top, top - 1, 2**53 + 1, 2**53], [0, 5, 2**53 + 3, 7]], dtype)
    found = image_of(tmp_path / "large.fits", data).rebin(x=2, statistic=statistic)
    assert found.dtype == np.dtype(dtype)
    expected = getattr(np, statistic)(data.reshape(2, 2, 2), axis=2)
    np.testing.assert_array_equal(found.read(), expected)
    found.write(tmp_path / "out.fits")
    np.testing.assert_array_equal(tf.open(tmp_path / "out.fits")[0].read(), expected)


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("form", ["i8", "u8"])
def test_sums_of_64_bit_integers_in_records_are_exact(
    tmp_path: Path, order: str, form: str
) -> None:
    numbers = np.array([2**53 + 1, 2**53 + 1, -(2**54) if form == "i8" else 3], form)
    path = tmp_path / "run.dat"
    fortran.write(path, numbers, order=order)
    with fortran.open(path, order=order) as records:
        assert records.stats(form).sum == float(int(numbers[0]) * 2 + int(numbers[2]))
