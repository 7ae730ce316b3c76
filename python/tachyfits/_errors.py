"""Exceptions that only Python needs; the four kinds come from the compiled module."""

from __future__ import annotations

from tachyfits._core import UsageError


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
