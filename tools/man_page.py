"""The manual page of the command line, made of the help of its commands.

`reference_pages.py` writes it with the other pages that are made of tables in the code.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

HEADING = """\
.\\" Written by tools/reference_pages.py from the help of the commands.
.TH TACHYFITS 1 "" tachyfits "User Commands"
.nh
.ad l
.SH NAME
tachyfits \\- measure and cut FITS images and cubes in one pass over their bytes
.SH SYNOPSIS
.B tachyfits
.I COMMAND FILE
\\&...
"""

COMPLETION = """\
.SH COMPLETION
The Tab key completes commands, options and names of files after this line in ~/.bashrc; for zsh and
fish, replace bash by their names.
.PP
.nf
    eval "$(_TACHYFITS_COMPLETE=bash_source tachyfits)"
.fi
"""


def man_page() -> str:
    """Return the page in the macros of man(7)."""
    from tachyfits.cli import COMMANDS, EPILOG, group

    top = click.Context(group, info_name="tachyfits")
    parts = [HEADING, ".SH DESCRIPTION\n", *paragraphs(EPILOG), ".SH COMMANDS\n"]
    for name, text in COMMANDS.items():
        parts.append(f".TP\n.B {escaped(name)}\n{escaped(text)}\n")
    for name in COMMANDS:
        command = group.get_command(top, name)
        assert command is not None, name
        parts += section(command, click.Context(command, info_name=name, parent=top))
    return "".join([*parts, COMPLETION])


def section(command: click.Command, context: click.Context) -> Iterator[str]:
    """Give the section of a command, and those of its commands."""
    yield f".SH {escaped(context.command_path.upper())}\n"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f".B {escaped(context.command_path)}\n{escaped(usage)}\n.PP\n"
    yield from paragraphs(command.help or "")
    formatter = context.make_formatter()
    command.format_epilog(context, formatter)
    yield from literal(formatter.getvalue().strip("\n"))
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        # Arguments are in the line of usage.
        if record is not None and isinstance(parameter, click.Option):
            yield f".TP\n.B {escaped(record[0])}\n{escaped(' '.join(record[1].split()))}\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None, name
            yield from section(
                subcommand, click.Context(subcommand, info_name=name, parent=context)
            )


def paragraphs(text: str) -> Iterator[str]:
    """Give the paragraphs of a help text; click keeps the lines of some of them."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if paragraph.startswith("\b"):
            yield from literal(paragraph.removeprefix("\b").strip("\n"))
        elif paragraph.strip():
            yield f".PP\n{escaped(' '.join(paragraph.split()))}\n"


def literal(text: str) -> Iterator[str]:
    """Give lines as they are."""
    if text:
        lines = "\n".join(escaped(line) for line in text.split("\n"))
        yield f".PP\n.nf\n{lines}\n.fi\n"


def escaped(text: str) -> str:
    """Return text that troff prints as it is."""
    troff = text.replace("\\", "\\e").replace("-", "\\-")
    safe = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in troff)
    return f"\\&{safe}" if safe[:1] in (".", "'") else safe
