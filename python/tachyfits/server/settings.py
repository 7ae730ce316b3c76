"""Settings of a server: served files, access control, and limits of requests."""

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
        Files and folders; strings are URLs of files, and of folders in object stores. Nothing
        outside them is served; links are resolved first.
    token
        Token that clients must send, as ``Authorization: Bearer`` or in the link that the server
        prints. None: no token is required.
    first_token
        One-time token to open the page: it appears in the command line of the started browser,
        which other users can list.
    open_page
        Serve the files of the page without a token. Needed in a frame of another site, where the
        page gets no cookie: its link has the token after "#", and it sends the token as a header.
    user_header
        Header in which a reverse proxy names the user; such requests need no token.
    proxies
        Addresses of reverse proxies whose headers about users and clients are trusted.
    hosts
        Accepted names in the Host header, without the port; addresses are always accepted. Empty:
        all names. The command line passes the loopback names.
    origins
        Origins of other sites that may read answers (CORS).
    samp
        The page may reach the SAMP hub of its own machine, to send files to TOPCAT or Aladin.
    resolver
        Address of a service that resolves names to positions, with the placeholder ``{name}``; it
        must answer like Sesame of the CDS. The server queries it for each new name from a client.
        None: names are rejected.
    cone_hosts
        Hosts of cone search services that the server may query for its clients, each with its port
        unless it is the default one. For a host with a private address, also list that address.
        Empty: none.
    frame_ancestors
        Sources (as in CSP) of pages that may embed the viewer in a frame: notebooks.
    threads
        Number of computing threads; 0: one per core.
    concurrent
        Maximum number of requests that compute or wait for a thread; others are answered with 503.
    connections
        Maximum number of open connections; others are answered with 503.
    streams
        Maximum number of concurrent downloads; others are answered with 503.
    client_rate, client_concurrent
        Maximum requests of one client per second and at a time; others are answered with 429.
    stall_seconds
        Maximum time for a client to receive a piece of a download, in seconds.
    cache_bytes
        Memory for computed answers, shared by all clients. An image whose compressed tiles need
        more memory is rejected.
    request_seconds, request_bytes
        Budget of one interactive request: time, and bytes read.
    job_seconds, job_bytes
        Budget of one request with a job name; the time also limits a background job.
    job_days
        Days after which a job and its results are removed.
    authority
        Authority in the IVOIDs of datasets; a registered archive uses its registered authority.
    sidecar_bytes
        Maximum bytes of all copies of cubes in other layouts; 0: make no copies.
    cache_folder
        Folder for jobs, their results and copies of cubes in other layouts.
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
        """Reject an empty token or header, which may come from an unset variable."""
        for name, value in (("token", self.token), ("user_header", self.user_header)):
            if value is not None and not value.strip():
                parameter = either(name, f"--{name.replace('_', '-')}")
                raise usage(
                    f"invalid {parameter} {value!r}: expected text", f"leave {parameter} out"
                )
        if self.resolver is not None and not re.fullmatch(r"https?://[^/\s{}]+/\S*", self.resolver):
            self._refuse_resolver()
        if self.resolver is not None and "{name}" not in self.resolver:
            self._refuse_resolver()

    def _refuse_resolver(self) -> None:
        raise usage(
            f"invalid resolver {self.resolver!r}: expected an http address with {{name}}",
            "use https://cds.unistra.fr/cgi-bin/nph-sesame/-oI/SNV?{name}",
        )
