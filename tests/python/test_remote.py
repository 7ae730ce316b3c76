"""Files of servers by their URL, beside the same files on the disk."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tachyfits as tf
from fitsbytes import empty_primary, extension
from rangeserver import Log, range_server


def pixels(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The contents of a cube, a table, and a file of many compressed images."""
    folder = tmp_path_factory.mktemp("served")
    tf.write(folder / "cube.fits", pixels(30, 200, 300))
    table = {"RA": np.linspace(0, 360, 40_000), "MAG": pixels(40_000), "N": np.arange(40_000)}
    tf.write(folder / "table.fits", table, name="STARS")
    images = [(pixels(700, 900) + n, {"EXTNAME": f"CHIP{n}"}) for n in range(40)]
    tf.write(folder / "chips.fits", [(None, {"OBJECT": "M31"}), *images], compress="rice")
    contents = {f"/{path.name}": path.read_bytes() for path in folder.iterdir()}
    contents["/cube.fits.gz"] = gzip.compress(contents["/cube.fits"], 1)
    contents["/bucket/deep/cube a+b.fits"] = contents["/cube.fits"]
    return contents


@pytest.fixture
def server(files: dict[str, bytes]) -> Iterator[Log]:
    with range_server(dict(files)) as log:
        yield log


def local(server: Log, name: str) -> tf.File:
    return tf.open(server.files[name])


def test_pixels_and_statistics_are_those_of_the_file(server: Log) -> None:
    with tf.open(f"{server.url}/cube.fits") as file, local(server, "/cube.fits") as other:
        assert (file.name, file.path) == (f"{server.url}/cube.fits",) * 2
        assert file[0].stats() == other[0].stats()
        assert np.array_equal(file[0][:], other[0][:])
        assert np.array_equal(file[0][3:9:2, ::-3, 17], other[0][3:9:2, ::-3, 17])
        assert np.array_equal(file[0].sum(axis=0), other[0].sum(axis=0))
        assert file[0].median() == other[0].median()


def test_tables_are_those_of_the_file(server: Log) -> None:
    with tf.open(f"{server.url}/table.fits") as file, local(server, "/table.fits") as other:
        for where in (None, "MAG > 2 && N < 1000"):
            rows = file["STARS"].read(where=where)
            expected = other["STARS"].read(where=where)
            assert all(np.array_equal(rows[name], expected[name]) for name in ("RA", "MAG", "N"))
        server.clear()
        file["STARS"]["N"]
    assert server.sent < len(server.files["/table.fits"]) * 1.01


def test_little_of_a_file_of_many_images_is_fetched(files: dict[str, bytes]) -> None:
    with range_server(files, delay=0.05) as server, local(server, "/chips.fits") as other:
        with tf.open(f"{server.url}/chips.fits") as file:
            part = file["CHIP30"][100:200, 100:200]
        assert np.array_equal(part, other["CHIP30"][100:200, 100:200])
        assert server.rounds <= 8
        assert server.sent < min(5_000_000, len(files["/chips.fits"]) / 4)


def irregular(seed: int) -> bytes:
    """Return a file of images whose sizes and headers are alike, or not; a few are cut short."""
    rng = np.random.default_rng(seed)
    size, spread = rng.integers(600_000), (1, 6000, 100_000, 900_000)[seed % 4]
    parts = [empty_primary()]
    for number in range(rng.integers(40)):
        pixels = np.zeros(size + rng.integers(spread), "u1")
        cards = 700 if rng.random() < 0.2 else rng.integers(90)
        parts.append(extension(pixels, [(f"C{n}", f"{number} {n}") for n in range(cards)]))
    content = b"".join(parts)
    return content[: max(2880, len(content) - rng.integers(20_000))] if seed % 3 == 0 else content


@pytest.mark.filterwarnings("ignore::tachyfits.TachyfitsWarning")
def test_guessed_headers_are_those_of_the_walk(server: Log) -> None:
    for seed in range(24):
        content = server.files["/irregular.fits"] = irregular(seed)
        with tf.open(f"{server.url}/irregular.fits") as file, tf.open(content) as walked:
            assert len(file) == len(walked)
            for far, near in zip(file, walked, strict=True):
                assert (far.shape, far.data_offset) == (near.shape, near.data_offset)
                assert far.stored_header == near.stored_header


