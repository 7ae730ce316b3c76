"""The page restores, measures and shows what it says: links, units, regions, layouts, problems."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from playwright.sync_api import Browser, Page, expect

import tachyfits as tf
from viewerpage import opened, settled, state

#: Units of the spectral axis by their value in the page, as the server writes them.
UNITS = {
    "": "Hz", "km/s": "km s-1", "GHz": "GHz", "mm": "mm", "um": "um", "channel": "Channel",
}  # fmt: skip


@pytest.fixture(scope="module")
def cube(folder: Path) -> np.ndarray[Any, Any]:
    """A cube with a line in frequency, and files that lack parts of it."""
    y, x = np.mgrid[:100, :100]
    z = np.arange(64)[:, None, None]
    moving = np.exp(-((x - 50 - (z - 32) * 0.4) ** 2 + (y - 50) ** 2) / 90)
    noise = np.random.default_rng(1).normal(0, 0.01, (64, 100, 100))
    pixels = (moving * np.exp(-((z - 32) ** 2) / 90.0) + noise).astype(np.float32)
    header = fits.Header()
    axes = (
        ("RA---SIN", 50.0, 187.7, -0.5 / 3600, "deg"),
        ("DEC--SIN", 50.0, 12.39, 0.5 / 3600, "deg"),
        ("FREQ", 1.0, 230.5e9, -2e6, "Hz"),
    )
    for number, cards in enumerate(axes, 1):
        for name, value in zip(("CTYPE", "CRPIX", "CRVAL", "CDELT", "CUNIT"), cards, strict=True):
            header[f"{name}{number}"] = value
    header.update(BUNIT="Jy/beam", RESTFRQ=230.538e9, SPECSYS="LSRK", RADESYS="ICRS")
    fits.writeto(folder / "line.fits", pixels, header)
    gap = pixels.copy()
    gap[20:26] = np.nan
    fits.writeto(folder / "gap.fits", gap, header)
    fits.writeto(folder / "ends.fits", pixels, header)
    os.truncate(folder / "ends.fits", os.path.getsize(folder / "ends.fits") // 3)
    own = {name: header[f"{name}3"] for name in ("CTYPE", "CRPIX", "CRVAL", "CDELT", "CUNIT")}
    fits.writeto(
        folder / "spectrum.fits", pixels[:, 50, 50],
        fits.Header({f"{name}1": value for name, value in own.items()} | {"RESTFRQ": 230.538e9}),
    )  # fmt: skip
    return pixels


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    yield context.new_page()
    context.close()


def chart(page: Page) -> dict[str, Any]:
    """Return the range of the chart's axis and of its curves, in the unit that is shown."""
    found: dict[str, Any] = page.evaluate(
        "(() => { const {chart, spectra} = tachyfits.dock, {min, max} = chart.plot.scales.x;"
        " return {min, max, first: chart.xs[0], last: chart.xs.at(-1), unit: spectra.axis.unit,"
        " name: spectra.axis.name}; })()"
    )
    return found


def choose_unit(page: Page, unit: str) -> None:
    page.get_by_label("Spectral axis").select_option(unit)
    page.wait_for_function(
        "name => { const {chart, spectra: {axis}} = tachyfits.dock;"
        " return (axis.unit ?? axis.name) === name && chart.xs.includes(axis.values[0]); }",
        arg=UNITS[unit],
    )


def screen(page: Page, x: float, y: float) -> tuple[float, float]:
    """Return where the centre of a pixel (FITS: from 1) is on the page."""
    box = page.locator("#surface").bounding_box()
    assert box is not None
    at = page.evaluate("([x, y]) => tachyfits.viewer.toScreen({x, y})", [x, y])
    return box["x"] + at["x"], box["y"] + at["y"]


def test_each_pair_of_spectral_units_shows_the_whole_curve(
    page: Page, address: str, cube: object
) -> None:
    opened(page, address, "ch=30&r=0:circle(50,50,9)", name="line.fits")
    page.wait_for_function("() => tachyfits.dock.spectra.curves.has(1)")
    for before, after in itertools.permutations(UNITS, 2):
        choose_unit(page, before)
        page.evaluate("tachyfits.dock.chart.plot.setScale('x', {min: -1e9, max: -1e8})")
        choose_unit(page, after)
        shown = chart(page)
        assert shown["min"] == pytest.approx(shown["first"], rel=1e-12), (before, after)
        assert shown["max"] == pytest.approx(shown["last"], rel=1e-12), (before, after)


