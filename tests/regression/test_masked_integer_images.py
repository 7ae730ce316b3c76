"""Masked integers become images with BLANK without a detour through floats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf


def _raw(path: Path) -> tuple[np.ndarray, Any]:
    with fits.open(path, do_not_scale_image_data=True) as opened:
        return np.array(opened[0].data), opened[0].header


@pytest.mark.parametrize("kind", ["u1", "i2", "i4", "i8"])
@pytest.mark.parametrize("given", [False, True])
def test_integers_stay_exact(tmp_path: Path, kind: str, given: bool) -> None:
    path = tmp_path / "a.fits"
    array = np.ma.masked_less(np.arange(12, dtype=kind).reshape(3, 4), 4)
    tf.write(path, array, blank=99, dtype=kind if given else None, checksum=True)
    stored, header = _raw(path)
    np.testing.assert_array_equal(stored, array.filled(99))
    assert (header["BLANK"], header["BITPIX"]) == (99, np.dtype(kind).itemsize * 8)
    assert "BZERO" not in header
    with tf.open(path) as file:
        assert (file[0].count_nan(), float(file[0].max())) == (4, 11.0)
        assert file[0].checksum().ok


def test_integers_of_64_bits_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "a.fits"
    values = np.arange(10, dtype="i8") + 2**60
    array = np.ma.masked_equal(values, 2**60 + 3)
    for dtype in (None, "i8"):
        tf.write(path, array, blank=-1, dtype=dtype, overwrite=True)
        stored, header = _raw(path)
        assert stored.tolist() == array.filled(-1).tolist()
        assert header["BLANK"] == -1
    # Without masked ones, too.
    tf.write(path, values, blank=-1, overwrite=True)
    stored, header = _raw(path)
    assert (stored.tolist(), header["BLANK"]) == (values.tolist(), -1)


@pytest.mark.parametrize(
    ("kind", "zero"), [("u2", 2**15), ("u4", 2**31), ("u8", 2**63), ("i1", -128)]
)
def test_blank_of_unsigned_integers_is_the_stored_value(
    tmp_path: Path, kind: str, zero: int
) -> None:
    least, greatest = np.iinfo(kind).min, np.iinfo(kind).max
    values = np.array([5, 1, greatest - 1, greatest], kind)
    mask = [False, True, False, False]
    blank = least - zero
    tf.write(tmp_path / "a.fits", np.ma.MaskedArray(values, mask=mask), blank=blank)
    header = fits.getheader(tmp_path / "a.fits")
    assert (header["BZERO"], header["BLANK"]) == (zero, blank)
    content = (tmp_path / "a.fits").read_bytes()[2880:]
    stored = np.frombuffer(content, f">{'u1' if kind == 'i1' else kind.replace('u', 'i')}", 4)
    whole = [int(number) + zero for number in stored]
    assert whole == [5, least, greatest - 1, greatest]
    with tf.open(tmp_path / "a.fits") as file:
        assert file[0].count_nan() == 1
    values[0] = least
    with pytest.raises(tf.UsageError, match="among the defined values"):
        tf.write(tmp_path / "b.fits", np.ma.MaskedArray(values, mask=mask), blank=blank)


def test_narrower_types_are_exact_or_refused(tmp_path: Path) -> None:
    array = np.ma.MaskedArray([1, 2, 3], mask=[0, 1, 0], dtype="i8")
    tf.write(tmp_path / "a.fits", array, dtype="i2", blank=-9)
    stored, header = _raw(tmp_path / "a.fits")
    assert (stored.tolist(), header["BLANK"], header["BITPIX"]) == ([1, -9, 3], -9, 16)
    with pytest.raises(tf.UsageError, match="70000 does not fit"):
        tf.write(tmp_path / "b.fits", np.ma.array([1, 70000], mask=[1, 0]), dtype="i2", blank=-9)
    with pytest.raises(tf.UsageError, match="among the defined values"):
        tf.write(tmp_path / "b.fits", np.ma.array([1, 7], mask=[1, 0]), blank=7)
    assert not (tmp_path / "b.fits").exists()


def test_everything_masked(tmp_path: Path) -> None:
    tf.write(tmp_path / "a.fits", np.ma.masked_all((2, 2), "i2"), blank=-1)
    stored, _ = _raw(tmp_path / "a.fits")
    assert stored.tolist() == [[-1, -1], [-1, -1]]


@pytest.mark.parametrize(
    ("kind", "blank", "stored"),
    [("i2", 40000, "-32768 to 32767"), ("i1", -128, "0 to 255"), ("u2", 40000, "-32768 to 32767")],
)
def test_a_blank_that_the_type_cannot_store_is_named(
    tmp_path: Path, kind: str, blank: int, stored: str
) -> None:
    masked = np.ma.masked_equal(np.arange(5, dtype=kind), 3)
    for array in (masked, np.arange(5, dtype=kind)):
        with pytest.raises(tf.UsageError, match=f"invalid blank {blank}: .* from {stored}"):
            tf.write(tmp_path / "blank.fits", array, blank=blank)
