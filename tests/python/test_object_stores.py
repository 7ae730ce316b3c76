"""Objects of stores that speak the protocols of clouds: S3 by moto, on the loopback address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
import xarray as xr
from astropy.io import fits

import tachyfits as tf

pytestmark = pytest.mark.once


@pytest.fixture
def cube(tmp_path: Path) -> tf.Image:
    values = np.random.default_rng(2).normal(size=(9, 60, 50)).astype("f4")
    values[3, 4, 5] = np.nan
    fits.PrimaryHDU(values).writeto(tmp_path / "cube.fits")
    image: tf.Image = tf.open(tmp_path / "cube.fits")[0]
    return image


def put(bucket: Any, image: tf.Image, key: str) -> str:
    assert image.file.path is not None
    bucket.upload_file(image.file.path, key)
    return f"s3://{bucket.name}/{key}"


def test_a_cube_of_a_bucket_is_measured(bucket: Any, cube: tf.Image) -> None:
    remote = tf.open(put(bucket, cube, "deep field/m31+.fits"))[0]
    assert remote.file.version
    assert repr(remote.stats()) == repr(cube.stats())
    np.testing.assert_array_equal(remote[2:5, 7, ::3], cube[2:5, 7, ::3])
    np.testing.assert_array_equal(remote.median(axis="z"), cube.median(axis="z"))


def test_compressed_tiles_of_a_bucket_are_decoded(
    bucket: Any, cube: tf.Image, tmp_path: Path
) -> None:
    cube.write(tmp_path / "packed.fits", compress="RICE_1")
    local = tf.open(tmp_path / "packed.fits").image()
    remote = tf.open(put(bucket, local, "packed.fits")).image()
    np.testing.assert_array_equal(remote[3, 5:20], local[3, 5:20])


def test_a_missing_object_and_a_wrong_bucket_are_named(bucket: Any) -> None:
    with pytest.raises(tf.IoError, match=r"s3://survey/none\.fits") as caught:
        tf.open("s3://survey/none.fits")
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(tf.IoError, match=r"s3://no-such-bucket/a\.fits") as refused:
        tf.open("s3://no-such-bucket/a.fits")
    assert "secret-word" not in str(caught.value) + str(refused.value)


def test_an_object_that_was_replaced_is_an_error(bucket: Any, cube: tf.Image) -> None:
    remote = tf.open(put(bucket, cube, "cube.fits"))[0]
    array = remote.to_dask((3, 60, 50))
    (cube * 2).write(Path(str(cube.file.path)).with_name("other.fits"))
    other = tf.open(Path(str(cube.file.path)).with_name("other.fits"))[0]
    put(bucket, other, "cube.fits")
    with pytest.raises(tf.IoError, match="changed"):
        remote.read()
    with dask.config.set(scheduler="processes", num_workers=1), pytest.raises(tf.IoError):
        array.compute()


def test_workers_read_the_bucket_themselves(bucket: Any, cube: tf.Image) -> None:
    url = put(bucket, cube, "cube.fits")
    remote = tf.open(url)[0]
    with dask.config.set(scheduler="processes", num_workers=2):
        np.testing.assert_array_equal(remote.to_dask((4, 60, 50)).compute(), cube.read())
    moment = tf.distributed.collapse(remote, "mean", client="processes", chunk="20 kB")
    np.testing.assert_array_equal(moment.values, cube.collapse("mean").values)
    with xr.open_dataset(url, engine="tachyfits") as dataset:
        np.testing.assert_array_equal(dataset["data"][1, 2:9].values, cube[1, 2:9])
