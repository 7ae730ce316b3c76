"""The unit of a result: never one that the operation changed, and requested units."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.cli import run


@pytest.mark.parametrize(
    "expression",
    ["a * a", "a ** 2", "sqrt(a)", "log(a)", "exp(a)", "a > 3", "a / b", "a * b", "a * b + 1",
     "1 / a", "a / a", "not a", "isnan(a)", "where(a > 0, a * b, 1)", "atan2(a, b)"],
)  # fmt: skip
def test_an_expression_keeps_no_unit_that_it_changed(tmp_path: Path, expression: str) -> None:
    cards = {"BTYPE": "Intensity"}
    inputs = {"a": tf.open(write_cube(tmp_path / "a.fits", cards))[0]}
    if "b" in expression.replace("bs", ""):
        inputs["b"] = tf.open(write_cube(tmp_path / "b.fits", cards | {"BUNIT": "K"}))[0]
    result = tf.evaluate(expression, **inputs)
    assert result.unit is None
    assert "BTYPE" not in result.header
    named = tf.evaluate(expression, unit="erg", **inputs)
    assert (named.unit, named.header["BUNIT"]) == ("erg", "erg")
    np.testing.assert_array_equal(named.read(), result.read())


@pytest.mark.parametrize("expression", ["a", "2 * a", "a + 1", "abs(a)", "a - a / 2", "max(a, 0)"])
def test_an_expression_in_the_same_unit_keeps_it(tmp_path: Path, expression: str) -> None:
    image = tf.open(write_cube(tmp_path / "a.fits", {"BTYPE": "Intensity"}))[0]
    result = tf.evaluate(expression, a=image)
    assert (result.unit, result.header["BTYPE"]) == ("Jy/beam", "Intensity")
    assert tf.evaluate(expression, a=image, unit="").unit is None


def test_units_of_astropy_and_pickles(tmp_path: Path) -> None:
    import pickle

    from astropy import units as u

    image = tf.open(write_cube(tmp_path / "a.fits"))[0]
    result = tf.evaluate("a * a", a=image, unit=u.Jy**2)
    assert result.unit == "Jy2"
    assert pickle.loads(pickle.dumps(result)).unit == "Jy2"


def test_math_takes_a_unit(tmp_path: Path, capsys: Any) -> None:
    path = write_cube(tmp_path / "a.fits")
    out = str(tmp_path / "out.fits")
    assert run(["math", "a * a", f"a={path}", "--unit", "Jy2", "-o", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["output"] == out
    assert tf.open(out)[0].unit == "Jy2"
    assert run(["math", "a * 2", f"a={path}", "--unit", "", "-o", out, "--overwrite"]) == 0
    assert tf.open(out)[0].unit is None


def test_maps_say_what_they_are_and_counts_keep_no_btype(tmp_path: Path) -> None:
    image = tf.open(write_cube(tmp_path / "a.fits", {"BTYPE": "Intensity"}))[0]
    for order in (0, 1, 2):
        assert image.moments([order])[0].header["BTYPE"] == f"moment {order}"
    assert "BTYPE" not in image.collapse("count").header
    assert "BTYPE" not in image.collapse("max_channel").header
    assert image.collapse("max").header["BTYPE"] == "Intensity"
    assert image.plane(np.s_[2]).header["BTYPE"] == "Intensity"
    assert image.spectrum().header["BTYPE"] == "Intensity"
