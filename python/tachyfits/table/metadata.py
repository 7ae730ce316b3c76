"""Cards of a table's header about the table as a whole, and not about its storage."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, TypeGuard

import numpy as np

from tachyfits import _core
from tachyfits.header.cards import Card, Header
from tachyfits.header.given import is_card_text
from tachyfits.header.times import scale_named
from tachyfits.header.wcs_cards import WcsCards

#: Mandatory cards, and those that say where things are or what their sums are.
_STRUCTURE = frozenset(
    [
        *("XTENSION", "SIMPLE", "BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "PCOUNT", "GCOUNT"),
        *("TFIELDS", "THEAP", "EXTEND", "END", "CHECKSUM", "DATASUM", "ZHECKSUM", "ZDATASUM"),
    ]
)


#: Keywords of a column that reading has under other names, and those that other rows make untrue.
_NOT_CARRIED = frozenset(
    [
        *("TTYPE#", "TFORM#", "TUNIT#", "TSCAL#", "TZERO#", "TNULL#", "TDISP#", "TDIM#", "TBCOL#"),
        *("TCOMM#", "ZFORM#", "ZCTYP#", "TDMIN#", "TDMAX#", "TSSTR#"),
    ]
)

#: Time scales of the Standard (Table 30).
_SCALES = frozenset(["UTC", "TT", "TAI", "TDB", "TCG", "TCB", "UT1", "UT", "GPS", "LOCAL"])


#: A date that DATEREF may be.
_DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d*)?)?")

#: Where MJD is counted from.
_MJD_0 = np.datetime64("1858-11-17", "us")

#: Seconds of the units of time that TIMEUNIT may be (Table 34; years are Julian).
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "a": 31557600, "yr": 31557600,
            "cy": 3155760000}  # fmt: skip


def is_of_a_column(keyword: str) -> bool:
    """Say whether a keyword describes a column, whose number is in it."""
    return _core.column_keyword(keyword, {})[0]


def description_of(header: Any, number: int) -> str:
    """Return what a header, astropy's too, says of a column (from 1): TCOMMn, or TTYPEn's comment.

    >>> description_of(Header([("TTYPE1", "RA", "cut sho"), ("TCOMM1", "cut short", "")]), 1)
    'cut short'
    """
    whole, name = header.get(f"TCOMM{number}"), f"TTYPE{number}"
    if isinstance(whole, str) and whole.strip():
        return whole.strip()
    return str(header.comments[name]) if name in header else ""


def position_of(carried: Iterable[tuple[str, Any]]) -> str | None:
    """Return TRPOS of what `carried_by_column` gives of a column: where its times are from."""
    position = dict(carried).get("TRPOS")
    return position.strip().upper() if isinstance(position, str) else None


def time_scale_of(carried: Iterable[tuple[str, Any]]) -> str | None:
    """Return TCTYP of what `carried_by_column` gives of a column, where it names a time scale.

    >>> [time_scale_of([("TCTYP", text)]) for text in ("UTC(NIST)", "RA---TAN", "TIME")]
    ['UTC(NIST)', None, None]
    """
    kind = dict(carried).get("TCTYP")
    return kind.strip().upper() if is_time_scale(kind) else None


def carried_by_column(header: Any) -> dict[int, tuple[tuple[str, Any], ...]]:
    """Return what else a header, astropy's too, says of columns, by their numbers (from 1).

    Cards that stay true when rows or columns are chosen, and do not affect reading: the legal
    limits, names in archives, scale and place of times, coordinates whose pixels are the values or
    the cells. A keyword is the word before the number, as "TLMIN", or has "#" in its place. Cards
    about two columns (TPn_k) stay in FITS.

    >>> carried_by_column({"TUCD2": "pos", "TLMAX2": np.int16(9), "1CRV3P": 1.5, "TLMIN2": np.nan})
    {2: (('TUCD', 'pos'), ('TLMAX', 9)), 3: (('1CRV#P', 1.5),)}
    >>> carried_by_column({"TCTYP1": "RA---TAN", "TRPOS2": "GEOCENTER", "TTYPE1": "X"})
    {1: (('TCTYP', 'RA---TAN'),), 2: (('TRPOS', 'GEOCENTER'),)}
    """
    found: dict[int, dict[str, Any]] = {}
    for keyword in header:
        number, pattern = _core.column_pattern(keyword) or (0, "")
        if not number or pattern in _NOT_CARRIED:
            continue
        value = _of_a_card(header.get(keyword))
        if value is not None:
            found.setdefault(number, {}).setdefault(_word_of(pattern), value)
    return {number: tuple(said.items()) for number, said in found.items()}


def _word_of(pattern: str) -> str:
    """Return how a keyword is called whose number is "#"."""
    return pattern[:-1] if pattern.startswith("T") and pattern.endswith("#") else pattern


def carried_keyword(word: str, number: int) -> str:
    """Return the keyword of a column that a word of `carried_by_column` stands for.

    >>> carried_keyword("TLMIN", 3), carried_keyword("1CRV#P", 12)
    ('TLMIN3', '1CRV12P')
    """
    return (word if "#" in word else f"{word}#").replace("#", str(number))


def is_carried(word: Any) -> bool:
    """Say whether something is a word of `carried_by_column`.

    >>> [is_carried(word) for word in ("TLMIN", "1CRV#P", "TUNIT", "SPEC", "note", 3)]
    [True, True, False, False, False, False]
    """
    if not isinstance(word, str):
        return False
    number, pattern = _core.column_pattern(carried_keyword(word, 1)) or (0, "")
    return bool(number) and pattern not in _NOT_CARRIED and _word_of(pattern) == word


def _of_a_card(value: Any) -> int | float | str | None:
    """Return a number or text, NumPy's too, that a card can have; None of anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value if is_card_text(value) else None
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_number else None


