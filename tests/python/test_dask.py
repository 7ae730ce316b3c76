"""Images and tables on dask and in xarray: chunks are reads of the engine, in any process."""

from __future__ import annotations

import gzip
import os
import pickle
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
import xarray as xr
from astropy.io import fits

import tachyfits as tf
from tachyfits.interop.dask_arrays import file_chunks
from test_units import cube

pytestmark = pytest.mark.once


@pytest.fixture
def scaled(tmp_path: Path) -> Path:
    """A cube of scaled integers with BLANK pixels."""
    path = tmp_path / "scaled.fits"
    values = np.random.default_rng(5).integers(-99, 99, (7, 30, 40)).astype("i2")
    hdu = fits.PrimaryHDU(values)
    hdu.header["BLANK"] = 7
    hdu.header["BSCALE"], hdu.header["BZERO"] = 0.5, 10.0
    hdu.writeto(path)
    return path


@pytest.mark.parametrize("chunks", ["auto", (2, 30, 40), (3, 7, 11), -1])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_chunks_have_the_bits_of_the_engine(scaled: Path, chunks: Any, scheduler: str) -> None:
    image = tf.open(scaled)[0]
    array = image.to_dask(chunks)
    assert (array.shape, array.dtype) == (image.shape, image.dtype)
    with dask.config.set(scheduler=scheduler):
        np.testing.assert_array_equal(array.compute(), image.read())
        np.testing.assert_array_equal(array[5:1:-2, 3, ::7].compute(), image[5:1:-2, 3, ::7])


@pytest.mark.parametrize("compress", ["RICE_1", "GZIP_2"])
def test_other_processes_open_the_file_themselves(scaled: Path, compress: str) -> None:
    path = scaled.with_name("packed.fits")
    tf.open(scaled)[0].write(path, compress=compress)
    image = tf.open(path).image()
    array = image.to_dask((2, 30, 40))
    with dask.config.set(scheduler="processes", num_workers=2):
        np.testing.assert_array_equal(array.compute(), image.read())
        computed = (image.select(channels=slice(1, 6)) * 2).to_dask((2, 30, 40))
        np.testing.assert_array_equal(computed.compute(), image[1:6] * 2)


def test_the_name_is_that_of_the_content(scaled: Path) -> None:
    image = tf.open(scaled)[0]
    name = image.to_dask().name
    assert tf.open(scaled)[0].to_dask().name == name
    assert image.to_dask((1, 30, 40)).name != name
    assert image.cutout(channels=slice(0, 2)).to_dask().name != name
    os.utime(scaled, ns=(1, 1))
    assert tf.open(scaled)[0].to_dask().name != name


def test_a_changed_file_is_an_error_in_other_processes(scaled: Path) -> None:
    recipe = pickle.dumps(tf.open(scaled)[0].to_dask())
    os.utime(scaled, ns=(1, 1))
    with pytest.raises(tf.IoError, match="expected the file that was pickled"):
        pickle.loads(recipe).compute(scheduler="synchronous")


def test_a_compressed_file_has_a_version_too(tmp_path: Path) -> None:
    path = tmp_path / "a.fits.gz"
    content = cube(tmp_path / "a.fits").file.path
    assert content is not None
    path.write_bytes(gzip.compress(Path(content).read_bytes()))
    file = tf.open(path)
    assert file.version
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(file[0])).read(), file[0].read())
    os.utime(path, ns=(1, 1))
    with pytest.raises(tf.IoError, match="io-changed"):
        pickle.loads(pickle.dumps(file))
    assert tf.open(Path(content).read_bytes()).version is None


def test_streams_stay_in_their_process(scaled: Path) -> None:
    with scaled.open("rb") as stream:
        content = stream.read()

        class Stream:
            def read(self, count: int = -1) -> bytes:
                nonlocal content
                part, content = content, b""
                return part

        image = tf.open(Stream())[0]
    array = image.to_dask((1, 30, 40))
    np.testing.assert_array_equal(array.compute(scheduler="threads"), image.read())
    with pytest.raises(tf.UsageError, match="cannot be pickled"):
        pickle.dumps(array)


