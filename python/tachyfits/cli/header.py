"""`tachyfits header`: print or change cards."""

from __future__ import annotations

from itertools import chain
from typing import Any

import click

from tachyfits import Card, File, FormatError, Hdu
from tachyfits.cli._cards import Change, change_header, change_options
from tachyfits.cli._common import Common, common_options
from tachyfits.cli._output import json_text
from tachyfits.header import (
    COMMENTARY,
    card_line,
    is_pattern,
    looked_up,
    matching,
    meant_keyword,
    value_text,
)


@click.command()
@common_options(hdu="the first HDU", every=True)
@click.option(
    "-k",
    "--keyword",
    "keywords",
    multiple=True,
    metavar="KEYWORD",
    help="Print only this keyword; a single one prints its bare value. * matches any characters, "
    "? one. May be repeated.",
)
@click.option("--raw", is_flag=True, help="The cards as stored, 80 characters each.")
@change_options
def command(
    common: Common, keywords: tuple[str, ...], raw: bool, changes: tuple[Change, ...]
) -> int:
    """Print headers, or single keywords; of the first HDU, unless --hdu names another.

    --set, --delete, --rename and --comment change the header instead, with --hdu all every header
    of the file, completely or not at all: in place where that is less than writing a new file.
    Comments stay unless a new one is given; checksums stay right. Values use FITS notation: T and
    F, numbers, (1.0, 2.0) for a complex one, text in single quotes; anything else is text as well.
    HISTORY and COMMENT take their text unchanged. Cards are set first, then renamed, then given
    comments, then deleted, in any order of the options.

    Of several files, or with --hdu all, each header is named before its cards. A keyword that is
    not there is a failure (exit status 1; of a change 2), and others are printed all the same; with
    --hdu all it must be in one HDU at least. In JSON an undefined value is null and a complex one a
    pair.

    \b
    Examples:
      tachyfits header cube.fits
      tachyfits header cube.fits -k CRVAL3
      tachyfits header cube.fits --hdu SCI -k BMAJ -k BMIN -k BPA
      tachyfits header *.fits -k 'NAXIS*'
      tachyfits header cube.fits --hdu all --json
      tachyfits header cube.fits --set 'OBJECT=M 31 / the target' --set EXPTIME=30.5
      tachyfits header cube.fits --set 'HISTORY=flagged by hand' --set AUTHOR=me --hdu all
      tachyfits header cube.fits --comment 'BUNIT=of the pixels'
      tachyfits header cube.fits --set OLD=1 --rename OLD=NEW --delete NEW
    """
    if changes:
        if raw or keywords:
            raise click.UsageError("a change excludes --raw and --keyword")
        common.refuse_standard_input()
        return common.each(lambda file: change_header(common, file, changes))
    if raw and (common.json or keywords):
        raise click.UsageError("--raw excludes --json and --keyword")

    has_titles = len(common.files) > 1 or common.hdu == "all"
    is_value = len(keywords) == 1 and not is_pattern(keywords[0])

    def show(file: File) -> None:
        hdus = list(common.descriptions(file, default="0"))
        unmatched = dict.fromkeys(keywords)
        for hdu in hdus:
            if raw:
                click.echo(_raw_text(hdu))
                continue
            by_keyword = {keyword: _cards_of(hdu, keyword) for keyword in keywords}
            cards = list(hdu.stored_header.cards)
            if keywords:
                cards = list(chain.from_iterable(by_keyword.values()))
                unmatched = {keyword: None for keyword in unmatched if not by_keyword[keyword]}
            if keywords and not cards:
                continue
            if common.json:
                click.echo(json_text(_as_json(hdu, cards)))
            else:
                click.echo(_as_text(_title(hdu) if has_titles else "", cards, is_value))
        if unmatched and not raw:
            raise _not_there(file, common.hdu, hdus, looked_up(next(iter(unmatched))))

    return common.each(show)


def _cards_of(hdu: Hdu, keyword: str) -> list[Card]:
    """Return the cards of a keyword or pattern; only the first of duplicates."""
    cards = hdu.stored_header.cards
    name = meant_keyword(cards, keyword)
    result: list[Card] = []
    keywords = set()
    for card in matching(cards, name) if is_pattern(name) else cards:
        card_keyword = card.keyword.upper()
        is_it = is_pattern(name) or card_keyword == name
        if is_it and (card_keyword not in keywords or card_keyword in COMMENTARY):
            result.append(card)
            keywords.add(card_keyword)
    return result


def _not_there(file: File, hdu_option: str | None, hdus: list[Hdu], name: str) -> FormatError:
    problem = f"{file.name}: HDU {hdus[0].index} (counted from 0): no keyword {name}"
    option = f"--hdu {hdus[0].index}"
    if hdu_option == "all":
        problem, option = f"{file.name}: no HDU has the keyword {name}", "--hdu all"
    hint = f"see the cards: tachyfits header {file.name} {option}"
    if hdu_option is None and len(file) > 1:
        hint = f"--hdu all looks in all {len(file)} HDUs; {hint}"
    return FormatError(f"{problem}\nhint: {hint}")


def _title(hdu: Hdu) -> str:
    name = f" {hdu.name!r}" if hdu.name else ""
    return f"{hdu.file.name}, HDU {hdu.index}{name}:"


def _as_text(title: str, cards: list[Card], is_value: bool) -> str:
    """Return cards as lines after an optional title, or values with the title in the same line."""
    if not is_value:
        return "\n".join([*([title] if title else []), *map(card_line, cards)])
    before = f"{title} " if title else ""
    return "\n".join(
        before + (card.value if isinstance(card.value, str) else value_text(card.value))
        for card in cards
    )


def _raw_text(hdu: Hdu) -> str:
    raw = hdu.stored_header.raw or b""
    # Latin-1 maps every byte to one character; replace control characters for the terminal.
    text = "".join(c if c.isprintable() else "?" for c in raw.decode("latin-1"))
    lines = [text[start : start + 80] for start in range(0, len(text), 80)]
    return "\n".join(line.rstrip() for line in lines)


def _as_json(hdu: Hdu, cards: list[Card]) -> dict[str, Any]:
    return {
        "file": hdu.file.name,
        "hdu": hdu.index,
        "cards": [card._asdict() for card in cards],
    }
