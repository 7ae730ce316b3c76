"""An edit says nothing about bytes that it does not change: a wrong sum stays wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf


def _table(path: Path, *, damaged: bool, without: tuple[str, ...] = ()) -> Path:
    tf.write(path, {"a": np.arange(100, dtype="i4"), "b": np.ones(100)}, checksum=True)
    if without:
        hdus = fits.open(path)
        content = bytearray(path.read_bytes())
        start = int(hdus[1].fileinfo()["hdrLoc"])
        for keyword in without:
            at = content.index(keyword.ljust(8).encode() + b"=", start)
            content[at : at + 80] = b" " * 80
        path.write_bytes(content)
        if "DATASUM" in without:
            # CHECKSUM alone, right for the header without DATASUM.
            with fits.open(path, mode="update") as hdus:
                hdus[1].add_checksum()
                del hdus[1].header["DATASUM"]
                hdus[1].header["CHECKSUM"] = "0" * 16
                hdus[1].header["CHECKSUM"] = hdus[1]._calculate_checksum(
                    hdus[1]._calculate_datasum()
                )
    if damaged:
        content = bytearray(path.read_bytes())
        content[tf.open(path)[1].data_offset + 3] ^= 0xFF
        path.write_bytes(content)
    return path


#: Edits that change little, everything, the length of rows and their number.
EDITS: dict[str, Callable[[Any], Any]] = {
    "one cell": lambda table: table.update("a", 5, rows=[50]),
    "a column": lambda table: table.update("a", np.arange(100)[::-1]),
    "all columns": lambda table: [table.update("a", 7), table.update("b", 8.0)],
    "append": lambda table: table.append({"a": [7], "b": [2.0]}),
    "add a column": lambda table: table.add_column("c", np.arange(100.0)),
    "delete a column": lambda table: table.delete_column("b"),
    "delete rows": lambda table: table.delete(rows=[2, 99]),
}


@pytest.mark.parametrize("how", EDITS)
@pytest.mark.parametrize("damaged", [True, False])
def test_edits_of_a_table(how: str, damaged: bool, tmp_path: Path) -> None:
    path = _table(tmp_path / "t.fits", damaged=damaged)
    expected = "wrong" if damaged else "right"
    assert tf.open(path)[1].checksum().data == expected
    with tf.edit(path) as editor:
        EDITS[how](editor[1])
    sums = tf.open(path)[1].checksum()
    assert (sums.data, sums.whole) == (expected, expected)


@pytest.mark.parametrize("damaged", [True, False])
def test_a_header_edit(damaged: bool, tmp_path: Path) -> None:
    path = _table(tmp_path / "t.fits", damaged=damaged)
    with tf.edit(path) as editor:
        editor[1].header["OBJECT"] = "M 31"
    sums = tf.open(path)[1].checksum()
    assert (sums.data, sums.whole) == (("wrong",) * 2 if damaged else ("right",) * 2)


def test_updating_the_sums_makes_them_right(tmp_path: Path) -> None:
    path = _table(tmp_path / "t.fits", damaged=True)
    tf.update_checksums(path)
    sums = tf.open(path)[1].checksum()
    assert (sums.data, sums.whole) == ("right", "right")


def test_a_sum_that_cannot_be_read_is_not_replaced(tmp_path: Path) -> None:
    path = _table(tmp_path / "t.fits", damaged=False, without=("CHECKSUM",))
    content = path.read_bytes()
    at = content.index(b"DATASUM =", 2880)
    card = b"DATASUM = 'no sum  '".ljust(80)
    path.write_bytes(content[:at] + card + content[at + 80 :])
    with tf.edit(path) as editor:
        editor[1].update("a", 5, rows=[50])
    assert tf.open(path)[1].checksum().data == "unreadable"


@pytest.mark.parametrize("how", EDITS)
@pytest.mark.parametrize("damaged", [True, False])
def test_edits_of_a_table_with_a_checksum_alone(how: str, damaged: bool, tmp_path: Path) -> None:
    path = _table(tmp_path / "t.fits", damaged=damaged, without=("DATASUM",))
    expected = "wrong" if damaged else "right"
    assert tf.open(path)[1].checksum().whole == expected
    with tf.edit(path) as editor:
        EDITS[how](editor[1])
    assert tf.open(path)[1].checksum().whole == expected
