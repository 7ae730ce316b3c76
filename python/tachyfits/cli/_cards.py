"""Options that change a header: --set, --rename, --comment, --delete."""

from __future__ import annotations

import cmath
import functools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

import tachyfits
from tachyfits import File
from tachyfits.base import usage
from tachyfits.cli._common import Common
from tachyfits.cli._output import json_text, say
from tachyfits.header import looked_up, meant_keyword


class Change(NamedTuple):
    """One change: "set", "delete", "rename" or "comment"; its keyword, value, comment."""

    what: str
    keyword: str
    value: Any = None
    comment: str = ""


#: A value, optionally followed by a blank, a slash and a comment; a slash within quotes is text.
#: The blank may be missing after quotes, or after a number if one follows the slash: 1/2 is text.
_PARTS = re.compile(r"\s*(?P<value>.*?)(?:\s+/\s*(?P<comment>.*)|\s*)", re.DOTALL)
_QUOTED = re.compile(r"\s*(?P<value>'(?:[^']|'')*')\s*(?:/\s*(?P<comment>.*))?", re.DOTALL)
_NUMBER = re.compile(r"\s*(?P<value>[^/]*[^/\s])/\s+(?P<comment>.*)", re.DOTALL)

_INTEGER = re.compile(r"[+-]?\d+")
_REAL = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)([EDed][+-]?\d+)?")
_COMPLEX = re.compile(r"\(\s*([^\s,]+)\s*,\s*([^\s,]+)\s*\)")

#: Keywords whose cards have text instead of a value; setting one adds a card.
COMMENTARY = ("COMMENT", "HISTORY")


def parse_value(text: str) -> Any:
    """Parse a value in FITS notation; any other text is a string.

    >>> [parse_value(text) for text in ("T", "-3", "1.5D3", "'it''s'", "M 31", "'7'", "")]
    [True, -3, 1500.0, "it's", 'M 31', '7', None]
    >>> parse_value("(1.0, -2)"), parse_value("(1.0, x)"), parse_value("'(1.0, -2)'")
    ((1-2j), '(1.0, x)', '(1.0, -2)')
    """
    if text in ("T", "F"):
        return text == "T"
    if _INTEGER.fullmatch(text):
        return int(text)
    if _REAL.fullmatch(text):
        return float(text.upper().replace("D", "E"))
    pair = _COMPLEX.fullmatch(text)
    if pair is not None and all(_REAL.fullmatch(part) for part in pair.groups()):
        return complex(*(float(part.upper().replace("D", "E")) for part in pair.groups()))
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text or None


def parse_set(text: str) -> Change:
    """Parse ``KEY=VALUE / comment``.

    >>> parse_set("EXPTIME=30.5 / seconds")
    Change(what='set', keyword='EXPTIME', value=30.5, comment='seconds')
    >>> parse_set("URL='http://a/b / c'").value, parse_set("DATE=12/03/99").value
    ('http://a/b / c', '12/03/99')
    >>> [parse_set(text)[2:] for text in ("OBJECT='NGC 1'/ new", "EXPTIME=30.5/ s", "RATIO=1/2")]
    [('NGC 1', 'new'), (30.5, 's'), ('1/2', '')]
    >>> parse_set("HISTORY=flux / 2, not 'T'").value
    "flux / 2, not 'T'"
    """
    keyword, value_text = _split(text, "KEY=VALUE")
    if keyword in COMMENTARY:
        return Change("set", keyword, value_text)
    number = _NUMBER.fullmatch(value_text)
    if number is not None and isinstance(parse_value(number["value"]), str):
        number = None
    parts = _QUOTED.fullmatch(value_text) or number or _PARTS.fullmatch(value_text)
    assert parts is not None
    value = parse_value(parts["value"])
    if isinstance(value, (float, complex)) and not cmath.isfinite(value):
        raise click.BadParameter(
            f"invalid value {text!r}: expected a number within the range of float64"
        )
    return Change("set", keyword, value, (parts["comment"] or "").rstrip())