def test_zoom_of_the_chart_stays_while_a_region_moves(
    page: Page, address: str, cube: object
) -> None:
    opened(page, address, "ch=30&r=0:circle(50,50,9)", name="line.fits")
    page.wait_for_function("() => tachyfits.dock.spectra.curves.has(1)")
    choose_unit(page, "channel")
    page.evaluate("tachyfits.dock.chart.plot.setScale('x', {min: 20, max: 30})")
    page.evaluate("tachyfits.viewer.add('circle', [40, 40, 5])")
    page.wait_for_function("() => tachyfits.dock.spectra.curves.has(2)")
    page.wait_for_timeout(100)
    assert (chart(page)["min"], chart(page)["max"]) == (20, 30)


def test_undefined_channels_are_a_gap_of_the_chart(page: Page, address: str, cube: object) -> None:
    opened(page, address, "ch=30&r=0:circle(50,50,9)", name="gap.fits")
    page.wait_for_function("() => tachyfits.dock.chart.plot?.data.length > 1")
    choose_unit(page, "channel")
    values = page.evaluate("[...tachyfits.dock.chart.plot.data[1]]")
    assert [i for i, value in enumerate(values) if value is None] == list(range(20, 26))


def test_panel_is_never_wider_than_its_place(page: Page, address: str, cube: object) -> None:
    corners = ",".join(f"{50 + 30 * np.cos(a):.4f},{50 + 20 * np.sin(a):.4f}" for a in range(40))
    shapes = f"r=0:polygon({corners})&r=1:ellipse(30.123456789,70.1,5,3,12.25,8.125,30.0625)"
    opened(page, address, f"at=50,50,5&{shapes}&r=2:circle(50,50,10)", name="line.fits")
    for size in ({"width": 1440, "height": 900}, {"width": 390, "height": 844}):
        page.set_viewport_size(size)  # type: ignore[arg-type] # a dict of its keys
        for tab in ("image", "regions", "maps", "plots", "header", "save"):
            page.evaluate("name => tachyfits.panel.show(name)", tab)
            page.evaluate("document.querySelector('#panel').classList.add('open')")
            for number in (1, 2):
                page.evaluate("id => tachyfits.store.set({selected: id})", number)
            page.wait_for_timeout(50)
            right = page.evaluate(
                "Math.max(...[...document.querySelectorAll('#panel-body > div:not([hidden])"
                " :is(button, input, select, textarea, td, canvas, p)')]"
                ".map(one => one.getBoundingClientRect().right))"
            )
            assert right <= size["width"], (tab, size)
            wide = page.evaluate(
                "(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)"
                "(document.querySelector('#panel-body'))"
            )
            assert wide == 0, (tab, size)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("image; annulus(50,50,20,40)", "annulus(50,50,20,40)"),
        ("annulus(50,50,20,40)", "annulus(50,50,20,40)"),
        ("ellipse(50,50,10,5,30,20,25)", "ellipse(50,50,10,5,30,20,25)"),
        ("box(50,50,30,10,35)", "box(50,50,30,10,35)"),
        ("point(50,50)", "point(50,50)"),
        ("ellipse(50,50,10,5)", "ellipse(50,50,10,5,0)"),
        ("ellipse(50,50,25,5,20,15)", "ellipse(50,50,25,5,20,15,0)"),
        ("annulus(50,50,0,9.123456789)", "annulus(50,50,0,9.123456789)"),
        ("rotbox(50,50,20,5,30)", "box(50,50,20,5,30)"),
        ("circle(50,50,0)", "circle(50,50,0)"),
        ("polygon(20,20,60.5,30,50,70.25)", "polygon(20,20,60.5,30,50,70.25)"),
    ],
)
def test_shapes_are_measured_as_the_engine_means_them(
    page: Page, address: str, cube: np.ndarray[Any, Any], folder: Path, text: str, shape: str
) -> None:
    opened(page, address, "ch=33&at=50,50,5", name="line.fits")
    page.locator("#tab-regions").click()
    page.get_by_label("Regions as text").fill(text)
    page.get_by_role("button", name="Add", exact=True).click()
    page.wait_for_function("() => tachyfits.dock.spectra.curves.has(1)")
    assert page.evaluate("tachyfits.text(tachyfits.store.state.regions[0])") == shape
    with tf.open(folder / "line.fits") as file:
        expected = file[0].spectrum(shape).values
        count = file[0].select(shape, section=(slice(32, 33),)).stats().count
    values = page.evaluate("[...tachyfits.dock.spectra.curves.get(1).values]")
    np.testing.assert_array_equal(values, expected)
    expect(page.locator("#panel table.values [data-name=count]")).to_have_text(str(count))
    # The outline holds the pixels that the engine takes, but for those on the border.
    inside = page.evaluate(
        "import('./regions.js').then(({holds}) => { const found = [];"
        " const [region] = tachyfits.store.state.regions;"
        " for (let y = 1; y <= 100; y++) for (let x = 1; x <= 100; x++)"
        " found.push(holds(region, {x, y}, 0.1)); return found; })"
    )
    with tf.open(folder / "line.fits") as file:
        mask = file[0].region_mask(shape)
    assert (np.reshape(inside, (100, 100)) != mask).sum() <= 0.02 * mask.sum() + 12


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("circle(50,50,9); -circle(55,50,2)", "circle(55.0,50.0,2.0)"),
        ("# Region file\nimage\nbox(9,9,3,4,8,9,20)", "box(9.0,9.0,3.0,4.0,20.0)"),
        ("image; panda(50,50,0,90,1,5,9,1)", "panda"),
        ("annulus(50,50,40,20)", "annulus"),
    ],
)
def test_shapes_that_the_page_lacks_are_refused_by_name(
    page: Page, address: str, cube: object, text: str, word: str, notice_expected: None
) -> None:
    opened(page, address, "at=50,50,5", name="line.fits")
    page.locator("#tab-regions").click()
    page.get_by_label("Regions as text").fill(text)
    # Enter adds the text; a text of several lines is pasted.
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#region-problem")).to_contain_text(word)
    assert state(page)["regions"] == []


