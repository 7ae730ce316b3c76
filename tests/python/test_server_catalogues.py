"""Catalogues on the server: positions beside astropy, rows beside the engine, hostile input."""

from __future__ import annotations

import contextlib
import gzip
import io
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.coordinates import FK5, SkyCoord
from astropy.io.votable import from_table
from astropy.io.votable.tree import CooSys
from astropy.table import Table
from fastapi.testclient import TestClient

import tachyfits as tf
from realfiles import path_of
from tachyfits.server.app import create_app
from tachyfits.server.cones import AT_A_TIME, allowed
from tachyfits.server.errors import RequestError
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

IMAGE = path_of("data/cubes/ngc6946.fits")
COUNT = 300

#: Frames of the columns, and the coordinates that they have there.
FRAMES: dict[str, Any] = {
    "icrs": "icrs", "fk5": "fk5", "fk4": "fk4", "galactic": "galactic",
    "supergalactic": "supergalactic", "ecliptic": "barycentricmeanecliptic",
}  # fmt: skip


@pytest.fixture(scope="module")
def places() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], SkyCoord]:
    """Pixels from 0, some of them outside the image, and their positions."""
    cube = tf.open(IMAGE)[0]
    rng = np.random.default_rng(11)
    x = rng.uniform(-30, cube.shape[-1] + 30, COUNT)
    y = rng.uniform(-30, cube.shape[-2] + 30, COUNT)
    sky = cube.wcs.celestial.pixel_to_world(x, y).icrs
    # Without the equinox of the image, which astropy would take for that of FK4.
    return x, y, SkyCoord(sky.ra, sky.dec)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, places: Any) -> Path:
    x, y, sky = places
    found = tmp_path_factory.mktemp("catalogues") / "served"
    found.mkdir()
    (found / "cube.fits").write_bytes(IMAGE.read_bytes())
    columns: dict[str, Any] = {
        "BIG": np.arange(COUNT, dtype=np.int64) + 2**60, "MAG": np.linspace(5, 25, COUNT),
        "NAME": [f"n{number}" for number in range(COUNT)], "PX": x + 1, "PY": y + 1,
        "V": np.arange(3.0 * COUNT).reshape(COUNT, 3),
    }  # fmt: skip
    for name, frame in FRAMES.items():
        there = sky.transform_to(frame).spherical
        columns[f"LON_{name}"], columns[f"LAT_{name}"] = there.lon.deg, there.lat.deg
    columns["LON_hours"], columns["LAT_rad"] = sky.ra.hourangle, sky.dec.rad
    columns["MAG"][7] = np.nan
    columns["LON_icrs"][8] = np.nan
    tf.write(found / "all.fits", columns, units={"LON_hours": "h", "LAT_rad": "rad"})
    old = sky.transform_to(FK5(equinox="J1975"))
    tf.write(
        found / "old.fits", {"RA": old.ra.deg, "DEC": old.dec.deg},
        {"RADESYS": "FK5", "EQUINOX": 1975.0},
    )  # fmt: skip
    tf.write(found / "empty.fits", {"RA": np.empty(0), "DEC": np.empty(0)})
    (found / "galactic.vot").write_bytes(votable(sky.galactic, "galactic"))
    (found / "fk4.vot").write_bytes(votable(sky.fk4, "eq_FK4"))
    (found / "two.csv").write_text("ra,dec\n" + f"{sky.ra.deg[0]!r},{sky.dec.deg[0]!r}\n")
    return found


def votable(sky: SkyCoord, system: str) -> bytes:
    """Return positions as a VOTable whose columns have UCDs and a coordinate system."""
    there = sky.spherical
    table = Table({"first": there.lon.deg, "second": there.lat.deg, "name": ["é"] * len(sky)})
    document = from_table(table)
    chosen = document.get_first_table()
    document.resources[0].coordinate_systems.append(CooSys(ID="system", system=system))
    ucds = ("pos.galactic.lon", "pos.galactic.lat")
    if system != "galactic":
        ucds = ("pos.eq.ra;meta.main", "pos.eq.dec;meta.main")
    for field, ucd in zip(chosen.fields, ucds, strict=False):
        field.ucd, field.ref = ucd, "system"
    stream = io.BytesIO()
    document.to_xml(stream)
    return stream.getvalue()


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with TestClient(create_app(Settings(paths=(folder,)))) as found:
        yield found


