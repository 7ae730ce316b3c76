"""Header cards from user input: an astropy header, or values by keyword."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tachyfits.base.errors import usage
from tachyfits.header.cards import COMMENTARY
from tachyfits.header.distortions import is_record

#: Cards in the engine's form.
Cards = list[tuple[str, Any, str]]

#: Characters of text in a card of the fixed format.
_CARD_TEXT = 68

#: Types of values that a card can hold.
_HELD = "a card holds text, a number, a truth value or None; write the value as text"


def given_cards(header: Any) -> Cards:
    """Return the cards of an astropy header, or of values by keyword; an empty list for None.

    Raises
    ------
    UsageError
        A value has a type that a card cannot hold.
    """
    if header is None:
        return []
    cards, unfit = cards_of_items(_items_of(header))
    if unfit:
        raise usage(f"header: {unfit[0]}", _HELD)
    return last_of_each(cards)


def _items_of(header: Any) -> Iterable[tuple[Any, Any]]:
    """Yield keywords with values, or with values and comments; an astropy header yields cards."""
    cards = getattr(header, "cards", None)
    if cards is None:
        if not hasattr(header, "items"):
            raise usage(
                f"invalid header of type {type(header).__name__}",
                "give a tachyfits Header, or a dict of values by keyword",
            )
        return header.items()  # type: ignore[no-any-return]
    return (
        (card.keyword, card.value)
        if card.keyword in COMMENTARY
        # astropy splits the records of a distortion: DP1.EXTVER for DP1 = 'EXTVER: 1.0'.
        else (
            getattr(card, "rawkeyword", card.keyword),
            (getattr(card, "rawvalue", card.value), card.comment),
        )
        for card in cards
    )


def last_of_each(cards: Cards) -> Cards:
    """Keep the last card of each keyword, and all commentary cards and records."""
    last = {keyword: place for place, (keyword, _, _) in enumerate(cards)}
    return [
        card
        for place, card in enumerate(cards)
        if card[0] in COMMENTARY or last[card[0]] == place or is_record(card[0])
    ]


def cards_of_items(items: Iterable[tuple[Any, Any]]) -> tuple[Cards, list[str]]:
    """Return keywords and values as cards, and the values whose type a card cannot hold."""
    cards: Cards = []
    unfit = []
    for key, value in items:
        keyword = str(key).upper()
        lines = lines_of(value)
        if (keyword in COMMENTARY or key == "comments") and lines is not None:
            name = "COMMENT" if key == "comments" else keyword
            cards += [(name, line, "") for line in lines]
            continue
        comment = ""
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str):
            value, comment = value
        if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
            value = None if np.ma.is_masked(value) else value.item()
        if value is None or isinstance(value, (bool, int, float, str, complex)):
            cards.append((keyword, value, comment))
        elif type(value).__name__ == "Undefined":
            # An undefined value, which astropy reads as None.
            cards.append((keyword, None, comment))
        else:
            unfit.append(f"{keyword}: a value of type {type(value).__name__}")
    return cards, unfit


def is_card_text(text: str) -> bool:
    """Return whether FITS allows all characters of a text: ASCII from blank to "~"."""
    return text.isascii() and (text.isprintable() or not text)


def check_card_text(what: str, text: str | None, place: str = "") -> None:
    """Refuse text of a reserved keyword that does not fit one card: it must not be continued.

    Programs that read such a name fail, or hang.
    """
    if text is not None and not isinstance(text, str):
        raise usage(f"{place}invalid {what} {text!r}: expected text", "give text")
    if text is not None and not is_card_text(text):
        raise usage(
            f"{place}invalid {what} {text!r}: expected printable ASCII text",
            "write other characters in another way",
        )
    length = len((text or "").replace("'", "''"))
    if length > _CARD_TEXT:
        raise usage(
            f"{place}{what} of {length} characters: a card holds {_CARD_TEXT}", "shorten it"
        )


def lines_of(value: Any) -> Sequence[str] | None:
    """Return the lines of a comment; None for other values."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable) or isinstance(value, (Mapping, bytes, np.ndarray)):
        return None
    try:
        return [str(line) for line in value]
    except TypeError:
        # A scalar astropy Time has __iter__, but raises TypeError.
        return None
