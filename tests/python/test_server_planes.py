"""Large planes: computed by parts they are those that are computed as a whole."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from fastapi.testclient import TestClient

import tachyfits as tf
from servedcube import pixels_of
from tachyfits.server import planes
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

#: Levels 0 to 3, with blocks that are incomplete at the right and upper edge.
SHAPE = (5, 1300, 1701)
NAME = {"id": "cube.fits"}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pixels = np.random.default_rng(5).normal(size=SHAPE).astype(np.float32)
    pixels[:, 100:170, 600:900] = np.nan
    pixels[2, 0, 0] = np.nan
    hdu = fits.PrimaryHDU(pixels)
    hdu.header.update(
        {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 30.0, "CRVAL2": 10.0,
         "CDELT1": -0.001, "CDELT2": 0.001, "CRPIX1": 800.0, "CRPIX2": 600.0,
         "CTYPE3": "VRAD", "CUNIT3": "m/s", "CRVAL3": 1e4, "CDELT3": 500.0, "BUNIT": "K"}
    )  # fmt: skip
    found = tmp_path_factory.mktemp("planes") / "cube.fits"
    hdu.writeto(found)
    return found


@pytest.fixture(scope="module")
def whole(path: Path) -> Iterator[TestClient]:
    """A server that computes these planes as a whole."""
    with TestClient(create_app(Settings(paths=(path,)))) as client:
        yield client


@pytest.fixture
def parts(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A server for which these planes are large: levels 2 and 3 are computed in one pass."""
    monkeypatch.setattr(planes, "MOST_BYTES", 4 << 20)
    monkeypatch.setattr(planes, "MOST_PIXELS", 200_000)
    monkeypatch.setattr(planes, "_BLOCK", 1 << 20)
    with TestClient(create_app(Settings(paths=(path,)))) as client:
        yield client


