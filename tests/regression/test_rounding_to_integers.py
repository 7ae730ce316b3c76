"""Writing floats as integers warns with the largest error, unless nothing is lost."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from tachyfits.cli import run


def test_the_largest_error_is_named(tmp_path: Path) -> None:
    data = np.array([[1.0, 2.25, -3.4], [1e3, np.nan, 0.0]])
    with pytest.warns(tf.TachyfitsWarning, match=r"largest error is 0\.4\b"):
        tf.write(tmp_path / "array.fits", data, dtype="int16", blank=-1)
    tf.write(tmp_path / "floats.fits", data)
    image = tf.open(tmp_path / "floats.fits")[0]
    with pytest.warns(tf.TachyfitsWarning, match=r"largest error is 0\.4\b"):
        image.write(tmp_path / "image.fits", dtype="int16", blank=-1)
    with pytest.warns(tf.TachyfitsWarning, match=r"largest error is 0\.8\b"):
        (image * 2).write(tmp_path / "computed.fits", dtype="int32", blank=-1, scaling=(2.0, 0.0))


def test_the_command_line_warns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tf.write(tmp_path / "floats.fits", np.array([[1.0, 2.25]]))
    out = str(tmp_path / "out.fits")
    arguments = ["math", "a", f"a={tmp_path / 'floats.fits'}", "--bitpix", "16", "-o", out]
    assert run(arguments) == 0
    said = capsys.readouterr().err
    assert said.startswith("warning: ")
    assert "the largest error is 0.25\n" in said


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (np.arange(12.0).reshape(3, 4), {"dtype": "int16"}),
        (np.arange(12, dtype="f4") * np.float32(0.1), {"dtype": "int16", "scaling": (0.1, 0.0)}),
        (np.arange(12.0) * 0.1 + 5, {"dtype": "int32", "scaling": (0.1, 5.0)}),
        (np.array([1.5, np.nan]), {"dtype": "float32"}),
        (np.arange(5, dtype="i4"), {"dtype": "int16"}),
        (np.array([1.0, np.nan]), {"dtype": "uint8", "blank": 255}),
    ],
)
def test_lossless_rounding_gives_no_warning(
    tmp_path: Path, data: np.ndarray, options: dict[str, Any]
) -> None:
    tf.write(tmp_path / "source.fits", data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.write(tmp_path / "array.fits", data, **options)
        tf.open(tmp_path / "source.fits")[0].write(tmp_path / "image.fits", **options)
