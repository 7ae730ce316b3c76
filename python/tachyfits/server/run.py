"""Running a server: uvicorn, the link to its page, and an orderly end."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from tachyfits.base.errors import usage
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

#: Seconds in which open requests may end after the server was stopped.
_GRACE = 5


def serve(settings: Settings, host: str, port: int, started: Callable[[str], object]) -> None:
    """Serve until SIGINT or SIGTERM; ``started`` gets the link when requests are taken."""
    app = create_app(settings)
    listening = _listen(host, port)
    name = f"[{host}]" if ":" in host else host
    link = f"http://{name}:{listening.getsockname()[1]}/"
    if settings.token is not None:
        link += f"?token={settings.token}"
    config = uvicorn.Config(
        app, log_config=None, access_log=False, timeout_graceful_shutdown=_GRACE, lifespan="on"
    )
    with listening:
        _Server(config, lambda: started(link)).run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that says when it takes requests."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], object]) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._tell()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise usage(
            f"cannot listen on {host}:{port}: {error.strerror}", "choose another --host or --port"
        ) from None
    return found
