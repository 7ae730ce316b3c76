"""Tables in compressed tiles: read like others, whatever the columns and codecs, beside funpack."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

ROWS = 700
HAS_FPACK = shutil.which("fpack") is not None
needs_fpack = pytest.mark.skipif(not HAS_FPACK, reason="fpack is not installed")


def fixed_columns(rows: int, seed: int = 5) -> list[fits.Column]:
    """Return columns of every type of fixed size but complex ones, which funpack refuses."""
    random = np.random.default_rng(seed)
    return [
        fits.Column("L", "3L", array=random.random((rows, 3)) > 0.5),
        fits.Column("X", "11X", array=random.random((rows, 11)) > 0.5),
        fits.Column("A", "7A", array=np.array([f"s{n % 31}" for n in range(rows)])),
        fits.Column("B", "B", array=random.integers(0, 9, rows), null=3),
        fits.Column("I", "2I", array=random.integers(-99, 99, (rows, 2)).astype("i2")),
        fits.Column("U", "I", bzero=32768, array=random.integers(0, 60000, rows).astype("u2")),
        fits.Column("J", "J", array=(random.normal(0, 9, rows) * 1e5).astype("i4"), unit="m"),
        fits.Column("W", "J", bzero=2**31, array=random.integers(0, 2**32, rows, "u4")),
        fits.Column("K", "K", array=random.integers(-(2**62), 2**62, rows)),
        fits.Column("E", "3E", array=random.normal(0, 1, (rows, 3)).astype("f4")),
        fits.Column("D", "D", array=[*random.random(rows - 1), np.nan]),
        fits.Column("Z", "0J", array=np.zeros((rows, 0), "i4")),
    ]  # fmt: skip


def arrays_of(rows: int, kind: str, seed: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(seed)
    cells = np.empty(rows, object)
    for row in range(rows):
        cells[row] = (random.normal(0, 50, random.integers(0, 40))).astype(kind)
    return cells


def variable_columns(rows: int) -> list[fits.Column]:
    """Return columns of arrays of types that funpack restores."""
    kinds = {"B": "u1", "I": "i2", "J": "i4", "K": "i8", "E": "f4", "D": "f8"}
    columns = [
        fits.Column(f"P{letter}", f"P{letter}()", array=arrays_of(rows, kind, number))
        for number, (letter, kind) in enumerate(kinds.items())
    ]
    return [*columns, fits.Column("QE", "QE()", array=arrays_of(rows, "f4", 77))]


def write_table(path: Path, columns: list[fits.Column], **cards: Any) -> Path:
    """Write a table by astropy, with an image before and after it."""
    table = fits.BinTableHDU.from_columns(columns, name="ROWS")
    table.header.update(cards)
    last = fits.ImageHDU(np.arange(12, dtype="i2"), name="LAST")
    fits.HDUList([fits.PrimaryHDU(), table, last]).writeto(path, overwrite=True)
    return path


def fpacked(path: Path, *options: str) -> Path:
    """Compress the tables of a file by fpack."""
    packed = path.with_name(path.name + ".fz")
    packed.unlink(missing_ok=True)
    subprocess.run(["fpack", "-table", *options, path], check=True, capture_output=True)
    return packed


def cells(values: Any) -> list[Any]:
    """Return the bytes of each cell, and its undefined elements."""
    parts = list(values) if isinstance(values, tf.Ragged) else [values]
    return [(np.ma.getdata(part).tobytes(), np.ma.getmaskarray(part).tobytes()) for part in parts]


def assert_same(found: Any, expected: Any, **options: Any) -> None:
    """Compare every column of two tables, bit for bit."""
    assert [column.name for column in found.columns] == [c.name for c in expected.columns]
    assert len(found) == len(expected)
    names = [column.name for column in expected.columns]
    left, right = found.read(names, **options), expected.read(names, **options)
    for name in names:
        assert cells(left[name]) == cells(right[name]), name
        assert cells(found[name]) == cells(expected[name]), name


def data_of(path: Path, hdu: int = 1) -> bytes:
    with fits.open(path, disable_image_compression=True) as file:
        info = file[hdu].fileinfo()
    with path.open("rb") as stream:
        stream.seek(info["datLoc"])
        return stream.read(info["datSpan"])


@needs_fpack
@pytest.mark.parametrize("tile", [1, 37, 699, 700, 5000, None])
def test_tables_of_fpack_are_the_tables_that_were_compressed(
    tmp_path: Path, tile: int | None
) -> None:
    columns = [*fixed_columns(ROWS), *variable_columns(ROWS)]
    cards = {} if tile is None else {"FZTILELN": tile}
    path = write_table(tmp_path / "t.fits", columns, **cards)
    packed = fpacked(path)
    with tf.open(packed) as file, tf.open(path) as plain:
        found, expected = file[1], plain[1]
        assert found.compression.content == "table"
        assert found.header["NAXIS1"] == expected.header["NAXIS1"]
        assert_same(found, expected)
        assert_same(found, expected, rows=slice(30, 41))
        assert_same(found, expected, rows=[699, 3, 3, 250])
        assert_same(found, expected, where="J > 0 and E[1] < 0.5")
        assert np.array_equal(file["LAST"][:], np.arange(12))
        tf.write(tmp_path / "back.fits", list(file))
    assert data_of(tmp_path / "back.fits") == data_of(path)
    subprocess.run(["funpack", "-O", tmp_path / "fun.fits", packed], check=True)
    assert data_of(tmp_path / "back.fits") == data_of(tmp_path / "fun.fits")


@needs_fpack
def test_complex_columns_that_funpack_refuses_are_read(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    numbers = random.normal(0, 1, (ROWS, 2))
    columns = [
        fits.Column("C", "C", array=(numbers[:, 0] + 1j * numbers[:, 1]).astype("c8")),
        fits.Column("M", "2M", array=np.stack([numbers[:, 0] * 1j, numbers[:, 1] + 2], 1)),
        fits.Column("PC", "PC()", array=arrays_of(ROWS, "c8", 1)),
        fits.Column("PM", "PM()", array=arrays_of(ROWS, "c16", 2)),
        fits.Column("J", "J", array=np.arange(ROWS)),
    ]
    path = write_table(tmp_path / "t.fits", columns, FZTILELN=100)
    with tf.open(fpacked(path)) as file, tf.open(path) as plain:
        assert_same(file[1], plain[1])


@needs_fpack
def test_reading_a_column_decodes_that_column_alone(tmp_path: Path) -> None:
    path = write_table(tmp_path / "t.fits", fixed_columns(ROWS), FZTILELN=100)
    packed = fpacked(path)
    with tf.open(packed, raw=True) as file:
        header, start = file[1].header, file[1].data_offset
    starts = [column.name for column in fixed_columns(1)]
    heap = start + header["NAXIS1"] * header["NAXIS2"]
    descriptors = np.frombuffer(packed.read_bytes()[start:heap], ">i8")
    offsets = descriptors.reshape(-1, len(starts), 2)[..., 1]
    damaged = bytearray(packed.read_bytes())
    column, tile = starts.index("E"), 3
    at = heap + int(offsets[tile, column]) + 12
    damaged[at] ^= 255
    with tf.open(bytes(damaged)) as file, tf.open(path) as plain:
        found, expected = file[1], plain[1]
        for name in starts:
            if name != "E":
                assert cells(found[name]) == cells(expected[name])
        rows = [0, 299, 400, 699]
        assert cells(found.read("E", rows=rows)) == cells(expected.read("E", rows=rows))
        with pytest.raises(tf.FormatError, match=r'HDU 1 .*"E", row 301 .*, byte \d+'):
            found["E"]
        with pytest.raises(tf.FormatError, match="rows 301 to 400"):
            found.where("E[1] > 0")
