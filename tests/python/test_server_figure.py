"""Figures of the server: the command and the Python lines beside them draw the same bytes."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table
from fastapi.testclient import TestClient

import tachyfits as tf
from servedcube import CUBE, NAME
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

FIGURES: list[dict[str, Any]] = [
    {"channel": 40},
    {"channel": 40, "low": -0.001, "high": 0.02, "colormap": "gray", "title": "A 'title'; rm -rf"},
    {"collapse": "moment0", "channels": "20:60", "threshold": 0.004, "unit": "km/s", "width": 7.1,
     "levels": "0.1,0.5", "scale_bar": True, "region": "circle(40,40,6)\nbox(30,60,9,4,20)"},
    {"collapse": "max", "stretch": "asinh"},
    {"channel": 40, "overlay": NAME, "overlay_collapse": "mean", "overlay_levels": "0.001,0.002",
     "levels": "0.01"},
    {"channel": 40, "overlay": NAME, "overlay_channel": 42, "overlay_levels": "0.005"},
]  # fmt: skip


def ask(client: TestClient, name: str, given: dict[str, Any]) -> Any:
    given = {"id": NAME, **given}
    region = given.pop("region", None)
    path = f"/api/v1/figure{name}"
    if region is None:
        return client.get(path, params=given)
    return client.post(path, params=given, content=region)


@pytest.mark.parametrize(
    ("given", "form"),
    [(FIGURES[0], "png"), (FIGURES[1], "svg"), (FIGURES[2], "pdf"), (FIGURES[3], "png"),
     (FIGURES[4], "svg"), (FIGURES[5], "png")],
)  # fmt: skip
def test_command_and_python_lines_draw_the_same_figure(
    client: TestClient, tmp_path: Path, given: dict[str, Any], form: str
) -> None:
    answer = ask(client, "", given | {"format": form})
    assert answer.status_code == 200, answer.text
    lines = ask(client, "/lines", given).json()
    (tmp_path / CUBE.name).symlink_to(CUBE)
    # Contours of another image take a command before.
    commands = lines["command"].replace("figure.pdf", f"command.{form}").splitlines()
    assert len(commands) == 1 + ("overlay" in given)
    for command in map(shlex.split, commands):
        assert command[0] == "tachyfits"
        subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, check=True)
    python = lines["python"].replace("figure.pdf", f"python.{form}")
    subprocess.run([sys.executable, "-c", python], cwd=tmp_path, check=True)
    assert (tmp_path / f"command.{form}").read_bytes() == answer.content
    assert (tmp_path / f"python.{form}").read_bytes() == answer.content


def test_figure_is_as_wide_as_a_column(client: TestClient) -> None:
    content = ask(client, "", {"channel": 40, "format": "svg"}).text
    assert 'width="252pt"' in content  # 3.5 inches


def test_contours_of_another_image_are_drawn_and_kept_by_no_cache(client: TestClient) -> None:
    plain = ask(client, "", {"channel": 40, "format": "png"})
    drawn = ask(client, "", {**FIGURES[5], "format": "png"})
    assert plain.content != drawn.content
    assert "ETag" in plain.headers
    assert "ETag" not in drawn.headers
    assert drawn.headers["Cache-Control"] == "no-store"
    for given in ({"overlay": NAME}, {"overlay_levels": "1"}):
        answer = ask(client, "", given)
        assert answer.status_code == 400
        assert "both overlay and overlay_levels" in answer.json()["detail"]
    answer = ask(client, "", {"overlay": "none.fits", "overlay_levels": "1"})
    assert answer.status_code == 404


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server of a cube of I, Q and U, and of catalogues of it."""
    folder = tmp_path_factory.mktemp("marks") / "served"
    folder.mkdir()
    rng = np.random.default_rng(4)
    header = fits.Header()
    for number, cards in enumerate(
        (("RA---TAN", 20.0, 187.7, -1e-3), ("DEC--TAN", 15.0, 12.0, 1e-3),
         ("FREQ", 1.0, 1.4e9, 1e6), ("STOKES", 1.0, 1.0, 1.0)), 1,
    ):  # fmt: skip
        for key, value in zip(("CTYPE", "CRPIX", "CRVAL", "CDELT"), cards, strict=True):
            header[f"{key}{number}"] = value
    header["BUNIT"], header["CUNIT3"] = "Jy/beam", "Hz"
    pixels = rng.normal(1, 0.3, (3, 5, 30, 40)).astype("f4")
    fits.writeto(folder / "iqu.fits", pixels, header)
    # The same with the polarisation as the third of three axes.
    flat = header.copy()
    for key in ("CTYPE", "CRPIX", "CRVAL", "CDELT"):
        flat[f"{key}3"] = flat.pop(f"{key}4")
    del flat["CUNIT3"]
    fits.writeto(folder / "flat.fits", pixels[:, 0], flat)
    x, y = rng.uniform(0, 40, 50), rng.uniform(0, 30, 50)
    sky = tf.open(folder / "iqu.fits")[0].wcs.celestial.pixel_to_world(x, y)
    stars = {"RA": sky.ra.deg, "DEC": sky.dec.deg, "MAG": rng.uniform(10, 20, 50)}
    tf.write(folder / "stars.fits", {"A": x, "B": y})
    with tf.edit(folder / "stars.fits") as file:
        file.append(stars)
    tf.open(folder / "stars.fits")[2].read().write(folder / "stars.csv")
    Table(stars).write(folder / "stars.vot", format="votable")
    with TestClient(create_app(Settings(paths=(folder,)))) as found:
        yield found


