"""Units of pixels (BUNIT): brightness as FITS, CASA, AIPS and MUSE write it.

`text.units` parses units of axes and columns, whose words differ: ``B`` is a byte in a column, but
a beam after a jansky. astropy is only imported to parse a unit.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import either, usage
from tachyfits.text.units import SPECTRAL, fits_unit, unit_text

if TYPE_CHECKING:
    from astropy.units import UnitBase

#: Words in units of pixels, in any letter case, and their names in the Standard.
_WORDS = {
    "bm": "beam", "beams": "beam", "spaxel": "pixel", "spaxels": "pixel", "spax": "pixel",
    "px": "pixel", "phot": "photon", "phots": "photon", "photons": "photon",
}  # fmt: skip
_WORD = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(_WORDS)})(?![A-Za-z])", re.IGNORECASE)

#: AIPS writes JY/B for Jy/beam; elsewhere B is a byte, which images do not use.
_PER_B = re.compile(r"/\s*B(?![A-Za-z])", re.IGNORECASE)

#: AIPS, CASA and MIRIAD mean a product by Jy/beam.km/s; by the Standard's rules km would divide.
_PER = re.compile(r"/\s*(beam|pix|pixel)\s*[ .*]\s*(?=[A-Za-z])", re.IGNORECASE)

#: Brackets around the whole unit, as in variances of MUSE: (10**(-20)*erg/s/cm**2/Angstrom)**2.
_POWER_OF_ALL = re.compile(r"\s*\((?P<unit>.*)\)\s*(?:(?:\*\*|\^)\s*\(?(?P<power>[-+]?\d+)\)?)?\s*")

#: ``A`` as a word, with an optional prefix: ampere in the Standard, ångström in many files.
_LETTER_A = re.compile(r"(?<![A-Za-z])(m?)A(?![A-Za-z])")

#: Janskys in capitals: the prefix may be milli or mega.
_CAPITALS = re.compile(r"(?<![A-Za-z])MJY(?![A-Za-z])")

#: Flux densities per wavelength interval, and units that detectors count.
_PER_WAVELENGTH = ("erg s-1 cm-2 Angstrom-1", "photon s-1 cm-2 Angstrom-1")
_COUNTED = ("count", "photon", "electron", "adu", "DN")


@functools.lru_cache(maxsize=512)
def pixel_unit(text: str) -> UnitBase | None:
    """Parse the unit of pixels (BUNIT); return None if it is unknown.

    ``A`` is an ångström if the unit is then a brightness, else an ampere.

    >>> pixel_unit("JY/B*M/S"), pixel_unit("mJy/bm"), pixel_unit("W.U.")
    (Unit("Jy m / (beam s)"), Unit("mJy / beam"), None)
    >>> pixel_unit("10^-20 erg/s/cm^2/A"), pixel_unit("A/m2")
    (Unit("1e-20 erg / (Angstrom s cm2)"), Unit("A / m2"))
    """
    if bracketed := _POWER_OF_ALL.fullmatch(text):
        inner = pixel_unit(bracketed["unit"])
        if inner is not None:
            return inner ** int(bracketed["power"] or 1)
    words = re.sub(r"\s+per\s+", "/", text, flags=re.IGNORECASE)
    words = _WORD.sub(lambda word: _WORDS[word[0].lower()], _PER_B.sub("/beam", words))
    words = _PER.sub(r" \1-1 ", words)
    by_angstrom = _LETTER_A.sub(r"\1Angstrom", words)
    if by_angstrom != words:
        unit = fits_unit(by_angstrom)
        if unit is not None and _is_per_wavelength(unit):
            return unit
    return fits_unit(words)


def _is_per_wavelength(unit: UnitBase) -> bool:
    """Return whether a unit is a flux density or a count per wavelength interval."""
    import astropy.units as u

    powers = powers_of(unit)
    # Factors of solid angles do not matter.
    stripped = unit
    for angle in (u.beam, u.pix, u.rad):
        stripped = stripped * angle ** -powers.get(angle, 0)
    if any(stripped.is_equivalent(u.Unit(kind)) for kind in _PER_WAVELENGTH):
        return True
    per_cell = stripped * u.Angstrom
    kinds = [u.Unit(kind) for kind in _COUNTED]
    return any(
        per_cell.is_equivalent(kind / per) for kind in kinds for per in (1, u.s, u.s * u.m**2)
    )


def certain_pixel_unit(text: str | None) -> UnitBase:
    """Parse the unit of pixels to convert; raise UsageError if it is unknown or ambiguous."""
    unit = pixel_unit(text) if text else None
    meanings = _meanings(text) if text else ""
    if meanings:
        raise usage(
            f"ambiguous unit {text!r} of the values (BUNIT): {meanings}",
            either(
                'state it: editor[0].header["BUNIT"] = "Angstrom", in tachyfits.edit(path)',
                "state it: tachyfits header FILE --set BUNIT=Angstrom",
                "leave the parameter unit out",
            ),
        )
    if unit is None:
        raise unknown_unit(text)
    return unit


def _meanings(text: str) -> str:
    """Describe the possible meanings of an ambiguous unit; "" if it is not ambiguous."""
    if _CAPITALS.search(text) and not re.search(r"[a-z]", text):
        return "MJY is mJy in some files and MJy in others"
    unit = pixel_unit(text) if _LETTER_A.search(text) else None
    if unit is None or _is_per_wavelength(unit):
        return ""
    import astropy.units as u

    # In other units only the ampere makes sense: A/m2, V/A.
    by_angstrom = fits_unit(_LETTER_A.sub(r"\1Angstrom", text))
    kinds = (u.W / u.m, u.J / u.m)
    if by_angstrom is None or (
        len(by_angstrom.bases) > 1 and not any(map(by_angstrom.is_equivalent, kinds))
    ):
        return ""
    return "A is an ampere in the Standard, and an ångström in many files"


def asked_pixel_unit(text: str, source: UnitBase | None = None) -> UnitBase:
    """Parse a unit of values given by a user; raise UsageError if it is unknown or ambiguous.

    ``source``: the unit of the values, which decides between two meanings.

    >>> import astropy.units as u
    >>> asked_pixel_unit("mJy/bm"), asked_pixel_unit("A", u.nm), asked_pixel_unit("mA", u.A)
    (Unit("mJy / beam"), Unit("Angstrom"), Unit("mA"))
    """
    unit = pixel_unit(str(text)) if str(text).strip() else None
    meanings = _meanings(str(text)) if unit is not None else ""
    if meanings and source is not None:
        for meaning in (unit, fits_unit(_LETTER_A.sub(r"\1Angstrom", str(text)))):
            if meaning is not None and meaning.is_equivalent(source):
                return meaning
    if unit is None or meanings:
        raise usage(
            f"ambiguous unit {text!r}: {meanings}" if meanings else
            f"invalid unit {text!r}: expected a unit that astropy or the FITS Standard knows",
            'write it as a header does: "km/s", "GHz", "um"',
        )  # fmt: skip
    return unit


def unknown_unit(text: str | None) -> Exception:
    """Return the error for values whose unit is unknown or missing."""
    if not text:
        return usage(
            "invalid unit: the values have none (BUNIT), so they cannot be converted",
            either(
                'state it: tf.evaluate("a", a=image, unit="Jy/beam")',
                "state it: tachyfits math A A=FILE --unit Jy/beam -o OUT.fits",
                "leave the parameter unit out",
            ),
        )
    return usage(
        f"invalid unit {text!r} of the values (BUNIT): expected one that astropy or the FITS "
        "Standard knows",
        either(
            'correct it: editor[0].header["BUNIT"] = "K", in tachyfits.edit(path)',
            "correct it: tachyfits header FILE --set BUNIT=K",
            "leave the parameter unit out",
        ),
    )


def split_units(unit_input: Any, like: tuple[str, ...] = SPECTRAL) -> tuple[str | None, str | None]:
    """Split units given by a user into a unit of coordinates and a unit of values.

    Parameters
    ----------
    unit_input
        One unit, or several: text with commas, a unit of astropy, or a pair of either.
    like
        Units of the physical types of coordinates; any other unit is a unit of values.

    Raises
    ------
    UsageError
        A unit is unknown or ambiguous, or both are units of coordinates or of values.

    >>> split_units("km/s"), split_units("K"), split_units("K, GHz")
    (('km/s', None), (None, 'K'), ('GHz', 'K'))
    """
    parts = unit_input.split(",") if isinstance(unit_input, str) else unit_input
    texts = [str(part).strip() for part in (parts if isinstance(parts, (list, tuple)) else [parts])]
    # Skip unknown units: `like` may come from a header.
    kinds = {kind: unit for kind in like if (unit := fits_unit(kind)) is not None}
    units: list[str | None] = [None, None]
    for text in texts:
        unit = fits_unit(text, tuple(kinds)) if text else None
        slot = 0
        if unit is None or not any(unit.is_equivalent(kind) for kind in kinds.values()):
            asked_pixel_unit(text)
            slot = 1
        if units[slot] is not None:
            quantity = ("coordinates", "values")[slot]
            raise usage(
                f"invalid unit {unit_input!r}: expected one unit of {quantity}, found two",
                'write one of each: "K, km/s"',
            )
        units[slot] = text
    return units[0], units[1]


def product_text(first: str | None, second: str) -> str:
    """Return the product of two units of a header; the first may be None.

    >>> product_text("JY/BEAM", "km/s"), product_text(None, "Hz"), product_text("W.U.", "Hz")
    ('Jy beam-1 km s-1', 'Hz', 'W.U. Hz')
    """
    return " ".join(_standard_text(text) for text in (first or "", second) if text.strip())


def _standard_text(text: str) -> str:
    """Return a unit in the syntax of the Standard; unchanged if it is unknown."""
    unit = pixel_unit(text)
    try:
        return text.strip() if unit is None else unit_text(unit)
    except ValueError:
        # FITS has no name for the unit: keep the text of the file.
        return text.strip()


@functools.lru_cache(maxsize=512)
def beam_power(text: str | None) -> float | None:
    """Return the power of the beam in a unit of pixels; None if the unit is unknown.

    >>> beam_power("Jy/beam"), beam_power("Jy2/beam2"), beam_power("K (main beam)")
    (-1.0, -2.0, 0.0)
    """
    import astropy.units as u

    if not text:
        return 0.0
    # The prefix does not change the power.
    unit = pixel_unit(_CAPITALS.sub("Jy", text))
    if unit is None:
        return None
    return powers_of(unit).get(u.beam, 0.0)


def powers_of(unit: UnitBase) -> dict[UnitBase, float]:
    """Return the powers of the base units of a unit."""
    parts = unit.decompose()
    return dict(zip(parts.bases, map(float, parts.powers), strict=True))
