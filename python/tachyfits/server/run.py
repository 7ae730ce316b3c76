"""Running a server: uvicorn, the link to its page, and an orderly end."""

from __future__ import annotations

import contextlib
import ctypes
import ipaddress
import logging
import socket
from collections.abc import Callable
from dataclasses import replace

import uvicorn

from tachyfits.base import either, usage
from tachyfits.server.app import create_app
from tachyfits.server.guard.connection import protocol
from tachyfits.server.settings import Settings
from tachyfits.server.state import State

#: Seconds in which open requests may end after the server was stopped.
_GRACE = 5

#: Open files that connections, served files and chunks of copies may need together.
_FILES = 1 << 14

#: Bytes of a block that goes back to the system when it is freed, and the option of glibc for it.
_OWN_BLOCK, _MMAP_THRESHOLD = 256 << 10, -3

#: Names of this machine in the Host header.
LOOPBACK = ("localhost", "localhost.localdomain", "ip6-localhost")


def serve(
    settings: Settings, host: str, port: int, started: Callable[[str], object], log: bool = False
) -> None:
    """Serve until SIGINT or SIGTERM.

    Parameters
    ----------
    started
        Gets the link when requests are taken.
    log
        Write a line of JSON to stderr for each request.

    Raises
    ------
    UsageError
        The address is not of this machine alone and no token or header of a user is set, or it
        cannot be listened on.
    """
    if not (is_loopback(host) or settings.token or settings.user_header):
        raise usage(
            f"{host} can be reached from other machines, and clients would need no token",
            either("set Settings.token", "give --token"),
        )
    # Clients cannot open the address of all interfaces.
    open_host = socket.gethostname() if host in ("0.0.0.0", "::") else host
    if settings.hosts:
        open_host = settings.hosts[0] if open_host != host else host
    else:
        settings = replace(settings, hosts=(*LOOPBACK, open_host))
    _log_to_stderr(log)
    app = create_app(settings)
    listening = listen(host, port)
    name = f"[{open_host}]" if ":" in open_host else open_host
    link = f"http://{name}:{listening.getsockname()[1]}/"
    if settings.token is not None:
        link += f"?token={settings.token}"
    config = uvicorn.Config(
        app,
        http=protocol(),
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # the guard knows which proxies to believe
        server_header=False,
        limit_concurrency=settings.connections,
        timeout_graceful_shutdown=_GRACE,
        lifespan="on",
    )
    _allow_files()
    free_to_system()
    with listening:
        _Server(config, lambda: started(link), app.state.tachyfits).run(sockets=[listening])


def _allow_files() -> None:
    """Allow as many open files as the system lets a process: often 1024 until it asks for more."""
    try:
        import resource
    except ImportError:  # Windows has no limit that low
        return
    limit = resource.RLIMIT_NOFILE
    soft, hard = resource.getrlimit(limit)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(limit, (wanted, hard))


def free_to_system() -> None:
    """Let freed tiles and planes go back to the system.

    glibc would soon keep blocks of up to 32 MiB, between answers that stay: as much again as the
    cache holds. Other C libraries have no such option.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _OWN_BLOCK)


def is_loopback(host: str) -> bool:
    """Say whether an address is of this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _log_to_stderr(requests: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    for name, level in (
        ("tachyfits.access", logging.INFO if requests else logging.ERROR),
        ("tachyfits.server", logging.WARNING),
    ):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


class _Server(uvicorn.Server):
    """A server that says when it takes requests, and ends what lasts when it is stopped."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], object], state: State) -> None:
        super().__init__(config)
        self._tell = started
        self._state = state

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._state.jobs.cancel()
        self._state.workers.stop()
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._tell()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets that name TCP; without it, the body of an answer
    # waits 40 ms for the acknowledgement of its headers.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise usage(
            f"cannot listen on {host}:{port}: {error.strerror}",
            either("choose another host or port", "choose another --host or --port"),
        ) from None
    return found
