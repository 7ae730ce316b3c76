"""The header of a result: world coordinates of some axes of an image, over a section of it.

Cards that belong to an axis (CTYPEn, CRPIXn, CDi_j, ...) are kept for the axes that remain,
renumbered, and follow the section's start and stride. Everything is done on keywords, so that
what the file says stays as it says it; sky projections and distortions are not evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tachyfits._header import Card, Header

#: Keywords of one axis, with the letter of an alternate description (Standard section 8.2).
_ONE_AXIS = re.compile(
    r"(CTYPE|CUNIT|CRVAL|CRPIX|CDELT|CROTA|CNAME|CRDER|CSYER|CZPHS|CPERI|LTV)(\d+)([A-Z]?)"
)
_PARAMETER = re.compile(r"(PV|PS)(\d+)(_\d+[A-Z]?)")
_MATRIX = re.compile(r"(PC|CD|LTM)(\d+)_(\d+)([A-Z]?)")
#: Matrix elements of old AIPS headers, PC001002.
_OLD_MATRIX = re.compile(r"(PC|CD)(\d{3})(\d{3})")

#: Cards that describe the array or the file, not the sky; a writer sets them anew.
_STRUCTURE = re.compile(
    r"SIMPLE|XTENSION|BITPIX|NAXIS\d*|EXTEND|PCOUNT|GCOUNT|GROUPS|BSCALE|BZERO|BLANK|DATAMIN|"
    r"DATAMAX|CHECKSUM|DATASUM|EXTNAME|EXTVER|EXTLEVEL|INHERIT|NEXTEND|END|ZBLANK"
)

#: One (start, count, step) per FITS axis, 0-based.
Ranges = Sequence[tuple[int, int, int]]


def sub_header(header: Header, kept: Sequence[int], ranges: Ranges) -> Header:
    """Return the header of a section of an image, with only some of its axes.

    Parameters
    ----------
    header
        The image's header.
    kept
        The FITS axes to keep, 1-based, in the order that they get.
    ranges
        The section: one (start, count, step) per FITS axis of the image, 0-based.

    Examples
    --------
    >>> header = Header([("CTYPE1", "RA", ""), ("CTYPE3", "VRAD", ""), ("CRPIX3", 5.0, ""),
    ...                  ("CDELT3", 2.0, "")])
    >>> sub_header(header, [3], [(0, 9, 1), (0, 9, 1), (4, 3, 2)])
    CTYPE1  = 'VRAD'
    CRPIX1  =                  1.0
    CDELT1  =                  4.0
    """
    numbers = {old: new for new, old in enumerate(kept, 1)}
    stepped = _stepped_matrices(header, ranges)
    cards: list[tuple[str, Any, str]] = []
    for card in header.cards:
        name = card.keyword.upper()
        if _STRUCTURE.fullmatch(name):
            continue
        moved = _moved(card._replace(keyword=name), numbers, ranges, stepped)
        if moved is not None:
            cards.append(moved)
    return Header(cards + _new_diagonal(header, numbers, ranges, stepped))


def _moved(
    card: Card, numbers: Mapping[int, int], ranges: Ranges, stepped: set[str]
) -> Card | None:
    """Return a card as it stands in the result; None when its axis is left out."""
    name = card.keyword
    if match := _ONE_AXIS.fullmatch(name):
        kind, axis, letter = match[1], int(match[2]), match[3]
        if axis not in numbers:
            return None
        value = _shifted(kind, card.value, _range(ranges, axis), letter in stepped)
        return Card(f"{kind}{numbers[axis]}{letter}", value, card.comment)
    if match := _PARAMETER.fullmatch(name):
        axis = int(match[2])
        if axis not in numbers:
            return None
        return card._replace(keyword=f"{match[1]}{numbers[axis]}{match[3]}")
    if match := _MATRIX.fullmatch(name) or _OLD_MATRIX.fullmatch(name):
        row, column = int(match[2]), int(match[3])
        if row not in numbers or column not in numbers:
            return None
        letter = match[4] if len(match.groups()) == 4 else ""
        value = card.value
        if _is_number(value):
            step = _range(ranges, column)[2]
            value = value / step if match[1] == "LTM" else value * step
        return Card(f"{match[1]}{numbers[row]}_{numbers[column]}{letter}", value, card.comment)
    return card


def _shifted(kind: str, value: Any, piece: tuple[int, int, int], stepped: bool) -> Any:
    """Return the value of a card of one axis after taking every step-th pixel from start on."""
    start, _, step = piece
    if not _is_number(value) or (start, step) == (0, 1):
        return value
    if kind == "CRPIX":
        # FITS pixel p of the image is pixel (p - 1 - start) / step + 1 of the section.
        return (value - 1 - start) / step + 1
    if kind == "LTV":
        return (value - 1 - start) / step + 1
    if kind == "CDELT" and not stepped:
        return value * step
    return value


def _stepped_matrices(header: Header, ranges: Ranges) -> set[str]:
    """Return the alternate letters whose PC or CD matrix takes the strides instead of CDELT."""
    letters = set()
    for name in header:
        match = _MATRIX.fullmatch(name)
        if match and match[1] != "LTM":
            letters.add(match[4])
        elif _OLD_MATRIX.fullmatch(name):
            letters.add("")
    return letters


def _new_diagonal(
    header: Header, numbers: Mapping[int, int], ranges: Ranges, stepped: set[str]
) -> list[tuple[str, Any, str]]:
    """Return the diagonal elements of a PC matrix, 1 by default, that a stride makes necessary."""
    cards = []
    for letter in sorted(stepped):
        if any(re.fullmatch(rf"CD\d+_\d+{letter}", name) for name in header):
            continue
        for old, new in numbers.items():
            step = _range(ranges, old)[2]
            if step != 1 and f"PC{old}_{old}{letter}" not in header:
                cards.append((f"PC{new}_{new}{letter}", float(step), "stride of a section"))
    return cards


def _range(ranges: Ranges, axis: int) -> tuple[int, int, int]:
    return ranges[axis - 1] if axis <= len(ranges) else (0, 1, 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
