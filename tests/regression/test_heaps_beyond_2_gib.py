"""32-bit descriptors have no sign where the heap reaches beyond 2 GiB, as CFITSIO has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import empty_primary, header
from tablebytes import big

OFFSET = 3_000_000_000


def _sparse(path: Path, descriptors: list[list[int]], heap: int) -> Path:
    cards = [
        ("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", 8),
        ("NAXIS2", len(descriptors)), ("PCOUNT", heap), ("GCOUNT", 1), ("TFIELDS", 1),
        ("TTYPE1", "V"), ("TFORM1", "1PJ(3)"),
    ]  # fmt: skip
    head = empty_primary() + header(cards)
    rows = big(np.array(descriptors, "u4"))
    with path.open("wb") as file:
        file.write(head + rows + big(np.array([1, 2, 3], "i4")))
        if heap > OFFSET:
            file.seek(len(head) + len(rows) + OFFSET)
            file.write(big(np.array([7, 8], "i4")))
        size = len(rows) + heap
        file.truncate(len(head) + size + -size % 2880)
    return path


def test_descriptors_reach_a_heap_of_3_gb(tmp_path: Path) -> None:
    path = _sparse(tmp_path / "t.fits", [[3, 0], [2, OFFSET], [0, 2**32 - 1]], OFFSET + 8)
    try:
        with tf.open(path) as file:
            table = file[1]
            assert table.read(rows=[1])["V"][0].tolist() == [7, 8]
            assert [cell.tolist() for cell in table["V"]] == [[1, 2, 3], [7, 8], []]
            table.write(tmp_path / "part.fits", rows=[1, 0])
        part = tf.open(tmp_path / "part.fits")[1]
        assert [cell.tolist() for cell in part["V"]] == [[7, 8], [1, 2, 3]]
    finally:
        path.unlink()


def test_descriptors_beyond_a_large_heap_are_refused(tmp_path: Path) -> None:
    path = _sparse(tmp_path / "t.fits", [[3, 0], [3, OFFSET]], OFFSET + 8)
    try:
        with tf.open(path) as file, pytest.raises(tf.FormatError, match="within the heap"):
            file[1].read()
    finally:
        path.unlink()


def test_descriptors_of_a_small_heap_have_a_sign(tmp_path: Path) -> None:
    path = _sparse(tmp_path / "t.fits", [[3, 0], [2, 2**32 - 4]], 12)
    with tf.open(path) as file, pytest.raises(tf.FormatError, match="at byte -4 of the heap"):
        file[1].read()
