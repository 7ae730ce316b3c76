"""Names as long as the system allows can be appended to and edited in place."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from tachyfits import fortran


@pytest.mark.parametrize("length", [200, 201, 230, 240, 255])
def test_long_names_are_appended_to_and_edited(tmp_path: Path, length: int) -> None:
    path = tmp_path / ("n" * (length - 4) + ".dat")
    fortran.write(path, np.ones(3))
    fortran.append(path, np.ones(4))
    assert [record.nbytes for record in fortran.open(path)] == [24, 32]
    image = tmp_path / ("é" * ((length - 5) // 2) + ".fits")
    tf.write(image, np.zeros((20, 30)))
    with tf.edit(image) as editor:
        editor[0].pixels[0, 0] = 5
        editor[0].header["OBJECT"] = "star"
    assert tf.open(image)[0][0, 0] == 5
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, image.name])
