"""`tachyfits header`: cards."""

from __future__ import annotations

from typing import Any

import click

from tachyfits import File, FitsFormatError
from tachyfits._hdu import Hdu
from tachyfits._header import Card, card_line, looked_up, value_text
from tachyfits.cli._cards import Change, change_header, change_options
from tachyfits.cli._common import Common, common_options
from tachyfits.cli._output import json_text


@click.command()
@common_options(hdu="the first HDU")
@click.option(
    "-k",
    "--keyword",
    "keywords",
    multiple=True,
    metavar="KEYWORD",
    help="Only this keyword; one alone prints its bare value. May be repeated.",
)
@click.option(
    "--raw", is_flag=True, help="The cards as they stand in the file, 80 characters each."
)
@change_options
def command(
    common: Common, keywords: tuple[str, ...], raw: bool, changes: tuple[Change, ...]
) -> int:
    """Print headers, or single keywords; of the first HDU, unless --hdu names another.

    With --set, --delete, --rename, --comment the header is changed instead, with --hdu all every
    header of the file, all of it or nothing: in place where that is less than writing the file
    anew. Comments stay unless a new one is given, sums that are stated are kept right. Values are
    read as FITS writes them: T and F, numbers, (1.0, 2.0) for a complex one, text in single quotes;
    what is none of these is text as well. HISTORY and COMMENT take their text as it is. Cards are
    set first, then renamed, then given comments, then deleted, in whatever order that is asked for.

    A keyword that is not there is a failure (exit status 1; of a change 2); with --hdu all it must
    be in one HDU at least. In JSON an undefined value is null and a complex one a pair.

    \b
    Examples:
      tachyfits header cube.fits
      tachyfits header cube.fits -k CRVAL3
      tachyfits header cube.fits --hdu SCI -k BMAJ -k BMIN -k BPA
      tachyfits header cube.fits --hdu all --json
      tachyfits header cube.fits --set 'OBJECT=M 31 / the target' --set EXPTIME=30.5
      tachyfits header cube.fits --set 'HISTORY=flagged by hand' --set AUTHOR=me --hdu all
      tachyfits header cube.fits --comment 'BUNIT=of the pixels'
      tachyfits header cube.fits --set OLD=1 --rename OLD=NEW --delete NEW
    """
    if changes:
        if raw or keywords:
            raise click.UsageError("a change goes with neither --raw nor --keyword")
        return common.each(lambda file: change_header(common, file, changes))
    if raw and (common.json or keywords):
        raise click.UsageError("--raw goes with neither --json nor --keyword")

    def show(file: File) -> None:
        hdus = [file[0]] if common.hdu is None else list(common.hdus(file))
        for hdu in hdus:
            if raw:
                click.echo(_raw_text(hdu))
                continue
            cards = _chosen(hdu, keywords)
            click.echo(
                json_text(_as_json(hdu, cards)) if common.json else _as_text(cards, keywords)
            )

    return common.each(show)


def _chosen(hdu: Hdu, keywords: tuple[str, ...]) -> list[Card]:
    """Return the cards of some keywords, in the order asked for; all of them without any."""
    if not keywords:
        return list(hdu.header.cards)
    found: list[Card] = []
    for keyword in keywords:
        name = looked_up(keyword)
        same = [card for card in hdu.header.cards if card.keyword.upper() == name]
        if not same:
            raise FitsFormatError(
                f"{hdu.file.name}: HDU {hdu.index} (counted from 0): no keyword {name}\n"
                f"hint: see the cards: tachyfits header {hdu.file.name} --hdu {hdu.index}"
            )
        found += same if name in ("COMMENT", "HISTORY", "") else same[:1]
    return found


def _as_text(cards: list[Card], keywords: tuple[str, ...]) -> str:
    if len(keywords) == 1:
        return "\n".join(
            card.value if isinstance(card.value, str) else value_text(card.value) for card in cards
        )
    return "\n".join(card_line(card) for card in cards)


def _raw_text(hdu: Hdu) -> str:
    raw = hdu.header.raw or b""
    # Latin-1 shows every byte as one character; control characters would upset a terminal.
    text = "".join(c if c.isprintable() else "?" for c in raw.decode("latin-1"))
    lines = [text[start : start + 80] for start in range(0, len(text), 80)]
    return "\n".join(line.rstrip() for line in lines)


def _as_json(hdu: Hdu, cards: list[Card]) -> dict[str, Any]:
    return {
        "file": hdu.file.name,
        "hdu": hdu.index,
        "cards": [card._asdict() for card in cards],
    }
