"""Spectral lines on the page: velocities about a line, frames, and lines over the spectrum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from playwright.sync_api import Page, expect

import tachyfits as tf
from viewerpage import opened, settled, state

#: An optical cube in air, and a radio cube whose frame can be converted.
OPTICAL = {
    "CTYPE3": "AWAV", "CUNIT3": "Angstrom", "CRVAL3": 6540.0, "CRPIX3": 1.0, "CDELT3": 1.25,
    "BUNIT": "erg/s/cm2/Angstrom",
}  # fmt: skip
RADIO = {
    "CTYPE3": "FREQ", "CUNIT3": "Hz", "CRVAL3": 115.0e9, "CRPIX3": 1.0, "CDELT3": 10e6,
    "RESTFRQ": 115.2712018e9, "SPECSYS": "LSRK", "BUNIT": "K",
}  # fmt: skip
#: Channel (from 1) of the line in the models, and its width.
CENTRE, WIDTH = 20.0, 6.0


def model(cards: dict[str, Any]) -> fits.PrimaryHDU:
    """Return a cube of 40 channels with one line and noise."""
    sky = {"CTYPE1": "RA---TAN", "CRVAL1": 30.0, "CRPIX1": 8.0, "CDELT1": -1e-3,
           "CTYPE2": "DEC--TAN", "CRVAL2": 10.0, "CRPIX2": 8.0, "CDELT2": 1e-3}  # fmt: skip
    channels = np.arange(1, 41)
    line = np.exp(-4 * np.log(2) * ((channels - CENTRE) / WIDTH) ** 2)
    pixels = line[:, None, None] + np.random.default_rng(1).normal(0, 0.05, (40, 16, 16))
    hdu = fits.PrimaryHDU(pixels.astype(np.float32))
    hdu.header.update(sky | cards)
    return hdu


@pytest.fixture(scope="module")
def cubes(folder: Path) -> Path:
    """Return the served folder with both models in it."""
    model(OPTICAL).writeto(folder / "optical.fits", overwrite=True)
    model(RADIO).writeto(folder / "radio.fits", overwrite=True)
    return folder


@pytest.fixture
def place(cubes: Path, address: str) -> str:
    """Return the address of the server with both models."""
    return address


def axis(page: Page) -> Any:
    return page.evaluate("tachyfits.dock.spectra.axis")


def lines_tab(page: Page) -> None:
    page.locator("#tab-lines").click()
    expect(page.locator("#panel input[data-group=hydrogen]")).to_be_visible()


def test_optical_cube_has_velocities_about_a_line_of_the_table(page: Page, place: str) -> None:
    opened(page, place, name="optical.fits")
    lines_tab(page)
    page.get_by_label("Line of velocities").select_option("Hα")
    expect(page.get_by_label("Spectral axis")).to_have_value("km/s")
    expect(page.locator("#velocity-note")).to_contain_text("6564.608 Å in vacuum")
    wavelengths = 6540.0 + 1.25 * np.arange(40)
    page.wait_for_function("() => tachyfits.dock.spectra.axis.name === 'VOPT'")
    zero = float(np.interp(0.0, axis(page)["values"], wavelengths))
    assert zero == pytest.approx(6562.79, abs=0.02)
    page.get_by_label("Redshift").fill("0.001")
    page.get_by_label("Redshift").press("Enter")
    expect(page.locator("#velocity-note")).to_contain_text("6571.17")
    page.get_by_label("Redshift").fill("x")
    page.get_by_label("Redshift").press("Enter")
    assert state(page)["redshift"] == "0.001"


def test_lines_are_drawn_where_the_server_has_them_and_lead_to_channels(
    page: Page, place: str
) -> None:
    opened(page, place, "ch=2&z=0.0005", name="optical.fits")
    lines_tab(page)
    page.locator("#panel input[data-group=nebular]").check()
    page.wait_for_function("() => tachyfits.dock.chart.lines.length === 2")
    marks = page.evaluate("tachyfits.dock.chart.lines")
    assert [mark["name"] for mark in marks] == ["[N II] 6548", "[N II] 6583"]
    # Wavelengths in air by the NIST Atomic Spectra Database.
    for mark, air in zip(marks, (6548.05, 6583.45), strict=True):
        assert mark["at"] == pytest.approx(air * 1.0005, abs=0.05)
    page.locator("[data-line='[N II] 6548']").click()
    settled(page)
    assert state(page)["channel"] == round((6548.05 * 1.0005 - 6540) / 1.25) + 1


def test_frame_is_converted_as_far_as_the_header_allows(page: Page, place: str) -> None:
    opened(page, place, name="radio.fits")
    lines_tab(page)
    frames = page.get_by_label("Reference frame")
    expect(frames.locator("option").first).to_have_text("The header's (LSRK)")
    expect(frames.locator("option[value=TOPOCENT]")).to_be_disabled()
    before = axis(page)["values"][0]
    frames.select_option("BARYCENT")
    expect(page.locator("#velocity-note")).to_contain_text("Barycentric")
    factor = next(
        one["factor"] for one in page.evaluate("tachyfits.dock.lines.facts.frames")
        if one["name"] == "BARYCENT"
    )  # fmt: skip
    page.wait_for_function("before => tachyfits.dock.spectra.axis.values[0] !== before", arg=before)
    assert axis(page)["values"][0] == pytest.approx(before * factor, rel=1e-12)
    assert factor != 1


def test_link_restores_line_frame_and_lines(page: Page, place: str, cubes: Path) -> None:
    opened(page, place, name="radio.fits")
    lines_tab(page)
    page.locator("#panel input[data-group=co]").check()
    page.get_by_label("Line of velocities").select_option("13CO 1-0")
    page.get_by_label("Reference frame").select_option("BARYCENT")
    page.get_by_label("Redshift").fill("0.0001")
    page.get_by_label("Redshift").press("Enter")
    page.get_by_label("Convention of velocities").select_option("optical")
    expect(page.locator("#velocity-note")).to_contain_text("110.19")
    page.wait_for_function("() => tachyfits.dock.spectra.axis?.name === 'VOPT'")
    expected = axis(page)
    page.wait_for_function("() => location.hash.includes('conv=optical')")
    page.wait_for_timeout(200)  # the link follows the state by 150 ms
    link = page.evaluate("location.href")
    page.goto("about:blank")
    page.goto(link)
    settled(page)
    page.wait_for_function("() => tachyfits.dock.spectra.axis?.name === 'VOPT'")
    assert axis(page) == expected
    assert state(page)["lines"] == "co"
    # A moment map has the velocities of the same line.
    page.evaluate("tachyfits.store.set({frame: '', redshift: ''})")
    page.evaluate(
        "tachyfits.maps.show({operation: 'moment1', first: 10, last: 30, threshold: null})"
    )
    page.wait_for_function("() => tachyfits.store.state.layer.operation === 'moment1'")
    settled(page)
    with tf.open(cubes / "radio.fits") as file:
        part = file[0].select(channels=slice(9, 30))
        plane = part.moments((1,), unit="km/s", rest="110.2013543 GHz", convention="optical")[0]
    with page.expect_response(lambda answer: "/pixel" in answer.url) as answer:
        page.locator("#surface").hover()
    found = answer.value.json()
    assert found["value"] == plane.values[found["y"] - 1, found["x"] - 1]


def test_line_that_the_server_cannot_read_leaves_the_axis(
    page: Page, place: str, notice_expected: None
) -> None:
    opened(page, place, name="optical.fits")
    lines_tab(page)
    before = axis(page)
    page.get_by_label("Rest frequency or wavelength").fill("nonsense")
    page.get_by_label("Rest frequency or wavelength").press("Enter")
    expect(page.locator("#notice")).to_contain_text("invalid rest 'nonsense'")
    assert axis(page) == before
    assert state(page)["rest"] == ""


def fit_of(cubes: Path, **options: Any) -> Any:
    with tf.open(cubes / "radio.fits") as file:
        spectrum = file[0].spectrum(tf.region("circle(8,8,4)"))
    return spectrum, spectrum.fit_gaussians(**options)


def test_dragged_range_is_fitted_and_the_fit_follows_the_region(
    page: Page, place: str, cubes: Path
) -> None:
    opened(page, place, "ch=2&r=0:circle(8,8,4)", name="radio.fits")
    page.wait_for_function("() => tachyfits.dock.spectra.curves.has(1)")
    box = page.locator("#chart .u-over").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.2 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], y, steps=4)
    page.mouse.up()
    page.locator("#dock-bar").get_by_role("button", name="Fit", exact=True).click()
    first, last = state(page)["range"]
    assert page.get_by_label("Channels of the fit", exact=True).input_value() == f"{first}:{last}"
    expect(page.locator("#fit-table [data-name=centre]")).to_be_visible()
    _, expected = fit_of(cubes, channels=slice(first - 1, last))
    found = page.evaluate("tachyfits.dock.fit.result")
    # The page shows GHz at first.
    assert found["components"][0]["centre"] == pytest.approx(expected[0].centre / 1e9, rel=1e-12)
    assert found["components"][0]["fwhm"] == pytest.approx(expected[0].fwhm / 1e9, rel=1e-6)
    model = page.evaluate("[...tachyfits.dock.fit.model()]")
    np.testing.assert_allclose(model[first - 1 : last], expected.model.values[first - 1 : last],
                               rtol=1e-4, atol=1e-6)  # fmt: skip
    assert np.isnan(np.array(model, dtype=float)[: first - 1]).all()
    before = found["components"][0]["amplitude"]
    page.evaluate("tachyfits.viewer.put({...tachyfits.store.state.regions[0], values: [5, 5, 2]})")
    page.wait_for_function(
        "before => tachyfits.dock.fit.result?.components[0].amplitude !== before", arg=before
    )
    page.get_by_role("button", name="Remove the fit").click()
    expect(page.locator("#fit-table")).to_be_empty()
    assert page.evaluate("tachyfits.dock.fit.model()") is None


def test_noise_of_line_free_channels_and_ranges_are_in_the_link(
    page: Page, place: str, cubes: Path, notice_expected: None
) -> None:
    opened(page, place, "ch=2&r=0:circle(8,8,4)&range=1,9", name="radio.fits")
    lines_tab(page)
    page.get_by_label("Add the selected range to: Line-free channels").click()
    page.evaluate("tachyfits.store.set({range: [32, 40]})")
    page.get_by_label("Add the selected range to: Line-free channels").click()
    page.get_by_label("Channels of the fit", exact=True).fill("10:31")
    page.get_by_label("Channels of the fit", exact=True).press("Enter")
    page.get_by_label("Number of Gaussians").select_option("1")
    page.get_by_label("Baseline").select_option("0")
    page.locator("#fit").click()
    expect(page.locator("#fit-note")).to_contain_text("noise")
    spectrum, _ = fit_of(cubes)
    free = np.concatenate([spectrum.values[:9], spectrum.values[31:]])
    found = page.evaluate("tachyfits.dock.fit.result")
    assert found["noise"] == pytest.approx(free.std(ddof=1), rel=1e-9)
    page.wait_for_function("() => location.hash.includes('fitted=true')")
    page.wait_for_timeout(200)
    link = page.evaluate("location.href")
    page.goto("about:blank")
    page.goto(link)
    settled(page)
    page.wait_for_function("() => tachyfits.dock.fit.result")
    assert page.evaluate("tachyfits.dock.fit.result") == found
    lines_tab(page)
    with page.expect_download() as download:
        page.locator("#fit-link").click()
    table = Path(download.value.path()).read_text()
    assert repr(found["components"][0]["fwhm"]) in table
    page.get_by_label("Channels of the fit", exact=True).fill("nonsense")
    page.get_by_label("Channels of the fit", exact=True).press("Enter")
    expect(page.locator("#fit-problem")).to_contain_text("nonsense")


def test_shown_spectrum_is_smoothed_and_binned_by_the_server(
    page: Page, place: str, cubes: Path, tmp_path: Path
) -> None:
    opened(page, place, "ch=2&r=0:circle(8,8,4)&bin=3&smooth=2&unit=km/s", name="radio.fits")
    page.wait_for_function("() => tachyfits.dock.spectra.curves.has(1)")
    spectrum, _ = fit_of(cubes)
    shown = page.evaluate("[...tachyfits.dock.spectra.curves.get(1).values]")
    assert shown[0] == shown[2]
    assert np.isnan(float(shown[39]))  # the rest of a bin
    lines_tab(page)
    page.get_by_label("Smoothing: FWHM in channels").fill("0")
    page.get_by_label("Smoothing: FWHM in channels").press("Enter")
    expected = spectrum.values[:39].reshape(-1, 3).mean(axis=1)
    page.wait_for_function(
        "value => Math.abs(tachyfits.dock.spectra.curves.get(1)?.values[0] - value) < 1e-9",
        arg=expected[0],
    )
    with page.expect_download() as download:
        page.locator("#spectrum-fits").click()
    download.value.save_as(tmp_path / "spectrum.fits")
    with tf.open(tmp_path / "spectrum.fits") as file:
        saved = file[0].spectrum()
    np.testing.assert_allclose(saved.values, expected, rtol=1e-12)
    assert (saved.axis.name, saved.axis.unit) == ("VRAD", "km s-1")
