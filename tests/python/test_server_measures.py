"""The server's measurements: statistics, histograms, cuts, contours, grids and regions."""

from __future__ import annotations

import io
import json
import struct
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.io import fits
from fastapi.testclient import TestClient

import tachyfits as tf
from servedcube import CUBE, NAME, cube, pixels_of
from tachyfits.cli import run
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once


def asked(client: TestClient, name: str, **parameters: Any) -> Any:
    answer = client.get(f"/api/v1/{name}", params={"id": NAME} | parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("parameters", "section", "region"),
    [
        ({"channel": 3}, np.s_[2:3], None),
        ({"channels": "2:5"}, np.s_[1:5], None),
        ({"channels": "2:9:3"}, np.s_[1:9:3], None),
        ({"channels": "9:1:2"}, np.s_[8::-2], None),
        ({"channels": "9:1", "region": "circle(30,40,9)"}, np.s_[8::-1], "circle(30,40,9)"),
        ({}, None, None),
        ({"channel": 4, "region": "circle(30,40,9)"}, np.s_[3:4], "circle(30,40,9)"),
    ],
)
def test_statistics_are_those_of_the_engine(
    client: TestClient, parameters: dict[str, Any], section: Any, region: str | None
) -> None:
    expected = cube().select(region, section=section).stats()
    found = asked(client, "statistics", **parameters)
    assert (found["count"], found["undefined"]) == (expected.count, expected.nan)
    for name in ("sum", "mean", "rms", "std", "min", "max"):
        assert found[name] == getattr(expected, name)
    for name in ("min", "max"):
        x, y, z = found[f"{name}_position"]
        assert cube()[z - 1, y - 1, x - 1] == found[name]


def test_histogram_and_percentiles_are_those_of_the_engine(client: TestClient) -> None:
    expected = cube().select(section=np.s_[1:4]).histogram(20)
    found = asked(client, "histogram", bins=20, channels="2:4")
    np.testing.assert_array_equal(found["counts"], expected.counts)
    assert found["low"] == expected.edges[0]
    limited = asked(client, "histogram", bins=5, channel=2, low=0, high=1)
    assert sum(limited["counts"]) + limited["below"] + limited["above"] == 100 * 100
    percent = asked(client, "percentiles", q="5,50,99.5", channel=2)
    expected_values = cube().select(section=np.s_[1:2]).percentile([5, 50, 99.5])
    np.testing.assert_array_equal(percent["values"], expected_values)


def test_statistics_of_a_collapsed_plane(client: TestClient) -> None:
    plane = cube().select(channels=slice(1, 6)).collapse("max")
    found = asked(client, "statistics", collapse="max", channels="2:6")
    assert found["max"] == plane.values.max()
    limits = asked(client, "limits", collapse="max", channels="2:6", method="minmax")
    assert limits == {"low": plane.values.min(), "high": plane.values.max()}
    zscale = asked(client, "limits", channel=5)
    assert plane.values.min() <= zscale["high"] <= plane.values.max()


def test_axis_is_given_in_any_unit(client: TestClient) -> None:
    options: list[dict[str, str]] = [
        {}, {"unit": "m/s"}, {"unit": "GHz", "rest": "1.42 GHz", "convention": "radio"},
    ]  # fmt: skip
    for extra in options:
        expected = cube().spectrum(**extra).axis  # type: ignore[arg-type]
        found = asked(client, "axis", **extra)
        np.testing.assert_array_equal(found["values"], expected.values)
        assert found["unit"] == expected.unit


def test_position_velocity_cut_is_the_engines(client: TestClient) -> None:
    expected = cube().pv([(9, 19), (59, 49)], width=3)
    parameters = {"id": NAME, "path": "10,20 60,50", "width": 3, "error": 0}
    answer = client.get("/api/v1/pv", params=parameters)
    np.testing.assert_array_equal(pixels_of(answer), expected.read(dtype=np.float32))
    assert answer.headers["Pv-Unit"] == "deg"
    file = client.get("/api/v1/pv", params=parameters | {"format": "fits"})
    with fits.open(io.BytesIO(file.content)) as hdus:
        np.testing.assert_array_equal(hdus[0].data, expected.read())
    for path in ("1,1 2,2 3,nan", "10,20", "circle(1,1,2)", "1,1 1e9,1e9"):
        refused = client.get("/api/v1/pv", params=parameters | {"path": path})
        assert refused.status_code in (400, 413)