def ask(client: TestClient, name: str = "", **parameters: Any) -> Any:
    path = "/api/v1/catalogue" + (f"/{name}" if name else "")
    if "service" not in parameters and "catalogue" not in parameters and name != "cone":
        parameters["catalogue"] = "served/all.fits"
    return client.get(path, params={"id": "served/cube.fits", **parameters})


def points(answer: Any) -> tuple[np.ndarray[Any, Any], ...]:
    assert answer.status_code == 200, answer.text
    count = int(answer.headers["catalogue-points"])
    x, y = np.frombuffer(answer.content, "<f8", 2 * count).reshape(2, count)
    return x, y, np.frombuffer(answer.content, "<u4", count, 16 * count)


def inside(places: Any) -> np.ndarray[Any, Any]:
    x, y, _ = places
    height, width = tf.open(IMAGE)[0].shape[-2:]
    return (x >= -0.5) & (x < width - 0.5) & (y >= -0.5) & (y < height - 0.5)


@pytest.mark.parametrize("frame", [*FRAMES, "pixels"])
def test_points_of_each_frame_are_the_pixels_of_their_positions(
    client: TestClient, places: Any, frame: str
) -> None:
    names = ("PX", "PY") if frame == "pixels" else (f"LON_{frame}", f"LAT_{frame}")
    given = {"longitude": names[0], "latitude": names[1], "frame": frame}
    x, y, rows = points(ask(client, "points", precision="float64", **given))
    expected = inside(places)
    if frame == "icrs":
        expected[8] = False
    np.testing.assert_array_equal(rows, np.flatnonzero(expected))
    # FK4 goes through a rotation whose inverse is exact to some milliarcseconds alone.
    np.testing.assert_allclose(x, places[0][rows] + 1, atol=1e-2 if frame == "fk4" else 1e-6)
    np.testing.assert_allclose(y, places[1][rows] + 1, atol=1e-2 if frame == "fk4" else 1e-6)


def test_units_of_angles_are_converted(client: TestClient, places: Any) -> None:
    given = {"longitude": "LON_hours", "latitude": "lat_rad"}
    x, _, rows = points(ask(client, "points", precision="float64", **given))
    np.testing.assert_allclose(x, places[0][rows] + 1, atol=1e-6)


@pytest.mark.parametrize("name", ["old.fits", "galactic.vot", "fk4.vot"])
def test_frame_is_that_of_header_ucd_or_coosys(client: TestClient, places: Any, name: str) -> None:
    x, y, rows = points(ask(client, "points", precision="float64", catalogue=f"served/{name}"))
    np.testing.assert_array_equal(rows, np.flatnonzero(inside(places)))
    np.testing.assert_allclose(x, places[0][rows] + 1, atol=1e-2)
    np.testing.assert_allclose(y, places[1][rows] + 1, atol=1e-2)


def test_float32_is_the_float64_rounded(client: TestClient) -> None:
    given = {"longitude": "PX", "latitude": "PY", "frame": "pixels"}
    x, y, rows = points(ask(client, "points", precision="float64", **given))
    answer = ask(client, "points", **given)
    expected = x.astype("<f4").tobytes() + y.astype("<f4").tobytes() + rows.tobytes()
    assert answer.content == expected
    assert int(answer.headers["catalogue-rows"]) == COUNT


