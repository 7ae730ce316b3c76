"""Keywords of distortions, and of cards that need another HDU."""

from __future__ import annotations

import re

from tachyfits._core import TachyfitsError
from tachyfits.header.cards import Header
from tachyfits.header.wcs_cards import LOOKUPS, MOST_AXES, WcsCards, is_number, kind_of

#: Cards that every distortion has.
_DISTORTION = re.compile(r"[AB]_ORDER|(?:CPDIS|CQDIS|D2IMDIS)[12]|AXISCORR|AMD[XY]1")


def is_record(keyword: str) -> bool:
    """Return whether a keyword holds records, which repeat it: DP1 = 'EXTVER: 1.0'."""
    kind = kind_of(keyword.upper())
    return kind is not None and kind.type == "record"


def is_distortion(keyword: str) -> bool:
    """Return whether a keyword belongs to a distortion: A_2_0, CPDIS1, DP1, AMDX1, WAT1_001, ...

    Pixel sizes (XPIXELSZ) do not count: they may be those of a CCD.
    """
    kind = kind_of(keyword.upper())
    if kind is None or kind.is_plate:
        return kind is not None and kind.root.startswith("AMD")
    return kind.is_distortion or kind.root == "WAT"


def distortions(header: Header) -> list[str]:
    """Return the keywords of a header that begin a distortion: A_ORDER, CPDIS1, AMDX1, ..."""
    return [key for key in header if _DISTORTION.fullmatch(key.upper())]


def hdus_needed(header: Header) -> dict[tuple[str, int], list[str]]:
    """Return the HDUs that cards need beside an image: (EXTNAME, EXTVER) -> these cards.

    They are images of corrections (CPDIS, D2IM), tables of -TAB axes, and the table BEAMS.
    """
    hdus: dict[tuple[str, int], list[str]] = {}
    cards = WcsCards(header, MOST_AXES, tell=lambda _: None)
    keys = [key.upper() for key in header]
    for key in keys:
        kind = kind_of(key)
        value = header.get(key)
        if key == "CASAMBM" and value is True:
            hdus.setdefault(("BEAMS", 1), []).append(key)
        elif kind is not None and kind.root == "CTYPE" and str(value).rstrip().endswith("-TAB"):
            (axis,) = kind.axes
            name, version = header.get(f"PS{axis}_0"), header.get(f"PV{axis}_1", 1)
            if isinstance(name, str) and is_number(version):
                of_axis = [k for k in keys if (of := kind_of(k)) and of.axes == kind.axes]
                hdus.setdefault((name.strip().upper(), int(version)), []).extend(of_axis)
        elif kind is not None and (kind.root == "AXISCORR" or kind.root in LOOKUPS):
            try:
                name_version = cards.lookup_of(kind, value)
            except TachyfitsError:
                continue
            if name_version is not None:
                root = kind.root.removesuffix("DIS")
                errors = "D2IMERR" if root in ("D2IM", "AXISCORR") else f"{root}ERR"
                axis_text = "".join(map(str, kind.axes))
                own = {key, f"{errors}{axis_text}", *(["D2IMEXT"] if root == "AXISCORR" else [])}
                records = f"{LOOKUPS[kind.root][0]}{axis_text}" if kind.axes else None
                keywords = [k for k in keys if k in own or k.partition(".")[0] == records]
                hdus.setdefault(name_version, []).extend(keywords)
    return hdus
