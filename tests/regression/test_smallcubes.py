"""The cube that the other regression tests start from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tachyfits as tf
from smallcubes import write_cube


def test_small_cube_has_its_flux_at_5000_metres_per_second(tmp_path: Path) -> None:
    with tf.open(write_cube(tmp_path / "cube.fits")) as f:
        spectrum = f[0].spectrum()
    np.testing.assert_array_equal(spectrum.axis.values[spectrum.values > 0], [5000.0])
