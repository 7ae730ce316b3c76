"""Catalogues over the image: points where the engine has them, and their rows both ways."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

import tachyfits as tf
from realfiles import path_of
from viewerpage import opened, settled

#: Rows of the catalogue; some are outside the image.
COUNT = 400


@pytest.fixture(scope="module")
def stars(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Catalogues over the real cube: of FITS, as CSV, and pixels without a position."""
    cube = tf.open(path_of("data/cubes/ngc6946.fits"))[0]
    rng = np.random.default_rng(5)
    x, y = rng.uniform(-4, cube.shape[-1] + 4, COUNT), rng.uniform(-4, cube.shape[-2] + 4, COUNT)
    places = cube.wcs.celestial.pixel_to_world(x, y).icrs
    columns = {
        "NAME": np.array([f"star {number}" for number in range(COUNT)]),
        "RA": places.ra.deg, "DEC": places.dec.deg, "MAG": rng.uniform(10, 20, COUNT),
        "A": x + 1, "B": y + 1,
    }  # fmt: skip
    tf.write(folder / "stars.fits", columns, units={"RA": "deg", "DEC": "deg"})
    tf.open(folder / "stars.fits")[1].read().write(folder / "stars.csv")
    unplaced = {name: columns[name] for name in ("NAME", "A", "B")}
    tf.write(folder / "unplaced.fits", unplaced)
    return columns


def add(page: Page, name: str) -> None:
    page.get_by_role("tab", name="Tables").click()
    page.get_by_role("button", name="Add a catalogue").click()
    page.locator("dialog").get_by_role("button", name=re.compile(f"^{re.escape(name)}")).click()


def points(page: Page) -> tuple[np.ndarray[Any, Any], ...]:
    """Return x, y and row of the points of the newest catalogue."""
    page.wait_for_function("() => tachyfits.catalogues.layers.at(-1)?.points")
    found: dict[str, list[float]] = page.evaluate(
        "(() => { const {x, y, order, rows} = tachyfits.catalogues.layers.at(-1).points;"
        " return {x: [...x], y: [...y], rows: [...order].map(at => rows[at])}; })()"
    )
    return np.array(found["x"]), np.array(found["y"]), np.array(found["rows"])


def inside(stars: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    cube = tf.open(path_of("data/cubes/ngc6946.fits"))[0]
    height, width = cube.shape[-2:]
    x, y = stars["A"], stars["B"]
    return (x >= 0.5) & (x < width + 0.5) & (y >= 0.5) & (y < height + 0.5)


@pytest.mark.parametrize("name", ["stars.fits", "stars.csv"])
def test_points_are_where_the_coordinates_are(
    page: Page, address: str, stars: dict[str, np.ndarray[Any, Any]], name: str
) -> None:
    opened(page, address)
    add(page, name)
    x, y, rows = points(page)
    np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(inside(stars)))
    np.testing.assert_allclose(x, stars["A"][rows], atol=1e-4)
    np.testing.assert_allclose(y, stars["B"][rows], atol=1e-4)
    shown = f"{len(rows)} of {COUNT} rows"
    expect(page.locator("#catalogue-counts")).to_contain_text(shown)


