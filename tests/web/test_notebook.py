"""The widget of notebooks around the true page: regions, spectra and places reach Python."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import tachyfits as tf
from tachyfits.server.page import WEB

#: A page that shows a widget as notebooks do, with a model in place of that of a kernel.
CELL = """<!doctype html><title>notebook</title><div id="cell"></div><script type="module">
import widget from "./widget.js";
const values = VALUES, calls = new Map();
window.model = {
  get: name => values[name], set: (name, value) => { values[name] = value; },
  save_changes: () => {}, on: (event, call) => calls.set(event, call),
  off: event => calls.delete(event),
};
window.receive = (name, value) => { values[name] = value; calls.get(`change:${name}`)?.(); };
window.closeCell = widget.render({model, el: document.querySelector("#cell")});
</script>"""


@pytest.fixture
def cube(folder: Path) -> tf.Image:
    image = tf.open(folder / "ngc6946.fits")[0]
    assert isinstance(image, tf.Image)
    return image


@pytest.fixture
def shown(page: Page, cube: tf.Image, tmp_path: Path) -> Iterator[Any]:
    """A widget on a page of another origin than that of its frame, as notebooks are."""
    viewer: Any = cube.view(height=700)
    values = {"link": viewer.link, "height": viewer.height, "_given": {}, "_shown": {}}
    (tmp_path / "widget.js").write_text((WEB / "widget.js").read_text())
    (tmp_path / "cell.html").write_text(CELL.replace("VALUES", json.dumps(values)))
    (tmp_path / "favicon.ico").touch()
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as notebook:
        threading.Thread(target=notebook.serve_forever, daemon=True).start()
        page.goto(f"http://localhost:{notebook.server_port}/cell.html")
        inside = page.frame_locator("iframe")
        expect(inside.locator("#stage")).to_have_attribute("aria-busy", "false")
        expect(inside.locator("#file-name")).to_have_text("ngc6946.fits")
        yield viewer
        notebook.shutdown()


def give(page: Page, viewer: Any) -> None:
    """Tell the page what Python set, as a kernel does."""
    page.evaluate("given => receive('_given', given)", viewer.get_state()["_given"])


def take(page: Page, viewer: Any, condition: str) -> None:
    """Wait until the page has told a state, and give it to Python, as a front end does."""
    page.wait_for_function(f"() => {{ const shown = model.get('_shown'); return {condition}; }}")
    viewer.set_state({"_shown": page.evaluate("model.get('_shown')")})


def test_regions_of_the_page_and_their_spectra_reach_python(
    page: Page, shown: Any, cube: tf.Image
) -> None:
    take(page, shown, "shown.regions?.length === 1")
    (first,) = shown.regions
    np.testing.assert_array_equal(shown.spectra[0].values, cube.spectrum(first).values)
    # Python's regions replace those of the page.
    shown.regions = [tf.Circle(39, 49, 7), "box(60,50,9,4,20)"]
    give(page, shown)
    take(page, shown, "shown.regions.length === 2")
    assert shown.regions == [tf.Circle(39, 49, 7), tf.region("box(60,50,9,4,20)")]
    # A drag in the page.
    inside = page.frames[1]
    box = page.locator("iframe").bounding_box()
    surface = inside.locator("#surface").bounding_box()
    assert box is not None
    assert surface is not None
    at = inside.evaluate("tachyfits.viewer.toScreen({x: 40, y: 50})")
    scale = inside.evaluate("tachyfits.store.state.scale")
    x, y = surface["x"] + at["x"], surface["y"] + at["y"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 5 * scale, y - 3 * scale, steps=5)
    page.mouse.up()
    take(page, shown, "shown.regions[0].text.startsWith('circle(45')")
    circle = shown.regions[0]
    assert (circle.x, circle.y, circle.radius) == pytest.approx((44, 52, 7), abs=0.1)
    for found, region in zip(shown.spectra, shown.regions, strict=True):
        np.testing.assert_array_equal(found.values, cube.spectrum(region).values)


def test_place_that_is_clicked_reaches_python(page: Page, shown: Any, cube: tf.Image) -> None:
    inside = page.frames[1]
    surface = inside.locator("#surface").bounding_box()
    assert surface is not None
    at = inside.evaluate("tachyfits.viewer.toScreen({x: 20, y: 80})")
    page.mouse.click(surface["x"] + at["x"], surface["y"] + at["y"])
    take(page, shown, "shown.clicked")
    assert shown.pixel == pytest.approx((19, 79), abs=0.2)
    expected = cube.wcs.celestial.pixel_to_world(*shown.pixel)
    assert shown.position.separation(expected).arcsec < 1e-6


def test_regions_that_python_sets_first_are_shown_when_the_page_opens(
    page: Page, shown: Any
) -> None:
    shown.regions = ["circle(30,30,4)"]
    page.evaluate("given => model.set('_given', given)", shown.get_state()["_given"])
    page.evaluate(
        "closeCell(); document.querySelector('#cell').replaceChildren();"
        " import('./widget.js').then(found =>"
        " found.default.render({model, el: document.querySelector('#cell')}))"
    )
    take(page, shown, "shown.number === 1 && shown.regions.length === 1")
    assert shown.regions == [tf.Circle(29, 29, 4)]


def test_messages_of_other_windows_are_left_out(page: Page, shown: Any) -> None:
    take(page, shown, "shown.regions?.length === 1")
    page.evaluate("postMessage({tachyfits: {regions: []}}, '*')")
    inside = page.frames[1]
    inside.evaluate("postMessage({tachyfits: {regions: []}}, '*')")
    page.wait_for_timeout(300)
    assert len(page.evaluate("model.get('_shown').regions")) == 1
    assert inside.evaluate("tachyfits.store.state.regions.length") == 1
