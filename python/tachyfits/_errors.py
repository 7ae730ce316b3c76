"""Exceptions that only Python needs; the four kinds come from the compiled module."""

from __future__ import annotations

import errno
import os

from tachyfits._core import FitsIoError, UsageError


class NotFoundError(UsageError, IndexError, KeyError):
    """No HDU, keyword, axis or pixel of that name or number.

    It is an IndexError and a KeyError too, so that the idioms of lists and dictionaries work.
    """

    # KeyError would show the repr of the message.
    __str__ = Exception.__str__


def usage(problem: str, hint: str) -> UsageError:
    """Make a UsageError: what is wrong, and on a line of its own what to do."""
    return UsageError(f"{problem}\nhint: {hint}")


def not_found(problem: str, hint: str) -> NotFoundError:
    """Make a NotFoundError: what is missing, and on a line of its own what to do."""
    return NotFoundError(f"{problem}\nhint: {hint}")


def io_error(
    problem: str, hint: str, code: str, *, path: str | None = None, number: int | None = None
) -> FitsIoError:
    """Make a FitsIoError as the compiled module does: with its code, errno and filename."""
    error = FitsIoError(f"{problem} [{code}]\nhint: {hint}")
    error.code, error.filename = code, path
    if number is not None:
        error.errno, error.strerror = number, os.strerror(number)
    return error


def cancelled() -> FitsIoError:
    """Make the error of work that was stopped by its progress function."""
    hint = "the progress function asked for it"
    return io_error("cancelled", hint, "io-cancelled", number=errno.ECANCELED)
