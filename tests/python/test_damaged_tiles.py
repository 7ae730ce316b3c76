"""Damaged tiles: an error, or on request undefined pixels and one warning; `verify` finds all."""

from __future__ import annotations

import gzip
import pickle
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from tachyfits.cli import run

CUBE = np.random.default_rng(11).normal(100, 8, (4, 60, 50)).astype("f4")
#: Rows of a tile, in planes of tiles with all columns.
TILE = (1, 10, 50)
LOSSLESS = tf.Compression("gzip", tile=TILE)


def packed(pixels: Any, how: tf.Compression, folder: Path, **cards: Any) -> bytes:
    """Return a file whose HDU 1 has an image in compressed tiles."""
    path = folder / "packed.fits"
    tf.write(path, pixels, cards or None, compress=how, overwrite=True, blank=cards.get("BLANK"))
    return path.read_bytes()


def streams(content: bytes) -> list[tuple[int, int]]:
    """Return where the stream of each tile is: offset in the file, and bytes."""
    with tf.open(content, decompress_tiles=False) as file:
        table = file[1]
        rows, width = table.header["NAXIS2"], table.header["NAXIS1"]
        heap = table.data_offset + rows * width
        cells = np.frombuffer(content[table.data_offset : heap], "u1").reshape(rows, width)
    places = cells[:, :8].copy().view(">i4")
    return [(heap + int(offset), int(count)) for count, offset in places]


def damaged(content: bytes, tiles: Iterable[int]) -> bytes:
    """Return a file in which the streams of these tiles, from 0, are overwritten."""
    changed = bytearray(content)
    found = streams(content)
    for tile in tiles:
        offset, count = found[tile]
        changed[offset : offset + count] = b"\xff" * count
    return bytes(changed)


def without(pixels: Any, tiles: Iterable[int]) -> Any:
    """Return pixels that are NaN in these tiles of TILE."""
    left = pixels.astype("f8" if pixels.dtype == "f8" else "f4")
    each = left.reshape(-1, TILE[1], TILE[2])
    each[list(tiles)] = np.nan
    return left


def test_damaged_tiles_are_an_error_unless_nan_is_requested(tmp_path: Path) -> None:
    content = damaged(packed(CUBE, LOSSLESS, tmp_path), [3, 9])
    with tf.open(content) as file:
        with pytest.raises(tf.FormatError, match=r"HDU 1.*row 4 .*byte \d+") as error:
            file[1][:]
        assert error.value.code == "tile-stream"
        assert np.array_equal(file[1][2:], CUBE[2:])
    with tf.open(content, damaged="nan") as file:
        with pytest.warns(tf.TachyfitsWarning) as told:
            found = file[1][:]
        assert np.array_equal(found, without(CUBE, [3, 9]), equal_nan=True)
        assert len(told) == 1
        words = str(told[0].message)
        offsets = [offset for offset, _ in streams(content)]
        assert "HDU 1 (0-based): damaged tiles, whose pixels are read as NaN" in words
        assert "row 4 (from 1)" in words
        assert "row 10 (from 1)" in words
        assert any(f"byte {offset}" in words for offset in range(offsets[3], offsets[4]))
        # A later operation does not name the tile again.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            file[1].mean()
            assert np.isnan(file[1][0, 30:40]).all()
    with pytest.raises(tf.UsageError, match="invalid damaged 'zero': expected error or nan"):
        tf.open(content, damaged="zero")


