"""Several images on the page: matched by the sky, beside the numbers of the engine."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from astropy.wcs import WCS
from PIL import Image
from playwright.sync_api import Page, expect

import tachyfits as tf
from tachyfits.server.settings import Settings
from viewerpage import settled, state

#: Degrees by which the second cube is turned on the sky.
TURN = 30.0


def cube_of(scale: float, turn: float, step: float, flip: float = -1.0) -> fits.HDUList:
    """Return a cube of a rotating source at one place of the sky, in other pixels."""
    header = fits.Header()
    cosine, sine = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    cards = (
        ("RA---TAN", 60.5, 187.7, flip * scale / 3600, "deg"),
        ("DEC--TAN", 50.5, 12.39, scale / 3600, "deg"),
        ("VRAD", 11.0, 1000.0, step, "km/s"),
    )
    for number, values in enumerate(cards, 1):
        for name, value in zip(("CTYPE", "CRPIX", "CRVAL", "CDELT", "CUNIT"), values, strict=True):
            header[f"{name}{number}"] = value
    header.update(PC1_1=cosine, PC1_2=-sine, PC2_1=sine, PC2_2=cosine)
    header.update(BUNIT="Jy/beam", RESTFRQ=230.538e9, SPECSYS="LSRK", RADESYS="ICRS")
    y, x = np.mgrid[:100, :120]
    z = np.arange(40)[:, None, None]
    noise = np.random.default_rng(int(scale * 10)).normal(0, 0.02, (40, 100, 120))
    far = np.hypot(x - 59.5, y - 49.5) * scale
    pixels = np.exp(-(far**2) / 100) * np.exp(-((z - 15) ** 2) / 40) + noise
    return fits.HDUList([fits.PrimaryHDU(pixels.astype(np.float32), header)])


@pytest.fixture(scope="module")
def cubes(folder: Path) -> Path:
    cube_of(0.5, 0, 5.0).writeto(folder / "first.fits")
    cube_of(0.7, TURN, 10.0).writeto(folder / "turned.fits")
    cube_of(0.4, 0, 4.0, flip=1.0).writeto(folder / "mirrored.fits")
    plane = cube_of(0.6, -20, 5.0)[0]
    for card in list(plane.header["*3"]):
        del plane.header[card]
    fits.writeto(folder / "plane.fits", plane.data[15], plane.header)
    return folder


def opened(page: Page, address: str, names: list[str], hash_: str = "") -> None:
    """Open images beside each other and wait until they are drawn."""
    beside = "".join(f"&with=id%3Dcubes%2F{name}" for name in names[1:])
    page.goto(f"{address}#id=cubes/{names[0]}{beside}&{hash_}")
    page.wait_for_function(
        "n => window.tachyfits?.store.state.beside.length === n", arg=len(names) - 1
    )
    settled(page)


def companions(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(
        "tachyfits.store.state.beside.map(({key, dataset, channel}) => { const one ="
        " tachyfits.images.of(key); return {name: dataset.id, channel, match: one.match,"
        " value: one.value?.value ?? null, shapes: Object.fromEntries(one.shapes),"
        " curves: Object.fromEntries([...one.curves].map("
        "([id, {values}]) => [id, [...values]]))}; })"
    )
    return found


ALL = ["first.fits", "turned.fits", "mirrored.fits", "plane.fits"]


def screen(page: Page, x: float, y: float, cell: int = 0) -> tuple[float, float]:
    """Return where a pixel of the leading image, or the same place in another cell, is."""
    box = page.locator("#surface").bounding_box()
    assert box is not None
    at = page.evaluate(
        "([x, y, n]) => { const {viewer} = tachyfits, at = viewer.toScreen({x, y});"
        " return {x: at.x + viewer.cells[n].x, y: at.y + viewer.cells[n].y}; }",
        [x, y, cell],
    )
    return box["x"] + at["x"], box["y"] + at["y"]


def sky(path: Path) -> Any:
    with fits.open(path) as file:
        return WCS(file[0].header).celestial


def colour(page: Page, x: float, y: float, cell: int = 0) -> list[int]:
    """Return the colour on the canvas at a pixel of the leading image, in a cell."""
    found: list[int] = page.evaluate(
        "([x, y, n]) => { const {viewer} = tachyfits, {gl} = viewer.renderer;"
        " const at = viewer.toScreen({x, y}), cell = viewer.cells[n], ratio = devicePixelRatio;"
        " const found = new Uint8Array(4); gl.readPixels((at.x + cell.x) * ratio,"
        " gl.canvas.height - (at.y + cell.y) * ratio, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, found);"
        " return [...found]; }",
        [x, y, cell],
    )
    return found


def test_images_are_matched_by_the_sky(page: Page, address: str, cubes: Path) -> None:
    opened(page, address, ALL, "ch=16&at=60.5,50.5,3&unit=km/s")
    own = sky(cubes / "first.fits")
    for centre in ((60.5, 50.5), (80.25, 31.5)):
        page.evaluate("([x, y]) => tachyfits.store.set({centre: [x, y]})", list(centre))
        settled(page)
        for one in companions(page):
            other = sky(cubes / Path(one["name"]).name)
            to = other.all_world2pix(own.all_pix2world([centre], 1), 1)[0]
            np.testing.assert_allclose(one["match"]["to"], to, atol=1e-6)
            step = other.all_world2pix(own.all_pix2world([(centre[0] + 1, centre[1])], 1), 1)[0]
            matrix = np.reshape(one["match"]["matrix"], (2, 2))
            np.testing.assert_allclose(matrix[:, 0], step - to, atol=1e-5)
    # A pixel of the turned image is drawn where its place on the sky is.
    page.evaluate("tachyfits.store.set({centre: [60.5, 50.5]})")
    settled(page)
    key = "tachyfits.viewer.sheetOf(tachyfits.store.state.beside[0])"
    at = page.evaluate(
        f"(({{x, y}}) => tachyfits.viewer.toImage(x, y))({key}.toScreen({{x: 90, y: 20}}))"
    )
    there = sky(cubes / "turned.fits").all_pix2world([(90, 20)], 1)[0]
    here = own.all_pix2world([(at["x"], at["y"])], 1)[0]
    np.testing.assert_allclose(here, there, atol=1e-3 * 0.5 / 3600)


def test_channels_follow_the_velocity(page: Page, address: str, cubes: Path) -> None:
    opened(page, address, ALL, "ch=16&at=60.5,50.5,3&unit=km/s")
    for channel, others in ((16, [13, 17]), (19, [15, 21]), (1, [6, 1])):
        page.evaluate("n => tachyfits.channels.go(n)", channel)
        page.wait_for_function(
            "wanted => wanted.every((n, i) => tachyfits.store.state.beside[i].channel === n)",
            arg=others,
        )  # fmt: skip
    # The first channel of the first cube, 950 km/s, is before the first one of the mirrored cube.
    expect(page.locator(".cell").nth(2)).to_contain_text("no such channel")
    expect(page.locator(".cell").nth(1)).to_contain_text("950 km")
    page.get_by_label("Channels follow each other").uncheck()
    page.evaluate("tachyfits.channels.go(20)")
    settled(page)
    assert [image["channel"] for image in state(page)["beside"][:2]] == [6, 1]


@pytest.mark.parametrize(
    "region",
    ["circle(50,40,8)", "ellipse(60,55,12,5,25)", "box(62,48,20,9,40)", "annulus(58,50,6,12)",
     "polygon(40,40,70,45,60,70)", "point(61,49)"],
)  # fmt: skip
def test_spectra_of_a_region_are_those_of_the_sky(
    page: Page, address: str, cubes: Path, region: str
) -> None:
    opened(page, address, ALL[:3], f"ch=16&at=60.5,50.5,3&unit=km/s&r=0:{region}")
    page.wait_for_function(
        "() => tachyfits.store.state.beside.every(({key}) =>"
        " tachyfits.images.of(key).curves.has(1)) && tachyfits.dock.chart.own.size === 2"
    )
    own = sky(cubes / "first.fits")
    for one in companions(page):
        other = sky(cubes / Path(one["name"]).name)
        shape = one["shapes"]["1"]["shape"]
        text = page.evaluate("shape => tachyfits.text(shape)", shape)
        with tf.open(cubes / Path(one["name"]).name) as file:
            expected = file[0].spectrum(text).values
            mask = file[0].region_mask(text)
        np.testing.assert_array_equal(one["curves"]["1"], expected)
        # Its pixels are those whose places on the sky are inside the region of the first image.
        y, x = np.indices(mask.shape)
        back = own.all_world2pix(other.all_pix2world(np.column_stack([x.ravel(), y.ravel()]), 0), 0)
        inside = contains(region, *back.T).reshape(mask.shape)
        if region.startswith("point"):
            assert mask.sum() == 1
        else:
            assert (mask != inside).sum() <= 2
    # The chart has each curve on its own velocities.
    own_curves = page.evaluate(
        "[...tachyfits.dock.chart.own.values()].map(({xs}) => [xs[0], xs.at(-1)])"
    )
    assert own_curves == [[900, 1290], [960, 1116]]


def contains(region: str, x: Any, y: Any) -> Any:
    """Say which 0-based places are inside a region, by its definition."""
    name, _, rest = region.partition("(")
    values = [float(part) for part in rest[:-1].split(",")]
    x, y = x + 1 - values[0], y + 1 - values[1]
    if name == "circle":
        return np.hypot(x, y) <= values[2]
    if name == "annulus":
        return (np.hypot(x, y) <= values[3]) & (np.hypot(x, y) > values[2])
    if name in ("ellipse", "box"):
        angle = np.radians(values[4])
        u, v = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
        if name == "ellipse":
            return (u / values[2]) ** 2 + (v / values[3]) ** 2 <= 1
        return (abs(u) <= values[2] / 2) & (abs(v) <= values[3] / 2)
    corners = np.reshape(values, (-1, 2)) - values[:2]
    inside = np.zeros(x.shape, bool)
    for (x1, y1), (x2, y2) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        crosses = (y1 > y) != (y2 > y)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside ^= crosses & (x < x1 + (y - y1) / (y2 - y1) * (x2 - x1))
    return inside


def test_cursor_names_the_values_of_all_images(page: Page, address: str, cubes: Path) -> None:
    opened(page, address, ALL, "ch=16&at=60.5,50.5,3&unit=km/s")
    own = sky(cubes / "first.fits")
    # In each cell the pointer is at the same place of the sky.
    for cell in range(4):
        page.mouse.move(*screen(page, 70, 55, cell))
        expect(page.locator("#readout[data-pixel='70,55,16']")).to_be_visible()
        page.mouse.move(*screen(page, 20, 20, cell))
    page.mouse.move(*screen(page, 70, 55, 1))
    page.wait_for_function("() => document.querySelectorAll('#readout [data-image]').length === 3")
    place = own.all_pix2world([(70, 55)], 1)
    for name, channel in zip(ALL[1:], (13, 17, 1), strict=True):
        x, y = np.round(sky(cubes / name).all_world2pix(place, 1)[0]).astype(int)
        with tf.open(cubes / name) as file:
            value = file[0].read().reshape(-1, 100, 120)[channel - 1, y - 1, x - 1]
        page.wait_for_function(
            "([name, value]) => tachyfits.store.state.beside.some(({key, dataset}) =>"
            " dataset.id.endsWith(name) && tachyfits.images.of(key).value?.value === value)",
            arg=[name, float(value)],
        )


def test_layouts_show_the_colours_of_the_pixels(page: Page, address: str, cubes: Path) -> None:
    look = "map=grey&cuts=manual&low=0&high=1"
    page.goto(
        f"{address}#id=cubes/first.fits&ch=16&at=60.5,50.5,3&unit=km/s&{look}&layout=rgb"
        "&r=0:point(1,1)"
        + "".join(
            f"&with=id%3Dcubes%2F{name}%26{look.replace('=', '%3D').replace('&', '%26')}"
            for name in ("turned.fits", "plane.fits")
        )
    )
    page.wait_for_function("() => window.tachyfits?.store.state.beside.length === 2")
    settled(page)
    page.wait_for_function("() => tachyfits.store.state.beside[0].channel === 13")
    settled(page)
    own = sky(cubes / "first.fits")
    for x, y in ((66, 52), (50, 45), (70, 60)):
        place = own.all_pix2world([(x, y)], 1)
        values = []
        for name, channel in (("first.fits", 16), ("turned.fits", 13), ("plane.fits", 1)):
            column, line = np.round(sky(cubes / name).all_world2pix(place, 1)[0]).astype(int) - 1
            with tf.open(cubes / name) as file:
                values.append(file[0].read().reshape(-1, 100, 120)[channel - 1, line, column])
        expected = 255 * np.clip(values, 0, 1)
        page.evaluate("tachyfits.store.set({layout: 'rgb'}); tachyfits.viewer.draw()")
        np.testing.assert_allclose(colour(page, x, y)[:3], expected, atol=8)
        page.evaluate(
            "tachyfits.store.set({layout: 'over', opacity: 0.25}); tachyfits.viewer.draw()"
        )
        over = 0.75 * (0.75 * expected[0] + 0.25 * expected[1]) + 0.25 * expected[2]
        np.testing.assert_allclose(colour(page, x, y)[:3], [over] * 3, atol=8)
        page.evaluate("tachyfits.images.plays = false; tachyfits.store.set({layout: 'blink'})")
        for wanted in (1, 2, 0):
            page.keyboard.press("x")
            page.evaluate("tachyfits.viewer.draw()")
            np.testing.assert_allclose(colour(page, x, y)[:3], [expected[wanted]] * 3, atol=8)
        page.evaluate("tachyfits.viewer.blinked = 0")


def test_another_image_leads_and_keeps_its_cell(page: Page, address: str, cubes: Path) -> None:
    opened(page, address, ALL[:3], "ch=16&at=64,48,3&unit=km/s&r=0:circle(50,40,8)")
    page.wait_for_function(
        "() => tachyfits.store.state.beside.every(({key}) =>"
        " tachyfits.images.of(key).shapes.has(1))"
    )
    before = page.locator(".cell-name").all_inner_texts()
    page.locator(".cell-name").nth(1).click()
    expect(page.locator("#file-name")).to_have_text("turned.fits")
    settled(page)
    page.wait_for_function("() => tachyfits.store.state.beside.length === 2")
    assert page.locator(".cell-name").all_inner_texts() == before
    expect(page.locator(".cell-name").nth(1)).to_have_attribute("aria-pressed", "true")
    # The middle of the screen stays, and the region is where it was on the sky.
    own, other = sky(cubes / "first.fits"), sky(cubes / "turned.fits")
    middle = other.all_world2pix(own.all_pix2world([(64, 48)], 1), 1)[0]
    np.testing.assert_allclose(state(page)["centre"], middle, atol=1e-5)
    circle = state(page)["regions"][0]["values"]
    centre = other.all_world2pix(own.all_pix2world([(50, 40)], 1), 1)[0]
    np.testing.assert_allclose(circle, [*centre, 8 * 0.5 / 0.7], rtol=1e-6)
    # Its tools work on it: cuts of this image change, others stay.
    cuts = [image["look"]["high"] for image in state(page)["beside"]]
    page.get_by_label("Upper cut", exact=True).fill("0.5")
    page.get_by_label("Upper cut", exact=True).press("Tab")
    assert [image["look"]["high"] for image in state(page)["beside"]] == cuts
    page.keyboard.press("w")
    expect(page.locator("#file-name")).to_have_text("mirrored.fits")
    settled(page)
    page.get_by_label("Close first.fits").click()
    page.get_by_label("Close mirrored.fits").click()
    expect(page.locator("#file-name")).to_have_text("turned.fits")
    page.wait_for_function("() => tachyfits.store.state.beside.length === 0")
    assert state(page)["high"] == 0.5
    expect(page.locator(".cell")).to_have_count(0)


def test_an_image_is_added_and_the_axis_becomes_a_velocity(
    page: Page, address: str, cubes: Path
) -> None:
    with fits.open(cubes / "turned.fits") as file:
        header = file[0].header
        header.update(CTYPE3="FREQ", CUNIT3="Hz", CRVAL3=230.538e9 * (1 - 1000 / 299792.458))
        header["CDELT3"] = -230.538e9 * 10 / 299792.458
        fits.writeto(cubes / "frequency.fits", file[0].data, header)
    page.goto(f"{address}#id=cubes/frequency.fits&ch=11&at=60.5,50.5,3")
    settled(page)
    page.keyboard.press("Shift+O")
    page.get_by_role("dialog").get_by_text("first.fits").click()
    page.wait_for_function("() => tachyfits.store.state.spectralUnit === 'km/s'")
    page.wait_for_function("() => tachyfits.store.state.beside[0].channel === 11")
    settled(page)
    # 1025 km/s
    page.evaluate("tachyfits.channels.go(14)")
    page.wait_for_function("() => tachyfits.store.state.beside[0].channel === 17")


def test_images_without_a_common_sky_say_so(
    page: Page, address: str, cubes: Path, notice_expected: None
) -> None:
    fits.writeto(cubes / "bare.fits", np.ones((3, 100, 120), np.float32))
    fits.writeto(cubes / "small.fits", np.ones((3, 20, 30), np.float32))
    opened(page, address, ["first.fits", "bare.fits", "small.fits"], "at=60.5,50.5,3")
    expect(page.locator(".cell").nth(2)).to_contain_text("without sky coordinates")
    bare, small = companions(page)
    assert small["match"] is None
    assert bare["match"]["to"] == [60.5, 50.5]
    assert bare["match"]["matrix"] == [1, 0, 0, 1]
    page.keyboard.press("Shift+O")
    page.get_by_role("dialog").get_by_text("plane.fits").click()
    page.wait_for_function("() => tachyfits.store.state.beside.length === 3")
    expect(page.locator("#add-image")).to_be_disabled()


def test_files_of_the_command_are_shown_beside_each_other(
    page: Page, cubes: Path, tmp_path: Path, serving: Any
) -> None:
    settings = Settings(paths=tuple(cubes / name for name in ALL), cache_folder=tmp_path)
    with serving(settings, page) as address:
        page.goto(f"{address}#files=3")
        page.wait_for_function("() => window.tachyfits?.store.state.beside.length === 2")
        settled(page)
        expect(page.locator(".cell-name")).to_have_count(3)
        expect(page.locator("#file-name")).to_have_text("first.fits")
        page.wait_for_function(
            "() => tachyfits.store.state.beside.every(({key}) => tachyfits.images.of(key).axis)"
        )
        # The axis of the file and the unit that the server writes are spelled differently.
        page.evaluate("tachyfits.channels.go(21)")
        page.wait_for_function("() => tachyfits.store.state.beside[0].channel === 16")


def picture(page: Page) -> list[np.ndarray[Any, Any]]:
    """Return the canvases: the pixels, the lines over them, the chart."""
    page.mouse.move(5, 5)
    page.wait_for_timeout(500)
    settled(page)
    canvases = "[viewer.canvas, viewer.surface, dock.chart.plot.ctx.canvas]"
    urls = page.evaluate(
        f"(({{viewer, dock}}) => {{ viewer.draw();"
        f" return {canvases}.map(one => one.toDataURL()); }})(tachyfits)"
    )
    return [
        np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGBA"))
        for url in urls
    ]


def arranged(page: Page, address: str) -> None:
    """Open images and change their view as users do."""
    opened(
        page,
        address,
        ALL,
        "ch=16&at=60.5,50.5,3&unit=km/s&r=0:circle(50,40,8)&r=3:box(66,52,9,6,20)",
    )
    page.locator(".cell-name").nth(1).click()
    expect(page.locator("#file-name")).to_have_text("turned.fits")
    settled(page)
    page.get_by_label("Upper cut", exact=True).fill("0.625")
    page.get_by_label("Upper cut", exact=True).press("Tab")
    page.get_by_label("Colour map").select_option("viridis")
    page.locator(".cell-name").nth(0).click()
    expect(page.locator("#file-name")).to_have_text("first.fits")
    settled(page)
    page.locator("#tab-maps").click()
    page.get_by_role("button", name="Draw contours").click()
    page.wait_for_function("() => tachyfits.overlay.lines.has('contours')")
    page.locator("#tab-lines").click()
    page.evaluate(
        "tachyfits.store.set({fitted: true, fitChannels: '5:35', selected: 2, range: [5, 30]})"
    )
    page.wait_for_function("() => tachyfits.dock.fit.result !== null")
    page.evaluate("tachyfits.dock.chart.plot.setScale('x', {min: 980, max: 1090})")
    page.evaluate("tachyfits.channels.go(18)")
    page.wait_for_function("() => tachyfits.store.state.beside[0].channel === 14")
    page.wait_for_function("() => tachyfits.dock.chart.own.size === 4")
    settled(page)


def shows_all(page: Page, before: list[np.ndarray[Any, Any]], kept: dict[str, Any]) -> None:
    """Compare what a link or a session restored with what was on the screen."""
    page.wait_for_function("() => window.tachyfits?.store.state.beside.length === 3")
    page.wait_for_function("() => tachyfits.overlay.lines.has('contours')")
    page.wait_for_function("() => tachyfits.dock.fit.result !== null")
    page.wait_for_function("() => tachyfits.dock.chart.own.size === 4")
    settled(page)
    now = state(page)
    for image in (*now["beside"], *kept["beside"]):
        image.pop("key", None)
    contours = {key: value for key, value in kept["contours"]["of"].items() if value is not None}
    assert now.pop("contours") == kept["contours"] | {"of": contours}
    assert {key: value for key, value in now.items() if value != kept[key]} == {}
    for found, expected in zip(picture(page), before, strict=True):
        np.testing.assert_array_equal(found, expected)
    expect(page.get_by_role("tab", name="Lines")).to_have_attribute("aria-selected", "true")


def test_link_and_session_restore_all_that_is_on_the_screen(
    page: Page, address: str, cubes: Path, tmp_path: Path
) -> None:
    arranged(page, address)
    before = picture(page)
    kept, link = state(page), page.url
    assert "v=3" in link
    page.evaluate("tachyfits.panel.show('save')")
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Save the session").click()
    path = tmp_path / "session.json"
    downloading.value.save_as(path)
    saved = json.loads(path.read_text())
    assert (saved["program"], saved["session"]) == ("tachyfits", 3)
    assert path.stat().st_size < 3000
    page.goto("about:blank")
    page.goto(link)
    shows_all(page, before, kept)
    page.goto("about:blank")
    page.goto(f"{address}#id=cubes/plane.fits")
    settled(page)
    page.locator("#tab-save").click()
    saved["view"]["tab"] = "lines"
    path.write_text(json.dumps(saved))
    page.get_by_label("Session file").set_input_files(path)
    expect(page.locator("#file-name")).to_have_text("first.fits")
    shows_all(page, before, kept)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no JSON", "expected JSON"),
        ('{"program": "other", "view": {}}', "not a session of tachyfits"),
        ('{"program": "tachyfits", "session": 9, "view": {}}', "update tachyfits"),
    ],
)
def test_files_that_are_not_sessions_are_refused(
    page: Page,
    address: str,
    cubes: Path,
    text: str,
    said: str,
    notice_expected: None,
    tmp_path: Path,
) -> None:
    page.goto(f"{address}#id=cubes/plane.fits")
    settled(page)
    page.locator("#tab-save").click()
    (tmp_path / "wrong.json").write_text(text)
    page.get_by_label("Session file").set_input_files(tmp_path / "wrong.json")
    expect(page.locator("#notice")).to_contain_text(said)
    expect(page.locator("#file-name")).to_have_text("plane.fits")


def test_link_of_a_newer_version_is_opened_and_told(
    page: Page, address: str, cubes: Path, notice_expected: None
) -> None:
    page.goto(f"{address}#v=7&id=cubes/first.fits&ch=9&at=60,50,3&future=1")
    expect(page.locator("#notice")).to_contain_text("version 7")
    assert state(page)["channel"] == 9
