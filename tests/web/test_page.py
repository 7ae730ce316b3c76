"""The viewer page in a real browser, beside the numbers of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from astropy.wcs import WCS
from playwright.sync_api import Browser, Page, expect

import tachyfits as tf
from tachyfits.server import planes
from viewerpage import opened, settled, state


def on_screen(page: Page, x: float, y: float) -> tuple[float, float]:
    """Return where the centre of a pixel (FITS: from 1) is on the page."""
    box = page.locator("#surface").bounding_box()
    assert box is not None
    at = page.evaluate("([x, y]) => tachyfits.viewer.toScreen({x, y})", [x, y])
    return box["x"] + at["x"], box["y"] + at["y"]


def curve(page: Page, region: int) -> np.ndarray[Any, Any]:
    """Return the values of a region's spectrum as the chart draws them."""
    values = page.evaluate(
        "id => { const found = tachyfits.dock.spectra.curves.get(id);"
        " return found ? [...found.values] : []; }",
        region,
    )
    return np.array(values, dtype=np.float64)


def test_pixel_under_the_cursor_is_that_of_the_file(page: Page, address: str, folder: Path) -> None:
    opened(page, address, "ch=40")
    with tf.open(folder / "ngc6946.fits") as file:
        plane = file[0][39]
    for x, y in ((1, 1), (100, 100), (53, 48)):
        page.mouse.move(*on_screen(page, x, y))
        readout = page.locator(f"#readout[data-pixel='{x},{y},40']")
        expect(readout).to_be_visible()
        assert float(readout.get_attribute("data-value") or "nan") == plane[y - 1, x - 1]
    expect(page.locator("#readout")).to_contain_text("FK5")


def test_colours_on_screen_follow_the_pixels(page: Page, address: str, folder: Path) -> None:
    opened(page, address, "ch=40&map=grey&cuts=manual&low=0&high=0.02&r=0:point(1,1)")
    with tf.open(folder / "ngc6946.fits") as file:
        plane = file[0][39]
    for x, y in ((53, 48), (20, 80), (60, 40)):
        red = page.evaluate(
            "([x, y]) => { const {viewer} = tachyfits, {gl} = viewer.renderer;"
            " const at = viewer.toScreen({x, y}), ratio = devicePixelRatio;"
            " const found = new Uint8Array(4);"
            " gl.readPixels(at.x * ratio, gl.canvas.height - at.y * ratio, 1, 1, gl.RGBA,"
            " gl.UNSIGNED_BYTE, found); return found[0]; }",
            [x, y],
        )
        expected = 255 * np.clip(plane[y - 1, x - 1] / 0.02, 0, 1)
        assert abs(red - expected) <= 6


def test_spectrum_follows_a_dragged_region(page: Page, address: str, folder: Path) -> None:
    opened(page, address, "r=0:circle(40,50,7)")
    page.wait_for_function("() => tachyfits.dock.spectra.curves.has(1)")
    with tf.open(folder / "ngc6946.fits") as file:
        cube = file[0]
        np.testing.assert_array_equal(curve(page, 1), cube.spectrum("circle(40,50,7)").values)
        page.mouse.move(*on_screen(page, 40, 50))
        page.mouse.down()
        seen = set()
        for step in range(1, 9):
            page.mouse.move(*on_screen(page, 40 + 2 * step, 50 - step))
            page.wait_for_timeout(60)
            # The button is still down: what is drawn now belongs to the drag.
            seen.add(page.evaluate("tachyfits.dock.spectra.curves.get(1).text"))
        page.mouse.up()
        assert len(seen) > 3
        text = page.evaluate("tachyfits.text(tachyfits.store.state.regions[0])")
        page.wait_for_function("t => tachyfits.dock.spectra.curves.get(1).text === t", arg=text)
        region = page.evaluate("tachyfits.store.state.regions[0].values")
        assert region == pytest.approx([56, 42, 7], abs=0.3)
        np.testing.assert_array_equal(curve(page, 1), cube.spectrum(text).values)


