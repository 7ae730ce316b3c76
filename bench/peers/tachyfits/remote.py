"""Files of a server: cutouts with and without kept headers, statistics, a mere download."""

from __future__ import annotations

import http.client
import tempfile
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import served
from python_runner import Request

import tachyfits as tf


def cutout(request: Request) -> Any:
    """Open the file and read the pixels."""
    hdu, section = served.place(request)
    with tf.open(served.url(request)) as file:
        return file[hdu][section]


def stats(request: Request) -> Any:
    """Open the file and take all statistics of its pixels."""
    with tf.open(served.url(request)) as file:
        return file[0].stats(threads=request["threads"])


def download(request: Request) -> None:
    """Take all bytes by 16 connections, 8 MiB a request, and do nothing with them."""
    parts = urlsplit(served.url(request))
    size = Path(request["path"]).stat().st_size
    starts = iter(range(0, size, _PART))
    lock = threading.Lock()

    def take() -> None:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
        room = bytearray(_PART)
        while True:
            with lock:
                start = next(starts, None)
            if start is None:
                break
            last = min(start + _PART, size) - 1
            connection.request("GET", parts.path, headers={"Range": f"bytes={start}-{last}"})
            answer = connection.getresponse()
            while answer.readinto(room):
                pass
        connection.close()

    threads = [threading.Thread(target=take) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def nothing_kept(request: Request) -> None:
    """Keep no headers."""
    tf.options.index_cache = None


def headers_kept(request: Request) -> None:
    """Open the file once."""
    tf.options.index_cache = _folder.name
    cutout(request)


_folder = tempfile.TemporaryDirectory()
_PART = 8 << 20

MODELS = {
    "remote-cutout": served.model(cutout, nothing_kept),
    "remote-cutout-again": served.model(cutout, headers_kept),
    "remote-stats": served.model(
        stats, nothing_kept, lambda result: {"count": result.count, "mean": result.mean}
    ),
    "remote-download": served.model(download, result=lambda nothing: {}),
}