@pytest.mark.parametrize("codec", ["rice", "gzip", "gzip1", "hcompress"])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_results_are_those_of_undefined_pixels_for_any_threads(
    tmp_path: Path, codec: str, kind: str
) -> None:
    """As of a plain file that has NaN there, bit for bit."""
    how = tf.Compression(codec, tile=TILE)
    content = packed(CUBE.astype(kind), how, tmp_path)
    bad = [1, 6, 7, 20]
    with tf.open(content) as file:
        whole = without(file[1][:], bad)
    tf.write(tmp_path / "plain.fits", whole, overwrite=True)
    with tf.open(tmp_path / "plain.fits") as plain:
        told = set()
        for threads in (1, 2, 3):
            for ask in (
                lambda image: image[:],
                lambda image: image[1:3, 5:45, 10:30],
                lambda image: image.stats(),
                lambda image: np.asarray(image.collapse("mean")),
                lambda image: image.median(),
                lambda image: np.asarray(image.spectrum(tf.Box(20, 25, 20, 20))),
                lambda image: image.smooth("boxcar", 3, axis="x")[:],
                lambda image: (image * 2 + 1)[:],
            ):
                with tf.open(damaged(content, bad), damaged="nan", threads=threads) as file:
                    with pytest.warns(tf.TachyfitsWarning, match="row 8") as warned:
                        found = ask(file[1])
                    expected = ask(plain[0])
                    told.add(tuple(str(each.message) for each in warned))
                if isinstance(expected, np.ndarray):
                    assert found.dtype == expected.dtype
                    assert np.array_equal(found, expected, equal_nan=True)
                else:
                    assert found == expected
        # The cutout and the spectrum touch fewer tiles.
        assert len(told) <= 3
        assert all(len(each) == 1 for each in told)


def test_integers_are_blank_and_an_error_without_blank(tmp_path: Path) -> None:
    pixels = CUBE.astype("i2")
    tf.write(tmp_path / "blank.fits", pixels, blank=-32768)
    with tf.open(tmp_path / "blank.fits") as file:
        file[0].write(tmp_path / "blank.fz", compress=tf.Compression("rice", tile=TILE))
    content = damaged((tmp_path / "blank.fz").read_bytes(), [2])
    with tf.open(content, damaged="nan") as file:
        with pytest.warns(tf.TachyfitsWarning, match="read as BLANK, -32768"):
            found = file[1].read(dtype="raw")
        expected = pixels.copy()
        expected[0, 20:30] = -32768
        assert np.array_equal(found, expected)
        assert np.isnan(file[1][0, 20:30]).all()
        assert file[1].stats().count == pixels.size - 500
    content = damaged(packed(pixels, tf.Compression("rice", tile=TILE), tmp_path), [2])
    with tf.open(content, damaged="nan") as file:
        words = "row 3 .*pixels of BITPIX 16 without BLANK have no value for damaged tiles"
        with pytest.raises(tf.FormatError, match=words) as error:
            file[1].mean()
        assert error.value.code == "tile-stream"
        assert np.array_equal(file[1][1:], pixels[1:])


def test_a_region_decodes_no_tile_beside_it(tmp_path: Path) -> None:
    how = tf.Compression("gzip", tile=(1, 10, 25))
    pixels = CUBE[:2]
    # Tiles of 25 columns: the left ones of the rows from 10 to 29.
    content = damaged(packed(pixels, how, tmp_path), [2, 4, 14, 16])
    box = tf.Box(37.0, 20.0, 10.0, 12.0)
    inside = box.mask(60, 50)
    with tf.open(content) as file:
        found = file[1].spectrum(box, statistic="max").values
        assert np.array_equal(found, pixels[:, inside].max(axis=1))
        assert np.array_equal(file[1][:, 10:30, 25:], pixels[:, 10:30, 25:])
        with pytest.raises(tf.FormatError, match="row 3"):
            file[1].spectrum(tf.Box(24.0, 20.0, 10.0, 12.0))


def test_tiles_beyond_the_end_of_the_file_are_damaged(tmp_path: Path) -> None:
    content = packed(CUBE, LOSSLESS, tmp_path)
    offset, count = streams(content)[13]
    cut = content[: offset + count - 1]
    with tf.open(cut) as file:
        assert np.array_equal(file[1][:2], CUBE[:2])
        with pytest.raises(tf.TachyfitsError):
            file[1][:]
    with tf.open(cut, damaged="nan") as file:
        with pytest.warns(tf.TachyfitsWarning, match=r"row 14 .*then the end of the file"):
            found = file[1][:]
        assert np.array_equal(found, without(CUBE, range(13, 24)), equal_nan=True)
    with tf.open(content, decompress_tiles=False) as file:
        rows, width = file[1].data_offset, file[1].header["NAXIS1"]
    # In the rows: all of their tiles are lost, those before them too.
    file = tf.open(content[: rows + 3 * width + 1], damaged="nan")
    with pytest.warns(tf.TachyfitsWarning, match=r"(?s)row 1 .*and 14 more"):
        assert np.isnan(file[1][:]).all()


