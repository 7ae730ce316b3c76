"""Groups: of commands, which says which one an unknown name may mean, and of options."""

from __future__ import annotations

import difflib
import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from tachyfits.base import command_hint

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
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            _refuse_repeated(click.Context(command, info_name=name, parent=ctx), rest)
        return name, command, rest


def _refuse_repeated(context: click.Context, args: list[str]) -> None:
    """Raise UsageError for an option that is repeated and has one value: click takes the last."""
    parser = context.command.make_parser(context)
    parser.ignore_unknown_options = True
    try:
        # The parser changes the list that it gets.
        values, _, parameters = parser.parse_args(args=list(args))
    except click.UsageError:
        # The command says it, after --help.
        return
    shown = context.command.get_help_option(context)
    if shown is not None and values.get(str(shown.name)) is True:
        return
    options = [parameter for parameter in parameters if isinstance(parameter, click.Option)]
    for option, count in Counter(options).items():
        # A flag without an opposite says the same when it is repeated.
        repeatable = option.multiple or option.count
        if count > 1 and not (repeatable or (option.is_flag and not option.secondary_opts)):
            spelled = "/".join([option.opts[-1], *option.secondary_opts])
            raise click.UsageError(
                f"{spelled} is given {count} times: expected once, as it has one value", context
            )


def meant(word: str, known: list[str]) -> str:
    """Return what may have been meant by a word that names no command.

    >>> meant("stat", ["stats", "table"])
    "Did you mean 'stats'?"
    >>> meant("xyzzy", ["stats", "table"])
    'The commands are stats, table.'
    >>> meant("imhead", ["stats", "table"])
    'Hint: use tachyfits header FILE.'
    """
    if hint := command_hint(word):
        return f"Hint: {hint}."
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


def packed(name: str, kind: type) -> Callable[[Command], Command]:
    """Give a command one argument ``name`` for the fields of a dataclass.

    It goes below the options, which keep their order.
    """
    fields = tuple(kind.__dataclass_fields__)  # type: ignore[attr-defined]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(*args: Any, **given: Any) -> Any:
            made = kind(**{field: given.pop(field) for field in fields})
            return command(*args, **{name: made}, **given)

        return wrapped

    return decorate
