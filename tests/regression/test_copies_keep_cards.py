"""Copies, lists of HDUs, compression and back: cards follow the form of an HDU; none is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from tachyfits.cli import run
from tachyfits.writing.restored import restored_hdus

IMAGE = np.arange(10_000, dtype="i2").reshape(100, 100)


def cards_of(path: Path, hdu: int = 0) -> fits.Header:
    with fits.open(path, disable_image_compression=True) as file:
        return file[hdu].header.copy()


def command(*words: object) -> None:
    assert run([str(word) for word in words]) == 0


def test_an_empty_primary_hdu_has_no_axis_whoever_writes_it(tmp_path: Path) -> None:
    plain = tmp_path / "plain.fits"
    primary = fits.PrimaryHDU()
    primary.header["OBJECT"] = ("M 31", "a galaxy")
    fits.HDUList([primary, fits.ImageHDU(IMAGE, name="SCI")]).writeto(plain)
    command("compress", plain, "-o", tmp_path / "packed.fits")
    command("decompress", tmp_path / "packed.fits", "-o", tmp_path / "back.fits")
    with tf.open(plain) as file:
        tf.write(tmp_path / "list.fits", list(file))
        tf.write(tmp_path / "sums.fits", list(file), checksum=True)
        tf.write(tmp_path / "pair.fits", [(file[0], {"OBJECT": "M 31"}), IMAGE])
        tf.write(tmp_path / "moved.fits", [(IMAGE, None), file[0]])
    tf.write(tmp_path / "given.fits", [(None, {"OBJECT": "M 31"}), IMAGE])
    tf.write(tmp_path / "table.fits", [(None, {"OBJECT": "M 31"}), {"A": [1, 2]}])
    for name in ("packed", "back", "list", "sums", "pair", "given", "table"):
        header = cards_of(tmp_path / f"{name}.fits")
        assert (header["NAXIS"], header["OBJECT"]) == (0, "M 31"), name
    tf.write(tmp_path / "none.fits", [None, IMAGE])
    assert cards_of(tmp_path / "none.fits")["NAXIS"] == 0
    assert np.array_equal(fits.getdata(tmp_path / "none.fits"), IMAGE)
    moved = cards_of(tmp_path / "moved.fits", 1)
    assert (moved["XTENSION"], moved["NAXIS"], moved["OBJECT"]) == ("IMAGE", 0, "M 31")
    assert tf.verify(tmp_path / "sums.fits").ok


def test_cards_of_an_empty_primary_hdu_join_the_image_that_was_primary(tmp_path: Path) -> None:
    source, out = tmp_path / "a.fits.fz", tmp_path / "a.fits"
    primary = fits.PrimaryHDU()
    primary.header.update({"OBSTYPE": "bias", "EXPTIME": 30.5, "FILTER": "r"})
    primary.header.add_history("made by the camera")
    image = fits.CompImageHDU(IMAGE)
    image.header["FILTER"] = "g"
    fits.HDUList([primary, image, fits.ImageHDU(IMAGE, name="LAST")]).writeto(source)
    content = source.read_bytes()
    content = content.replace(
        b"ZTENSION= 'IMAGE   '          ", b"ZSIMPLE =                    T", 1
    )
    source.write_bytes(content)
    with (
        tf.open(source) as file,
        pytest.warns(tf.TachyfitsWarning, match="another value are left out: FILTER"),
    ):
        tf.write(out, restored_hdus(file))
    with fits.open(out) as file:
        assert [hdu.name for hdu in file] == ["PRIMARY", "LAST"]
        header = file[0].header
        assert np.array_equal(file[0].data, IMAGE)
    assert (header["OBSTYPE"], header["EXPTIME"], header["FILTER"]) == ("bias", 30.5, "g")
    assert list(header["HISTORY"]) == ["made by the camera"]


@pytest.mark.parametrize("way", ["list", "compress", "decompress", "array"])
def test_inherit_stays_in_extensions(way: str, tmp_path: Path) -> None:
    source, out = tmp_path / "a.fits", tmp_path / "b.fits"
    image = fits.ImageHDU(IMAGE, name="SCI")
    image.header["INHERIT"] = True
    if way == "decompress":
        image = fits.CompImageHDU(IMAGE, image.header)
    fits.HDUList([fits.PrimaryHDU(), image]).writeto(source)
    with tf.open(source) as file:
        if way == "list":
            tf.write(out, list(file))
        elif way == "array":
            tf.write(out, [None, (IMAGE, file[1].header)])
        else:
            command(way, source, "-o", out)
        assert cards_of(out, 1)["INHERIT"] is True
        # A primary array has nothing to inherit from.
        tf.write(out, [file[1]], overwrite=True)
        assert "INHERIT" not in cards_of(out)
        tf.write(out, [(IMAGE, file[1].header)], overwrite=True)
        assert "INHERIT" not in cards_of(out)


TABLE_CARDS: dict[str, Any] = {
    "ZFORM1": "1D", "ZFORM2": "1J", "ZCTYP1": "GZIP_1", "ZCTYP2": "RICE_1", "ZTILELEN": 5,
    "ZNAXIS1": 3, "ZNAXIS2": 7, "ZPCOUNT": 5, "ZTHEAP": 100, "ZTABLE": False,
    "ZIMAGE": False, "ZCMPTYPE": "RICE_1", "ZTILE1": 4,
}  # fmt: skip


@pytest.mark.parametrize("keyword", TABLE_CARDS)
def test_tables_with_cards_of_compressed_ones_are_compressed(keyword: str, tmp_path: Path) -> None:
    path, packed, back = tmp_path / "t.fits", tmp_path / "t.fits.fz", tmp_path / "b.fits"
    columns = [
        fits.Column("A", "J", array=np.arange(2000)),
        fits.Column("B", "D", array=np.linspace(0, 1, 2000)),
    ]
    table = fits.BinTableHDU.from_columns(columns)
    table.header[keyword] = TABLE_CARDS[keyword]
    fits.HDUList([fits.PrimaryHDU(), table]).writeto(path)
    with tf.open(path) as file:
        tf.write(packed, list(file), compress=tf.Compression(tables=True, table_rows=300))
        # A plain copy has the card that the table had.
        tf.write(tmp_path / "copy.fits", list(file))
    assert cards_of(tmp_path / "copy.fits", 1)[keyword] == TABLE_CARDS[keyword]
    command("decompress", packed, "-o", back)
    for one in (packed, back):
        with tf.open(one) as file:
            found = file[1].read()
        assert np.array_equal(found["A"], np.arange(2000))
        assert np.array_equal(found["B"], np.linspace(0, 1, 2000))


IMAGE_CARDS: dict[str, Any] = {
    "ZIMAGE": True, "ZTABLE": True, "ZCMPTYPE": "GZIP_1", "ZBITPIX": 8, "ZNAXIS": 1, "ZNAXIS1": 3,
    "ZTILE1": 7, "ZNAME1": "BLOCKSIZE", "ZVAL1": 16, "ZQUANTIZ": "NO_DITHER", "ZBLANK": 4,
    "ZSCALE": 2.0, "ZZERO": 1.0, "ZSIMPLE": True, "ZTENSION": "IMAGE", "ZMASKCMP": "RICE_1",
}  # fmt: skip


@pytest.mark.parametrize("keyword", IMAGE_CARDS)
def test_images_with_cards_of_compressed_ones_are_compressed(keyword: str, tmp_path: Path) -> None:
    path, packed, back = tmp_path / "i.fits", tmp_path / "i.fits.fz", tmp_path / "b.fits"
    image = fits.ImageHDU(IMAGE)
    image.header[keyword] = IMAGE_CARDS[keyword]
    image.header["OBJECT"] = "M 31"
    fits.HDUList([fits.PrimaryHDU(), image]).writeto(path)
    command("compress", path, "-o", packed)
    command("decompress", packed, "-o", back)
    for one in (packed, back):
        with tf.open(one) as file:
            assert np.array_equal(file[1][:], IMAGE)
            assert file[1].header["OBJECT"] == "M 31"
    with fits.open(packed) as file:
        assert np.array_equal(file[1].data, IMAGE)


def test_columns_with_a_header_of_a_compressed_hdu_are_a_plain_table(tmp_path: Path) -> None:
    for claim in ("ZIMAGE", "ZTABLE"):
        header = {claim: True, "ZCMPTYPE": "RICE_1", "ZTILELEN": 5, "ZFORM1": "1J", "OBJECT": "x"}
        tf.write(tmp_path / "t.fits", {"A": [1, 2, 3]}, header, overwrite=True)
        found = cards_of(tmp_path / "t.fits", 1)
        assert found["OBJECT"] == "x"
        assert not {claim, "ZCMPTYPE", "ZTILELEN", "ZFORM1"} & set(found)
        assert tf.open(tmp_path / "t.fits")[1]["A"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("keyword", "value"),
    [("TNULL1", 1.6e38), ("TNULL1", "none"), ("TSCAL1", "1"), ("TZERO1", "x"), ("TDIM1", "(9)")],
)
def test_odd_cards_of_columns_are_about_the_original_table(
    keyword: str, value: Any, tmp_path: Path
) -> None:
    source, packed, back = tmp_path / "a.fits", tmp_path / "a.fits.fz", tmp_path / "b.fits"
    columns = [
        fits.Column("FLUX", "E", array=np.arange(3000, dtype="f4")),
        fits.Column("N", "J", array=np.arange(3000)),
    ]
    table = fits.BinTableHDU.from_columns(columns)
    table.header[keyword] = value
    table.writeto(source, output_verify="ignore")
    try:
        expected = tf.open(source)[1].read()["FLUX"]
    except tf.TachyfitsError:
        pytest.skip("the plain table cannot be read")
    command("compress", source, "-o", packed, "--tables")
    command("decompress", packed, "-o", back)
    for path in (packed, back):
        with tf.open(path) as file:
            assert np.array_equal(file[1].read()["FLUX"], expected)
            assert file[1].header[keyword] == value
    with tf.open(packed, decompress_tiles=False) as file:
        assert len(file[1].read()["FLUX"]) == len(file[1])


def bytes_of(path: Path) -> bytes:
    with tf.open(path) as file:
        table = file[1]
        start = table.data_offset
        return path.read_bytes()[start : start + table.row_bytes * len(table)]


WAYS = ["table", "list", "columns", "rows", "where", "pair", "command"]


@pytest.mark.parametrize("way", WAYS)
def test_bytes_beyond_the_dimensions_of_a_cell_are_copied(way: str, tmp_path: Path) -> None:
    source, out = tmp_path / "a.fits", tmp_path / "b.fits"
    columns = [
        fits.Column("z", "E", array=np.arange(3, dtype="f4")),
        fits.Column("kind", "16A", array=["          GALAXY", "             QSO", "  STAR"]),
        fits.Column("n", "8J", array=np.arange(24).reshape(3, 8)),
        fits.Column("x", "11X", array=np.ones((3, 11), bool)),
    ]
    table = fits.BinTableHDU.from_columns(columns)
    table.header["TDIM2"], table.header["TDIM3"] = "(1)", "(2,3)"
    table.writeto(source)
    with tf.open(source) as file:
        if way == "table":
            file[1].write(out)
        elif way == "list":
            tf.write(out, list(file))
        elif way == "columns":
            tf.write(out, file[1], columns=["z", "kind", "n", "x"])
        elif way == "rows":
            file[1].write(out, rows=[0, 1, 2])
        elif way == "where":
            file[1].write(out, where="z >= 0")
        elif way == "pair":
            tf.write(out, [None, (file[1], {"OBJECT": "M 31"})])
        else:
            command("compress", source, "-o", tmp_path / "c.fits", "--tables")
            command("decompress", tmp_path / "c.fits", "-o", out)
    assert bytes_of(out) == bytes_of(source)


def test_whole_tables_keep_their_heap_and_bytes_of_no_column(tmp_path: Path) -> None:
    cells = np.empty(2, object)
    cells[:] = [np.arange(3), np.arange(5)]
    table = fits.BinTableHDU.from_columns([fits.Column("A", "PJ()", array=cells)])
    source, out = tmp_path / "a.fits", tmp_path / "b.fits"
    table.writeto(source)
    content = source.read_bytes().replace(
        b"PCOUNT  =                   32", b"PCOUNT  =                   40"
    )
    source.write_bytes(content)
    with tf.open(source) as file:
        start, count = file[1].data_offset, file[1].data_bytes
        content = content[: start + count - 8] + b"leftover" + content[start + count :]
        source.write_bytes(content)
    with tf.open(source) as file:
        tf.write(out, list(file))
    with tf.open(out) as file:
        at = file[1].data_offset
        assert out.read_bytes()[at : at + count] == content[start : start + count]
