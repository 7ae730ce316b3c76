"""The boundary of the public interface: only errors of the package leave it.

Functions check their arguments themselves, with more specific messages. This is a safety net for
arguments that no function expects.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Callable, Iterator
from functools import wraps
from types import FunctionType, GeneratorType
from typing import Any, TypeVar

from tachyfits._core import TachyfitsError, TachyfitsWarning
from tachyfits.base.errors import (
    PACKAGE,
    UsageTypeError,
    either,
    memory_error,
    not_found,
    usage,
    with_hint,
)
from tachyfits.base.hints import argument_hint

_T = TypeVar("_T")

#: Special methods with user arguments. Others follow Python protocols, which expect certain
#: exceptions.
_SPECIAL = {
    *("__init__", "__call__", "__getitem__", "__setitem__", "__delitem__", "__contains__"),
    *("__array_ufunc__", "__array_function__", "__invert__", "__eq__", "__ne__"),
    *("__lt__", "__le__", "__gt__", "__ge__"),
    *(
        f"__{prefix}{name}__"
        for name in ("add", "sub", "mul", "truediv", "floordiv", "pow", "mod", "and", "or", "xor")
        for prefix in ("", "r", "i")
    ),
}

#: Locations of Python and library code; all other code is the user's.
_LIBRARIES = tuple(
    {
        os.path.join(path, "")
        for name, path in sysconfig.get_paths().items()
        if name in ("stdlib", "platstdlib", "purelib", "platlib")
    }
    | {PACKAGE, os.path.join(os.path.dirname(os.__file__), "")}
    | {"<frozen ", "<string>", "<__array_function__"}
)

#: Exceptions that pass unchanged: users catch them from any package, or arguments do not cause
#: them.
_PASSED = (
    TachyfitsError,
    TachyfitsWarning,
    OSError,
    ImportError,
    StopIteration,
    StopAsyncIteration,
    RuntimeError,
)


def public(thing: _T) -> _T:
    """Decorate a public function, or a class with its public methods.

    Exceptions raised inside by Python or a library become errors of the package.

    Exceptions from user functions and objects pass unchanged, as do a TypeError for a call that
    does not match the signature, OSError and ImportError.

    >>> import statistics
    >>> public(statistics.median)([])
    Traceback (most recent call last):
    tachyfits.UsageError: invalid argument of median: no median for empty data
    hint: see help(median)
    >>> public(statistics.median)()
    Traceback (most recent call last):
    TypeError: median() missing 1 required positional argument: 'data'
    """
    if not isinstance(thing, type):
        guarded: _T = _guarded(thing)
        return guarded
    ours = [base for base in thing.__mro__ if base.__module__.startswith("tachyfits")]
    for base in ours:
        for name, value in list(vars(base).items()):
            is_public = not name.startswith("_") or name in _SPECIAL
            kind = type(value) if isinstance(value, (staticmethod, classmethod)) else None
            function: Any = value.__func__ if kind else value
            if not is_public or not isinstance(function, FunctionType):
                continue
            if hasattr(function, "_is_guarded"):
                continue
            within = _guarded(function)
            setattr(base, name, kind(within) if kind else within)
    return thing


def _guarded(function: Any) -> Any:
    @wraps(function)
    def within(*args: Any, **options: Any) -> Any:
        try:
            result = function(*args, **options)
        except Exception as error:
            translated = _of_package(error, function)
            if translated is None:
                if _is_of_the_call(error):
                    _add_hint(error, function)
                raise
            raise translated from error
        return _iterated(function, result) if type(result) is GeneratorType else result

    within._is_guarded = True  # type: ignore[attr-defined]
    return within


def _is_of_the_call(error: Exception) -> bool:
    """Return whether the call does not match the signature: no line of the function has run."""
    trace = error.__traceback__
    return isinstance(error, TypeError) and trace is not None and trace.tb_next is None


def _add_hint(error: Exception, function: Any) -> None:
    """Add the local name of an unexpected argument to the error, which stays a TypeError."""
    message = str(error)
    hint = either(argument_hint(function, message))
    if hint and "\nhint: " not in message:
        error.args = (with_hint(message, hint),)


def _iterated(function: Callable[..., Any], items: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from items
    except Exception as error:
        translated = _of_package(error, function)
        if translated is None:
            raise
        raise translated from error


def _of_package(error: Exception, function: Callable[..., Any]) -> Exception | None:
    """Return the package's error for an exception; None if the exception passes unchanged."""
    is_passed = isinstance(error, _PASSED) and not isinstance(error, RecursionError)
    if is_passed or not _is_from_inside(error):
        return None
    name = function.__qualname__.removesuffix(".__init__")
    message = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
    more = argument_hint(function, message) if isinstance(error, TypeError) else ""
    problem, hint = f"invalid argument of {name}: {message}", either(more or f"see help({name})")
    if isinstance(error, MemoryError):
        return memory_error(
            f"not enough memory for {name}: {message}", either("ask for less", "ask for less")
        )
    if isinstance(error, TypeError):
        return UsageTypeError(with_hint(problem, hint))
    if isinstance(error, LookupError) and not isinstance(error, ValueError):
        return not_found(f"invalid argument of {name}: no {message}", hint)
    return usage(problem, hint)


def _is_from_inside(error: BaseException) -> bool:
    """Return whether an exception comes from within the function, not from user code."""
    # The first frame is the wrapper's.
    trace = error.__traceback__ and error.__traceback__.tb_next
    if trace is None:
        return False
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_LIBRARIES):
            return False
        trace = trace.tb_next
    return True
