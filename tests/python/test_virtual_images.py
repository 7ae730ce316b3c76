"""References of VirtualiZarr to plain images give the values of the engine."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

pytest.importorskip("virtualizarr", reason="LEFT OUT: virtualizarr needs Python 3.11")

import xarray as xr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore

pytestmark = pytest.mark.once


def parsed(path: Path, hdu: int | None = 0) -> Any:
    registry: Any = ObjectStoreRegistry({"file://": LocalStore()})
    return tf.zarr.Parser(hdu)(path.as_uri(), registry)


def opened(path: Path, hdu: int | None = 0, group: str | None = None) -> Any:
    return xr.open_zarr(parsed(path, hdu), group=group, consolidated=False, zarr_format=3)["data"]


@pytest.mark.parametrize("kind", ["u1", "i1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"])
@pytest.mark.parametrize("shape", [(7,), (5, 6), (6, 5, 4), (2, 3, 4, 5)])
def test_values_are_those_of_the_engine(
    kind: str, shape: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tachyfits.interop.virtual_images.CHUNK_BYTES", 50)
    limits = (-100, 100) if kind[0] in "if" else (0, 200)
    values = np.random.default_rng(1).integers(*limits, shape).astype(kind)
    if kind[0] == "f":
        values.flat[3] = np.nan
    tf.write(tmp_path / "a.fits", values)
    array = opened(tmp_path / "a.fits")
    np.testing.assert_array_equal(array.values, tf.open(tmp_path / "a.fits")[0].read())
    assert all(n % chunk == 0 for n, chunk in zip(shape, array.encoding["chunks"], strict=True))


@pytest.mark.parametrize("kind", ["u1", "i2", "i4", "f4"])
def test_scaled_values_are_those_of_the_engine(kind: str, tmp_path: Path) -> None:
    hdu = fits.PrimaryHDU(np.arange(120, dtype=kind).reshape(4, 5, 6))
    hdu.header.update(BSCALE=2.0, BZERO=10.0)
    hdu.writeto(tmp_path / "a.fits")
    array = opened(tmp_path / "a.fits")
    np.testing.assert_array_equal(array.values, tf.open(tmp_path / "a.fits")[0].read())
    assert float(array[0, 0, 3]) == 16.0


def test_the_images_of_a_file_are_groups(tmp_path: Path) -> None:
    sky, error = np.arange(12.0).reshape(3, 4), np.ones((3, 4), "f4")
    hdus = [fits.PrimaryHDU(), fits.ImageHDU(sky, name="SCI"), fits.ImageHDU(error, name="ERR")]
    fits.HDUList(hdus).writeto(tmp_path / "a.fits")
    for name, values in {"SCI": sky, "ERR": error}.items():
        array = opened(tmp_path / "a.fits", None, name)
        np.testing.assert_array_equal(array.values, values)
        assert array.dims == ("y", "x")


def test_other_images_are_refused_with_the_way_to_read_them(tmp_path: Path) -> None:
    pixels = np.arange(600, dtype="i2").reshape(20, 30)
    fits.CompImageHDU(pixels).writeto(tmp_path / "compressed.fits")
    blank = fits.PrimaryHDU(pixels)
    blank.header["BLANK"] = 5
    blank.writeto(tmp_path / "blank.fits")
    tf.write(tmp_path / "long.fits", np.arange(4, dtype="u8"))
    (tmp_path / "whole.fits").write_bytes(gzip.compress((tmp_path / "blank.fits").read_bytes()))
    reasons = {
        "compressed.fits": (1, "the image is compressed"),
        "blank.fits": (0, "BLANK marks"),
        "long.fits": (0, "64 bits"),
        "whole.fits": (0, "the whole file is compressed"),
    }
    for name, (hdu, reason) in reasons.items():
        with pytest.raises(tf.UsageError, match=reason) as error:
            parsed(tmp_path / name, hdu)
        assert "tf.zarr.Store" in str(error.value)


def test_a_signed_url_is_refused_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(tf.UsageError, match="without a query") as error:
        tf.zarr.Parser()("https://example.org/a.fits?X-Amz-Signature=123456", None)
    assert "123456" not in str(error.value)
