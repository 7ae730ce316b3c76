"""The page for everyone: no violations that axe-core finds, the keyboard alone, small transfers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from viewerpage import opened, settled, state

#: axe-core as `make test` installs it, with the other tools of the page, where npm is.
AXE = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

TABS = ("image", "regions", "catalogues", "maps", "lines", "plots", "header", "save")

#: Bytes of all files that the page loads, compressed.
MOST_BYTES = 400_000


def violations(page: Page) -> list[str]:
    """Return what axe-core finds wrong, with the elements."""
    if not AXE.exists() and shutil.which("npm") is None:
        pytest.skip("COMPARISONS LEFT OUT: axe-core, which npm installs")
    # The server's policy forbids scripts of others; a debugger may add one.
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {', '.join(str(node['target']) for node in one['nodes'][:4])}"
        for one in found["violations"]
    ]


@pytest.fixture(params=["light", "dark"])
def themed(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, color_scheme=request.param, reduced_motion="reduce"
    )
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("size", [(1280, 800), (390, 844), (844, 390)], ids=str)
def test_axe_finds_no_violation(themed: Page, address: str, size: tuple[int, int]) -> None:
    themed.set_viewport_size({"width": size[0], "height": size[1]})
    shapes = "r=0:circle(50,50,9)&r=1:line(20,20,70,60)"
    opened(themed, address, f"ch=40&{shapes}&range=20,60&sel=1&with=id%3Dcubes%2Fngc6946.fits")
    themed.wait_for_function("() => tachyfits.store.state.beside.length === 1")
    wrong: dict[str, list[str]] = {}
    for tab in TABS:
        themed.evaluate("name => tachyfits.panel.show(name)", tab)
        themed.evaluate("document.querySelector('#panel').classList.add('open')")
        themed.wait_for_timeout(300)
        if found := violations(themed):
            wrong[tab] = found
    themed.evaluate("document.querySelector('#panel').classList.remove('open')")
    for key in ("o", "?", "j"):
        themed.keyboard.press(key)
        expect(themed.locator("dialog[open]")).to_be_visible()
        themed.wait_for_timeout(200)
        if found := violations(themed):
            wrong[key] = found
        themed.keyboard.press("Escape")
        expect(themed.locator("dialog[open]")).to_be_hidden()
        themed.wait_for_timeout(100)
    themed.evaluate("tachyfits.store.set({layout: 'blink', below: 'pv'})")
    themed.evaluate("tachyfits.tell(new Error('x'))")
    settled(themed)
    if found := violations(themed):
        wrong["layout"] = found
    assert wrong == {}


#: Marks the controls that can be seen; returns how many there are.
CONTROLS = """() => {
  const all = document.querySelectorAll('button, input, select, textarea, a[href], [tabindex="0"]');
  const seen = [...all].filter(one => one.checkVisibility() && !one.disabled && !one.hidden
    && one.getBoundingClientRect().width > 0 && !one.matches('[role=tab]'));
  seen.forEach((one, i) => one.dataset.control = i);
  return seen.map(one => one.id || one.getAttribute('aria-label') || one.textContent.slice(0, 30));
}"""


@pytest.mark.parametrize("tab", TABS)
def test_keyboard_alone_reaches_every_control(page: Page, address: str, tab: str) -> None:
    shapes = "r=0:circle(50,50,9)&range=20,60&sel=1"
    opened(page, address, f"ch=40&{shapes}&tab={tab}&with=id%3Dcubes%2Fngc6946.fits")
    page.wait_for_function("() => tachyfits.store.state.beside.length === 1")
    page.wait_for_timeout(500)
    settled(page)
    names = page.evaluate(CONTROLS)
    reached: set[int] = set()
    for _ in range(2 * len(names) + 20):
        page.keyboard.press("Tab")
        number = page.evaluate("document.activeElement?.dataset?.control ?? -1")
        reached.add(int(number))
    assert [name for i, name in enumerate(names) if i not in reached] == []
    # The tabs are one stop; arrows move among them.
    page.locator(f"#tab-{tab}").focus()
    for _ in TABS:
        page.keyboard.press("ArrowRight")
    expect(page.locator(f"#tab-{tab}")).to_be_focused()


def test_a_map_and_a_spectrum_need_no_mouse(page: Page, address: str) -> None:
    opened(page, address, "ch=40&at=50,50,5&r=0:point(1,1)")
    page.locator("#tab-image").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_label("Regions as text").focus()
    page.keyboard.type("circle(45,55,6)")
    page.keyboard.press("Enter")
    page.wait_for_function("() => tachyfits.dock.spectra.curves.has(2)")
    page.locator("#surface").focus()
    page.keyboard.press("ArrowUp")
    assert state(page)["regions"][1]["values"] == [45, 56, 6]
    page.keyboard.press("m")
    page.wait_for_function("() => tachyfits.store.state.layer.operation === 'moment0'")
    page.keyboard.press("m")
    assert state(page)["layer"]["operation"] == "channel"


def test_page_is_small(page: Page, address: str) -> None:
    sizes: dict[str, int] = {}

    def note(response: Response) -> None:
        if "/api/" not in response.url:
            sizes[response.url] = response.request.sizes()["responseBodySize"]

    page.on("response", note)
    opened(page, address, "ch=40")
    assert len(sizes) > 30
    # Transferred bytes: the server compresses the files of the page.
    assert sum(sizes.values()) <= MOST_BYTES
    script = page.request.get(f"{address}viewer.js", headers={"Accept-Encoding": "gzip"})
    assert script.headers["content-encoding"] == "gzip"
