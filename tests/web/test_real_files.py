"""Real files and edge cases on the page: no error, and the numbers under the cursor are right."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests
from astropy import units as u
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.wcs import WCS
from playwright.sync_api import Browser, Page, expect

import tachyfits as tf
from realfiles import ASTROPY_IMAGES, COMMITTED, SHARED, files_under, path_of, traps
from tachyfits.server.settings import Settings
from viewerpage import settled

#: Files of images and cubes, by their names; those beside the repository may be missing.
REAL = sorted(
    {
        *ASTROPY_IMAGES,
        *(name for name in COMMITTED if "/tables/" not in name),
        *(
            f"data/{folder}/{path.name}"
            for folder in ("cubes", "images")
            for path in files_under(f"data/{folder}")
        ),
    }
)
TRAPS = [path.name for path in traps()]

#: Pixels that the engine reads otherwise than astropy, with the reason.
OTHERWISE = {"rgroups.fits": "astropy has records of groups"}

#: Shares of the width and the height of the screen where the cursor is put.
PLACES = ((0.5, 0.5), (0.31, 0.64), (0.72, 0.27))

#: Coordinates of a pixel, and the sides of an image along them.
SIDES = (("x", "width"), ("y", "height"))

#: Angles on the page: hours or degrees, minutes, seconds; or degrees with decimals.
SEXAGESIMAL = re.compile(r"(\d+)h(\d+)m([\d.]+)s ([+−])(\d+)°(\d+)′([\d.]+)″")  # noqa: RUF001
DEGREES = re.compile(r"([\d.]+)° ([+−])([\d.]+)°")  # noqa: RUF001


def paths() -> list[Path]:
    return [path for path in (*map(path_of, REAL), *traps()) if path.is_file()]


@pytest.fixture(scope="module")
def page_of_files(
    browser: Browser, serving: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Page, str, dict[Path, str], list[str]]]:
    """One page for all files, their IDs on its server, and what its console says."""
    served = paths()
    settings = Settings(paths=tuple(served), cache_folder=tmp_path_factory.mktemp("cache"))
    context = browser.new_context(viewport={"width": 1100, "height": 750})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    with serving(settings) as address:
        entries = requests.get(f"{address}api/v1/files", timeout=30).json()["entries"]
        # The list has the files in the order in which they are served.
        names = {path: entry["id"] for path, entry in zip(served, entries, strict=True)}
        yield page, address, names, errors
    context.close()


def degrees_of(text: str) -> tuple[float, float]:
    """Return longitude and latitude as the page writes them."""
    if found := SEXAGESIMAL.fullmatch(text):
        h, m, s, sign, d, minutes, seconds = found.groups()
        longitude = 15 * (int(h) + int(m) / 60 + float(s) / 3600)
        latitude = int(d) + int(minutes) / 60 + float(seconds) / 3600
    else:
        found = DEGREES.fullmatch(text)
        assert found is not None, text
        longitude, sign, latitude = float(found[1]), found[2], float(found[3])
    return longitude, latitude if sign == "+" else -latitude


def readout(page: Page) -> dict[str, str]:
    found: dict[str, str] = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#readout > div')].map("
        "one => [one.querySelector('dt').textContent, one.querySelector('dd').textContent]))"
    )
    return found


def same(found: float, expected: Any) -> bool:
    expected = float(expected)
    return found == expected or (math.isnan(found) and math.isnan(expected))


@pytest.mark.parametrize("name", [*REAL, *(f"traps/{name}" for name in TRAPS)])
def test_file_opens_and_the_numbers_under_the_cursor_are_right(
    page_of_files: tuple[Page, str, dict[Path, str], list[str]], name: str
) -> None:
    path = path_of(name)
    if not path.is_file():
        pytest.skip(f"no real files: {SHARED} is missing (set TACHYFITS_SHARED)")
    page, address, names, errors = page_of_files
    errors.clear()
    answer = requests.get(f"{address}api/v1/dataset", params={"id": names[path]}, timeout=60)
    page.goto(f"{address}#id={names[path]}")
    if answer.status_code != 200:
        # A file without an image that can be shown: the page says why.
        detail = answer.json()["detail"]
        assert answer.status_code in (400, 404, 413, 422), detail
        expect(page.locator("#notice")).to_contain_text(detail[:60])
        assert all("Failed to load resource" in error for error in errors)
        return
    dataset = answer.json()
    expect(page.locator("#file-name")).to_have_text(names[path].rpartition("/")[2])
    settled(page)
    expect(page.locator("#notice")).to_be_hidden()
    assert page.locator("#problems").is_visible() == bool(dataset["problems"])
    if dataset["problems"]:
        page.locator("#problems").get_by_role("button", name="Dismiss").click()
    box = page.locator("#surface").bounding_box()
    assert box is not None
    seen = set()
    for across, down in PLACES if dataset["width"] * dataset["height"] > 1 else ():
        page.evaluate("document.querySelector('#readout').removeAttribute('data-pixel')")
        place = across * box["width"], down * box["height"]
        at = page.evaluate("([x, y]) => tachyfits.viewer.toImage(x, y)", place)
        if not all(0.5 < at[axis] < dataset[side] + 0.5 for axis, side in SIDES):
            continue
        page.mouse.move(box["x"] + place[0], box["y"] + place[1])
        at = page.evaluate("tachyfits.cursor.named")
        page.wait_for_function(
            "start => document.querySelector('#readout').dataset.pixel?.startsWith(start)",
            arg=f"{at['x']},{at['y']},",
        )
        shown = page.locator("#readout")
        x, y, channel = map(int, (shown.get_attribute("data-pixel") or "").split(","))
        seen.add((x, y))
        value = page.evaluate("document.querySelector('#readout').dataset.value")
        check(path, dataset, (x, y, channel), number_of(value), readout(page))
    assert seen or dataset["width"] * dataset["height"] == 1
    assert errors == []


def number_of(text: str) -> float:
    return math.nan if text in ("null", "undefined") else float(text)


def check(
    path: Path, dataset: dict[str, Any], at: tuple[int, int, int], value: float,
    shown: dict[str, str],
) -> None:  # fmt: skip
    """Compare the strip of the page with the pixel and its place by the engine and by astropy."""
    count = len(dataset["naxis"])
    index = [0] * count
    for axis, pixel in zip(dataset["axes"], at, strict=False):
        index[count - axis["fits"]] = pixel - 1
    where = tuple(index)
    with tf.open(path) as file:
        image = file[dataset["hdu"]]
        assert same(value, image[where]), (value, image[where])
        sky = image.coordinates.sky
    frames = [name for name in shown if SEXAGESIMAL.fullmatch(shown[name]) or
              DEGREES.fullmatch(shown[name])]  # fmt: skip
    assert len(frames) <= 1
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with fits.open(path, ignore_missing_simple=True) as hdus:
            hdu = hdus[dataset["hdu"]]
            if path.name not in OTHERWISE:
                data = np.asarray(hdu.data)
                # astropy scales integers in float32.
                error = 2e-7 * float(np.nanmax(np.abs(data))) if data.dtype == np.float32 else 0.0
                expected = np.float64(data[where])
                assert same(value, expected) or abs(value - expected) <= error
            if not frames:
                assert sky is None or dataset["problems"]
                return
            axes = dataset["axes"]
            header = hdu.header.copy()
            for number in range(1, count + 1):
                # AIPS appends the frame to the type: it is not a projection.
                header[f"CTYPE{number}"] = header[f"CTYPE{number}"].removesuffix("-OHEL")
            wcs = WCS(header, hdus)
            pixels = [where[count - 1 - n] for n in range(wcs.naxis)]
            world = wcs.all_pix2world([pixels], 0)[0]
            longitude, latitude = world[axes[0]["fits"] - 1], world[axes[1]["fits"] - 1]
    there = degrees_of(shown[frames[0]])
    if wcs.wcs.lng > wcs.wcs.lat:
        longitude, latitude = latitude, longitude
    apart = SkyCoord(*there, unit="deg").separation(SkyCoord(longitude, latitude, unit="deg"))
    # The page writes hundredths of seconds, or 1e-5 degrees.
    assert apart < 0.03 * u.arcsec, (there, longitude, latitude)
