"""A repair is read again before it is written: what could be read can be read afterwards."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf


def _image(path: Path) -> bytes:
    tf.write(path, np.arange(6.0).reshape(2, 3), overwrite=True)
    return path.read_bytes()


def test_a_damaged_first_card_stays_first(tmp_path: Path) -> None:
    path = tmp_path / "a.fits"
    content = bytearray(_image(path))
    content[8] = ord("9")
    path.write_bytes(content)
    assert tf.open(path)[0].stats().count == 6
    tf.repair(path)
    assert path.read_bytes()[:8] == b"SIMPLE  "
    assert tf.open(path)[0][:].tolist() == [[0, 1, 2], [3, 4, 5]]


def _values(path: Path) -> list[object]:
    """Return what can be read of each HDU; None of one that cannot."""
    found: list[object] = []
    try:
        file = tf.open(path)
    except tf.TachyfitsError:
        return found
    for hdu in file:
        try:
            is_table = isinstance(hdu, tf.Table)
            found.append(str(hdu.read().columns) if is_table else np.asarray(hdu[:]).tolist())
        except (tf.TachyfitsError, AttributeError, TypeError, ValueError):
            found.append(None)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_damaged_headers_are_repaired_or_left_alone(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "a.fits"
    tf.write(path, [(np.arange(6.0).reshape(2, 3), None), (np.arange(4, dtype="i2"), None)])
    content = bytearray(path.read_bytes())
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        header = chance.choice([0, 5760])
        content[header + chance.randrange(0, 400)] = chance.choice(b" =9'/ATF\x00.-")
    path.write_bytes(content)
    before = _values(path)
    try:
        tf.repair(path)
    except tf.TachyfitsError:
        assert path.read_bytes() == content
    after = _values(path)
    for old, new in zip(before, after, strict=False):
        assert old is None or old == new
    assert len(after) >= len(before)
