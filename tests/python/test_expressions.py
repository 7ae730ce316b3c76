"""Expressions and operators against NumPy: every operator and function, over types, NaN, shapes."""

from __future__ import annotations

import math
import operator
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import cube_cards, extension, physical, primary
from tachyfits.cli import run

EDGES = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.7, -7.25, 1e-40, 1e30, np.nan, np.inf, -np.inf]
)
A, B = (grid.astype("f4") for grid in np.meshgrid(EDGES, EDGES))


def image(array: np.ndarray, cards: Any = ()) -> tf.Image:
    return tf.open(primary(array, cards))[0]


def same(found: tf.Image, expected: np.ndarray, ulps: int = 0) -> None:
    """Equal in every bit except for NaN, or within ``ulps`` units in the last place."""
    assert found.shape == expected.shape
    values = found[...]
    assert values.dtype == found.dtype
    expected = np.asarray(expected, np.float64).astype(values.dtype)
    np.testing.assert_array_equal(np.isnan(values), np.isnan(expected))
    if ulps and values.dtype.kind == "f":
        np.testing.assert_allclose(values, expected, rtol=ulps * np.finfo(values.dtype).eps)
    else:
        np.testing.assert_array_equal(values, expected)
        good = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(values[good]), np.signbit(expected[good]))


# (text, the same in NumPy, whether libraries may differ in the last place)
TWO: list[tuple[str, Callable[[Any, Any], Any], int]] = [
    ("a + b", np.add, 0),
    ("a - b", np.subtract, 0),
    ("a * b", np.multiply, 0),
    ("a / b", np.divide, 0),
    ("a // b", np.floor_divide, 0),
    ("a % b", np.remainder, 0),
    ("a ** b", np.power, 4),
    ("a < b", np.less, 0),
    ("a <= b", np.less_equal, 0),
    ("a > b", np.greater, 0),
    ("a >= b", np.greater_equal, 0),
    ("a == b", np.equal, 0),
    ("a != b", np.not_equal, 0),
    ("a & b", np.logical_and, 0),
    ("a | b", np.logical_or, 0),
    ("a and b", np.logical_and, 0),
    ("a || b", np.logical_or, 0),
    ("atan2(a, b)", np.arctan2, 4),
    ("where(a, b, 7)", lambda a, b: np.where(a, b, 7), 0),
    ("where(a > b, 1, b)", lambda a, b: np.where(a > b, 1, b), 0),
    ("abs(min(a, b))", lambda a, b: np.abs(np.minimum(a, b)), 0),
    ("abs(max(a, b, 0.25))", lambda a, b: np.abs(np.maximum(np.maximum(a, b), 0.25)), 0),
    ("clip(a, -2, 1) + b", lambda a, b: np.clip(a, -2, 1) + b, 0),
    ("2 - a / b", lambda a, b: 2 - a / b, 0),
]
ONE: dict[str, tuple[Callable[[Any], Any], int]] = {
    "-a": (np.negative, 0), "~a": (np.logical_not, 0), "not a": (np.logical_not, 0),
    "abs(a)": (np.abs, 0), "sqrt(a)": (np.sqrt, 0), "exp(a)": (np.exp, 4), "log(a)": (np.log, 4),
    "log10(a)": (np.log10, 4), "sin(a)": (np.sin, 4), "cos(a)": (np.cos, 4),
    "tan(a)": (np.tan, 4), "asin(a)": (np.arcsin, 4), "acos(a)": (np.arccos, 4),
    "atan(a)": (np.arctan, 4), "sinh(a)": (np.sinh, 4), "cosh(a)": (np.cosh, 4),
    "tanh(a)": (np.tanh, 4), "floor(a)": (np.floor, 0), "ceil(a)": (np.ceil, 0),
    "round(a)": (np.rint, 0), "isnan(a)": (np.isnan, 0), "isfinite(a)": (np.isfinite, 0),
    "a ** 2": (np.square, 0), "1 / a": (lambda a: 1 / a, 0),
}  # fmt: skip