def test_annulus_is_drawn_and_resized_without_turning_inside_out(
    page: Page, address: str, cube: object
) -> None:
    opened(page, address, "at=50,50,5", name="line.fits")
    page.keyboard.press("a")
    page.mouse.move(*screen(page, 50, 50))
    page.mouse.down()
    page.mouse.move(*screen(page, 70, 50), steps=3)
    page.mouse.up()
    (ring,) = state(page)["regions"]
    assert (ring["kind"], ring["values"]) == ("annulus", [50, 50, 10, 20])
    page.mouse.move(*screen(page, 60, 50))
    page.mouse.down()
    page.mouse.move(*screen(page, 90, 50), steps=3)
    page.mouse.up()
    (ring,) = state(page)["regions"]
    assert ring["values"] == [50, 50, 19.5, 20]
    page.locator("#tab-regions").click()
    page.get_by_label("Outer radius").fill("3")
    page.get_by_label("Outer radius").press("Tab")
    assert state(page)["regions"][0]["values"] == [50, 50, 19.5, 20]


def test_link_restores_cuts_contours_and_the_map(
    page: Page, address: str, cube: object, folder: Path
) -> None:
    opened(page, address, "at=50,50,5&r=0:annulus(50,50,5,9)&beam=false", name="line.fits")
    for _ in range(12):
        page.keyboard.press("[")
    page.locator("#tab-maps").click()
    page.get_by_role("button", name="Draw contours").click()
    page.wait_for_function("() => tachyfits.overlay.lines.has('contours')")
    page.get_by_label("Spectral axis").select_option("km/s")
    page.get_by_label("Threshold").fill("0.03")
    page.get_by_role("button", name="Moment 1").click()
    page.wait_for_function("() => tachyfits.store.state.layer.operation === 'moment1'")
    settled(page)
    # The unit of the chart changes, that of the map does not.
    page.get_by_label("Spectral axis").select_option("GHz")
    page.get_by_role("tab", name="Image").click()
    page.get_by_label("Upper cut", exact=True).fill("123.456789012345")
    page.get_by_label("Upper cut", exact=True).press("Tab")
    page.wait_for_timeout(400)
    before, link = state(page), page.url
    lines = page.evaluate("tachyfits.overlay.lines.get('contours').lines")
    assert before["layer"]["unit"].startswith("km")
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_function("() => tachyfits.store.state.layer.operation === 'moment1'")
    page.wait_for_function("() => tachyfits.overlay.lines.has('contours')")
    settled(page)
    after = state(page)
    for key in ("low", "high", "cuts", "channel", "layer", "regions", "beam", "spectralUnit"):
        assert after[key] == before[key], key
    assert page.evaluate("tachyfits.overlay.lines.get('contours').lines") == lines
    page.wait_for_timeout(300)
    assert page.url == link


