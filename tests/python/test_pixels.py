"""Pixels as NumPy gives them: every BITPIX, scaling, BLANK, every section."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import (
    STORED,
    bitpix_of,
    empty_primary,
    extension,
    physical,
    primary,
    sections,
    stored_arrays,
)

UNSIGNED = {8: (-128, "i1"), 16: (2**15, "u2"), 32: (2**31, "u4"), 64: (2**63, "u8")}


def same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal type, shape and bytes: NaN payloads and the sign of zero included."""
    assert found.dtype == expected.dtype
    assert found.dtype.isnative
    assert found.shape == expected.shape
    assert found.tobytes() == np.ascontiguousarray(expected).tobytes()


@given(data=st.data(), stored=stored_arrays())
def test_plain_pixels_are_the_stored_ones(data: st.DataObject, stored: np.ndarray) -> None:
    index = data.draw(sections(stored.shape))
    image = tf.open(primary(stored))[0]
    assert image.shape == stored.shape
    assert image.bitpix == bitpix_of(stored)
    same_bits(np.asarray(image[index]), np.asarray(stored[index]))
    same_bits(image.read(index, dtype="raw"), np.asarray(stored[index]))
    same_bits(image.read(index, dtype="float64"), np.asarray(stored[index]).astype("f8"))


@given(
    data=st.data(),
    stored=stored_arrays(finite=True),
    bscale=st.sampled_from([1.0, 2.0, 0.1, -3.25e-6, 7e8]),
    bzero=st.sampled_from([0.0, 32768.5, -1e-3, 1e12]),
)
def test_scaled_pixels_follow_the_standards_formula(
    data: st.DataObject, stored: np.ndarray, bscale: float, bzero: float
) -> None:
    index = data.draw(sections(stored.shape))
    blank = None
    cards = [("BSCALE", bscale), ("BZERO", bzero)]
    if stored.dtype.kind in "iu" and data.draw(st.booleans()):
        blank = int(data.draw(st.sampled_from(stored.ravel().tolist())))
        cards.append(("BLANK", blank))
    image = tf.open(primary(stored, cards))[0]
    expected = np.asarray(physical(stored, bscale, bzero, blank)[index])
    if (bscale, bzero) != (1.0, 0.0) or blank is not None:
        assert image.dtype == np.float64
        np.testing.assert_array_equal(image[index], expected)
    np.testing.assert_array_equal(image.read(index, dtype="float64"), expected)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            image.read(index, dtype="float32"), expected.astype(np.float32)
        )
    same_bits(image.read(index, dtype="raw"), np.asarray(stored[index]))


@given(stored=stored_arrays(bitpix=st.sampled_from(sorted(UNSIGNED))))
def test_unsigned_conventions_are_exact_integers(stored: np.ndarray) -> None:
    bzero, name = UNSIGNED[bitpix_of(stored)]
    image = tf.open(primary(stored, [("BSCALE", 1), ("BZERO", bzero)]))[0]
    exact = np.array([int(v) + bzero for v in stored.ravel().tolist()], dtype=name)
    same_bits(image[...], exact.reshape(stored.shape))
    same_bits(image.read(dtype="exact"), exact.reshape(stored.shape))
    same_bits(image.read(dtype="raw"), stored)


def test_unsigned_with_blank_is_nan_where_the_stored_value_is_blank() -> None:
    stored = np.array([-32768, -32767, 0, 32767], "i2")
    cards = [("BZERO", 32768), ("BLANK", -32768)]
    image = tf.open(primary(stored, cards))[0]
    np.testing.assert_array_equal(image[...], [np.nan, 1.0, 32768.0, 65535.0])
    same_bits(image.read(dtype="exact"), np.array([0, 1, 32768, 65535], "u2"))


def test_blank_means_nothing_for_floats() -> None:
    stored = np.array([-1, 0, np.nan], "f4")
    image = tf.open(primary(stored, [("BLANK", -1)]))[0]
    same_bits(image[...], stored)


def test_nan_payloads_and_negative_zero_survive() -> None:
    words = (0x80000000, 0x7FC00001, 0x7F800001, 0x00000001, 0x7F800000, 0xFFC12345)
    stored = np.frombuffer(struct.pack("=6I", *words), "f4")
    same_bits(tf.open(primary(stored))[0][...], stored)


@given(data=st.data(), stored=stored_arrays())
def test_out_is_filled_and_returned(data: st.DataObject, stored: np.ndarray) -> None:
    index = data.draw(sections(stored.shape))
    image = tf.open(primary(stored))[0]
    out = np.zeros(np.asarray(stored[index]).shape, image.dtype)
    assert image.read(index, out=out) is out
    same_bits(out, np.asarray(stored[index]))