MARKED: list[dict[str, Any]] = [
    {"catalogues": "catalogue=served/stars.fits&table=2&where=MAG%20%3C%2015&color=%23ff0080"},
    {"catalogues": "catalogue=served/stars.csv\ncatalogue=served/stars.fits&table=1&longitude=A"
     "&latitude=B&frame=pixels", "vectors": 5, "collapse": "moment0", "channels": "2:4",
     "vectors_channels": "2:4", "vectors_least": 0.5, "overlay": "served/iqu.fits",
     "overlay_levels": "1.0"},
    {"id": "served/flat.fits", "vectors": 6},
    {"catalogues": "catalogue=served/stars.vot&table=0&where=MAG%20%3C%2015"},
]  # fmt: skip


@pytest.mark.parametrize("given", MARKED)
def test_command_and_python_lines_draw_the_same_points_and_vectors(
    marked: TestClient, tmp_path: Path, given: dict[str, Any]
) -> None:
    given = {"id": "served/iqu.fits", "channel": 2, **given}
    if given["id"] == "served/flat.fits":
        given["channel"] = 1
    answer = marked.get("/api/v1/figure", params=given | {"format": "png"})
    assert answer.status_code == 200, answer.text
    plain = {name: value for name, value in given.items()
             if not name.startswith(("catalogues", "vectors"))}  # fmt: skip
    assert marked.get("/api/v1/figure", params=plain | {"format": "png"}).content != answer.content
    if "catalogues" in given:
        assert answer.headers["Cache-Control"] == "no-store"
    lines = marked.get("/api/v1/figure/lines", params=given).json()
    folder = Path(marked.get("/api/v1/files").json()["entries"][0]["id"])
    assert str(folder) == "served"
    root = marked.app.state.tachyfits.settings.paths[0]
    for path in root.iterdir():
        (tmp_path / path.name).symlink_to(path)
    for command in lines["command"].replace("figure.pdf", "command.png").splitlines():
        words = shlex.split(command)
        subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, check=True)
    python = lines["python"].replace("figure.pdf", "python.png")
    subprocess.run([sys.executable, "-c", python], cwd=tmp_path, check=True)
    assert (tmp_path / "command.png").read_bytes() == answer.content
    assert (tmp_path / "python.png").read_bytes() == answer.content


@pytest.mark.parametrize(
    ("given", "status", "problem"),
    [
        ({"catalogues": "catalogue=served/none.fits"}, 404, "none.fits"),
        ({"catalogues": "table=1"}, 400, "catalogue is missing"),
        ({"catalogues": "catalogue=served/stars.fits&colour=red"}, 400, "colour"),
        ({"catalogues": "catalogue=served/stars.fits&color=red"}, 400, "color"),
        ({"catalogues": "catalogue=served/stars.fits&longitude=RA"}, 400, "latitude"),
        ({"catalogues": "catalogue=served/stars.fits&table=2&where=NONE%3C1"}, 400, "NONE"),
        ({"catalogues": "catalogue=served/stars.fits\n" * 21}, 400, "at most 20"),
        ({"catalogues": "service=http://127.0.0.1/&cone=1,2,3"}, 400, "cone"),
        ({"vectors": 0}, 400, "vectors"),
        ({"id": "served/stars.fits", "vectors": 4}, 404, ""),
    ],
)
def test_invalid_marks_are_refused(
    marked: TestClient, given: dict[str, Any], status: int, problem: str
) -> None:
    answer = marked.get("/api/v1/figure", params={"id": "served/iqu.fits", **given})
    assert answer.status_code == status, answer.text
    assert problem in answer.json()["detail"]


def test_figure_draws_votables_as_other_tables(marked: TestClient) -> None:
    given = {"id": "served/iqu.fits", "catalogues": "catalogue=served/stars.vot"}
    drawn = marked.get("/api/v1/figure", params=given | {"format": "png"})
    assert drawn.status_code == 200
    same = {"id": "served/iqu.fits", "catalogues": "catalogue=served/stars.csv", "format": "png"}
    assert drawn.content == marked.get("/api/v1/figure", params=same).content
