"""The viewer page in a real browser, beside the numbers of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import tachyfits as tf


def opened(page: Page, address: str, hash_: str = "", name: str = "ngc6946.fits") -> None:
    """Open an image and wait until it is drawn."""
    page.goto(f"{address}#id=cubes/{name}&{hash_}")
    expect(page.locator("#file-name")).to_have_text(name)
    settled(page)


def settled(page: Page) -> None:
    expect(page.locator("#stage")).to_have_attribute("aria-busy", "false")


def state(page: Page) -> dict[str, Any]:
    """Return the state of the page's view."""
    found: dict[str, Any] = page.evaluate("JSON.parse(JSON.stringify(tachyfits.store.state))")
    return found


def on_screen(page: Page, x: float, y: float) -> tuple[float, float]:
    """Return where the centre of a pixel (FITS: from 1) is on the page."""
    box = page.locator("#surface").bounding_box()
    assert box is not None
    at = page.evaluate("([x, y]) => tachyfits.viewer.toScreen({x, y})", [x, y])
    return box["x"] + at["x"], box["y"] + at["y"]


def curve(page: Page, region: int) -> np.ndarray[Any, Any]:
    """Return the values of a region's spectrum as the chart draws them."""
    values = page.evaluate(
        "id => { const found = tachyfits.dock.spectra.curves.get(id);"
        " return found ? [...found.values] : []; }",
        region,
    )
    return np.array(values, dtype=np.float64)


def test_pixel_under_the_cursor_is_that_of_the_file(page: Page, address: str, folder: Path) -> None:
    opened(page, address, "ch=40")
    with tf.open(folder / "ngc6946.fits") as file:
        plane = file[0][39]
    for x, y in ((1, 1), (100, 100), (53, 48)):
        page.mouse.move(*on_screen(page, x, y))
        readout = page.locator(f"#readout[data-pixel='{x},{y},40']")
        expect(readout).to_be_visible()
        assert float(readout.get_attribute("data-value") or "nan") == plane[y - 1, x - 1]
    expect(page.locator("#readout")).to_contain_text("FK5")


def test_colours_on_screen_follow_the_pixels(page: Page, address: str, folder: Path) -> None:
    opened(page, address, "ch=40&map=grey&cuts=manual&low=0&high=0.02&r=0:point(1,1)")
    with tf.open(folder / "ngc6946.fits") as file:
        plane = file[0][39]
    for x, y in ((53, 48), (20, 80), (60, 40)):
        red = page.evaluate(
            "([x, y]) => { const {viewer} = tachyfits, {gl} = viewer.renderer;"
            " const at = viewer.toScreen({x, y}), ratio = devicePixelRatio;"
            " const found = new Uint8Array(4);"
            " gl.readPixels(at.x * ratio, gl.canvas.height - at.y * ratio, 1, 1, gl.RGBA,"
            " gl.UNSIGNED_BYTE, found); return found[0]; }",
            [x, y],
        )
        expected = 255 * np.clip(plane[y - 1, x - 1] / 0.02, 0, 1)
        assert abs(red - expected) <= 6


def test_spectrum_follows_a_dragged_region(page: Page, address: str, folder: Path) -> None:
    opened(page, address, "r=0:circle(40,50,7)")
    page.wait_for_function("tachyfits.dock.spectra.curves.has(1)")
    with tf.open(folder / "ngc6946.fits") as file:
        cube = file[0]
        np.testing.assert_array_equal(curve(page, 1), cube.spectrum("circle(40,50,7)").values)
        page.mouse.move(*on_screen(page, 40, 50))
        page.mouse.down()
        seen = set()
        for step in range(1, 9):
            page.mouse.move(*on_screen(page, 40 + 2 * step, 50 - step))
            page.wait_for_timeout(60)
            # The button is still down: what is drawn now was asked for during the drag.
            seen.add(page.evaluate("tachyfits.dock.spectra.curves.get(1).text"))
        page.mouse.up()
        assert len(seen) > 3
        text = page.evaluate("tachyfits.text(tachyfits.store.state.regions[0])")
        page.wait_for_function("t => tachyfits.dock.spectra.curves.get(1).text === t", arg=text)
        region = page.evaluate("tachyfits.store.state.regions[0].values")
        assert region == pytest.approx([56, 42, 7], abs=0.3)
        np.testing.assert_array_equal(curve(page, 1), cube.spectrum(text).values)


def test_channels_are_stepped_and_named_with_their_pixels(page: Page, address: str) -> None:
    opened(page, address, "ch=40")
    number = page.get_by_label("Number of the channel")
    for _ in range(3):
        page.get_by_label("Next channel").click()
    expect(number).to_have_value("43")
    assert page.evaluate("tachyfits.viewer.shown.channel") == 43
    expect(page.locator("#channel-world")).to_contain_text("km/s")


def test_link_restores_the_view(page: Page, address: str) -> None:
    opened(page, address, "ch=33&map=viridis&stretch=sqrt&r=2:ellipse(40,50,9,5,30)")
    page.mouse.move(*on_screen(page, 40, 50))
    page.mouse.wheel(0, -400)
    page.wait_for_timeout(400)
    before = state(page)
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    settled(page)
    after = state(page)
    for key in ("channel", "map", "stretch", "layer", "range"):
        assert after[key] == before[key], key
    for key in ("centre", "scale", "low", "high"):
        assert after[key] == pytest.approx(before[key], rel=1e-5), key
    assert after["regions"] == before["regions"]


def test_failure_says_what_to_do(page: Page, address: str, notice_expected: None) -> None:
    page.goto(f"{address}#id=cubes/none.fits")
    expect(page.get_by_role("alert")).to_contain_text("unknown ID")