def _split(text: str, form: str) -> tuple[str, str]:
    keyword, equals, remainder = text.partition("=")
    if not equals or not keyword.strip():
        raise click.BadParameter(f"invalid value {text!r}: expected {form}")
    return looked_up(keyword), remainder


def _parse(what: str, text: str) -> Change:
    if what == "set":
        return parse_set(text)
    if what == "delete":
        return Change("delete", looked_up(text))
    keyword, text_part = _split(text, "OLD=NEW" if what == "rename" else "KEY=TEXT")
    if what == "rename":
        return Change("rename", keyword, looked_up(text_part))
    return Change("comment", keyword, None, text_part.strip())


def _refuse_repeated(changes: list[Change]) -> None:
    """Raise UsageError for a second value or comment of a keyword."""
    keys = [
        (change.what, change.keyword)
        for change in changes
        if change.what in ("set", "comment") and change.keyword not in COMMENTARY
    ]
    for (what, keyword), times in Counter(keys).items():
        if times > 1:
            raise click.UsageError(f"--{what} {keyword} is given {times} times: expected once")


def change_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for changes; the command gets them as ``changes``."""

    def collect(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> None:
        collected = context.meta.setdefault("tachyfits.changes", [])
        collected += [_parse(str(option.name).removeprefix("change_"), text) for text in texts]

    @functools.wraps(command)
    def wrapped(*args: Any, **arguments: Any) -> Any:
        changes = click.get_current_context().meta.get("tachyfits.changes", [])
        _refuse_repeated(changes)
        return command(*args, changes=tuple(changes), **arguments)

    options = [
        ("--set", "change_set", "KEY=VALUE",
         "Set a keyword; ' / ' (with the blanks) begins a comment, else the old one stays. "
         "HISTORY=TEXT and COMMENT=TEXT add a card."),
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


#: Order in which changes are made, independent of the command line.
_ORDER = ("set", "rename", "comment", "delete")


def change_header(common: Common, file: File, changes: tuple[Change, ...]) -> None:
    """Change the headers of the HDUs of ``--hdu``, by default the first; change all or none."""
    hdus = list(common.descriptions(file, default="0"))
    numbers = [hdu.index for hdu in hdus]
    ordered = sorted(changes, key=lambda change: _ORDER.index(change.what))
    for number, count in zip(numbers, _edit(file, numbers, ordered), strict=True):
        if common.json:
            click.echo(json_text({"file": file.name, "hdu": number, "changed": count}))
        else:
            cards = "card" if count == 1 else "cards"
            say(f"{file.name}: HDU {number}: {count} {cards} changed")


def _edit(file: File, hdus: Sequence[int], changes: Sequence[Change]) -> list[int]:
    """Make changes in one editor; return the number of changed cards per HDU."""
    counts = dict.fromkeys(hdus, 0)
    assert file.path is not None, "standard input is refused"
    with tachyfits.edit(file.path) as editor:
        for change in changes:
            changed = {hdu: _change(editor[hdu], change) for hdu in hdus}
            if not any(changed.values()):
                which = f"HDU {hdus[0]} (0-based)" if len(hdus) == 1 else "any HDU"
                raise usage(
                    f"no card {change.keyword} in {which} of {file.name}",
                    "nothing was changed; see the cards",
                )
            counts = {hdu: counts[hdu] + changed[hdu] for hdu in hdus}
    return list(counts.values())


def _change(hdu: tachyfits.EditedHdu, change: Change) -> int:
    """Make a change in one header; return the number of changed cards."""
    header, keyword = hdu.header, change.keyword
    if change.what == "set":
        header[keyword] = (change.value, change.comment) if change.comment else change.value
        return 1
    keyword = meant_keyword(header.cards, keyword)
    count = sum(card.keyword.upper() == keyword for card in header.cards)
    if count and change.what == "delete":
        del header[keyword]
        return count
    if count and change.what == "rename":
        header.rename(keyword, change.value)
    elif count:
        header.comments[keyword] = change.comment
    return min(count, 1)
