"""Pixels of an edited image: what NumPy assigns, exactly as the file can hold it, or not at all."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tachyfits as tf

SHAPE = (4, 5, 6)


def image(path: Path, dtype: str = "f4", **cards: Any) -> Path:
    data = np.arange(120).reshape(SHAPE).astype(dtype)
    hdu = fits.PrimaryHDU(data, do_not_scale_image_data=True)
    for keyword, value in cards.items():
        hdu.header[keyword] = value
    hdu.writeto(path, overwrite=True, checksum=True)
    return path


def raw(path: Path) -> np.ndarray:
    return np.asarray(fits.getdata(path, do_not_scale_image_data=True))


def sums_hold(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fits.open(path, checksum=True) as hdus:
            hdus.verify("exception")
    assert all(hdu.checksum().whole == "right" for hdu in tf.open(path))


SECTIONS = [
    np.s_[1:3, 2:4, 1:5], np.s_[0], np.s_[...], np.s_[:, 2], np.s_[..., -1], np.s_[3, 4, 5],
    np.s_[::2, ::-1, ::3], np.s_[::-1], np.s_[..., ::-2], np.s_[1, ::2, 4:0:-1], np.s_[2:2],
    np.s_[-1, ..., 0],
]  # fmt: skip


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "i8", "f4", "f8", "u2", "u4", "u8", "i1"])
def test_sections_are_assigned_as_in_numpy(section: Any, dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "x.fits"
    old = np.arange(120).reshape(SHAPE).astype(dtype)
    tf.write(path, old, checksum=True)
    before = path.read_bytes()
    twin = old.copy()
    values = (np.arange(twin[section].size) % 101 + 1).reshape(twin[section].shape)
    twin[section] = values
    with tf.edit(path) as editor:
        editor[0].pixels[section] = values
        np.testing.assert_array_equal(editor[0].pixels[...], twin)
    found = tf.open(path)[0].read()
    np.testing.assert_array_equal(found, twin)
    assert found.dtype == old.dtype
    np.testing.assert_array_equal(fits.getdata(path), twin)
    assert len(before) == path.stat().st_size
    sums_hold(path)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(hnp.basic_indices(SHAPE, allow_newaxis=False), st.integers(0, 99)), max_size=6
    )
)
def test_many_writes_are_as_in_numpy(tmp_path: Path, writes: list[tuple[Any, int]]) -> None:
    path = image(tmp_path / "x.fits", "i4")
    twin = np.asarray(fits.getdata(path)).astype("i4")
    with tf.edit(path) as editor:
        for section, value in writes:
            twin[section] = value
            editor[0].pixels[section] = value
    np.testing.assert_array_equal(tf.open(path)[0].read(), twin)
    sums_hold(path)


def test_values_are_broadcast(tmp_path: Path) -> None:
    path = image(tmp_path / "x.fits", "f8")
    twin = np.asarray(fits.getdata(path)).astype("f8")
    with tf.edit(path) as editor:
        pixels = editor[0].pixels
        for section, values in [
            (np.s_[0], 1.5), (np.s_[1], np.arange(6)), (np.s_[2], np.arange(5)[:, None]),
            (np.s_[3, 0], np.ones((1, 1, 6))), (np.s_[..., 0], [True]),
        ]:  # fmt: skip
            pixels[section] = values
            twin[section] = values
        pixels[1:3] += 2
        twin[1:3] += 2
        with pytest.raises(tf.UsageError, match=r"values of shape \(4,\).*section of shape"):
            pixels[0, 0] = np.zeros(4)
    np.testing.assert_array_equal(tf.open(path)[0].read(), twin)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("u1", 256), ("u1", -1), ("i2", 32768), ("i2", 1.5), ("i2", np.nan), ("i2", np.inf),
        ("u2", -1), ("u2", 65536), ("i1", 128), ("u4", 2**32), ("u8", 2**64 - 0.0), ("u8", -1),
        ("i8", 2.0**63), ("i8", 2**63), ("f4", 1e300), ("f4", 2**24 + 1), ("f8", 2**53 + 1),
        ("f4", 1j), ("f4", "1"), ("i2", None),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_are_refused(dtype: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.fits"
    tf.write(path, np.zeros((3, 4), dtype))
    before = path.read_bytes()
    with tf.edit(path) as editor, pytest.raises(tf.UsageError, match=r"x\.fits: HDU 0"):
        editor[0].pixels[1] = value
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("u8", np.array([0, 1, 2**63, 2**64 - 1], "u8")), ("u8", np.array([2.0**63, 0, 1, 2])),
        ("i8", np.array([-(2**63), 2**63 - 1, 2**53 + 1, 0])), ("i1", np.array([-128, 127, 0, 5])),
        ("i8", np.array([-(2.0**63), 0, 1, 2])), ("u4", np.array([0, 2**32 - 1, 2**31, 1.0])),
        ("f4", np.array([np.nan, -0.0, np.inf, 1.1])), ("f4", np.array([1, 2, 2**24, -5])),
    ],
)  # fmt: skip
def test_the_ends_of_a_type_are_exact(dtype: str, values: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "x.fits"
    tf.write(path, np.zeros((3, 4), dtype))
    with tf.edit(path) as editor:
        editor[0].pixels[1] = values
    found = tf.open(path)[0][1]
    np.testing.assert_array_equal(found, values.astype(dtype))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(values.astype(dtype)))


def test_undefined_values_become_blank(tmp_path: Path) -> None:
    path = image(tmp_path / "x.fits", "i2", BLANK=-99)
    with tf.edit(path) as editor:
        editor[0].pixels[0, 0] = [1.0, np.nan, 3, 4, 5, 6]
        editor[0].pixels[0, 1] = np.ma.MaskedArray([1, 2, 3, 4, 5, 6], [1, 0, 0, 0, 0, 1])
        with pytest.raises(tf.UsageError, match="other than BLANK = -99"):
            editor[0].pixels[0, 2, 0] = -99
    assert raw(path)[0, 0].tolist() == [1, -99, 3, 4, 5, 6]
    assert raw(path)[0, 1].tolist() == [-99, 2, 3, 4, 5, -99]
    assert np.isnan(tf.open(path)[0][0, 0, 1])
    path = image(tmp_path / "x.fits", "i2")
    with tf.edit(path) as editor, pytest.raises(tf.UsageError, match="without BLANK"):
        editor[0].pixels[0] = np.nan


def test_scaled_pixels_take_whole_steps(tmp_path: Path) -> None:
    path = image(tmp_path / "x.fits", "i2", BSCALE=0.1, BZERO=-5.0, BLANK=-32768)
    values = tf.open(path)[0].read()
    steps = np.arange(-300, 300, 5).reshape(SHAPE)
    with tf.edit(path) as editor:
        editor[0].pixels[...] = -5.0 + 0.1 * steps
        editor[0].pixels[0, 0, 0] = np.nan
        with pytest.raises(tf.UsageError, match=r"whole steps of BSCALE = 0\.1 from BZERO = -5\.0"):
            editor[0].pixels[0, 0, 1] = 0.05
        with pytest.raises(tf.UsageError, match="whole steps"):
            editor[0].pixels[0, 0, 1] = 1e6
        # Single precision, as such pixels are read with dtype="float32".
        editor[0].pixels[1, 1] = values[1, 1].astype("f4")
    steps[0, 0, 0] = -32768
    steps[1, 1] = np.arange(120).reshape(SHAPE)[1, 1]
    np.testing.assert_array_equal(raw(path), steps)
    sums_hold(path)


def test_scaled_floats_are_rounded_to_the_digits_of_the_file(tmp_path: Path) -> None:
    path = image(tmp_path / "x.fits", "f4", BSCALE=2.0, BZERO=1.0)
    with tf.edit(path) as editor:
        editor[0].pixels[0, 0] = [1, 3.3, np.nan, -7, np.inf, 2]
    np.testing.assert_array_equal(
        raw(path)[0, 0], np.array([0, (3.3 - 1) / 2, np.nan, -4, np.inf, 0.5], "f4")
    )


def test_a_scale_that_is_edited_first_counts(tmp_path: Path) -> None:
    path = image(tmp_path / "x.fits", "i2")
    with tf.edit(path) as editor:
        editor[0].header["BSCALE"] = 2.0
        editor[0].pixels[0] = 8
    assert raw(path)[0, 0, 0] == 4
    assert tf.open(path)[0][0, 0, 0] == 8


def test_a_quantity_is_converted(tmp_path: Path) -> None:
    import astropy.units as u

    path = image(tmp_path / "x.fits", "f8", BUNIT="mJy")
    with tf.edit(path) as editor:
        editor[0].pixels[0, 0, 0] = 2 * u.Jy
        with pytest.raises(tf.UsageError, match="values in K for pixels in mJy"):
            editor[0].pixels[0, 0, 1] = 2 * u.K
    assert tf.open(path)[0][0, 0, 0] == 2000


def test_extremes_in_the_header_are_not_left_false(tmp_path: Path) -> None:
    path = image(tmp_path / "x.fits", "f4", DATAMIN=0.0, DATAMAX=119.0)
    editor = tf.edit(path)
    with pytest.warns(tf.TachyfitsWarning, match="DATAMIN and DATAMAX removed"):
        editor[0].pixels[0, 0, 0] = 500
    editor.commit()
    assert not {"DATAMIN", "DATAMAX"} & set(tf.open(path)[0].header)


def test_the_bytes_written_are_those_of_the_pixels(tmp_path: Path) -> None:
    path = tmp_path / "x.fits"
    tf.write(path, np.zeros((64, 256, 256), "f4"))
    with tf.edit(path) as editor:
        editor[0].pixels[3, 100:102, 5:20] = 1
        editor[0].pixels[60, 0, 0] = 2
    assert editor.done is not None
    assert editor.done["in_place"]
    assert editor.done["bytes_written"] < 20_000
    found = tf.open(path)[0]
    assert float(found.sum()) == 32
    assert found[60, 0, 0] == 2


def test_hdus_other_than_images_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.fits"
    tf.write(path, {"A": [1, 2]})
    with tf.edit(path) as editor:
        with pytest.raises(tf.TachyfitsError, match="an image"):
            editor[1].pixels[0] = 1
        with pytest.raises(tf.TachyfitsError):
            editor[0].pixels[0] = 1


def test_a_new_image_can_be_changed_before_it_is_written(tmp_path: Path) -> None:
    path = image(tmp_path / "x.fits", "i2")
    with tf.edit(path) as editor:
        editor.append(np.zeros((2, 3), "u2"), name="MASK")
        editor["MASK"].pixels[1] = [1, 2, 65535]
        assert editor["MASK"].pixels.shape == (2, 3)
    np.testing.assert_array_equal(tf.open(path)["MASK"].read(), [[0, 0, 0], [1, 2, 65535]])
