"""Copies keep text as it is stored, also what the Standard does not have, with a warning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from tablebytes import Made, binary_table
from tachyfits.cli import run

CELLS = [b"MPA 1805\t", b"caf\xe9", b"\x01\xff\x80~ a\0b", b"plain"]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Text with a tab, Latin-1, binary words; fixed, in the heap, and several in a cell."""
    path = tmp_path / "odd.fits"
    fixed = [cell.ljust(9, b"\0") for cell in CELLS]
    columns = [Made("NAME", "9A", fixed, None), Made("CODE", "6A3", [c[:6] for c in fixed], None)]
    columns.append(Made("GOOD", "1A", [b"a", b"b", b"c", b"d"], None))
    path.write_bytes(binary_table(columns))
    return path


def _stored(path: Path, hdu: int = 1) -> list[bytes]:
    with tf.open(path) as file:
        table = file[hdu]
        content = path.read_bytes()[table.data_offset :]
        return [content[n * table.row_bytes : (n + 1) * table.row_bytes] for n in range(len(table))]


def test_copies_have_the_same_bytes_and_warn_once(odd: Path, tmp_path: Path) -> None:
    ways = {
        "own": lambda table, out: table.write(out, batch_rows=1),
        "table": lambda table, out: tf.write(out, table),
        "several": lambda table, out: tf.write(out, [(None, None), table]),
        "command": lambda _, out: run(["table", str(odd), "-o", str(out)]),
    }
    for name, way in ways.items():
        out = tmp_path / f"{name}.fits"
        with tf.open(odd) as file:
            if name == "command":
                way(file[1], out)
            else:
                with pytest.warns(tf.TachyfitsWarning, match="copied as stored") as seen:
                    way(file[1], out)
                texts = [str(each.message) for each in seen if "stored" in str(each.message)]
                assert len(texts) == 1
                assert texts[0].endswith(": NAME, CODE")
        assert _stored(out) == _stored(odd), name


def test_rows_that_are_chosen_have_the_same_bytes(odd: Path, tmp_path: Path) -> None:
    out = tmp_path / "part.fits"
    assert run(["table", str(odd), "--where", "ROW != 2", "-o", str(out)]) == 0
    rows = _stored(odd)
    assert _stored(out) == [rows[0], rows[2], rows[3]]
    with tf.open(out) as file:
        assert file[1]["NAME"].tolist()[0] == "MPA 1805\t"


def test_text_in_the_heap(tmp_path: Path) -> None:
    cells = np.empty(2, object)
    cells[:] = [np.frombuffer(b"caf\xe9\t", "u1"), np.frombuffer(b"ok", "u1")]
    column = fits.Column("S", "PB", array=cells)
    fits.BinTableHDU.from_columns([column]).writeto(tmp_path / "a.fits")
    content = (tmp_path / "a.fits").read_bytes().replace(b"'PB(5)", b"'PA(5)")
    (tmp_path / "a.fits").write_bytes(content)
    with tf.open(tmp_path / "a.fits") as file:
        assert file[1]["S"].tolist() == ["caf\xe9\t", "ok"]
        with pytest.warns(tf.TachyfitsWarning, match="copied as stored: S"):
            file[1].write(tmp_path / "b.fits")
    with tf.open(tmp_path / "b.fits") as file:
        assert file[1]["S"].tolist() == ["caf\xe9\t", "ok"]


def test_text_of_text_tables(tmp_path: Path) -> None:
    tf.write(tmp_path / "a.fits", {"S": ["cafe", "b"], "N": [1, 2]}, kind="ascii")
    content = (tmp_path / "a.fits").read_bytes()
    at = content.rindex(b"cafe")
    content = content[: at + 3] + b"\xe9" + content[at + 4 :]
    (tmp_path / "a.fits").write_bytes(content)
    with tf.open(tmp_path / "a.fits") as file:
        file[1].write(tmp_path / "b.fits")
    with tf.open(tmp_path / "b.fits") as file:
        assert file[1]["S"].tolist() == ["caf\xe9", "b"]


def test_new_text_must_be_ascii_still(tmp_path: Path) -> None:
    with pytest.raises(tf.UsageError, match="characters that FITS does not have"):
        tf.write(tmp_path / "a.fits", {"S": ["caf\xe9"]})
