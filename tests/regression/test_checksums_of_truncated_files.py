"""Sums of an HDU that is cut short are refused, never reported as written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from tachyfits.cli import run

pytestmark = pytest.mark.filterwarnings("ignore::tachyfits.TachyfitsWarning")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "a.fits"
    tf.write(found, [(np.ones((10, 10)), None), (np.ones((100, 100), "f4"), None)])
    os.truncate(found, os.path.getsize(found) - 20_000)
    return found


def test_sums_of_a_part_are_an_error(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = path.read_bytes()
    for hdus in (None, 1, [0, 1]):
        with pytest.raises(tf.FormatError) as refused:
            tf.update_checksums(path, hdus)
        assert refused.value.code == "data-missing"
    with pytest.raises(tf.FormatError), tf.edit(path) as editor:
        editor[1].update_checksums()
    assert run(["checksum", str(path), "--update"]) == 1
    assert "data-missing" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_whole_hdus_of_the_same_file_get_theirs(path: Path) -> None:
    assert tf.update_checksums(path, 0) == (0,)
    assert tf.open(path)[0].checksum().ok
