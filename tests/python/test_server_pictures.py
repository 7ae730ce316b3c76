"""Pictures of images whose coordinates, or whose bytes, are not whole; spectra without a sky."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from fastapi.testclient import TestClient

import tachyfits as tf
from servedcube import pixels_of
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

TAN = {
    "CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRPIX1": 300.0, "CRPIX2": 300.0, "CRVAL1": 202.4,
    "CRVAL2": 47.2, "CD1_1": -2e-4, "CD1_2": 0.0, "CD2_1": 0.0, "CD2_2": 2e-4,
}  # fmt: skip
SIP = TAN | {
    "CTYPE1": "RA---TAN-SIP", "CTYPE2": "DEC--TAN-SIP", "A_ORDER": 2, "B_ORDER": 2, "A_2_0": 2e-5,
    "B_0_2": 1e-5,
}  # fmt: skip
PIXELS = np.random.default_rng(1).normal(100, 5, (600, 620)).astype(np.float32)


def write(path: Path, pixels: np.ndarray[Any, Any], cards: dict[str, Any], *more: Any) -> None:
    fits.HDUList([fits.PrimaryHDU(pixels, fits.Header(cards)), *more]).writeto(path)


def lookup_tables() -> list[fits.ImageHDU]:
    """Return the tables of a distortion by lookup (CPDIS)."""
    tables = []
    for version in (1, 2):
        table = fits.ImageHDU(np.full((8, 8), 0.5, np.float32), name="WCSDVARR", ver=version)
        table.header.update(
            CRPIX1=1.0, CRPIX2=1.0, CRVAL1=1.0, CRVAL2=1.0, CDELT1=80.0, CDELT2=80.0
        )
        tables.append(table)
    return tables


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures") / "data"
    folder.mkdir()
    write(folder / "sip.fits", PIXELS, SIP)
    lookup = fits.Header(TAN | {"CPDIS1": "LOOKUP", "CPDIS2": "LOOKUP"})
    for axis in (1, 2):
        for record in (f"EXTVER: {axis}.0", "NAXES: 2.0", "AXIS.1: 1.0", "AXIS.2: 2.0"):
            lookup.append((f"DP{axis}", record))
    fits.HDUList([fits.PrimaryHDU(PIXELS, lookup), *lookup_tables()]).writeto(folder / "cpdis.fits")
    write(folder / "text.fits", PIXELS, TAN | {"CRPIX1": "left", "CD1_1": "x"})
    first = {"CTYPE1": "STOKES", "CTYPE2": "RA---TAN-SIP", "CTYPE3": "DEC--TAN-SIP", "A_ORDER": 2}
    write(folder / "stokes.fits", np.moveaxis(PIXELS[None], 0, 2).copy(), first)
    scaled = TAN | {"BSCALE": 0.5, "BZERO": 7.0, "BLANK": -1}
    write(folder / "scaled.fits", (PIXELS * 10).astype(np.int16), SIP | scaled | SIP)
    write(folder / "large.fits", np.tile(PIXELS, (4, 4)), SIP)
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with TestClient(create_app(Settings(paths=(folder,)))) as found:
        yield found


def means(pixels: np.ndarray[Any, Any], level: int) -> np.ndarray[Any, Any]:
    step = 1 << level
    padded = [(0, -length % step) for length in pixels.shape]
    wide = np.pad(pixels.astype(np.float64), padded, constant_values=np.nan)
    blocks = wide.reshape(wide.shape[0] // step, step, wide.shape[1] // step, step)
    found: np.ndarray[Any, Any] = np.nanmean(blocks, axis=(1, 3))
    return found


@pytest.mark.parametrize("name", ["sip", "cpdis", "text", "stokes"])
@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("preview", [False, True])
def test_tiles_need_no_coordinates(
    client: TestClient, name: str, level: int, preview: bool
) -> None:
    asked = {"id": f"data/{name}.fits", "level": level, "x": 0, "y": 0, "error": 0}
    tile = pixels_of(client.get("/api/v1/tile", params=asked | {"preview": preview}))
    step = 1 << level
    expected = PIXELS[::step, ::step] if preview else means(PIXELS, level)
    np.testing.assert_allclose(tile, expected[:256, :256], rtol=1e-6)


@pytest.mark.parametrize("name", ["sip", "cpdis", "text", "stokes"])
@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("dataset", {}), ("image", {"level": 1}), ("contours", {"levels": "100", "level": 1}),
        ("limits", {}), ("histogram", {}), ("statistics", {"region": "circle(50,50,9)"}),
        ("pixel", {"x": 5, "y": 5}), ("snapshot", {}), ("header", {}),
    ],
)  # fmt: skip
def test_what_needs_pixels_alone_answers(
    client: TestClient, name: str, path: str, asked: dict[str, Any]
) -> None:
    answer = client.get(f"/api/v1/{path}", params={"id": f"data/{name}.fits"} | asked)
    assert answer.status_code == 200, answer.text


def test_snapshot_of_a_large_distorted_image_is_drawn(client: TestClient) -> None:
    answer = client.get("/api/v1/snapshot", params={"id": "data/large.fits"})
    assert answer.headers["content-type"] == "image/png"


def test_scaled_integers_keep_their_values_at_each_level(client: TestClient, folder: Path) -> None:
    with tf.open(folder / "scaled.fits") as file:
        values = file[0].read(dtype=np.float64)
    for level in (0, 1):
        asked = {"id": "data/scaled.fits", "level": level, "x": 0, "y": 0, "error": 0}
        tile = pixels_of(client.get("/api/v1/tile", params=asked))
        np.testing.assert_allclose(tile, means(values, level)[:256, :256], rtol=1e-6)


def test_unusable_coordinates_are_problems_of_the_image(client: TestClient) -> None:
    problems = client.get("/api/v1/dataset", params={"id": "data/text.fits"}).json()["problems"]
    assert any("CRPIX1" in text for text in problems)
    problems = client.get("/api/v1/dataset", params={"id": "data/stokes.fits"}).json()["problems"]
    assert any("A_ORDER" in text for text in problems)
    assert client.get("/api/v1/dataset", params={"id": "data/sip.fits"}).json()["problems"] == []
    position = client.get("/api/v1/pixel", params={"id": "data/text.fits", "x": 1, "y": 1}).json()
    assert position["value"] == PIXELS[0, 0]
    assert "sky" not in position


def test_a_plane_that_lost_its_coordinates_is_no_fits_file(client: TestClient) -> None:
    asked = {"id": "data/stokes.fits", "format": "fits"}
    answer = client.get("/api/v1/image", params=asked)
    assert answer.status_code == 400
    assert "A_ORDER" in answer.json()["detail"]
    assert client.get("/api/v1/cutout", params={"id": "data/stokes.fits"}).status_code == 200


def test_truncated_file_says_what_is_missing_and_shows_the_rest(tmp_path: Path) -> None:
    cube = np.arange(64 * 30 * 40, dtype=np.float32).reshape(64, 30, 40)
    for name, kept in (("cube", 22 * 1200 * 4), ("plane", 12 * 40 * 4), ("whole", 64 * 4800)):
        pixels = cube[0] if name == "plane" else cube
        tf.write(tmp_path / f"{name}.fits", pixels)
        os.truncate(tmp_path / f"{name}.fits", 2880 + kept)
    with TestClient(create_app(Settings(paths=(tmp_path,)))) as client:
        where = tmp_path.name
        found = client.get("/api/v1/dataset", params={"id": f"{where}/cube.fits"}).json()
        assert "ends after channel 22 of 64" in found["problems"][0]
        assert found["readable_channels"] == 22
        asked = {"id": f"{where}/cube.fits", "level": 0, "x": 0, "y": 0, "error": 0}
        last = pixels_of(client.get("/api/v1/tile", params=asked | {"channel": 22}))
        np.testing.assert_array_equal(last, cube[21])
        assert client.get("/api/v1/tile", params=asked | {"channel": 23}).status_code == 422
        found = client.get("/api/v1/dataset", params={"id": f"{where}/plane.fits"}).json()
        assert "ends after row 12 of 30" in found["problems"][0]
        # Only the padding of the last block is missing.
        found = client.get("/api/v1/dataset", params={"id": f"{where}/whole.fits"}).json()
        assert found["readable_channels"] == 64


def test_image_of_one_axis_is_a_spectrum(tmp_path: Path) -> None:
    values = np.arange(50, dtype=np.float32) + 0.25
    cards = {
        "CTYPE1": "FREQ", "CRVAL1": 230.5e9, "CDELT1": -2e6, "CRPIX1": 1.0, "CUNIT1": "Hz",
        "RESTFRQ": 230.538e9, "BUNIT": "Jy", "SPECSYS": "LSRK",
    }  # fmt: skip
    write(tmp_path / "line.fits", values, cards)
    with TestClient(create_app(Settings(paths=(tmp_path / "line.fits",)))) as client:
        found = client.get("/api/v1/dataset", params={"id": "line.fits"}).json()
        assert (found["width"], found["height"], found["channels"]) == (1, 1, 50)
        assert found["naxis"] == [50]
        spectrum = client.get(
            "/api/v1/spectrum", params={"id": "line.fits", "region": "point(1,1)"}
        )
        np.testing.assert_array_equal(spectrum.json()["values"], values)
        assert spectrum.json()["unit"] == "Jy"
        axis = client.get("/api/v1/axis", params={"id": "line.fits", "unit": "km/s"}).json()
        with tf.open(tmp_path / "line.fits") as file:
            frequencies = file[0].world_axis(0).values
        speeds = 299792.458 * (1 - frequencies / 230.538e9)
        np.testing.assert_allclose(axis["values"], speeds, rtol=1e-9)
        cut = client.get("/api/v1/cutout", params={"id": "line.fits", "section": "[11:20]"})
        (tmp_path / "cut.fits").write_bytes(cut.content)
        with fits.open(tmp_path / "cut.fits") as cut_file:
            np.testing.assert_array_equal(cut_file[0].data, values[10:20])
            assert cut_file[0].header["CRPIX1"] == -9
