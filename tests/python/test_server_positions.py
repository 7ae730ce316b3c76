"""Positions on the server: spellings of coordinates beside astropy, and names by a resolver."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.wcs import WCS
from fastapi.testclient import TestClient

import tachyfits as tf
from tachyfits.server.app import create_app
from tachyfits.server.positions import position_of
from tachyfits.server.resolver import AT_A_TIME
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

CRAB = SkyCoord("05:34:32 +22:00:52", unit=("hourangle", "deg"))
CARDS = {
    "CTYPE1": "GLON-TAN", "CUNIT1": "deg", "CRVAL1": 184.5, "CRPIX1": 20.0, "CDELT1": -0.01,
    "CTYPE2": "GLAT-TAN", "CUNIT2": "deg", "CRVAL2": -5.8, "CRPIX2": 20.0, "CDELT2": 0.01,
}  # fmt: skip

SPELLINGS = [
    "05:34:32 +22:00:52", "5 34 32 22 0 52", "05:34:32, +22:00:52", "05:34:32,+22:00:52",
    "5h34m32s +22d0m52s", "5h34m32s+22d0m52s", "5h 34m 32s +22° 0\u2032 52\u2033",
    "RA=05:34:32 Dec=+22:00:52", "icrs; 05:34:32 +22:00:52", "05 34 32 +22 00 52 (ICRS)",
    "J053432+220052", "PSR J053432+220052", "  05:34:32\t+22:00:52  ", "05:34:32 22:00:52",
]  # fmt: skip


@pytest.mark.parametrize("text", SPELLINGS)
def test_spellings_of_one_position_are_that_position(text: str) -> None:
    found = position_of(text)
    assert found.frame.name == "icrs"
    assert found.separation(CRAB) < 1e-6 * u.arcsec


@pytest.mark.parametrize(
    ("text", "frame", "longitude", "latitude"),
    [
        ("83.63 22.01", "icrs", 83.63, 22.01),
        ("83.63,22.01", "icrs", 83.63, 22.01),
        ("83.63d -22.01d", "icrs", 83.63, -22.01),
        ("10 -0.5", "icrs", 10.0, -0.5),
        ("5:34:32 \u221200:00:30", "icrs", 83.63333333, -30 / 3600),
        ("galactic 184.55 -5.78", "galactic", 184.55, -5.78),
        ("gal 184.55, -5.78", "galactic", 184.55, -5.78),
        ("l=184.55 b=-5.78", "galactic", 184.55, -5.78),
        ("184:33:00 -05:46:48 galactic", "galactic", 184.55, -5.78),
        ("fk4 05 31 30 +21 58 54", "fk4", 82.875, 21.98166667),
        ("05:31:30 +21:58:54 B1950", "fk4", 82.875, 21.98166667),
        ("05:34:32 +22:00:52 J2000", "fk5", 83.63333333, 22.01444444),
        ("B0531+2158", "fk4", 82.75, 21.96666667),
        ("ecliptic 10 20", "barycentricmeanecliptic", 10.0, 20.0),
    ],
)
def test_frames_and_degrees(text: str, frame: str, longitude: float, latitude: float) -> None:
    found = position_of(text)
    assert found.frame.name == frame
    assert found.spherical.lon.deg == pytest.approx(longitude, abs=1e-7)
    assert found.spherical.lat.deg == pytest.approx(latitude, abs=1e-7)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("positions")
    hdu = fits.PrimaryHDU(np.ones((40, 40), dtype=np.float32))
    hdu.header.update(CARDS)
    hdu.writeto(folder / "image.fits")
    fits.PrimaryHDU(np.ones((4, 4), dtype=np.float32)).writeto(folder / "flat.fits")
    return folder / "image.fits"


class _Names(BaseHTTPRequestHandler):
    """A service that answers like Sesame."""

    def do_GET(self) -> None:
        self.server.paths.append(self.path)  # type: ignore[attr-defined]
        name = self.path.rpartition("?")[2]
        if name == "moved":
            self.send_response(302)
            self.send_header("Location", "/sesame?M%201")
            self.end_headers()
            return
        if name == "garbled":
            self.wfile.write(b"no HTTP\r\n\r\n")
            return
        places = {"M%201": "%J 83.633208 +22.014444 = 05:34:31.97 +22:00:52.0",
                  "far": "%J 10.0 -80.0", "bad": "%J 400 +99", "huge": "x" * 200_000}  # fmt: skip
        self.send_response(500 if name == "broken" else 200)
        self.end_headers()
        self.wfile.write(f"# {name}\n{places.get(name, '#! *** Nothing found')}\n".encode())

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def service() -> Iterator[Any]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Names) as server:
        server.paths = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def client(image: Path, service: Any) -> Iterator[TestClient]:
    resolver = f"http://127.0.0.1:{service.server_port}/sesame?{{name}}"
    with TestClient(create_app(Settings(paths=(image.parent,), resolver=resolver))) as found:
        yield found


def answer_of(client: TestClient, image: Path, text: str, name: str = "image.fits") -> Any:
    parameters = {"id": f"{image.parent.name}/{name}", "text": text}
    return client.get("/api/v1/position", params=parameters)


def test_pixel_is_that_of_astropy(client: TestClient, image: Path) -> None:
    found = answer_of(client, image, "05:34:32 +22:00:52").json()
    x, y = WCS(fits.getheader(image)).world_to_pixel(CRAB)
    assert (found["x"], found["y"]) == (pytest.approx(x + 1), pytest.approx(y + 1))
    assert found["inside"]
    assert found["name"] is None
    assert found["sky"]["frame"] == "galactic"
    assert found["sky"]["longitude"] == pytest.approx(CRAB.galactic.l.deg)
    outside = answer_of(client, image, "galactic 184.0 -5.8").json()
    assert not outside["inside"]
    assert outside["x"] == pytest.approx(70, abs=0.5)
    behind = answer_of(client, image, "galactic 4.5 5.8").json()
    assert (behind["x"], behind["y"], behind["inside"]) == (None, None, False)


def test_name_is_asked_of_the_service_once(client: TestClient, image: Path, service: Any) -> None:
    found = answer_of(client, image, "M 1").json()
    assert found["name"] == "M 1"
    by_coordinates = answer_of(client, image, "83.633208 +22.014444").json()
    assert (found["x"], found["y"]) == (by_coordinates["x"], by_coordinates["y"])
    assert answer_of(client, image, "M 1").json() == found
    assert service.paths.count("/sesame?M%201") == 1


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("nowhere", 404, "unknown name 'nowhere'"),
        ("bad", 404, "unknown name"),
        ("huge", 404, "unknown name"),
        ("broken", 502, "does not answer"),
        ("moved", 502, "does not answer"),
        ("garbled", 502, "does not answer"),
        ("a&b=?#/../%00", 404, "unknown name"),
    ],
)
def test_name_that_the_service_does_not_have(
    client: TestClient, image: Path, name: str, status: int, words: str
) -> None:
    answer = answer_of(client, image, name)
    assert answer.status_code == status
    assert words in answer.json()["detail"]
    assert "127.0.0.1" not in answer.text


def test_names_beyond_those_that_the_service_is_asked_for_wait(
    client: TestClient, image: Path
) -> None:
    for _ in range(4):
        assert AT_A_TIME.acquire(blocking=False)
    try:
        answer = answer_of(client, image, "far")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        # Coordinates need no service.
        assert answer_of(client, image, "83.6 22").status_code == 200
    finally:
        AT_A_TIME.release(4)
    assert answer_of(client, image, "far").status_code == 200


@pytest.mark.parametrize(
    "text",
    ["", " ", "x" * 101, "1,5 2,5", "83.63", "1 2 3", "05:99:32 +22:00:52", "10 95",
     "1 2 3 4 5 6 7", "1e999 5", "05:34:32 +22:00:52\n", "10,20,30,40",
     "25:00:00 +10:00:00x", "\u0661\u0662 \u0663"],
)  # fmt: skip
def test_hostile_positions_are_refused(image: Path, text: str) -> None:
    with TestClient(create_app(Settings(paths=(image.parent,)))) as client:
        answer = answer_of(client, image, text)
    assert answer.status_code == 400
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_names_are_refused_without_a_resolver_and_images_without_sky(
    client: TestClient, image: Path
) -> None:
    with TestClient(create_app(Settings(paths=(image.parent,)))) as without:
        answer = answer_of(without, image, "M 1")
    assert answer.status_code == 400
    assert "this server resolves no names" in answer.json()["detail"]
    flat = answer_of(client, image, "10 20", "flat.fits")
    assert flat.status_code == 400
    assert "no sky coordinates" in flat.json()["detail"]


@pytest.mark.parametrize(
    "resolver",
    ["", "example.org/{name}", "file:///{name}", "http://{name}/", "https://example.org/sesame"],
)
def test_resolver_is_an_address_with_a_place_for_the_name(resolver: str) -> None:
    with pytest.raises(tf.UsageError, match="invalid resolver"):
        Settings(paths=(), resolver=resolver)
