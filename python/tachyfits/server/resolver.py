"""The resolver: positions of names, by a service that the operator configures; off by default.

The service answers like Sesame of the CDS: a line ``%J longitude latitude`` in degrees of ICRS.
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

#: Seconds that the service has, and bytes of its answer that are read.
_SECONDS, _MOST_BYTES = 10, 1 << 16

#: Requests to the service at a time: more would hold the threads of other answers.
AT_A_TIME = threading.BoundedSemaphore(4)

_PLACE = re.compile(r"^%J\s+(\d+(?:\.\d*)?)\s+([-+]?\d+(?:\.\d*)?)\b", re.MULTILINE)


class ResolverFailed(RequestError):
    """The service cannot be reached, or it fails."""

    status = 502
    title = "The resolver failed"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The operator named one host alone."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def degrees_of_name(resolver: str, name: str) -> tuple[float, float]:
    """Return right ascension and declination (ICRS, degrees) of a name.

    Parameters
    ----------
    resolver
        Address with ``{name}`` where the name belongs.

    Raises
    ------
    NotFound
        The service does not have the name.
    ResolverFailed
        It cannot be reached.
    Busy
        It looks for other names.
    """
    address = resolver.replace("{name}", urllib.parse.quote(name, safe=""))
    if not AT_A_TIME.acquire(blocking=False):
        raise Busy("the resolver looks for other names: try again in a second")
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(address, timeout=_SECONDS) as answer:
            text = answer.read(_MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError, HTTPException):
        # The error may have the address of the service, which is the operator's.
        raise ResolverFailed(
            "the resolver of names does not answer\nhint: give coordinates, or try again later"
        ) from None
    finally:
        AT_A_TIME.release()
    found = _PLACE.search(text)
    if found is None or not (float(found[1]) <= 360 and abs(float(found[2])) <= 90):
        raise NotFound(f"unknown name {name!r}\nhint: check its spelling, or give coordinates")
    return float(found[1]), float(found[2])
