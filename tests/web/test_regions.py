"""Regions on the page: names, colours, polylines, undo, files both ways, a table of statistics."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import tachyfits as tf
from realfiles import path_of
from viewerpage import opened, settled, state

CUBE = path_of("data/cubes/ngc6946.fits")

START = "ch=12&r=0:circle(40,40,6.5)&r=1:box(30.25,50,8,4,15)&r=2:annulus(45,45,3,6)"


def screen(page: Page, x: float, y: float) -> tuple[float, float]:
    """Return where the centre of a pixel (FITS: from 1) is on the page."""
    box = page.locator("#surface").bounding_box()
    assert box is not None
    at = page.evaluate("([x, y]) => tachyfits.viewer.toScreen({x, y})", [x, y])
    return box["x"] + at["x"], box["y"] + at["y"]


def values(page: Page) -> list[list[Any]]:
    return [[one["kind"], *one["values"]] for one in state(page)["regions"]]


def drag(page: Page, *places: tuple[float, float]) -> None:
    page.mouse.move(*screen(page, *places[0]))
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*screen(page, *place), steps=4)
    page.mouse.up()


def test_each_drag_is_one_step_of_undo(page: Page, address: str) -> None:
    opened(page, address, START)
    before = values(page)
    drag(page, (40, 40), (48, 52), (52, 44))
    moved = values(page)
    assert moved[0][1:3] == pytest.approx([52, 44], abs=0.5)
    page.keyboard.press("b")
    drag(page, (20, 20), (26, 28))
    drawn = values(page)
    assert len(drawn) == 4
    page.keyboard.press("Delete")
    assert values(page) == moved
    for expected in (drawn, moved, before, before):
        page.keyboard.press("Control+z")
        assert values(page) == expected
    for expected in (moved, drawn, moved, moved):
        page.keyboard.press("Control+Shift+Z")
        assert values(page) == expected
    page.get_by_role("tab", name="Regions").click()
    page.get_by_role("button", name="Undo").click()
    assert values(page) == drawn
    # A new step ends what could be redone.
    page.evaluate("tachyfits.viewer.add('point', [9, 9])")
    expect(page.get_by_role("button", name="Redo")).to_be_disabled()


def test_polyline_is_drawn_and_cut_along(page: Page, address: str) -> None:
    opened(page, address, START)
    page.get_by_role("button", name="Polyline", exact=False).first.click()
    for place in ((15, 15), (30, 28), (45, 20)):
        page.mouse.click(*screen(page, *place))
    page.keyboard.press("Enter")
    kind, *numbers = values(page)[-1]
    assert kind == "polyline"
    np.testing.assert_allclose(numbers, [15, 15, 30, 28, 45, 20], atol=0.3)
    page.locator("[data-view=pv]").click()
    page.wait_for_function("() => tachyfits.dock.diagram.found")
    path = np.reshape(np.round(numbers, 2), (-1, 2)) - 1
    expected = tf.open(CUBE)[0].pv(path, width=1)
    width = page.evaluate("tachyfits.dock.diagram.found.tile.width")
    assert width == expected.shape[-1]


def test_names_and_colours_are_kept_by_links_and_files(
    page: Page, address: str, tmp_path: Path
) -> None:
    opened(page, address, START)
    page.get_by_role("tab", name="Regions").click()
    page.evaluate("tachyfits.viewer.add('polyline', [5, 5, 9.5, 12, 20, 6])")
    page.get_by_role("button", name="Circle 1", exact=False).first.click()
    page.get_by_label("Name of the region").fill("core")
    page.get_by_label("Name of the region").press("Enter")
    page.get_by_label("Colour of the region").evaluate(
        "input => { input.value = '#12ab34'; input.dispatchEvent(new Event('change')); }"
    )
    expect(page.get_by_role("button", name="core", exact=False).first).to_be_visible()
    page.evaluate("tachyfits.keepLinkNow()")
    link, drawn = page.url, state(page)["regions"]
    page.goto("about:blank")
    page.goto(link)
    settled(page)
    restored = state(page)["regions"]
    assert restored[0]["name"] == "core"
    assert restored[0]["paint"] == "#12ab34"
    assert [one["values"] for one in restored] == [one["values"] for one in drawn]
    page.get_by_role("tab", name="Regions").click()
    for form, system in (("ds9", "image"), ("crtf", "image"), ("ds9", "sky"), ("crtf", "sky")):
        page.get_by_label("Format of the saved regions").select_option(form)
        page.get_by_label("Coordinates of the saved regions").select_option(system)
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save regions").click()
        path = tmp_path / f"{form}-{system}.reg"
        saved.value.save_as(path)
        page.evaluate("tachyfits.store.set({regions: [], selected: null})")
        page.get_by_label("Region file").last.set_input_files(path)
        page.wait_for_function("() => tachyfits.store.state.regions.length === 4")
        again = state(page)["regions"]
        assert [one["kind"] for one in again] == [one["kind"] for one in drawn]
        assert again[0]["name"] == "core"
        assert again[0]["paint"] == "#12ab34"
        tolerance = 1e-12 if system == "image" else 1e-2
        for one, other in zip(again, drawn, strict=True):
            np.testing.assert_allclose(one["values"], other["values"], atol=tolerance)


def test_table_of_all_regions_has_the_engines_numbers(
    page: Page, address: str, tmp_path: Path
) -> None:
    opened(page, address, START)
    page.get_by_role("tab", name="Regions").click()
    page.get_by_role("button", name="Measure all regions").click()
    rows = page.locator("#region-table tbody tr")
    expect(rows).to_have_count(3)
    shapes = ["circle(40,40,6.5)", "box(30.25,50,8,4,15)", "annulus(45,45,3,6)"]
    plane = tf.open(CUBE)[0].cutout(section=(11, ...))
    expected = plane.measure(shapes, ["count", "mean", "median"])
    for number, row in enumerate(rows.all()):
        shown = float(row.locator("[data-name=median]").inner_text())
        assert shown == pytest.approx(expected["median"][number], rel=1e-4)
    # The table follows a region that is dragged.
    page.evaluate(
        "tachyfits.viewer.put({...tachyfits.store.state.regions[0], values: [30, 30, 5]})"
    )
    moved = plane.measure(["circle(30,30,5)"], ["count"])["count"][0]
    expect(rows.first.locator("[data-name=count]")).to_have_text(str(moved))
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download CSV").click()
    saved.value.save_as(tmp_path / "regions.csv")
    table = list(csv.DictReader(io.StringIO((tmp_path / "regions.csv").read_text())))
    assert [row["name"] for row in table] == ["Circle 1", "Box 2", "Annulus 3"]
    mean = next(name for name in table[0] if name.startswith("mean"))
    assert float(table[1][mean]) == expected["mean"][1]