def same_or_refused(text: str, expected: Any, ulps: int, **inputs: tf.Image) -> None:
    """Compare; where float32 cannot hold a finite value, it is refused, and float64 compared."""
    result = tf.evaluate(text, **inputs)
    if (
        result.dtype == np.float32
        and (np.isinf(np.float32(expected)) & np.isfinite(expected)).any()
    ):
        with pytest.raises(tf.UsageError, match="float32"):
            result.read()
        result = tf.evaluate(text, dtype="float64", **inputs)
    same(result, expected, ulps)


@pytest.mark.parametrize(("text", "numpy", "ulps"), TWO, ids=[text for text, _, _ in TWO])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_operators_are_those_of_numpy(text: str, numpy: Any, ulps: int, dtype: str) -> None:
    a, b = A.astype(dtype), B.astype(dtype)
    with np.errstate(all="ignore"):
        expected = numpy(a.astype("f8"), b.astype("f8"))
        same_or_refused(text, expected, ulps, a=image(a), b=image(b))


@pytest.mark.parametrize("text", ONE)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_functions_are_those_of_numpy(text: str, dtype: str) -> None:
    numpy, ulps = ONE[text]
    with np.errstate(all="ignore"):
        # Angles beyond 2^30 are where libraries differ in more than the last places.
        a = A.astype(dtype)
        a = np.where(np.abs(a) == np.float32(1e30), 7, a).astype(dtype)
        same_or_refused(text, numpy(a.astype("f8")), ulps, a=image(a))


def test_every_function_is_tested() -> None:
    texts = " ".join([text for text, _, _ in TWO] + list(ONE))
    for names, _, _ in tf.info.functions():
        if "separation" in names:
            continue  # of conditions on rows: test_cones.py
        assert any(f"{name}(" in texts for name in names), names


@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "i8", "f4", "f8", "u2", "u4", "i1", "?"])
def test_arrays_of_any_type_are_inputs(dtype: str) -> None:
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    result = tf.evaluate("x * 3 - 1", x=array)
    small = np.dtype(dtype).itemsize <= 2 or dtype == "f4"
    assert result.dtype == ("float32" if small else "float64")
    same(result, array.astype("f8") * 3 - 1)
    turned = array.astype(array.dtype.newbyteorder(">"))[:, ::-1]
    same(tf.evaluate("x + 0", x=turned), turned.astype("f8"))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "?"])
def test_masked_values_are_undefined(dtype: str) -> None:
    pixels = image(np.arange(6, dtype="f4").reshape(2, 3))
    hidden = np.ma.array(np.ones((2, 3), dtype), mask=[[0, 1, 0], [0, 0, 1]])
    expected = np.array([[0, np.nan, 2], [3, 4, np.nan]])
    plane = tf.Plane(np.arange(6.0).reshape(2, 3), None, pixels.header)
    for found in (pixels * hidden, tf.evaluate("a * b", a=pixels, b=hidden), plane * hidden):
        np.testing.assert_array_equal(np.asarray(found), expected)
    assert np.isnan((pixels * np.ma.masked).read()).all()
    assert pixels.select(where=hidden).sum() == 9
    assert pixels.region_mask(hidden).sum() == 4
    with pytest.raises(tf.UsageError, match="invalid input"):
        tf.evaluate("a * b", a=pixels, b=[[1, 2], [3]])


def test_scaled_and_blank_pixels() -> None:
    stored = np.arange(-6, 6, dtype="i2").reshape(3, 4)
    cards = [("BSCALE", 0.1), ("BZERO", 2.5), ("BLANK", 3)]
    values = physical(stored, 0.1, 2.5, 3)
    same(tf.evaluate("a * a - 1", a=image(stored, cards)), values * values - 1)


shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4)


@given(shape=shapes, data=st.data())
def test_shapes_broadcast_as_in_numpy(shape: list[int], data: st.DataObject) -> None:
    def part() -> np.ndarray:
        own = [n if data.draw(st.booleans()) else 1 for n in shape]
        own = own[data.draw(st.integers(0, len(own) - 1)) :]
        if len(own) == 1 and len(shape) > 1 and own[0] != 1:
            own = [1, *own]
        return np.random.default_rng(len(own)).normal(size=own)

    whole, one, other = np.random.default_rng(0).normal(size=shape), part(), part()
    result = tf.evaluate("(a - b) * c + b", a=whole, b=one, c=other)
    same(result, (whole - one) * other + one)