def is_time_scale(text: Any) -> TypeGuard[str]:
    """Return whether a value of TIMESYS or TCTYPn names a time scale of the Standard."""
    return isinstance(text, str) and scale_named(text) in _SCALES


def time_reference(header: Any, where: str = "") -> float | None:
    """Return the MJD that a header, or a dict, says that times are counted from; None: it does not.

    It has the times' own scale. Offsets of all times (TIMEOFFS, or TIMEZERO as in X-ray files, in
    TIMEUNIT) are added. ``where``: file and HDU, for messages.

    Raises
    ------
    FormatError
        One of these cards is not a number.

    >>> time_reference({"MJDREFI": 51544, "MJDREFF": 0.5, "JDREF": 1.0}), time_reference({})
    (51544.5, None)
    >>> time_reference({"MJDREF": 50000.0, "MJDREFI": 51544}), time_reference({"MJDREFI": 51544})
    (50000.0, 51544.0)
    >>> time_reference({"DATEREF": "2000-01-01T12:00:00", "TIMEOFFS": 43200.0})
    51545.0
    """
    cards = WcsCards(header, 0, where)
    start = _start(cards)
    offsets = [_number(cards, keyword) for keyword in ("TIMEOFFS", "TIMEZERO")]
    offset = next((offset for offset in offsets if offset is not None), 0)
    seconds = _SECONDS.get(str(header.get("TIMEUNIT") or "s").strip())
    if start is None or not offset:
        return start
    return None if seconds is None else start + offset * seconds / 86400


def _start(cards: WcsCards) -> float | None:
    """Return the MJD of MJDREF, JDREF or DATEREF, of several the first of these.

    Integer and fraction, if both are there, have precedence over the single value, which has it
    over one of them (Standard 4.0, 9.2.2).
    """
    for name, offset in (("MJDREF", 0.0), ("JDREF", -2400000.5)):
        single, *parts = (_number(cards, name + part) for part in ("", "I", "F"))
        known = [part for part in parts if part is not None]
        if single is not None and len(known) < 2:
            known = [single]
        if known:
            return sum(known) + offset
    date = cards.header.get("DATEREF")
    if not isinstance(date, str) or not _DATE.fullmatch(date.strip()):
        return None
    try:
        return float((np.datetime64(date.strip(), "us") - _MJD_0) / np.timedelta64(1, "D"))
    except ValueError:
        # No day of a calendar, or a leap second.
        return None


def _number(cards: WcsCards, keyword: str) -> float | None:
    return None if cards.header.get(keyword) is None else cards.number(keyword, 0.0)


def describing_cards(header: Header) -> list[Card]:
    """Return the cards that stay true when rows or columns are chosen from the table."""
    return [
        card
        for card in header.cards
        if card.keyword.upper() not in _STRUCTURE and not is_of_a_column(card.keyword)
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


def comments_of(header: Header) -> dict[str, str]:
    """Return the comments of the cards of `meta_of`, by keyword; of those that have one.

    >>> comments_of(Header([("OBSERVER", "Hubble", "who"), ("DATE", "2020", "")]))
    {'OBSERVER': 'who'}
    """
    comments: dict[str, str] = {}
    for keyword, _, comment in describing_cards(header):
        if keyword and keyword not in ("COMMENT", "HISTORY"):
            comments.setdefault(keyword, comment)
    return {keyword: comment for keyword, comment in comments.items() if comment}