def test_point_that_is_clicked_shows_its_row_and_a_row_its_point(
    page: Page, address: str, stars: dict[str, np.ndarray[Any, Any]]
) -> None:
    opened(page, address)
    add(page, "stars.fits")
    x, y, rows = points(page)
    # A point far from others, and on a later page of the table.
    apart = np.hypot(x - x[:, None], y - y[:, None])
    np.fill_diagonal(apart, np.inf)
    chosen = int(np.argmax(np.where(rows > 100, apart.min(axis=0), 0)))
    box = page.locator("#surface").bounding_box()
    assert box is not None
    at = page.evaluate(
        "([x, y]) => tachyfits.viewer.toScreen({x, y})", [float(x[chosen]), float(y[chosen])]
    )
    page.evaluate("tachyfits.store.set({regions: []})")
    page.mouse.click(box["x"] + at["x"] + 2, box["y"] + at["y"] - 1)
    row = page.locator(".rows tr[aria-selected=true]")
    expect(row).to_have_attribute("data-row", str(rows[chosen]))
    expect(row).to_contain_text(f"star {rows[chosen]}")
    # The other way: a row whose point is off the screen.
    page.evaluate("tachyfits.store.set({scale: 40, centre: [1, 1]})")
    settled(page)
    first = page.locator(".rows tbody tr").first
    before = first.get_attribute("data-row")
    page.get_by_role("button", name="Next", exact=True).click()
    expect(first).not_to_have_attribute("data-row", str(before))
    number = int(first.get_attribute("data-row") or "")
    while not inside(stars)[number]:
        number += 1
    page.get_by_role("button", name=f"Row {number + 1}", exact=True).click()
    centre = page.evaluate("tachyfits.store.state.centre")
    assert centre == pytest.approx([stars["A"][number], stars["B"][number]], abs=1e-3)


def test_condition_is_the_engines(
    page: Page, address: str, stars: dict[str, np.ndarray[Any, Any]], notice_expected: None
) -> None:
    opened(page, address)
    add(page, "stars.fits")
    points(page)
    page.get_by_label("Condition of rows").fill("MAG < 12 && NAME != 'star 3'")
    page.get_by_label("Condition of rows").press("Enter")
    wanted = inside(stars) & (stars["MAG"] < 12) & (stars["NAME"] != "star 3")
    expect(page.locator("#catalogue-counts")).to_contain_text(f"{wanted.sum()} of")
    np.testing.assert_array_equal(np.sort(points(page)[2]), np.flatnonzero(wanted))
    page.get_by_label("Condition of rows").fill("MAG <")
    page.get_by_label("Condition of rows").press("Enter")
    expect(page.locator("#catalogue-problem")).not_to_be_empty()


def test_columns_of_pixels_are_chosen(
    page: Page, address: str, stars: dict[str, np.ndarray[Any, Any]]
) -> None:
    opened(page, address)
    add(page, "unplaced.fits")
    expect(page.locator("#catalogue-problem")).to_contain_text("no columns of a position")
    page.get_by_label("Frame of the positions").select_option("pixels")
    page.get_by_label("Column of longitudes").select_option("A")
    page.get_by_label("Column of latitudes").select_option("B")
    x, _, rows = points(page)
    np.testing.assert_allclose(x, stars["A"][rows], rtol=1e-6)
    expect(page.locator("#catalogue-problem")).to_be_empty()


def test_drawn_points_are_seen_as_circles_and_as_dots(
    page: Page, address: str, stars: dict[str, np.ndarray[Any, Any]]
) -> None:
    opened(page, address)
    add(page, "stars.fits")
    x, y, _ = points(page)
    drawn = (
        "(([x, y]) => { const {canvas, box} = tachyfits.catalogues, {viewer} = tachyfits;"
        " const at = viewer.toScreen({x, y});"
        " const [left, top] = [at.x - box.x, at.y - box.y].map(n => Math.round(n * box.ratio) - 6);"
        " const {data} = canvas.getContext('2d').getImageData(left, top, 12, 12);"
        " return data.some(value => value > 0); })"
    )
    middle = int(np.argmin(np.hypot(x - x.mean(), y - y.mean())))
    place = [float(x[middle]), float(y[middle])]
    settled(page)
    assert page.evaluate(drawn, place)
    # More points than are drawn as circles.
    page.evaluate(
        "(() => { const {catalogues} = tachyfits, layer = catalogues.layers[0], {points} = layer;"
        " const n = 5000, x = new Float32Array(n).fill(20), y = new Float32Array(n).fill(30);"
        " layer.points = new points.constructor(x, y, Uint32Array.from(x.keys()), points.width,"
        " points.height); catalogues.redraw(); })()"
    )
    settled(page)
    assert page.evaluate(drawn, [20, 30])
    assert not page.evaluate(drawn, place)