def test_chunks_are_whole_rows_planes_or_tiles(scaled: Path) -> None:
    image = tf.open(scaled)[0]
    assert file_chunks(image, 8 * 40 * 12) == (1, 12, 40)
    assert file_chunks(image, 8 * 40 * 30 * 2) == (2, 30, 40)
    assert file_chunks(image, 1) == (1, 1, 40)
    path = scaled.with_name("tiled.fits")
    packed = fits.CompImageHDU(image.read().astype("f4"), tile_shape=(1, 8, 40))
    packed.writeto(path)
    assert file_chunks(tf.open(path).image(), 4 * 40 * 20) == (1, 16, 40)
    with dask.config.set({"array.chunk-size": "10 kB"}):
        assert image.to_dask().chunksize == (1, 30, 40)


def read_bytes() -> int:
    """Bytes that this process has read, where the system tells."""
    counts = Path("/proc/self/io")
    return int(counts.read_text().split()[1]) if counts.exists() else 0


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.fits"
    header = fits.PrimaryHDU(np.zeros((1, 1), "f4")).header
    header["NAXIS"], header["NAXIS1"], header["NAXIS2"] = 3, 8192, 8192
    header.set("NAXIS3", 400, after="NAXIS2")
    text = header.tostring().encode()
    path.write_bytes(text)
    os.truncate(path, len(text) + -(-8192 * 8192 * 400 * 4 // 2880) * 2880)
    image = tf.open(path)[0]
    image.to_dask()  # dask is imported
    before = read_bytes()
    array, dataset = image.to_dask(), xr.open_dataset(path, chunks={})
    assert array.nbytes == dataset["data"].nbytes > 1e11
    assert dataset["data"].chunks is not None
    assert read_bytes() - before < 1 << 20
    assert float(array[399, 8191, 8191].compute()) == 0.0


def test_tables_are_frames_of_dask(tmp_path: Path) -> None:
    magnitudes = fits.Column("MAG", "I", null=-1, array=[5, 7, -1, 2, 9])
    names = fits.Column("NAME", "8A", array=["a", "b", "c", "d", "e"])
    fits.BinTableHDU.from_columns([names, magnitudes]).writeto(tmp_path / "t.fits")
    table = tf.open(tmp_path / "t.fits")[1]
    frame = table.to_dask(rows=2)
    assert (frame.npartitions, frame.divisions) == (3, (0, 2, 4, 4))
    expected = table.to_pandas()
    with dask.config.set(scheduler="processes", num_workers=2):
        found = frame.compute()
    assert found.astype(object).equals(expected.astype(object))
    assert list(table.to_dask(["MAG"]).columns) == ["MAG"]
    assert len(table.to_dask(rows=100).compute()) == len(table)
    with pytest.raises(tf.UsageError, match="invalid rows 0"):
        table.to_dask(rows=0)


# xarray.


def test_open_dataset_finds_the_first_image(scaled: Path) -> None:
    with xr.open_dataset(scaled) as dataset:
        image = tf.open(scaled)[0]
        assert list(dataset.data_vars) == ["data"]
        np.testing.assert_array_equal(dataset["data"].values, image.read())
        part = dataset["data"].isel(x=[3, 1, 30], y=slice(20, 2, -3))
        expected = image.read()[:, 20:2:-3][..., [3, 1, 30]]
        np.testing.assert_array_equal(part.values, expected)
        assert dataset["data"].isel(x=slice(0, 0)).shape == (7, 30, 0)
        assert dataset["data"].encoding["preferred_chunks"]["x"] == 40


def test_coordinates_of_the_sky_are_computed_when_needed(tmp_path: Path) -> None:
    image = cube(tmp_path / "a.fits")
    array = image.to_xarray()
    assert {"ra", "dec"} <= set(array.coords)
    shape = array.ra.shape
    y, x = np.indices(shape)
    sky = image.wcs.celestial.pixel_to_world(x, y)
    np.testing.assert_allclose(array.ra.values, sky.ra.deg, rtol=1e-12)
    np.testing.assert_allclose(array.dec.values, sky.dec.deg, rtol=1e-12)
    near = array.sel(
        ra=xr.DataArray([sky.ra.deg[1, 2]], dims="star"),
        dec=xr.DataArray([sky.dec.deg[1, 2]], dims="star"),
        method="nearest",
    )
    np.testing.assert_array_equal(near.values[:, 0], image.read()[:, 1, 2])
    np.testing.assert_array_equal((array + array).values, 2 * image.read())
    again = pickle.loads(pickle.dumps(array))
    np.testing.assert_array_equal(again.ra.values, array.ra.values)


def test_xarray_round_trip_with_the_header(tmp_path: Path) -> None:
    cube(tmp_path / "a.fits")
    with xr.open_dataset(tmp_path / "a.fits", engine="tachyfits", chunks={}) as dataset:
        (name,) = dataset.data_vars
        dataset[name][1:3].tachyfits.write(tmp_path / "b.fits")
    source, written = tf.open(tmp_path / "a.fits")[0], tf.open(tmp_path / "b.fits")[0]
    np.testing.assert_array_equal(written.read(), source[1:3])
    assert written.unit == source.unit
    np.testing.assert_allclose(
        written.world_axis("z").values, source.world_axis("z").values[1:3], rtol=1e-12
    )


def test_open_datatree_has_every_hdu(tmp_path: Path) -> None:
    path = tmp_path / "mef.fits"
    images = [fits.ImageHDU(np.full((4, 5), n, "f4"), name="SCI", ver=n) for n in (1, 2)]
    rows = fits.BinTableHDU.from_columns(
        [
            fits.Column("A", "J", unit="mm", null=-1, array=[1, -1, 3]),
            fits.Column("B", "2E", array=np.arange(6.0).reshape(3, 2)),
            fits.Column("S", "4A", array=["x", "yy", "zzzz"]),
            fits.Column("L", "PJ()", array=np.array([[1], [1, 2], []], dtype=object)),
        ],
        name="ROWS",
    )
    fits.HDUList([fits.PrimaryHDU(), *images, fits.ImageHDU(np.ones(3)), rows]).writeto(path)
    with pytest.warns(tf.TachyfitsWarning, match="left out: L"):
        tree = xr.open_datatree(path, engine="tachyfits")
    assert sorted(tree.children) == ["ROWS", "SCI", "SCI_2", "hdu3"]
    assert float(tree["SCI_2/SCI"].mean()) == 2.0
    table = tree["ROWS"].to_dataset()
    np.testing.assert_array_equal(table["A"].values, [1.0, np.nan, 3.0])
    assert table["A"].attrs["units"] == "mm"
    np.testing.assert_array_equal(table["B"].isel(row=slice(1, 3), B_1=1).values, [3.0, 5.0])
    assert table["S"].values.tolist() == ["x", "yy", "zzzz"]
    tree.close()
    with pytest.warns(tf.TachyfitsWarning, match="left out: L"):
        dataset = xr.open_dataset(path, engine="tachyfits", hdu="ROWS", drop_variables="B")
    assert list(dataset.data_vars) == ["A", "S"]


def test_nulls_of_64_bit_integers_are_said(tmp_path: Path) -> None:
    column = fits.Column("ID", "K", null=-1, array=[2**53 + 1, -1])
    fits.BinTableHDU.from_columns([column]).writeto(tmp_path / "t.fits")
    with pytest.warns(tf.TachyfitsWarning, match=r"beyond 2\*\*53 of column ID are rounded"):
        dataset = xr.open_dataset(tmp_path / "t.fits", engine="tachyfits")
    np.testing.assert_array_equal(dataset["ID"].values, [2.0**53, np.nan])


def test_a_file_without_data_says_so(tmp_path: Path) -> None:
    fits.PrimaryHDU().writeto(tmp_path / "empty.fits")
    with pytest.raises(tf.UsageError, match="no HDU has data"):
        xr.open_dataset(tmp_path / "empty.fits")