def test_link_restores_automatic_cuts_of_another_channel(
    page: Page, address: str, cube: object
) -> None:
    opened(page, address, "at=50,50,5&ch=33", name="line.fits")
    for _ in range(20):
        page.keyboard.press("[")
    page.wait_for_timeout(400)
    before, link = state(page), page.url
    assert before["cuts"] == "99.5"
    page.goto("about:blank")
    page.goto(link)
    settled(page)
    page.wait_for_timeout(400)
    after = state(page)
    assert [after[key] for key in ("low", "high", "channel")] == [
        before[key] for key in ("low", "high", "channel")
    ]
    # Another choice of cuts is that of the channel again.
    page.get_by_label("Cuts", exact=True).select_option("minmax")
    settled(page)
    assert state(page)["high"] < before["high"]


def test_back_stays_in_the_page(page: Page, address: str, cube: object) -> None:
    opened(page, address, "ch=33&at=50,50,5", name="line.fits")
    page.wait_for_timeout(400)
    page.keyboard.press("]")
    page.keyboard.press("+")
    page.wait_for_timeout(400)
    page.keyboard.press("o")
    page.get_by_role("dialog").get_by_text("gap.fits").click()
    expect(page.locator("#file-name")).to_have_text("gap.fits")
    page.wait_for_timeout(400)
    page.go_back()
    expect(page.locator("#file-name")).to_have_text("line.fits")
    page.wait_for_function("() => tachyfits.store.state.channel === 34")
    page.go_back()
    page.wait_for_function("() => tachyfits.store.state.channel === 33")
    assert state(page)["scale"] == 5
    page.go_forward()
    page.wait_for_function("() => tachyfits.store.state.channel === 34")
    page.go_forward()
    expect(page.locator("#file-name")).to_have_text("gap.fits")


def test_strip_of_values_follows_the_layer(
    page: Page, address: str, cube: np.ndarray[Any, Any], folder: Path
) -> None:
    opened(page, address, "ch=33&at=50,50,5", name="line.fits")
    page.mouse.move(*screen(page, 50, 50))
    expect(page.locator("#readout[data-pixel='50,50,33']")).to_be_visible()
    page.mouse.move(1300, 400)
    page.get_by_label("Next channel").click()
    expect(page.locator("#readout[data-pixel='50,50,34']")).to_be_visible()
    readout = page.locator("#readout")
    assert float(readout.get_attribute("data-value") or "nan") == cube[33, 49, 49]
    page.locator("#tab-maps").click()
    page.get_by_role("button", name="Maximum", exact=True).click()
    page.wait_for_function(
        "v => Number(document.querySelector('#readout').dataset.value) === v",
        arg=float(cube[:, 49, 49].max()),
    )


def test_truncated_file_says_so_and_shows_what_it_has(
    page: Page, address: str, cube: np.ndarray[Any, Any]
) -> None:
    opened(page, address, "r=0:circle(50,50,9)", name="ends.fits")
    expect(page.locator("#problems")).to_contain_text("ends after channel 21 of 64")
    assert state(page)["channel"] <= 21
    page.wait_for_function("() => tachyfits.dock.spectra.curves.has(1)")
    values = page.evaluate("[...tachyfits.dock.spectra.curves.get(1).values].map(v => v ?? null)")
    assert np.isfinite(np.array(values, dtype=float)).sum() == 21
    page.locator("#problems").get_by_role("button", name="Dismiss").click()
    expect(page.locator("#problems")).to_be_hidden()
    opened(page, address, "", name="line.fits")
    expect(page.locator("#problems")).to_be_hidden()