def test_a_spectrum_lies_along_the_given_axis(tmp_path: Path) -> None:
    cube = np.arange(27.0).reshape(3, 3, 3)
    spectrum = np.array([1.0, 10.0, 100.0])
    for axis, shape in [("z", (3, 1, 1)), (1, (3, 1)), ("x", (3,)), (-3, (3, 1, 1))]:
        result = tf.evaluate("a * s", a=cube, s=tf.along(spectrum, axis))
        same(result, cube * spectrum.reshape(shape))
        same(image(cube) * tf.along(spectrum, axis), cube * spectrum.reshape(shape))
    with pytest.raises(tf.UsageError, match="NAXIS1 and NAXIS2 and NAXIS3"):
        tf.evaluate("a * s", a=cube, s=spectrum)
    with pytest.raises(tf.UsageError, match=r"expected an array\nhint: give the number alone"):
        tf.along(2.0, "z") * image(cube)
    # The only axis of its length.
    same(tf.evaluate("a * s", a=cube[:2], s=spectrum[:2]), cube[:2] * spectrum[:2, None, None])


def test_inputs_are_images_files_paths_and_numbers(tmp_path: Path) -> None:
    array = np.arange(6, dtype="f4").reshape(2, 3)
    path = tmp_path / "a.fits"
    path.write_bytes(primary(np.zeros((0,), "f4")) + extension(array))
    with tf.open(path) as file:
        for given_as in (file, file[1], path, str(path), array, array.tolist()):
            same(tf.evaluate("a + n", a=given_as, n=np.float32(0.5)), array + 0.5)
    for wrong in (np.zeros(3, complex), np.array(["a"]), None):
        with pytest.raises(tf.UsageError, match="invalid input"):
            tf.evaluate("a", a=wrong)


def test_mistakes_show_the_place() -> None:
    with pytest.raises(tf.UsageError) as caught:
        tf.evaluate("2 * (a + sqt(a))", a=np.zeros(3))
    lines = str(caught.value).splitlines()
    assert lines[1].index("sqt") == lines[2].index("^^^")
    assert caught.value.code == "expression"
    with pytest.raises(tf.UsageError, match="NAXIS1 = 3 as in a, or 1"):
        tf.evaluate("a + b", a=np.zeros((2, 3)), b=np.zeros((2, 4)))
    for text, inputs in [("a + b", {"a": 1}), ("a", {"a": np.zeros(2), "b": 1}), ("1", {})]:
        with pytest.raises(tf.UsageError) as caught:
            tf.evaluate(text, **inputs)
        assert caught.value.code == "expression-input"
    with pytest.raises(tf.UsageError, match="dtype"):
        tf.evaluate("a", a=np.zeros(2), dtype="int16")


def test_headers_units_and_history(tmp_path: Path) -> None:
    cube = image(np.ones((2, 3, 4), "f4"), cube_cards("K"))
    result = tf.evaluate("a - 2 * b", a=cube, b=np.ones((3, 4)))
    assert (result.unit, result.header["CTYPE3"]) == (None, "VRAD")
    result = tf.evaluate("a - 2 * b", a=cube, b=1.5)
    assert result.unit == "K"
    history = [str(card.value) for card in result.header.cards if card.keyword == "HISTORY"]
    assert history[0] == "tachyfits math: a - 2 * b"
    result.write(tmp_path / "r.fits")
    with tf.open(tmp_path / "r.fits", strict=True) as file:
        np.testing.assert_array_equal(file[0][...], np.full((2, 3, 4), -2, "f4"))