def test_channels_are_stepped_and_named_with_their_pixels(page: Page, address: str) -> None:
    opened(page, address, "ch=40")
    number = page.get_by_label("Number of the channel")
    for _ in range(3):
        page.get_by_label("Next channel").click()
    expect(number).to_have_value("43")
    assert page.evaluate("tachyfits.viewer.shown.channel") == 43
    expect(page.locator("#channel-world")).to_contain_text("km/s")


def test_link_restores_the_view(page: Page, address: str) -> None:
    opened(page, address, "ch=33&map=viridis&stretch=sqrt&r=2:ellipse(40,50,9,5,30)")
    page.mouse.move(*on_screen(page, 40, 50))
    page.mouse.wheel(0, -400)
    page.wait_for_timeout(400)
    before = state(page)
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    settled(page)
    after = state(page)
    for key in ("channel", "map", "stretch", "layer", "range"):
        assert after[key] == before[key], key
    for key in ("centre", "scale", "low", "high"):
        assert after[key] == pytest.approx(before[key], rel=1e-5), key
    assert after["regions"] == before["regions"]


def test_failure_says_what_to_do(page: Page, address: str, notice_expected: None) -> None:
    page.goto(f"{address}#id=cubes/none.fits")
    expect(page.get_by_role("alert")).to_contain_text("unknown ID")
    expect(page.get_by_role("alert")).to_contain_text("Choose a file from the list")


def test_moment_map_of_a_range_is_the_engines(page: Page, address: str, folder: Path) -> None:
    opened(page, address, "ch=40&range=20,60&cuts=minmax")
    page.get_by_role("tab", name="Maps").click()
    page.get_by_role("button", name="Moment 0").click()
    page.wait_for_function("() => tachyfits.store.state.layer.operation === 'moment0'")
    settled(page)
    with tf.open(folder / "ngc6946.fits") as file:
        threshold = state(page)["layer"]["threshold"]
        plane = file[0].select(channels=slice(19, 60), where=threshold).moment(0)
    page.mouse.move(*on_screen(page, 53, 48))
    page.wait_for_function(
        "v => Number(document.querySelector('#readout').dataset.value) === v",
        arg=float(plane.values[47, 52]),
    )
    pixels = page.evaluate(
        "[...tachyfits.viewer.tiles.find(tachyfits.viewer.plane(), {level: 0, x: 0, y: 0}).pixels]"
    )
    error = page.evaluate(
        "tachyfits.viewer.tiles.find(tachyfits.viewer.plane(), {level: 0, x: 0, y: 0}).error"
    )
    pixels = np.reshape(np.array(pixels, dtype=float), plane.values.shape)
    np.testing.assert_array_equal(np.isnan(pixels), np.isnan(plane.values))
    assert np.nanmax(np.abs(pixels - plane.values)) <= error
    page.get_by_role("button", name="One channel").click()
    page.wait_for_function("() => tachyfits.viewer.shown?.channel === 40")


def test_cutout_has_the_bits_and_the_coordinates_of_the_file(
    page: Page, address: str, folder: Path, tmp_path: Path
) -> None:
    opened(page, address, "range=20,60&r=0:box(45,55,21,11,0)")
    page.locator("#tab-save").click()
    page.get_by_label("Part of the plane").select_option("region")
    expect(page.locator("#cutout-size")).to_contain_text(" × ".join(["21", "11", "41"]))  # noqa: RUF001
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download FITS").click()
    path = tmp_path / "cutout.fits"
    downloading.value.save_as(path)
    with fits.open(path) as cut, fits.open(folder / "ngc6946.fits") as whole:
        assert cut[0].data.tobytes() == whole[0].data[19:60, 49:60, 34:55].tobytes()
        ours, theirs = WCS(cut[0].header), WCS(whole[0].header)
        for x, y, z in ((0, 0, 0), (20, 10, 40), (0, 10, 20)):
            expected = theirs.all_pix2world([[x + 34, y + 49, z + 19]], 0)
            np.testing.assert_allclose(ours.all_pix2world([[x, y, z]], 0), expected, rtol=1e-12)
    shown = page.locator("#cutout-size").inner_text()
    size = path.stat().st_size
    assert f"{size / 1000:.3g} kB" in shown


