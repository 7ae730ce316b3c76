"""Finite values never become infinite: results widen to float64, or fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from tachyfits.cli import run


def file_with_bzero(path: Path, bitpix: int = -32) -> Path:
    cards = [
        f"{'SIMPLE':<8}= {'T':>20}",
        f"{'BITPIX':<8}= {bitpix:>20}",
        f"{'NAXIS':<8}= {2:>20}",
        f"{'NAXIS1':<8}= {4:>20}",
        f"{'NAXIS2':<8}= {4:>20}",
        f"{'BZERO':<8}= {'-1E300':>20}",
        "END",
    ]
    header = "".join(card.ljust(80) for card in cards).ljust(2880)
    path.write_bytes(header.encode() + bytes(2880))
    return path


@pytest.mark.parametrize("bitpix", [-32, 16, 8])
def test_scaling_beyond_float32_widens(tmp_path: Path, bitpix: int) -> None:
    image = tf.open(file_with_bzero(tmp_path / "wide.fits", bitpix))[0]
    results = {
        "rebin": image.rebin(x=2),
        "sum": image.rebin(x=2, statistic="sum"),
        "smooth": image.smooth("hanning", axis="x"),
        "smooth_sky": image.smooth_sky(2.0),
        "math": tf.evaluate("a + 1", a=image),
        "operators": image * 2,
        "pv": image.pv([(0, 0), (3, 3)]),
    }
    for name, result in results.items():
        values = result.read()
        assert values.dtype == np.float64, name
        assert np.isfinite(values).all(), name
        assert values.flat[0] == pytest.approx(-2e300 if name in ("sum", "operators") else -1e300)
        result.write(tmp_path / f"{name}.fits")
        np.testing.assert_array_equal(tf.open(tmp_path / f"{name}.fits")[0].read(), values)


def test_a_sum_beyond_float32_fails_and_says_so(tmp_path: Path) -> None:
    tf.write(tmp_path / "large.fits", np.full((4, 4), 3e38, "f4"))
    image = tf.open(tmp_path / "large.fits")[0]
    for result in (
        image.rebin(x=4, statistic="sum"),
        image.smooth([1.0, 1.0, 1.0], axis="x"),
        image * 10,
        tf.evaluate("a * 10", a=image, dtype="float32"),
    ):
        with pytest.raises(tf.UsageError, match="float32"):
            result.read()
        with pytest.raises(tf.UsageError, match="float32"):
            result.stats()
        with pytest.raises(tf.UsageError, match="float32"):
            result.write(tmp_path / "out.fits")
        assert not (tmp_path / "out.fits").exists()
    wide = tf.evaluate("a * 10", a=image, dtype="float64")
    assert wide.max() == pytest.approx(3e39)
    # Means stay within the range.
    assert image.rebin(x=4)[0, 0] == np.float32(3e38)
    assert image.smooth("hanning", axis="x")[0, 0] == np.float32(3e38)


def test_infinite_pixels_stay_infinite(tmp_path: Path) -> None:
    data = np.ones((3, 8), "f4")
    data[1, 4] = np.inf
    tf.write(tmp_path / "inf.fits", data)
    image = tf.open(tmp_path / "inf.fits")[0]
    assert np.isinf((image * 10)[1, 4])
    assert np.isinf(image.smooth([1, 2, 1], axis="x")[1, 3:6]).all()
    assert np.isinf(tf.evaluate("1 / (a - a)", a=image)[0]).all()


def test_writing_as_float32_refuses_values_out_of_range(tmp_path: Path) -> None:
    tf.write(tmp_path / "wide.fits", np.array([[1.0, 1e39]]))
    image = tf.open(tmp_path / "wide.fits")[0]
    with pytest.raises(tf.UsageError, match="BITPIX = -32"):
        image.write(tmp_path / "single.fits", dtype="float32")
    with pytest.raises(tf.UsageError, match="BITPIX = -32"):
        tf.write(tmp_path / "single.fits", np.array([1e39]), dtype="float32")
    out = str(tmp_path / "single.fits")
    assert run(["math", "a", f"a={tmp_path / 'wide.fits'}", "--bitpix", "-32", "-o", out]) != 0


def test_values_beyond_float32_are_counted_once(tmp_path: Path) -> None:
    tf.write(tmp_path / "large.fits", np.array([[1.0, 3e38, 2.0, 1.0]], "f4"))
    image = tf.open(tmp_path / "large.fits")[0]
    with pytest.raises(tf.UsageError, match="found 1 outside it"):
        tf.evaluate("a * 10", a=image, dtype="float32").read()


@pytest.mark.parametrize("bitpix", [-64, -32, 64, 16, 8])
def test_reading_as_float32_refuses_values_out_of_range(tmp_path: Path, bitpix: int) -> None:
    image = tf.open(file_with_bzero(tmp_path / "wide.fits", bitpix))[0]
    out = np.zeros((4, 4), "f4")
    for read in (
        lambda: image.read(dtype="float32"),
        lambda: image.read(np.s_[1:, ::2], dtype="float32", out=out[1:, ::2]),
        lambda: image.read([0, 2], dtype="float32"),
    ):
        with pytest.raises(tf.UsageError, match="expected values within the range of float32"):
            read()
    assert image.read(dtype="float64")[0, 0] == -1e300


def test_reading_as_float32_counts_only_finite_values(tmp_path: Path) -> None:
    stored = np.array([[1.0, np.inf, -np.inf, np.nan, 3.4e38], [2.0, 1.0, -1e39, 1e40, 0.0]])
    tf.write(tmp_path / "mixed.fits", stored)
    image = tf.open(tmp_path / "mixed.fits")[0]
    np.testing.assert_array_equal(image.read(0, dtype="float32"), stored[0].astype("f4"))
    with pytest.raises(tf.UsageError, match="found 2 outside it"):
        image.read(dtype="float32")
    with pytest.raises(tf.UsageError, match="found 2 outside it"):
        tf.evaluate("a * 1", a=image, dtype="float64").read(dtype="float32")
