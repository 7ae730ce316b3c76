"""Which frame the sky of a header has: the only reader of RADESYS, EQUINOX and their old forms.

The answer is a name and an equinox. astropy's frame of it is in `header.sky_frames`, which imports
astropy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tachyfits.header.wcs_cards import WcsCards

#: Values of RADESYS (Standard 4.0, 8.3, table 24), and the equinox that each has by default.
SYSTEMS = {"ICRS": None, "FK5": 2000.0, "FK4": 1950.0, "FK4-NO-E": 1950.0, "GAPPT": None}
#: Frames by the name of their longitude; others are named as the CTYPE of the longitude.
_NAMED = {
    "GLON": "galactic", "SLON": "supergalactic", "ELON": "ecliptic", "HLON": "helioecliptic",
}  # fmt: skip
#: Other spellings that programs write, without blanks, hyphens and underscores.
_SPELLINGS = {"FK4NOE": "FK4-NO-E", "ICRF": "ICRS", "ICRS2000": "ICRS", "ICRSJ2000": "ICRS"}
#: "J2000", "FK5/J2000.0", "B1950", "2000.0" where the name of a system belongs.
_EPOCH = re.compile(r"(FK[45])?/?([BJ])?(\d{4}(?:\.\d*)?)")
#: The same where a year belongs.
_YEAR = re.compile(r"([BJ])?(\d{4}(?:\.\d*)?)")


@dataclass(frozen=True)
class SkySystem:
    """The frame of celestial axes.

    Attributes
    ----------
    name
        A value of RADESYS, in capitals, for right ascension and declination; "galactic" and the
        like; the beginning of CTYPE ("HPLN") for longitudes of other bodies.
    equinox
        Year of the equinox; None without one.
    equator
        RADESYS for ecliptic axes, "" without one.
    problem
        What was expected of a RADESYS that names no known system; "" for a known one.
    """

    name: str
    equinox: float | None = None
    equator: str = ""
    problem: str = ""


def sky_system(longitude: str, cards: WcsCards) -> SkySystem:
    """Return the frame of a longitude (RA, GLON, ELON, HPLN, ...), by checked cards.

    Names count in any case. Other spellings of a system, and an equinox as text, are read with a
    warning.

    >>> from tachyfits.header.cards import Card, Header
    >>> from tachyfits.header.wcs_cards import WcsCards
    >>> sky_system("RA", WcsCards(Header([Card("RADESYS", "fk5", "")]), 2))
    SkySystem(name='FK5', equinox=2000.0, equator='', problem='')
    """
    if longitude not in ("RA", "ELON"):
        return SkySystem(_NAMED.get(longitude, longitude))
    named = [k for k in ("RADESYS", "RADECSYS") if cards.header.get(k) is not None]
    keyword = named[0] if named else "RADESYS"
    text = str(cards.header.get(keyword) or "").strip()
    year = _equinox(cards)
    name, read_year = _system(text)
    if text and not name:
        expected = f"expected {', '.join(SYSTEMS)}"
        return SkySystem(text.upper(), year, problem=f"invalid {keyword} {text!r}: {expected}")
    if name and name not in (text.upper(), ""):
        of = f" with the equinox {read_year:g}" if read_year is not None else ""
        cards.read_as(keyword, text, name + of)
    if year is None:
        year = read_year
    if not name and longitude == "RA":
        # The defaults of the Standard (8.3).
        name = "ICRS" if year is None else "FK4" if year < 1984.0 else "FK5"
    if year is None or name in ("ICRS", "GAPPT"):
        year = SYSTEMS.get(name)
    if longitude == "ELON":
        return SkySystem(_NAMED[longitude], year, name)
    return SkySystem(name, year)


def _system(text: str) -> tuple[str, float | None]:
    """Return the system that a text names, and its equinox; "" for none.

    >>> _system("icrs"), _system("J2000"), _system("B1950.0"), _system("ABC"), _system("2000")
    (('ICRS', None), ('FK5', 2000.0), ('FK4', 1950.0), ('', None), ('FK5', 2000.0))
    """
    name = text.upper()
    if name in SYSTEMS:
        return name, None
    plain = re.sub(r"[ _-]", "", name)
    if plain in _SPELLINGS:
        return _SPELLINGS[plain], None
    match = _EPOCH.fullmatch(plain.replace("(", "/").replace(")", ""))
    if match is None:
        return "", None
    year = float(match[3])
    by_letter = {"B": "FK4", "J": "FK5"}.get(match[2] or "", "FK4" if year < 1984.0 else "FK5")
    return match[1] or by_letter, year


def _equinox(cards: WcsCards) -> float | None:
    """Return EQUINOX, else EPOCH; a year as text with a warning."""
    for keyword in ("EQUINOX", "EPOCH"):
        value = cards.header.get(keyword)
        match = _YEAR.fullmatch(value.strip().upper()) if isinstance(value, str) else None
        if match is not None:
            cards.read_as(keyword, value, f"{float(match[2])!r}")
            return float(match[2])
        year = cards.optional(keyword)
        if year is not None:
            return float(year)
    return None
