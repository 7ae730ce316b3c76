"""Polarisation on the page: Stokes parameters by name, P and angle as images, vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from playwright.sync_api import Page, expect

from viewerpage import opened, settled, state


@pytest.fixture(scope="module")
def cube(folder: Path) -> np.ndarray[Any, Any]:
    """I, Q, U, V whose angle turns with x, and whose intensity grows with y."""
    y, x = np.mgrid[:48, :64].astype(float)
    angle, intensity = np.radians(x * 2.5), 1 + y / 10
    q, u = intensity * np.cos(2 * angle), intensity * np.sin(2 * angle)
    pixels = np.stack([intensity * 2, q, u, 0 * q])[:, None].repeat(3, axis=1).astype(np.float32)
    header = fits.Header()
    for number, cards in enumerate(
        (("RA---TAN", 30.0, 187.7, -1e-3, "deg"), ("DEC--TAN", 20.0, 12.0, 1e-3, "deg"),
         ("FREQ", 1.0, 1.4e9, 1e6, "Hz"), ("STOKES", 1.0, 1.0, 1.0, "")), 1,
    ):  # fmt: skip
        for key, value in zip(("CTYPE", "CRPIX", "CRVAL", "CDELT", "CUNIT"), cards, strict=True):
            header[f"{key}{number}"] = value
    header["BUNIT"] = "Jy/beam"
    fits.writeto(folder / "polarised.fits", pixels, header)
    return pixels


def test_polarisation_is_shown_by_name_as_images_and_as_vectors(
    page: Page, address: str, cube: np.ndarray[Any, Any]
) -> None:
    opened(page, address, "ch=2", name="polarised.fits")
    page.get_by_label("Stokes parameter").select_option("U")
    assert state(page)["others"] == "3"
    settled(page)
    page.get_by_role("tab", name="Maps").click()
    page.locator("[data-operation=linear_polarization]").click()
    page.wait_for_function("() => tachyfits.store.state.layer.operation === 'linear_polarization'")
    page.evaluate("tachyfits.cursor.point({x: 10, y: 31})")
    expect(page.locator("#readout")).to_contain_text("4 Jy")
    page.locator("[data-operation=polarization_angle]").click()
    page.wait_for_function("() => tachyfits.store.state.layer.unit === 'deg'")
    page.get_by_label("Pixels from one vector to the next").fill("4")
    page.get_by_role("checkbox", name="Vectors").check()
    expect(page.locator("#vector-note")).to_contain_text("192 vectors")
    lines = page.evaluate("tachyfits.overlay.lines.get('vectors').lines")
    for start, end in lines:
        dx, dy = end["x"] - start["x"], end["y"] - start["y"]
        middle = (start["x"] + end["x"]) / 2 - 1
        # North is up and east to the left: angles turn from y towards -x.
        shown = np.degrees(np.arctan2(-dx, dy))
        assert (shown - 2.5 * middle + 90) % 180 - 90 == pytest.approx(0, abs=0.5)
    page.get_by_role("checkbox", name="Vectors").uncheck()
    page.wait_for_function("() => !tachyfits.overlay.lines.has('vectors')")


def test_link_and_session_restore_vectors(
    page: Page, address: str, cube: np.ndarray[Any, Any], tmp_path: Path
) -> None:
    """The settings of the vectors, and the lines that the page draws with them."""
    opened(page, address, "ch=2&tab=maps", name="polarised.fits")
    page.get_by_label("Pixels from one vector to the next").fill("6")
    page.get_by_label("Least intensity of vectors").fill("2.5")
    page.get_by_role("checkbox", name="Vectors").check()
    before = vectors(page)
    # Of 8 rows of blocks the upper 5 are bright enough.
    assert len(before) == 10 * 5
    assert state(page)["vectors"] == {"step": 6, "least": 2.5}
    page.evaluate("tachyfits.keepLinkNow()")
    link = page.url
    page.get_by_role("tab", name="Save").click()
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Save the session").click()
    downloading.value.save_as(tmp_path / "session.json")

    def check() -> None:
        assert vectors(page) == before
        page.get_by_role("tab", name="Maps").click()
        expect(page.get_by_role("checkbox", name="Vectors")).to_be_checked()
        expect(page.get_by_label("Pixels from one vector to the next")).to_have_value("6")
        expect(page.get_by_label("Least intensity of vectors")).to_have_value("2.5")

    page.goto("about:blank")
    page.goto(link)
    settled(page)
    check()
    # A link without vectors shows none, nor does an invalid one; the session restores them.
    for words in ("tab=save", "tab=save&vectors=0", "tab=save&vectors=6;2"):
        page.goto("about:blank")
        opened(page, address, words, name="polarised.fits")
        assert state(page)["vectors"] is None
        assert not page.evaluate("tachyfits.overlay.lines.has('vectors')")
    page.get_by_label("Session file").set_input_files(tmp_path / "session.json")
    check()


def vectors(page: Page) -> list[Any]:
    """Wait for the vectors; return their ends."""
    page.wait_for_function("() => tachyfits.overlay.lines.has('vectors')")
    found: list[Any] = page.evaluate("tachyfits.overlay.lines.get('vectors').lines")
    return found
