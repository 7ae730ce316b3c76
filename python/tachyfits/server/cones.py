"""Cones: positions around a point from services of the Virtual Observatory (Simple Cone Search).

By default none is asked: the operator names the hosts. The server asks no address of its own
network, whatever a name resolves to, unless the operator names that address.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import time
import urllib.parse
from collections.abc import Sequence

from tachyfits.server.errors import Busy, RequestError, TooLarge

#: Seconds that a service has, bytes of its answer that are read, and redirections.
_SECONDS, _MOST_BYTES, _REDIRECTIONS = 30.0, 64 << 20, 3

#: Requests to services at a time: more would hold the threads of other answers.
AT_A_TIME = threading.BoundedSemaphore(4)

#: Ports of the schemes.
_PORTS = {"http": 80, "https": 443}

_HINT = "the operator of the server can allow the host"


class ConeFailed(RequestError):
    """The service cannot be reached, or it fails."""

    status = 502
    title = "The service failed"


def address_of(service: str, cone: tuple[float, float, float]) -> str:
    """Return the address of a cone search: right ascension, declination and radius in degrees.

    >>> address_of("https://example.org/scs?cat=1&", (83.6, -5.4, 0.1))
    'https://example.org/scs?cat=1&RA=83.6&DEC=-5.4&SR=0.1'
    """
    joint = "" if service.endswith(("?", "&")) else "&" if "?" in service else "?"
    words = dict(zip(("RA", "DEC", "SR"), map(repr, cone), strict=True))
    return f"{service}{joint}{urllib.parse.urlencode(words)}"


def answer_of(hosts: Sequence[str], service: str, cone: tuple[float, float, float]) -> bytes:
    """Return what a service answers.

    Parameters
    ----------
    hosts
        Hosts that the operator allows; with a port for another one than that of the scheme.

    Raises
    ------
    RequestError
        The host is not allowed, or its address is private.
    ConeFailed
        The service cannot be reached, or it fails.
    TooLarge
        The answer has more than 64 MiB.
    """
    address = address_of(service, cone)
    if not AT_A_TIME.acquire(blocking=False):
        raise Busy("the server waits for other services: try again in a second")
    deadline = time.monotonic() + _SECONDS
    try:
        for _ in range(_REDIRECTIONS + 1):
            content, address = _asked(hosts, address, deadline)
            if content is not None:
                return content
    except (OSError, ValueError, http.client.HTTPException):
        raise ConeFailed("the service does not answer\nhint: try again later") from None
    finally:
        AT_A_TIME.release()
    raise ConeFailed("the service redirects too often")


def _asked(hosts: Sequence[str], address: str, deadline: float) -> tuple[bytes | None, str]:
    """Return the content at an address; None, and the next address, for a redirection."""
    scheme, host, port, target = allowed(hosts, address)
    place = _public_address(hosts, host, port)
    left = deadline - time.monotonic()
    if left <= 0:
        raise ConeFailed(f"the service did not answer within {_SECONDS:g} seconds")
    connection = _Pinned(scheme, host, port, place, left)
    try:
        headers = {"Accept": "application/x-votable+xml, text/xml", "Accept-Encoding": "identity"}
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        following = answer.getheader("Location")
        if answer.status in (301, 302, 303, 307, 308) and following:
            return None, urllib.parse.urljoin(address, following)
        if answer.status != 200:
            raise ConeFailed(f"the service answered {answer.status}")
        return _content_of(answer, deadline), address
    finally:
        connection.close()


def _content_of(answer: http.client.HTTPResponse, deadline: float) -> bytes:
    parts, size = [], 0
    while part := answer.read1(1 << 16):
        size += len(part)
        if size > _MOST_BYTES:
            raise TooLarge(f"the service sends more than {_MOST_BYTES} bytes: use a smaller radius")
        if time.monotonic() > deadline:
            raise ConeFailed(f"the service did not answer within {_SECONDS:g} seconds")
        parts.append(part)
    return b"".join(parts)


def allowed(hosts: Sequence[str], address: str) -> tuple[str, str, int, str]:
    """Return scheme, host, port and target of an address whose host is allowed.

    >>> allowed(["example.org"], "https://example.org/scs?RA=1")
    ('https', 'example.org', 443, '/scs?RA=1')

    Raises
    ------
    RequestError
        It is not an address of HTTP, or the operator did not name its host.
    """
    try:
        parts = urllib.parse.urlsplit(address)
        host, port = (parts.hostname or "").lower().rstrip("."), parts.port
    except ValueError:
        parts, host, port = urllib.parse.urlsplit(""), "", None
    is_plain = all(" " < letter < "\x7f" for letter in address)
    if parts.scheme not in _PORTS or not host or "@" in parts.netloc or not is_plain:
        raise RequestError(
            f"invalid service {address[:200]!r}: expected an address that begins with https://"
        )
    usual = _PORTS[parts.scheme]
    names = {host} if port in (None, usual) else set()
    names.add(f"{host}:{port or usual}")
    if not names & {name.lower() for name in hosts}:
        raise RequestError(
            f"the host {host[:100]!r} is not allowed for cone searches\nhint: {_HINT}"
        )
    target = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
    return parts.scheme, host, port or usual, target


def _public_address(hosts: Sequence[str], host: str, port: int) -> str:
    """Return an address of a host; the connection then goes there, whatever names mean later.

    Raises
    ------
    RequestError
        One is private, and the operator did not name it.
    """
    found = [str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    named = {name.lower() for name in hosts}
    for place in found:
        # The zone of a link-local address does not belong to its number.
        number = ipaddress.ip_address(place.partition("%")[0])
        mapped = getattr(number, "ipv4_mapped", None) or number
        is_named = str(mapped) in named or f"{mapped}:{port}" in named
        if (not mapped.is_global or mapped.is_multicast) and not is_named:
            raise RequestError(
                f"the host {host[:100]!r} has an address in a private network\nhint: the operator "
                "of the server can allow that address by name"
            )
    return found[0]


class _Pinned(http.client.HTTPConnection):
    """A connection to an address that was checked, for a host of that name."""

    def __init__(self, scheme: str, host: str, port: int, place: str, seconds: float) -> None:
        super().__init__(host, port, timeout=seconds)
        self._place, self._is_secure = place, scheme == "https"
        self.default_port = _PORTS[scheme]

    def connect(self) -> None:
        """Connect to the address that was checked."""
        self.sock = socket.create_connection((self._place, self.port), self.timeout)
        if self._is_secure:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self.host)