def test_rows_that_say_nothing_valid_are_damaged(tmp_path: Path) -> None:
    content = bytearray(packed(CUBE, tf.Compression("rice", tile=TILE), tmp_path))
    with tf.open(bytes(content)) as file:
        whole = file[1][:]
    with tf.open(bytes(content), decompress_tiles=False) as file:
        table = file[1]
        start, width = table.data_offset, table.header["NAXIS1"]
        names = [column.name for column in table.columns]
        scale = start + 8 * names.index("ZSCALE")
    # A descriptor beyond the heap, no descriptor, a scale that is not a number.
    content[start + width * 2 + 4] = 0x70
    content[start + width * 5 : start + width * 5 + 16] = bytes(16)
    content[scale + width * 7 : scale + width * 7 + 8] = np.array(np.nan, ">f8").tobytes()
    with tf.open(bytes(content), damaged="nan") as file:
        with pytest.warns(tf.TachyfitsWarning, match=r"(?s)row 3 .*row 6 .*row 8 ") as told:
            found = file[1][:]
        assert len(told) == 1
    assert np.array_equal(found, without(whole, [2, 5, 7]), equal_nan=True)


def test_a_tile_with_a_damaged_mask_is_undefined() -> None:
    from test_compressed_images import handmade, zipped

    cells = [zipped([1, 2, 3, 4], ">f4"), zipped([5, 6, 7, 8], ">f4")]
    masks = [zipped([0, 1, 0, 0], "u1"), gzip.compress(b"\0" * 4)[:-8] + b"\xff" * 8]
    columns = {"COMPRESSED_DATA": ("PB", cells), "NULL_PIXEL_MASK": ("PB", masks)}
    content = handmade("GZIP_1", {"ZBITPIX": -32, "ZMASKCMP": "GZIP_1"}, columns, (4, 2))
    with tf.open(content) as file, pytest.raises(tf.FormatError, match="row 2"):
        file[1][:]
    with tf.open(content, damaged="nan") as file:
        with pytest.warns(tf.TachyfitsWarning, match="row 2"):
            found = file[1][:]
        assert np.array_equal(found, [[1, np.nan, 3, 4], [np.nan] * 4], equal_nan=True)


def test_a_long_list_is_cut_and_counted(tmp_path: Path) -> None:
    content = damaged(packed(CUBE, LOSSLESS, tmp_path), range(24))
    for threads in (1, 2, 3):
        with tf.open(content, damaged="nan", threads=threads) as file:
            with pytest.warns(tf.TachyfitsWarning) as told:
                assert file[1].stats().count == 0
            lines = str(told[0].message).splitlines()
            assert len(told) == 1
            assert len(lines) == 12
            assert "row 10 " in lines[10]
            assert lines[11] == "  - and 14 more"


def test_the_choice_is_pickled_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.fits"
    path.write_bytes(damaged(packed(CUBE, LOSSLESS, tmp_path), [0]))
    with tf.open(path, damaged="nan") as file:
        again = pickle.loads(pickle.dumps(file))
    with pytest.warns(tf.TachyfitsWarning, match="row 1 "):
        assert np.isnan(again[1][0, :10]).all()


