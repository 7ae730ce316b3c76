"""Figures of the page: the engine draws what is shown, and says how to draw it elsewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import urllib.parse
from pathlib import Path

import matplotlib
import numpy as np
from astropy.io import fits
from playwright.sync_api import Page, expect

import tachyfits as tf
from realfiles import path_of
from viewerpage import opened, settled

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


def test_figure_has_the_points_and_vectors_that_the_page_shows(
    page: Page, address: str, folder: Path, tmp_path: Path
) -> None:
    """The figure of the page, its command, and the numbers that the page draws."""
    rng = np.random.default_rng(6)
    header = fits.Header()
    for number, cards in enumerate(
        (("RA---TAN", 20.0, 187.7, -1e-3, "deg"), ("DEC--TAN", 15.0, 12.0, 1e-3, "deg"),
         ("FREQ", 1.0, 1.4e9, 1e6, "Hz"), ("STOKES", 1.0, 1.0, 1.0, "")), 1,
    ):  # fmt: skip
        for key, value in zip(("CTYPE", "CRPIX", "CRVAL", "CDELT", "CUNIT"), cards, strict=True):
            header[f"{key}{number}"] = value
    pixels = rng.normal(1, 0.3, (3, 4, 30, 40)).astype("f4")
    fits.writeto(folder / "marked.fits", pixels, header)
    x, y = rng.uniform(0, 40, 60), rng.uniform(0, 30, 60)
    sky = tf.open(folder / "marked.fits")[0].wcs.celestial.pixel_to_world(x, y)
    stars = {"RA": sky.ra.deg, "DEC": sky.dec.deg, "MAG": rng.uniform(10, 20, 60)}
    tf.write(folder / "marks.fits", stars)
    opened(page, address, "ch=2", name="marked.fits")
    page.get_by_role("tab", name="Tables").click()
    page.get_by_role("button", name="Add a catalogue").click()
    page.locator("dialog").get_by_role("button", name=re.compile("^marks.fits")).click()
    page.get_by_label("Condition of rows").fill("MAG < 16")
    page.get_by_label("Condition of rows").press("Enter")
    expect(page.locator("#catalogue-counts")).to_contain_text(f"{(stars['MAG'] < 16).sum()} of")
    page.get_by_role("tab", name="Maps").click()
    page.get_by_label("Pixels from one vector to the next").fill("5")
    page.get_by_role("checkbox", name="Vectors").check()
    expect(page.locator("#vector-note")).to_contain_text("48 vectors")
    settled(page)
    shown: dict[str, list[float]] = page.evaluate(
        "(({catalogues, overlay}) => { const {points} = catalogues.layers[0];"
        " return {x: [...points.x], y: [...points.y], lines: overlay.lines.get('vectors').lines"
        ".flatMap(line => line.flatMap(({x, y}) => [x, y]))}; })(tachyfits)"
    )
    page.get_by_role("tab", name="Save").click()
    page.get_by_label("Format of the figure").select_option("png")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Draw the figure").click()
    saved.value.save_as(tmp_path / "page.png")
    page.get_by_role("button", name="Command and Python").click()
    page.wait_for_function("() => document.querySelector('[aria-label=\"Command line\"]').value")
    text = page.get_by_label("Command line").input_value().replace("figure.pdf", "command.png")
    python = page.get_by_label("Python lines").input_value()
    for name in ("marked.fits", "marks.fits"):
        (tmp_path / name).symlink_to(folder / name)
    for command in text.splitlines():
        words = shlex.split(command)
        subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, check=True)
    assert (tmp_path / "page.png").read_bytes() == (tmp_path / "command.png").read_bytes()
    assert "Catalogue('marks.fits', where='MAG < 16', color='#39d0d8')" in python
    assert "Vectors(q, u, step=5)" in python
    # The lines draw points and vectors where the page shows them.
    python = python.replace("save_figure(plane.plot(", "drawn = (plane.plot(")
    python = python.replace(", 'figure.pdf')", ")") + (
        "axes = drawn.axes[0]\n"
        "print(*(axes.lines[0].get_xydata() + 1).ravel())\n"
        "print(*(v for path in axes.collections[-1].get_paths() for v in (path.vertices + 1)"
        ".ravel()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", python], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    points, lines = (np.array(line.split(), dtype=float) for line in done.stdout.splitlines())
    order = np.lexsort((shown["y"], shown["x"]))
    of_page = np.column_stack((shown["x"], shown["y"]))[order]
    points = points.reshape(-1, 2)
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    np.testing.assert_allclose(points, of_page, atol=1e-4)
    np.testing.assert_allclose(lines, shown["lines"], atol=1e-9)
    # Unchecked, they are left out.
    page.get_by_role("checkbox", name="Catalogues").uncheck()
    page.get_by_role("checkbox", name="Vectors").last.uncheck()
    with page.expect_response(lambda answer: "figure/lines" in answer.url) as answered:
        page.get_by_role("button", name="Command and Python").click()
    assert "catalogue" not in answered.value.json()["command"]
    assert "vectors" not in answered.value.json()["command"]
