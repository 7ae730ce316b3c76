"""Groups: of commands, which says which one an unknown name may mean, and of options."""

from __future__ import annotations

import difflib
import functools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

Command = Callable[..., Any]


class Group(click.Group):
    """A group of commands; an unknown name is refused with those that are spelled alike."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            raise click.UsageError(f"No such command {args[0]!r}. {meant(args[0], known)}", ctx)
        return super().resolve_command(ctx, args)


def meant(word: str, known: list[str]) -> str:
    """Return what may have been meant by a word that names no command.

    >>> meant("stat", ["stats", "table"])
    "Did you mean 'stats'?"
    >>> meant("xyzzy", ["stats", "table"])
    'The commands are stats, table.'
    """
    if os.path.isfile(word):
        return f"To list the HDUs of a file: tachyfits info {word}"
    close = difflib.get_close_matches(word.lower(), known, n=3, cutoff=0.6)
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    return f"The commands are {', '.join(known)}."


def with_options(options: Sequence[Any]) -> Callable[[Command], Command]:
    """Add options (click's decorators) to a command, in this order."""
    return lambda command: functools.reduce(lambda made, add: add(made), reversed(options), command)


def grouped(
    name: str, make: Callable[..., Any], values: Iterable[str], options: Sequence[Any]
) -> Callable[[Command], Command]:
    """Add options to a command, which gets one argument ``name`` for all of them.

    ``make`` makes it of the ``values``, the arguments that click gives for the options.
    """
    keys = tuple(values)

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**given: Any) -> Any:
            made = make(**{key: given.pop(key) for key in keys})
            return command(**{name: made}, **given)

        return with_options(options)(wrapped)

    return decorate
