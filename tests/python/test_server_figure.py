"""Figures of the server: the command and the Python lines beside them draw the same bytes."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from servedcube import CUBE, NAME

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
