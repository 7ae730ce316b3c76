"""Undefined pixels of compressed images: ZBLANK and BLANK, and floats that stay defined."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

PIXELS = np.array([[1, -99, 3, 4], [5, 6, -98, 8]], ">i4")
NAN = float("nan")


def tiles(path: Path, bitpix: int, cards: dict[str, Any], column: list[int] | None = None) -> Path:
    """Write an image of 4 x 2 pixels, a tile for each row, by hand."""
    streams = np.empty(2, object)
    streams[:] = [np.frombuffer(gzip.compress(row.tobytes()), "u1") for row in PIXELS]
    columns = [fits.Column("COMPRESSED_DATA", "1PB(60)", array=streams)]
    if bitpix < 0:
        columns += [fits.Column("ZSCALE", "1D", array=[1.0, 1.0])]
        columns += [fits.Column("ZZERO", "1D", array=[0.0, 0.0])]
        cards = {"ZQUANTIZ": "NO_DITHER", **cards}
    if column is not None:
        columns.append(fits.Column("ZBLANK", "1J", array=np.array(column)))
    table = fits.BinTableHDU.from_columns(columns)
    layout = {"ZNAXIS": 2, "ZNAXIS1": 4, "ZNAXIS2": 2, "ZTILE1": 4, "ZTILE2": 1}
    table.header.update(
        {"ZIMAGE": True, "ZBITPIX": bitpix, "ZCMPTYPE": "GZIP_1", **layout, **cards}
    )
    fits.HDUList([fits.PrimaryHDU(), table]).writeto(path, overwrite=True)
    return path


@pytest.mark.parametrize("bitpix", [32, -32])
@pytest.mark.parametrize(
    ("cards", "column", "undefined"),
    [
        ({"ZBLANK": -99}, None, [-99]),
        ({"BLANK": -99}, None, [-99]),
        ({}, [-99, -99], [-99]),
        ({}, [-99, -98], [-99, -98]),
        ({}, [7, -98], [-98]),
        ({"ZBLANK": -98}, [-99, -99], None),
        ({"BLANK": -98}, [-99, -99], None),
        ({"BLANK": -99, "ZBLANK": -98}, None, None),
        ({"ZBLANK": 1000}, None, []),
    ],
    ids=str,
)
def test_zblank_and_blank_stand_in_for_each_other(
    bitpix: int, cards: dict[str, Any], column: Any, undefined: Any, tmp_path: Path
) -> None:
    path = tiles(tmp_path / "t.fits", bitpix, cards, column)
    with tf.open(path) as file, fits.open(path) as theirs:
        found = np.asarray(file[1][:], "f8")
        assert np.array_equal(found, np.asarray(theirs[1].data, "f8"), equal_nan=True)
        assert file[1].stats().count == np.isfinite(found).sum()
        tf.write(tmp_path / "plain.fits", list(file))
    if undefined is not None:
        assert np.array_equal(np.isnan(found), np.isin(PIXELS, undefined))
    with tf.open(tmp_path / "plain.fits") as plain:
        assert np.array_equal(np.asarray(plain[1][:], "f8"), found, equal_nan=True)


def test_a_pixel_that_is_undefined_in_other_tiles_is_an_error(tmp_path: Path) -> None:
    path = tiles(tmp_path / "t.fits", 32, {}, [6, -98])
    with pytest.raises(tf.FormatError, match="one ZBLANK for all tiles") as error:
        tf.open(path)[1][:]
    assert "row 2" in str(error.value)


@pytest.mark.parametrize("seed", [0, 1, 10_000])
def test_any_seed_of_a_dither_is_read_as_astropy_reads_it(seed: int, tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).normal(0, 1, (4, 50)).astype("f4")
    path = tmp_path / "t.fits"
    hdu = fits.CompImageHDU(pixels, tile_shape=(1, 50), quantize_method=1, dither_seed=1)
    hdu.writeto(path)
    content = path.read_bytes()
    start = content.index(b"ZDITHER0=")
    path.write_bytes(content[: start + 10] + b"%20d" % seed + content[start + 30 :])
    with fits.open(path) as theirs:
        assert np.array_equal(tf.open(path)[1][:], np.array(theirs[1].data))


@pytest.mark.parametrize("codec", ["rice", "gzip", "none", "hcompress"])
@pytest.mark.parametrize(
    ("kind", "value", "step"), [("f8", 1e17, 0.5), ("f4", 1e21, 0.5), ("f8", 3e13, 1e-5)]
)
@pytest.mark.parametrize("undefined", [False, True])
def test_a_step_finer_than_the_digits_loses_no_pixel(
    kind: str, value: float, step: float, undefined: bool, codec: str, tmp_path: Path
) -> None:
    pixels = np.full((8, 8), value, kind)
    pixels[::2] *= 1 + 2 * np.finfo(kind).eps
    if undefined:
        pixels[:, 4:] = np.nan
    how = tf.Compression(codec, quantise=-step)
    tf.write(tmp_path / "t.fits", pixels, compress=how)
    found = tf.open(tmp_path / "t.fits")[1].read()
    assert np.array_equal(np.isnan(found), np.isnan(pixels))
    assert np.nanmax(np.abs(found - pixels)) <= step
    with fits.open(tmp_path / "t.fits") as theirs:
        assert np.array_equal(theirs[1].data, found, equal_nan=True)


@pytest.mark.parametrize("dither", [None, 1, 2])
def test_no_finite_pixel_becomes_undefined(dither: int | None, tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    for number, exponent in enumerate(range(-30, 31, 5)):
        pixels = random.normal(0, 1, (6, 40)) * 10.0**exponent
        pixels[1] += 10.0 ** (exponent + 9)
        pixels[2] += 10.0 ** (exponent + 16)
        pixels[3, ::3], pixels[4, 5:9], pixels[2, 7] = np.nan, 0.0, np.nan
        path = tmp_path / f"{number}.fits"
        how = tf.Compression("rice", tile="row", dither=dither, quantise=16)
        tf.write(path, pixels, compress=how)
        found = tf.open(path)[1].read()
        assert np.array_equal(np.isnan(found), np.isnan(pixels))
        assert np.array_equal(fits.getdata(path, 1), found, equal_nan=True)
