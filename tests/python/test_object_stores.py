"""Objects of stores on the loopback address: S3 by moto, Azure by Azurite."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
import xarray as xr
from astropy.io import fits

import tachyfits as tf

pytestmark = pytest.mark.once

#: The account of Azurite. Its documentation prints the key, which is public.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@pytest.fixture
def cube(tmp_path: Path) -> tf.Image:
    values = np.random.default_rng(2).normal(size=(9, 60, 50)).astype("f4")
    values[3, 4, 5] = np.nan
    fits.PrimaryHDU(values).writeto(tmp_path / "cube.fits")
    image: tf.Image = tf.open(tmp_path / "cube.fits")[0]
    return image


@dataclasses.dataclass
class Store:
    """A bucket or container of a store, and what puts a file into it."""

    url: str
    upload: Callable[[Path, str], object]


@pytest.fixture(params=["s3", "az"])
def store(request: pytest.FixtureRequest) -> Store:
    if request.param == "s3":
        bucket = request.getfixturevalue("bucket")
        return Store(f"s3://{bucket.name}", bucket.upload_file)
    container = request.getfixturevalue("container")

    def upload(path: Path, key: str) -> None:
        container.upload_blob(key, path.read_bytes(), overwrite=True)

    return Store(f"az://{container.container_name}", upload)


@pytest.fixture(scope="module")
def azurite() -> Iterator[str]:
    """The address of a store that speaks Azure's protocol, by Azurite."""
    program = Path(__file__).parents[1] / "services/node_modules/azurite/dist/src/blob/main.js"
    if not program.is_file():
        pytest.skip("LEFT OUT: Azurite is not installed (npm install in tests/services)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence"]
    options += ["--skipApiVersionCheck", "--silent", "--disableTelemetry"]
    with subprocess.Popen(["node", program, *options], stdout=subprocess.DEVNULL) as server:
        while server.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        assert server.poll() is None, "Azurite has ended"
        yield f"http://127.0.0.1:{port}/{ACCOUNT}"
        server.terminate()


@pytest.fixture
def container(azurite: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An empty container "survey", which the environment has the credentials of."""
    blobs = pytest.importorskip("azure.storage.blob", reason="LEFT OUT: azure-storage-blob")
    for name, value in {
        "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
        "AZURE_STORAGE_ACCOUNT_KEY": KEY,
        "AZURE_STORAGE_ENDPOINT": azurite,
        "AZURE_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    survey = blobs.ContainerClient(azurite, "survey", credential=KEY)
    survey.create_container()
    yield survey
    survey.delete_container()


def put(store: Store, image: tf.Image, key: str) -> str:
    assert image.file.path is not None
    store.upload(Path(image.file.path), key)
    return f"{store.url}/{key}"


def test_a_cube_of_a_bucket_is_measured(store: Store, cube: tf.Image) -> None:
    remote = tf.open(put(store, cube, "deep field/m31+.fits"))[0]
    assert remote.file.version
    assert repr(remote.stats()) == repr(cube.stats())
    np.testing.assert_array_equal(remote[2:5, 7, ::3], cube[2:5, 7, ::3])
    np.testing.assert_array_equal(remote.median(axis="z"), cube.median(axis="z"))


def test_compressed_tiles_of_a_bucket_are_decoded(
    store: Store, cube: tf.Image, tmp_path: Path
) -> None:
    cube.write(tmp_path / "packed.fits", compress="RICE_1")
    local = tf.open(tmp_path / "packed.fits").image()
    remote = tf.open(put(store, local, "packed.fits")).image()
    np.testing.assert_array_equal(remote[3, 5:20], local[3, 5:20])


def test_a_missing_object_and_a_wrong_bucket_are_named(store: Store) -> None:
    missing = f"{store.url}/none.fits"
    with pytest.raises(tf.IoError, match=re.escape(missing)) as caught:
        tf.open(missing)
    assert isinstance(caught.value, FileNotFoundError)
    elsewhere = f"{store.url[:5]}no-such-bucket/a.fits"
    with pytest.raises(tf.IoError, match=re.escape(elsewhere)) as refused:
        tf.open(elsewhere)
    message = str(caught.value) + str(refused.value)
    assert "secret-word" not in message
    assert KEY not in message


def test_objects_of_a_store_are_listed(store: Store, cube: tf.Image) -> None:
    url = put(store, cube, "deep field/m31+.fits")
    folder = f"{store.url}/deep field"
    (entry,) = tf.remote_entries(f"{folder}/")
    assert (entry.url, entry.name, entry.is_folder) == (url, "m31+.fits", False)
    assert entry.size == Path(str(cube.file.path)).stat().st_size
    assert [entry.url for entry in tf.remote_entries(f"{store.url}/")] == [folder]


def test_an_object_that_was_replaced_is_an_error(store: Store, cube: tf.Image) -> None:
    remote = tf.open(put(store, cube, "cube.fits"))[0]
    array = remote.to_dask((3, 60, 50))
    (cube * 2).write(Path(str(cube.file.path)).with_name("other.fits"))
    other = tf.open(Path(str(cube.file.path)).with_name("other.fits"))[0]
    put(store, other, "cube.fits")
    with pytest.raises(tf.IoError, match="changed"):
        remote.read()
    with dask.config.set(scheduler="processes", num_workers=1), pytest.raises(tf.IoError):
        array.compute()


def test_workers_read_the_bucket_themselves(store: Store, cube: tf.Image) -> None:
    url = put(store, cube, "cube.fits")
    remote = tf.open(url)[0]
    with dask.config.set(scheduler="processes", num_workers=2):
        np.testing.assert_array_equal(remote.to_dask((4, 60, 50)).compute(), cube.read())
    moment = tf.distributed.collapse(remote, "mean", client="processes", chunk="20 kB")
    np.testing.assert_array_equal(moment.values, cube.collapse("mean").values)
    with xr.open_dataset(url, engine="tachyfits") as dataset:
        np.testing.assert_array_equal(dataset["data"][1, 2:9].values, cube[1, 2:9])
