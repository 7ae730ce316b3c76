"""Sidecars: answers with them are those without; builds stop, go on, and keep to their budget."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from fastapi.testclient import TestClient

import tachyfits as tf
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings
from tachyfits.server.sidecars import copies
from tachyfits.server.sidecars.builder import Sidecars
from tachyfits.server.sidecars.folder import Folder

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(sys.version_info < (3, 11), reason="zarr 3 needs Python 3.11"),
]

STATISTICS = ("sum", "mean", "std", "rms", "min", "max", "median", "percentile90")

#: 2^12 pixels along x: levels 0 to 4.
SHAPE = (3, 1100, 2300)


@pytest.fixture(autouse=True)
def _small_images_are_useful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_LEAST_PLANE", 1)
    monkeypatch.setattr(copies, "_LEAST_CUBE", 1)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pixels = np.random.default_rng(4).normal(size=SHAPE).astype(np.float32)
    pixels[:, 200:260, 300:900] = np.nan
    found = tmp_path_factory.mktemp("sidecars") / "cube.fits"
    tf.write(found, pixels)
    return found


def served(path: Path, cache: Path, budget: int = 1 << 30) -> TestClient:
    settings = Settings(paths=(path,), cache_folder=cache, sidecar_bytes=budget)
    return TestClient(create_app(settings))


def states(client: TestClient, method: str = "GET") -> dict[str, str]:
    answer = client.request(method, "/api/v1/sidecars", params={"id": "cube.fits"}).json()
    return {kind: answer[kind]["state"] for kind in ("pyramid", "spectral")}


def sidecars(client: TestClient) -> Sidecars:
    found: Sidecars = client.app.state.tachyfits.sidecars  # type: ignore[attr-defined]
    return found


def complete(client: TestClient) -> None:
    states(client, "POST")
    assert sidecars(client).wait(60)
    assert states(client) == {"pyramid": "complete", "spectral": "complete"}


@pytest.fixture(scope="module")
def built(path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache folder with complete sidecars of the cube, for tests to copy."""
    cache = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copies, "_LEAST_PLANE", 1)
        patch.setattr(copies, "_LEAST_CUBE", 1)
        with served(path, cache) as client:
            complete(client)
    return cache


def answers(client: TestClient) -> list[bytes]:
    """Return what the sidecars could change: tiles of all levels, spectra of all shapes."""
    found = []
    for level, x, y in ((0, 1, 1), (2, 1, 0), (3, 0, 0), (3, 1, 0), (4, 0, 0)):
        parameters: dict[str, Any] = {"id": "cube.fits", "level": level, "x": x, "y": y}
        for channel in (1, 3):
            asked = parameters | {"channel": channel, "error": 0}
            found.append(client.get("/api/v1/tile", params=asked).content)
    for region in ("circle(300.3,250,40.5)", "box(1000,500,77,33,20)", "point(20,30)",
                   "polygon(1,1,90,5,60,80)", "circle(50,50,30); -circle(55,50,9)"):  # fmt: skip
        more = [{"weights": "exact"}, {"channels": "2:3"}] if region.startswith("box") else []
        for asked in (*({"statistic": name} for name in STATISTICS), *more):
            asked = {"id": "cube.fits", "region": region} | asked
            answer = client.get("/api/v1/spectrum", params=asked | {"format": "binary"})
            assert answer.status_code == 200, answer.text
            found.append(answer.content)
    return found


def test_answers_have_the_same_bits_with_and_without(path: Path, tmp_path: Path) -> None:
    with served(path, tmp_path, budget=0) as client:
        expected = answers(client)
        assert states(client, "POST") == {"pyramid": "absent", "spectral": "absent"}
    with served(path, tmp_path) as client:
        complete(client)
        reads: list[Any] = []
        read = sidecars(client)._read
        sidecars(client)._read = lambda *a: reads.append(read(*a)) or reads[-1]  # type: ignore[method-assign,func-returns-value]
        assert answers(client) == expected
        assert len(reads) == 6 + 5 * len(STATISTICS) + 2
        assert all(found is not None for found in reads)
    (pyramid,) = (tmp_path / "sidecars").glob("*-pyramid.zarr")
    (spectral,) = (tmp_path / "sidecars").glob("*-spectral.zarr")
    assert dict(xr.open_zarr(pyramid, consolidated=False)["level3"].sizes) == {
        "z": 3, "y3": 138, "x3": 288,
    }  # fmt: skip
    pixels = tf.open(path)[0].read()  # type: ignore[union-attr]
    np.testing.assert_array_equal(xr.open_zarr(spectral, consolidated=False)["pixels"], pixels)


