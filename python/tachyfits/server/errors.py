"""Failures of requests, and the status and text with which each is answered."""

from __future__ import annotations

import tachyfits as tf


class RequestError(Exception):
    """A request that cannot be answered; ``status`` is that of HTTP."""

    status = 400
    title = "Bad request"


class NotFound(RequestError):
    """No dataset, HDU or resource of that name."""

    status = 404
    title = "Not found"


class Changed(RequestError):
    """The file was replaced or written to meanwhile."""

    status = 409
    title = "The file changed"


class Superseded(RequestError):
    """A newer request of the same view took its place, or the client is gone."""

    status = 409
    title = "Superseded"


class TooLarge(RequestError):
    """More work than one request may ask for."""

    status = 413
    title = "Too much work"


class Busy(RequestError):
    """Too many requests wait already."""

    status = 503
    title = "Busy"


def described(error: Exception) -> tuple[int, str, str]:
    """Return the status, the title and the text of a failure.

    >>> described(NotFound("unknown ID 'x'"))
    (404, 'Not found', "unknown ID 'x'")
    >>> described(ValueError("/home/user/cube.fits"))
    (500, 'Internal error', 'the server failed; its log says why')
    """
    if isinstance(error, RequestError):
        return error.status, error.title, str(error)
    if isinstance(error, tf.LimitError):
        return 413, "Too much work", str(error)
    if isinstance(error, tf.UsageError):
        return 400, "Bad request", str(error)
    if isinstance(error, tf.FormatError):
        return 422, "Invalid file", str(error)
    if isinstance(error, tf.IoError):
        return 503, "The file cannot be read", str(error)
    return 500, "Internal error", "the server failed; its log says why"