def test_spectrum_of_one_axis_is_shown_as_a_chart(
    page: Page, address: str, cube: np.ndarray[Any, Any]
) -> None:
    opened(page, address, "", name="spectrum.fits")
    page.wait_for_function("() => tachyfits.dock.spectra.curves.has(1)")
    values = page.evaluate("[...tachyfits.dock.spectra.curves.get(1).values]")
    np.testing.assert_array_equal(values, cube[:, 50, 50])
    chart_box, stage_box = (page.locator(at).bounding_box() for at in ("#chart", "#stage"))
    assert chart_box is not None
    assert stage_box is not None
    assert chart_box["height"] > 3 * stage_box["height"]
    page.locator("#tab-save").click()
    expect(page.locator("#cutout-size")).to_contain_text("64 pixels")


@pytest.mark.parametrize("more", ["at=50,50,3.6&r=0:circle(50,50,20)", ""])
def test_finger_moves_a_region_by_its_middle(
    phone: Page, address: str, cube: object, more: str
) -> None:
    opened(phone, address, more, name="line.fits")
    phone.wait_for_function("() => tachyfits.store.state.regions.length === 1")
    before = state(phone)["regions"][0]["values"]
    start = screen(phone, *before[:2])
    end = screen(phone, before[0] - 15, before[1])
    touch = phone.context.new_cdp_session(phone)

    def send(kind: str, *points: tuple[float, float]) -> None:
        at = [{"x": x, "y": y} for x, y in points]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    send("touchStart", start)
    for step in range(1, 11):
        send("touchMove", (start[0] + (end[0] - start[0]) * step / 10, start[1]))
        phone.wait_for_timeout(40)
    send("touchEnd")
    after = state(phone)["regions"][0]["values"]
    assert after[0] == pytest.approx(before[0] - 15, abs=0.5)
    assert after[1] == pytest.approx(before[1], abs=0.5)
    assert after[2] == before[2]


def test_dragged_region_stays_under_the_pointer_when_the_layout_changes(
    page: Page, address: str, cube: object
) -> None:
    opened(page, address, "at=50,50,5&r=0:circle(50,50,12)", name="line.fits")
    start = screen(page, 50, 50)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + 20, start[1], steps=2)
    # A strip grows below the image and a panel beside it, as after a rotation of the screen.
    page.evaluate("document.querySelector('#readout').style.minHeight = '160px'")
    page.set_viewport_size({"width": 1100, "height": 700})
    page.wait_for_timeout(200)
    page.mouse.move(start[0] + 50, start[1], steps=2)
    page.mouse.up()
    assert state(page)["regions"][0]["values"] == pytest.approx([60, 50, 12], abs=0.3)


def test_superseded_requests_are_no_failures(
    page: Page, address: str, cube: object, notice_expected: None
) -> None:
    opened(page, address, "ch=33&at=50,50,5", name="line.fits")
    answer = {"title": "", "status": 409, "detail": "a problem"}
    page.route("**/api/v1/pixel*", lambda route: route.fulfill(status=409, json=answer))
    for x, title in ((30, "Superseded"), (40, "The file changed")):
        answer["title"] = title
        with page.expect_response("**/api/v1/pixel*"):
            page.mouse.move(*screen(page, x, 40))
        page.wait_for_timeout(200)
        assert page.locator("#notice").is_visible() == (title != "Superseded")


def test_unusable_spectral_axis_leaves_the_numbers_of_channels(
    page: Page, address: str, folder: Path, notice_expected: None
) -> None:
    header = fits.Header({"CTYPE3": "FREQ", "CRVAL3": "many", "CDELT3": 1.0, "CRPIX3": 1.0})
    fits.writeto(folder / "many.fits", np.ones((5, 20, 20), np.float32), header)
    opened(page, address, "ch=2", name="many.fits")
    expect(page.locator("#problems")).to_contain_text("CRVAL3")
    expect(page.locator("#channel-world")).to_have_text("2")
