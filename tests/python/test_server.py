"""The server: what its endpoints answer, beside the engine's own calls."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

import tachyfits as tf
from realfiles import path_of
from servedcube import CUBE, NAME
from tachyfits.server.app import create_app
from tachyfits.server.datasets import Datasets
from tachyfits.server.run import listen
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once


def test_tile_is_exact_on_request_and_within_its_error_otherwise(client: TestClient) -> None:
    with tf.open(CUBE) as file:
        plane = file[0][4].astype(np.float32)
    asked = {"id": NAME, "level": 0, "x": 0, "y": 0, "channel": 5}
    for error in (0.0, 1e-4, None):
        extra = {} if error is None else {"error": error}
        answer = client.get("/api/v1/tile", params=asked | extra)
        assert answer.status_code == 200
        body = np.frombuffer(answer.content, dtype=np.uint8).reshape(4, -1).T
        codes = np.ascontiguousarray(body).view("<i4").reshape(plane.shape)
        step, zero = float(answer.headers["Tile-Step"]), float(answer.headers["Tile-Zero"])
        stated = float(answer.headers["Tile-Error"])
        if error == 0.0:
            assert step == stated == 0.0
            np.testing.assert_array_equal(codes.view("<f4"), plane)
            continue
        pixels = zero + np.cumsum(codes, axis=1, dtype=np.int32) * step
        assert stated <= (1.01 * error if error else np.inf)
        assert np.abs(pixels - plane).max() <= stated


def test_spectrum_of_a_region_has_the_bits_of_the_engine(client: TestClient) -> None:
    with tf.open(CUBE) as file:
        expected = file[0].spectrum("circle(40,50,7)")
    asked = {"id": NAME, "region": "circle(40,50,7)"}
    answer = client.get("/api/v1/spectrum", params=asked).json()
    np.testing.assert_array_equal(answer["values"], expected.values)
    np.testing.assert_array_equal(answer["axis"]["values"], expected.axis.values)
    binary = client.get("/api/v1/spectrum", params=asked | {"format": "binary"}).content
    np.testing.assert_array_equal(np.frombuffer(binary, "<f8"), expected.values)


def test_replaced_file_is_never_mixed_with_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "cube.fits"
    tf.write(path, np.ones((3, 4, 5), dtype=np.float32))
    with TestClient(create_app(Settings(paths=(path,)))) as client:
        asked = {"id": "cube.fits"}
        first = client.get("/api/v1/dataset", params=asked)
        pixel = asked | {"x": 1, "y": 1, "version": first.json()["version"]}
        assert client.get("/api/v1/pixel", params=pixel).json()["value"] == 1.0
        tag = {"If-None-Match": first.headers["ETag"]}
        assert client.get("/api/v1/dataset", params=asked, headers=tag).status_code == 304
        tf.write(path, np.full((2, 4, 5), 7, dtype=np.float32), overwrite=True)
        assert client.get("/api/v1/pixel", params=pixel).status_code == 409
        again = client.get("/api/v1/dataset", params=asked, headers=tag)
        assert again.status_code == 200
        assert again.json()["naxis"] == [5, 4, 2]


@pytest.mark.parametrize(
    "name",
    ["..", "cubes/../../x", "cubes//etc/passwd", "/etc/passwd", "cubes/\0", "cubes/./x", "x"],
)
def test_ids_lead_nowhere_else(client: TestClient, name: str) -> None:
    answer = client.get("/api/v1/dataset", params={"id": name})
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("unknown ID")


def test_links_out_of_the_served_folder_are_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "link.fits").symlink_to(CUBE)
    with TestClient(create_app(Settings(paths=(folder,)))) as client:
        assert client.get("/api/v1/files", params={"folder": "served"}).json()["entries"] == []
        assert client.get("/api/v1/dataset", params={"id": "served/link.fits"}).status_code == 404


def test_pixel_of_collapsed_channels_is_that_of_the_plane(client: TestClient) -> None:
    with tf.open(CUBE) as file:
        plane = file[0].select(channels=slice(9, 30)).moment(0)
    asked = {
        "id": NAME,
        "collapse": "moment0",
        "channels": "10:30",
        "x": 53,
        "y": 48,
    }
    found = client.get("/api/v1/pixel", params=asked).json()
    assert found["value"] == plane.values[47, 52]
    assert found["unit"] == plane.unit
    assert "spectral" not in found


def test_spectrum_and_map_are_of_the_chosen_polarisation(client: TestClient) -> None:
    path = path_of("data/cubes/dec_pol_freq_ra.fits")
    asked = {"id": f"cubes/{path.name}", "others": "2"}
    with tf.open(path) as file:
        # NumPy's order in the file: RA, FREQ, POL, DEC.
        part = file[0][:, :, 1, :].astype(np.float64)
    spectrum = client.get("/api/v1/spectrum", params=asked | {"region": "point(20,10)"}).json()
    np.testing.assert_array_equal(spectrum["values"], part[9, :, 19])
    mean = {"collapse": "mean", "x": 20, "y": 10}
    found = client.get("/api/v1/pixel", params=asked | mean).json()
    assert found["value"] == pytest.approx(part[9, :, 19].mean(), rel=1e-12)


def test_answers_do_not_wait_for_acknowledgements() -> None:
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


def test_messages_have_ids_in_place_of_paths(tmp_path: Path) -> None:
    folder, file = tmp_path / "cubes", tmp_path / "cubes" / "co.fits"
    folder.mkdir()
    file.touch()
    (tmp_path / "cubes2").mkdir()
    datasets = Datasets((folder, file))
    text = f"{file}: HDU 0; {folder}/deep/x.fits (cut), {tmp_path}/cubes2/y.fits"
    assert datasets.hidden(text) == (
        f"co.fits: HDU 0; cubes/deep/x.fits (cut), {tmp_path}/cubes2/y.fits"
    )
    everything = Datasets((Path("/"),))
    assert everything.hidden("/data/x.fits: 3/4 of km/s") == "root/data/x.fits: 3/4 of km/s"


@pytest.mark.parametrize(
    ("taken", "coding"),
    [("gzip, deflate, br, zstd", "zstd"), ("gzip, deflate", "gzip"), ("zstd;q=0, gzip", "gzip"),
     ("identity", None), ("", None)],
)  # fmt: skip
def test_tile_has_an_encoding_that_the_client_takes(
    client: TestClient, taken: str, coding: str | None
) -> None:
    # Browsers do not take zstd by HTTP from another machine.
    asked = {"id": NAME, "level": 0, "x": 0, "y": 0, "channel": 5, "error": 0}
    expected = client.get("/api/v1/tile", params=asked).content
    answer = client.get("/api/v1/tile", params=asked, headers={"Accept-Encoding": taken})
    assert answer.headers.get("Content-Encoding") == coding
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert answer.content == expected
