"""`Editor.append` and `insert` with compress=: tiles as `write` makes them, read by astropy too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

FLOATS = np.random.default_rng(3).normal(size=(40, 50)).astype("f4")
CARDS = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "BUNIT": "K"}


def edited(path: Path, data: Any, **options: Any) -> tf.File:
    tf.write(path, np.zeros((2, 3)), overwrite=True)
    with tf.edit(path) as editor:
        editor.append(data, name="NEW", **options)
    assert tf.verify(path).ok
    return tf.open(path)


@pytest.mark.parametrize("codec", ["gzip", "gzip1", "rice", "hcompress", "none"])
def test_arrays_and_images_are_compressed(tmp_path: Path, codec: str) -> None:
    whole = (FLOATS * 1000).astype("i4")
    tf.write(tmp_path / "source.fits", whole, CARDS)
    source = tf.open(tmp_path / "source.fits")[0]
    for data, options in ((whole, {"header": CARDS}), (source, {}), (source.cutout(), {})):
        hdu = edited(tmp_path / "e.fits", data, compress=codec, **options)["NEW"]
        expected = {"gzip": "GZIP_2", "gzip1": "GZIP_1", "none": "NOCOMPRESS"}
        algorithm = expected.get(codec) or {"rice": "RICE_1", "hcompress": "HCOMPRESS_1"}[codec]
        assert hdu.compression is not None
        assert hdu.compression.algorithm == algorithm
        np.testing.assert_array_equal(hdu.read(), whole)
        assert (hdu.header["BUNIT"], hdu.header["CTYPE1"]) == ("K", "RA---TAN")
        if codec != "none":
            np.testing.assert_array_equal(fits.getdata(tmp_path / "e.fits", "NEW"), whole)


def test_a_rounded_image_warns_of_its_largest_error(tmp_path: Path) -> None:
    with pytest.warns(tf.TachyfitsWarning, match="values were rounded"):
        file = edited(tmp_path / "e.fits", FLOATS, compress="rice")
    assert np.abs(file["NEW"].read() - FLOATS).max() < 0.5


def test_tables_need_a_compression_of_tables(tmp_path: Path) -> None:
    table = {"A": np.arange(5000.0), "B": np.arange(5000)}
    how = tf.Compression(tables=True)
    file = edited(tmp_path / "e.fits", table, compress=how)
    np.testing.assert_array_equal(file["NEW"]["A"], table["A"])
    assert fits.getheader(tmp_path / "e.fits", 1)["ZTABLE"] is True
    tf.write(tmp_path / "t.fits", table)
    again = edited(tmp_path / "e.fits", tf.open(tmp_path / "t.fits")[1], compress=how)
    np.testing.assert_array_equal(again["NEW"]["B"], table["B"])
    with pytest.raises(tf.UsageError, match="for a table: expected a Compression"):
        edited(tmp_path / "e.fits", table, compress="rice")
    with pytest.raises(tf.UsageError, match="invalid codec"):
        edited(tmp_path / "e.fits", FLOATS, compress="zip")


def test_insert_before_others_keeps_their_order(tmp_path: Path) -> None:
    tf.write(tmp_path / "e.fits", [(np.zeros((2, 3)), None), (np.ones((3, 4)), None)])
    whole = (FLOATS * 10).astype("i2")
    with tf.edit(tmp_path / "e.fits") as editor:
        editor.insert(1, whole, name="MASK", compress="rice")
    with tf.open(tmp_path / "e.fits") as file:
        assert [hdu.shape for hdu in file] == [(2, 3), (40, 50), (3, 4)]
        np.testing.assert_array_equal(file["MASK"].read(), whole)
