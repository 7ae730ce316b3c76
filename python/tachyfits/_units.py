"""Units as FITS headers write them: read with the spellings of old files, written by the Standard.

astropy knows units; this knows what people have written for them before there was a Standard. It is
imported where a unit has to be understood, not before.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

from tachyfits._errors import usage

if TYPE_CHECKING:
    from astropy.units import UnitBase

#: Spellings of AIPS, MIRIAD and other old writers, in capitals. Prefixes whose capital would mean
#: something else (M for milli and mega) are not among them.
_OLD_SPELLINGS = {
    "ANGSTROMS": "Angstrom",
    "BEAM": "beam",
    "DEGREE": "deg",
    "DEGREES": "deg",
    "GHZ": "GHz",
    "HZ": "Hz",
    "JY": "Jy",
    "KELVIN": "K",
    "KHZ": "kHz",
    "KM": "km",
    "MHZ": "MHz",
    "METER": "m",
    "METERS": "m",
    "PIXEL": "pixel",
    "S": "s",
    "SEC": "s",
}


def fits_unit(text: str) -> UnitBase | None:
    """Return the unit that a header means; None for one that nobody knows.

    >>> fits_unit("JY/BEAM"), fits_unit("HZ"), fits_unit("W.U.")
    (Unit("Jy / beam"), Unit("Hz"), None)
    """
    import astropy.units as u

    spelled = re.sub(r"[A-Za-z]+", lambda word: _OLD_SPELLINGS.get(word[0].upper(), word[0]), text)
    with warnings.catch_warnings():
        # Spellings that the Standard frowns upon are understood all the same.
        warnings.simplefilter("ignore", u.UnitsWarning)
        for candidate in (text, spelled):
            for form in ("fits", None):
                try:
                    return u.Unit(candidate.strip(), format=form)
                except (ValueError, TypeError):
                    continue
    return None


def asked_unit(text: str) -> UnitBase:
    """Return a unit that a person asks for; UsageError for one that nobody knows."""
    unit = fits_unit(str(text)) if str(text).strip() else None
    if unit is None:
        raise usage(f"there is no unit {text!r}", 'write it as a header does: "km/s", "GHz", "um"')
    return unit


def unit_text(unit: UnitBase) -> str:
    """Return a unit as the Standard writes it.

    >>> unit_text(fits_unit("km/s"))
    'km s-1'
    """
    return str(unit.to_string("fits"))


def product_text(one: str | None, other: str) -> str:
    """Return the product of two units of a header, the first possibly none.

    >>> product_text("JY/BEAM", "km/s"), product_text(None, "Hz"), product_text("W.U.", "Hz")
    ('Jy beam-1 km s-1', 'Hz', 'W.U. Hz')
    """
    return " ".join(_standard_text(text) for text in (one or "", other) if text.strip())


def _standard_text(text: str) -> str:
    """Return a unit as the Standard writes it; as it stands where nobody knows it."""
    unit = fits_unit(text)
    try:
        return text.strip() if unit is None else unit_text(unit)
    except ValueError:
        # Units that FITS has no name for: those that a file may have are written as it has them.
        return text.strip()


def text_of_unit(unit: Any) -> str | None:
    """Return a unit of astropy's as the Standard writes it; its own text where that cannot say it.

    None without a unit, or of one that has no text.
    """
    if unit is None or not str(unit):
        return None
    try:
        return unit_text(unit)
    except (AttributeError, ValueError):
        return str(unit)
