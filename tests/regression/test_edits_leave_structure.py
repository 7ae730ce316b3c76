"""Edits of a header keep every card that the parser of this kind of HDU needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

IMAGE = np.arange(600, dtype="i2").reshape(20, 30)
FLOATS = np.linspace(0, 1, 600, dtype="f4").reshape(20, 30)


def _cards_of_tiles(path: Path) -> list[str]:
    structure = ("XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "TFIELDS", "TTYPE", "TFORM")
    header = fits.open(path, disable_image_compression=True)[1].header
    words = [key for key in header if key.startswith("Z") or key.startswith(structure)]
    return [key for key in words if key not in ("ZHECKSUM", "ZDATASUM")]


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return f"{value}X" if isinstance(value, str) else value + 1


@pytest.mark.parametrize("compress", ["rice", "gzip", "plio", "hcompress", "quantised"])
def test_cards_of_compressed_images_are_protected(tmp_path: Path, compress: str) -> None:
    path = tmp_path / "t.fits"
    if compress == "quantised":
        tf.write(path, FLOATS, compress="rice")
    else:
        tf.write(path, IMAGE, compress=compress)
    before = path.read_bytes()
    keywords = _cards_of_tiles(path)
    assert {"ZIMAGE", "ZNAXIS1", "ZTILE2", "ZCMPTYPE", "TTYPE1"} <= set(keywords)
    with tf.edit(path) as editor:
        header = editor[1].header
        for keyword in keywords:
            other = _other(header[keyword])
            for change, *given in (
                (header.__setitem__, keyword, other), (header.__setitem__, keyword.lower(), other),
                (header.__delitem__, keyword), (header.rename, keyword, "XYZ"),
            ):  # fmt: skip
                with pytest.raises(tf.UsageError, match=f"expected {keyword} unchanged"):
                    change(*given)
        for keyword in ("TSCAL1", "TZERO1", "TDIM1", "ZNAME9", "ZBLANK"):
            if keyword not in header:
                with pytest.raises(tf.UsageError, match=f"expected {keyword} unchanged"):
                    header[keyword] = 1
    assert path.read_bytes() == before
    with tf.edit(path) as editor:
        editor[1].header["OBJECT"] = "M 31"
        editor[1].header["BUNIT"] = "K"
        # The same value again changes nothing.
        editor[1].header["ZCMPTYPE"] = editor[1].header["ZCMPTYPE"]
    assert tf.open(path)[1].shape == IMAGE.shape


def test_cards_of_compressed_tables_are_protected(tmp_path: Path) -> None:
    path = tmp_path / "t.fits"
    columns = {"A": np.arange(5000, dtype="i4"), "B": np.zeros(5000)}
    tf.write(path, columns, compress=tf.Compression())
    keywords = [key for key in _cards_of_tiles(path) if not key.startswith("TTYPE")]
    assert {"ZTABLE", "ZTILELEN", "ZNAXIS2", "ZFORM1", "ZCTYP2", "ZPCOUNT"} <= set(keywords)
    with tf.edit(path) as editor:
        header = editor[1].header
        for keyword in keywords:
            with pytest.raises(tf.UsageError, match=f"expected {keyword} unchanged"):
                header[keyword] = _other(header[keyword])
            with pytest.raises(tf.UsageError, match=f"expected {keyword} unchanged"):
                del header[keyword]
        header["TTYPE1"] = "C"
        header["TUNIT2"] = "m"
    table = tf.open(path)[1]
    assert table.names == ("C", "B")
    assert np.array_equal(table["C"], columns["A"])


def test_a_plain_table_does_not_become_tiles(tmp_path: Path) -> None:
    path = tmp_path / "t.fits"
    tf.write(path, {"A": [1, 2]})
    with tf.edit(path) as editor:
        for keyword in ("ZIMAGE", "ZTABLE"):
            with pytest.raises(tf.UsageError, match=f"expected {keyword} unchanged"):
                editor[1].header[keyword] = True
        # Words that mean something of tiles alone are free here.
        editor[1].header["ZNAXIS1"] = 7
    assert tf.open(path)[1]["A"].tolist() == [1, 2]


@pytest.mark.parametrize("name", ["B", "b", "B  "])
def test_an_edit_gives_no_two_columns_one_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t.fits"
    tf.write(path, {"A": [1, 2], "B": [3, 4]})
    with tf.edit(path) as editor:
        for change in (
            lambda: editor[1].header.__setitem__("TTYPE1", name),
            lambda: editor[1].header.update({"TTYPE1": name}),
            lambda: editor[1].rename_column("A", name),
        ):
            with pytest.raises(tf.UsageError, match=r"name of its own|would duplicate"):
                change()
        editor[1].header["TTYPE1"] = "C"
    assert tf.open(path)[1].names == ("C", "B")


def test_names_that_are_shared_already_can_be_edited(tmp_path: Path) -> None:
    path = tmp_path / "t.fits"
    with pytest.warns(tf.TachyfitsWarning, match="unique name"):
        tf.write(path, {"A": [1, 2], "a": [3, 4], "C": [1, 2], "D": [1, 2]})
    with tf.edit(path) as editor:
        header = editor[1].header
        header["OBJECT"] = "x"
        for keyword, name in (("TTYPE4", "a"), ("TTYPE3", "D"), ("TTYPE4", "C")):
            with pytest.raises(tf.UsageError, match="name of its own"):
                header[keyword] = name
        # A name that is shared already may be another shared one.
        header["TTYPE2"] = "D"
        header["TTYPE2"] = "B"
        with pytest.raises(tf.UsageError, match="name of its own"):
            header["TTYPE2"] = "A"
    assert tf.open(path)[1].names == ("A", "B", "C", "D")


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("TDIM1", "(7)"), ("TDIM1", "what"), ("TNULL1", "x"), ("TSCAL1", "2"), ("TZERO1", "zero"),
        ("THEAP", 7),
    ],
)  # fmt: skip
def test_an_edit_does_not_make_a_table_unreadable(tmp_path: Path, keyword: str, value: Any) -> None:
    path = tmp_path / "t.fits"
    tf.write(path, {"A": np.arange(12, dtype="i4").reshape(3, 4)})
    with tf.edit(path) as editor:
        with pytest.raises(tf.UsageError, match=keyword):
            editor[1].header[keyword] = value
        editor[1].header["TDIM1"] = "(2,2)"
        editor[1].header["TNULL1"] = 5
        editor[1].header["TSCAL1"] = 2.0
    read = tf.open(path)[1]["A"]
    assert read.shape == (3, 2, 2)
    assert np.isnan(read[1, 0, 1])


@pytest.mark.parametrize(("keyword", "value"), [("BSCALE", "2"), ("BZERO", "x"), ("BLANK", "y")])
def test_an_edit_does_not_make_an_image_unreadable(
    tmp_path: Path, keyword: str, value: str
) -> None:
    path = tmp_path / "t.fits"
    tf.write(path, IMAGE)
    with tf.edit(path) as editor:
        with pytest.raises(tf.UsageError, match=keyword):
            editor[0].header[keyword] = value
        editor[0].header["BSCALE"] = 2.0
    assert np.array_equal(tf.open(path)[0][:], 2.0 * IMAGE)


def test_a_broken_header_can_be_repaired(tmp_path: Path) -> None:
    path = tmp_path / "t.fits"
    tf.write(path, {"A": np.arange(3, dtype="i4"), "B": [1.0, 2.0, 3.0]})
    content = path.read_bytes()
    at = content.index(b"TTYPE2")
    broken = b"TSCAL1  = 'two     '".ljust(80)
    path.write_bytes(content[: at + 160] + broken + content[at + 160 :].replace(b" " * 80, b"", 1))
    with pytest.raises(tf.FormatError):
        tf.open(path)[1].read()
    with tf.edit(path) as editor:
        editor[1].header["OBJECT"] = "still broken"
        editor[1].header["TSCAL1"] = 2.0
    assert tf.open(path)[1]["A"].tolist() == [0.0, 2.0, 4.0]
