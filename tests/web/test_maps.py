"""Maps of the page: thresholds by the noise, limits, levels in sigma, the cursor of diagrams."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import tachyfits as tf
from realfiles import path_of
from viewerpage import opened, settled, state

CUBE = path_of("data/cubes/ngc6946.fits")


def sigma(pixels: Any) -> float:
    """Return the deviation of noise by the median absolute deviation."""
    return 1.482602218505602 * float(np.nanmedian(np.abs(pixels - np.nanmedian(pixels))))


def test_moments_begin_with_three_sigma_of_the_channels_beside_the_range(
    page: Page, address: str
) -> None:
    opened(page, address, "ch=40&range=20,60")
    page.get_by_role("tab", name="Maps").click()
    page.get_by_role("button", name="Moment 1").click()
    page.wait_for_function("() => tachyfits.store.state.layer.operation === 'moment1'")
    settled(page)
    pixels = tf.open(CUBE)[0].read()
    beside = np.concatenate([pixels[:19], pixels[60:]])
    threshold = state(page)["layer"]["threshold"]
    assert threshold == pytest.approx(3 * sigma(beside), rel=1e-5)
    expect(page.get_by_label("Threshold")).to_have_value(str(threshold))
    expect(page.locator("#threshold-note")).to_contain_text("3 sigma of the channels beside")
    plane = tf.open(CUBE)[0].select(channels=slice(19, 60), where=threshold).moment(1)
    low, high = np.nanpercentile(plane.values, [2, 98])
    found = state(page)
    assert [found["low"], found["high"]] == pytest.approx([low, high], abs=0.05 * (high - low))
    # No threshold, one of a person, and line-free channels.
    page.get_by_label("Threshold").fill("none")
    page.get_by_label("Threshold").press("Enter")
    page.wait_for_function("() => tachyfits.store.state.layer.threshold === null")
    page.get_by_label("Threshold").fill("0.01")
    page.get_by_label("Threshold").press("Enter")
    page.wait_for_function("() => tachyfits.store.state.layer.threshold === 0.01")
    page.evaluate("tachyfits.store.set({fitFree: '1:10'})")
    page.get_by_label("Threshold").fill("")
    page.get_by_label("Threshold").press("Enter")
    wanted = float(f"{3 * sigma(pixels[:10]):.6g}")
    page.wait_for_function(
        "t => Math.abs(tachyfits.store.state.layer.threshold - t) < 1e-6 * t", arg=wanted
    )
    page.get_by_role("button", name="Mean", exact=True).click()
    page.wait_for_function("() => tachyfits.store.state.layer.operation === 'mean'")
    assert state(page)["layer"]["threshold"] is None


def test_contours_have_levels_in_sigma(page: Page, address: str) -> None:
    opened(page, address, "ch=40")
    page.get_by_role("tab", name="Maps").click()
    page.get_by_label("What levels are counted in").select_option("sigma")
    page.get_by_label("Levels, with commas between").fill("3, 10")
    page.get_by_role("button", name="Draw contours").click()
    page.wait_for_function("() => tachyfits.overlay.lines.has('contours')")
    noise = sigma(tf.open(CUBE)[0].read()[39])
    assert state(page)["contours"]["levels"] == pytest.approx([3 * noise, 10 * noise], rel=1e-6)
    expect(page.locator("#contour-noise")).to_contain_text("Sigma is")


def test_diagram_has_a_cursor_and_a_width(page: Page, address: str) -> None:
    opened(page, address, "ch=40&r=0:line(30,40,70,60)")
    page.locator("[data-view=pv]").click()
    page.wait_for_function("() => tachyfits.dock.diagram.box")
    page.get_by_label("Pixels across the cut").fill("5")
    page.get_by_label("Pixels across the cut").press("Enter")
    diagram = tf.open(CUBE)[0].pv([(29, 39), (69, 59)], width=5)
    expected = diagram.read()
    value = (
        "() => { const {found} = tachyfits.dock.diagram, w = found.tile.width;"
        " return Math.abs(found.tile.pixels[49 * w + 20] - VALUE) <= found.tile.error + 1e-9; }"
    )
    page.wait_for_function(value.replace("VALUE", repr(float(expected[49, 20]))))
    box = page.evaluate("tachyfits.dock.diagram.box")
    place = page.locator("#diagram canvas").bounding_box()
    assert place is not None
    height, width = expected.shape
    x = place["x"] + box["x"] + (20.5 / width) * box["w"]
    y = place["y"] + box["y"] + box["h"] - (49.5 / height) * box["h"]
    page.mouse.move(x, y)
    text = page.locator("#pv-readout").inner_text()
    assert "channel 50" in text
    spectral = tf.open(CUBE)[0].world_axis(0).values[49]
    shown = float(re.split(" · ", text)[1].split()[0])
    assert shown == pytest.approx(spectral, rel=1e-4)
    page.mouse.click(x, y)
    page.wait_for_function("() => tachyfits.store.state.channel === 50")
