"""The server, in a process of its own: an image or a spectrum of a cube by an HTTP request.

It keeps no answers, so that each request computes. Time runs from the request to the last byte of
the answer.
"""

from __future__ import annotations

import atexit
import functools
import io
import json
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import numpy as np
from python_runner import Model, Request, serve

import tachyfits as tf

#: The server's program: a folder, the folder of its own files, and the number of threads.
PROGRAM = """
import sys
from pathlib import Path
from tachyfits.server.run import serve
from tachyfits.server.settings import Settings
folder, own, threads = sys.argv[1:]
settings = Settings((Path(folder),), cache_bytes=0, threads=int(threads), cache_folder=Path(own))
serve(settings, "127.0.0.1", 0, lambda link: print(link, flush=True))
"""


@functools.cache
def link_to(folder: str, threads: int) -> str:
    """Start the server of a folder; its address."""
    own = tempfile.TemporaryDirectory()
    command = [sys.executable, "-c", PROGRAM, folder, own.name, str(threads)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    atexit.register(own.cleanup)
    atexit.register(process.wait)
    atexit.register(process.terminate)
    assert process.stdout is not None
    link = process.stdout.readline().strip()
    if not link:
        raise RuntimeError("the server did not start")
    return link


def prepare(request: Request) -> None:
    """Have the server, which knows the file."""
    ask(request, "dataset")


def ask(request: Request, what: str, **parameters: str) -> bytes:
    """Ask the server about the file of a request."""
    path = Path(request["path"])
    query = urllib.parse.urlencode({"id": f"{path.parent.name}/{path.name}", **parameters})
    link = link_to(str(path.parent), request["threads"])
    with urllib.request.urlopen(f"{link}api/v1/{what}?{query}", timeout=600) as answer:
        body: bytes = answer.read()
    return body


def extract(request: Request) -> bytes:
    """Ask for the sum along the spectral axis, or over the sky."""
    if request["extract"] == "image":
        return ask(request, "image", collapse="sum", format="fits")
    return ask(request, "spectrum", statistic="sum")


def extracted(body: bytes, request: Request) -> dict[str, Any]:
    """Give the sum of the numbers, and of each times its position."""
    if request["extract"] == "image":
        flat = tf.open(io.BytesIO(body))[0].read().reshape(-1)
    else:
        flat = np.array(json.loads(body)["values"])
    sums = [float(flat.sum()), float((flat * np.arange(1, flat.size + 1)).sum())]
    return {f"extracted-{request['extract']}": sums}


if __name__ == "__main__":
    serve({"extract": Model(extract, extracted, prepare)}, lambda: f"tachyfits {tf.__version__}")
