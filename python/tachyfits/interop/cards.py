"""Cards of a new table: from its data, and from arguments.

The meta of the data, or the header of a table, may contain anything: values that no card can hold
are left out with a warning. An invalid value in an argument is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tachyfits import _core
from tachyfits.base.errors import in_lines, usage, warn
from tachyfits.base.optional import is_lazy
from tachyfits.header.cards import COMMENTARY, Header
from tachyfits.interop.astropy_yaml import OBJECTS
from tachyfits.interop.fits_records import cards_of_records, is_records
from tachyfits.interop.mixins import Cards, block_of
from tachyfits.table.columns import Columns
from tachyfits.table.metadata import describing_cards
from tachyfits.table.table import Table

#: Types of values that a card can hold.
_HELD = "a card holds text, a number, a truth value or None; write the value as text"


def cards_of(
    data: Any, header: Header | Mapping[str, Any] | None, columns: Sequence[str] | None = None
) -> Cards:
    """Return the cards of a table's data for some columns (None: all), and the given ones."""
    cards = _brought(data)
    if columns is not None and hasattr(data, "colnames"):
        cards = _renumbered(cards, data.colnames, columns)
    if isinstance(header, Header):
        cards += describing_cards(header)
    elif header is not None:
        given, unfit = _cards(_items_of(header))
        if unfit:
            raise usage(f"header: {unfit[0]}", _HELD)
        cards += given
    given_keywords = {keyword for keyword, _, _ in cards}
    if len(given_keywords) < len(cards):
        cards = _last_of_each(cards)
    return cards


def _items_of(header: Any) -> Iterable[tuple[Any, Any]]:
    """Give keywords with values, or values and comments; a header of astropy has cards."""
    cards = getattr(header, "cards", None)
    if cards is None:
        if not hasattr(header, "items"):
            raise usage(
                f"invalid header of type {type(header).__name__}",
                "give a tachyfits Header, or a dict of values by keyword",
            )
        return header.items()  # type: ignore[no-any-return]
    return (
        (card.keyword, card.value if card.keyword in COMMENTARY else (card.value, card.comment))
        for card in cards
    )


def _last_of_each(cards: Cards) -> Cards:
    """Leave out cards whose keyword comes again, commentary aside."""
    last = {keyword: place for place, (keyword, _, _) in enumerate(cards)}
    return [
        card for place, card in enumerate(cards) if card[0] in COMMENTARY or last[card[0]] == place
    ]


def _brought(data: Any) -> Cards:
    """Return the cards of a table's data; warn of values that no card can hold."""
    cards, unfit = _said_by(data)
    if _problem(cards):
        problems = [_problem([card]) for card in cards]
        unfit += [f"{card[0]}: {why}" for card, why in zip(cards, problems, strict=True) if why]
        cards = [card for card, why in zip(cards, problems, strict=True) if not why]
    if unfit:
        lines = in_lines(unfit)
        warn(f"no card can hold these entries of the table's meta; they are left out:\n{lines}")
    return cards


def comments_brought(data: Any) -> list[str]:
    """Return the comments of a table's data, including astropy's description of columns."""
    return [str(value) for keyword, value, _ in _said_by(data)[0] if keyword == "COMMENT"]


def values_brought(data: Any) -> dict[str, Any]:
    """Return the values of a table's data, by keyword; the first of duplicates."""
    return {keyword: value for keyword, value, _ in reversed(_said_by(data)[0])}


def _said_by(data: Any) -> tuple[Cards, list[str]]:
    """Return what a table says of itself as cards, and what is of no type that a card can hold."""
    if isinstance(data, Table):
        return list(describing_cards(data.header)), []
    return _cards(meta_items(data))


def _renumbered(cards: Cards, names: Sequence[str], columns: Sequence[str]) -> Cards:
    """Return cards of a table whose columns get other numbers: those of others go.

    astropy leaves in a table's meta what it does not know of columns, TUCDn for example.
    """
    old = {name: number for number, name in enumerate(names, 1)}
    places = {old[name]: new for new, name in enumerate(columns, 1) if name in old}
    renumbered = []
    for keyword, value, comment in cards:
        is_of_a_column, moved = _core.column_keyword(keyword, places)
        if moved is not None or not is_of_a_column:
            renumbered.append((moved or keyword, value, comment))
    return renumbered


def _problem(cards: Cards) -> str | None:
    """Return why these cards are invalid, in a line; None if they are valid."""
    try:
        _core.array_file(np.zeros(1, np.uint8), cards)
    except (_core.TachyfitsError, OverflowError) as error:
        return str(error).splitlines()[0]
    return None


def meta_items(data: Any) -> Iterable[tuple[Any, Any]]:
    """Give what a table says of itself as a whole: keywords with values, or values and comments."""
    if isinstance(data, Columns):
        comments = data.comments
        for key, value in data.meta.items():
            yield key, (value, comments[key]) if comments.get(key) else value
        return
    if is_records(data):
        yield from cards_of_records(data)
        return
    if is_lazy(data):
        # Reading its columns gives the error.
        return
    metadata = getattr(getattr(data, "schema", None), "metadata", None)
    if isinstance(metadata, Mapping):
        yield from _of_arrow(metadata)
        return
    meta = getattr(data, "meta", None)
    if not isinstance(meta, Mapping):
        return
    yield from ((key, value) for key, value in meta.items() if key != OBJECTS)
    if hasattr(data, "itercols"):
        yield "COMMENT", block_of(data)


def _of_arrow(metadata: Mapping[Any, Any]) -> Iterable[tuple[str, Any]]:
    """Give the cards that `Table.to_arrow` put into the metadata of a schema."""
    known = {}
    for key in (b"fits.header", b"fits.comments"):
        try:
            found = json.loads(metadata.get(key, b"{}"))
        except ValueError:
            # Another program's.
            found = {}
        known[key] = found if isinstance(found, dict) else {}
    comments = known[b"fits.comments"]
    for key, value in known[b"fits.header"].items():
        yield key, (value, str(comments[key])) if key in comments else value


def _cards(items: Iterable[tuple[Any, Any]]) -> tuple[Cards, list[str]]:
    """Return keywords and values as cards, and what is of no type that a card can hold."""
    cards: Cards = []
    unfit = []
    for key, value in items:
        keyword = str(key).upper()
        lines = _lines_of(value)
        if (keyword in COMMENTARY or key == "comments") and lines is not None:
            name = "COMMENT" if key == "comments" else keyword
            cards += [(name, line, "") for line in lines]
            continue
        comment = ""
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str):
            value, comment = value
        if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
            value = value.item()
        if value is None or isinstance(value, (bool, int, float, str, complex)):
            cards.append((keyword, value, comment))
        elif type(value).__name__ == "Undefined":
            # Value of None in astropy's headers.
            cards.append((keyword, None, comment))
        else:
            unfit.append(f"{keyword}: a value of type {type(value).__name__}")
    return cards, unfit


def _lines_of(value: Any) -> Sequence[str] | None:
    """Return the lines of a comment; None for other values."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable) or isinstance(value, (Mapping, bytes, np.ndarray)):
        return None
    try:
        return [str(line) for line in value]
    except TypeError:
        # A scalar Time of astropy has __iter__, but raises TypeError.
        return None
