"""A store of Zarr over FITS images gives the values of the engine."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from astropy.io import fits
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype

import tachyfits as tf
from test_units import beams_cube, cube

pytestmark = pytest.mark.once


def written(path: Path, values: Any, **cards: Any) -> tf.Image:
    hdu = fits.PrimaryHDU(values)
    hdu.header.update(cards)
    hdu.writeto(path)
    return tf.open(path).image()


@pytest.mark.parametrize("kind", ["u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"])
@pytest.mark.parametrize("chunks", [None, (1, 64, 64), (2, 70, 7)])
def test_every_type_has_its_values(kind: str, chunks: Any, tmp_path: Path) -> None:
    values = np.random.default_rng(1).integers(0, 100, (3, 100, 70)).astype(kind)
    image = written(tmp_path / "a.fits", values)
    array: Any = zarr.open_group(tf.zarr.Store(image, chunks=chunks), mode="r")["data"]
    assert array.dtype == values.dtype
    np.testing.assert_array_equal(array[...], values)
    np.testing.assert_array_equal(array[1, 63:66, 60:], values[1, 63:66, 60:])


def test_scaled_blank_and_compressed_pixels(tmp_path: Path) -> None:
    values = np.arange(7000, dtype="i2").reshape(100, 70)
    image = written(tmp_path / "a.fits", values, BSCALE=2.0, BZERO=10.0, BLANK=5)
    image.write(tmp_path / "b.fits", compress="GZIP_1")
    noise = np.random.default_rng(1).normal(size=(90, 80)).astype("f4")
    fits.CompImageHDU(noise, tile_shape=(32, 32)).writeto(tmp_path / "c.fits")
    for name in ("a.fits", "b.fits", "c.fits"):
        image = tf.open(tmp_path / name).image()
        array: Any = zarr.open_group(tf.zarr.Store(image), mode="r")["data"]
        np.testing.assert_array_equal(array[...], image.read())
    assert array.chunks == (96, 80) or array.chunks == (90, 80)


def test_xarray_opens_it_and_goes_back(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    dataset = xr.open_zarr(tf.zarr.Store(image))
    assert {"data", "freq", "y", "x"} <= set(dataset.variables)
    np.testing.assert_array_equal(dataset["data"].values, image.read())
    back = tf.Image.from_xarray(dataset["data"].isel(freq=slice(1, 3)))
    np.testing.assert_array_equal(back.read(), image[1:3])
    axes = back.world_axis("z").values, image.world_axis("z").values[1:3]
    np.testing.assert_allclose(*axes, rtol=1e-12)


def test_a_file_has_a_group_for_each_image(tmp_path: Path) -> None:
    images = [fits.ImageHDU(np.full((4, 5), n, "i2"), name="SCI", ver=n) for n in (1, 2)]
    fits.HDUList([fits.PrimaryHDU(), *images]).writeto(tmp_path / "a.fits")
    store = tf.zarr.Store(tmp_path / "a.fits")
    root = zarr.open_group(store, mode="r")
    assert sorted(root.group_keys()) == ["SCI", "SCI_2"]
    assert int(root["SCI_2/data"][0, 0]) == 2  # type: ignore[index]
    assert xr.open_zarr(store, group="SCI_2")["data"].shape == (4, 5)


def test_keys_are_listed_and_ranges_read(tmp_path: Path) -> None:
    image = written(tmp_path / "a.fits", np.arange(12.0).reshape(3, 4))
    store = tf.zarr.Store(image, chunks=(2, 4))

    async def ask() -> None:
        keys = [key async for key in store.list()]
        assert keys.count("zarr.json") == 1
        assert {"data/c/0/0", "data/c/1/0", "x/c/0", "data/zarr.json"} <= set(keys)
        assert [name async for name in store.list_dir("data/c")] == ["0", "1"]
        assert [name async for name in store.list_dir("data/c/1")] == ["0"]
        assert {name async for name in store.list_dir("data")} == {"zarr.json", "c"}
        assert {name async for name in store.list_dir("")} == {"zarr.json", "data", "x", "y"}
        assert {key async for key in store.list_prefix("x/")} == {"x/zarr.json", "x/c/0"}
        whole = await store.get("data/c/1/0")
        assert whole is not None
        content = whole.to_bytes()
        assert np.frombuffer(content)[:5].tolist()[:4] == [8.0, 9.0, 10.0, 11.0]
        assert np.isnan(np.frombuffer(content)[4:]).all(), "beyond the edge"
        assert await store.getsize("data/c/1/0") == len(content)
        requests = [RangeByteRequest(3, 9), OffsetByteRequest(60), SuffixByteRequest(5)]
        parts = await store.get_partial_values(
            default_buffer_prototype(), [("data/c/1/0", request) for request in requests]
        )
        assert [part and part.to_bytes() for part in parts] == [
            content[3:9], content[60:], content[-5:],
        ]  # fmt: skip
        for key in ("data/c/2/0", "data/c/0", "data/c/-1/0", "data/c/0/0/0", "other", "data/c/²/0"):
            assert not await store.exists(key)
            assert await store.get(key) is None
        with pytest.raises(tf.UsageError, match="only read"):
            await store.delete("data/c/0/0")

    asyncio.run(ask())


def test_it_pickles_and_refuses_what_it_cannot(tmp_path: Path) -> None:
    image = written(tmp_path / "a.fits", np.ones((3, 4), "f4"))
    again = pickle.loads(pickle.dumps(tf.zarr.Store(image, chunks=(1, 4))))
    assert zarr.open_group(again, mode="r")["data"].chunks == (1, 4)  # type: ignore[union-attr]
    for chunks in ((1,), (0, 4), (1.5, 4), "ab"):
        with pytest.raises(tf.UsageError, match="invalid chunks"):
            tf.zarr.Store(image, chunks=chunks)  # type: ignore[arg-type]
    with pytest.raises((ValueError, PermissionError)):
        zarr.open_group(tf.zarr.Store(image), mode="r+").create_array("b", shape=(1,), dtype="f4")
    fits.PrimaryHDU().writeto(tmp_path / "b.fits")
    with pytest.raises(tf.UsageError, match="no HDU has pixels"):
        tf.zarr.Store(tmp_path / "b.fits")


def test_a_huge_image_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.fits"
    header = fits.PrimaryHDU(np.zeros((1, 1), "f4")).header
    header["NAXIS1"] = header["NAXIS2"] = 150_000
    text = header.tostring().encode()
    with path.open("wb") as file:
        file.write(text)
        file.truncate(len(text) + -(-(150_000**2) * 4 // 2880) * 2880)
    array: Any = zarr.open_group(tf.zarr.Store(path), mode="r")["PRIMARY/data"]
    assert array.nbytes > 8e10
    assert array[149_999, 149_990:].tolist() == [0.0] * 10


def test_beams_of_planes_are_left_out_with_a_warning(tmp_path: Path) -> None:
    image = beams_cube(tmp_path / "a.fits")
    with pytest.warns(tf.TachyfitsWarning, match="table BEAMS"):
        tf.zarr.Store(image)
