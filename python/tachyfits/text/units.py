"""Units as headers and people write them: a tolerant parser on top of astropy's.

The text is tried as written, then with the spellings of old files in any letter case. If a text is
ambiguous, the caller names the possible quantities: `A` is an ångström on an axis of wavelengths
and an ampere in a column. astropy is only imported to parse a unit, not to correct its spelling.
"""

from __future__ import annotations

import functools
import math
import re
import warnings
from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import usage

if TYPE_CHECKING:
    from astropy.units import Quantity, UnitBase

#: The speed of light in vacuum, m/s.
LIGHT = 299_792_458.0

#: Words in any letter case and their names in the Standard. A word with a prefix that depends on
#: the case (M, milli and mega; P, pico and peta) is listed only if one of the two is in use.
_WORDS = {
    "a": "Angstrom", "aa": "Angstrom", "adu": "adu", "dn": "DN", "electron": "electron",
    "electrons": "electron", "ang": "Angstrom", "angs": "Angstrom",
    "angstrom": "Angstrom", "angstroms": "Angstrom", "arcsec": "arcsec", "asec": "arcsec",
    "arcsecs": "arcsec", "arcsecond": "arcsec", "arcseconds": "arcsec", "arcmin": "arcmin",
    "arcmins": "arcmin", "arcminute": "arcmin", "arcminutes": "arcmin", "amin": "arcmin",
    "beam": "beam", "chan": "chan", "channel": "chan", "channels": "chan", "cm": "cm",
    "count": "count", "counts": "count", "cts": "count", "d": "d", "day": "d", "days": "d",
    "deg": "deg", "degs": "deg", "degree": "deg", "degrees": "deg", "erg": "erg", "ergs": "erg",
    "ev": "eV", "gev": "GeV", "ghz": "GHz", "gigahertz": "GHz", "h": "h", "hertz": "Hz",
    "hour": "h", "hours": "h", "hr": "h", "hz": "Hz", "j": "J", "jansky": "Jy", "janskys": "Jy",
    "janskies": "Jy", "jy": "Jy", "k": "K", "kelvin": "K", "kelvins": "K", "kev": "keV",
    "khz": "kHz", "kilohertz": "kHz", "km": "km", "kilometer": "km", "kilometers": "km",
    "kilometre": "km", "kilometres": "km", "kpc": "kpc", "m": "m", "mas": "mas", "megahertz": "MHz",
    "meter": "m", "meters": "m", "metre": "m", "metres": "m", "mev": "MeV", "mhz": "MHz",
    "micrometer": "um", "micrometers": "um", "micrometre": "um", "micrometres": "um",
    "micron": "um", "microns": "um", "minute": "min", "minutes": "min", "mm": "mm",
    "mum": "um", "nanometer": "nm", "nanometers": "nm", "nanometre": "nm", "nanometres": "nm",
    "nm": "nm", "parsec": "pc", "parsecs": "pc", "pix": "pixel", "pixel": "pixel",
    "pixels": "pixel", "rad": "rad", "radian": "rad", "radians": "rad", "s": "s", "sec": "s",
    "second": "s", "seconds": "s", "secs": "s", "sr": "sr", "steradian": "sr", "thz": "THz",
    "tev": "TeV", "um": "um", "w": "W", "watt": "W", "watts": "W", "year": "yr", "years": "yr",
    "yr": "yr",
}  # fmt: skip

#: Physical types of a spectral axis, and of angles, each given by one of its units.
SPECTRAL = ("Hz", "m", "J", "m-1", "m/s")
ANGLE = ("deg",)

#: Units that keep their letter case: in lower case they equal another unit.
_EXACT = frozenset(("mHz", "meV", "Mm"))

#: Remark after a unit: "K (Tmb)", "K (TA*)".
_REMARK = re.compile(r"(?:(?<=\w)\s+|(?<=K))\([^()]*\)\s*$")

#: Maximum length of a unit: astropy's parsers are slow for longer texts.
_LONGEST = 200

#: A power of four digits or more: computing the integer 10**99999999 takes minutes.
_LARGE_POWER = re.compile(r"(?:\*\*|\^|[A-Za-z)]|(?<![\d.])10(?=[\s(+-]))[\s(+-]*\d{4}")


def is_bounded(text: str) -> bool:
    """Return whether a text can be parsed as a unit quickly; files and clients may have any text.

    >>> is_bounded("10**-26 W m-2 Hz-1"), is_bounded("10000 K"), is_bounded("10**99999999 m")
    (True, True, False)
    """
    return len(text) <= _LONGEST and _LARGE_POWER.search(text) is None


@functools.lru_cache(maxsize=512)
def fits_unit(text: str, like: tuple[str, ...] = ()) -> UnitBase | None:
    """Parse a unit; return None if it is unknown or logarithmic.

    Parameters
    ----------
    text
        As a header or a person writes it.
    like
        Units of the expected physical types; another type is accepted only if none of them fits.

    >>> fits_unit("JY/BEAM"), fits_unit("HZ"), fits_unit("W.U.")
    (Unit("Jy / beam"), Unit("Hz"), None)
    >>> fits_unit("A"), fits_unit("A", SPECTRAL), fits_unit("KM/S"), fits_unit("K (Tmb)")
    (Unit("A"), Unit("Angstrom"), Unit("km / s"), Unit("K"))
    """
    import astropy.units as u

    if not is_bounded(text):
        return None
    fallback = None
    with warnings.catch_warnings():
        # Accept spellings that the Standard deprecates.
        warnings.simplefilter("ignore", u.UnitsWarning)
        kinds = [u.Unit(kind) for kind in like]
        for candidate in _candidates(text):
            for form in ("fits", None):
                try:
                    unit = u.Unit(candidate, format=form)
                except (ValueError, TypeError, ArithmeticError):
                    continue
                if not isinstance(unit, u.UnitBase) or not 0 < abs(unit.scale) < math.inf:
                    # mag(AB) and 1e999 m cannot be converted by a factor.
                    continue
                if not kinds or any(unit.is_equivalent(kind) for kind in kinds):
                    return unit
                fallback = unit if fallback is None else fallback
    return fallback


