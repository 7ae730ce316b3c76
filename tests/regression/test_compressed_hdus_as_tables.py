"""Tables of compressed tiles are copied unchanged, and say what they are."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from tachyfits.cli import run

PIXELS = np.arange(600, dtype="u2").reshape(3, 200) + 40000


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A file with a compressed image of unsigned integers, and one with BLANK."""
    blanks = fits.ImageHDU(np.array([[1, 2, -99, 4]] * 4, "i2"), name="BLANKS")
    blanks.header.update({"BLANK": -99, "DATAMIN": 1.0, "DATAMAX": 4.0})
    compressed = fits.CompImageHDU(blanks.data, blanks.header)
    compressed.header["BLANK"] = -99
    hdus = [fits.PrimaryHDU(), fits.CompImageHDU(PIXELS, name="SCI"), compressed]
    fits.HDUList(hdus).writeto(tmp_path / "image.fits")
    return tmp_path / "image.fits"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A file with a compressed table; as of P columns, no cell reaches the end of its heap."""
    rows = np.arange(50, dtype=">i2").tobytes()
    cell = np.empty(1, object)
    cell[0] = np.frombuffer(gzip.compress(rows, mtime=0), "u1")
    hdu = fits.BinTableHDU.from_columns([fits.Column("N", "1PB()", array=cell)], name="ROWS")
    for keyword, value in {
        "ZTABLE": True, "ZTILELEN": 50, "ZNAXIS1": 2, "ZNAXIS2": 50, "ZPCOUNT": 0,
        "ZFORM1": "1I", "ZCTYP1": "GZIP_1",
    }.items():  # fmt: skip
        hdu.header[keyword] = value
    path = tmp_path / "table.fits"
    hdu.writeto(path)
    content = bytearray(path.read_bytes())
    at = content.index(b"PCOUNT  =")
    heap = int(content[at + 10 : at + 30])
    content[at : at + 80] = f"PCOUNT  = {heap + 7:20d}".ljust(80).encode()
    with fits.open(path) as opened:
        data = opened[1].fileinfo()["datLoc"]
    content[data + 8 + heap : data + 8 + heap + 7] = b"reached"
    path.write_bytes(content)
    return path


def _copies(path: Path, folder: Path, which: list[int]) -> dict[str, tuple[Path, list[int]]]:
    """Return copies of HDUs of a file, made in every way, and where they are."""
    with tf.open(path, decompress_tiles=False) as file:
        for number in which:
            file[number].write(folder / f"own{number}.fits")
            tf.write(folder / f"table{number}.fits", file[number], checksum=True)
        tf.write(folder / "several.fits", [(None, None), *(file[number] for number in which)])
        tf.write(folder / "inserted.fits", np.zeros(3))
        with tf.edit(folder / "inserted.fits") as editor:
            for number in which:
                editor.insert(1, file[number])
        tf.write(folder / "appended.fits", np.zeros(3))
        with tf.edit(folder / "appended.fits") as editor:
            for number in which:
                editor.append(file[number])
    counted = list(range(1, len(which) + 1))
    several = {"several": counted, "inserted": counted[::-1], "appended": counted}
    return {name: (folder / f"{name}.fits", places) for name, places in several.items()}


def test_every_copy_of_a_compressed_image_has_its_pixels(image: Path, tmp_path: Path) -> None:
    for name, (copy, places) in _copies(image, tmp_path, [1, 2]).items():
        with fits.open(copy) as opened:
            np.testing.assert_array_equal(opened[places[0]].data, PIXELS, err_msg=name)
            assert opened[places[0]].data.dtype == np.uint16
        with fits.open(copy, disable_image_compression=True) as opened:
            header = opened[places[1]].header
            assert (header["BLANK"], header["DATAMIN"], header["DATAMAX"]) == (-99, 1.0, 4.0)
    for copy in ("own1.fits", "table1.fits"):
        np.testing.assert_array_equal(fits.getdata(tmp_path / copy), PIXELS)
    with tf.open(tmp_path / "table1.fits") as file:
        assert file[1].checksum().ok
        assert file[1].checksum().data == "right"


def test_a_list_of_all_hdus_is_a_copy_of_the_file(image: Path, tmp_path: Path) -> None:
    with fits.open(image, mode="append") as opened:
        opened[0].header["OBSERVER"] = "Hubble"
        opened.append(fits.ImageHDU(name="EMPTY"))
    fits.setval(image, "OBSERVER", value="Hubble")
    with tf.open(image) as file:
        tf.write(tmp_path / "copy.fits", list(file))
        names = [hdu.name for hdu in file]
    with tf.open(tmp_path / "copy.fits") as file:
        assert [hdu.name for hdu in file] == names
        assert file[0].header["OBSERVER"] == "Hubble"
    np.testing.assert_array_equal(fits.getdata(tmp_path / "copy.fits", "SCI"), PIXELS)


def test_command_cuts_a_compressed_image(image: Path, tmp_path: Path) -> None:
    assert (
        run(
            [
                "cutout",
                str(image),
                "--hdu",
                "SCI",
                "--section",
                "[1:9,1:2]",
                "-o",
                str(tmp_path / "copy.fits"),
            ]
        )
        == 0
    )
    np.testing.assert_array_equal(fits.getdata(tmp_path / "copy.fits"), PIXELS[:2, :9])


def test_columns_that_were_read_keep_the_scaling_of_pixels(image: Path, tmp_path: Path) -> None:
    with tf.open(image, decompress_tiles=False) as file:
        tf.write(tmp_path / "read.fits", file[1].read())
    np.testing.assert_array_equal(fits.getdata(tmp_path / "read.fits"), PIXELS)


def test_other_tables_lose_keywords_of_pixels(tmp_path: Path) -> None:
    tf.write(tmp_path / "a.fits", {"N": [1]}, header={"BZERO": 3.0, "BLANK": 2, "A": 1})
    header = fits.getheader(tmp_path / "a.fits", 1)
    assert ("BZERO" in header, "BLANK" in header, header["A"]) == (False, False, 1)


def test_copies_of_a_compressed_table_have_all_of_its_heap(table: Path, tmp_path: Path) -> None:
    def data(path: Path, hdu: int) -> bytes:
        with tf.open(path, decompress_tiles=False) as file:
            begin, length = file[hdu].data_offset, file[hdu].data_bytes
        return path.read_bytes()[begin : begin + length]

    original = data(table, 1)
    assert original.endswith(b"reached")
    for copy, (place,) in _copies(table, tmp_path, [1]).values():
        assert data(copy, place) == original
    for name in ("own1.fits", "table1.fits"):
        assert data(tmp_path / name, 1) == original
        with tf.open(tmp_path / name, decompress_tiles=False) as file:
            assert (file[1].header["ZNAXIS2"], file[1].header["ZFORM1"]) == (50, "1I")
            assert file[1].checksum().ok


@pytest.mark.parametrize(
    "options", [{"rows": slice(0, 2)}, {"rows": [2, 1, 0]}, {"where": "ROW < 2"}]
)
def test_parts_of_compressed_hdus_are_not_copied(
    image: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    with (
        tf.open(image, decompress_tiles=False) as file,
        pytest.raises(tf.UsageError, match="compressed image"),
    ):
        file[1].write(tmp_path / "part.fits", **options)
    assert not (tmp_path / "part.fits").exists()


def test_rows_of_compressed_hdus_are_not_edited(image: Path, table: Path) -> None:
    for path, kind in ((image, "image"), (table, "table")):
        before = path.read_bytes()
        with tf.edit(path) as editor:
            for change in (
                lambda hdu=editor[1]: hdu.delete(rows=[0]),
                lambda hdu=editor[1]: hdu.add_column("NEW", [1, 2, 3]),
                lambda hdu=editor[1]: hdu.delete_column(0),
            ):
                with pytest.raises(tf.UsageError, match=f"compressed {kind}"):
                    change()
        assert path.read_bytes() == before
        with tf.edit(path) as editor:
            editor[1].header["OBSERVER"] = "Hubble"
        assert fits.getheader(path, 1)["OBSERVER"] == "Hubble"


def test_compressed_hdus_say_that_they_are_compressed(image: Path, table: Path) -> None:
    with (
        tf.open(image, decompress_tiles=False) as file,
        tf.open(table, decompress_tiles=False) as other,
    ):
        packed, rows = file[1], other[1]
        assert "compressed image (RICE_1), (3, 200)" in repr(packed)
        assert "compressed table (GZIP_1), 50 rows, 1 column" in repr(rows)
        assert "decompress_tiles=False" in packed._repr_html_()
        assert "compressed image (RICE_1)  (3, 200)" in repr(file)
        assert "compressed table (GZIP_1)  50 rows, 1 column" in repr(other)
        for name in ("stats", "dtype", "mean", "pixels"):
            with pytest.raises(
                AttributeError, match=r"compressed image .*\nhint: .*decompress_tiles=False"
            ):
                getattr(packed, name)
            assert not hasattr(packed, name)
        for key in (..., slice(0, 2), (0, slice(None)), np.array([0, 1])):
            with pytest.raises(tf.UsageError, match="compressed image"):
                packed[key]


def test_rows_of_tiles_are_read_with_one_warning(image: Path, table: Path) -> None:
    for path in (image, table):
        for read in (
            lambda hdu: hdu.read(), lambda hdu: hdu[0], lambda hdu: hdu.where("ROW > 0"),
            lambda hdu: list(hdu.batches()), lambda hdu: hdu.to_astropy(),
        ):  # fmt: skip
            with (
                tf.open(path, decompress_tiles=False) as file,
                pytest.warns(tf.TachyfitsWarning, match="tiles") as seen,
            ):
                [read(file[1]) for _ in range(2)]
            assert len([each for each in seen if "tiles" in str(each.message)]) == 1
        with tf.open(path, decompress_tiles=False) as file, warnings.catch_warnings():
            warnings.simplefilter("error", tf.TachyfitsWarning)
            repr(file[1])
            file[1].write(path.with_name("copy.fits"), overwrite=True)


def test_info_names_compressed_tables(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(table)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "binary table compressed table" in said
    assert "(GZIP_1)" in said
    assert run(["info", str(table), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)["hdus"][1]
    found = answer["compression"]
    assert (found["content"], found["codec"]) == ("table", "GZIP_1")


@pytest.mark.parametrize("name", ["image", "table"])
def test_billions_of_claimed_columns_take_no_time(
    name: str, request: pytest.FixtureRequest
) -> None:
    content = bytearray(request.getfixturevalue(name).read_bytes())
    at = content.index(b"TFIELDS =")
    content[at + 10 : at + 30] = b"99999999999".rjust(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hdu = tf.open(bytes(content))[1]
    assert hdu.compression is not None
    assert hdu.compression.content == name