def test_grid_lines_are_where_astropy_has_them(client: TestClient) -> None:
    for frame in (None, "galactic"):
        extra = {} if frame is None else {"frame": frame}
        found = asked(client, "grid", lines=5, **extra)
        sky = cube().wcs.celestial
        shown = 0
        for kind in ("longitude", "latitude"):
            assert 2 <= len(found[kind]) <= 12
            for line in found[kind]:
                assert line["label"]
                if kind == "longitude":
                    assert 0 <= line["value"] < 360
                    assert not line["label"].startswith("-")
                for part in line["parts"]:
                    x, y = np.array(part).T
                    at = sky.pixel_to_world(x - 1, y - 1).transform_to(found["frame"])
                    along = at.spherical.lon if kind == "longitude" else at.spherical.lat
                    assert np.abs((along.deg - line["value"] + 180) % 360 - 180).max() < 1e-5
                    shown += len(part)
                for end in line["ends"]:
                    assert 0.4 <= end["at"] <= 100.6
        assert shown > 100


def test_contours_enclose_the_pixels_above_their_value(client: TestClient) -> None:
    plane = cube()[4].astype(np.float64)
    value = float(np.percentile(plane, 95))
    found = asked(client, "contours", levels=repr(value), channel=5)
    (contour,) = found["contours"]
    assert found["level"] == 0
    assert contour["value"] == value
    points = np.concatenate([np.reshape(line, (-1, 2)) for line in contour["lines"]])
    # Each point lies between two pixels, one on each side of the value.
    x, y = points.T - 1
    low = np.array([plane[int(np.floor(b)), int(np.floor(a))] for a, b in zip(x, y, strict=True)])
    up = np.array([plane[int(np.ceil(b)), int(np.ceil(a))] for a, b in zip(x, y, strict=True)])
    near = (np.minimum(low, up) <= value + 1e-3) & (np.maximum(low, up) >= value - 1e-3)
    assert near.mean() > 0.98


def test_contours_of_one_image_are_placed_on_another(tmp_path: Path) -> None:
    pixels = np.zeros((40, 40), dtype=np.float32)
    pixels[19:22, 9:12] = 1
    other = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 30.0, "CRVAL2": 10.0,
             "CDELT1": -0.01, "CDELT2": 0.01, "CRPIX1": 20.0, "CRPIX2": 20.0}  # fmt: skip
    target = other | {"CDELT1": -0.005, "CDELT2": 0.005, "CRPIX1": 40.0, "CRPIX2": 40.0}
    for name, header in (("one.fits", other), ("two.fits", target)):
        hdu = fits.PrimaryHDU(pixels if name == "one.fits" else np.zeros((80, 80)))
        hdu.header.update(header)
        hdu.writeto(tmp_path / name)
    with TestClient(create_app(Settings(paths=(tmp_path,)))) as client:
        folder = tmp_path.name
        answer = client.get(
            "/api/v1/contours",
            params={"id": f"{folder}/one.fits", "levels": "0.5", "onto": f"{folder}/two.fits"},
        )
        (line,) = answer.json()["contours"][0]["lines"]
    x, y = np.reshape(line, (-1, 2)).T
    # Pixel (11, 21) of the one is (22, 42) of the other, at half the scale.
    np.testing.assert_allclose([x.min(), x.max()], [19, 25], atol=0.02)
    np.testing.assert_allclose([y.min(), y.max()], [39, 45], atol=0.02)


def test_snapshot_is_a_picture(client: TestClient) -> None:
    answer = client.get(
        "/api/v1/snapshot",
        params={"id": NAME, "collapse": "moment0", "stretch": "asinh", "region": "circle(40,40,9)"},
    )
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", answer.content[16:24])
    assert width > 300 < height
    wrong = client.get("/api/v1/snapshot", params={"id": NAME, "colormap": "no_such_map"})
    assert wrong.status_code == 400


DS9 = """# Region file format: DS9 version 4.1
global color=green
image
circle(40,50,7)
-box(40,50,4,2,30)
fk5
circle(308.7,60.15,60")
"""


