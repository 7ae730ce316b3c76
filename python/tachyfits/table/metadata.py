"""Cards of a table's header about the table as a whole, not about its storage."""

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

#: Mandatory cards, and cards about positions in the file and checksums.
_STRUCTURE = frozenset(
    [
        *("XTENSION", "SIMPLE", "BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "PCOUNT", "GCOUNT"),
        *("TFIELDS", "THEAP", "EXTEND", "END", "CHECKSUM", "DATASUM", "ZHECKSUM", "ZDATASUM"),
    ]
)


#: Column keywords that reading returns under other names, or that a selection of rows would make
#: untrue.
_NOT_CARRIED = frozenset(
    [
        *("TTYPE#", "TFORM#", "TUNIT#", "TSCAL#", "TZERO#", "TNULL#", "TDISP#", "TDIM#", "TBCOL#"),
        *("TCOMM#", "ZFORM#", "ZCTYP#", "TDMIN#", "TDMAX#", "TSSTR#"),
    ]
)

#: Time scales of the Standard (Table 30).
_SCALES = frozenset(["UTC", "TT", "TAI", "TDB", "TCG", "TCB", "UT1", "UT", "GPS", "LOCAL"])


#: Valid format of DATEREF.
_DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d*)?)?")

#: Date of MJD 0.
_MJD_0 = np.datetime64("1858-11-17", "us")

#: Seconds of the units allowed for TIMEUNIT (Table 34; years are Julian).
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "a": 31557600, "yr": 31557600,
            "cy": 3155760000}  # fmt: skip


def is_of_a_column(keyword: str) -> bool:
    """Return whether a keyword has the number of a column and describes it."""
    return _core.column_keyword(keyword, {})[0]


def description_of(header: Any, number: int) -> str:
    """Return the description of a column (from 1): TCOMMn, or TTYPEn's comment; also from astropy.

    >>> description_of(Header([("TTYPE1", "RA", "cut sho"), ("TCOMM1", "cut short", "")]), 1)
    'cut short'
    """
    description, name = header.get(f"TCOMM{number}"), f"TTYPE{number}"
    if isinstance(description, str) and description.strip():
        return description.strip()
    return str(header.comments[name]) if name in header else ""


def position_of(carried: Iterable[tuple[str, Any]]) -> str | None:
    """Return TRPOS, the reference position of times, from the entries of `carried_by_column`."""
    position = dict(carried).get("TRPOS")
    return position.strip().upper() if isinstance(position, str) else None


def time_scale_of(carried: Iterable[tuple[str, Any]]) -> str | None:
    """Return TCTYP from the entries of `carried_by_column`, if it names a time scale.

    >>> [time_scale_of([("TCTYP", text)]) for text in ("UTC(NIST)", "RA---TAN", "TIME")]
    ['UTC(NIST)', None, None]
    """
    kind = dict(carried).get("TCTYP")
    return kind.strip().upper() if is_time_scale(kind) else None


def carried_by_column(header: Any) -> dict[int, tuple[tuple[str, Any], ...]]:
    """Return other cards about columns, by column number (from 1); also from an astropy header.

    They are cards that stay true when rows or columns are selected, and do not affect reading: the
    legal limits, names in archives, scale and location of times, coordinates whose pixels are the
    values or the cells. A keyword is the word before the number, as "TLMIN", or has "#" in its
    place. Cards about two columns (TPn_k) stay in FITS.

    >>> carried_by_column({"TUCD2": "pos", "TLMAX2": np.int16(9), "1CRV3P": 1.5, "TLMIN2": np.nan})
    {2: (('TUCD', 'pos'), ('TLMAX', 9)), 3: (('1CRV#P', 1.5),)}
    >>> carried_by_column({"TCTYP1": "RA---TAN", "TRPOS2": "GEOCENTER", "TTYPE1": "X"})
    {1: (('TCTYP', 'RA---TAN'),), 2: (('TRPOS', 'GEOCENTER'),)}
    """
    by_number: dict[int, dict[str, Any]] = {}
    for keyword in header:
        number, pattern = _core.column_pattern(keyword) or (0, "")
        if not number or pattern in _NOT_CARRIED:
            continue
        value = _of_a_card(header.get(keyword))
        if value is not None:
            by_number.setdefault(number, {}).setdefault(_word_of(pattern), value)
    return {number: tuple(entries.items()) for number, entries in by_number.items()}