def test_results_are_images_like_others(tmp_path: Path) -> None:
    array = np.random.default_rng(1).normal(size=(5, 40, 30)).astype("f4")
    result = tf.evaluate("a + a ** 2", a=image(array))
    expected = (array.astype("f8") + array.astype("f8") ** 2).astype("f4")
    np.testing.assert_array_equal(result[1:4, ::3, 5], expected[1:4, ::3, 5])
    assert result.max() == expected.max()
    np.testing.assert_allclose(result.mean(axis="z"), expected.mean(axis=0, dtype="f8"))
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again[...], expected)
    for threads in (1, 2, 3):
        result.write(tmp_path / "r.fits", overwrite=True, threads=threads)
        np.testing.assert_array_equal(tf.open(tmp_path / "r.fits")[0][...], expected)
    result.write(tmp_path / "r.fits", overwrite=True, dtype="int16", scaling=(0.01, 0.0))
    np.testing.assert_allclose(tf.open(tmp_path / "r.fits")[0][...], expected, atol=0.0051)


def test_a_large_image_over_channels_in_any_number_of_boxes(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    cube, plane = rng.normal(size=(21, 150, 130)).astype("f4"), rng.normal(size=(150, 130))
    result = tf.evaluate("(a - p) * s", a=image(cube), p=plane, s=tf.along(cube[:, 0, 0], "z"))
    expected = (cube - plane) * cube[:, :1, :1].astype("f8")
    for threads in (1, 3):
        result.write(tmp_path / "r.fits", overwrite=True, threads=threads)
        np.testing.assert_array_equal(tf.open(tmp_path / "r.fits")[0][...], expected)
    # Inputs that are computed themselves, from pixels beyond the boxes of the result.
    smooth = [image(cube).smooth(axis="z"), image(plane).smooth(axis="x", edge="pair")]
    tf.evaluate("a - p", a=smooth[0], p=smooth[1]).write(tmp_path / "r.fits", overwrite=True)
    found = tf.open(tmp_path / "r.fits")[0][...]
    np.testing.assert_array_equal(found, smooth[0][...] - smooth[1][...])


# Operators.

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operators_of_python(function: Callable[[Any, Any], Any]) -> None:
    a = np.arange(1, 13, dtype="f8").reshape(3, 4)
    b = a[::-1] / 4
    for left, right in [(a, b), (a, 2.5), (2.5, a), (a, np.float32(2)), (np.int16(3), a)]:
        expected = np.asarray(function(left, right), "f8")
        given_left = image(left) if left is a else left
        given_right = image(right) if right is a or right is b else right
        same(function(given_left, given_right), expected, 4 if function is operator.pow else 0)
    same(function(image(a), b), np.asarray(function(a, b)), 4)
    same(function(b, image(a)), np.asarray(function(b, a)), 4)


def test_conditions_and_signs() -> None:
    a = np.array([[-2.0, 0.0, 3.0], [np.nan, 1.0, -1.0]])
    i = image(a)
    same((i > 0) & (i < 2), (a > 0) & (a < 2))
    same((i > 0) | ~(i == i), (a > 0) | ~(a == a))
    same(~i, a == 0)
    same(-(i**2) + abs(-i) - +i, -(a**2) + abs(a) - a)
    same(True & i, np.logical_and(True, a))


def joined(left: str, operator: str, right: str) -> str:
    """Join two trees, one of them an image: of two numbers Python makes complex ones, or none."""
    if not re.search(r"\b[abc]\b", left + " " + right):
        right = "a"
    return f"({left}) {operator} ({right})"


trees = st.recursive(
    st.sampled_from(["a", "b", "c", "2.5", "(-1.5)"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**", "%", "//"]), inner).map(
            lambda t: joined(*t)
        ),
        st.tuples(inner, st.sampled_from(["<", ">=", "=="]), inner).map(
            lambda t: f"({joined(*t)}) * 1.0"
        ),
        inner.map(lambda x: f"-({x})"),
        inner.map(lambda x: f"abs({x})"),
    ),
    max_leaves=12,
)


@given(tree=trees)
def test_operators_keep_the_order_of_python(tree: str) -> None:
    rng = np.random.default_rng(3)
    arrays = {name: rng.uniform(0.5, 3, size=(2, 3)) for name in "abc"}
    with np.errstate(all="ignore"):
        expected = eval(tree, {"abs": np.abs}, dict(arrays))
        result = eval(tree, {"abs": abs}, {name: image(x) for name, x in arrays.items()})
    if isinstance(result, tf.Image):
        values = result[...]
        np.testing.assert_allclose(values, np.broadcast_to(expected, (2, 3)), rtol=1e-9)
    else:
        assert result == expected or math.isnan(abs(result))


def test_a_chain_is_one_expression_over_its_inputs(tmp_path: Path) -> None:
    array = np.arange(6, dtype="f4").reshape(2, 3)
    a, b = image(array), image(array + 1)
    chain = (a + b) * a - 2 ** (b - a) / (a + b)
    assert chain.file.name == "(a + b) * a - 2.0 ** (b - a) / (a + b)"
    # Rounded once: an image in between would have been float32.
    third = a / 3 * 3
    np.testing.assert_array_equal(third[...], array)
    total = sum([a] * 2500, start=a)
    np.testing.assert_array_equal(total[...], 2501 * array)


def test_numpy_functions_of_images() -> None:
    a = np.array([[0.25, 1.0], [4.0, np.nan]])
    i = image(a)
    same(np.sqrt(i), np.sqrt(a))
    same(np.exp(-np.square(i)), np.exp(-(a**2)), 4)
    same(np.maximum(i, 1), np.maximum(a, 1))
    same(np.isnan(i), np.isnan(a))
    same(np.logical_not(i > 1), ~(a > 1))
    same(np.arctan2(a, i), np.arctan2(a, a), 4)
    np.testing.assert_array_equal(np.cbrt(i), np.cbrt(a))
    np.testing.assert_array_equal(np.add(i, 1, out=np.zeros((2, 2))), a + 1)
    np.testing.assert_array_equal(np.add.reduce(i), np.nansum(a, axis=0))


def test_images_stay_objects() -> None:
    a = image(np.zeros((2, 2)))
    assert bool(a)
    assert a in {a, "text"}
    assert len({a, a}) == 1
    assert (a == None) is False  # noqa: E711 - what a careless comparison gives
    with pytest.raises(tf.UsageError, match="truth value"):
        bool(a == a)
    with pytest.raises(TypeError):
        a + "text"


@pytest.mark.parametrize(
    "expression", ["a + b", "a - b", "a > b", "where(a > 1, a, b)", "max(a, b)", "2 * a + b / 3"]
)
@pytest.mark.parametrize("units", [("Jy/beam", "K"), ("Jy", "mJy"), ("K", "km/s")])
def test_images_of_different_units_are_not_added(
    tmp_path: Path, expression: str, units: tuple[str, str], capsys: Any
) -> None:
    first, second = (image(A, [("BUNIT", unit)]) for unit in units)
    with pytest.raises(tf.UsageError, match=rf"in '{units[0]}' and in '{units[1]}'") as failure:
        tf.evaluate(expression, a=first, b=second)
    assert f'image.to("{units[0]}")' in str(failure.value)
    with pytest.raises(tf.UsageError, match="adds or compares"):
        tf.evaluate(expression, a=first, b=second, unit="K")
    # Numbers alone.
    numbers = tf.evaluate(expression, a=first, b=second, unit="")
    np.testing.assert_array_equal(numbers[...], tf.evaluate(expression, a=A, b=A)[...])
    for name, unit in zip("ab", units, strict=True):
        (tmp_path / f"{name}.fits").write_bytes(primary(A, [("BUNIT", unit)]))
    given = [f"{name}={tmp_path / name}.fits" for name in "ab"]
    assert run(["math", expression, *given]) == 2
    assert f"tachyfits math A A=FILE --unit '{units[0]}'" in capsys.readouterr().err
    assert run(["math", expression, *given, "--unit", ""]) == 0


def test_images_of_different_units_are_multiplied() -> None:
    first, second = (image(A, [("BUNIT", unit)]) for unit in ("Jy/beam", "K"))
    assert (first * second).unit is None
    assert (first / second).unit is None
    with pytest.raises(tf.UsageError, match="in 'Jy/beam' and in 'K'"):
        first + second
    # One unit in two spellings, an unknown unit, and none.
    for other in ("JY/BEAM", "furlong", ""):
        assert tf.evaluate("a + b", a=first, b=image(A, [("BUNIT", other)])).shape == A.shape
