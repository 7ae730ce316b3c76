"""Costs of requests: units, numbers, tiles and files are bounded before anything else."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests
from astropy.io import fits
from fastapi.testclient import TestClient

import tachyfits as tf
from servedcube import NAME
from tachyfits.server.app import create_app
from tachyfits.server.datasets import Datasets
from tachyfits.server.decoding import Decoding, tile_bytes
from tachyfits.server.errors import Superseded, TooLarge
from tachyfits.server.region_shapes import left_out, shapes_of
from tachyfits.server.settings import Settings
from tachyfits.text.units import fits_unit

pytestmark = pytest.mark.once

HUGE_POWERS = [
    "10**99999999 m", "10^99999999 m", "10+99999999 m", "10**(99999999) m", "10** ( +99999999 ) m",
    "dex(10**99999999 m)", "sqrt(10**99999999)", "10**99999999", "10-99999999 m", "m**99999999",
    "10**0000000099999999 m", "1e99999 m",
]  # fmt: skip


@pytest.mark.parametrize("text", HUGE_POWERS)
def test_huge_power_in_a_unit_is_unknown_at_once(text: str) -> None:
    begin = time.monotonic()
    assert fits_unit(text) is None
    assert time.monotonic() - begin < 2


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("axis", {"unit": "10**99999999 m"}),
        ("axis", {"unit": "km/s", "rest": "1 10**9999999 Hz"}),
        ("spectrum", {"channels": "1..2 10**99999999 m"}),
        ("spectrum", {"unit": "K,10**9999999 m"}),
        ("image", {"collapse": "moment0", "unit": "10**99999999 m"}),
        ("cutout/size", {"channels": "1..2 10^99999999 m"}),
    ],
)  # fmt: skip
def test_units_of_requests_are_bounded(
    client: TestClient, path: str, asked: dict[str, Any]
) -> None:
    begin = time.monotonic()
    answer = client.get(f"/api/v1/{path}", params={"id": NAME} | asked)
    assert answer.status_code == 400
    assert time.monotonic() - begin < 5


LONG = 1 << 20
HOSTILE_REGIONS = {
    "digits": f"circle({'1' * (LONG - 99)}x,2,3)",
    "decimals": f"circle({'1' * (LONG // 2)}.{'1' * (LONG // 2 - 99)}x,2,3)",
    "blanks before": f"{' ' * (LONG - 99)}@",
    "blanks inside": f"circle{' ' * (LONG - 99)})",
    "numbers without a bracket": f"circle {'1 ' * (LONG // 2 - 99)})",
    "seconds of arc": f"icrs; circle(1:1:{'1' * (LONG - 99)}x,2,3)",
    "braces": "{" * (LONG - 99),
    "new lines": "\n" * (LONG - 99),
    "properties of DS9": f"# Region file\nimage\ncircle(1,2,3) # {'a={' * (LONG // 3 - 99)}",
    "blanks of CASA": f"#CRTFv0\n{' ' * (LONG - 99)}x",
    "brackets of CASA": f"#CRTFv0\n{'circle[[' * (LONG // 8 - 99)}",
    "global of CASA": f"#CRTFv0\nglobal {'a=[b,' * (LONG // 5 - 99)}",
}


@pytest.mark.parametrize("name", HOSTILE_REGIONS)
def test_hostile_regions_are_refused_in_little_time(client: TestClient, name: str) -> None:
    begin = time.monotonic()
    answer = client.post(
        "/api/v1/regions/pixels", params={"id": NAME}, content=HOSTILE_REGIONS[name]
    )
    assert answer.status_code in (400, 413)
    # A message repeats no more than the beginning of the text.
    assert len(answer.content) < 5000
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    ("path", "asked", "name", "expected"),
    [
        ("cutout/size", {"chanels": "1:2"}, "chanels", "channels"),
        ("spectrum", {"region": "circle(50,50,9)", "statistics": "sum"}, "statistics", "statistic"),
        ("dataset", {"x": "1"}, "x", "hdu"),
        ("tile", {"level": 0, "x": 0, "y": 0, "chanel": 4}, "chanel", "channel"),
        ("files", {"fold": "a"}, "fold", "folder"),
    ],
)
def test_unknown_parameter_is_refused_by_name(
    client: TestClient, path: str, asked: dict[str, Any], name: str, expected: str
) -> None:
    given = asked if path == "files" else {"id": NAME} | asked
    answer = client.get(f"/api/v1/{path}", params=given)
    assert answer.status_code == 400
    detail = answer.json()["detail"]
    assert detail.startswith(f"unknown parameter {name!r}")
    assert expected in detail


def test_repeated_parameter_is_refused(client: TestClient) -> None:
    answer = client.get(f"/api/v1/pixel?id={NAME}&x=1&y=1&channel=1&channel=2")
    assert answer.status_code == 400
    assert "'channel'" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/api/v1/tile", 405), ("DELETE", "/api/v1/dataset", 405), ("PUT", "/vo/sync", 405),
        ("PATCH", "/health", 405), ("POST", "/main.js", 405), ("GET", "/api/v1/nothing", 404),
    ],
)  # fmt: skip
def test_wrong_methods_and_addresses_are_problem_documents(
    client: TestClient, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    assert ("allow" in answer.headers) == (status == 405)


def test_large_compressed_file_opens_once_for_several_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = io.BytesIO()
    pixels = np.tile(np.arange(1 << 16, dtype=np.int16).reshape(256, 256), (600, 1, 1))
    fits.PrimaryHDU(pixels).writeto(content)
    assert len(content.getvalue()) > 64 << 20
    (tmp_path / "cube.fits.gz").write_bytes(gzip.compress(content.getvalue(), 1))
    opened: list[object] = []
    plain = tf.open
    monkeypatch.setattr(tf, "open", lambda source: opened.append(source) or plain(source))
    datasets = Datasets((tmp_path,))
    name = f"{tmp_path.name}/cube.fits.gz"
    threads = [threading.Thread(target=datasets.open, args=(name,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 1
    assert datasets.open(name).view(0).image[599, 255, 255] == pixels[599, 255, 255]


def test_open_files_in_memory_are_limited_by_the_memory(tmp_path: Path) -> None:
    for number in range(4):
        content = io.BytesIO()
        fits.PrimaryHDU(np.zeros((500, 500), np.float32)).writeto(content)
        (tmp_path / f"{number}.fits.gz").write_bytes(gzip.compress(content.getvalue(), 1))
    datasets = Datasets((tmp_path,), memory=2_500_000)
    for number in range(4):
        datasets.open(f"{tmp_path.name}/{number}.fits.gz")
    assert len(datasets) == 2


def compressed(path: Path, tile: tuple[int, int]) -> None:
    hdu = fits.CompImageHDU(
        np.arange(300 * 200, dtype=np.int16).reshape(300, 200),
        compression_type="GZIP_1",
        tile_shape=tile,
    )
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(path)


def test_tile_of_more_bytes_than_the_memory_is_refused(tmp_path: Path) -> None:
    compressed(tmp_path / "rows.fits", (1, 200))
    compressed(tmp_path / "whole.fits", (300, 200))
    with tf.open(tmp_path / "rows.fits") as file:
        assert tile_bytes(file[1]) == 200 * 8
    with TestClient(create_app(Settings(paths=(tmp_path,), cache_bytes=400_000))) as client:
        for name, status in (("rows", 200), ("whole", 413)):
            asked = {"id": f"{tmp_path.name}/{name}.fits", "level": 0, "x": 0, "y": 0}
            assert client.get("/api/v1/tile", params=asked).status_code == status


def test_requests_wait_for_memory_of_tiles() -> None:
    decoding = Decoding(10 << 20)
    with pytest.raises(TooLarge), decoding.reserved(11 << 20, 1):
        pass
    with decoding.reserved(3 << 20, 3):
        assert decoding.bytes == 9 << 20
        with pytest.raises(Superseded), decoding.reserved(2 << 20, 1, lambda: True):
            pass
        entered = threading.Event()

        def wait() -> None:
            with decoding.reserved(2 << 20, 1):
                entered.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not entered.wait(0.2)
    assert entered.wait(5)
    waiting.join()
    assert decoding.bytes == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("annulus(50,50,20,40)", ["annulus(50.0,50.0,20.0,40.0)"]),
        ("ellipse(50,50,5,4,10,8,30)", ["ellipse(50.0,50.0,5.0,4.0,10.0,8.0,30.0)"]),
        ("# Region file\nimage\nannulus(50,50,20,40)\nbox(9,9,4,3,20)\n",
         ["annulus(50.0,50.0,20.0,40.0)", "box(9.0,9.0,4.0,3.0,20.0)"]),
        ("#CRTFv0\nannulus[[99pix,99pix],[5pix,9pix]]\n", ["annulus(100.0,100.0,5.0,9.0)"]),
        ("point(4,5)", ["point(4.0,5.0)"]),
    ],
)  # fmt: skip
def test_rings_of_region_files_are_one_shape(text: str, expected: list[str]) -> None:
    image = tf.open(io.BytesIO(plane()))[0]
    assert isinstance(image, tf.Image)
    shapes = shapes_of(image, text)
    assert [shape.text for shape in shapes] == expected
    assert not any(shape.excluded for shape in shapes)
    masks = [image.region_mask(shape.text) for shape in shapes]
    if not text.startswith("#"):
        np.testing.assert_array_equal(masks[0], image.region_mask(text))


def test_rings_on_the_sky_keep_one_centre_and_angle() -> None:
    image = tf.open(io.BytesIO(plane(sky=True)))[0]
    assert isinstance(image, tf.Image)
    (shape,) = shapes_of(image, 'icrs; ellipse(202.4, 47.2, 5", 3", 10", 6", 20)')
    numbers = np.array(shape.text.removeprefix("ellipse(").rstrip(")").split(","), dtype=float)
    np.testing.assert_allclose(numbers[4:6], 2 * numbers[2:4], rtol=1e-12)
    (shape,) = shapes_of(image, 'icrs; annulus(202.4, 47.2, 5", 10")')
    assert shape.text.startswith("annulus(")


def test_holes_that_are_no_ring_are_excluded_shapes() -> None:
    image = tf.open(io.BytesIO(plane()))[0]
    assert isinstance(image, tf.Image)
    shapes = shapes_of(image, "circle(50,50,9); -circle(55,50,2)")
    assert [(shape.text, shape.excluded) for shape in shapes] == [
        ("circle(50.0,50.0,9.0)", False), ("circle(55.0,50.0,2.0)", True),
    ]  # fmt: skip
    assert left_out("image\ncircle(5,5,2)\npanda(9,9,0,90,1,2,3,1)\n# ruler(1,2,3,4)") == [
        "panda", "ruler",
    ]  # fmt: skip


def plane(sky: bool = False) -> bytes:
    cards = {
        "CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRPIX1": 60.0, "CRPIX2": 60.0, "CRVAL1": 202.4,
        "CRVAL2": 47.2, "CDELT1": -2e-4, "CDELT2": 2e-4,
    }  # fmt: skip
    content = io.BytesIO()
    header = fits.Header(cards if sky else {})
    fits.PrimaryHDU(np.zeros((120, 120), np.float32), header).writeto(content)
    return content.getvalue()


@pytest.fixture
def viewed(tmp_path: Path) -> Iterator[str]:
    """The link of `tachyfits view` of a file that others cannot read."""
    path = tmp_path / "private.fits"
    tf.write(path, np.ones((3, 4, 5), dtype=np.float32))
    os.chmod(path, 0o600)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened.txt\n')
    browser.chmod(0o700)
    environment = os.environ | {"BROWSER": str(browser), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "tachyfits", "view", str(path), "--json"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield json.loads(process.stdout.readline())["link"]
    process.kill()
    process.communicate()


def test_viewed_file_needs_the_token_of_its_link(viewed: str) -> None:
    base, _, query = viewed.partition("?")
    token = query.removeprefix("token=")
    assert len(token) >= 24
    for path in ("vo/file?ID=private.fits", "api/v1/dataset?id=private.fits", "api/v1/files", ""):
        assert requests.get(base + path, timeout=20).status_code == 401
    right = {"Authorization": f"Bearer {token}"}
    answer = requests.get(f"{base}api/v1/dataset?id=private.fits", headers=right, timeout=20)
    assert answer.status_code == 200
    with requests.Session() as browser:
        assert browser.get(viewed, headers={"Accept": "text/html"}, timeout=20).status_code == 200
        assert browser.get(f"{base}api/v1/files", timeout=20).status_code == 200


def test_link_in_the_command_line_of_the_browser_works_once(viewed: str, tmp_path: Path) -> None:
    begin = time.monotonic()
    while not (tmp_path / "opened.txt").exists() and time.monotonic() - begin < 10:
        time.sleep(0.05)
    opened = (tmp_path / "opened.txt").read_text().strip()
    assert opened.partition("?")[0] == viewed.partition("?")[0]
    assert opened != viewed
    page = {"Accept": "text/html"}
    with requests.Session() as browser:
        assert browser.get(opened, headers=page, timeout=20).status_code == 200
        assert browser.get(f"{browser_base(viewed)}api/v1/files", timeout=20).status_code == 200
    assert requests.get(opened, headers=page, timeout=20).status_code == 401


def browser_base(link: str) -> str:
    return link.partition("?")[0]


@pytest.mark.parametrize(("count", "end"), [(1, ""), (2, "#files=2"), (5, "#files=4")])
def test_link_of_several_files_shows_up_to_four_of_them(
    tmp_path: Path, count: int, end: str
) -> None:
    paths = [tmp_path / f"image-{number}.fits" for number in range(count)]
    for path in paths:
        tf.write(path, np.ones((4, 5), dtype=np.float32))
    environment = os.environ | {"BROWSER": "true", "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "tachyfits", "view", *map(str, paths), "--json"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        link = json.loads(process.stdout.readline())["link"]
        process.kill()
    assert link.partition("?")[2].partition("#")[1:] == ("#" if end else "", end[1:])
