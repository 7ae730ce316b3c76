"""Failures of requests, and the status and text of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import tachyfits as tf
from tachyfits.base import with_hint


class RequestError(Exception):
    """A request that cannot be answered; ``status`` is the HTTP status.

    ``members``: extension members of the problem document.
    """

    status = 400
    title = "Bad request"
    members: Mapping[str, str] = MappingProxyType({})


class NotFound(RequestError):
    """No dataset, HDU or resource has this name."""

    status = 404
    title = "Not found"


class Changed(RequestError):
    """The file was replaced or modified during the request."""

    status = 409
    title = "The file changed"


class Superseded(RequestError):
    """A newer request of the same view replaced this one, or the client disconnected."""

    status = 409
    title = "Superseded"


class TooLarge(RequestError):
    """The request exceeds the limits of a single request."""

    status = 413
    title = "Too much work"


class Busy(RequestError):
    """Too many requests are waiting."""

    status = 503
    title = "Busy"


#: Hints for clients about failures of the engine, whose own hints are for operators.
_UNREADABLE = "try again later, or tell the operator of the server"
_DAMAGED = "tell the operator of the server: tachyfits verify checks the file"
_TOO_MUCH = "ask for fewer pixels or channels; a request with a name (job) has more time"


def described(error: Exception) -> tuple[int, str, str]:
    """Return the status, the title and the text of a failure, for clients.

    >>> described(NotFound("unknown ID 'x'"))
    (404, 'Not found', "unknown ID 'x'")
    >>> described(ValueError("/home/user/cube.fits"))
    (500, 'Internal error', 'the server failed; its log says why')
    """
    if isinstance(error, RequestError):
        return error.status, error.title, str(error)
    problem = str(error).partition("\nhint: ")[0]
    if isinstance(error, tf.LimitError):
        return 413, "Too much work", with_hint(problem, _TOO_MUCH)
    if isinstance(error, tf.UsageError):
        return 400, "Bad request", str(error)
    if isinstance(error, tf.FormatError):
        return 422, "Invalid file", with_hint(problem, _DAMAGED)
    if isinstance(error, tf.IoError) and error.code == "io-changed":
        return Changed.status, Changed.title, with_hint(problem, "ask again")
    if isinstance(error, tf.IoError):
        return 503, "The file cannot be read", with_hint(problem, _UNREADABLE)
    return 500, "Internal error", "the server failed; its log says why"