def test_statistics_of_the_selected_region_are_the_engines(
    page: Page, address: str, folder: Path
) -> None:
    opened(page, address, "ch=40&r=0:circle(50,50,12.5)")
    page.locator("#tab-regions").click()
    page.get_by_role("button", name="Circle 1").first.click()
    with tf.open(folder / "ngc6946.fits") as file:
        stats = file[0].select("circle(50,50,12.5)", section=(slice(39, 40),)).stats()
    table = page.locator("#panel table.values")
    expect(table.locator("[data-name=count]")).to_have_text(str(stats.count))
    for name in ("mean", "std", "max"):
        shown = float(table.locator(f"[data-name={name}]").inner_text())
        assert shown == pytest.approx(getattr(stats, name), rel=1e-4)


def test_range_is_selected_on_the_spectrum(page: Page, address: str) -> None:
    opened(page, address, "ch=40&r=0:circle(50,50,12)")
    page.wait_for_function("() => tachyfits.dock.spectra.curves.has(1)")
    box = page.locator("#chart .u-over").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.25 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], y, steps=4)
    page.mouse.up()
    page.wait_for_function("() => tachyfits.store.state.range !== null")
    first, last = state(page)["range"]
    assert abs(first - 26) <= 1
    assert abs(last - 51) <= 1
    page.mouse.click(box["x"] + 0.75 * box["width"], y)
    settled(page)
    assert abs(state(page)["channel"] - 76) <= 1


def test_diagram_along_a_drawn_line_is_the_engines(page: Page, address: str, folder: Path) -> None:
    opened(page, address, "ch=40&r=0:line(20,30,70,60)")
    page.locator("[data-view=pv]").click()
    page.wait_for_function("() => tachyfits.dock.diagram.found !== null")
    found = page.evaluate(
        "(({tile}) => ({...tile, pixels: [...tile.pixels]}))(tachyfits.dock.diagram.found)"
    )
    with tf.open(folder / "ngc6946.fits") as file:
        expected = file[0].pv([(19, 29), (69, 59)]).read()
    pixels = np.reshape(found["pixels"], (found["height"], found["width"]))
    assert np.abs(pixels - expected).max() <= found["error"]


def test_axes_in_another_order_are_shown_by_the_sky(page: Page, address: str, folder: Path) -> None:
    opened(page, address, "ch=5&others=2", name="dec_pol_freq_ra.fits")
    # NumPy's order in the file: RA, FREQ, POL, DEC.
    with tf.open(folder / "dec_pol_freq_ra.fits") as file:
        expected = file[0][9, 4, 1, 19]
    page.mouse.move(*on_screen(page, 20, 10))
    readout = page.locator("#readout[data-pixel='20,10,5']")
    expect(readout).to_be_visible()
    assert float(readout.get_attribute("data-value") or "nan") == expected


def test_keys_move_a_region_and_channels(page: Page, address: str) -> None:
    opened(page, address, "ch=40&r=0:circle(50,50,12)")
    page.locator("#tab-regions").click()
    page.get_by_role("button", name="Circle 1").first.click()
    page.locator("#surface").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    assert state(page)["regions"][0]["values"] == [51, 60, 12]
    page.keyboard.press("]")
    assert state(page)["channel"] == 41
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Delete")
    assert state(page)["regions"] == []


def test_region_files_are_read_and_saved(page: Page, address: str, tmp_path: Path) -> None:
    opened(page, address, "at=50,50,5")
    page.locator("#tab-regions").click()
    source = tmp_path / "given.reg"
    source.write_text("# Region file format: DS9\nimage\ncircle(40,50,7)\nbox(20,30,8,4,30)\n")
    page.get_by_label("Region file").set_input_files(source)
    page.wait_for_function("() => tachyfits.store.state.regions.length === 2")
    circle, box = state(page)["regions"]
    assert (circle["kind"], circle["values"]) == ("circle", [40, 50, 7])
    assert (box["kind"], box["values"]) == ("box", [20, 30, 8, 4, 30])
    page.get_by_label("Coordinates of the saved regions").select_option("image")
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Save regions").click()
    saved = Path(downloading.value.path()).read_text()
    shapes = [text.split("#")[0].strip() for text in saved.splitlines()[2:]]
    assert [tf.region(shape) for shape in shapes] == [
        tf.region("circle(40,50,7)"),
        tf.region("box(20,30,8,4,30)"),
    ]


