"""Tables in compressed tiles: read like others, whatever the columns and codecs, beside funpack."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import shutil
import struct
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given, settings
from hypothesis import strategies as st

import tachyfits as tf
from tachyfits.cli import run

ROWS = 700
DATA = Path(__file__).parents[1] / "data" / "compressed"
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
    if parts and np.ma.getdata(parts[0]).dtype == object:
        return [part.tolist() for part in parts]
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


def fitsverify(path: Path) -> None:
    if shutil.which("fitsverify"):
        done = subprocess.run(["fitsverify", "-q", path], capture_output=True, text=True)
        assert "OK" in done.stdout, done.stdout


CODECS = {"gzip1": "GZIP_1", "gzip": "GZIP_2", "rice": "RICE_1", "none": "NOCOMPRESS"}


@pytest.mark.parametrize("codec", [None, "gzip1", "gzip", "rice"])
@pytest.mark.parametrize("rows", [1, 64, None])
def test_tables_written_here_are_restored_by_funpack(
    tmp_path: Path, codec: str | None, rows: int | None
) -> None:
    columns = [*fixed_columns(ROWS), *variable_columns(ROWS)]
    path = write_table(tmp_path / "t.fits", columns)
    integers = ("B", "I", "U", "J", "W", "PB", "PI", "PJ")
    numbers = (*integers, "K", "E", "D", "PK", "PE", "PD", "QE")
    chosen = integers if codec == "rice" else numbers
    names = dict.fromkeys(chosen, codec) if codec else None
    how = tf.Compression(tables=True, table_rows=rows, columns=names)
    packed = tmp_path / "t.fits.fz"
    with tf.open(path) as plain:
        tf.write(packed, list(plain), compress=how, checksum=True, threads=2)
        tf.write(tmp_path / "one.fz", list(plain), compress=how, checksum=True, threads=1)
        assert packed.read_bytes() == (tmp_path / "one.fz").read_bytes()
        with tf.open(packed) as file, tf.open(packed, decompress_tiles=False) as raw:
            assert file[1].compression.tile == (rows or ROWS,)
            assert_same(file[1], plain[1])
            assert all(hdu.checksum().ok and hdu.checksum().data == "right" for hdu in raw)
            tf.write(tmp_path / "back.fits", list(file), checksum=True)
            stored = file[1].header["DATASUM"]
    with tf.open(tmp_path / "back.fits") as back:
        assert back[1].header["DATASUM"] == stored
        assert back[1].checksum().data == "right"
    assert data_of(tmp_path / "back.fits") == data_of(path)
    fitsverify(packed)
    if HAS_FPACK:
        subprocess.run(["funpack", "-O", tmp_path / "fun.fits", packed], check=True)
        assert data_of(tmp_path / "fun.fits") == data_of(path)
        fitsverify(tmp_path / "fun.fits")


def test_every_codec_keeps_columns_that_funpack_refuses(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    numbers = random.normal(0, 1, (ROWS, 2))
    text = [["ab", "", "a longer text", "x"][n % 4] for n in range(ROWS)]
    data = {
        "C": (numbers[:, 0] + 1j * numbers[:, 1]).astype("c8"),
        "M": np.stack([numbers[:, 0] * 1j, numbers[:, 1] + 2], 1),
        "PC": [list(cell) for cell in arrays_of(ROWS, "c8", 1)],
        "N": np.arange(ROWS),
        "TEXT": text,
    }
    tf.write(tmp_path / "t.fits", data, forms={"TEXT": "PA"})
    for codec in ("gzip", "gzip1", "none"):
        how = tf.Compression(columns=dict.fromkeys(data, codec))
        tf.write(
            tmp_path / "t.fz", data, forms={"TEXT": "PA"}, compress=how, overwrite=True, name="X"
        )
        with tf.open(tmp_path / "t.fz") as file, tf.open(tmp_path / "t.fits") as plain:
            expected = {"gzip": "GZIP_1, GZIP_2"}.get(codec, CODECS[codec])
            assert file[1].compression.algorithm == expected
            assert file[1].name == "X"
            assert_same(file[1], plain[1])


def test_directives_in_headers_are_followed_unless_told_otherwise(tmp_path: Path) -> None:
    columns = fixed_columns(ROWS)
    cards = {"FZTILELN": 100, "FZALG7": "GZIP_1", "FZALG9": "RICE_1"}
    path = write_table(tmp_path / "t.fits", columns, **cards)
    packed = tmp_path / "t.fits.fz"
    for flags, tile, codec in (([], 100, "GZIP_1"), (["--ignore-directives"], ROWS, "RICE_1")):
        assert run(["compress", "--tables", "--overwrite", *flags, str(path)]) == 0
        with tf.open(packed, decompress_tiles=False) as raw:
            assert raw[1].header["ZTILELEN"] == tile
            assert raw[1].header["ZCTYP7"] == codec
            assert raw[1].header["ZCTYP9"] == "GZIP_2"


def test_images_follow_directives(tmp_path: Path) -> None:
    path = tmp_path / "i.fits"
    pixels = np.random.default_rng(1).normal(0, 1, (60, 80)).astype("f4")
    for cards, expected in (
        ({"FZALGOR": "GZIP_1", "FZTILE": "(40,30)"}, {"ZCMPTYPE": "GZIP_1", "ZTILE2": 30}),
        ({"FZQVALUE": 0.0}, {"ZCMPTYPE": "GZIP_2"}),
        ({"FZQMETHD": "NO_DITHER", "FZTILE": "whole"}, {"ZQUANTIZ": "NO_DITHER", "ZTILE2": 60}),
        ({"FZDTHRSD": 77, "FZTILE": "row"}, {"ZDITHER0": 77, "ZTILE2": 1}),
    ):
        tf.write(path, pixels, cards, overwrite=True)
        assert run(["compress", "--overwrite", str(path)]) == 0
        header = fits.getheader(f"{path}.fz", 1, disable_image_compression=True)
        with fits.open(f"{path}.fz", disable_image_compression=True) as file:
            header = file[1].header
        assert {keyword: header[keyword] for keyword in expected} == expected
    tf.write(path, pixels, {"FZALGOR": "NONE"}, overwrite=True)
    assert run(["compress", "--overwrite", str(path)]) == 0
    assert np.array_equal(fits.getdata(f"{path}.fz", 0), pixels)


def test_small_and_ascii_tables_are_copied(tmp_path: Path) -> None:
    how = tf.Compression(tables=True)
    tf.write(tmp_path / "small.fits", {"N": np.arange(100)}, compress=how)
    assert tf.open(tmp_path / "small.fits")[1].compression is None
    tf.write(tmp_path / "text.fits", {"N": np.arange(9000)}, kind="ascii", compress=how)
    assert tf.open(tmp_path / "text.fits")[1].compression is None
    tf.write(tmp_path / "list.fits", [{"N": np.arange(9000)}], compress=how)
    assert tf.open(tmp_path / "list.fits")[1].compression.algorithm == "GZIP_2"
    tf.write(tmp_path / "list.fits", [{"N": np.arange(9000)}], compress="gzip", overwrite=True)
    assert tf.open(tmp_path / "list.fits")[1].compression is None
    with pytest.raises(tf.UsageError, match="expected a Compression"):
        tf.write(tmp_path / "no.fits", {"N": np.arange(9000)}, compress="gzip")
    with pytest.raises(tf.UsageError, match="RICE_1 of integers"):
        tf.write(
            tmp_path / "no.fits", {"N": np.arange(9000)},
            compress=tf.Compression(columns={"n": "rice"}),
        )  # fmt: skip
    assert not (tmp_path / "no.fits").exists()


@pytest.mark.parametrize("rows", [0, 10, 9000])
@pytest.mark.parametrize("listed", [False, True])
def test_rows_of_a_stream_are_written_with_compress(
    rows: int, listed: bool, tmp_path: Path
) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="LEFT OUT: pyarrow is not installed")
    numbers = np.arange(rows)
    stream = pyarrow.table({"N": numbers}).to_reader()
    how = tf.Compression(tables=True)
    tf.write(tmp_path / "t.fits", [stream] if listed else stream, compress=how, checksum=True)
    with tf.open(tmp_path / "t.fits") as file:
        assert (file[1].compression is not None) == (rows == 9000)
        assert file[1]["N"].tolist() == numbers.tolist()
        assert file.verify().ok


def test_commands_compress_and_restore_tables(tmp_path: Path) -> None:
    path = write_table(tmp_path / "t.fits", [*fixed_columns(ROWS), *variable_columns(ROWS)])
    assert run(["compress", "--tables", "--checksum", str(path)]) == 0
    packed = tmp_path / "t.fits.fz"
    assert packed.stat().st_size < path.stat().st_size
    assert run(["decompress", str(packed), "-o", str(tmp_path / "back.fits")]) == 0
    assert data_of(tmp_path / "back.fits") == data_of(path)
    assert fits.getdata(tmp_path / "back.fits", "LAST").tolist() == [*range(12)]


@needs_fpack
def test_the_hdu_after_a_table_with_a_gap_is_found(tmp_path: Path) -> None:
    path = write_table(tmp_path / "t.fits", variable_columns(ROWS))
    with fits.open(path) as file:
        rows, heap = file[1].data.nbytes, file[1].header["PCOUNT"]
        start = file[1].fileinfo()["datLoc"]
    content = path.read_bytes()
    gap = 4 * 2880
    data = content[start : start + rows] + bytes(gap) + content[start + rows :][:heap]
    data += bytes(-len(data) % 2880)
    end = start + (rows + heap + 2879) // 2880 * 2880
    header = content[:start].replace(b"PCOUNT  = %20d" % heap, b"PCOUNT  = %20d" % (heap + gap))
    at = header.rindex(b"END     ")
    header = header[:at] + (b"THEAP   = %20d" % (rows + gap)).ljust(80) + header[at:]
    path.write_bytes(header[:start] + data + content[end:])
    packed = fpacked(path)
    # fpack leaves out the HDUs after it.
    assert packed.read_bytes().count(b"XTENSION=") == 1
    packed.write_bytes(packed.read_bytes() + content[end:])
    with pytest.warns(tf.TachyfitsWarning, match="THEAP"):
        opened = tf.open(packed)
    with opened as file, tf.open(path) as plain:
        assert [hdu.name for hdu in file] == [hdu.name for hdu in plain]
        assert_same(file[1], plain[1])
        assert np.array_equal(file["LAST"][:], np.arange(12))
        tf.write(tmp_path / "ours.fz", [file[1]], compress=tf.Compression(tables=True))
    with tf.open(tmp_path / "ours.fz") as file, tf.open(path) as plain:
        assert_same(file[1], plain[1])
    with tf.open(tmp_path / "ours.fz", decompress_tiles=False) as raw:
        assert "THEAP" not in raw[1].header
        assert raw[1].header["ZTHEAP"] == rows + gap


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


@pytest.mark.parametrize("stem", ["text", "bits"])
def test_text_and_bits_of_any_length_are_those_of_astropy(tmp_path: Path, stem: str) -> None:
    """Text is packed by fpack, at which funpack aborts; bits, which fpack loses, by hand."""
    packed, plain = (
        gzip.decompress((DATA / f"{stem}.fits{ending}").read_bytes())
        for ending in (".fz.gz", ".gz")
    )
    with tf.open(packed) as file, tf.open(plain) as expected:
        assert file[1].compression.content == "table"
        assert_same(file[1], expected[1])
        tf.write(tmp_path / "ours.fz", [expected[1]], compress=tf.Compression(tables=True))
        tf.write(tmp_path / "back.fits", list(file))
    (tmp_path / "plain.fits").write_bytes(plain)
    assert data_of(tmp_path / "back.fits") == data_of(tmp_path / "plain.fits")
    with tf.open(tmp_path / "ours.fz") as file, tf.open(plain) as expected:
        assert_same(file[1], expected[1])
        if stem == "text":
            assert file[1]["PA"][17] == "star " * 8 + "xx"
        else:
            assert len(file[1]["PX"][10]) == 10 * 8 - 3


@needs_fpack
def test_reading_a_column_decodes_that_column_alone(tmp_path: Path) -> None:
    path = write_table(tmp_path / "t.fits", fixed_columns(ROWS), FZTILELN=100)
    packed = fpacked(path)
    with tf.open(packed, decompress_tiles=False) as file:
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


LETTERS = ("L", "X", "A", "B", "I", "J", "K", "E", "D", "C", "M")


@st.composite
def stored_tables(draw: st.DrawFn) -> tuple[bytes, list[str], int]:
    """Return a file with a table of random columns and bytes, their forms, and rows of a tile."""
    rows = draw(st.integers(1, 60))
    forms = draw(
        st.lists(
            st.one_of(
                st.builds("{}{}".format, st.integers(0, 4), st.sampled_from(LETTERS)),
                st.builds("1{}{}".format, st.sampled_from("PQ"), st.sampled_from(LETTERS)),
            ),
            min_size=1,
            max_size=5,
        )
    )
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    widths = {"L": 1, "A": 1, "B": 1, "I": 2, "J": 4, "K": 8, "E": 4, "D": 8, "C": 8, "M": 16}
    cells: list[list[bytes]] = [[] for _ in range(rows)]
    heap = b""
    for form in forms:
        kind, letter = form[-2], form[-1]
        for row in range(rows):
            count = int(random.integers(0, 30)) if kind in "PQ" else int(form[0])
            size = -(-count // 8) if letter == "X" else count * widths[letter]
            high = int(random.choice([2, 20, 256]))
            data = random.integers(0, high, size, "u1").tobytes()
            if letter == "L":
                data = random.choice(np.frombuffer(b"TF\0", "u1"), size).tobytes()
            if letter == "A":
                data = bytes(32 + byte % 90 for byte in data)
            if kind in "PQ":
                place = len(heap) if count else int(random.integers(0, 9))
                heap += data
                data = struct.pack(">ii" if kind == "P" else ">qq", count, place)
            cells[row].append(data)
    body = b"".join(b"".join(row) for row in cells)
    width = len(body) // rows
    gap = draw(st.sampled_from([0, 0, 7, 3000])) if heap else 0
    cards = {
        "XTENSION": "BINTABLE", "BITPIX": 8, "NAXIS": 2, "NAXIS1": width, "NAXIS2": rows,
        "PCOUNT": gap + len(heap), "GCOUNT": 1, "TFIELDS": len(forms),
    }  # fmt: skip
    for number, form in enumerate(forms, 1):
        cards |= {f"TTYPE{number}": f"C{number}", f"TFORM{number}": form}
    if gap:
        cards["THEAP"] = len(body) + gap
    content = body + bytes(gap) + heap
    content += bytes(5760 * 2 - len(content) if len(content) < 5760 else 0)
    cards["PCOUNT"] = len(content) - len(body)
    header = fits.Header(cards.items())
    primary = fits.PrimaryHDU().header.tostring().encode()
    content += bytes(-len(content) % 2880)
    return primary + header.tostring().encode() + content, forms, draw(st.integers(1, 70))


@settings(max_examples=60, deadline=None)
@given(made=stored_tables(), codec=st.sampled_from([None, *CODECS]), threads=st.integers(1, 3))
def test_any_table_comes_back_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory,
    made: tuple[bytes, list[str], int],
    codec: str | None,
    threads: int,
) -> None:
    content, forms, rows = made
    folder = tmp_path_factory.mktemp("any")
    chosen = [
        f"C{number}" for number, form in enumerate(forms, 1) if codec != "rice" or form[-1] in "BIJ"
    ]
    columns = dict.fromkeys(chosen, codec) if codec else None
    how = tf.Compression(tables=True, table_rows=rows, columns=columns)
    with tf.open(content) as plain:
        tf.write(folder / "t.fz", list(plain), compress=how, threads=threads)
    with tf.open(folder / "t.fz") as file:
        assert file[1].compression.content == "table"
        tf.write(folder / "back.fits", list(file), threads=threads)
    (folder / "plain.fits").write_bytes(content)
    assert data_of(folder / "back.fits") == data_of(folder / "plain.fits")


def small_files(folder: Path) -> list[bytes]:
    """Return small files with compressed tables: fixed columns, arrays, each codec."""
    files = []
    for name, columns, codec in (
        ("fixed", fixed_columns(30)[1:8], None),
        ("arrays", [variable_columns(30)[1], variable_columns(30)[-1]], None),
        ("plain", fixed_columns(30)[3:6], "none"),
    ):
        path = write_table(folder / f"{name}.fits", columns)
        names = dict.fromkeys([c.name for c in columns], codec) if codec else None
        # Zeros that make the table large enough to be compressed.
        pad = [fits.Column("PAD", "200B", array=np.zeros((30, 200), "u1"))]
        write_table(path, [*columns, *pad])
        how = tf.Compression(tables=True, table_rows=12, columns=names)
        with tf.open(path) as file:
            tf.write(folder / f"{name}.fz", list(file)[:2], compress=how, checksum=False)
        files.append((folder / f"{name}.fz").read_bytes())
    return files


def problem_of(content: bytes) -> tf.TachyfitsError | None:
    """Read every column of a file; return the error, if there is one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tf.TachyfitsWarning)
            with tf.open(content) as file:
                for hdu in file:
                    if isinstance(hdu, tf.Table):
                        for column in hdu.columns:
                            assert len(hdu[column.name]) == len(hdu)
    except tf.TachyfitsError as error:
        return error
    return None


