"""Running a server: uvicorn, the link to its page, and a graceful shutdown."""

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

#: Seconds for open requests to finish after the server is stopped.
_GRACE = 5

#: Maximum number of open files: connections, served files and chunks of copies.
_FILES = 1 << 14

#: Minimum size of a block that glibc returns to the system when freed, and the mallopt option.
_OWN_BLOCK, _MMAP_THRESHOLD = 256 << 10, -3

#: Names of localhost in the Host header.
LOOPBACK = ("localhost", "localhost.localdomain", "ip6-localhost")


def serve(
    settings: Settings, host: str, port: int, started: Callable[[str], object], log: bool = False
) -> None:
    """Serve until SIGINT or SIGTERM.

    Parameters
    ----------
    started
        Called with the link as soon as the server accepts requests.
    log
        Write a line of JSON to stderr for each request.

    Raises
    ------
    UsageError
        The address is not a loopback address and neither token nor user header is set, or the
        server cannot listen on it.
    """
    if not (is_loopback(host) or settings.token or settings.user_header):
        raise usage(
            f"{host} can be reached from other machines, and clients would need no token",
            either("set Settings.token", "give --token"),
        )
    # Clients cannot connect to the address of all interfaces.
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
        proxy_headers=False,  # the guard knows the trusted proxies
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
    """Raise the limit of open files, which is often 1024 by default."""
    try:
        import resource
    except ImportError:  # the default limit of Windows suffices
        return
    limit = resource.RLIMIT_NOFILE
    soft, hard = resource.getrlimit(limit)
    target = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(limit, (target, hard))


def free_to_system() -> None:
    """Make glibc return the memory of freed tiles and planes to the system.

    By default glibc soon keeps freed blocks of up to 32 MiB between cached answers, which doubles
    the memory of the cache. Other C libraries do not have this option.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _OWN_BLOCK)


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address.

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
    """A server that reports when it accepts requests, and cancels long requests at shutdown."""

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
    """Return a socket bound to an address; port 0 selects a free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets created with IPPROTO_TCP; without it, the body of an
    # answer waits 40 ms for the acknowledgement of its headers.
    result = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    result.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        result.bind((host, port))
    except OSError as error:
        result.close()
        raise usage(
            f"cannot listen on {host}:{port}: {error.strerror}",
            either("choose another host or port", "choose another --host or --port"),
        ) from None
    return result
