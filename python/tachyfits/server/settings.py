"""Settings of a server: what it serves, to whom, and the limits of one request."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from tachyfits.base import either, usage

MEBIBYTE = 1 << 20
GIBIBYTE = 1 << 30


def _cache_folder() -> Path:
    """Return the folder of caches: XDG's, or ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "tachyfits"


@dataclass(frozen=True)
class Settings:
    """Served files, and the limits of requests.

    Attributes
    ----------
    paths
        Files and folders; texts are URLs of files, and of folders in object stores. Nothing outside
        them is served; links are followed first.
    token
        Clients must send it, as ``Authorization: Bearer`` or in the link that the server prints.
        None: clients need none.
    first_token
        Opens the page once in place of the token: the command line of the browser that is started
        has it, which other users can list.
    open_page
        The files of the page itself need no token. For a page in a frame of another site, which
        gets no cookie: its link has the token after "#", and it sends it as a header.
    user_header
        Header in which a reverse proxy names the user; such requests need no token.
    proxies
        Addresses of reverse proxies whose headers about users and clients are believed.
    hosts
        Names in the Host header that are answered, without the port; addresses are, too. Empty:
        all. The command line gives those of loopback.
    origins
        Origins of other pages that may read answers (CORS).
    samp
        The page may reach the SAMP hub of its own machine, to send files to TOPCAT or Aladin.
    resolver
        Address of a service that knows positions of names, with ``{name}`` in it; it answers like
        Sesame of the CDS. The server asks it for each new name that a client gives. None: names
        are refused.
    cone_hosts
        Hosts of services whose catalogues the server searches around a position for its clients,
        each with a port where that is not the usual one. A host whose address is private needs that
        address in the list, too. Empty: none.
    frame_ancestors
        Sources, as of CSP, of pages that may show the viewer in a frame: notebooks.
    threads
        Threads that compute; 0: one per core.
    concurrent
        Requests that compute or wait for a thread at a time; more are answered with 503.
    connections
        Connections that are open at a time; more are answered with 503.
    streams
        Downloads that are sent at a time; more are answered with 503.
    client_rate, client_concurrent
        Requests of one client in a second, and at a time; more are answered with 429.
    stall_seconds
        Time in which a client has to take a piece of a download.
    cache_bytes
        Memory for answers that were computed, shared by all clients. An image with compressed
        tiles that need more than this is refused.
    request_seconds, request_bytes
        Budget of one interactive request: time, and bytes read.
    job_seconds, job_bytes
        Budget of one request with a name, and time of one job in the background.
    job_days
        Days after which a job and its results are removed.
    authority
        Authority of the IVOIDs of datasets: of a registered archive, the one that it registered.
    sidecar_bytes
        Bytes of copies of cubes in other layouts, of all files together; 0: none are made.
    cache_folder
        Folder of jobs, their results and copies of cubes in other layouts.
    """

    paths: tuple[Path | str, ...]
    token: str | None = None
    first_token: str | None = None
    open_page: bool = False
    user_header: str | None = None
    proxies: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    samp: bool = False
    resolver: str | None = None
    cone_hosts: tuple[str, ...] = ()
    frame_ancestors: tuple[str, ...] = ()
    threads: int = 0
    concurrent: int = 96
    connections: int = 2000
    streams: int = 32
    client_rate: float = 500.0
    client_concurrent: int = 48
    stall_seconds: float = 60.0
    cache_bytes: int = 512 * MEBIBYTE
    request_seconds: float = 60.0
    request_bytes: int = 64 * GIBIBYTE
    job_seconds: float = 3600.0
    job_bytes: int = 4096 * GIBIBYTE
    job_days: float = 7.0
    authority: str = "tachyfits"
    sidecar_bytes: int = 0
    cache_folder: Path = field(default_factory=_cache_folder)

    def __post_init__(self) -> None:
        """Refuse an empty token or header: of a variable that is not set, it would be no secret."""
        for name, value in (("token", self.token), ("user_header", self.user_header)):
            if value is not None and not value.strip():
                asked = either(name, f"--{name.replace('_', '-')}")
                raise usage(f"invalid {asked} {value!r}: expected text", f"leave {asked} out")
        if self.resolver is not None and not re.fullmatch(r"https?://[^/\s{}]+/\S*", self.resolver):
            self._refuse_resolver()
        if self.resolver is not None and "{name}" not in self.resolver:
            self._refuse_resolver()

    def _refuse_resolver(self) -> None:
        raise usage(
            f"invalid resolver {self.resolver!r}: expected an http address with {{name}}",
            "use https://cds.unistra.fr/cgi-bin/nph-sesame/-oI/SNV?{name}",
        )
