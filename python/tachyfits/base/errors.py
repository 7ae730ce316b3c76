"""Exceptions that only Python needs (four kinds come from the compiled module), and warnings."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import FrameType
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from tachyfits import _core
from tachyfits._core import (
    FormatError,
    IoError,
    LimitError,
    TachyfitsError,
    TachyfitsWarning,
    UsageError,
    on_command_line,
)

#: Path of the package: warnings point to the first line of code outside it.
PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Placed(Protocol):
    def _where(self) -> str: ...


_Of = TypeVar("_Of", bound=_Placed)


class UsageKeyError(UsageError, IndexError, KeyError):
    """No HDU, keyword, axis or pixel of that name or number.

    Also an IndexError and a KeyError, to support the idioms of lists and dictionaries.
    """

    # KeyError would show the repr of the message.
    __str__ = Exception.__str__


class UsageTypeError(UsageError, TypeError):
    """An argument of an unsupported type; also a TypeError."""


class NoOverlap(UsageError):
    """A requested part of an image contains none of its pixels, channels or polarisations."""


#: Set on threads that answer HTTP requests, also in the command line, which may serve.
_answers_http: ContextVar[bool] = ContextVar("answers_http", default=False)


@contextmanager
def worded_for_http() -> Iterator[None]:
    """Word messages of this thread for clients of the server; see `either`."""
    before = _answers_http.set(True)
    try:
        yield
    finally:
        _answers_http.reset(before)


def set_on_command_line(on_command_line: bool) -> bool:
    """Set whether messages name command-line flags; return the previous setting."""
    return _core.set_on_command_line(on_command_line)


def either(python: str, command_line: str = "", http: str = "") -> str:
    """Return the text for the current interface: arguments, flags, or HTTP parameters.

    Use it for every hint or message that names an argument or a flag. Hints of the compiled module
    have the first two as ``{python|command line}``.

    Parameters
    ----------
    python
        Text for Python.
    command_line
        Text for the command line; "" if it cannot do this, or it cannot fail there.
    http
        Text for a client of the server; "" as above.

    >>> either("use overwrite=True", "use --overwrite")
    'use overwrite=True'
    """
    if _answers_http.get():
        return http
    return command_line if on_command_line() else python


def listed(names: Iterable[object], most: int = 10) -> str:
    """Return names separated by commas, the first ``most`` of a long list; "none" if empty.

    >>> listed(["RA", "DEC"]), listed(range(3001), most=3)
    ('RA, DEC', '0, 1, 2 and 2998 more')
    """
    texts = [str(name) for name in names]
    # One more name takes no more room than "and 1 more".
    head = texts if len(texts) <= most + 1 else texts[:most]
    more = f" and {len(texts) - len(head)} more" if len(texts) > len(head) else ""
    return (", ".join(head) + more) or "none"


def in_lines(items: Sequence[object], most: int = 10) -> str:
    """Return items as a list of lines, the first ``most`` of a long one.

    >>> print(in_lines(["one", "two", "three", "four"], most=2))
      - one
      - two
      - and 2 more
    """
    head = items if len(items) <= most + 1 else items[:most]
    more = [f"and {len(items) - len(head)} more"] if len(items) > len(head) else []
    return "\n".join(f"  - {item}" for item in (*head, *more))


def printable(text: str) -> str:
    r"""Return text for messages; bytes in paths that are not UTF-8 are shown as ``\xe9``.

    Python represents such bytes by surrogates, which neither UTF-8 nor JSON can encode.

    >>> print(printable("\udce9toile.fits"))
    \xe9toile.fits
    """
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        # A surrogate that represents no byte.
        return text.encode("utf-8", "backslashreplace").decode()


def with_hint(problem: str, hint: str) -> str:
    """Return a message: the problem, and the hint on its own line, if any."""
    return printable(f"{problem}\nhint: {hint}" if hint else problem)


def usage(problem: str, hint: str) -> UsageError:
    """Return a UsageError: the problem, and the hint on its own line."""
    return UsageError(with_hint(problem, hint))


def with_code(error: UsageError, code: str) -> UsageError:
    """Return an error with the compiled module's code, for checks that both perform."""
    error.args = (str(error).replace("\nhint: ", f" [{code}]\nhint: ", 1),)
    error.code = code
    return error


def no_overlap(problem: str, hint: str) -> NoOverlap:
    """Return a NoOverlap: the empty part of an image, and the hint on its own line."""
    return NoOverlap(with_hint(problem, hint))


