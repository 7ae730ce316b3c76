"""Notebook: the viewer page in a cell, from one server on a thread of this process."""

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

#: Seconds in which the server has to start.
_START = 30.0

#: Pages that may show the viewer: notebooks have any address.
_ANCESTORS = ("http:", "https:", "vscode-webview:")


class _Server:
    """A server of the files that were viewed, and of no others."""

    def __init__(self) -> None:
        # Jobs of other servers of this user are none of its business.
        self._folder = tempfile.TemporaryDirectory(prefix="tachyfits-viewer-")
        # Other users of this machine reach its loopback address, too.
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
        # A daemon ends with the process; it writes nothing that lasts.
        thread = threading.Thread(target=server.run, name="tachyfits-viewer", daemon=True)
        thread.start()
        if not started.wait(_START):
            raise usage(
                "the server of the viewer did not start", either("use `tachyfits view` in a shell")
            )


_lock = threading.Lock()
_servers: dict[int, _Server] = {}


def viewer(image: tf.Image, height: int, address: str | None) -> Viewer:
    """Return the widget with the page that shows an image; see `Image.view`."""
    path = image.file.name
    is_remote = image.file.storage == "remote"
    if not is_remote and not os.path.isfile(path):
        raise usage(
            f"{path}: the viewer shows images of files on this machine",
            either("write it to a file first: image.write(path)"),
        )
    process = os.getpid()
    with _lock:
        # A fork has the object, and not the thread.
        if process not in _servers:
            _servers[process] = _Server()
        server = _servers[process]
    name = server.datasets.add(path if is_remote else Path(path))
    base = f"http://127.0.0.1:{server.port}/"
    if address is not None:
        base = address.replace("{port}", str(server.port)).rstrip("/") + "/"
    # Browsers send no part of an address after "#": neither logs nor proxies have the token.
    link = f"{base}#token={server.token}&id={urllib.parse.quote(name)}&hdu={image.index}"
    found: Viewer = Widget(server.datasets, name, image.index, link, height)
    return found