def test_contours_of_another_image_lie_by_its_coordinates(
    page: Page, address: str, folder: Path
) -> None:
    # The other image is a part of this one, so its lines are this one's, 30 and 20 pixels on.
    with tf.open(folder / "ngc6946.fits") as file:
        part = file[0].cutout(section=np.s_[:, 20:80, 30:90])
        part.write(folder / "part.fits", overwrite=True)
        value = float(file[0].collapse("mean").values[48:52, 48:52].mean())
    opened(page, address, "ch=40&at=50,50,5")
    page.locator("#tab-maps").click()
    page.get_by_role("button", name="Choose…").click()
    page.get_by_role("dialog").get_by_text("part.fits").click()
    expect(page.locator("#panel")).to_contain_text("part.fits")
    page.get_by_label("Levels, with commas between").fill(repr(value))
    page.get_by_role("button", name="Draw contours").click()
    page.wait_for_function("() => tachyfits.overlay.lines.has('contours')")
    lines = page.evaluate("tachyfits.overlay.lines.get('contours').lines")
    with tf.open(folder / "ngc6946.fits") as file:
        mean = file[0].collapse("mean").values
    count = 0
    for line in lines:
        for point in line:
            x, y = point["x"] - 1, point["y"] - 1
            around = mean[int(y + 0.01) : int(y + 1.99), int(x + 0.01) : int(x + 1.99)]
            assert around.min() <= value * 1.001
            assert around.max() >= value * 0.999
            count += 1
    assert count > 20


def test_page_fits_a_phone_and_obeys_fingers(browser: Browser, address: str, folder: Path) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, color_scheme="dark"
    )
    page = context.new_page()
    opened(page, address, "r=0:circle(50,50,8)")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    x, y = on_screen(page, 30, 60)
    page.touchscreen.tap(x, y)
    expect(page.locator("#readout[data-pixel^='30,60,']")).to_be_visible()
    page.locator("#tab-maps").tap()
    expect(page.get_by_role("button", name="Moment 0")).to_be_visible()
    page.locator("#tab-maps").tap()
    expect(page.get_by_role("button", name="Moment 0")).to_be_hidden()
    # Two fingers: twice as far apart is twice as large.
    before = state(page)["scale"]
    box = page.locator("#surface").bounding_box()
    assert box is not None
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    touch = context.new_cdp_session(page)
    for kind, far in (("touchStart", 40), ("touchMove", 60), ("touchMove", 80), ("touchEnd", 0)):
        points = [{"x": middle[0] + s * far, "y": middle[1], "id": s + 1} for s in (-1, 1)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points if far else []})
    page.wait_for_function("s => tachyfits.store.state.scale > 1.9 * s", arg=before)
    assert state(page)["scale"] == pytest.approx(2 * before, rel=0.03)
    context.close()


def test_animation_keeps_numbers_with_their_pixels(page: Page, address: str, folder: Path) -> None:
    opened(page, address, "ch=30&range=30,45")
    with tf.open(folder / "ngc6946.fits") as file:
        cube = file[0].read()
    page.get_by_role("button", name="Play").click()
    seen = set()
    for _ in range(12):
        shown, value = page.evaluate(
            "() => { const {viewer} = tachyfits;"
            " const tile = viewer.tiles.find(viewer.shown, {level: 0, x: 0, y: 0});"
            " return [viewer.shown.channel, [tile.pixels[47 * 100 + 52], tile.error]]; }"
        )
        assert abs(value[0] - cube[shown - 1, 47, 52]) <= value[1]
        seen.add(shown)
        page.wait_for_timeout(90)
    page.get_by_role("button", name="Stop").click()
    assert len(seen) >= 3
    assert seen <= set(range(30, 46))


