"""Groups of commands, with suggestions for unknown names, and groups of options."""

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
    """A group of commands that suggests similar names for an unknown command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of the first word."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            raise click.UsageError(f"No such command {args[0]!r}. {meant(args[0], names)}", ctx)
        name, command, remaining = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            _refuse_repeated(click.Context(command, info_name=name, parent=ctx), remaining)
        return name, command, remaining


def _refuse_repeated(context: click.Context, args: list[str]) -> None:
    """Raise UsageError for a repeated single-valued option; click would use the last value."""
    parser = context.command.make_parser(context)
    parser.ignore_unknown_options = True
    try:
        # The parser modifies its argument.
        values, _, parameters = parser.parse_args(args=list(args))
    except click.UsageError:
        # The command reports the error, after handling --help.
        return
    help_option = context.command.get_help_option(context)
    if help_option is not None and values.get(str(help_option.name)) is True:
        return
    options = [parameter for parameter in parameters if isinstance(parameter, click.Option)]
    for option, count in Counter(options).items():
        # A repeated flag without an opposite is harmless.
        repeatable = option.multiple or option.count
        if count > 1 and not (repeatable or (option.is_flag and not option.secondary_opts)):
            spelled = "/".join([option.opts[-1], *option.secondary_opts])
            raise click.UsageError(
                f"{spelled} is given {count} times: expected once, as it has one value", context
            )


def meant(word: str, names: list[str]) -> str:
    """Return a suggestion for a word that is not a command.

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
    close = difflib.get_close_matches(word.lower(), names, n=3, cutoff=0.6)
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    return f"The commands are {', '.join(names)}."


def with_options(options: Sequence[Any]) -> Callable[[Command], Command]:
    """Add click options to a command, in order."""
    return lambda command: functools.reduce(
        lambda decorated, add: add(decorated), reversed(options), command
    )


def grouped(
    name: str, make: Callable[..., Any], values: Iterable[str], options: Sequence[Any]
) -> Callable[[Command], Command]:
    """Add options to a command and pass them as a single argument ``name``.

    ``make`` creates this argument from the click arguments named in ``values``.
    """
    keys = tuple(values)

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**arguments: Any) -> Any:
            group = make(**{key: arguments.pop(key) for key in keys})
            return command(**{name: group}, **arguments)

        return with_options(options)(wrapped)

    return decorate


def packed(name: str, dataclass_type: type) -> Callable[[Command], Command]:
    """Pack the arguments of a command that are fields of a dataclass into one argument ``name``.

    Apply this decorator below the options, which keep their order.
    """
    fields = tuple(dataclass_type.__dataclass_fields__)  # type: ignore[attr-defined]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(*args: Any, **arguments: Any) -> Any:
            group = dataclass_type(**{field: arguments.pop(field) for field in fields})
            return command(*args, **{name: group}, **arguments)

        return wrapped

    return decorate
