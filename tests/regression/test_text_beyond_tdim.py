"""Bytes of a field that TDIMn does not describe are named in a warning, and copies keep them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from tablebytes import Made, big, binary_table
from tachyfits.cli import run

KINDS = [b"          GALAXY", b"             QSO", b"            STAR"]


def _file(path: Path, made: Made) -> Path:
    path.write_bytes(
        binary_table([Made("z", "E", [big(np.float32(n)) for n in range(3)], 0), made])
    )
    return path


def _data(path: Path, hdu: int = 1) -> bytes:
    with tf.open(path) as file:
        table = file[hdu]
        start = table.data_offset
        return path.read_bytes()[start : start + table.row_bytes * len(table)]


@pytest.mark.parametrize("dimensions", ["(1)", "(15)", "( 1 )"])
def test_text_longer_than_tdim_is_read_whole_with_a_warning(
    tmp_path: Path, dimensions: str
) -> None:
    path = _file(tmp_path / "t.fits", Made("kind", "16A", KINDS, None, cards={"TDIM": dimensions}))
    with pytest.warns(tf.TachyfitsWarning, match="TDIM2"):
        assert tf.open(path)[1]["kind"].tolist() == [cell.decode() for cell in KINDS]
    assert "dimensions-ignored" in {each.code for each in tf.verify(path)}


def test_a_dimension_of_the_whole_field_needs_no_warning(tmp_path: Path) -> None:
    path = _file(tmp_path / "t.fits", Made("kind", "16A", KINDS, None, cards={"TDIM": "(16)"}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tf.open(path)[1]["kind"][0].strip() == "GALAXY"


def test_characters_beyond_several_strings_are_named(tmp_path: Path) -> None:
    path = _file(tmp_path / "t.fits", Made("kind", "16A", KINDS, None, cards={"TDIM": "(4,3)"}))
    with pytest.warns(tf.TachyfitsWarning, match=r"TDIM2.*16 characters.*12 characters"):
        values = tf.open(path)[1]["kind"]
    assert values.shape == (3, 3)
    assert values[0].tolist() == ["", "", "  GA"]
    raw = tf.open(path)[1].read("kind", raw=True)["kind"]
    assert raw.tolist() == KINDS


NUMBERS = [big(np.arange(7 * n, 7 * n + 7, dtype="i2")) for n in range(3)]


@pytest.mark.parametrize(
    "made",
    [
        Made("kind", "16A", KINDS, None, cards={"TDIM": "(1)"}),
        Made("kind", "16A", KINDS, None, cards={"TDIM": "(4,3)"}),
        Made("n", "7I", NUMBERS, None, cards={"TDIM": "(2,3)"}),
        Made("n", "7I", NUMBERS, None, cards={"TDIM": "(2,3)", "TSCAL": 0.5, "TNULL": 3}),
        Made("b", "13X", [b"\xff\xf8", b"\x12\x30", b"\0\x08"], None, cards={"TDIM": "(2,5)"}),
        Made("l", "4L", [b"TFT\0", b"FFFT", b"\0TTF"], None, cards={"TDIM": "(3)"}),
        Made("c", "3C", [big(np.arange(3 * n, 3 * n + 3, dtype="c8")) for n in range(3)], None,
             cards={"TDIM": "(1,2)"}),
    ],
    ids=lambda made: f"{made.form}{made.cards['TDIM']}",
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::tachyfits.TachyfitsWarning")
def test_copies_keep_the_bytes_of_every_cell(tmp_path: Path, made: Made) -> None:
    path = _file(tmp_path / "t.fits", made)
    stored = _data(path)
    out, fz = tmp_path / "o.fits", tmp_path / "o.fits.fz"
    ways: dict[str, Any] = {
        "write": lambda: tf.open(path)[1].write(out, overwrite=True, batch_rows=2),
        "table": lambda: tf.write(out, tf.open(path)[1], overwrite=True),
        "list": lambda: tf.write(out, list(tf.open(path)), overwrite=True),
        "tiles": lambda: (
            run(["compress", str(path), "-o", str(fz), "--overwrite", "--tables"]),
            run(["decompress", str(fz), "-o", str(out), "--overwrite"]),
        ),
    }
    for name, way in ways.items():
        way()
        assert _data(out) == stored, name
        header = tf.open(out)[1].header
        # Copies may leave out a card that reading ignores.
        ignored = {None} if made.cards["TDIM"] == "(1)" else set()
        assert header.get("TDIM2") in {made.cards["TDIM"]} | ignored, name
    tf.open(path)[1].write(out, ["z", made.name], rows=[2, 0], overwrite=True)
    rows = [stored[n : n + len(stored) // 3] for n in range(0, len(stored), len(stored) // 3)]
    assert _data(out) == rows[2] + rows[0]
