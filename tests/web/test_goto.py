"""Go to a position on the page: coordinates and names lead to the pixel of astropy's WCS."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits
from astropy.wcs import WCS
from playwright.sync_api import Page, expect

from viewerpage import opened, settled, state


@pytest.fixture(scope="module")
def sky(folder: Path) -> WCS:
    with fits.open(folder / "ngc6946.fits") as hdus:
        return WCS(hdus[0].header).celestial


def went(page: Page, text: str) -> None:
    """Open the dialog by its key and send a text."""
    page.locator("#surface").focus()
    page.keyboard.press("j")
    page.locator("#goto-text").fill(text)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("form", ["hmsdms", "decimal", "galactic"])
def test_coordinates_centre_the_image_and_are_marked(
    page: Page, address: str, sky: WCS, form: str
) -> None:
    opened(page, address, "ch=40&r=0:circle(50,50,9)")
    place = sky.pixel_to_world(61.25, 40.5)
    text = {
        "hmsdms": place.icrs.to_string("hmsdms", precision=6),
        "decimal": place.icrs.to_string("decimal", precision=9),
        "galactic": f"galactic {place.galactic.l.deg:.9f} {place.galactic.b.deg:.9f}",
    }[form]
    went(page, text)
    expect(page.locator("dialog[open]")).to_have_count(0)
    settled(page)
    found = state(page)
    np.testing.assert_allclose(found["centre"], [62.25, 41.5], atol=1e-3)
    assert found["regions"][-1]["kind"] == "point"
    np.testing.assert_allclose(found["regions"][-1]["values"], [62.25, 41.5], atol=1e-3)
    expect(page.locator("#readout[data-pixel^='62,4']")).to_be_visible()


def test_position_outside_and_text_without_meaning_leave_the_view(
    page: Page, address: str, notice_expected: None
) -> None:
    opened(page, address, "ch=40&r=0:circle(50,50,9)")
    before = state(page)
    went(page, "0:00:00 -80:00:00")
    expect(page.locator("#goto-problem")).to_contain_text("outside of this image")
    page.locator("#goto-text").fill("M 31 <b>")
    page.get_by_role("button", name="Go", exact=True).click()
    expect(page.locator("#goto-problem")).to_contain_text("resolves no names")
    page.keyboard.press("Escape")
    after = state(page)
    assert (after["centre"], after["regions"]) == (before["centre"], before["regions"])