def _word_of(pattern: str) -> str:
    """Return the word for a keyword whose number is "#"."""
    return pattern[:-1] if pattern.startswith("T") and pattern.endswith("#") else pattern


def carried_keyword(word: str, number: int) -> str:
    """Return the keyword of a column for a word of `carried_by_column`.

    >>> carried_keyword("TLMIN", 3), carried_keyword("1CRV#P", 12)
    ('TLMIN3', '1CRV12P')
    """
    return (word if "#" in word else f"{word}#").replace("#", str(number))


def is_carried(word: Any) -> bool:
    """Return whether the argument is a word of `carried_by_column`.

    >>> [is_carried(word) for word in ("TLMIN", "1CRV#P", "TUNIT", "SPEC", "note", 3)]
    [True, True, False, False, False, False]
    """
    if not isinstance(word, str):
        return False
    number, pattern = _core.column_pattern(carried_keyword(word, 1)) or (0, "")
    return bool(number) and pattern not in _NOT_CARRIED and _word_of(pattern) == word


def _of_a_card(value: Any) -> int | float | str | None:
    """Return a number or text (also NumPy's) that fits a card; None for other values."""
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
    """Return the MJD from which the times of a header (or dict) are counted, or None.

    It is in the scale of the times. Offsets of all times (TIMEOFFS, or TIMEZERO as in X-ray files,
    in TIMEUNIT) are added. ``where``: file and HDU, for messages.

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
    """Return the MJD of the first of MJDREF, JDREF and DATEREF.

    The pair of integer and fraction precedes the single value, which precedes one of the pair alone
    (Standard 4.0, 9.2.2).
    """
    for name, offset in (("MJDREF", 0.0), ("JDREF", -2400000.5)):
        single, *parts = (_number(cards, name + part) for part in ("", "I", "F"))
        present = [part for part in parts if part is not None]
        if single is not None and len(present) < 2:
            present = [single]
        if present:
            return sum(present) + offset
    date = cards.header.get("DATEREF")
    if not isinstance(date, str) or not _DATE.fullmatch(date.strip()):
        return None
    try:
        return float((np.datetime64(date.strip(), "us") - _MJD_0) / np.timedelta64(1, "D"))
    except ValueError:
        # The date is not in the calendar, or is a leap second.
        return None


def _number(cards: WcsCards, keyword: str) -> float | None:
    return None if cards.header.get(keyword) is None else cards.number(keyword, 0.0)


def describing_cards(header: Header) -> list[Card]:
    """Return the cards that stay true when rows or columns are selected."""
    return [
        card
        for card in header.cards
        if card.keyword.upper() not in _STRUCTURE and not is_of_a_column(card.keyword)
    ]


def meta_of(header: Header) -> dict[str, Any]:
    """Return the cards' values by keyword, the first of duplicates; COMMENT and HISTORY as lists.

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
    """Return the comments of the cards of `meta_of`, by keyword, if they have one.

    >>> comments_of(Header([("OBSERVER", "Hubble", "who"), ("DATE", "2020", "")]))
    {'OBSERVER': 'who'}
    """
    comments: dict[str, str] = {}
    for keyword, _, comment in describing_cards(header):
        if keyword and keyword not in ("COMMENT", "HISTORY"):
            comments.setdefault(keyword, comment)
    return {keyword: comment for keyword, comment in comments.items() if comment}
