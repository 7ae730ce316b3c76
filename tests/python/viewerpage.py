"""The viewer page in Chromium: opening an image, waiting until it is drawn, and its state."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect


def opened(page: Page, address: str, hash_: str = "", name: str = "ngc6946.fits") -> None:
    """Open an image and wait until it is drawn."""
    page.goto(f"{address}#id=cubes/{name}&{hash_}")
    expect(page.locator("#file-name")).to_have_text(name)
    settled(page)


def settled(page: Page) -> None:
    """Wait until all is drawn that the page has begun to draw, or begins in the next frame."""
    page.evaluate("new Promise(end => requestAnimationFrame(() => requestAnimationFrame(end)))")
    expect(page.locator("#stage")).to_have_attribute("aria-busy", "false")


def state(page: Page) -> dict[str, Any]:
    """Return the state of the page's view."""
    found: dict[str, Any] = page.evaluate("JSON.parse(JSON.stringify(tachyfits.store.state))")
    return found
