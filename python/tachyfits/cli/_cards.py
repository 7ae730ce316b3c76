"""Changes of a header from the command line: --set, --rename, --comment, --delete."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import click

from tachyfits import File, _core
from tachyfits.cli._common import Common
from tachyfits.cli._output import json_text, say


class Change(NamedTuple):
    """One change: "set", "delete", "rename" or "comment"; its keyword, value, comment."""

    what: str
    keyword: str
    value: Any = None
    comment: str = ""


#: A value and, behind a blank and a slash, a comment; a slash within quotes is none.
_PARTS = re.compile(r"^\s*(?P<value>'(?:[^']|'')*'|.*?)(?:\s+/\s*(?P<comment>.*)|\s*)$", re.DOTALL)

_INTEGER = re.compile(r"[+-]?\d+")
_REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([EDed][+-]?\d+)?")


def parse_value(text: str) -> Any:
    """Return a value as FITS writes it; text that is none of FITS' values is a string.

    >>> [parse_value(text) for text in ("T", "-3", "1.5D3", "'it''s'", "M 31", "'7'", "")]
    [True, -3, 1500.0, "it's", 'M 31', '7', None]
    """
    if text in ("T", "F"):
        return text == "T"
    if _INTEGER.fullmatch(text):
        return int(text)
    if _REAL.fullmatch(text):
        return float(text.upper().replace("D", "E"))
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text or None


def parse_set(text: str) -> Change:
    """Return the change of ``KEY=VALUE / comment``.

    >>> parse_set("EXPTIME=30.5 / seconds")
    Change(what='set', keyword='EXPTIME', value=30.5, comment='seconds')
    >>> parse_set("URL='http://a/b / c'").value, parse_set("DATE=12/03/99").value
    ('http://a/b / c', '12/03/99')
    """
    keyword, rest = _split(text, "KEY=VALUE")
    parts = _PARTS.match(rest)
    assert parts is not None
    return Change("set", keyword, parse_value(parts["value"]), (parts["comment"] or "").rstrip())


def _split(text: str, form: str) -> tuple[str, str]:
    keyword, equals, rest = text.partition("=")
    if not equals or not keyword.strip():
        raise click.BadParameter(f"{text!r} is not of the form {form}")
    return keyword.strip().upper(), rest


def _parse(what: str, text: str) -> Change:
    if what == "set":
        return parse_set(text)
    if what == "delete":
        return Change("delete", text.strip().upper())
    keyword, rest = _split(text, "OLD=NEW" if what == "rename" else "KEY=TEXT")
    if what == "rename":
        return Change("rename", keyword, rest.strip().upper())
    return Change("comment", keyword, None, rest.strip())


def change_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command gets ``changes``."""

    def collect(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> None:
        found = context.meta.setdefault("tachyfits.changes", [])
        found += [_parse(str(option.name).removeprefix("change_"), text) for text in texts]

    @functools.wraps(command)
    def wrapped(*args: Any, **given: Any) -> Any:
        changes = click.get_current_context().meta.get("tachyfits.changes", [])
        return command(*args, changes=tuple(changes), **given)

    options = [
        ("--set", "change_set", "KEY=VALUE",
         "Set a keyword; ' / ' (with the blanks) begins a comment, else the old one stays."),
        ("--rename", "change_rename", "OLD=NEW", "Give a card another keyword."),
        ("--comment", "change_comment", "KEY=TEXT", "Give a card another comment."),
        ("--delete", "change_delete", "KEY", "Remove all cards of a keyword."),
    ]  # fmt: skip
    for flag, name, metavar, text in reversed(options):
        option = click.option(
            flag, name, multiple=True, metavar=metavar, callback=collect, expose_value=False,
            help=f"{text} May be repeated.",
        )  # fmt: skip
        wrapped = option(wrapped)
    return wrapped


#: Changes are made in this order, whatever the command line says.
_ORDER = ("set", "rename", "comment", "delete")


def change_header(common: Common, file: File, changes: tuple[Change, ...]) -> None:
    """Change the header of the HDU that ``--hdu`` names, the first without it."""
    hdu = file[0] if common.hdu is None else next(iter(common.hdus(file)))
    ordered = sorted(changes, key=lambda change: _ORDER.index(change.what))
    rows = [(what, (keyword, value, comment)) for what, keyword, value, comment in ordered]
    counts = _core.change_cards(file.name, hdu.index, rows)
    if common.json:
        click.echo(json_text({"file": file.name, "hdu": hdu.index, "changed": sum(counts)}))
    else:
        say(f"{file.name}: HDU {hdu.index}: {sum(counts)} cards changed")