def test_condition_and_pages_are_those_of_the_engine(client: TestClient, folder: Path) -> None:
    table = tf.open(folder / "all.fits")[1]
    where = "MAG > 12 && NAME != 'n200'"
    rows = table.where(where)
    page = ask(client, "rows", where=where, limit=7, offset=14).json()
    assert page["rows"] == len(rows)
    assert page["numbers"] == rows[14:21].tolist()
    names = [column["name"] for column in page["columns"]]
    cells = dict(zip(names, page["cells"], strict=True))
    assert cells["NAME"] == table.read("NAME", rows=rows[14:21])["NAME"].tolist()
    assert cells["BIG"] == [str(number) for number in table["BIG"][rows[14:21]]]
    assert cells["V"][0] == ", ".join(map(str, table["V"][rows[14]].tolist()))
    around = ask(client, "rows", where=where, limit=7, around=int(rows[40])).json()
    assert int(rows[40]) in around["numbers"]
    assert around["offset"] % 7 == 0
    assert ask(client, "rows", where=where, around=0).status_code == 400
    assert ask(client, "rows", columns="MAG", offset=7, limit=1).json()["cells"] == [[None]]


def test_description_names_columns_and_positions(client: TestClient) -> None:
    found = ask(client, catalogue="served/galactic.vot").json()
    assert found["positions"]["frame"] == "galactic"
    assert found["columns"][0]["ucd"] == "pos.galactic.lon"
    assert found["rows"] == COUNT
    unknown = ask(client).json()
    assert unknown["positions"] is None
    assert "no columns of a position" in unknown["problem"]
    empty = ask(client, "points", catalogue="served/empty.fits")
    assert (empty.status_code, empty.content) == (200, b"")


def test_files_of_catalogues_are_listed_on_request(client: TestClient) -> None:
    def names(**given: str) -> set[str]:
        entries = client.get("/api/v1/files", params={"folder": "served", **given}).json()
        return {entry["name"] for entry in entries["entries"]}

    assert names(kind="catalogue") - names() == {"galactic.vot", "fk4.vot", "two.csv"}


# Hostile input.


@pytest.mark.parametrize(
    ("name", "given", "status"),
    [
        ("", {"catalogue": "served/../all.fits"}, 404),
        ("", {"catalogue": "/etc/passwd"}, 404),
        ("", {"catalogue": "served/none.vot"}, 404),
        ("", {"catalogue": "served"}, 404),
        ("", {"catalogue": "served/cube.fits"}, 404),
        ("", {"table": 0}, 404),
        ("", {"table": 99}, 404),
        ("", {"catalogue": "served/galactic.vot", "table": 1}, 404),
        ("", {"catalogue": "served/two.csv", "table": 1}, 404),
        ("", {"service": "https://example.org/scs"}, 400),
        ("", {"service": "https://example.org/scs", "cone": "1,2,3"}, 400),
        ("", {"catalogue": "served/all.fits", "service": "https://a.b/", "cone": "1,2,3"}, 400),
        ("points", {}, 400),
        ("points", {"longitude": "MAG"}, 400),
        ("points", {"longitude": "NAME", "latitude": "MAG"}, 400),
        ("points", {"longitude": "V", "latitude": "MAG", "frame": "pixels"}, 400),
        ("points", {"longitude": "x" * 200, "latitude": "`"}, 400),
        ("points", {"frame": "moon"}, 400),
        ("points", {"precision": "float16"}, 400),
        ("rows", {"where": "MAG <"}, 400),
        ("rows", {"where": "__import__('os').system('true')"}, 400),
        ("rows", {"where": "(" * 4000}, 400),
        ("rows", {"where": "MAG < 1" * 4000}, 400),
        ("rows", {"limit": 1001}, 400),
        ("rows", {"limit": 0}, 400),
        ("rows", {"offset": -1}, 400),
        ("rows", {"around": 2**53}, 400),
        ("rows", {"columns": "MAG,NONE"}, 404),
        ("rows", {"columns": ",".join(["MAG"] * 100)}, 413),
        ("cone", {"hdu": 3}, 404),
    ],
)
def test_refusals(client: TestClient, name: str, given: dict[str, Any], status: int) -> None:
    answer = ask(client, name, **given)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert "Traceback" not in answer.text
    assert str(Path(__file__).parents[2]) not in answer.text


def test_offset_beyond_the_end_is_an_empty_page(client: TestClient) -> None:
    page = ask(client, "rows", offset=2**53).json()
    assert (page["numbers"], page["rows"]) == ([], COUNT)


