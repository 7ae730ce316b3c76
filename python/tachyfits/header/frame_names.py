"""Sky frame of a header: the only parser of RADESYS, EQUINOX and their old forms.

The result is a name and an equinox. `header.sky_frames`, which imports astropy, converts it to a
frame of astropy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tachyfits.header.wcs_cards import WcsCards

#: Values of RADESYS (Standard 4.0, 8.3, table 24) and their default equinoxes.
SYSTEMS = {"ICRS": None, "FK5": 2000.0, "FK4": 1950.0, "FK4-NO-E": 1950.0, "GAPPT": None}
#: Frames by the name of their longitude; other frames have the name of the longitude's CTYPE.
_NAMED = {
    "GLON": "galactic", "SLON": "supergalactic", "ELON": "ecliptic", "HLON": "helioecliptic",
}  # fmt: skip
#: Other spellings that programs write, without blanks, hyphens and underscores.
_SPELLINGS = {"FK4NOE": "FK4-NO-E", "ICRF": "ICRS", "ICRS2000": "ICRS", "ICRSJ2000": "ICRS"}
#: An equinox such as "J2000", "FK5/J2000.0", "B1950" or "2000.0" in place of a system's name.
_EPOCH = re.compile(r"(FK[45])?/?([BJ])?(\d{4}(?:\.\d*)?)")
#: An equinox in place of a year.
_YEAR = re.compile(r"([BJ])?(\d{4}(?:\.\d*)?)")


@dataclass(frozen=True)
class SkySystem:
    """Frame of celestial axes.

    Attributes
    ----------
    name
        A value of RADESYS, in upper case, for right ascension and declination; "galactic" and the
        like; the beginning of CTYPE ("HPLN") for longitudes of other bodies.
    equinox
        Year of the equinox, or None.
    equator
        RADESYS of ecliptic axes, "" for others.
    problem
        Expected values, for a RADESYS that names no known system; "" for a known system.
    """

    name: str
    equinox: float | None = None
    equator: str = ""
    problem: str = ""


def sky_system(longitude: str, cards: WcsCards) -> SkySystem:
    """Return the frame of a longitude (RA, GLON, ELON, HPLN, ...), from checked cards.

    Names are case-insensitive. Other spellings of a system, and an equinox as text, give a warning.

    >>> from tachyfits.header.cards import Card, Header
    >>> from tachyfits.header.wcs_cards import WcsCards
    >>> sky_system("RA", WcsCards(Header([Card("RADESYS", "fk5", "")]), 2))
    SkySystem(name='FK5', equinox=2000.0, equator='', problem='')
    """
    if longitude not in ("RA", "ELON"):
        return SkySystem(_NAMED.get(longitude, longitude))
    keywords = [k for k in ("RADESYS", "RADECSYS") if cards.header.get(k) is not None]
    keyword = keywords[0] if keywords else "RADESYS"
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
        # Defaults of the Standard (8.3).
        name = "ICRS" if year is None else "FK4" if year < 1984.0 else "FK5"
    if year is None or name in ("ICRS", "GAPPT"):
        year = SYSTEMS.get(name)
    if longitude == "ELON":
        return SkySystem(_NAMED[longitude], year, name)
    return SkySystem(name, year)


def _system(text: str) -> tuple[str, float | None]:
    """Return the system that a text names, and its equinox; "" if it names none.

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
    """Return EQUINOX, or else EPOCH; a year as text gives a warning."""
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
