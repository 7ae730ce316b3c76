"""A server of the input in a process of its own, with a delay and a bandwidth of the request.

Run as a program, it serves one file; a line of its input asks for what it was asked since.
"""

from __future__ import annotations

import functools
import json
import mmap
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from python_runner import Model, Request


@functools.cache
def _server(path: str, delay: float, bandwidth: float) -> tuple[subprocess.Popen[str], str]:
    """Start the server, which ends with the input of its process; and its URL."""
    command = [sys.executable, __file__, path, str(delay), str(bandwidth)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    return server, server.stdout.readline().strip()


def _server_of(request: Request) -> tuple[subprocess.Popen[str], str]:
    return _server(request["path"], request.get("delay", 0.05), request.get("bandwidth", 0.0))


def url(request: Request) -> str:
    """Give the URL of the input."""
    return _server_of(request)[1]


def log(request: Request) -> dict[str, float]:
    """Give rounds and megabytes since the last call."""
    server, _ = _server_of(request)
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


def sum_of(pixels: Any) -> dict[str, Any]:
    """Give the answer of a cutout."""
    return {"sum": float(pixels.sum(dtype="f8"))}


def model(
    work: Any, prepare: Any = lambda request: None, result: Callable[[Any], Any] = sum_of
) -> Model:
    """Make the model of a function that reads from the server, and of what it answers."""

    def ready(request: Request) -> None:
        url(request)
        prepare(request)
        log(request)

    def run(request: Request) -> tuple[Any, Request]:
        return work(request), request

    def answer(done: tuple[Any, Request], request: Request) -> dict[str, Any]:
        answered: dict[str, Any] = result(done[0])
        return answered

    return Model(run, answer, ready, parts=lambda done: log(done[1]))


def _serve(path: Path, delay: float, bandwidth: float) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "python"))
    from rangeserver import range_server

    with path.open("rb") as file:
        content: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with range_server({"/file.fits": content}, delay, bandwidth=bandwidth) as server:
        print(f"{server.url}/file.fits", flush=True)
        for _ in sys.stdin:
            numbers = {"rounds": server.rounds, "sent_mb": server.sent / 1e6}
            server.clear()
            print(json.dumps(numbers), flush=True)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), *map(float, sys.argv[2:]))