def test_any_damage_gives_values_or_one_clear_error(tmp_path: Path) -> None:
    # Each byte of the headers and data is damaged if TACHYFITS_EACH_BYTE is set.
    step = 1 if os.environ.get("TACHYFITS_EACH_BYTE") else 61
    for content in small_files(tmp_path):
        end = len(content.rstrip(b"\0"))
        damaged = [
            content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :]
            for place, bit in itertools.product(range(2880, end, step), (0x01, 0x80))
        ]
        damaged += [content[:cut] for cut in range(2880, end, step * 7)]
        for each in damaged:
            error = problem_of(each)
            assert error is None or "hint:" in str(error)


def test_descriptors_in_the_order_of_the_standard_are_read(tmp_path: Path) -> None:
    path = write_table(tmp_path / "t.fits", variable_columns(ROWS))
    with tf.open(path) as plain:
        tf.write(tmp_path / "t.fz", list(plain)[:2], compress=tf.Compression(tables=True))
    with tf.open(tmp_path / "t.fz", decompress_tiles=False) as raw:
        header, start = raw[1].header, raw[1].data_offset
    content = bytearray((tmp_path / "t.fz").read_bytes())
    rows, heap = header["NAXIS1"], header["PCOUNT"]
    assert header["NAXIS2"] == 1
    content = content[: start + rows + heap]
    for column, name in enumerate(header[f"ZFORM{n}"] for n in range(1, header["TFIELDS"] + 1)):
        at = start + 16 * column
        length, offset = struct.unpack(">qq", content[at : at + 16])
        cell = gzip.decompress(content[start + rows + offset :][:length])
        split = ROWS * (16 if "Q" in name else 8)
        swapped = gzip.compress(cell[split:] + cell[:split], mtime=0)
        content[at : at + 16] = struct.pack(">qq", len(swapped), len(content) - start - rows)
        content += swapped
    new = len(content) - start - rows
    content[:] = content.replace(b"PCOUNT  = %20d" % heap, b"PCOUNT  = %20d" % new)
    content += bytes(-len(content) % 2880)
    with tf.open(bytes(content)) as file, tf.open(path) as plain:
        assert_same(file[1], plain[1])