def test_a_cutout_of_a_cube_takes_few_rounds(files: dict[str, bytes]) -> None:
    with range_server(files, delay=0.05) as server, local(server, "/cube.fits") as other:
        with tf.open(f"{server.url}/cube.fits") as file:
            part = file[0][:, 90:110, 140:160]
        assert np.array_equal(part, other[0][:, 90:110, 140:160])
        assert server.rounds <= 6
        assert server.sent < 3_000_000


def test_gzip_files_are_inflated(server: Log) -> None:
    with tf.open(f"{server.url}/cube.fits.gz") as file, local(server, "/cube.fits") as other:
        assert np.array_equal(file[0][:], other[0][:])


def test_a_cutout_is_written_to_the_disk(server: Log, tmp_path: Path) -> None:
    with tf.open(f"{server.url}/cube.fits") as file:
        file[0].cutout(section=np.s_[2:4]).write(tmp_path / "part.fits")
    with tf.open(tmp_path / "part.fits") as part, local(server, "/cube.fits") as other:
        assert np.array_equal(part[0][:], other[0][2:4])


def test_buckets_are_read_with_the_credentials_of_the_environment(
    server: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    with tf.open("s3://bucket/deep/cube a+b.fits") as file:
        assert file.name == "s3://bucket/deep/cube a+b.fits"
        assert file[0].stats().count == 30 * 200 * 300
    assert {path.split("?")[0] for path, *_ in server.requests} <= {
        "/bucket/deep/cube%20a%2Bb.fits", "/bucket/deep/cube%20a+b.fits",
    }  # fmt: skip


def test_the_command_line_takes_urls(server: Log) -> None:
    command = [sys.executable, "-m", "tachyfits", "stats", "--json", f"{server.url}/cube.fits"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    with local(server, "/cube.fits") as other:
        assert json.loads(output)["statistics"][0]["mean"] == other[0].stats().mean


def test_a_file_pickles_as_its_url(server: Log) -> None:
    file = tf.open(f"{server.url}/cube.fits")
    assert pickle.loads(pickle.dumps(file))[0].stats() == file[0].stats()


def test_secrets_of_urls_are_nowhere(server: Log) -> None:
    url = f"{server.url}/cube.fits?X-Amz-Signature=123456".replace("://", "://me:password@")
    file = tf.open(url)
    texts = [repr(file), repr(file[0]), file.name, str(file.path)]
    with pytest.raises((TypeError, tf.TachyfitsError)) as unpickled:
        pickle.dumps(file)
    with pytest.raises(FileNotFoundError) as missing:
        tf.open(url.replace("cube", "lost"))
    texts += [str(unpickled.value), str(missing.value)]
    assert not any("123456" in text or "password" in text for text in texts), texts
    assert any("X-Amz-Signature=123456" in path for path, *_ in server.requests)


def test_a_replaced_file_is_an_error(server: Log) -> None:
    file = tf.open(f"{server.url}/cube.fits")
    server.files["/cube.fits"] = server.files["/cube.fits"][:-2880] + bytes(2880)
    with pytest.raises(tf.IoError, match="has changed since it was opened"):
        file[0].stats()


def test_objects_of_servers_cannot_be_changed(server: Log) -> None:
    url = f"{server.url}/cube.fits"
    for change in (tf.edit, tf.update_checksums, tf.repair):
        with pytest.raises(tf.UsageError, match="download it"):
            change(url)
    with pytest.raises(tf.TachyfitsError):
        tf.write(url, np.zeros(3))


def _mean(url: str, results: Any) -> None:
    results.put(tf.open(url)[0].stats().mean)


def test_a_forked_process_reads_too(server: Log) -> None:
    file = tf.open(f"{server.url}/cube.fits")
    mean = file[0].stats().mean
    results = multiprocessing.get_context("fork").Queue()
    for work in (_mean, lambda url, results: results.put(file[0].stats().mean)):
        child = multiprocessing.get_context("fork").Process(
            target=work, args=(f"{server.url}/cube.fits", results)
        )
        child.start()
        assert results.get(timeout=60) == mean
        child.join(60)
    assert file[0].stats().mean == mean


def test_ctrl_c_ends_a_wait(server: Log) -> None:
    # A shell starts programs in the background with the signal ignored.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("/cube.fits", "/table.fits"):
        file = tf.open(server.url + name)
        wait: Callable[[], Any]
        wait = file[0].stats if name == "/cube.fits" else partial(tf.open, server.url + name)
        server.delay = 30.0
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            wait()
        assert time.monotonic() - begun < 15
        server.delay = 0.0
    signal.signal(signal.SIGINT, usual)