def layers(page: Page) -> list[dict[str, Any]]:
    """Return the catalogues of the page with their points."""
    found: list[dict[str, Any]] = page.evaluate(
        "tachyfits.catalogues.layers.map(({described, points, id, ...rest}) => ({...rest,"
        " x: points && [...points.x], current: tachyfits.catalogues.current?.id === id}))"
    )
    return found


def test_link_and_session_restore_catalogues(
    page: Page, address: str, stars: dict[str, np.ndarray[Any, Any]], tmp_path: Path
) -> None:
    opened(page, address)
    add(page, "stars.fits")
    points(page)
    page.get_by_label("Condition of rows").fill("MAG < 15 && NAME != 'star 3'")
    page.get_by_label("Condition of rows").press("Enter")
    wanted = inside(stars) & (stars["MAG"] < 15) & (stars["NAME"] != "star 3")
    expect(page.locator("#catalogue-counts")).to_contain_text(f"{wanted.sum()} of")
    page.evaluate("row => { const {catalogues} = tachyfits;"
                  " catalogues.change(catalogues.current, {colour: '#ff0080'});"
                  " catalogues.select(catalogues.current, row); }",
                  int(np.flatnonzero(wanted)[0]))  # fmt: skip
    add(page, "unplaced.fits")
    expect(page.locator("#catalogue-problem")).to_contain_text("no columns of a position")
    page.get_by_label("Frame of the positions").select_option("pixels")
    page.get_by_label("Column of longitudes").select_option("A")
    page.get_by_label("Column of latitudes").select_option("B")
    points(page)
    page.get_by_label("Show unplaced.fits").uncheck()
    page.locator("#panel").get_by_role("button", name="stars.fits", exact=True).click()
    before = layers(page)
    assert [one["current"] for one in before] == [True, False]
    assert [one["shown"] for one in before] == [True, False]
    page.evaluate("tachyfits.keepLinkNow()")
    link = page.url
    page.get_by_role("tab", name="Save").click()
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Save the session").click()
    downloading.value.save_as(tmp_path / "session.json")
    page.goto("about:blank")
    page.goto(link)
    settled(page)
    assert layers(page) == before
    # A link without catalogues shows none; the session restores them.
    page.goto("about:blank")
    opened(page, address, "tab=save")
    assert layers(page) == []
    page.get_by_label("Session file").set_input_files(tmp_path / "session.json")
    page.wait_for_function("() => tachyfits.catalogues.layers.length === 2")
    settled(page)
    assert layers(page) == before


def test_catalogue_of_a_link_that_is_gone_is_told(
    page: Page, address: str, stars: dict[str, np.ndarray[Any, Any]], notice_expected: None
) -> None:
    opened(page, address, "cat=catalogue%3Dcubes%2Fgone.fits&cat=catalogue%3Dcubes%2Fstars.fits")
    expect(page.locator("#notice")).to_contain_text("unknown ID")
    assert [one["name"] for one in layers(page)] == ["cubes/stars.fits"]
    assert layers(page)[0]["x"]


@pytest.mark.parametrize("count", [400, 5000])
def test_points_are_in_the_cell_of_the_leading_image(
    page: Page, address: str, stars: dict[str, np.ndarray[Any, Any]], count: int
) -> None:
    """The pixels of the screen where points are: circles and dots, with an image beside."""
    opened(page, address, "with=id%3Dcubes%2Fngc6946.fits&at=50,50,3&bar=false&r=0:point(1,1)")
    page.wait_for_function("() => tachyfits.store.state.beside.length === 1")
    add(page, "stars.fits")
    points(page)
    before = np.asarray(Image.open(io.BytesIO(page.locator("#stage").screenshot())).convert("RGB"))
    page.evaluate(
        "n => { const {catalogues} = tachyfits, layer = catalogues.layers[0], {points} = layer;"
        " const x = new Float32Array(n).fill(30), y = new Float32Array(n).fill(60);"
        " layer.points = new points.constructor(x, y, Uint32Array.from(x.keys()), points.width,"
        " points.height); catalogues.change(layer, {colour: '#ff00ff'}); }",
        count,
    )
    settled(page)
    page.wait_for_timeout(100)
    after = np.asarray(Image.open(io.BytesIO(page.locator("#stage").screenshot())).convert("RGB"))
    at = page.evaluate(
        "(({viewer}) => { const at = viewer.toScreen({x: 30, y: 60}), cell = viewer.cellOf(null);"
        " return [at.x + cell.x, at.y + cell.y]; })(tachyfits)"
    )
    magenta = (after[..., 0] > 200) & (after[..., 2] > 200) & (after[..., 1] < 120)
    assert not ((before[..., 0] > 200) & (before[..., 2] > 200) & (before[..., 1] < 60)).any()
    y, x = np.nonzero(magenta)
    assert len(x) > 2
    assert np.hypot(x.mean() + 0.5 - at[0], y.mean() + 0.5 - at[1]) < 1.5


