"""The headers of remote files on the disk: what they save, and that nothing wrong comes of it."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tachyfits as tf
from rangeserver import Log, range_server

pytestmark = pytest.mark.once

COUNT = 60


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A file of 60 compressed images, and a cube."""
    folder = tmp_path_factory.mktemp("served")
    pixels = np.random.default_rng(3).normal(size=(COUNT, 400, 900)).astype("f4")
    images = [(pixels[n], {"EXTNAME": f"CHIP{n}"}) for n in range(COUNT)]
    tf.write(folder / "chips.fits", [(None, {"OBJECT": "M31"}), *images], compress="rice")
    tf.write(folder / "cube.fits", pixels)
    return {f"/{path.name}": path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = tf.options.index_cache
    tf.options.index_cache = tmp_path / "index"
    yield tmp_path / "index"
    tf.options.index_cache = before


@pytest.fixture
def server(contents: dict[str, bytes], folder: Path) -> Iterator[Log]:
    with range_server(dict(contents), delay=0.05) as log:
        yield log


def cutout(url: str) -> NDArray[Any]:
    with tf.open(url) as file:
        part: NDArray[Any] = file["CHIP46"][100:200, 100:200]
        return part


def test_opening_again_takes_one_short_request(server: Log, folder: Path) -> None:
    url = f"{server.url}/chips.fits"
    with tf.open(server.files["/chips.fits"]) as other:
        expected = other["CHIP46"][100:200, 100:200]
        headers = [str(hdu.header) for hdu in other]
    assert np.array_equal(cutout(url), expected)
    assert server.rounds <= 10
    assert server.sent < 5_000_000
    server.clear()
    assert np.array_equal(cutout(url), expected)
    assert server.rounds <= 2
    assert server.sent < 250_000
    server.clear()
    with tf.open(url) as file:
        assert [str(hdu.header) for hdu in file] == headers
    assert [count for _, _, count, _ in server.requests] == [1]
    assert len(list(folder.iterdir())) == 1


def test_a_file_that_has_changed_is_read_anew(server: Log, tmp_path: Path) -> None:
    url = f"{server.url}/chips.fits"
    cutout(url)
    tf.write(tmp_path / "new.fits", [None, (np.ones((9, 9)), {"EXTNAME": "NEW"})])
    server.files["/chips.fits"] = (tmp_path / "new.fits").read_bytes()
    for _ in range(2):
        with tf.open(url) as file:
            assert file["NEW"].sum() == 81


def test_files_without_a_version_are_not_kept(contents: dict[str, bytes], folder: Path) -> None:
    with range_server(dict(contents), tags=False) as server:
        for _ in range(2):
            with tf.open(f"{server.url}/chips.fits") as file:
                assert len(file) == COUNT + 1
            assert sum(count for _, _, count, _ in server.requests) > 500_000
            server.clear()
    assert not folder.exists()


def test_a_query_may_name_the_file(server: Log, folder: Path) -> None:
    cutout(f"{server.url}/chips.fits?version=2&X-Amz-Signature=12")
    assert not folder.exists()


def test_the_cache_has_no_secrets(server: Log, folder: Path) -> None:
    address = server.url.partition("://")[2]
    query = "X-Amz-Credential=AKIAEXAMPLE%2Fus&X-Amz-Signature=5ec5e7&X-Amz-Security-Token=t0ken5"
    url = f"http://user:passw0rd@{address}/chips.fits?{query}"
    cutout(url)
    server.clear()
    cutout(url)
    assert server.rounds <= 2
    names = [entry.name for entry in folder.iterdir()]
    content = b"".join(entry.read_bytes() for entry in folder.iterdir())
    assert b"/chips.fits" in content
    for secret in ("AKIAEXAMPLE", "5ec5e7", "t0ken5", "user:", "passw0rd", "X-Amz"):
        assert secret.encode() not in content
        assert not any(secret in name for name in names)
    assert folder.stat().st_mode & 0o077 == 0
    assert all(entry.stat().st_mode & 0o077 == 0 for entry in folder.iterdir())


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "longer", "other", "pipe", "folder"])
def test_damaged_files_of_the_cache_are_ignored(damage: str, server: Log, folder: Path) -> None:
    url = f"{server.url}/chips.fits"
    expected = cutout(url)
    [path] = folder.iterdir()
    whole = path.read_bytes()
    path.unlink()
    if damage == "pipe":
        os.mkfifo(path)
    elif damage == "folder":
        path.mkdir()
    else:
        half = len(whole) // 2
        content = {
            "empty": b"",
            "cut": whole[:half],
            "flipped": whole[:half] + bytes([whole[half] ^ 1]) + whole[half + 1 :],
            "longer": whole + b"\0",
            "other": b"tachyfits index1" + b"\xff" * 5000,
        }[damage]
        path.write_bytes(content)
    assert np.array_equal(cutout(url), expected)
    if damage not in ("pipe", "folder"):
        server.clear()
        assert np.array_equal(cutout(url), expected)
        assert server.rounds <= 2


def test_a_folder_that_cannot_be_written_is_no_error(server: Log, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    tf.options.index_cache = tmp_path / "file" / "index"
    assert cutout(f"{server.url}/chips.fits").shape == (100, 100)


def test_the_cache_is_moved_and_turned_off(server: Log, tmp_path: Path) -> None:
    url = f"{server.url}/chips.fits"
    tf.options.index_cache = None
    cutout(url)
    assert tf.options.index_cache is None
    assert list(tmp_path.iterdir()) == []
    program = "import tachyfits as tf; print(tf.options.index_cache)"
    for variables, expected in [
        ({"TACHYFITS_INDEX_CACHE": "off"}, "None"),
        ({"TACHYFITS_INDEX_CACHE": "/elsewhere"}, "/elsewhere"),
        ({"XDG_CACHE_HOME": "/caches"}, "/caches/tachyfits/index"),
    ]:
        environment = {
            name: value for name, value in os.environ.items() if name != "TACHYFITS_INDEX_CACHE"
        }
        command = [sys.executable, "-c", program]
        done = subprocess.run(
            command, env=environment | variables, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == expected


def _open_often(url: str, folder: str, results: Any) -> None:
    tf.options.index_cache = folder
    results.put([float(cutout(url).sum()) for _ in range(5)])


def test_processes_share_the_cache(contents: dict[str, bytes], folder: Path) -> None:
    with range_server(dict(contents)) as server:
        url = f"{server.url}/chips.fits"
        context = multiprocessing.get_context("spawn")
        results = context.Queue()
        arguments = (url, str(folder), results)
        children = [context.Process(target=_open_often, args=arguments) for _ in range(3)]
        for child in children:
            child.start()
        sums = [results.get(timeout=120) for _ in children]
        for child in children:
            child.join(60)
        assert {value for each in sums for value in each} == {float(cutout(url).sum())}
    assert [path.suffix for path in folder.iterdir()] == [".index"]


def test_a_cutout_of_a_cube_reads_short_gaps_between_rows(server: Log) -> None:
    with tf.open(server.files["/cube.fits"]) as other:
        expected = other[0][:, 100:112, 100:120]
    with tf.open(f"{server.url}/cube.fits") as file:
        part = file[0][:, 100:112, 100:120]
    assert np.array_equal(part, expected)
    assert server.rounds <= 6
    assert server.sent < 3_000_000