def _candidates(text: str) -> list[str]:
    """Return spellings to try: the text, with corrected words, and each without a remark.

    >>> _candidates("KM/SEC"), _candidates("K (TMB)")
    (['KM/SEC', 'km/s'], ['K (TMB)', 'K (TMB)', 'K', 'K'])
    """
    stripped = text.strip()
    spellings = [stripped, spelled(stripped)]
    unremarked = _REMARK.sub("", stripped)
    if unremarked and unremarked != stripped:
        spellings += [unremarked, spelled(unremarked)]
    return spellings


def spelled(text: str) -> str:
    """Replace the words of old files, in any letter case, by the Standard's names.

    >>> spelled("ANGSTROMS"), spelled("KM S-1"), spelled("counts/sec"), spelled("furlong")
    ('Angstrom', 'km s-1', 'count/s', 'furlong')
    """

    def name(word: re.Match[str]) -> str:
        return word[0] if word[0] in _EXACT else _WORDS.get(word[0].lower(), word[0])

    return re.sub(r"[A-Za-z]+", name, text.strip())


def axis_unit_text(text: str) -> str:
    """Return the unit of an axis with the Standard's names and without remarks. Avoids astropy.

    >>> axis_unit_text("KM/S (LSR)"), axis_unit_text("m/s"), axis_unit_text("A")
    ('km/s', 'm/s', 'Angstrom')
    """
    return spelled(_REMARK.sub("", text) or text)


def asked_unit(text: str, like: tuple[str, ...] = ()) -> UnitBase:
    """Parse a unit given by a user; raise UsageError if it is unknown."""
    unit = fits_unit(str(text), like) if str(text).strip() else None
    if unit is None:
        raise usage(
            f"invalid unit {text!r}: expected a unit that astropy or the FITS Standard knows",
            'write it as a header does: "km/s", "GHz", "um"',
        )
    return unit


#: A number and a unit.
_QUANTITY = re.compile(r"\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eEdD][-+]?\d+)?)\s*([^\d\s].*?)?\s*")


def asked_quantity(value: Any, like: tuple[str, ...], default: str | None = None) -> Quantity:
    """Parse a number with a unit given by a user: text such as "1.42 GHZ", or a Quantity.

    ``default`` is the unit of a number without one. Errors are astropy's: see `foreign_errors`.

    >>> asked_quantity("6562.8 A", SPECTRAL), asked_quantity("12arcsec", ANGLE)
    (<Quantity 6562.8 Angstrom>, <Quantity 12. arcsec>)
    """
    import astropy.units as u

    if not isinstance(value, str):
        return u.Quantity(value) if hasattr(value, "unit") else u.Quantity(value, unit=default)
    parsed = _QUANTITY.fullmatch(value)
    if parsed is None:
        raise ValueError("expected a number and a unit")
    number = float(parsed[1].upper().replace("D", "E"))
    return u.Quantity(number, asked_unit(parsed[2], like) if parsed[2] else default)


def spectral_quantity(value: Any) -> Quantity:
    """Parse a frequency or a wavelength with a unit, given by a user.

    A number without a unit is an error: for 230.538 the author means GHz, a default would be Hz.
    Errors are as in `asked_quantity`.

    >>> spectral_quantity("656.28 nm")
    <Quantity 656.28 nm>
    """
    import astropy.units as u

    quantity = asked_quantity(value, SPECTRAL)
    if quantity.unit.is_equivalent(u.dimensionless_unscaled):
        text = str(value).strip()
        raise ValueError(f"expected a number with a unit, found none: if it is in Hz, '{text} Hz'")
    return quantity


def unit_text(unit: UnitBase) -> str:
    """Return the text of a unit in the syntax of the Standard.

    >>> unit_text(fits_unit("km/s"))
    'km s-1'
    """
    return str(unit.to_string("fits"))


def given_unit(unit: Any) -> Any:
    """Convert a unit of astropy to text; return anything else unchanged.

    >>> given_unit(fits_unit("km/s")), given_unit("km/s")
    ('km s-1', 'km/s')
    """
    return text_of_unit(unit) if hasattr(unit, "physical_type") else unit


def stated_unit(unit: Any) -> str | None:
    """Convert a unit of astropy to text, as `text_of_unit` does; "" for the dimensionless unit.

    >>> import astropy.units as u
    >>> stated_unit(u.dimensionless_unscaled), stated_unit(None), stated_unit(u.percent)
    ('', None, '10**-2')
    """
    return "" if unit is not None and not str(unit) else text_of_unit(unit)


@functools.lru_cache(maxsize=512)
def text_of_unit(unit: Any) -> str | None:
    """Return the text of an astropy unit: in the Standard's syntax, else in astropy's.

    None without a unit, or if its text is empty.
    """
    if unit is None or not str(unit):
        return None
    try:
        return unit_text(unit)
    except (AttributeError, ValueError):
        return str(unit)
