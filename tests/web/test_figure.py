"""Figures of the page: the engine draws what is shown, and says how to draw it elsewhere."""

from __future__ import annotations

import shlex
import subprocess
import sys
import urllib.parse
from pathlib import Path

import matplotlib
from playwright.sync_api import Page

from realfiles import path_of
from viewerpage import opened

CUBE = path_of("data/cubes/ngc6946.fits")


def test_figure_is_what_its_command_draws(page: Page, address: str, tmp_path: Path) -> None:
    opened(
        page,
        address,
        "image=moment0,20,60,0.004&along=km/s&map=red-blue&inv=true&r=0:circle(40,40,6)&grid=true",
    )
    page.get_by_role("tab", name="Save").click()
    page.get_by_label("Format of the figure").select_option("png")
    page.get_by_label("Title of the figure").fill("It's a test")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Draw the figure").click()
    saved.value.save_as(tmp_path / "page.png")
    page.get_by_role("button", name="Command and Python").click()
    page.wait_for_function("() => document.querySelector('[aria-label=\"Command line\"]').value")
    text = page.get_by_label("Command line").input_value().replace("figure.pdf", "command.png")
    (tmp_path / CUBE.name).symlink_to(CUBE)
    command = shlex.split(text)
    subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, check=True)
    assert (tmp_path / "page.png").read_bytes() == (tmp_path / "command.png").read_bytes()
    assert "outline" in text
    assert "--cmap=RdBu " in text
    # All colour maps of the page have a name of matplotlib.
    names = page.evaluate("import('./colourmaps.js').then(found => Object.keys(found.SAMPLES))")
    for name in names:
        page.evaluate("map => tachyfits.store.set({map})", name)
        with page.expect_response(lambda answer: "figure/lines" in answer.url) as answered:
            page.get_by_role("button", name="Command and Python").click()
        query = urllib.parse.urlsplit(answered.value.url).query
        assert urllib.parse.parse_qs(query)["colormap"][0] in matplotlib.colormaps
    assert page.get_by_label("Python lines").input_value().startswith("import numpy as np")