def test_canvas_of_points_moves_with_the_image_until_it_rests(
    page: Page, address: str, stars: dict[str, np.ndarray[Any, Any]]
) -> None:
    """A drag moves a canvas of the whole image; it is drawn again after it, and of a part."""
    opened(page, address, "at=50,50,4&bar=false&r=0:point(1,1)")
    add(page, "stars.fits")
    points(page)
    page.evaluate(
        "(() => { const {catalogues} = tachyfits, layer = catalogues.layers[0], {points} = layer;"
        " const x = new Float32Array(5000).fill(50), y = new Float32Array(5000).fill(50);"
        " layer.points = new points.constructor(x, y, Uint32Array.from(x.keys()), points.width,"
        " points.height); catalogues.change(layer, {colour: '#ff00ff'});"
        " catalogues.times = 0; const draw = catalogues.drawDots.bind(catalogues);"
        " catalogues.drawDots = (...given) => { catalogues.times += 1; draw(...given); }; })()"
    )
    settled(page)
    moved = (
        "(by => { const {catalogues, viewer} = tachyfits, before = catalogues.times;"
        " viewer.pan(...by); catalogues.draw(); const {canvas, box} = catalogues;"
        " const at = viewer.toScreen({x: 50, y: 50}), place = canvas.getBoundingClientRect();"
        " const [x, y] = [at.x - box.x, at.y - box.y].map(n => Math.round(n * box.ratio));"
        " const {data} = canvas.getContext('2d').getImageData(x - 1, y - 1, 3, 3);"
        " return {drawn: catalogues.times - before, seen: data.some(value => value > 0),"
        " shift: canvas.style.transform, left: place.left - viewer.left - box.x,"
        " top: place.top - viewer.top - box.y}; })"
    )
    near = page.evaluate(moved, [37.4, -21.6])
    assert near["drawn"] == 0
    assert near["shift"] == "translate(37px, -22px)"
    page.wait_for_function("() => tachyfits.catalogues.canvas.style.transform === ''")
    # A part of the image is in view: a drag shows others.
    page.evaluate("tachyfits.store.set({scale: 30, centre: [50, 50]})")
    settled(page)
    part = page.evaluate(moved, [-100, 30])
    assert part["drawn"] == 1
    assert part["shift"] == ""
    for found in (near, part):
        assert found["seen"]
        assert found["left"] == pytest.approx(0, abs=0.01)
        assert found["top"] == pytest.approx(0, abs=0.01)
    page.evaluate("tachyfits.store.set({scale: 4, centre: [50, 50]})")
    settled(page)
    page.evaluate(moved, [10.5, 0])
    page.wait_for_function("() => tachyfits.catalogues.canvas.style.transform === ''")
    settled(page)
    shot = np.asarray(Image.open(io.BytesIO(page.locator("#stage").screenshot())).convert("RGB"))
    at = page.evaluate("tachyfits.viewer.toScreen({x: 50, y: 50})")
    y, x = np.nonzero((shot[..., 0] > 200) & (shot[..., 2] > 200) & (shot[..., 1] < 120))
    assert np.hypot(x.mean() + 0.5 - at["x"], y.mean() + 0.5 - at["y"]) < 1.5
