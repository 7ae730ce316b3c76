"""A server of files on this machine that answers ranges and keeps a log, for tests of URLs."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

#: Bytes that are sent at a time, and seconds that a sleep may be late.
PIECE, LATE = 1 << 20, 0.002


@dataclass
class Log:
    """The files of a server by path, and what it was asked."""

    files: dict[str, bytes]
    url: str = ""
    #: (path with query, first byte, bytes sent, time of the request)
    requests: list[tuple[str, int, int, float]] = field(default_factory=list)
    delay: float = 0.0
    #: bytes a second, for all connections together; 0: as fast as it can
    bandwidth: float = 0.0

    def clear(self) -> None:
        """Forget the requests."""
        self.requests.clear()

    @property
    def sent(self) -> int:
        """Bytes of all answers."""
        return sum(count for _, _, count, _ in self.requests)

    @property
    def rounds(self) -> int:
        """Groups of requests that were under way at the same time."""
        rounds, end = 0, 0.0
        for *_, begun in sorted(self.requests, key=lambda request: request[3]):
            if begun >= end:
                rounds, end = rounds + 1, begun + self.delay
        return rounds


class Link:
    """A link that all connections share: it says when the next bytes may be sent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free = 0.0

    def wait(self, size: int, bandwidth: float) -> None:
        """Wait until some bytes may be sent."""
        if not bandwidth:
            return
        with self._lock:
            self._free = max(self._free, time.monotonic() - LATE) + size / bandwidth
            pause = self._free - time.monotonic()
        if pause > LATE:
            time.sleep(pause)


def _version(content: bytes) -> int:
    """Return another number for another content; a map of a file does not change."""
    return hash(content) if isinstance(content, bytes) else len(content)


@contextmanager
def range_server(
    files: dict[str, bytes], delay: float = 0.0, *, tags: bool = True, bandwidth: float = 0.0
) -> Iterator[Log]:
    """Serve files by path, each answer after a delay in seconds; without tags: without versions."""
    log = Log(files, delay=delay, bandwidth=bandwidth)
    link = Link()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # headers and body are two writes, and each would wait

        def do_GET(self) -> None:
            begun = time.monotonic()
            time.sleep(log.delay)
            content = log.files.get(unquote(self.path.split("?")[0]))
            if content is None:
                self._answer(404, b"", {})
                return
            tag = {"ETag": f'"{_version(content)}"'} if tags else {}
            expected = self.headers.get("If-Match")
            if tags and expected is not None and expected != tag["ETag"]:
                self._answer(412, b"", {})
                return
            asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            first, last = (int(n) for n in asked.groups()) if asked else (0, len(content) - 1)
            part = memoryview(content)[first : last + 1]
            with lock:
                log.requests.append((self.path, first, len(part), begun))
            where = {"Content-Range": f"bytes {first}-{first + len(part) - 1}/{len(content)}"}
            self._answer(206 if asked else 200, part, tag | (where if asked else {}))

        def _answer(self, status: int, body: bytes | memoryview, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for at in range(0, len(body), PIECE):
                piece = body[at : at + PIECE]
                link.wait(len(piece), log.bandwidth)
                self.wfile.write(piece)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 64  # connections of one round wait for each other otherwise
        daemon_threads = True

    lock = threading.Lock()
    server = Server(("127.0.0.1", 0), Handler)
    log.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield log
    finally:
        server.shutdown()
        server.server_close()
