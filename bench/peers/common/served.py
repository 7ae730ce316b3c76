"""A server of the input in a process of its own, 50 ms from a request to its first byte.

Run as a program, it serves one file; a line of its input asks for what it was asked since.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from python_runner import Model, Request

#: Seconds from a request to its answer.
DELAY = 0.05


@functools.cache
def _server(path: str) -> subprocess.Popen[str]:
    """Start the server; it ends with the input of its process."""
    command = [sys.executable, __file__, path]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    server_url[path] = server.stdout.readline().strip()
    return server


server_url: dict[str, str] = {}


def url(request: Request) -> str:
    """Give the URL of the input."""
    _server(request["path"])
    return server_url[request["path"]]


def log(request: Request) -> dict[str, float]:
    """Give rounds and megabytes since the last call."""
    server = _server(request["path"])
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("log\n")
    server.stdin.flush()
    numbers: dict[str, float] = json.loads(server.stdout.readline())
    return numbers


def place(request: Request) -> tuple[int, tuple[slice, ...]]:
    """Give the HDU and the section of the cutout, in NumPy order."""
    pixels = request["pixels"]
    return pixels["hdu"], tuple(slice(*pair) for pair in pixels["cutout"])


def model(cutout: Any, prepare: Any = lambda request: None) -> Model:
    """Make the model of a function that gives the pixels of the cutout."""

    def ready(request: Request) -> None:
        url(request)
        prepare(request)
        log(request)

    def run(request: Request) -> tuple[Any, Request]:
        return cutout(request), request

    def answer(result: tuple[Any, Request], request: Request) -> dict[str, Any]:
        return {"sum": float(result[0].sum(dtype="f8"))}

    return Model(run, answer, ready, parts=lambda result: log(result[1]))


def _serve(path: Path) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "python"))
    from rangeserver import range_server

    with range_server({"/file.fits": path.read_bytes()}, DELAY) as server:
        print(f"{server.url}/file.fits", flush=True)
        for _ in sys.stdin:
            numbers = {"rounds": server.rounds, "sent_mb": server.sent / 1e6}
            server.clear()
            print(json.dumps(numbers), flush=True)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
