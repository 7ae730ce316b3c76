"""Small screens, upright and lying: image and spectrum stay in view and do not move."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from viewerpage import opened, settled, state

SIZES = {"upright": (390, 844), "lying": (844, 390)}

TABS = ("image", "regions", "maps", "lines", "plots", "header", "save")


@pytest.fixture(params=SIZES)
def phone(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    width, height = SIZES[request.param]
    context = browser.new_context(
        viewport={"width": width, "height": height}, has_touch=True, is_mobile=True
    )
    yield context.new_page()
    context.close()


def box(page: Page, selector: str) -> dict[str, float]:
    found = page.locator(selector).bounding_box()
    assert found is not None, selector
    return dict(found)


def places(page: Page) -> list[dict[str, float]]:
    return [box(page, selector) for selector in ("#stage", "#chart", "#panel", "#tabs")]


def test_image_and_spectrum_are_in_view_beside_each_tab(phone: Page, address: str) -> None:
    opened(phone, address, "ch=40&r=0:circle(50,50,9)")
    phone.wait_for_function("() => tachyfits.dock.spectra.curves.has(1)")
    size = phone.viewport_size
    assert size is not None
    for tab in TABS:
        phone.locator(f"#tab-{tab}").tap()
        expect(phone.locator(f"#tab-{tab}")).to_have_attribute("aria-selected", "true")
        if "open" not in (phone.locator("#panel").get_attribute("class") or ""):
            phone.locator(f"#tab-{tab}").tap()
        phone.wait_for_timeout(150)
        stage, chart, body = (box(phone, name) for name in ("#stage", "#chart", "#panel-body"))
        assert stage["width"] >= 0.4 * size["width"], tab
        assert stage["height"] >= 0.3 * size["height"], tab
        assert chart["height"] >= 60, tab
        assert body["height"] >= 0.3 * size["height"], tab
        for one in (stage, chart, body):
            assert one["x"] >= 0
            assert one["y"] >= 0
            assert one["x"] + one["width"] <= size["width"] + 0.5, tab
            assert one["y"] + one["height"] <= size["height"] + 0.5, tab
        drawn = phone.evaluate("tachyfits.dock.chart.plot.height")
        assert drawn <= chart["height"] + 1


@pytest.mark.parametrize("more", ["", "&with=id%3Dcubes%2Fngc6946.fits"])
def test_nothing_moves_under_a_finger(phone: Page, address: str, more: str) -> None:
    opened(phone, address, f"ch=40&at=50,50,1.6&r=0:circle(50,50,20){more}")
    phone.wait_for_function("() => tachyfits.dock.spectra.curves.has(1)")
    settled(phone)
    before = places(phone)
    surface = box(phone, "#surface")
    at = phone.evaluate("tachyfits.viewer.toScreen({x: 50, y: 50})")
    x, y = surface["x"] + at["x"], surface["y"] + at["y"]
    touch = phone.context.new_cdp_session(phone)
    for kind, dx in (("touchStart", 0), *(("touchMove", -3 * n) for n in range(1, 12))):
        points = [{"x": x + dx, "y": y}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        phone.wait_for_timeout(40)
        assert places(phone) == before
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    moved = state(phone)["regions"][0]["values"]
    assert moved == pytest.approx([50 - 33 / 1.6, 50, 20], abs=0.4)
    assert places(phone) == before


def test_controls_and_handles_have_44_pixels(phone: Page, address: str) -> None:
    opened(phone, address, "ch=40&at=50,50,2&r=0:circle(50,50,20)&sel=1")
    small = phone.evaluate(
        "[...document.querySelectorAll('button, select, input:not([type=checkbox], [type=file])')]"
        ".filter(one => one.checkVisibility()).map(one => [one.getBoundingClientRect(), one])"
        ".filter(([{height}]) => height > 0 && height < 43.5)"
        ".map(([{height}, one]) => [height, one.outerHTML.slice(0, 80)])"
    )
    assert small == []
    # A finger 18 pixels beside the handle still takes it.
    surface = box(phone, "#surface")
    at = phone.evaluate("tachyfits.viewer.toScreen({x: 70, y: 50})")
    x, y = surface["x"] + at["x"] + 12, surface["y"] + at["y"] + 13
    touch = phone.context.new_cdp_session(phone)
    for kind, far in (("touchStart", 0), ("touchMove", 10), ("touchMove", 20), ("touchEnd", None)):
        points = [] if far is None else [{"x": x + far, "y": y}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        phone.wait_for_timeout(30)
    centre_x, centre_y, radius = state(phone)["regions"][0]["values"]
    assert (centre_x, centre_y) == (50, 50)
    assert radius > 25
