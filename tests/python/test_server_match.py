"""Matching of images by the sky: places, scale and angle, and shapes, beside astropy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from astropy.wcs import WCS
from fastapi.testclient import TestClient

import tachyfits as tf
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

SHAPES = [
    "circle(52,47,9.5)", "ellipse(50,50,14,6,20)", "box(48,55,21,9,35)", "annulus(50,48,6,13)",
    "ellipse(50,50,5,3,15,9,20)", "polygon(30,30,70,35,60,75,35,60)",
]  # fmt: skip


def header(
    kind: tuple[str, str], centre: tuple[float, float], steps: tuple[float, float], turn: float
) -> fits.Header:
    """Return the header of 100 x 100 pixels of the sky."""
    cosine, sine = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    found = fits.Header({"PC1_1": cosine, "PC1_2": -sine, "PC2_1": sine, "PC2_2": cosine})
    for axis in (0, 1):
        found[f"CTYPE{axis + 1}"] = kind[axis]
        found[f"CRVAL{axis + 1}"] = centre[axis]
        found[f"CRPIX{axis + 1}"] = 50.5
        found[f"CDELT{axis + 1}"] = steps[axis] / 3600
        found[f"CUNIT{axis + 1}"] = "deg"
    if kind[0].startswith("RA"):
        found["RADESYS"] = "ICRS"
    return found


CRAB = (83.633, 22.0145)
GALACTIC = (184.5575, -5.7844)
TARGETS = {
    "turned": header(("RA---TAN", "DEC--TAN"), CRAB, (-0.8, 0.8), 25),
    "mirrored": header(("RA---TAN", "DEC--TAN"), CRAB, (0.7, 0.7), -10),
    "galactic": header(("GLON-SIN", "GLAT-SIN"), GALACTIC, (-1.1, 1.1), 0),
    "oblong": header(("RA---TAN", "DEC--TAN"), CRAB, (-0.6, 1.2), 15),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("match")
    pixels = np.ones((100, 100), np.float32)
    own = header(("RA---SIN", "DEC--SIN"), CRAB, (-1, 1), 0)
    for name, cards in {"own": own, **TARGETS}.items():
        fits.writeto(folder / f"{name}.fits", pixels, cards)
    far = header(("RA---TAN", "DEC--TAN"), (263.0, -22.0), (-1, 1), 0)
    fits.writeto(folder / "far.fits", pixels, far)
    fits.writeto(folder / "bare.fits", pixels)
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> TestClient:
    return TestClient(create_app(Settings(paths=tuple(folder.glob("*.fits")))))


def matched(client: TestClient, name: str, **words: Any) -> dict[str, Any]:
    answer = client.get("/api/v1/match", params={"id": "own.fits", "onto": f"{name}.fits", **words})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def moved(folder: Path, name: str, x: Any, y: Any) -> np.ndarray[Any, Any]:
    """Return where pixels of the first image, from 1, are in another, by astropy."""
    own, other = (WCS(fits.getheader(folder / f"{one}.fits")) for one in ("own", name))
    found = other.world_to_pixel(own.pixel_to_world(np.asarray(x) - 1, np.asarray(y) - 1))
    return np.column_stack(found) + 1


@pytest.mark.parametrize("name", TARGETS)
def test_places_scale_and_angle_are_those_of_astropy(
    client: TestClient, folder: Path, name: str
) -> None:
    for x, y in ((50.5, 50.5), (12.25, 88), (-20, 130)):
        found = matched(client, name, point=f"{x},{y}")
        near = moved(
            folder, name, x + np.array([0, 0.5, -0.5, 0, 0]), y + np.array([0, 0, 0, 0.5, -0.5])
        )
        np.testing.assert_allclose((found["x"], found["y"]), near[0], atol=1e-6)
        columns = np.column_stack((near[1] - near[2], near[3] - near[4]))
        np.testing.assert_allclose(found["matrix"], columns, atol=1e-6)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("text", SHAPES)
def test_shapes_take_the_pixels_of_the_same_sky(
    client: TestClient, folder: Path, name: str, text: str
) -> None:
    found = matched(client, name, region=text)["region"]
    with tf.open(folder / f"{name}.fits") as other, tf.open(folder / "own.fits") as own:
        mask = other[0].region_mask(found)
        # A fine raster of the first image says which of its places are inside.
        y, x = np.indices(mask.shape)
        back, here = (WCS(fits.getheader(folder / f"{one}.fits")) for one in (name, "own"))
        places = here.world_to_pixel(back.pixel_to_world(x, y))
        column, line = (np.round(at).astype(int) for at in places)
        inside = own[0].region_mask(text)
        known = (column >= 0) & (column < 100) & (line >= 0) & (line < 100)
        expected = np.zeros_like(mask)
        expected[known] = inside[line[known], column[known]]
    # Borders go through pixels: those of the raster are one pixel wide.
    assert (mask != expected).sum() <= 0.12 * mask.sum() + 10
    scale = np.sqrt(abs(np.linalg.det(np.array(matched(client, name, point="50,50")["matrix"]))))
    assert mask.sum() == pytest.approx(inside.sum() * scale**2, rel=0.06)


def test_points_and_lines_are_moved_exactly(client: TestClient, folder: Path) -> None:
    for text in ("point(61,49)", "line(20,30,70,60)"):
        values = np.array(text[text.index("(") + 1 : -1].split(","), float).reshape(-1, 2)
        found = matched(client, "galactic", region=text)["region"]
        assert found.startswith(text[:4])
        numbers = np.array(found[found.index("(") + 1 : -1].split(","), float).reshape(-1, 2)
        np.testing.assert_allclose(numbers, moved(folder, "galactic", *values.T), atol=1e-6)


def test_sky_that_a_projection_does_not_reach_is_null(client: TestClient) -> None:
    found = matched(client, "far", point="50,50", region="circle(50,50,5)")
    assert found == {"x": None, "y": None, "matrix": None, "region": None}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"onto": "bare.fits", "point": "1,1"}, "no sky coordinates"),
        ({"onto": "none.fits", "point": "1,1"}, "unknown ID"),
        ({"onto": "turned.fits", "point": "1"}, "expected x and y"),
        ({"onto": "turned.fits", "region": "icrs; circle(83.6,22,5\")"}, "one shape in pixels"),
        ({"onto": "turned.fits", "region": "circle(1,2)"}, "circle has 2 numbers"),
        ({"point": "1,1"}, "onto"),
    ],
)  # fmt: skip
def test_refusals_say_what_is_wrong(client: TestClient, words: dict[str, str], said: str) -> None:
    answer = client.get("/api/v1/match", params={"id": "own.fits", **words})
    assert answer.status_code in (400, 404, 422)
    assert said in answer.json()["detail"]


def test_long_regions_are_posted_and_no_cache_keeps_the_answer(client: TestClient) -> None:
    angles = np.linspace(0, 2 * np.pi, 900, endpoint=False)
    corners = np.column_stack([50 + 20 * np.cos(angles), 50 + 20 * np.sin(angles)])
    text = f"polygon({','.join(map(repr, corners.ravel().tolist()))})"
    params = {"id": "own.fits", "onto": "turned.fits"}
    answer = client.post("/api/v1/match", params=params, content=text)
    assert answer.status_code == 200
    assert answer.json()["region"].count(",") == 1799
    assert answer.headers["Cache-Control"] == "no-store"
    assert "ETag" not in answer.headers


@pytest.fixture(scope="module")
def cubes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first image and its targets as cubes of four channels."""
    folder = tmp_path_factory.mktemp("cubes")
    pixels = np.random.default_rng(9).normal(size=(4, 100, 100)).astype(np.float32)
    own = header(("RA---SIN", "DEC--SIN"), CRAB, (-1, 1), 0)
    far = header(("RA---TAN", "DEC--TAN"), (263.0, -22.0), (-1, 1), 0)
    for name, cards in {"own": own, "far": far, **TARGETS}.items():
        fits.writeto(folder / f"{name}.fits", pixels, cards)
    fits.writeto(folder / "bare.fits", pixels)
    return folder


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("text", [*SHAPES, "point(61,49)"])
def test_spectrum_of_a_region_of_another_image_is_that_of_the_matched_one(
    cubes: Path, name: str, text: str
) -> None:
    client = TestClient(create_app(Settings(paths=tuple(cubes.glob("*.fits")))))
    asked = {"id": f"{name}.fits", "region": text, "region_in": "own.fits", "statistic": "sum"}
    answer = client.get("/api/v1/spectrum", params=asked)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    region = matched(client, name, region=text)["region"]
    assert found["region"] == region
    with tf.open(cubes / f"{name}.fits") as file:
        expected = file[0].spectrum(region, statistic="sum").values
    np.testing.assert_array_equal(found["values"], expected)
    assert answer.headers["Cache-Control"] == "no-store"
    assert "ETag" not in answer.headers
    # As pages send a polygon of many corners.
    del asked["region"]
    posted = client.post("/api/v1/spectrum", params=asked, content=text)
    assert posted.json() == found


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ({"region_in": "none.fits"}, 404, "unknown ID"),
        ({"region_in": "bare.fits"}, 400, "no sky coordinates"),
        ({"region_in": "far.fits"}, 400, "does not reach the region"),
        ({"region_in": "turned.fits", "region_in_hdu": "7"}, 404, "HDU 7"),
        ({"region_in": "turned.fits", "region": None}, 400, "without a region"),
        ({"region_in_hdu": "0"}, 400, "without region_in"),
        ({"region_in": "turned.fits", "format": "fits"}, 400, "needs the format json"),
        ({"region_in": "turned.fits", "region": "icrs; circle(83.6,22,5\")"}, 400, "in pixels"),
        ({"region_in": "turned.fits", "region": "circle(900,50,5)"}, 400, "no pixel on"),
    ],
)  # fmt: skip
def test_region_of_another_image_that_cannot_be_moved_is_refused(
    cubes: Path, words: dict[str, Any], status: int, said: str
) -> None:
    client = TestClient(create_app(Settings(paths=tuple(cubes.glob("*.fits")))))
    asked = {"id": "own.fits", "region": "circle(50,50,5)"} | words
    given = {name: value for name, value in asked.items() if value is not None}
    answer = client.get("/api/v1/spectrum", params=given)
    assert answer.status_code == status
    assert said in answer.json()["detail"]