BOMB = b"""<?xml version="1.0"?><!DOCTYPE VOTABLE [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><VOTABLE>&b;</VOTABLE>"""
FILE = b'<!DOCTYPE V [<!ENTITY x SYSTEM "file:///etc/passwd">]><VOTABLE>&x;</VOTABLE>'
HUGE = (
    b'<VOTABLE version="1.3" xmlns="http://www.ivoa.net/xml/VOTable/v1.3"><RESOURCE><TABLE><FIELD '
    b'name="a" datatype="double" arraysize="99999x99999"/><DATA><TABLEDATA><TR><TD/></TR>'
    b"</TABLEDATA></DATA></TABLE></RESOURCE></VOTABLE>"
)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (BOMB, 400), (BOMB.decode().encode("utf-16"), 400), (FILE, 400), (HUGE, 413),
        (gzip.compress(b"x" * 1000), 400), (b"", 400), (b"\x00\xff" * 500, 400), (b"<a>", 400),
        (b"<VOTABLE/>", 400),
    ],
)  # fmt: skip
def test_hostile_votables_are_refused(
    client: TestClient, folder: Path, content: bytes, status: int
) -> None:
    (folder / "hostile.vot").write_bytes(content)
    answer = ask(client, catalogue="served/hostile.vot")
    (folder / "hostile.vot").unlink()
    assert answer.status_code == status, answer.text
    assert "root:" not in answer.text


@pytest.mark.parametrize("content", [b"", b"\x00" * 999, b'"', b"ra,dec\n1\n", b"PAR1" * 9])
@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_hostile_columnar_files_are_refused(
    client: TestClient, folder: Path, content: bytes, ending: str
) -> None:
    path = folder / f"hostile.{ending}"
    path.write_bytes(content)
    answer = ask(client, "points", catalogue=f"served/hostile.{ending}")
    path.unlink()
    assert answer.status_code == 400, answer.text


# Cones of services.


class Service(BaseHTTPRequestHandler):
    """Answers by the path."""

    content = b""
    asked: list[str] = []  # noqa: RUF012

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        Service.asked.append(self.path)
        path = self.path.partition("?")[0]
        if path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", {"/moved": "/scs?", "/moved-loop": "/moved-loop"}.get(
                path, "http://example.org/scs"))  # fmt: skip
            self.end_headers()
            return
        self.send_response(500 if path == "/broken" else 200)
        self.end_headers()
        body = {"/scs": Service.content, "/error": ERROR, "/bomb": BOMB}.get(path, b"nothing")
        if path == "/endless":
            body = b"x" * (65 << 20)
        with contextlib.suppress(OSError):  # the client has enough
            self.wfile.write(body)


ERROR = (
    b'<VOTABLE version="1.3" xmlns="http://www.ivoa.net/xml/VOTable/v1.3"><INFO ID="Error" '
    b'name="Error" value="no such catalogue"/></VOTABLE>'
)


@pytest.fixture(scope="module")
def service(places: Any) -> Iterator[int]:
    Service.content = votable(places[2], "ICRS")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def searching(folder: Path, service: int) -> Iterator[TestClient]:
    """A server whose operator named the address of the service, which is private."""
    hosts = (f"127.0.0.1:{service}", f"localhost:{service}")
    with TestClient(create_app(Settings(paths=(folder,), cone_hosts=hosts))) as found:
        yield found


def test_cone_of_a_service_has_the_points_of_its_table(
    searching: TestClient, service: int, places: Any
) -> None:
    cone = ask(searching, "cone").json()["cone"]
    for path in ("scs", "moved"):
        Service.asked.clear()
        given = {"service": f"http://localhost:{service}/{path}?cat=1", "cone": cone}
        x, _, rows = points(ask(searching, "points", precision="float64", **given))
        np.testing.assert_array_equal(rows, np.flatnonzero(inside(places)))
        np.testing.assert_allclose(x, places[0][rows] + 1, atol=1e-6)
        ra, dec, radius = cone.split(",")
        assert Service.asked[0] == f"/{path}?cat=1&RA={ra}&DEC={dec}&SR={radius}"
        # The answer is kept: the service is asked once for one cone.
        ask(searching, "rows", **given)
        assert len(Service.asked) == (1 if path == "scs" else 2)


