"""Which cards of a table's header speak of the table as a whole, and not of how it is stored."""

from __future__ import annotations

import re
from typing import Any

from tachyfits._header import Card, Header

#: Mandatory cards, and those that say where things are or what their sums are.
_STRUCTURE = frozenset(
    [
        *("XTENSION", "SIMPLE", "BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "PCOUNT", "GCOUNT"),
        *("TFIELDS", "THEAP", "EXTEND", "END", "CHECKSUM", "DATASUM", "ZHECKSUM", "ZDATASUM"),
    ]
)

#: Keywords of one column: of the Standard (Tables 8, 9 and 22 for coordinates in columns).
_OF_A_COLUMN = re.compile(
    r"(TTYPE|TFORM|TUNIT|TNULL|TSCAL|TZERO|TDISP|TBCOL|TDIM|TDMIN|TDMAX|TLMIN|TLMAX|"
    r"TCTYP|TCUNI|TCRPX|TCRVL|TCDLT|TRPOS|TCOMM|TUCD|TCTY|TCUN|TCRP|TCRV|TCDE|TCRO)\d{1,3}"
)


def is_of_a_column(keyword: str) -> bool:
    """Say whether a keyword describes one column, whose number it ends in."""
    return _OF_A_COLUMN.fullmatch(keyword) is not None


def describing_cards(header: Header) -> list[Card]:
    """Return the cards that stay true when rows or columns are chosen from the table."""
    return [
        card
        for card in header.cards
        if card.keyword not in _STRUCTURE and not is_of_a_column(card.keyword)
    ]


def meta_of(header: Header) -> dict[str, Any]:
    """Return their values by keyword, the first of duplicates; COMMENT and HISTORY as lists.

    >>> meta_of(Header([("NAXIS", 2, ""), ("TTYPE1", "RA", ""), ("OBSERVER", "Hubble", "")]))
    {'OBSERVER': 'Hubble'}
    """
    meta: dict[str, Any] = {}
    for keyword, value, _ in describing_cards(header):
        if keyword in ("COMMENT", "HISTORY"):
            meta.setdefault(keyword, []).append(str(value))
        elif keyword:
            meta.setdefault(keyword, value)
    return meta
