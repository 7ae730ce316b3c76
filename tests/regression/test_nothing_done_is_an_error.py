"""Operations that cannot be done raise; long names that the system allows work."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf


def test_sums_of_a_truncated_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.fits"
    tf.write(path, np.ones((100, 100), "f4"))
    os.truncate(path, 20_000)
    content = path.read_bytes()
    with pytest.raises(tf.FormatError, match="bytes more of the data of HDU 0") as error:
        tf.update_checksums(path)
    assert error.value.code == "data-missing"
    assert path.read_bytes() == content


@pytest.mark.parametrize("letter", ["n", "ñ"])
def test_records_are_appended_to_a_file_of_a_long_name(tmp_path: Path, letter: str) -> None:
    count = 236 // len(letter.encode())
    path = tmp_path / f"{letter * count}.dat"
    tf.fortran.write(path, np.ones(3))
    tf.fortran.append(path, np.ones(3))
    assert len(tf.fortran.open(path)) == 2
    assert os.listdir(tmp_path) == [path.name]
