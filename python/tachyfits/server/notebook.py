"""Notebook: the viewer page in a cell, served by a thread of this process."""

from __future__ import annotations

import os
import secrets
import tempfile
import threading
import urllib.parse
from pathlib import Path

import uvicorn

import tachyfits as tf
from tachyfits.base import either, usage
from tachyfits.results import Viewer
from tachyfits.server.app import create_app
from tachyfits.server.run import LOOPBACK, listen
from tachyfits.server.settings import Settings
from tachyfits.server.widget import Widget

#: Maximum time for the server to start, in seconds.
_START = 30.0

#: Sources of pages that may embed the viewer: notebooks can have any address.
_ANCESTORS = ("http:", "https:", "vscode-webview:")


class _Server:
    """A server that only serves the viewed files."""

    def __init__(self) -> None:
        # A separate cache folder: do not see jobs of other servers of this user.
        self._folder = tempfile.TemporaryDirectory(prefix="tachyfits-viewer-")
        # Other users of this machine can also connect to its loopback address.
        self.token = secrets.token_urlsafe(24)
        settings = Settings(
            paths=(),
            token=self.token,
            open_page=True,
            hosts=LOOPBACK,
            samp=True,
            frame_ancestors=_ANCESTORS,
            cache_folder=Path(self._folder.name),
        )
        app = create_app(settings)
        self.datasets = app.state.tachyfits.datasets
        listening = listen("127.0.0.1", 0)
        self.port = listening.getsockname()[1]
        config = uvicorn.Config(app, ws="none", log_config=None, access_log=False, lifespan="on")
        server = uvicorn.Server(config)
        started = threading.Event()

        async def startup(sockets: object = None) -> None:
            await uvicorn.Server.startup(server, [listening])
            started.set()

        server.startup = startup  # type: ignore[method-assign]
        # A daemon thread ends with the process; the server writes no permanent files.
        thread = threading.Thread(target=server.run, name="tachyfits-viewer", daemon=True)
        thread.start()
        if not started.wait(_START):
            raise usage(
                "the server of the viewer did not start", either("use `tachyfits view` in a shell")
            )


_lock = threading.Lock()
_servers: dict[int, _Server] = {}


def viewer(image: tf.Image, height: int, address: str | None) -> Viewer:
    """Return a widget with the viewer page of an image; see `Image.view`."""
    path = image.file.name
    is_remote = image.file.storage == "remote"
    if not is_remote and not os.path.isfile(path):
        raise usage(
            f"{path}: the viewer shows images of files on this machine",
            either("write it to a file first: image.write(path)"),
        )
    process = os.getpid()
    with _lock:
        # A forked process inherits the object but not the thread.
        if process not in _servers:
            _servers[process] = _Server()
        server = _servers[process]
    name = server.datasets.add(path if is_remote else Path(path))
    base = f"http://127.0.0.1:{server.port}/"
    if address is not None:
        base = address.replace("{port}", str(server.port)).rstrip("/") + "/"
    # Browsers do not send the part of an address after "#": logs and proxies never see the token.
    link = f"{base}#token={server.token}&id={urllib.parse.quote(name)}&hdu={image.index}"
    widget: Viewer = Widget(server.datasets, name, image.index, link, height)
    return widget