def test_replaced_file_is_told_and_loaded_again(
    page: Page, address: str, folder: Path, notice_expected: None
) -> None:
    path = folder / "changing.fits"
    tf.write(path, np.ones((5, 20, 30), dtype=np.float32))
    opened(page, address, "ch=1", name="changing.fits")
    tf.write(path, np.full((5, 24, 30), 7, dtype=np.float32), overwrite=True)
    page.get_by_label("Next channel").click()
    expect(page.get_by_role("alert")).to_contain_text("was replaced")
    page.get_by_role("button", name="Load it again").click()
    page.wait_for_function("() => tachyfits.store.state.dataset.height === 24")
    settled(page)
    expect(page.get_by_role("alert")).to_be_hidden()


def test_cuts_and_levels_of_a_large_image(page: Page, address: str, folder: Path) -> None:
    # Twelve tiles by nine at full size; a gradient, so that each place has its own value.
    y, x = np.mgrid[0:2304, 0:3072].astype(np.float32)
    tf.write(folder / "large.fits", x + 4000 * y, overwrite=True)
    opened(page, address, "cuts=minmax&map=grey", name="large.fits")
    assert state(page)["low"] == 0
    assert state(page)["high"] == pytest.approx(3071 + 4000 * 2303, rel=1e-6)
    page.evaluate(
        "tachyfits.store.set({scale: 0.05, centre: [1536, 1152]}); tachyfits.viewer.draw()"
    )
    settled(page)
    assert page.evaluate("tachyfits.viewer.level()") >= 3
    page.evaluate("tachyfits.store.set({scale: 4, centre: [2000, 1800]}); tachyfits.viewer.draw()")
    settled(page)
    assert page.evaluate("tachyfits.viewer.level()") == 0
    place = {"level": 0, "x": 2000 // 256, "y": 1800 // 256}
    tile = page.evaluate(
        "place => (({width, height, pixels, error}) => ({width, height, error,"
        " pixels: [...pixels]}))(tachyfits.viewer.tiles.find(tachyfits.viewer.plane(), place))",
        place,
    )
    left, low = place["x"] * 256, place["y"] * 256
    expected = (x + 4000 * y)[low : low + 256, left : left + 256]
    assert np.abs(np.reshape(tile["pixels"], (256, 256)) - expected).max() <= tile["error"]


def test_spectra_are_saved_with_their_units(page: Page, address: str, folder: Path) -> None:
    opened(page, address, "r=0:circle(40,50,7)&stat=flux")
    page.wait_for_function("() => tachyfits.dock.spectra.curves.has(1)")
    page.wait_for_function("() => tachyfits.dock.spectra.unit !== ''")
    page.locator("#tab-save").click()
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Spectra (CSV)").click()
    head, *rows = Path(downloading.value.path()).read_text().splitlines()
    with tf.open(folder / "ngc6946.fits") as file:
        expected = file[0].spectrum("circle(40,50,7)", statistic="flux")
        assert expected.unit != file[0].unit
    assert f"({expected.unit})" in head
    found = np.array([row.split(",") for row in rows], dtype=np.float64)
    np.testing.assert_array_equal(found[:, 0], expected.axis.values)
    np.testing.assert_array_equal(found[:, 1], expected.values)


def test_threshold_of_a_map_is_the_engines_and_is_in_the_link(
    page: Page, address: str, folder: Path
) -> None:
    opened(page, address, "image=moment1,20,60,0.004&at=50,50,5")
    page.wait_for_function("() => tachyfits.store.state.layer.operation === 'moment1'")
    settled(page)
    with tf.open(folder / "ngc6946.fits") as file:
        plane = file[0].select(channels=slice(19, 60), where=0.004).moment(1)
    page.mouse.move(*on_screen(page, 53, 48))
    page.wait_for_function(
        "v => Number(document.querySelector('#readout').dataset.value) === v",
        arg=float(plane.values[47, 52]),
    )
    page.wait_for_function("() => location.hash.includes('image=moment1,20,60,0.004')")


def test_unit_of_the_spectral_axis_is_chosen(page: Page, address: str) -> None:
    opened(page, address, "ch=3&others=1", name="dec_pol_freq_ra.fits")
    world = page.locator("#channel-world")
    expect(world).to_have_text("1.4238 GHz")
    page.get_by_label("Spectral axis").select_option("mm")
    expect(world).to_have_text(f"{299792458 / 1.4238e6:.7g} mm")
    page.get_by_label("Spectral axis").select_option("channel")
    expect(world).to_have_text("3")


def test_numbers_of_an_axis_have_as_many_decimals_as_its_steps(page: Page, address: str) -> None:
    opened(page, address)

    def ticks(*values: float) -> list[str]:
        call = "async values => (await import('./words.js')).ticks(values)"
        found: list[str] = page.evaluate(call, list(values))
        return found

    assert ticks(0, 5e-4, 1e-3, 1.5e-3) == ["0", "0.0005", "0.001", "0.0015"]
    assert ticks(-8.3e-5, 7.1e-4, 1.5e-3) == ["-0.00008", "0.00071", "0.0015"]
    assert ticks(0, 2e-7) == ["0", "2.00e-7"]
    assert ticks(-300, 0, 300) == ["-300", "0", "300"]
    assert ticks() == []


def test_regions_are_written_as_text_on_the_sky(
    page: Page, address: str, folder: Path, notice_expected: None
) -> None:
    opened(page, address, "ch=40&at=50,50,5")
    page.locator("#tab-regions").click()
    text = page.get_by_label("Regions as text")
    problem = page.locator("#region-problem")
    with tf.open(folder / "ngc6946.fits") as file:
        sky = file[0].wcs.celestial
        place = sky.pixel_to_world(39, 49).icrs
    ra, dec = place.ra.deg, place.dec.deg
    notations = [
        f'circle({ra:.6f}, {dec:.6f}, 60")',
        f"icrs; circle({place.ra.to_string('hour', sep=':', precision=4)},"
        f'{place.dec.to_string("deg", sep=":", precision=4)},60")',
        f'# Region file format: DS9 version 4.1\nicrs\ncircle({ra:.6f},{dec:.6f},60")\n',
    ]
    for count, notation in enumerate(notations, 1):
        text.fill(notation)
        text.press("Enter")
        page.wait_for_function("n => tachyfits.store.state.regions.length === n", arg=count)
        expect(text).to_have_value("")
        region = state(page)["regions"][-1]
        assert region["kind"] == "circle"
        assert region["values"][:2] == pytest.approx([40, 50], abs=0.02)
        expect(problem).to_have_text("")
    for wrong, said in (
        ("circle(1,2)", "circle has 2 numbers"), ("circle(10, 91, 5d)", "latitude"),
        ("fk9; circle(1,2,3)", "invalid frame"), ("blob(1,2,3)", "invalid shape"),
    ):  # fmt: skip
        text.fill(wrong)
        page.get_by_role("button", name="Add", exact=True).click()
        expect(problem).to_contain_text(said)
        expect(text).to_have_value(wrong)
        expect(text).to_have_attribute("aria-invalid", "true")
    assert len(state(page)["regions"]) == 3
    # The page shows the problem beside the text, and there alone.
    expect(page.get_by_role("alert").filter(has_text="Dismiss")).to_be_hidden()
    text.fill("box(20,30,8,4,30)")
    text.press("Enter")
    page.wait_for_function("() => tachyfits.store.state.regions.length === 4")
    expect(problem).to_have_text("")


def test_map_that_is_shown_is_saved_as_fits(
    page: Page, address: str, folder: Path, tmp_path: Path
) -> None:
    opened(page, address, "image=moment0,20,60&at=50,50,5")
    page.wait_for_function("() => tachyfits.store.state.layer.operation === 'moment0'")
    page.locator("#tab-save").click()
    size = page.locator("#map-size")
    expect(size).to_contain_text("Moment 0, channels 20 to 60: 100 × 100 pixels")  # noqa: RUF001
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download the map").click()
    path = tmp_path / "map.fits"
    downloading.value.save_as(path)
    assert f"{path.stat().st_size / 1000:.3g} kB" in size.inner_text()
    assert downloading.value.suggested_filename == "ngc6946_moment0.fits"
    with tf.open(folder / "ngc6946.fits") as file, fits.open(path) as found:
        plane = file[0].select(channels=slice(19, 60)).moment(0)
        np.testing.assert_array_equal(found[0].data, plane.values)
        assert found[0].header["BUNIT"] == plane.unit
    page.locator("#tab-maps").click()
    page.get_by_role("button", name="One channel").click()
    page.locator("#tab-save").click()
    expect(size).to_contain_text("Channel ")
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download the map").click()
    channel = state(page)["channel"]
    with tf.open(folder / "ngc6946.fits") as file, tf.open(downloading.value.path()) as found:
        np.testing.assert_array_equal(found[0].read().reshape(100, 100), file[0][channel - 1])


def test_polygon_of_a_thousand_corners_is_kept_in_the_link_and_measured(
    page: Page, address: str, folder: Path
) -> None:
    angles = np.linspace(0, 2 * np.pi, 1000, endpoint=False)
    radii = 25 + 5 * np.sin(9 * angles)
    points = np.column_stack([50 + radii * np.cos(angles), 50 + radii * np.sin(angles)])
    text = f"polygon({','.join(f'{value:.3f}' for value in points.ravel())})"
    methods: list[str] = []
    page.on("request", lambda one: methods.append(one.method) if "/spectrum" in one.url else None)
    opened(page, address, f"ch=40&at=50,50,5&r=0:{text}")
    page.wait_for_function("() => tachyfits.dock.spectra.curves.has(1)")
    with tf.open(folder / "ngc6946.fits") as file:
        np.testing.assert_array_equal(curve(page, 1), file[0].spectrum(text).values)
    assert "POST" in methods
    assert page.url.count(",") > 1999
    page.locator("#tab-regions").click()
    page.get_by_role("button", name="Polygon 1").first.click()
    with tf.open(folder / "ngc6946.fits") as file:
        count = file[0].select(text, section=(slice(39, 40),)).stats().count
    expect(page.locator("#panel table.values [data-name=count]")).to_have_text(str(count))


def test_map_of_a_large_plane_is_shown_from_its_levels(
    page: Page, address: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planes, "MOST_BYTES", 4 << 20)
    monkeypatch.setattr(planes, "MOST_PIXELS", 200_000)
    pixels = np.random.default_rng(2).normal(size=(3, 1100, 1300)).astype(np.float32)
    tf.write(folder / "wide.fits", pixels, overwrite=True)
    opened(page, address, "image=mean,1,3&cuts=minmax", name="wide.fits")
    page.wait_for_function("() => tachyfits.store.state.layer.operation === 'mean'")
    settled(page)
    assert state(page)["dataset"]["collapse_level"] == 2
    page.evaluate("tachyfits.store.set({scale: 2, centre: [700, 600]}); tachyfits.viewer.draw()")
    settled(page)
    with tf.open(folder / "wide.fits") as file:
        plane = file[0].collapse("mean")
    page.mouse.move(*on_screen(page, 705, 603))
    page.wait_for_function(
        "v => Number(document.querySelector('#readout').dataset.value) === v",
        arg=float(plane.values[602, 704]),
    )
    tile = page.evaluate(
        "(({pixels, error}) => ({error, pixels: [...pixels]}))(tachyfits.viewer.tiles.find("
        "tachyfits.viewer.plane(), {level: 0, x: 2, y: 2}))"
    )
    found = np.reshape(tile["pixels"], (256, 256))
    assert np.abs(found - plane.values[512:768, 512:768]).max() <= tile["error"]
    expect(page.locator("#panel")).to_contain_text("has no histogram")
    page.locator("#tab-save").click()
    expect(page.locator("#map-size")).to_contain_text("325 × 275 pixels, means of 4 × 4")  # noqa: RUF001
