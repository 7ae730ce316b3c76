"""Which kind of values a plane has: a moment read from a file is the moment that it was."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tachyfits.text import pixel_unit

if TYPE_CHECKING:
    from tachyfits import Plane

#: Kinds whose values are coordinates or widths of a line.
OF_COORDINATES = ("moment 1", "moment 2", "min_coordinate", "max_coordinate")

#: BTYPE of moments as programs write it: a pattern, and the kind.
_TYPES = (
    (re.compile(r"mom(ent)?[ _-]?0|integrated", re.I), "moment 0"),
    (re.compile(r"mom(ent)?[ _-]?2|dispersion|line ?width|sigma", re.I), "moment 2"),
    (re.compile(r"mom(ent)?[ _-]?1|velocity( field)?$|weighted coord", re.I), "moment 1"),
)
#: The note of `Image.moments` in HISTORY.
_NOTE = re.compile(r"tachyfits \S+: (moment [012]|(?:min|max)_coordinate) along NAXIS")


def kind_of(plane: Plane) -> str:
    """Return the name of the values of a plane; "pixels" for those of an image.

    A plane of a file has the kind that BTYPE names, else the one of its last HISTORY of a moment,
    else the one of its BUNIT: a velocity is a velocity field, an intensity times a velocity an
    integral of it.
    """
    if plane.name not in ("", "pixels"):
        return plane.name
    named = plane.header.get("BTYPE")
    if isinstance(named, str) and named.strip():
        kinds = (kind for pattern, kind in _TYPES if pattern.match(named.strip()))
        return next(kinds, None) or _of_unit(plane.unit, integral=True) or "pixels"
    notes = (card.value for card in reversed(plane.header.cards) if card.keyword == "HISTORY")
    matches = (_NOTE.match(str(note)) for note in notes)
    return next((match[1] for match in matches if match), None) or _of_unit(plane.unit) or "pixels"


def _of_unit(unit: str | None, *, integral: bool = False) -> str | None:
    """Return the moment that has a unit; ``integral``: moment 0 alone."""
    astropy_unit = pixel_unit(unit) if unit else None
    if astropy_unit is None:
        return None
    parts = {
        str(base): float(power)
        for base, power in zip(astropy_unit.bases, astropy_unit.powers, strict=True)
    }
    length = next((name for name in ("km", "m") if parts.get(name) == 1.0), None)
    if length is None or parts.get("s") != -1.0:
        return None
    if len(parts) == 2:
        return None if integral else "moment 1"
    return "moment 0" if parts.keys() & {"Jy", "mJy", "K", "mK"} else None