def test_region_files_are_read_as_text_alone(client: TestClient, tmp_path: Path) -> None:
    answer = client.post("/api/v1/regions/pixels", params={"id": NAME}, content=DS9)
    found = answer.json()
    assert found["regions"][0] == "circle(40.0,50.0,7.0)"
    assert found["excluded"][0].startswith("box(40.0,50.0,4.0,2.0,30")
    x, y = map(float, found["regions"][1].split("(")[1].split(",")[:2])
    at = cube().wcs.celestial.world_to_pixel(SkyCoord(308.7, 60.15, unit="deg", frame="fk5"))
    np.testing.assert_allclose([x - 1, y - 1], at, atol=1e-6)
    secret = tmp_path / "secret.reg"
    secret.write_text("circle(1,2,3)")
    for name in (str(secret), f"@{secret}", f"file://{secret}", str(CUBE)):
        refused = client.post("/api/v1/regions/pixels", params={"id": NAME}, content=name)
        assert refused.status_code == 400
        spectrum = client.get("/api/v1/spectrum", params={"id": NAME, "region": name})
        assert spectrum.status_code == 400


@pytest.mark.parametrize(("form", "system"), [("ds9", "image"), ("ds9", "sky"), ("crtf", "sky")])
def test_region_files_are_written_and_read_again(
    client: TestClient, form: str, system: str
) -> None:
    texts = ["circle(40,50,7)", "ellipse(30,30,5,3,20)", "box(20,60,8,4,15)",
             "polygon(1,1,9,1,9,9)"]  # fmt: skip
    parameters = {"id": NAME, "format": form, "system": system}
    file = client.post("/api/v1/regions/file", params=parameters, content="\n".join(texts))
    assert file.status_code == 200, file.text
    again = client.post("/api/v1/regions/pixels", params={"id": NAME}, content=file.text)
    assert again.status_code == 200, again.text
    found = again.json()["regions"]
    for text, now in zip(texts, found, strict=True):
        expected = np.array(text.split("(")[1].rstrip(")").split(","), dtype=float)
        assert now.split("(")[0] == text.split("(")[0]
        got = np.array(now.split("(")[1].rstrip(")").split(","), dtype=float)
        np.testing.assert_allclose(got, expected, atol=0.02)