def test_cone_around_the_image_has_all_its_pixels(client: TestClient) -> None:
    ra, dec, radius = map(float, ask(client, "cone").json()["cone"].split(","))
    cube = tf.open(IMAGE)[0]
    height, width = cube.shape[-2:]
    x, y = [0, width - 1, 0, width - 1], [0, 0, height - 1, height - 1]
    corners = cube.wcs.celestial.pixel_to_world(x, y)
    far = corners.icrs.separation(SkyCoord(ra, dec, unit="deg")).deg
    assert far.max() <= radius <= 1.2 * far.max()


def test_services_are_refused_by_default(client: TestClient, service: int) -> None:
    Service.asked.clear()
    answer = ask(client, service=f"http://127.0.0.1:{service}/scs", cone="10,20,1")
    assert answer.status_code == 400
    assert "not allowed" in answer.text
    assert not Service.asked


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost:{port}/scs", "http://127.0.0.1:{port}/scs", "http://[::1]:{port}/scs",
        "http://0x7f000001:{port}/scs", "http://2130706433:{port}/scs", "http://0.0.0.0:{port}/scs",
        "http://[::ffff:127.0.0.1]:{port}/scs", "http://169.254.169.254/latest/meta-data",
        "http://127.1:{port}/scs",
    ],
)  # fmt: skip
def test_private_addresses_are_refused_unless_named(
    folder: Path, service: int, address: str
) -> None:
    Service.asked.clear()
    host = address.removeprefix("http://").partition("/")[0].format(port=service)
    # The operator named the host alone; for a literal address that is another spelling of it.
    name = host.rpartition(":")[0] if host.count(":") else host
    hosts = () if name in ("127.0.0.1", "169.254.169.254", "0.0.0.0", "[::1]") else (host,)
    with TestClient(create_app(Settings(paths=(folder,), cone_hosts=hosts))) as client:
        answer = ask(client, service=address.format(port=service), cone="1,2,1")
    assert answer.status_code in (400, 502), answer.text
    assert not Service.asked


@pytest.mark.parametrize(
    "address",
    [
        "ftp://example.org/", "file:///etc/passwd", "example.org/scs", "http://", "http:///scs",
        "http://user@example.org/", "http://example.org@127.0.0.1/", "http://example.org:99/",
        "http://example.org.evil.org/", "http://evil.org/?example.org", "http://example.org/a b",
        "http://example.org/\r\nHost: x", "http://example.org:x/", "http://[example.org/",
        "https://example.org\\@evil.org/",
    ],
)  # fmt: skip
def test_addresses_that_are_not_of_the_host_are_refused(address: str) -> None:
    with pytest.raises(RequestError, match=r"invalid service|not allowed"):
        allowed(["example.org"], address)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("broken", 502),
        ("error", 400),
        ("bomb", 400),
        ("text", 400),
        ("endless", 413),
        ("moved-loop", 502),
        ("moved-away", 400),
    ],
)
def test_failures_of_services_are_told(
    searching: TestClient, service: int, path: str, status: int
) -> None:
    answer = ask(searching, service=f"http://localhost:{service}/{path}", cone="1,2,1")
    assert answer.status_code == status, answer.text
    if path == "error":
        assert "no such catalogue" in answer.text


@pytest.mark.parametrize(
    "cone", ["", "1", "1,2", "1,2,3,4", "nan,1,1", "1,91,1", "1,2,0", "1,2,-1", "1,2,181", "a,b,c"]
)
def test_invalid_cones_are_refused_before_a_service_is_asked(
    searching: TestClient, service: int, cone: str
) -> None:
    Service.asked.clear()
    answer = ask(searching, service=f"http://localhost:{service}/scs", cone=cone)
    assert answer.status_code == 400
    assert not Service.asked


def test_services_are_not_waited_for_by_many(searching: TestClient, service: int) -> None:
    held = [AT_A_TIME.acquire() for _ in range(4)]
    try:
        answer = ask(searching, service=f"http://localhost:{service}/scs", cone="5,6,1")
        assert answer.status_code == 503
    finally:
        for _ in held:
            AT_A_TIME.release()
