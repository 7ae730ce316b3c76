"""Random groups: their arrays are one image, whose first axis counts the groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from tachyfits.cli import run


def write_groups(path: Path, shape: tuple[int, ...] = (5, 2, 3), **cards: Any) -> np.ndarray:
    data = np.random.default_rng(6).normal(0, 1, shape).astype("f4")
    data[(1, *[0] * (len(shape) - 1))] = np.nan
    groups = fits.GroupData(
        data, bitpix=-32, parnames=["UU", "DATE", "DATE"],
        pardata=[np.arange(shape[0]), np.full(shape[0], 100.0), np.full(shape[0], 0.5)],
    )  # fmt: skip
    hdu = fits.GroupsHDU(groups)
    hdu.header.update(cards)
    fits.HDUList([hdu]).writeto(path, overwrite=True)
    return data


def test_arrays_are_read_like_any_image(tmp_path: Path) -> None:
    data = write_groups(tmp_path / "g.fits")
    for threads in (1, 2):
        file = tf.open(tmp_path / "g.fits", threads=threads)
        image = file[0]
        assert isinstance(image, tf.Image)
        assert (image.shape, image.dtype, image.kind) == ((5, 2, 3), np.float32, "random groups")
        np.testing.assert_array_equal(image.read(), data)
        np.testing.assert_array_equal(image[...], data)
        np.testing.assert_array_equal(image[1:4, ::-1, 2], data[1:4, ::-1, 2])
        np.testing.assert_array_equal(image[3], data[3])
        stats = image.stats()
        assert (stats.count, stats.nan) == (29, 1)
        assert stats.sum == pytest.approx(np.nansum(data, dtype="f8"))
        np.testing.assert_array_equal(image.max(axis=(1, 2)), np.nanmax(data, axis=(1, 2)))
        np.testing.assert_array_equal((image * 2)[2], 2 * data[2])
        parameters = image.group_parameters()
        assert parameters["UU"].tolist() == [0, 1, 2, 3, 4]
        assert parameters["DATE"].tolist() == [100.5] * 5


@pytest.mark.parametrize("shape", [(1, 4), (700, 3), (9, 2, 1, 5, 2)])
def test_any_number_of_axes_and_groups(tmp_path: Path, shape: tuple[int, ...]) -> None:
    data = np.arange(np.prod(shape), dtype="i2").reshape(shape)
    groups = fits.GroupData(data, bitpix=16, parnames=["UU"], pardata=[np.zeros(shape[0])])
    fits.HDUList([fits.GroupsHDU(groups)]).writeto(tmp_path / "g.fits")
    image = tf.open(tmp_path / "g.fits")[0]
    assert image.shape == shape
    np.testing.assert_array_equal(image.read(), data)
    assert int(image.sum()) == int(data.sum(dtype="i8"))


def test_pixels_are_scaled(tmp_path: Path) -> None:
    path = tmp_path / "scaled.fits"
    groups = fits.GroupData(np.arange(6, dtype="i2").reshape(2, 3), bitpix=16, parnames=["UU"],
                            pardata=[np.zeros(2)])  # fmt: skip
    hdu = fits.GroupsHDU(groups)
    fits.HDUList([hdu]).writeto(path)
    content = path.read_bytes()
    card = f"{'BSCALE':<8}= {0.5:>20}".ljust(80).encode()
    end = content.index(b"END".ljust(80))
    path.write_bytes(content[:end] + card + content[end : end + 80] + content[end + 160 :])
    image = tf.open(path)[0]
    np.testing.assert_array_equal(image.read(), np.arange(6).reshape(2, 3) * 0.5)


def test_coordinates_follow_the_axes(tmp_path: Path) -> None:
    cards = {"CTYPE2": "COMPLEX", "CTYPE3": "FREQ", "CRVAL3": 1.4e9, "CRPIX3": 1.0, "CDELT3": 1e6,
             "BUNIT": "JY"}  # fmt: skip
    write_groups(tmp_path / "g.fits", **cards)
    image = tf.open(tmp_path / "g.fits")[0]
    assert (image.header["CTYPE1"], image.header["CTYPE2"]) == ("COMPLEX", "FREQ")
    assert "PTYPE1" not in image.header
    assert image.unit == "JY"
    assert image.world_axis("y").values.tolist() == [1.4e9, 1.401e9]
    assert image.stored_header["CTYPE3"] == "FREQ"
    assert image.stored_header["GROUPS"] is True


def test_the_command_line_reads_them(tmp_path: Path, capsys: Any) -> None:
    data = write_groups(tmp_path / "g.fits")
    path = str(tmp_path / "g.fits")
    assert run(["stats", path, "--json"]) == 0
    assert '"count": 29' in capsys.readouterr().out
    assert run(["info", path]) == 0
    shown = capsys.readouterr().out
    assert "random groups" in shown
    assert "3 x 2 x 5" in shown
    assert run(["info", path, "--json"]) == 0
    json.loads(capsys.readouterr().out)
    assert run(["header", path]) == 0
    assert "PTYPE1" in capsys.readouterr().out
    out = str(tmp_path / "part.fits")
    assert run(["cutout", path, "--section", "[*,*,2:3]", "-o", out]) == 0
    np.testing.assert_array_equal(fits.getdata(out), data[1:3])


def test_groups_that_are_cut_short_are_an_error(tmp_path: Path) -> None:
    write_groups(tmp_path / "g.fits", (2000, 3, 4))
    whole = (tmp_path / "g.fits").read_bytes()
    (tmp_path / "short.fits").write_bytes(whole[: len(whole) // 2])
    image = tf.open(tmp_path / "short.fits")[0]
    assert np.isnan(image[1, 0, 0])
    with pytest.raises(tf.TachyfitsError):
        image.read()


SHAPES = [(40, 4), (300, 7), (9, 8, 12), (50, 3, 5), (7, 2, 6, 8), (3, 700, 11)]


@pytest.mark.parametrize("shape", SHAPES)
def test_smoothing_reaches_across_groups(tmp_path: Path, shape: tuple[int, ...]) -> None:
    # Boxes of whole rows are smoothed where they lie, but the parameters of groups divide them.
    from scipy import ndimage

    write_groups(tmp_path / "g.fits", shape)
    for threads in (1, 2):
        image = tf.open(tmp_path / "g.fits", threads=threads)[0]
        data = image.read().astype("f8")
        data[np.isnan(data)] = 0
        for axis in range(len(shape)):
            for every in (1, 2):
                smooth = image.smooth("boxcar", 3, axis=axis, every=every, blanks="zero", fill=True)
                expected = ndimage.correlate1d(data, np.ones(3) / 3, axis=axis, mode="nearest")
                kept = tuple(
                    slice(None, None, every if a == axis else 1) for a in range(len(shape))
                )
                np.testing.assert_allclose(smooth.read(), expected[kept], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_other_operations_reach_across_groups(tmp_path: Path, shape: tuple[int, ...]) -> None:
    write_groups(tmp_path / "g.fits", shape)
    image = tf.open(tmp_path / "g.fits")[0]
    data = image.read()
    axes = len(shape)
    order = tuple(reversed(range(axes)))
    np.testing.assert_array_equal(image.reorder(axes=order).read(), data.transpose(order))
    np.testing.assert_array_equal(tf.evaluate("a + b", a=image, b=image).read(), data + data)
    for axis in range(axes):
        factors = [2 if other == axis else 1 for other in range(axes)]
        whole = np.take(data, range(shape[axis] // 2 * 2), axis=axis).astype("f8")
        blocks = (*shape[:axis], shape[axis] // 2, 2, *shape[axis + 1 :])
        expected = np.nanmean(whole.reshape(blocks), axis=axis + 1)
        found = image.rebin(tuple(factors)).read()
        found = np.take(found, range(shape[axis] // 2), axis=axis)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
