"""The resolver: look up positions of names at a service that the operator configures.

It is off by default. The service must answer like Sesame of the CDS, with a line
``%J longitude latitude`` in degrees of ICRS.
"""

from __future__ import annotations

import re
import threading
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException
from typing import Any

from tachyfits.server.errors import Busy, NotFound, RequestError

#: Limits of a query: seconds, and bytes of the answer.
_SECONDS, _MOST_BYTES = 10, 1 << 16

#: Limits concurrent queries, which would otherwise occupy the threads of other answers.
AT_A_TIME = threading.BoundedSemaphore(4)

_PLACE = re.compile(r"^%J\s+(\d+(?:\.\d*)?)\s+([-+]?\d+(?:\.\d*)?)\b", re.MULTILINE)


class ResolverFailed(RequestError):
    """The service is unreachable, or it failed."""

    status = 502
    title = "The resolver failed"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Disables redirections: the operator allowed a single host."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def degrees_of_name(resolver: str, name: str) -> tuple[float, float]:
    """Return right ascension and declination (ICRS, degrees) of a name.

    Parameters
    ----------
    resolver
        Address of the service with the placeholder ``{name}``.

    Raises
    ------
    NotFound
        The service does not know the name.
    ResolverFailed
        The service is unreachable.
    Busy
        Other look-ups are running.
    """
    address = resolver.replace("{name}", urllib.parse.quote(name, safe=""))
    if not AT_A_TIME.acquire(blocking=False):
        raise Busy("the resolver looks for other names: try again in a second")
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(address, timeout=_SECONDS) as answer:
            text = answer.read(_MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError, HTTPException):
        # Hide the error: it may contain the address of the service.
        raise ResolverFailed(
            "the resolver of names does not answer\nhint: give coordinates, or try again later"
        ) from None
    finally:
        AT_A_TIME.release()
    match = _PLACE.search(text)
    if match is None or not (float(match[1]) <= 360 and abs(float(match[2])) <= 90):
        raise NotFound(f"unknown name {name!r}\nhint: check its spelling, or give coordinates")
    return float(match[1]), float(match[2])