def test_out_of_another_shape_or_type_is_refused() -> None:
    image = tf.open(primary(np.zeros((2, 3), "i2")))[0]
    for out in (np.zeros((3, 2), "i2"), np.zeros((2, 3), "f8"), np.zeros((2, 3), ">i2"), [0]):
        with pytest.raises(tf.UsageError):
            image.read(out=out)


def test_out_may_be_a_view_with_strides() -> None:
    stored = np.arange(24, dtype="i4").reshape(2, 3, 4)
    image = tf.open(primary(stored))[0]
    big = np.full((2, 6, 8), -1, "i4")
    try:
        image.read(out=big[:, ::2, ::2])
    except tf.UsageError:
        # Refusing is allowed; writing somewhere else is not.
        assert (big == -1).all()
    else:
        same_bits(np.ascontiguousarray(big[:, ::2, ::2]), stored)
        assert (big[:, 1::2] == -1).all()
        assert (big[:, :, 1::2] == -1).all()


@pytest.mark.parametrize("bitpix", sorted(STORED))
def test_large_images_read_alike_for_any_number_of_threads(bitpix: int) -> None:
    random = np.random.default_rng(bitpix + 100)
    stored = random.integers(0, 256, (7, 301, 411 * abs(bitpix) // 8), "u1")
    stored = stored.view(STORED[bitpix])
    with tf.open(primary(stored)) as file:
        for threads in (1, 2, 3, 8):
            same_bits(file[0].read(threads=threads), stored)
            where = np.s_[::-2, 5:300:7, -1:3:-3]
            same_bits(file[0].read(where, threads=threads), stored[where])


def test_indices_that_numpy_refuses() -> None:
    image = tf.open(primary(np.zeros((2, 3), "i2")))[0]
    for index in [5, (0, -4), (0, 0, 0), (Ellipsis, Ellipsis)]:
        with pytest.raises(IndexError):
            image[index]
    for index in [[0.5], np.array([True]), 1.5, "x", slice("a"), [0, 2], {}]:
        with pytest.raises(tf.UsageError) as caught:
            image[index]
        assert "hint: " in str(caught.value)


def test_axes_of_length_zero_have_no_pixels() -> None:
    image = tf.open(primary(np.zeros((0, 5), "i2")) + extension(np.arange(3, dtype="i2")))[0]
    assert image.shape == (0, 5)
    assert image[...].shape == (0, 5)
    stats = image.stats()
    assert (stats.count, stats.nan, stats.min_position) == (0, 0, None)
    assert np.isnan([stats.sum, stats.mean, stats.std, stats.min, stats.max]).all()


def test_arrays_are_made_of_images_by_numpy_itself() -> None:
    stored = np.arange(6, dtype="f4").reshape(2, 3)
    image = tf.open(empty_primary() + extension(stored))[1]
    same_bits(np.asarray(image), stored)
    same_bits(np.asarray(image, dtype="f8"), stored.astype("f8"))
    assert [row.tolist() for row in image] == stored.tolist()
    assert len(image) == 2


def test_missing_bytes_are_an_error_with_both_sizes() -> None:
    stored = np.arange(2000, dtype="i2")
    with pytest.warns(tf.TachyfitsWarning):
        image = tf.open(primary(stored)[: 2880 + 1000])[0]
    same_bits(image[:500], stored[:500])
    same_bits(image[499:0:-100], stored[499:0:-100])
    for section in (np.s_[:], np.s_[500:501], np.s_[::-1]):
        with pytest.raises(tf.FormatError) as caught:
            image[section]
        assert "hint: " in str(caught.value)
    with pytest.raises(tf.FormatError, match="4000"):
        image.read()
    assert image.select(section=np.s_[:500]).stats().sum == float(stored[:500].sum())
    with pytest.raises(tf.FormatError):
        image.stats()


def test_invalid_sections_and_axes_name_file_and_hdu(tmp_path: Path) -> None:
    path = tmp_path / "cube.fits"
    tf.write(path, [(np.zeros((2, 2)), None), (np.zeros((3, 4, 5)), None)])
    image = tf.open(path)[1]
    for wrong, problem in (
        (lambda: image[9], "index 9 is out of bounds"),
        (lambda: image.read("x"), "invalid index of type str"),
        (lambda: image.select(section=np.s_[0, 0, 0, 0]).stats(), "too many indices"),
        (lambda: image.select(section=np.s_[::0]).histogram(), "invalid slice"),
        (lambda: image.select(section=9).median(), "index 9"),
        (lambda: image.mean(axis=9), "axis 9 is out of bounds"),
        (lambda: image.median(axis="q"), "invalid axis 'q'"),
        (lambda: image.world_axis(1.0), r"invalid axis 1\.0"),
        (lambda: image.smooth("hanning", axis="q"), "invalid axis 'q'"),
    ):
        place = rf"^{re.escape(str(path))}: HDU 1 \(0-based\): {problem}"
        with pytest.raises(tf.UsageError, match=place):
            wrong()