def both(whole: TestClient, parts: TestClient, name: str, **given: Any) -> tuple[Any, Any]:
    """Ask both servers; the large planes of the other one are decided when it is asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planes, "MOST_BYTES", 256 << 20)
        expected = whole.get(f"/api/v1/{name}", params=NAME | given)
    return parts.get(f"/api/v1/{name}", params=NAME | given), expected


COLLAPSES: list[dict[str, Any]] = [
    {"collapse": "moment0", "channels": "2:4"},
    {"collapse": "moment1", "unit": "km/s", "threshold": 0.5},
    {"collapse": "mean"},
    {"collapse": "max"},
    {"collapse": "median"},
    {"collapse": "max_coordinate"},
]


@pytest.mark.parametrize("collapse", COLLAPSES)
@pytest.mark.parametrize("prepared", [False, True])
def test_tiles_of_all_levels_are_those_of_the_whole_plane(
    whole: TestClient, parts: TestClient, collapse: dict[str, Any], prepared: bool
) -> None:
    if prepared:
        answer = parts.get("/api/v1/image", params=NAME | collapse | {"level": 3})
        assert answer.status_code == 200
    for level, x, y in (
        (0, 2, 1),
        (0, 6, 5),
        (1, 1, 0),
        (1, 3, 2),
        (2, 0, 0),
        (2, 1, 1),
        (3, 0, 0),
    ):
        for preview in (False, True):
            given = collapse | {"level": level, "x": x, "y": y, "error": 0, "preview": preview}
            found, expected = both(whole, parts, "tile", **given)
            if prepared and preview and level > 1:
                continue  # the means are there already
            np.testing.assert_array_equal(pixels_of(found), pixels_of(expected), err_msg=str(given))


@pytest.mark.parametrize("collapse", COLLAPSES[:3])
def test_levels_pixels_limits_and_contours_are_those_of_the_whole_plane(
    whole: TestClient, parts: TestClient, collapse: dict[str, Any]
) -> None:
    for level in (2, 3):
        found, expected = both(whole, parts, "image", **collapse, level=level, error=0)
        np.testing.assert_array_equal(pixels_of(found), pixels_of(expected))
        found, expected = both(whole, parts, "image", **collapse, level=level, format="fits")
        ours, theirs = (fits.open(io.BytesIO(one.content))[0] for one in (found, expected))
        # A whole plane is float64, levels of a large one are float32.
        np.testing.assert_array_equal(ours.data, theirs.data.astype(np.float32))
        for key in ("CRPIX1", "CRPIX2", "CDELT1", "CRVAL1", "BUNIT", "CTYPE1"):
            assert ours.header[key] == theirs.header[key]
        assert list(ours.header["HISTORY"]) == list(theirs.header["HISTORY"])
    for x, y in ((1, 1), (700, 120), (1701, 1300)):
        found, expected = both(whole, parts, "pixel", **collapse, x=x, y=y)
        assert found.json() == expected.json()
    found, expected = both(whole, parts, "limits", **collapse)
    assert found.json() == expected.json()
    found, expected = both(whole, parts, "contours", **collapse, levels="0.5,1", level=2)
    assert found.json() == expected.json()
    found, _ = both(whole, parts, "snapshot", **collapse)
    assert found.content.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "region",
    ["circle(640,130,60)", "icrs; circle(30.05,10.02,60\")", "annulus(900,900,20,50)",
     "polygon(1,1,90,5,40,80)", "physical; box(300,300,20,10,30)"],
)  # fmt: skip
def test_statistics_of_a_region_are_those_of_the_whole_plane(
    whole: TestClient, parts: TestClient, region: str
) -> None:
    given = {"collapse": "mean", "region": region}
    found, expected = both(whole, parts, "statistics", **given)
    ours, theirs = found.json(), expected.json()
    for key, value in theirs.items():
        # Sums are over blocks that begin at another pixel.
        assert ours[key] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value)
    for name in ("histogram", "percentiles"):
        found, expected = both(whole, parts, name, **given)
        assert found.json() == expected.json()


def test_requests_for_too_much_of_a_large_plane_say_what_to_ask_for(parts: TestClient) -> None:
    for name, given, hint in (
        ("image", {"level": 1}, "level 2"),
        ("image", {"level": 0, "format": "fits"}, "level 2"),
        ("statistics", {}, "region"),
        ("histogram", {"region": "box(800,600,1500,1200)"}, "smaller region"),
    ):
        answer = parts.get(f"/api/v1/{name}", params=NAME | {"collapse": "mean"} | given)
        assert answer.status_code == 413
        assert hint in answer.json()["hint"] + answer.json()["detail"]
    described = parts.get("/api/v1/dataset", params=NAME).json()
    assert described["collapse_level"] == 2


def test_map_of_a_large_plane_is_a_job_that_can_be_cancelled(
    parts: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, sizes = threading.Event(), threading.Event(), []
    moment = tf.Image.moment

    def slow(self: tf.Image, *args: Any, **options: Any) -> tf.Plane:
        found = moment(self, *args, **options)
        sizes.append(found.values.nbytes)
        if len(sizes) == 3:
            begun.set()
            go_on.wait(10)
        return found

    monkeypatch.setattr(tf.Image, "moment", slow)
    given = NAME | {"collapse": "moment0", "level": 3, "job": "map"}
    answers: list[Any] = []
    thread = threading.Thread(
        target=lambda: answers.append(parts.get("/api/v1/image", params=given))
    )
    thread.start()
    assert begun.wait(20)
    with parts.stream("GET", "/api/v1/jobs/map/events") as events:
        assert parts.delete("/api/v1/jobs/map").status_code == 204
        go_on.set()
        texts = [line for line in events.iter_lines() if line.startswith('data: {"f')]
    thread.join(20)
    assert answers[0].status_code == 409
    assert 0.1 < float(texts[0].partition(": ")[2].partition(": ")[2].rstrip("}")) < 0.6
    # Memory does not grow with the plane: every part has at most a block.
    assert max(sizes) <= 1 << 20
    sizes.clear()
    assert parts.get("/api/v1/image", params=given).status_code == 200
    assert max(sizes) <= 1 << 20
    assert len(sizes) > 10
