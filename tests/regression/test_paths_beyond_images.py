"""A position-velocity path that leaves the image gives a warning, as a region does."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import tachyfits as tf
from smallcubes import write_cube


@pytest.mark.parametrize(
    ("path", "width", "beyond"),
    [
        ([(0, 0), (3, 4)], 1, False),
        ([(-0.5, -0.5), (3.5, 4.5)], 1, False),
        ([(0, 0), (80, 64)], 1, True),
        ([(0, 0), (3, 4), (3, 5)], 1, True),
        ([(-1, 2), (2, 2)], 1, True),
        ([(0, 1), (3, 1)], 3, False),
        ([(0, 0), (3, 0)], 3, True),
        ([(1, 1), (1, 1), (2, 2)], 1, False),
        ("line(1,1,4,5)", 1, False),
        ("line(1,1,9,5)", 1, True),
        ("icrs; line(150,2,150.1,2)", 1, True),
    ],
)
def test_a_path_beyond_the_image_warns(tmp_path: Path, path: Any, width: int, beyond: bool) -> None:
    cube = tf.open(write_cube(tmp_path / "cube.fits"))[0]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        cube.pv(path, width=width)
    told = [str(each.message) for each in seen if "reaches beyond" in str(each.message)]
    assert len(told) == beyond
    if beyond:
        assert "the image of 4 x 5 pixels" in told[0]