def not_found(problem: str, hint: str) -> UsageKeyError:
    """Return a UsageKeyError: the missing thing, and the hint on its own line."""
    return UsageKeyError(with_hint(problem, hint))


def format_error(problem: str, hint: str, code: str) -> FormatError:
    """Return a FormatError with its code, like those of the compiled module."""
    error = FormatError(with_hint(f"{problem} [{code}]", hint))
    error.code = code
    return error


@contextmanager
def foreign_errors(problem: str, hint: str) -> Iterator[None]:
    """Convert exceptions of astropy, WCSLIB and NumPy to UsageError, at the only boundary to them.

    They raise many kinds for headers and values that they do not support, including MemoryError.

    >>> with foreign_errors("invalid path", "give pairs of numbers"):
    ...     float("x")
    Traceback (most recent call last):
    tachyfits.UsageError: invalid path: could not convert string to float: 'x'
    hint: give pairs of numbers
    """
    try:
        yield
    except TachyfitsError:
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        # WCSLIB gives a trace of its functions, with the cause last.
        message = lines[-1] if lines else type(error).__name__
        raise usage(f"{problem}: {message.rstrip('.')}", hint) from error


def existing(what: str, count: int) -> str:
    """Return the hint that lists the existing numbers, from 0.

    >>> existing("HDU", 3), existing("HDU", 1), existing("row", 0)
    ('use 0 to 2', 'the only HDU is 0', 'there is no row')
    """
    if count == 1:
        return f"the only {what} is 0"
    return f"use 0 to {count - 1}" if count else f"there is no {what}"


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Add the place to any UsageError from within that does not name the file.

    ``where``: the file, followed by the HDU if there is one (`tachyfits.file.hdu.place_of`).

    >>> with placed("stars.fits: HDU 1 (0-based)"):
    ...     raise usage("there is no row 9", "use 0 to 2")
    Traceback (most recent call last):
    tachyfits.UsageError: stars.fits: HDU 1 (0-based): there is no row 9
    hint: use 0 to 2
    """
    try:
        yield
    except UsageError as error:
        _place(error, where)
        raise


def _place(error: UsageError, where: str) -> None:
    if not str(error).startswith(where.partition(": HDU ")[0]):
        error.args = (f"{where}: {error}",)


def placing(method: Callable[Concatenate[_Of, _P], _R]) -> Callable[Concatenate[_Of, _P], _R]:
    """Decorate a method of an object with ``_where()`` so that it is `placed` there."""

    @wraps(method)
    def within(self: _Of, /, *args: _P.args, **options: _P.kwargs) -> _R:
        # A context manager costs a microsecond; reading a few rows takes 15.
        try:
            return method(self, *args, **options)
        except UsageError as error:
            _place(error, self._where())
            raise

    return within


def io_error(
    problem: str, hint: str, code: str, *, path: str | None = None, number: int | None = None
) -> IoError:
    """Return an IoError with its code, errno and filename, like those of the compiled module."""
    return _core.io_error(with_hint(f"{problem} [{code}]", hint), code, path, number)


def memory_error(problem: str, hint: str) -> LimitError:
    """Return a LimitError for an excessive allocation, like those of the compiled module."""
    error = LimitError(with_hint(f"{problem} [memory]", hint))
    error.code = "memory"
    return error


def cancelled() -> IoError:
    """Return the error for work that its progress function stopped."""
    hint = "the progress function requested it"
    return io_error("cancelled", hint, "io-cancelled", number=errno.ECANCELED)


_kept: ContextVar[list[str] | None] = ContextVar("kept", default=None)


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """Collect this thread's warnings: a task sends them to the process that began it."""
    messages: list[str] = []
    before = _kept.set(messages)
    try:
        yield messages
    finally:
        _kept.reset(before)


def warn_of(name: str, notices: Iterable[str]) -> None:
    """Warn about leftovers found beside a file when it was opened."""
    for notice in notices:
        warn(f"{name}: {notice}")


def warn(message: str) -> None:
    """Issue a warning at the line that called the package, at any call depth.

    Python 3.12 has ``skip_file_prefixes`` for this. Within `kept_warnings` it is collected instead.
    """
    collected = _kept.get()
    if collected is not None:
        collected.append(message)
        return
    frame: FrameType | None = sys._getframe()
    level = 0
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(printable(message), TachyfitsWarning, stacklevel=level + 1)
