"""Indexing an image gives what indexing an array of its pixels gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.text import indices as reading

PIXELS = np.arange(3 * 4 * 5 * 6, dtype="f4").reshape(3, 4, 5, 6)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> tf.Image:
    path = tmp_path_factory.mktemp("indexing") / "cube.fits"
    found: tf.Image = tf.open(write_cube(path, data=PIXELS))[0]
    return found


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Items of every kind; arrays whose shapes broadcast, mostly."""
    common = draw(st.sampled_from([(3,), (2, 3), (1,), (0,), (4, 1)]))
    items: list[Any] = []
    axis, has_ellipsis = 0, False
    while axis < len(shape) and draw(st.integers(0, 9)):
        kind = draw(st.sampled_from("iisssaaaamMn.b"))
        length = shape[axis]
        if kind == "i":
            whole = draw(st.integers(-length, length - 1))
            items.append(draw(st.sampled_from([whole, np.int16(whole), np.array(whole)])))
        elif kind == "s":
            limit = st.none() | st.integers(-length - 2, length + 2)
            step = draw(st.none() | st.integers(-3, 3).filter(bool))
            items.append(slice(draw(limit), draw(limit), step))
        elif kind == "a":
            shapes = [common, common[-1:], (1,), ()]
            own = draw(st.sampled_from(shapes))
            count = int(np.prod(own, dtype=int))
            numbers = st.integers(-length, length - 1)
            chosen = draw(st.lists(numbers, min_size=count, max_size=count))
            array = np.array(chosen, dtype=draw(st.sampled_from(["i8", "i2"]))).reshape(own)
            items.append(array.tolist() if draw(st.booleans()) and array.ndim else array)
        elif kind in "mM":
            axes = min(len(shape) - axis, 1 if kind == "m" else draw(st.integers(1, 3)))
            size = int(np.prod(shape[axis : axis + axes]))
            chosen = draw(st.lists(st.booleans(), min_size=size, max_size=size))
            mask = np.array(chosen).reshape(shape[axis : axis + axes])
            items.append(mask.tolist() if draw(st.booleans()) else mask)
            axis += axes - 1
        elif kind == "n":
            items.append(None)
            axis -= 1
        elif kind == "b":
            items.append(draw(st.sampled_from([True, np.True_, False])))
            axis -= 1
        elif not has_ellipsis:
            items.append(...)
            has_ellipsis = True
            axis += draw(st.integers(-1, len(shape) - axis - 1))
        axis += 1
    return items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


def same(image: tf.Image, index: Any) -> None:
    try:
        expected = PIXELS[index]
    except IndexError:
        with pytest.raises((IndexError, tf.UsageError)):
            image[index]
        return
    found = image[index]
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    # As an argument None is everything, and newaxis as an index.
    np.testing.assert_array_equal(image.read((index,) if index is None else index), expected)


@settings(max_examples=300)
@given(index=indices(PIXELS.shape))
def test_any_index_agrees_with_numpy(image: tf.Image, index: Any) -> None:
    same(image, index)


@settings(max_examples=80)
@given(index=indices(PIXELS.shape))
def test_results_do_not_depend_on_the_pieces_that_are_read(image: tf.Image, index: Any) -> None:
    before = reading._BOX_PIXELS, reading._GAP_PIXELS
    reading._BOX_PIXELS, reading._GAP_PIXELS = 100, 1
    try:
        same(image, index)
    finally:
        reading._BOX_PIXELS, reading._GAP_PIXELS = before


@pytest.mark.parametrize(
    "index",
    [
        [[0], ..., [0]], [[0, 1], ..., [0, 1]], [slice(None), [0, 1], ..., [0, 1]], [[], 1],
        [[0, 2]], [0, slice(None), [1, 2]], [slice(None), 0, [0, 1]], [None], [None, 0, None],
        [True], [slice(None), True, [0, 1]], [False, 1], [[True, False, True]], [(0, 1), (1, 2)],
        [np.ix_([0, 2], [1], [4, 0], [3, 3])], [[[0, 1], [2, 0]]], [..., None],
        [PIXELS > 100], [slice(1, None), PIXELS[0] > 50], [PIXELS[:, 0, 0, 0] > 100, 0],
        [0, PIXELS[0, :, :, 0] > 40, [2]], [PIXELS < 0],
    ],
)  # fmt: skip
def test_indices_that_people_write(image: tf.Image, index: list[Any]) -> None:
    items = index[0] if len(index) == 1 and isinstance(index[0], tuple) else tuple(index)
    same(image, items)
    if len(index) == 1:
        same(image, index[0])


def test_lazy_comparisons_are_masks(image: tf.Image) -> None:
    bright = image > 100
    np.testing.assert_array_equal(image[bright], PIXELS[PIXELS > 100])
    np.testing.assert_array_equal(PIXELS[bright], PIXELS[PIXELS > 100])


@pytest.mark.parametrize(
    "index",
    [
        ([3],), ([-4],), (slice(None), [4]), (np.zeros((3, 4), bool)[:2],), ([0, 1], [0, 1, 2]),
        ([0.5],), (["a"],), (0, 0, 0, 0, [0]), (..., [0], ...), ([True, False],), (9,),
    ],
)  # fmt: skip
def test_indices_beyond_the_image_are_index_errors_that_name_it(
    image: tf.Image, index: tuple[Any, ...]
) -> None:
    with pytest.raises(IndexError):
        PIXELS[index]
    with pytest.raises(IndexError, match=r"cube\.fits: HDU 0 \(0-based\): .*\nhint: "):
        image[index]


def test_a_few_channels_cost_these_channels(tmp_path: Path) -> None:
    cube = np.zeros((64, 64, 64), "f4")
    image = tf.open(write_cube(tmp_path / "cube.fits", data=cube))[0]
    read: list[int] = []
    image.read(([2, 60, 2],), progress=lambda done, total: read.append(total))
    assert sum(sorted(set(read))) <= 2 * cube[0].nbytes
    assert image.read(np.s_[[60, 2], 1:2, [5, 6]], dtype="float64").dtype == np.float64
    out = np.ones((2, 64, 64), "f4")
    assert image.read([5, 6], out=out) is out
    assert not out.any()


@pytest.mark.parametrize("shape", [(3, 0), (0, 4)])
def test_axes_without_pixels_are_indexed(tmp_path: Path, shape: tuple[int, int]) -> None:
    array = np.zeros(shape, "f4")
    image = tf.open(write_cube(tmp_path / "none.fits", data=array))[0]
    for index in ([], [[]], (slice(None), []), array > 0, None, (None, ..., None)):
        assert image[index].shape == array[index].shape
    if shape[0]:
        assert image[[0, 2]].shape == (2, 0)
