"""Cutouts of files of a server, with and without the headers that were kept on the disk."""

from __future__ import annotations

import tempfile
from typing import Any

import served
from python_runner import Request

import tachyfits as tf


def cutout(request: Request) -> Any:
    """Open the file and read the pixels."""
    hdu, section = served.place(request)
    with tf.open(served.url(request)) as file:
        return file[hdu][section]


def nothing_kept(request: Request) -> None:
    """Keep no headers."""
    tf.options.index_cache = None


def headers_kept(request: Request) -> None:
    """Open the file once."""
    tf.options.index_cache = _folder.name
    cutout(request)


_folder = tempfile.TemporaryDirectory()

MODELS = {
    "remote-cutout": served.model(cutout, nothing_kept),
    "remote-cutout-again": served.model(cutout, headers_kept),
}