def test_progress_of_a_long_request_is_told_and_it_can_be_cancelled(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    collapse = tf.Image.collapse

    def slow(self: tf.Image, *args: Any, progress: Any = None, **options: Any) -> tf.Plane:
        progress(1, 4)
        begun.set()
        go_on.wait(10)
        return collapse(self, *args, progress=progress, **options)

    monkeypatch.setattr(tf.Image, "collapse", slow)
    answers: list[Any] = []
    parameters = {"id": NAME, "collapse": "std", "job": "map-1"}
    thread = threading.Thread(
        target=lambda: answers.append(client.get("/api/v1/image", params=parameters))
    )
    thread.start()
    assert begun.wait(10)
    assert client.get("/api/v1/image", params=parameters).status_code == 409
    texts: list[str] = []
    with client.stream("GET", "/api/v1/jobs/map-1/events") as events:
        assert client.delete("/api/v1/jobs/map-1").status_code == 204
        go_on.set()
        texts += events.iter_lines()
    thread.join(10)
    assert answers[0].status_code == 409
    assert 'data: {"fraction": 0.25}' in texts
    assert texts[-3:-1] == ["event: end", "data: {}"]
    assert client.delete("/api/v1/jobs/map-1").status_code == 404


def polygon(count: int) -> str:
    """Return a wavy ring of many vertices, with all digits."""
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    radii = 25 + 5 * np.sin(9 * angles)
    x, y = 50 + radii * np.cos(angles), 50 + radii * np.sin(angles)
    points = zip(x.tolist(), y.tolist(), strict=True)
    return f"polygon({','.join(f'{x!r},{y!r}' for x, y in points)})"


def test_polygon_of_a_thousand_vertices_is_sent_as_the_body(client: TestClient) -> None:
    region = polygon(1000)
    assert 30_000 < len(region) < 50_000
    answer = client.post("/api/v1/spectrum", params={"id": NAME}, content=region)
    assert answer.status_code == 200, answer.text
    np.testing.assert_array_equal(answer.json()["values"], cube().spectrum(region).values)
    assert answer.headers["Cache-Control"] == "no-store"
    assert "ETag" not in answer.headers
    # The same in the address, as far as servers and proxies take it.
    assert client.get("/api/v1/spectrum", params={"id": NAME, "region": region}).json() == (
        answer.json()
    )
    for name in ("statistics", "histogram", "percentiles", "cutout/size"):
        posted = client.post(f"/api/v1/{name}", params={"id": NAME}, content=region)
        assert posted.json() == asked(client, name, region=region)
    cutout = client.post("/api/v1/cutout", params={"id": NAME}, content=region)
    assert (
        cutout.content
        == client.get("/api/v1/cutout", params={"id": NAME, "region": region}).content
    )
    picture = client.post("/api/v1/snapshot", params={"id": NAME}, content=region)
    assert picture.content.startswith(b"\x89PNG")
    path = "10,20 30,40 60,41"
    diagram = client.post("/api/v1/pv", params={"id": NAME, "error": 0}, content=path)
    got = client.get("/api/v1/pv", params={"id": NAME, "error": 0, "path": path})
    np.testing.assert_array_equal(pixels_of(diagram), pixels_of(got))


def test_body_with_a_region_has_limits(client: TestClient) -> None:
    twice = client.post(
        "/api/v1/spectrum", params={"id": NAME, "region": "point(1,1)"}, content="point(2,2)"
    )
    assert twice.status_code == 400
    assert "both region and a body" in twice.json()["detail"]
    none = client.post("/api/v1/statistics", params={"id": NAME, "channel": 3})
    assert none.json() == asked(client, "statistics", channel=3)
    longer = client.post("/api/v1/spectrum", params={"id": NAME}, content=polygon(2000))
    assert longer.status_code == 413
    assert "50000 characters" in longer.json()["detail"]


def test_the_server_and_the_command_line_have_the_same_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hdu = fits.PrimaryHDU(np.array([[np.inf, -np.inf], [np.nan, 1.5]], "f4"))
    hdu.header["GAIN"] = 1.5 - 2j
    hdu.writeto(tmp_path / "odd.fits")
    assert run(["header", str(tmp_path / "odd.fits"), "--json"]) == 0
    header = json.loads(capsys.readouterr().out)
    assert run(["stats", str(tmp_path / "odd.fits"), "--json"]) == 0
    (stats,) = json.loads(capsys.readouterr().out)["statistics"]
    with TestClient(create_app(Settings(paths=(tmp_path,)))) as client:
        at = {"id": f"{tmp_path.name}/odd.fits"}
        assert client.get("/api/v1/header", params=at).json()["cards"] == header["cards"]
        found = client.get("/api/v1/statistics", params=at).json()
        pixels = [
            client.get("/api/v1/pixel", params=at | {"x": x, "y": y}).json()["value"]
            for y in (1, 2) for x in (1, 2)
        ]  # fmt: skip
    assert pixels == ["Infinity", "-Infinity", None, 1.5]
    assert (found["min"], found["max"]) == (stats["min"], stats["max"]) == ("-Infinity", "Infinity")
    assert [1.5, -2.0] in [card["value"] for card in header["cards"]]


def test_noise_is_the_median_deviation(client: TestClient) -> None:
    pixels = cube().read().astype(np.float64)

    def sigma(values: Any) -> float:
        return 1.482602218505602 * float(np.nanmedian(np.abs(values - np.nanmedian(values))))

    for given, values in (
        ({"channels": "1:10,90:101"}, np.concatenate([pixels[:10], pixels[89:]])),
        ({"channel": 40}, pixels[39]),
        (
            {"collapse": "mean", "channels": "1:10"},
            cube().select(channels=slice(10)).collapse("mean").values,
        ),
    ):
        found = client.get("/api/v1/noise", params={"id": NAME, **given}).json()
        assert found["noise"] == pytest.approx(sigma(values), rel=1e-6)
        assert found["level"] == pytest.approx(float(np.nanmedian(values)), rel=1e-6)
        assert (found["unit"], found["step"]) == (cube().unit, 1)