def test_verify_compares_decoded_data_with_their_sum(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.fits", [*fixed_columns(ROWS), *variable_columns(ROWS)])
    pixels = np.random.default_rng(1).normal(0, 9, (40, 70)).astype("i2")
    with tf.open(table) as plain:
        how = tf.Compression("rice", tables=True)
        tf.write(tmp_path / "t.fz", [(pixels, None), plain[1]], compress=how, checksum=True)
    assert not [*tf.verify(tmp_path / "t.fz")]
    content = (tmp_path / "t.fz").read_bytes()
    for hdu in (1, 2):
        with tf.open(tmp_path / "t.fz", decompress_tiles=False) as raw:
            stated, start = raw[hdu].header["ZDATASUM"], raw[hdu].data_offset
        place = content.rindex(b"ZDATASUM", 0, start)
        card = content[place : place + 80]
        other = card.replace(stated.encode(), b"1" * len(stated))
        changed = content[:place] + other + content[place + 80 :]
        found = [finding.code for finding in tf.verify(changed)]
        assert "decoded-sum" in found
        with tf.open(changed, decompress_tiles=False) as raw:
            heap = raw[hdu].data_offset + raw[hdu].header["NAXIS1"] * raw[hdu].header["NAXIS2"]
        damaged = content[: heap + 20] + bytes([content[heap + 20] ^ 255]) + content[heap + 21 :]
        found = [finding.code for finding in tf.verify(damaged)]
        assert {"tile-stream", "decoded-sum"} & {*found}


def test_errors_of_quantisation_are_told_for_each_hdu(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).normal(0, 9, (40, 70)).astype("f4")
    with pytest.warns(tf.TachyfitsWarning, match=r"errors are 1\.\d+ in HDU 0, 1\.\d+ in HDU 1"):
        tf.write(tmp_path / "two.fz", [(pixels, None), (pixels + 1, None)], compress="rice")
    with tf.open(tmp_path / "two.fz") as file:
        assert np.abs(file[1][:] - pixels).max() > 0.5


def test_the_largest_error_of_each_hdu_is_in_reports_and_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pixels = np.random.default_rng(1).normal(0, 9, (40, 70)).astype("f4")
    path, packed = tmp_path / "many.fits", tmp_path / "many.fits.fz"
    hdus = [(pixels, None), (pixels.astype("i2"), None), {"N": np.arange(9)}, (pixels * 10, None)]
    tf.write(path, hdus)
    assert run(["compress", "--json", str(path)]) == 0
    said = capsys.readouterr()
    assert "rounded" not in said.err
    told = json.loads(said.out)["errors"]
    with tf.open(path) as plain, tf.open(packed) as file:
        # An empty primary HDU comes first.
        errors = {hdu: np.abs(file[hdu][:] - plain[hdu - 1][:]).max() for hdu in (1, 4)}
        assert [each["hdu"] for each in told] == [1, 4]
        for each in told:
            assert each["largest"] == pytest.approx(errors[each["hdu"]], rel=1e-6)
        assert run(["compress", str(path), "--overwrite"]) == 0
        words = "largest error: {:.6g} in HDU 1, {:.6g} in HDU 4"
        largest = [each["largest"] for each in told]
        assert words.format(*largest) in capsys.readouterr().err
        with tf.reports() as reports, pytest.warns(tf.TachyfitsWarning, match="rounded"):
            tf.write(tmp_path / "again.fz", list(plain), compress="rice")
        written = {report.hdu: report.rounding for report in reports if report.hdu is not None}
        assert written == {1: largest[0], 2: 0, 4: largest[1]}
        with tf.reports() as reports:
            plain[1].write(tmp_path / "one.fz", compress="rice")
        assert [(report.hdu, report.rounding) for report in reports] == [(1, 0)]
    assert run(["compress", "--json", "--codec=gzip", str(path), "--overwrite"]) == 0
    assert json.loads(capsys.readouterr().out)["errors"] == []


def test_compressed_files_do_not_differ_from_plain_ones(tmp_path: Path) -> None:
    path = tmp_path / "plain.fits"
    pixels = np.arange(6000, dtype="i4").reshape(60, 100)
    table = {"N": np.arange(3000), "TEXT": ["a", "bc", ""] * 1000}
    tf.write(path, [(pixels, {"OBJECT": "M31"}), table, (pixels[:9], None)])
    assert run(["compress", "--tables", str(path)]) == 0
    packed = tmp_path / "plain.fits.fz"
    assert tf.diff(path, packed).same
    assert tf.diff(packed, path).same
    assert tf.diff(packed, packed).same
    with tf.edit(path) as editor:
        editor[0].pixels[3, 4] = 7
    found = tf.diff(path, packed)
    assert not found.same
    if HAS_FPACK:
        subprocess.run(["fpack", "-table", "-O", tmp_path / "f.fz", path], check=True)
        assert tf.diff(path, tmp_path / "f.fz").same


def test_info_tells_codec_ratio_and_memory_of_tables_and_steps_of_floats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pixels = np.random.default_rng(1).normal(0, 9, (40, 70)).astype("f4")
    how = tf.Compression("rice", tile=(10, 70), tables=True, table_rows=500)
    path = tmp_path / "t.fz"
    tf.write(path, [(pixels, None), {"N": np.arange(3000)}], compress=how)
    capsys.readouterr()
    assert run(["info", str(path)]) == 0
    said = capsys.readouterr().out
    assert "tiles of 70 x 10" in said
    assert "in steps of 2." in said
    assert "HDU 2: GZIP_2, tiles of 500 rows (4.0 kB)" in said
    assert run(["info", "--json", str(path)]) == 0
    steps = json.loads(capsys.readouterr().out)["hdus"][1]["compression"]["steps"]
    assert 2 < steps[0] <= steps[1] < 3
