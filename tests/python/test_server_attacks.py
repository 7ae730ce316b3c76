"""The server under attack: hostile IDs and numbers, slow and absent clients, changing files."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import socket
import threading
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn

import tachyfits as tf
from tachyfits.server.app import create_app
from tachyfits.server.datasets import Datasets
from tachyfits.server.errors import Changed
from tachyfits.server.guard.connection import protocol
from tachyfits.server.settings import Settings
from voserver import Server, serving

pytestmark = pytest.mark.once

SHAPE = (64, 300, 300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("attacks")
    (found / "served" / "deep").mkdir(parents=True)
    pixels = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE)
    tf.write(found / "served" / "cube.fits", pixels)
    tf.write(found / "served" / "deep" / "cube.fits", pixels)
    places = {"RA": np.array([1.0, 2.0]), "DEC": np.array([3.0, 4.0])}
    tf.write(found / "served" / "stars.fits", places, units={"RA": "deg", "DEC": "deg"})
    tf.write(found / "secret.fits", np.full((3, 4, 5), 7, dtype=np.float32))
    return found


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("cache"), folder / "served") as found:
        yield found


def port_of(server: Server) -> int:
    return urllib.parse.urlsplit(server.url).port or 0


def raw(server: Server, target: str, method: str = "GET", body: bytes = b"") -> tuple[int, bytes]:
    """Send a request line as it is, without the repairs of a client."""
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=30) as stream:
        head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n" if body else "\r\n"
        stream.sendall(head.encode("latin-1") + body)
        answer = b""
        with contextlib.suppress(ConnectionResetError):  # while what was sent is not read
            while part := stream.recv(1 << 16):
                answer += part
    if not answer:
        return 0, b""
    head_bytes, _, content = answer.partition(b"\r\n\r\n")
    return int(head_bytes.split(b" ", 2)[1]), content


def ask(server: Server, name: str, **parameters: Any) -> tuple[int, bytes]:
    return raw(server, f"/api/v1/{name}?{urllib.parse.urlencode(parameters)}")


def works(server: Server) -> bool:
    return ask(server, "pixel", id="served/cube.fits", x=1, y=1)[0] == 200


def test_ids_of_every_form_lead_nowhere_else(server: Server, folder: Path) -> None:
    secret = urllib.parse.quote(str(folder / "secret.fits"), safe="")
    tricks = [
        "served/../secret.fits", "served%2F..%2Fsecret.fits", "served/%2e%2e/secret.fits",
        "served%252F..%252Fsecret.fits", "served/..%c0%afsecret.fits", "served/..%5Csecret.fits",
        "served/%EF%BC%8E%EF%BC%8E/secret.fits", "served/deep/../../secret.fits", secret,
        f"served/{secret}", f"file%3A%2F%2F{secret}", f"%2F%2F{secret}", "served/cube.fits%00",
        "served/%00/../../secret.fits", "served/cube.fits%2F", "served/./cube.fits",
        "served//cube.fits", "~root", "%24HOME", "-", "served/cube.fits%0d%0aX: y", "served",
        "%F0%9F%92%A9", "%FF%FE", "served/" + "a%2F" * 1000, "A" * 5000,
        "http%3A%2F%2F127.0.0.1%2Fx", "cube.fits%5B0%5D", "served%2Fcube.fits%5B1%3A2%5D",
    ]  # fmt: skip
    for trick in tricks:
        for name in ("dataset", "cutout", "tile", "header"):
            extra = "&level=0&x=0&y=0" if name == "tile" else ""
            status, content = raw(server, f"/api/v1/{name}?id={trick}{extra}")
            assert status in (400, 404), (trick, status)
            assert secret in trick or str(folder).encode() not in content, trick
        # The IDs of a second file.
        for name, parameter, extra in (
            ("match", "onto", "point=1,1"),
            ("contours", "onto", "levels=1"),
            ("figure", "overlay", "overlay_levels=1"),
            ("figure/lines", "overlay", "overlay_levels=1"),
            ("spectrum", "region_in", "region=circle(9,9,2)"),
            ("catalogue", "catalogue", "hdu=0"),
            ("catalogue/points", "catalogue", "hdu=0"),
            ("catalogue/rows", "catalogue", "hdu=0"),
        ):
            target = f"/api/v1/{name}?id=served/cube.fits&{extra}&{parameter}={trick}"
            status, content = raw(server, target)
            assert status in (400, 404), (name, trick, status)
            assert secret in trick or str(folder).encode() not in content, trick
    paths = (
        "/../secret.fits", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/..%2f..%2fapp.py",
        "/..%5c..%5capp.py", "/%00", "/main.js/../../server/app.py",
    )  # fmt: skip
    for path in paths:
        status, content = raw(server, path)
        assert status in (400, 404), path
        assert b"root:" not in content
        assert b"import" not in content
    assert works(server)


def test_link_that_is_swapped_while_served_never_leads_out(server: Server, folder: Path) -> None:
    link = folder / "served" / "link"
    ends = threading.Event()

    def swap() -> None:
        inside = True
        while not ends.is_set():
            new = folder / "served" / ".new"
            new.symlink_to(folder / "served" / "deep" if inside else folder)
            os.replace(new, link)
            inside = not inside

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        found = {ask(server, "pixel", id="served/link/secret.fits", x=1, y=1) for _ in range(150)}
        assert {status for status, _ in found} <= {404, 409, 503}
        cube = {"id": "served/link/cube.fits", "x": 1, "y": 1}
        statuses = {ask(server, "pixel", **cube)[0] for _ in range(50)}
        assert statuses <= {200, 404, 409, 503}
    finally:
        ends.set()
        thread.join()
        link.unlink()
    assert works(server)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "1e308", "-1", "0x10", "9" * 400])
def test_numbers_beyond_reason_are_refused_at_once(server: Server, value: str) -> None:
    numbers = {
        "pixel": ("x", "y", "channel"), "tile": ("level", "x", "y", "error", "threshold"),
        "histogram": ("bins", "low", "high"), "pv": ("width", "spacing"), "grid": ("lines", "box"),
        "percentiles": ("q",), "contours": ("levels", "level"), "snapshot": ("dpi", "low", "high"),
        "spectrum": ("region", "channels", "others", "smooth", "bin", "region_in_hdu"),
        "image": ("level", "threshold", "channel"), "noise": ("channel", "threshold"),
        "figure": ("width", "low", "high", "levels", "channel", "overlay_channel", "overlay_hdu",
                   "overlay_levels"),
        "figure/lines": ("width", "levels"), "vectors": ("step", "least"), "match": ("point",),
        "fit": ("gaussians", "baseline", "noise", "line_free", "channels", "region"),
        "axis": ("redshift", "rest"), "lines": ("redshift",), "position": ("text",),
        "catalogue": ("table", "cone"), "catalogue/points": ("table", "where"),
        "catalogue/rows": ("offset", "limit", "around", "where"),
    }  # fmt: skip
    good = {
        "pixel": {"x": 1, "y": 1}, "tile": {"level": 0, "x": 0, "y": 0}, "pv": {"path": "1,1 9,9"},
        "contours": {"levels": "1"}, "match": {"onto": "served/cube.fits"},
        "fit": {"region": "circle(9,9,3)"}, "catalogue": {"catalogue": "served/stars.fits"},
        "catalogue/points": {"catalogue": "served/stars.fits"},
        "catalogue/rows": {"catalogue": "served/stars.fits"},
        "figure": {"overlay": "served/cube.fits", "overlay_levels": "1", "channel": 1},
    }  # fmt: skip
    for name, parameters in numbers.items():
        for parameter in parameters:
            asked = {"id": "served/cube.fits", **good.get(name, {}), parameter: value}
            if parameter == "region":
                asked["region"] = f"circle({value},1,{value})"
            begin = time.monotonic()
            status, content = ask(server, name, **asked)
            # Huge finite limits are numbers like others.
            finite = value == "1e308" or (value in ("-1", "9" * 400) and parameter != "region")
            assert status in ((200, 400, 413) if finite or value == "-1" else (400, 413)), (
                name, parameter, status, content[:200],
            )  # fmt: skip
            assert time.monotonic() - begin < 20
    assert works(server)


def test_a_million_values_cost_little(server: Server) -> None:
    begin = time.monotonic()
    many = ",".join(["1"] * 1_000_000)
    assert raw(server, f"/api/v1/percentiles?id=served/cube.fits&q={many}")[0] in (0, 400)
    same = "&q=1" * 10_000
    assert raw(server, f"/api/v1/percentiles?id=served/cube.fits{same}")[0] in (200, 400)
    corners = ",".join(f"{150 + 99 * np.cos(a):.4f},{150 + 99 * np.sin(a):.4f}"
                       for a in np.linspace(0, 6.28, 100_000))  # fmt: skip
    target = "/api/v1/regions/pixels?id=served/cube.fits"
    assert raw(server, target, "POST", f"polygon({corners})".encode())[0] in (400, 413)
    shapes = b"circle(1,1,1);" * 50_000
    assert raw(server, target, "POST", shapes)[0] in (400, 413)
    assert time.monotonic() - begin < 60
    assert works(server)


def metric(server: Server, name: str) -> float:
    """Return a number of the server; ask again where it answers that it is busy."""
    ends = time.monotonic() + 30
    while True:
        status, body = raw(server, "/metrics")
        found = re.search(rf"^{name} (.*)$", body.decode(), re.MULTILINE)
        if found is not None:
            return float(found[1])
        assert status in (0, 429, 503), body
        assert time.monotonic() < ends
        time.sleep(0.1)


def test_abandoned_requests_cost_nothing_afterwards(server: Server) -> None:
    assert works(server)
    before = metric(server, "process_resident_memory_bytes")
    for number in range(1000):
        stream = socket.create_connection(("127.0.0.1", port_of(server)), timeout=30)
        region = f"circle({100 + number % 50},{100 + number / 1000},80)"
        query = urllib.parse.urlencode({"id": "served/cube.fits", "region": region,
                                        "statistic": "median"})  # fmt: skip
        stream.sendall(f"GET /api/v1/spectrum?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        stream.close()
    ends = time.monotonic() + 30
    while metric(server, "tachyfits_calls_running") > 0:
        assert time.monotonic() < ends
        time.sleep(0.1)
    assert metric(server, "tachyfits_threads_busy") == 0
    assert metric(server, "tachyfits_requests_running") <= 1  # this one
    assert metric(server, "process_resident_memory_bytes") - before < 300 << 20
    assert works(server)


def test_download_of_a_client_that_leaves_ends(server: Server) -> None:
    stream = socket.create_connection(("127.0.0.1", port_of(server)), timeout=30)
    stream.sendall(b"GET /api/v1/cutout?id=served/cube.fits HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert stream.recv(1000).startswith(b"HTTP/1.1 200")
    assert metric(server, "tachyfits_downloads_running") == 1
    stream.close()
    ends = time.monotonic() + 20
    while metric(server, "tachyfits_downloads_running") > 0:
        assert time.monotonic() < ends
        time.sleep(0.1)


@contextlib.contextmanager
def listening(app: Any, seconds: float = 15) -> Iterator[tuple[str, int]]:
    """Run an application on a thread; its heads of requests come within some seconds."""
    config = uvicorn.Config(
        app, port=0, http=protocol(seconds), ws="none", lifespan="off", log_level="critical"
    )
    running = uvicorn.Server(config)
    found = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [found]})
    thread.start()
    try:
        yield found.getsockname()
    finally:
        running.should_exit = True
        thread.join(20)


def test_client_that_takes_nothing_of_a_download_is_disconnected(
    folder: Path, tmp_path: Path
) -> None:
    settings = Settings(paths=(folder / "served",), cache_folder=tmp_path, stall_seconds=0.5)
    app = create_app(settings)
    workers = app.state.tachyfits.workers
    with listening(app) as address, socket.socket() as stream:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stream.settimeout(20)
        stream.connect(address)
        target = "/api/v1/cutout?id=served/cube.fits"
        stream.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        answer = stream.recv(1000)
        assert answer.startswith(b"HTTP/1.1 200")
        ends = time.monotonic() + 20
        while workers.streams:
            assert time.monotonic() < ends
            time.sleep(0.1)
        size = len(answer)
        with contextlib.suppress(ConnectionError):
            while part := stream.recv(1 << 20):
                size += len(part)
        assert size < 4 * np.prod(SHAPE)


def test_stopped_server_ends_although_clients_stay(folder: Path, tmp_path: Path) -> None:
    with serving(tmp_path, folder / "served") as server, contextlib.ExitStack() as stack:
        address = ("127.0.0.1", port_of(server))
        for target in ("cutout?id=served/cube.fits", "jobs/none/events", "files"):
            stream = stack.enter_context(socket.create_connection(address, timeout=30))
            stream.sendall(f"GET /api/v1/{target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert stream.recv(100).startswith(b"HTTP/1.1 ")
        stack.enter_context(socket.create_connection(address)).sendall(b"GET /he")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=20) == 128 + signal.SIGTERM
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address, timeout=5)


def test_senders_that_never_end_a_request_are_disconnected() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", b"2")]})  # fmt: skip
        await send({"type": "http.response.body", "body": b"ok"})

    with listening(app, 2) as address:
        slow = [socket.create_connection(address, timeout=20) for _ in range(100)]
        for number, stream in enumerate(slow):
            stream.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: " if number % 2 else b"")
        connection = http.client.HTTPConnection(*address, timeout=20)
        for _ in range(3):
            connection.request("GET", "/")
            assert connection.getresponse().read() == b"ok"
        for stream in slow:
            with stream:
                assert stream.recv(100) == b""  # the server closed it
        # One request that is complete, and then a slow one on the same connection.
        with socket.create_connection(address, timeout=20) as stream:
            stream.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT")
            answer = b""
            while part := stream.recv(1000):
                answer += part
            assert answer.count(b"200 OK") == 1
        with socket.create_connection(address, timeout=20) as stream:
            stream.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n")
            with pytest.raises(OSError, match=r"reset|Broken pipe"):
                send_for_ever(stream)


def send_for_ever(stream: socket.socket) -> None:
    """Send a megabyte of headers a second; the server closes the connection long before."""
    for _ in range(20_000):
        stream.sendall(b"X: " + b"y" * 1000 + b"\r\n")


def rest_of(answer: http.client.HTTPResponse, first: bytes, size: int) -> bytes:
    """Return the content, which is shorter than was announced."""
    content = first
    with contextlib.suppress(http.client.IncompleteRead, ConnectionError):
        while part := answer.read(1 << 20):
            content += part
    assert len(content) < size
    return content


def test_file_that_is_truncated_or_replaced_while_it_is_sent(server: Server, folder: Path) -> None:
    path = folder / "served" / "changing.fits"
    for change in ("truncate", "replace", "write"):
        tf.write(path, np.ones((200, 400, 400), dtype=np.float32), overwrite=True)
        size = path.stat().st_size
        connection = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=30)
        connection.request("GET", "/api/v1/cutout?id=served/changing.fits")
        answer = connection.getresponse()
        assert answer.status == 200
        content = answer.read(1 << 20)
        if change == "truncate":
            os.truncate(path, 1 << 20)
        elif change == "replace":
            tf.write(path, np.full((200, 400, 400), 2, dtype=np.float32), overwrite=True)
        else:
            with path.open("r+b") as file:
                file.seek(size - 10_000_000)
                file.write(np.full(1000, 2, dtype=">f4").tobytes())
        content = rest_of(answer, content, size)
        pixels = np.frombuffer(content[2880:][: (len(content) - 2880) // 4 * 4], dtype=">f4")
        assert set(np.unique(pixels)) == {1.0}  # nothing of the other version
        connection.close()
        status, body = ask(server, "statistics", id="served/changing.fits")
        assert status in (200, 409, 422, 503), body
        assert works(server)
    path.unlink()
    assert ask(server, "statistics", id="served/changing.fits")[0] == 404


def test_link_in_place_of_a_folder_while_it_is_opened_reveals_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, outside = tmp_path / "served", tmp_path / "outside"
    for folder, value in ((served / "deep", 1), (outside, 7)):
        folder.mkdir(parents=True)
        tf.write(folder / "cube.fits", np.full((3, 4, 5), value, dtype=np.float32))
    datasets = Datasets((served,))
    opened = tf.open

    def attacked(path: Path) -> tf.File:
        # The folder is a link while the file is opened, and a folder before and afterwards.
        (served / "deep").rename(served / "aside")
        (served / "deep").symlink_to(outside)
        try:
            return opened(path)
        finally:
            (served / "deep").unlink()
            (served / "aside").rename(served / "deep")

    monkeypatch.setattr(tf, "open", attacked)
    with pytest.raises(Changed, match="replaced while it was opened"):
        datasets.open("served/deep/cube.fits")
    monkeypatch.setattr(tf, "open", opened)
    assert datasets.open("served/deep/cube.fits").view(0).image[0, 0, 0] == 1