def test_commands_read_damaged_tiles_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, plain = tmp_path / "bad.fits.fz", tmp_path / "plain.fits"
    content = packed(CUBE, LOSSLESS, tmp_path, OBJECT="M31")
    path.write_bytes(damaged(content, [4]))
    assert run(["stats", str(path)]) != 0
    assert "row 5" in capsys.readouterr().err
    assert run(["stats", "--json", "--damaged", "nan", str(path)]) == 0
    said = capsys.readouterr()
    assert f'"count":{CUBE.size - 500}' in said.out.replace(" ", "")
    assert "row 5" in said.err
    assert run(["decompress", "--checksum", "--damaged=nan", str(path), "-o", str(plain)]) == 0
    assert "row 5" in capsys.readouterr().err
    assert tf.verify(plain).ok
    with tf.open(plain) as file:
        assert file[0].header["OBJECT"] == "M31"
        assert np.array_equal(file[0][:], without(CUBE, [4]), equal_nan=True)


def test_verify_reports_every_damaged_tile(tmp_path: Path) -> None:
    content = packed(CUBE, LOSSLESS, tmp_path)
    assert tf.verify(content).ok
    found = tf.verify(damaged(content, [3, 17, 9]))
    assert [(each.code, each.hdu, each.row) for each in found] == [
        ("tile-stream", 1, row) for row in (4, 10, 18)
    ]
    # Integers without BLANK too.
    integers = packed(CUBE.astype("i4"), tf.Compression("rice", tile=TILE), tmp_path)
    assert [each.row for each in tf.verify(damaged(integers, [0, 23]))] == [1, 24]


def test_verify_counts_damaged_tiles_beyond_the_first(tmp_path: Path) -> None:
    content = damaged(packed(CUBE, LOSSLESS, tmp_path), range(2, 24))
    for threads in (1, 3):
        found = tf.verify(content, threads=threads)
        assert [each.row for each in found] == [*range(3, 19)]
        assert found.errors == 22
        assert found[-1].repeats == 6


def test_verify_reports_every_damaged_column_of_a_compressed_table(tmp_path: Path) -> None:
    rows = 400
    table = {
        "N": np.arange(rows),
        "TEXT": [f"star {n}" for n in range(rows)],
        "LIST": [np.arange(n % 7) for n in range(rows)],
    }
    how = tf.Compression(tables=True, table_rows=100)
    tf.write(tmp_path / "t.fz", table, compress=how, overwrite=True)
    content = (tmp_path / "t.fz").read_bytes()
    assert tf.verify(content).ok
    with tf.open(content, decompress_tiles=False) as file:
        data, width = file[1].data_offset, file[1].header["NAXIS1"]
        heap = data + width * file[1].header["NAXIS2"]
        cells = np.frombuffer(content[data:heap], "u1").reshape(-1, 3, width // 3)
    places = cells.copy().view(">i8" if width == 48 else ">i4")
    changed = bytearray(content)
    for tile, column in ((0, 0), (2, 1), (3, 2), (3, 0)):
        count, offset = places[tile, column]
        changed[heap + offset : heap + offset + count] = b"\xff" * count
    found = tf.verify(bytes(changed))
    assert {each.code for each in found} == {"tile-stream"}
    assert [(each.column and each.column[0], each.row) for each in found] == [
        (1, 1), (2, 201), (1, 301), (3, 301),
    ]  # fmt: skip


@pytest.mark.parametrize("keyword", ["ZPCOUNT", "ZGCOUNT"])
def test_bytes_that_no_tile_has_are_refused(keyword: str, tmp_path: Path) -> None:
    plain = tmp_path / "plain.fits"
    tf.write(plain, [(CUBE, None), (CUBE, None)])
    with tf.open(plain) as file:
        tf.write(tmp_path / "packed.fits", list(file), compress=LOSSLESS)
    content = bytearray((tmp_path / "packed.fits").read_bytes())
    at = content.rindex(keyword.encode())
    content[at + 10 : at + 30] = b"2147483648".rjust(20)
    found = [finding.code for finding in tf.verify(bytes(content))]
    assert "image-groups" in found
    with pytest.warns(tf.TachyfitsWarning, match="image-groups"):
        file = tf.open(bytes(content))
    assert file[2].kind == "binary table"
