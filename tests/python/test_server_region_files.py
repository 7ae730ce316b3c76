"""Region files of the server, both ways with names and colours, and tables of their statistics."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regions as astropy_regions
from astropy.io import fits
from fastapi.testclient import TestClient

import tachyfits as tf
from servedcube import NAME, cube
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

SHAPES = [
    "circle(40.123456789,50.5,7.25)", "ellipse(30,30,5,3,20.5)", "box(20.75,60,8,4,-15)",
    "annulus(33.3,44.4,5.5,9.75)", "ellipse(50,50,3,2,6,4,35.0)", "polygon(10,10,19.5,10,19,19)",
    "point(12.125,13.5)", "line(5,6,17.25,18)", "line(5,6,17.25,18,30,12.5,40,40)",
]  # fmt: skip
NAMES = ["core", "", "knot B", "ring", "outer ring", "wedge", "", "cut", "path"]
COLOURS = ["#58a6ff", "#ffa657", "red", "", "#3fd68f", "cyan", "#c297ff", "#ffdf5d", "#39d0d8"]


def line(shape: str, name: str, color: str) -> str:
    words = (f" text={{{name}}}" if name else "") + (f" color={color}" if color else "")
    return f"{shape} #{words}" if words else shape


LINES = [line(*words) for words in zip(SHAPES, NAMES, COLOURS, strict=True)]


def numbers(text: str) -> np.ndarray[Any, Any]:
    return np.array(text.split("(")[1].rstrip(")").split(","), dtype=float)


@pytest.mark.parametrize("form", ["ds9", "crtf"])
@pytest.mark.parametrize("system", ["image", "sky"])
def test_files_give_shapes_names_and_colours_back(
    client: TestClient, form: str, system: str
) -> None:
    given = {"id": NAME, "format": form, "system": system}
    shapes, names, colours = map(list, (SHAPES, NAMES, COLOURS))
    if form == "crtf":
        refused = client.post("/api/v1/regions/file", params=given, content=LINES[4])
        assert "no elliptical annuli" in refused.json()["detail"]
        for words in (shapes, names, colours):
            del words[4]
    lines = "\n".join(map(line, shapes, names, colours))
    file = client.post("/api/v1/regions/file", params=given, content=lines)
    assert file.status_code == 200, file.text
    found = client.post("/api/v1/regions/pixels", params={"id": NAME}, content=file.text).json()
    assert found["excluded"] == found["left_out"] == []
    assert [text.split("(")[0] for text in found["regions"]] == [
        text.split("(")[0] for text in shapes
    ]
    assert found["labels"] == names
    assert found["colors"] == colours
    for text, now in zip(shapes, found["regions"], strict=True):
        # On the sky sizes have the scale at their centre, which the projection changes a little.
        tolerance = 1e-12 if system == "image" else 2e-2
        ours, theirs = numbers(now), numbers(text)
        if text.startswith(("box", "ellipse")):
            ours[-1] = (ours[-1] - theirs[-1] + 90) % 180 - 90 + theirs[-1]
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=tolerance)
        places = 2 if text.split("(")[0] not in ("polygon", "line") else None
        np.testing.assert_allclose(numbers(now)[:places], numbers(text)[:places], atol=1e-8)


def test_files_are_read_by_astropy_regions(client: TestClient) -> None:
    for form in ("ds9", "crtf"):
        given = {"id": NAME, "format": form, "system": "image"}
        lines = LINES[:4] + LINES[5:8]
        text = client.post("/api/v1/regions/file", params=given, content="\n".join(lines)).text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = astropy_regions.Regions.parse(text, format=form)
        assert len(found) == len(lines)
        assert found[0].center.x == pytest.approx(39.123456789, abs=1e-12)


def test_segments_and_polylines_are_lines(client: TestClient) -> None:
    segment = "# segment(1,2,3,4,5.5,6) color=green text={a}\n"
    ds9 = f"# Region file format: DS9\nimage\n{segment}circle(9,9,2)\n"
    casa = "#CRTFv0\npolyline[[0pix, 1pix], [2pix, 3pix], [4.5pix, 5pix]], label='a', color=green\n"
    for text in (ds9, casa):
        found = client.post("/api/v1/regions/pixels", params={"id": NAME}, content=text).json()
        assert found["regions"][0] == "line(1.0,2.0,3.0,4.0,5.5,6.0)"
        assert (found["labels"][0], found["colors"][0]) == ("a", "green")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = tf.regions("line(1,2,3,4,5.5,6)")[0]
    assert path == tf.Line(((0, 1), (2, 3), (4.5, 5)))


@pytest.fixture
def turned(tmp_path: Path) -> Iterator[TestClient]:
    """A server of a Galactic image whose north is not up."""
    header = fits.Header()
    for key, value in {
        "CTYPE1": "GLON-TAN", "CRVAL1": 30.0, "CRPIX1": 50.0, "CTYPE2": "GLAT-TAN", "CRVAL2": 40.0,
        "CRPIX2": 50.0, "CD1_1": -2e-4, "CD1_2": 1e-4, "CD2_1": 1e-4, "CD2_2": 2e-4,
    }.items():  # fmt: skip
        header[key] = value
    fits.writeto(tmp_path / "turned.fits", np.zeros((100, 100), np.float32), header)
    with TestClient(create_app(Settings(paths=(tmp_path / "turned.fits",)))) as found:
        yield found


@pytest.mark.parametrize("form", ["ds9", "crtf"])
def test_angles_on_the_sky_are_those_of_the_image(turned: TestClient, form: str) -> None:
    given = {"id": "turned.fits", "format": form, "system": "sky"}
    shapes = [shape for shape in SHAPES if form == "ds9" or shape.count(",") != 6]
    file = turned.post("/api/v1/regions/file", params=given, content="\n".join(shapes))
    assert file.status_code == 200, file.text
    found = turned.post(
        "/api/v1/regions/pixels", params={"id": "turned.fits"}, content=file.text
    ).json()
    for text, now in zip(shapes, found["regions"], strict=True):
        ours, theirs = numbers(now), numbers(text)
        if text.startswith(("box", "ellipse")):
            assert (ours[-1] - theirs[-1] + 90) % 180 - 90 == pytest.approx(0, abs=1e-3)
            ours, theirs = ours[:-1], theirs[:-1]
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


HOSTILE = [
    "circle(1,2,3) # text={" + "{" * 2000 + "}", "circle(1,2,3) # color=javascript:alert(1)",
    "circle(1,2,3) # text={a\x00b}", "circle(1,2,3) # color=#12", "circle(1e308,1e308,1e308)",
    "circle(1,2,3) # text={'\"],[[}", "line(1,1,1,1,1,1)", "circle(nan,1,1)", "line(1,1,2)",
    "circle(1,2,3) # text={<script>}", "polygon(" + ",".join(["1"] * 20_000) + ")",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("form", ["ds9", "crtf"])
def test_hostile_lines_are_refused_or_stay_one_region(
    client: TestClient, text: str, form: str
) -> None:
    for system in ("image", "sky"):
        given = {"id": NAME, "format": form, "system": system}
        file = client.post("/api/v1/regions/file", params=given, content=text)
        assert file.status_code in (200, 400, 413), file.text
        if file.status_code != 200:
            continue
        found = client.post("/api/v1/regions/pixels", params={"id": NAME}, content=file.text)
        assert found.status_code in (200, 400, 413), found.text
        if found.status_code == 200:
            assert len(found.json()["regions"]) <= 1
            assert "javascript" not in file.text


# Statistics of all regions.


def test_table_of_statistics_is_that_of_the_engine(client: TestClient) -> None:
    lines = [LINES[number] for number in (0, 1, 2, 3, 5)] + ["circle(9000,9000,2) # text={far}"]
    given = {"id": NAME, "channel": 3}
    found = client.post("/api/v1/regions/statistics", params=given, content="\n".join(lines)).json()
    columns, plane = found["columns"], cube().cutout(section=(2, ...))
    statistics = [name for name in columns if name not in ("name", "region")]
    expected = plane.measure([text.partition("#")[0] for text in lines[:-1]], statistics)
    for name in statistics:
        np.testing.assert_array_equal(columns[name][:-1], expected[name])
    assert columns["name"] == ["core", "2", "knot B", "ring", "wedge", "far"]
    assert (columns["count"][-1], columns["mean"][-1]) == (0, None)
    assert found["unit"] == cube().unit
    given["format"] = "csv"
    text = client.post("/api/v1/regions/statistics", params=given, content="\n".join(lines)).text
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0][:3] == ["name", "region", "count"]
    assert rows[0][5] == f"mean ({cube().unit})"
    assert [float(row[5]) for row in rows[1:-1]] == expected["mean"].tolist()
    assert rows[-1][5] == ""


def test_table_of_a_map_has_its_unit(client: TestClient) -> None:
    given = {"id": NAME, "collapse": "moment0", "unit": "km/s"}
    found = client.post(
        "/api/v1/regions/statistics", params=given, content="circle(40,40,5)"
    ).json()
    plane = cube().moment(0, unit="km/s")
    assert found["unit"] == plane.unit
    y, x = np.mgrid[: plane.values.shape[0], : plane.values.shape[1]]
    inside = np.hypot(x - 39, y - 39) <= 5
    assert found["columns"]["sum"][0] == pytest.approx(np.nansum(plane.values[inside]), rel=1e-12)


def test_names_are_no_formulas_of_a_spreadsheet(client: TestClient) -> None:
    given = {"id": NAME, "format": "csv"}
    text = client.post(
        "/api/v1/regions/statistics", params=given, content="circle(9,9,3) # text={=cmd()}"
    ).text
    assert text.splitlines()[1].startswith("'=cmd()")