def test_build_goes_on_where_it_was_cancelled(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tachyfits.server.sidecars.builder._NOTED", 1)
    built: list[tuple[int, ...]] = []
    cancelled: list[dict[str, str]] = []
    build = copies.Pyramid.build
    with served(path, tmp_path) as client:

        def once(self: copies.Pyramid, folder: Path, unit: tuple[int, ...]) -> None:
            if len(built) == 4 and not cancelled:
                cancelled.append(states(client, "DELETE"))
            build(self, folder, unit)
            built.append(unit)

        monkeypatch.setattr(copies.Pyramid, "build", once)
        states(client, "POST")
        assert sidecars(client).wait(60)
        assert states(client)["pyramid"] == "absent"
        assert len(built) == 4
        complete(client)
    units = 3 * (1 + 1)  # planes, and rows of tiles at levels 3 and 4
    assert len(built) == units
    with served(path, tmp_path, budget=0) as client:
        expected = answers(client)
    with served(path, tmp_path) as client:
        assert answers(client) == expected


def test_two_servers_share_a_build(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tachyfits.server.sidecars.builder._NOTED", 1)
    built: list[tuple[int, ...]] = []
    seen: list[dict[str, str]] = []
    build = copies.Pyramid.build
    with served(path, tmp_path) as one, served(path, tmp_path) as other:

        def watched(self: copies.Pyramid, folder: Path, unit: tuple[int, ...]) -> None:
            if len(built) == 2:
                states(other, "POST")
                assert sidecars(other).wait(60)
                seen.append(states(other))
            build(self, folder, unit)
            built.append(unit)

        monkeypatch.setattr(copies.Pyramid, "build", watched)
        complete(one)
        assert seen[0]["pyramid"] == "building"
        assert states(other) == {"pyramid": "complete", "spectral": "complete"}
        assert len(built) == len(set(built))
        expected = answers(one)
        assert answers(other) == expected


def test_a_look_at_a_lock_does_not_take_it_from_a_builder(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl", reason="LEFT OUT: this system has no fcntl")
    folder, other = Folder(tmp_path, 1), Folder(tmp_path, 1)
    with folder.lock("a") as is_ours:
        assert is_ours
        assert other.is_locked("a")
        with other.lock("a") as is_theirs:
            assert not is_theirs
    assert not other.is_locked("a")
    with (tmp_path / "b.lock").open("w") as looked:
        # As `is_locked` of another server does for a moment.
        fcntl.flock(looked, fcntl.LOCK_SH)
        assert not other.is_locked("b")
        threading.Timer(0.05, fcntl.flock, (looked, fcntl.LOCK_UN)).start()
        with folder.lock("b") as is_ours:
            assert is_ours
            assert other.is_locked("b")


def test_replaced_file_does_not_meet_an_old_sidecar(tmp_path: Path) -> None:
    file = tmp_path / "cube.fits"
    cache = tmp_path / "cache"
    asked = {"id": "cube.fits", "level": 3, "x": 0, "y": 0, "error": 0}
    tf.write(file, np.ones(SHAPE, dtype=np.float32))
    with served(file, cache) as client:
        complete(client)
        before = client.get("/api/v1/tile", params=asked).content
        tf.write(file, np.full(SHAPE, 2, dtype=np.float32), overwrite=True)
        assert states(client)["pyramid"] == "absent"
        after = client.get("/api/v1/tile", params=asked).content
        assert after != before
        complete(client)
        assert client.get("/api/v1/tile", params=asked).content == after


@pytest.mark.parametrize(
    ("kind", "chunk", "path_asked"),
    [
        ("pyramid", "level3/c/0/0/0", "/api/v1/tile?id=cube.fits&level=3&x=0&y=0&error=0"),
        ("spectral", "pixels/c/0/0/0", "/api/v1/spectrum?id=cube.fits&region=circle(40,22,9)"),
        ("spectral", "pixels/zarr.json", "/api/v1/spectrum?id=cube.fits&region=circle(40,22,9)"),
    ],
)
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_damaged_and_missing_chunks_are_not_shown(
    path: Path, built: Path, tmp_path: Path, kind: str, chunk: str, path_asked: str, damage: str
) -> None:
    with served(path, tmp_path, budget=0) as client:
        expected = client.get(path_asked).content
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    with served(path, tmp_path) as client:
        assert states(client) == {"pyramid": "complete", "spectral": "complete"}
        (damaged,) = (tmp_path / "sidecars").glob(f"*-{kind}.zarr/{chunk}")
        content = bytearray(damaged.read_bytes())
        content[len(content) // 2] ^= 0x80
        damaged.unlink()
        if damage != "remove":
            damaged.write_bytes(content if damage == "flip" else content[:-1])
        assert client.get(path_asked).content == expected
        assert states(client)[kind] == "absent"


def test_refused_requests_leave_the_copy(path: Path, tmp_path: Path) -> None:
    with served(path, tmp_path) as client:
        complete(client)
        asked = {"id": "cube.fits", "region": "circle(40,22,9)"}
        for wrong in ({"unit": "km"}, {"channels": "9:12"}, {"statistic": "percentile101"}):
            assert client.get("/api/v1/spectrum", params=asked | wrong).status_code in (400, 422)
        assert states(client)["spectral"] == "complete"


def test_budget_is_kept_and_the_oldest_gives_way(path: Path, tmp_path: Path) -> None:
    spectral = int(np.prod(SHAPE)) * 4
    with served(path, tmp_path, budget=spectral + 100_000) as client:
        states(client, "POST")
        assert sidecars(client).wait(60)
        found = states(client)
        # The pyramid was first and gave way to the spectral copy.
        assert found == {"pyramid": "absent", "spectral": "complete"}
    with served(path, tmp_path / "other", budget=1000) as client:
        states(client, "POST")
        assert sidecars(client).wait(60)
        assert set(states(client).values()) == {"failed"}


def test_full_disk_fails_the_build_and_not_the_answers(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copies.Pyramid, "build", full)
    asked = {"id": "cube.fits", "level": 3, "x": 0, "y": 0}
    with served(path, tmp_path) as client:
        states(client, "POST")
        assert sidecars(client).wait(60)
        assert states(client)["pyramid"] == "failed"
        assert client.get("/api/v1/tile", params=asked).status_code == 200
    assert not list((tmp_path / "sidecars").glob("*-pyramid.*"))


_BUILD = """
import sys
from pathlib import Path
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings
from tachyfits.server.sidecars import builder, copies
copies._LEAST_PLANE = copies._LEAST_CUBE = builder._NOTED = 1
cube, cache = map(Path, sys.argv[1:])
settings = Settings(paths=(cube,), cache_folder=cache, sidecar_bytes=1 << 30)
state = create_app(settings).state.tachyfits
build = copies.Pyramid.build
def slow(self, folder, unit):
    build(self, folder, unit)
    print(unit, flush=True)
    import time; time.sleep(0.2)
copies.Pyramid.build = slow
file = state.datasets.open("cube.fits")
state.sidecars.want(file, file.view(None))
state.sidecars.wait(60)
"""


@pytest.fixture
def killed(path: Path, tmp_path: Path) -> Path:
    command = [sys.executable, "-c", _BUILD, str(path), str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ})
    assert process.stdout is not None
    for _ in range(3):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    return tmp_path


def test_build_of_a_killed_server_goes_on(path: Path, killed: Path) -> None:
    assert list((killed / "sidecars").glob("*-pyramid.building"))
    with served(path, killed) as client:
        complete(client)
        found = answers(client)
    with served(path, killed, budget=0) as client:
        assert answers(client) == found
