"""NumPy's ufuncs and their methods on images, and operators that assign (``a -= b``)."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest

import tachyfits as tf
from smallcubes import write_cube

PIXELS = np.abs(np.random.default_rng(7).normal(size=(6, 5, 4))).astype("f4")
UFUNCS = sorted({f for f in vars(np).values() if isinstance(f, np.ufunc)}, key=lambda f: f.__name__)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> tf.Image:
    folder = tmp_path_factory.mktemp("ufuncs")
    opened: tf.Image = tf.open(write_cube(folder / "cube.fits", data=PIXELS))[0]
    return opened


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_every_ufunc_of_an_image_is_that_of_its_pixels(tmp_path: Path, ufunc: Any) -> None:
    path = tmp_path / "plain.fits"
    tf.write(path, PIXELS)
    image = tf.open(path)[0]
    try:
        expected = ufunc(*(PIXELS,) * ufunc.nin)
    except (TypeError, ValueError):
        with pytest.raises((TypeError, ValueError)):
            ufunc(*(image,) * ufunc.nin)
        return
    result = ufunc(*(image,) * ufunc.nin)
    for one, other in zip(
        result if ufunc.nout > 1 else (result,), expected if ufunc.nout > 1 else (expected,),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-6, atol=1e-6)


def test_reductions_by_ufuncs_leave_nan_out_as_the_functions_do(tmp_path: Path) -> None:
    holes = np.where(PIXELS > 1, np.nan, PIXELS)
    image = tf.open(write_cube(tmp_path / "holes.fits", data=holes))[0]
    for ufunc, function in ((np.add, np.sum), (np.maximum, np.max), (np.fmin, np.nanmin)):
        for axis in (0, 1, (1, 2), None):
            reduced = ufunc.reduce(image, axis=axis)
            np.testing.assert_array_equal(reduced, function(image, axis=axis))
    out = np.zeros((5, 4))
    assert np.add.reduce(image, out=out) is out
    np.testing.assert_allclose(out, np.nansum(holes, axis=0), rtol=1e-6)
    assert np.logical_or.reduce(image > 0.5, axis=None) == np.True_


def test_other_methods_of_ufuncs_read_the_pixels(image: tf.Image) -> None:
    np.testing.assert_array_equal(np.add.accumulate(image), np.add.accumulate(PIXELS))
    np.testing.assert_array_equal(
        np.multiply.outer([1, 2], image), np.multiply.outer([1, 2], PIXELS)
    )
    np.testing.assert_array_equal(np.add.reduceat(image, [0, 2]), np.add.reduceat(PIXELS, [0, 2]))
    np.testing.assert_array_equal(image[:, :4] @ np.eye(4), PIXELS[:, :4])
    half = np.subtract(image, 1, where=PIXELS > 1, out=np.zeros_like(PIXELS))
    np.testing.assert_array_equal(half, np.where(PIXELS > 1, PIXELS - 1, 0))


def test_operands_with_units_give_quantities(image: tf.Image) -> None:
    result = np.hypot(image, 3 * u.mJy / u.beam)
    assert result.unit.is_equivalent("Jy/beam")
    np.testing.assert_allclose(result.to_value("Jy/beam"), np.hypot(PIXELS, 3e-3), rtol=1e-6)
    plane = image.collapse("max")
    assert np.hypot(plane, image).unit == u.Unit("Jy/beam")
    with pytest.raises(tf.UsageError, match="invalid units of hypot"):
        np.hypot(image, 3 * u.K)


@pytest.mark.parametrize(
    "change",
    [
        lambda image: np.add(PIXELS, 1, out=image),
        lambda image: np.sum(PIXELS, axis=0, out=image),
        lambda image: np.copyto(image, 0),
        lambda image: np.put(image, 0, 1),
        lambda image: np.place(image, PIXELS > 0, 1),
        lambda image: np.putmask(image, PIXELS > 0, 1),
        lambda image: np.fill_diagonal(image, 1),
        lambda image: np.add.at(image, 0, 1),
    ],
)
def test_a_function_that_changes_an_image_is_an_error(image: tf.Image, change: Any) -> None:
    with pytest.raises(tf.UsageError, match="expected an array, found an image"):
        change(image)


def test_bits_are_not_taken_for_truth_values(tmp_path: Path) -> None:
    tf.write(tmp_path / "flags.fits", np.arange(8, dtype="i2"))
    flags = tf.open(tmp_path / "flags.fits")[0]
    with pytest.raises(tf.UsageError, match=r"numpy\.bitwise_and: expected conditions") as refused:
        np.bitwise_and(flags, 4)
    assert "image.read()" in str(refused.value)
    np.testing.assert_array_equal(np.bitwise_and(flags > 1, flags < 4)[...], [0, 0, 1, 1] + [0] * 4)
    np.testing.assert_array_equal((flags & 4)[...], np.arange(8) > 0)


OPERATORS = [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv,
    operator.imod, operator.ipow,
]  # fmt: skip


@pytest.mark.parametrize("assign", OPERATORS, ids=lambda assign: assign.__name__)
def test_assigning_operators_give_a_new_result(image: tf.Image, assign: Any) -> None:
    plain = getattr(operator, assign.__name__[1:])
    for one in (image.collapse("max"), image.spectrum(), image):
        before = np.array(one)
        result = assign(one, 2)
        assert type(result) is type(one)
        assert result is not one
        np.testing.assert_allclose(np.asarray(result), plain(before, 2), rtol=1e-5)
        np.testing.assert_array_equal(np.asarray(one), before)
        array = before.astype("f8")
        if assign is not operator.ipow:
            np.testing.assert_allclose(assign(array, one), plain(before, before), rtol=1e-5)
            assert type(array) is np.ndarray


def test_a_result_is_no_output_of_a_function(image: tf.Image) -> None:
    plane = image.collapse("max")
    with pytest.raises(tf.UsageError, match=r"out=plane\.values"):
        np.subtract(plane, 1, out=plane)
    with pytest.raises(tf.UsageError, match="found a spectrum"):
        np.sqrt(PIXELS[:, 0, 0], out=image.spectrum())
    assert np.subtract(plane, 1, out=np.zeros(plane.shape))[0, 0] == plane.values[0, 0] - 1
