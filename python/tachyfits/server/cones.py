"""Cones: positions around a point from services of the Virtual Observatory (Simple Cone Search).

By default no service is queried: the operator lists the allowed hosts. The server does not connect
to private addresses, even if an allowed name resolves to one, unless the address itself is listed.
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

#: Limits of a query: seconds, bytes of the answer, and number of redirections.
_SECONDS, _MOST_BYTES, _REDIRECTIONS = 30.0, 64 << 20, 3

#: Limits concurrent queries, which would otherwise occupy the threads of other answers.
AT_A_TIME = threading.BoundedSemaphore(4)

#: Default ports of the schemes.
_PORTS = {"http": 80, "https": 443}

_HINT = "the operator of the server can allow the host"


class ConeFailed(RequestError):
    """The service is unreachable, or it failed."""

    status = 502
    title = "The service failed"


def address_of(service: str, cone: tuple[float, float, float]) -> str:
    """Return the URL of a cone search: right ascension, declination and radius in degrees.

    >>> address_of("https://example.org/scs?cat=1&", (83.6, -5.4, 0.1))
    'https://example.org/scs?cat=1&RA=83.6&DEC=-5.4&SR=0.1'
    """
    joint = "" if service.endswith(("?", "&")) else "&" if "?" in service else "?"
    words = dict(zip(("RA", "DEC", "SR"), map(repr, cone), strict=True))
    return f"{service}{joint}{urllib.parse.urlencode(words)}"


def answer_of(hosts: Sequence[str], service: str, cone: tuple[float, float, float]) -> bytes:
    """Query a service and return the content of its answer.

    Parameters
    ----------
    hosts
        Hosts allowed by the operator, each with its port unless that is the default of the scheme.

    Raises
    ------
    RequestError
        The host is not allowed, or its address is private.
    ConeFailed
        The service is unreachable, or it failed.
    TooLarge
        The answer is larger than 64 MiB.
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
    """Return the content at an address, and the address; (None, next address) if redirected."""
    scheme, host, port, target = allowed(hosts, address)
    ip_address_text = _public_address(hosts, host, port)
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise ConeFailed(f"the service did not answer within {_SECONDS:g} seconds")
    connection = _Pinned(scheme, host, port, ip_address_text, seconds)
    try:
        headers = {"Accept": "application/x-votable+xml, text/xml", "Accept-Encoding": "identity"}
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        redirection = answer.getheader("Location")
        if answer.status in (301, 302, 303, 307, 308) and redirection:
            return None, urllib.parse.urljoin(address, redirection)
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
    """Split the address of an allowed host into scheme, host, port and target.

    >>> allowed(["example.org"], "https://example.org/scs?RA=1")
    ('https', 'example.org', 443, '/scs?RA=1')

    Raises
    ------
    RequestError
        The address is not an HTTP URL, or its host is not allowed.
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
    """Resolve a host to a checked address; connecting to it avoids a second, different lookup.

    Raises
    ------
    RequestError
        One of the addresses of the host is private and not allowed.
    """
    information = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in information]
    allowed_names = {name.lower() for name in hosts}
    for address in addresses:
        # Remove the zone of a link-local address, which ip_address does not parse.
        number = ipaddress.ip_address(address.partition("%")[0])
        mapped = getattr(number, "ipv4_mapped", None) or number
        is_named = str(mapped) in allowed_names or f"{mapped}:{port}" in allowed_names
        if (not mapped.is_global or mapped.is_multicast) and not is_named:
            raise RequestError(
                f"the host {host[:100]!r} has an address in a private network\nhint: the operator "
                "of the server can allow that address by name"
            )
    return addresses[0]


class _Pinned(http.client.HTTPConnection):
    """A connection to a checked address, under the name of its host."""

    def __init__(self, scheme: str, host: str, port: int, address: str, seconds: float) -> None:
        super().__init__(host, port, timeout=seconds)
        self._place, self._is_secure = address, scheme == "https"
        self.default_port = _PORTS[scheme]

    def connect(self) -> None:
        """Connect to the checked address."""
        self.sock = socket.create_connection((self._place, self.port), self.timeout)
        if self._is_secure:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self.host)
