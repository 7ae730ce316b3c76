"""NumPy's functions of images, and comparisons as masks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tachyfits as tf
from smallcubes import write_cube

PIXELS = np.random.default_rng(7).normal(size=(6, 5, 4)).astype("f4")
HOLES = np.where(np.random.default_rng(8).random(PIXELS.shape) < 0.2, np.nan, PIXELS)
WHOLE = np.random.default_rng(9).integers(-900, 900, size=(6, 5, 4)).astype("i2")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tf.Image]:
    folder = tmp_path_factory.mktemp("functions")
    arrays = {"floats": PIXELS, "holes": HOLES.astype("f4"), "integers": WHOLE}
    return {
        name: tf.open(write_cube(folder / f"{name}.fits", data=array))[0]
        for name, array in arrays.items()
    }


#: A function of NumPy, the same without NaN, and options that it takes.
REDUCTIONS: list[tuple[Callable[..., Any], Callable[..., Any], tuple[dict[str, Any], ...]]] = [
    (np.sum, np.nansum, ({"initial": 5},)), (np.mean, np.nanmean, ()),
    (np.std, np.nanstd, ({"ddof": 1},)), (np.var, np.nanvar, ({"ddof": 2},)),
    (np.max, np.nanmax, ({"initial": 9},)), (np.min, np.nanmin, ({"initial": -9},)),
    (np.median, np.nanmedian, ()),
]  # fmt: skip


@settings(max_examples=40)
@given(
    axis=st.sampled_from([None, 0, 1, -1, (0, 2), (-1, -2), (0, 1, 2), ()]),
    keepdims=st.booleans(),
    case=st.sampled_from(REDUCTIONS),
    more=st.booleans(),
    name=st.sampled_from(["floats", "integers"]),
)
def test_reductions_are_those_of_numpy(
    images: dict[str, tf.Image], axis: Any, keepdims: bool, case: Any, more: bool, name: str
) -> None:
    image, array = images[name], images[name].read(dtype="float64")
    for function in case[:2]:
        options = {"axis": axis, "keepdims": keepdims}
        options |= case[2][0] if more and case[2] else {}
        expected = function(array, **options)
        found = function(image, **options)
        assert np.shape(found) == np.shape(expected)
        assert isinstance(found, (np.ndarray, np.generic))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_nan_is_left_out_as_the_documentation_says(images: dict[str, tf.Image]) -> None:
    image, array = images["holes"], HOLES.astype("f8")
    for plain, without_nan, _ in REDUCTIONS:
        expected = without_nan(array, axis=0)
        np.testing.assert_allclose(plain(image, axis=0), expected, rtol=1e-12)
        np.testing.assert_allclose(without_nan(image, axis=0), expected, rtol=1e-12)
    assert "NaN and BLANK" in (tf.Image.__doc__ or "")
    np.testing.assert_allclose(
        np.percentile(image, [10, 90], axis=1), np.nanpercentile(array, [10, 90], axis=1)
    )
    np.testing.assert_allclose(np.quantile(image, 0.25), np.nanquantile(array, 0.25))
    np.testing.assert_array_equal(np.nanargmax(image, axis=0), np.nanargmax(array, axis=0))
    assert np.nanargmin(image) == np.nanargmin(array)


def test_a_reduction_is_one_pass_and_makes_no_array(
    images: dict[str, tf.Image], monkeypatch: pytest.MonkeyPatch
) -> None:
    image = images["floats"]

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the pixels were read")

    monkeypatch.setattr(tf.Image, "read", refuse)
    monkeypatch.setattr(tf.Image, "__array__", refuse)
    with tf.reports() as reports:
        for function in (*(case[0] for case in REDUCTIONS), np.ptp, np.argmax, np.any, np.average):
            function(image)
    assert np.shape(image) == image.shape
    assert np.zeros_like(image).dtype == np.float32
    assert reports[-1].bytes == PIXELS.nbytes


def test_types_and_outputs(images: dict[str, tf.Image]) -> None:
    floats, integers = images["floats"], images["integers"]
    assert np.mean(floats, dtype="f4").dtype == np.float32
    out = np.zeros((5, 4))
    assert np.sum(floats, axis=0, out=out) is out
    np.testing.assert_allclose(out, PIXELS.sum(axis=0, dtype="f8"), rtol=1e-12)
    assert np.max(integers).dtype == np.int16
    whole = np.zeros((6, 5), "i8")
    np.sum(integers, axis=2, out=whole)
    np.testing.assert_array_equal(whole, WHOLE.sum(axis=2, dtype="i8"))
    with pytest.raises(TypeError):
        np.sum(floats, axis=2, out=whole)
    assert floats.sum(axis=0, keepdims=True).shape == (1, 5, 4)
    assert floats.median(axis=(0, 2), keepdims=True).shape == (1, 5, 1)
    part = floats.select(section=np.s_[1:3, 2])
    assert part.mean(axis=0, keepdims=True).shape == (1, 1, 4)


def test_masks_choose_pixels_of_a_reduction(images: dict[str, tf.Image]) -> None:
    image, mask = images["floats"], PIXELS > 0.5
    expected = PIXELS.astype("f8")
    for where in (mask, image > 0.5):
        np.testing.assert_allclose(np.sum(image, where=where), expected.sum(where=mask))
        np.testing.assert_allclose(image.select(where=where).std(), expected.std(where=mask))
        np.testing.assert_allclose(
            np.max(image, axis=0, initial=-9, where=where),
            expected.max(axis=0, initial=-9, where=mask),
        )


def test_large_integers_stay_exact(tmp_path: Path) -> None:
    pixels = np.array([[2**62 + 1, 2**62 + 3], [5, 2**62 + 2]])
    image = tf.open(write_cube(tmp_path / "longs.fits", data=pixels))[0]
    assert np.max(image) == 2**62 + 3
    assert np.min(image) == 5
    np.testing.assert_array_equal(np.max(image, axis=0), pixels.max(axis=0))


def test_other_functions_get_arrays(images: dict[str, tf.Image]) -> None:
    image = images["floats"]
    np.testing.assert_array_equal(np.cumsum(image, axis=1), np.cumsum(PIXELS, axis=1))
    np.testing.assert_array_equal(np.stack([image, image]), np.stack([PIXELS, PIXELS]))
    assert np.array_equal(image, PIXELS)
    assert np.allclose(image, PIXELS)
    counts, _ = np.histogram(image, bins=4)
    assert counts.sum() == PIXELS.size
    lazy = np.where(image > 0, image, 0)
    assert isinstance(lazy, tf.Image)
    np.testing.assert_array_equal(lazy.read(), np.where(PIXELS > 0, PIXELS, 0))
    np.testing.assert_array_equal(np.clip(image, -1, 0.5), np.clip(PIXELS, -1, 0.5))
    np.testing.assert_array_equal(np.clip(image, None, 0), np.clip(PIXELS, None, 0))


def test_functions_outside_the_engine_ignore_nan_too(images: dict[str, tf.Image]) -> None:
    for name in ("floats", "holes"):
        image, array = images[name], images[name].read()
        nearest = np.nanpercentile(array, 30, method="nearest")
        assert np.percentile(image, 30, method="nearest") == nearest
        assert np.quantile(image, 0.3, method="nearest") == nearest
        np.testing.assert_allclose(np.std(image, ddof=0.5), np.nanstd(array, ddof=0.5), rtol=1e-6)
        weights = np.where(np.isnan(array), 0, np.arange(1, 7)[:, None, None])
        expected = np.average(np.nan_to_num(array), axis=0, weights=weights)
        found = np.average(image, axis=0, weights=np.arange(1, 7))
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        total, summed = np.average(image, weights=weights, returned=True)
        np.testing.assert_allclose(total, (np.nan_to_num(array) * weights).sum() / weights.sum())
        assert summed == weights.sum()
    assert np.result_type(images["integers"], "f4") == np.float32


def test_comparisons_are_truth_values(images: dict[str, tf.Image], tmp_path: Path) -> None:
    image = images["floats"]
    for lazy, expected in [
        (image > 0, PIXELS > 0),
        (image <= 0.5, PIXELS <= 0.5),
        (image == image, PIXELS == PIXELS),
        (~(image > 0), PIXELS <= 0),
        ((image > 0) & (image < 1), (PIXELS > 0) & (PIXELS < 1)),
        ((image > 1) | (image < -1), (PIXELS > 1) | (PIXELS < -1)),
        (np.isnan(image), np.isnan(PIXELS)),
        (np.isfinite(image), np.isfinite(PIXELS)),
        (np.isinf(1 / (image - image)), np.ones(PIXELS.shape, bool)),
        ((image > 0) ^ (image > 1), (PIXELS > 0) ^ (PIXELS > 1)),
        ((PIXELS > 0) ^ (image > 1), (PIXELS > 0) ^ (PIXELS > 1)),
        (np.logical_xor(image > 0, True), ~(PIXELS > 0)),
        (np.greater(image, 0), PIXELS > 0),
        (tf.evaluate("a > 0 and not a > 1", a=image), (PIXELS > 0) & ~(PIXELS > 1)),
        ((image > 0).reorder(axes=(2, 1, 0)), (PIXELS > 0).T),
    ]:
        assert lazy.dtype == np.bool_
        assert lazy.read().dtype == np.bool_
        assert lazy[0].dtype == np.bool_
        assert np.asarray(lazy).dtype == np.bool_
        np.testing.assert_array_equal(lazy.read(), expected)
        np.testing.assert_array_equal(lazy[1:, 2], expected[1:, 2])
    bright = image > 0
    assert bright.read(dtype="float32").dtype == np.float32
    assert bright.read(dtype="raw").dtype == np.uint8
    assert bright.sum() == np.count_nonzero(PIXELS > 0)
    assert np.sum(bright) == np.count_nonzero(bright) == np.count_nonzero(PIXELS > 0)
    out = np.zeros(PIXELS.shape, bool)
    assert bright.read(out=out) is out
    np.testing.assert_array_equal(out, PIXELS > 0)
    np.testing.assert_array_equal(PIXELS[bright], PIXELS[PIXELS > 0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(bright)).read(), PIXELS > 0)
    assert bool(bright.any())
    assert not bool(bright.all())
    np.testing.assert_array_equal(np.any(bright, axis=0), (PIXELS > 0).any(axis=0))
    np.testing.assert_array_equal(np.all(bright, axis=(0, 1)), (PIXELS > 0).all(axis=(0, 1)))
    # Arithmetic with truth values has numbers, as in NumPy.
    assert (bright * image).dtype == np.float32
    np.testing.assert_array_equal((bright + 1).read(), (PIXELS > 0) + 1.0)
    bright.write(tmp_path / "mask.fits")
    written = tf.open(tmp_path / "mask.fits")[0]
    assert (written.bitpix, written.unit) == (8, None)
    np.testing.assert_array_equal(written.read(), PIXELS > 0)
    total = np.nansum(image.select(where=bright).moment(0).values)
    np.testing.assert_allclose(total, PIXELS[PIXELS > 0].sum(dtype="f8") * 2000.0, rtol=1e-6)


def test_the_truth_value_of_an_image_is_ambiguous_as_in_numpy(images: dict[str, tf.Image]) -> None:
    image = images["floats"]
    with pytest.raises(ValueError, match=r"truth value of an image .* ambiguous.*any\(\).*all\(\)"):
        bool(image > 0)
    assert image in [image]
