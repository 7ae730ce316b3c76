"""Sky positions as users type them: degrees or sexagesimal, with a frame, or J2000 designations.

This module finds the frame and decides whether plain numbers are degrees or hours; ambiguous text
is an error. astropy parses the coordinates.
"""

from __future__ import annotations

import re
from typing import Any

from tachyfits.base import foreign_errors
from tachyfits.server.errors import RequestError
from tachyfits.text import frame_name

#: Spellings of positions, for hints.
POSITION_FORMS = (
    "05:34:32 +22:00:52, 5h34m32s +22d0m52s, 83.63 22.01 (degrees), galactic 184.55 -5.78, "
    "fk4 05 31 30 +21 58 54, J053432.0+220052"
)

#: Frames before or after the coordinates, as in DS9.
_FRAMES = r"icrs|fk5|j2000(?:\.0)?|fk4|b1950(?:\.0)?|gal(?:actic)?|ecliptic|supergal(?:actic)?"
_FRAME = re.compile(
    rf"(?:^\s*({_FRAMES})\b[\s;:,]*)|(?:[\s;,(]+({_FRAMES})\b[\s)]*$)", re.IGNORECASE
)

#: Labels before a coordinate; labels of Galactic coordinates also set the frame.
_LABEL = re.compile(r"\b(ra|r\.a\.|dec|de|decl|glon|glat|l|b|lon|lat)\s*[=:]\s*", re.IGNORECASE)
_GALACTIC = re.compile(r"\b(glon|l)\s*[=:]", re.IGNORECASE)

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)"
#: Typographic signs, mapped to those that astropy parses: minus, degrees, minutes, seconds.
_SIGNS = str.maketrans("\u2212\u2013\u00b0\u00ba\u2032\u2019\u2033\u201d", "--ddmmss")

#: Text of numbers and signs of angles only.
_COORDINATES = re.compile(r"[-+.\d][-+.:,;\s\ddhms'\"]*", re.IGNORECASE | re.ASCII)

#: A designation such as J053432.0+220052, optionally after the name of a catalogue.
_DESIGNATION = re.compile(
    r"(?:.*\s)?(?P<kind>[JB])\d{4,6}(?:\.\d+)?[-+]\d{4,6}(?:\.\d+)?\s*", re.ASCII
)


def position_of(text: str) -> Any:
    """Parse a position and return a `SkyCoord`; return None for other text, such as a name.

    Coordinates without a frame are ICRS. Two plain numbers are degrees. The first coordinate is in
    hours if it is sexagesimal, except in Galactic, supergalactic and ecliptic frames.

    >>> position_of("05:34:32 +22:00:52").to_string()
    '83.6333 22.0144'
    >>> position_of("galactic 184.55 -5.78").frame.name
    'galactic'
    >>> position_of("M 1") is None
    True

    Raises
    ------
    RequestError
        The coordinates are invalid or ambiguous.
    """
    designation = _DESIGNATION.fullmatch(text.translate(_SIGNS))
    if designation is not None:
        return _designated(text.translate(_SIGNS).strip(), designation["kind"])
    words, frame = _framed(text.translate(_SIGNS))
    if _GALACTIC.search(words):
        frame = frame or "galactic"
    words = _LABEL.sub(" ", words).strip()
    if _COORDINATES.fullmatch(words) is None:
        return None
    return _read(text, words, frame or "icrs")


def _framed(text: str) -> tuple[str, str | None]:
    """Split a text into coordinates and frame, with astropy's name of the frame."""
    match = _FRAME.search(text)
    if match is None:
        return text, None
    word = (match[1] or match[2]).lower().removesuffix(".0")
    coordinates = text[: match.start()] + text[match.end() :]
    return coordinates, frame_name("galactic" if word == "gal" else word)


def _read(text: str, words: str, frame: str) -> Any:
    import astropy.units as u
    from astropy.coordinates import SkyCoord

    blanked = re.sub(r"\s*[,;]\s+|\s+[,;]|(?<=[dms'\"]),", " ", words)
    if blanked.count(",") == 1:
        blanked = blanked.replace(",", " ")
    numbers = re.findall(_NUMBER, blanked)
    has_marks = re.search(r"[:dhms'\"]", blanked, re.IGNORECASE) is not None
    if "," in blanked or ";" in blanked or len(numbers) not in (2, 4, 6):
        raise _invalid(text, "two coordinates")
    is_sexagesimal = has_marks or len(numbers) > 2
    is_equatorial = frame in ("icrs", "fk5", "fk4")
    first = u.hourangle if is_sexagesimal and is_equatorial else u.deg
    with foreign_errors(f"invalid position {text!r:.100}", f"use {POSITION_FORMS}"):
        return SkyCoord(
            blanked.replace("''", "s").replace('"', "s").replace("'", "m"),
            unit=(first, u.deg),
            frame=frame,
        )


def _designated(text: str, epoch: str) -> Any:
    """Return the position of a designation such as J0534+2200."""
    import astropy.units as u
    from astropy.coordinates import SkyCoord

    name = text.split()[-1]
    sign = max(name.rfind("+"), name.rfind("-"))
    parts = [name[1:sign], name[sign + 1 :]]
    spaced = [re.sub(r"^(\d\d)(\d\d)(\d\d)?", _spaced, part) for part in parts]
    frame = "fk4" if epoch == "B" else "icrs"
    with foreign_errors(f"invalid position {text!r:.100}", f"use {POSITION_FORMS}"):
        return SkyCoord(
            f"{spaced[0]} {name[sign]}{spaced[1]}", unit=(u.hourangle, u.deg), frame=frame
        )


def _spaced(digits: re.Match[str]) -> str:
    return ":".join(part for part in digits.groups() if part is not None)


def _invalid(text: str, expected: str) -> RequestError:
    return RequestError(
        f"invalid position {text!r:.100}: expected {expected}\nhint: use {POSITION_FORMS}"
    )
