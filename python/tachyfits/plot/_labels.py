"""Words on pictures: names of axes and units as people say them, and titles that fit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tachyfits import Header
from tachyfits.text import pixel_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Common names of an axis of that CTYPE.
_NAMES = {
    "RA": "Right ascension", "DEC": "Declination", "GLON": "Galactic longitude",
    "GLAT": "Galactic latitude", "ELON": "Ecliptic longitude", "ELAT": "Ecliptic latitude",
    "HLON": "Helioecliptic longitude", "HLAT": "Helioecliptic latitude",
    "SLON": "Supergalactic longitude", "SLAT": "Supergalactic latitude",
    "HPLN": "Helioprojective longitude", "HPLT": "Helioprojective latitude",
    "HGLN": "Heliographic longitude", "HGLT": "Heliographic latitude",
    "CRLN": "Carrington longitude", "CRLT": "Carrington latitude",
    "FREQ": "Frequency", "VRAD": "Radio velocity", "VOPT": "Optical velocity",
    "VELO": "Velocity", "VELOCITY": "Velocity", "VEL": "Velocity", "FELO": "Optical velocity",
    "WAVE": "Wavelength", "AWAV": "Wavelength in air", "LAMBDA": "Wavelength", "ENER": "Energy",
    "WAVN": "Wavenumber", "ZOPT": "Redshift", "BETA": "Velocity / c", "STOKES": "Stokes parameter",
    "FDEP": "Faraday depth", "FARDEPTH": "Faraday depth", "PHI": "Faraday depth",
    "OFFSET": "Offset", "TIME": "Time", "UTC": "Time", "PIXEL": "Pixel",
}  # fmt: skip

#: Larger units for values that would need many digits: (unit, factor).
_LARGER = {
    "Hz": [("GHz", 1e-9), ("MHz", 1e-6)],
    "m/s": [("km/s", 1e-3)],
    "m": [("µm", 1e6), ("nm", 1e9)],
}

_SUPERSCRIPTS = str.maketrans("0123456789-+.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺·")

#: Units with more characters than this are written with exponents.
_LONG_UNIT = 12


def axis_name(ctype: str) -> str:
    """Return the usual name of an axis of a CTYPE.

    >>> axis_name("GLON-CAR"), axis_name("VELO-LSR"), axis_name("FOO"), axis_name("")
    ('Galactic longitude', 'Velocity', 'Foo', '')
    """
    code = ctype.strip().upper()
    name = _NAMES.get(code) or _NAMES.get(code.partition("-")[0]) or _NAMES.get(code[:4])
    return name or capitalised(ctype.strip().lower() if ctype.isupper() else ctype.strip())


def capitalised(text: str) -> str:
    """Return a label with a capital at its beginning.

    >>> capitalised("moment 0"), capitalised("")
    ('Moment 0', '')
    """
    return text[:1].upper() + text[1:]


def unit_words(unit: str | None) -> str:
    """Return a unit in the usual notation.

    >>> unit_words("JY/BEAM"), unit_words("m s-1"), unit_words(None)
    ('Jy/beam', 'm/s', '')
    >>> unit_words("10**(-20)*erg/s/cm**2/Angstrom"), unit_words("W.U.")
    ('10⁻²⁰ erg Å⁻¹ s⁻¹ cm⁻²', 'W.U.')
    >>> unit_words("Jy m beam-1 s-1"), unit_words("K km s-1")
    ('Jy/beam m/s', 'K km/s')
    """
    text = (unit or "").strip()
    astropy_unit = pixel_unit(text) if text else None
    if astropy_unit is None:
        return text
    velocity, powers = _without_velocity(_powers(astropy_unit))
    divided = "pixel" if astropy_unit == "pix" else _divided(powers)
    scale = float(astropy_unit.scale)
    if scale == 1.0 and divided is not None and len(divided) <= _LONG_UNIT:
        return f"{divided} {velocity}".strip()
    words = [f"{name}{_raised(power)}" for name, power in powers]
    return " ".join([*_scale_words(scale), *words, velocity]).strip() or text


def _without_velocity(
    powers: list[tuple[str, float]],
) -> tuple[str, list[tuple[str, float]]]:
    """Return "km/s" or "m/s", if it is a factor of a unit, and the other factors."""
    for length in ("km", "m"):
        if (length, 1) in powers and ("s", -1) in powers:
            pair = ((length, 1), ("s", -1))
            return f"{length}/s", [part for part in powers if part not in pair]
    return "", powers


def _powers(unit: object) -> list[tuple[str, float]]:
    """Return the names of the bases of a unit, with their powers, positive ones first."""
    bases, powers = unit.bases, unit.powers  # type: ignore[attr-defined]
    named = [
        ({"Angstrom": "Å", "AA": "Å"}.get(str(base), str(base)), float(power))
        for base, power in zip(bases, powers, strict=True)
    ]
    return sorted(named, key=lambda part: part[1] < 0)


def _divided(powers: list[tuple[str, float]]) -> str | None:
    """Return "km/s" and the like, which need no exponent; None where there is no such form."""
    if not powers:
        return ""
    above = [name for name, power in powers if power == 1]
    below = [name for name, power in powers if power == -1]
    if len(above) + len(below) != len(powers) or len(below) > 1 or not above:
        return None
    return " ".join(above) + "".join(f"/{name}" for name in below)


def _raised(power: float) -> str:
    return "" if power == 1 else f"{power:g}".translate(_SUPERSCRIPTS)


def _scale_words(scale: float) -> list[str]:
    if scale == 1.0:
        return []
    mantissa, _, exponent = f"{scale:.6e}".partition("e")
    number = mantissa.rstrip("0").rstrip(".")
    power = f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    if not 1e-3 <= scale < 1e4:
        return [power] if number == "1" else [number, power]
    return [f"{scale:g}"]


def with_unit(name: str, unit: str | None) -> str:
    """Return an axis label: the name, and the unit in brackets.

    >>> with_unit("Mean", "Jy/beam"), with_unit("Pixels per bin", None), with_unit("x", "pixel")
    ('Mean (Jy/beam)', 'Pixels per bin', 'x (pixel)')
    """
    words = unit_words(unit)
    # A dollar would begin mathematics.
    return (f"{name} ({words})" if words else name).replace("$", r"\$")


def coordinate_label(name: str, unit: str | None) -> str:
    """Return the label of an axis of world values; channels count from 1 as in FITS.

    >>> coordinate_label("VELO-LSR", "km/s"), coordinate_label("pixel", "pixel")
    ('Velocity (km/s)', 'Channel')
    >>> coordinate_label("LINEAR", "rad/m2")
    'Coordinate (rad m⁻²)'
    """
    if name == "pixel":
        return "Channel"
    return with_unit("Coordinate" if name in ("LINEAR", "") else axis_name(name), unit)


def shown_unit(unit: str | None, greatest: float) -> tuple[str, float]:
    """Return the unit to show values in, and its factor, so that they need few digits.

    >>> shown_unit("m s-1", 2.5e5), shown_unit("m/s", 20.0), shown_unit("Hz", 1.4e9)
    (('km/s', 0.001), ('m/s', 1.0), ('GHz', 1e-09))
    >>> shown_unit("K.m/s", 5000.0), shown_unit("m", 0.21)
    (('K km/s', 0.001), ('m', 1.0))
    """
    words = unit_words(unit)
    before, blank, last = words.rpartition(" ")
    for larger, factor in _LARGER.get(last, []):
        if 0.1 <= greatest * factor < 1e5:
            return f"{before}{blank}{larger}", factor
    return words, 1.0


def power_of_ten(value: float) -> str:
    r"""Return a value as a number times a power of ten.

    >>> power_of_ten(2e-5) == "2\N{MULTIPLICATION SIGN}10⁻⁵", power_of_ten(1e12)
    (True, '10¹²')
    """
    number, exponent = f"{value:.3e}".split("e")
    power = f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    return power if float(number) == 1 else f"{float(number):.4g}\N{MULTIPLICATION SIGN}{power}"


def title_of(header: Header, name: str, source: str = "") -> str:
    """Return a title: the object, else the file, and what is shown of it."""
    of = str(header.get("OBJECT") or "").strip() or file_title(source)
    return f"{of}: {name}" if of and name else of or capitalised(name)


def file_title(source: str) -> str:
    """Return the name of a file without its folders, address and endings.

    >>> file_title("/data/m101.fits.gz"), file_title("https://x.org/a/n1.fits?x=1"), file_title("")
    ('m101', 'n1', '')
    """
    if not source or source.startswith("<"):
        return ""
    name = Path(source.partition("?")[0]).name
    return re.sub(r"(?i)(\.(fits?|fts|fz|gz|bz2|xz|zst|z))+$", "", name) or name


def set_title(axes: Axes, text: str, loc: Literal["left", "center"] = "center") -> None:
    """Put a title above axes; a dollar does not begin mathematics."""
    axes.set_title(text.replace("$", r"\$"), loc=loc)


def fit_titles(figure: Figure) -> None:
    """Break titles that are wider than the figure; a word that is too wide loses its middle."""
    figure.draw_without_rendering()
    width = figure.bbox.width
    for axes in figure.axes:
        for title in (axes.title, axes._left_title, axes._right_title):  # type: ignore[attr-defined]
            text = title.get_text()
            if not text:
                continue
            box = title.get_window_extent()
            room = min(width, 2 * min(box.x0 + box.width / 2, width - box.x0 - box.width / 2))
            if title.get_horizontalalignment() == "left":
                room = width - box.x0
            if box.width > 0.98 * room:
                most = max(int(len(text) * 0.96 * room / box.width), 12)
                title.set_text(broken(text, most))


def broken(text: str, most: int) -> str:
    r"""Return text on lines of at most ``most`` characters, at most three of them.

    >>> broken("one two three", 8)
    'one two\nthree'
    >>> broken("abcdefghijklmnopqrst", 12)
    'abcdef…pqrst'
    """
    lines: list[str] = []
    for word in text.split():
        if len(word) > most:
            half = most // 2
            word = f"{word[:half]}…{word[-(most - half - 1) :]}"
        if lines and len(lines[-1]) + 1 + len(word) <= most:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    if len(lines) > 3:
        lines = [*lines[:2], f"{lines[2][: most - 1]}…"]
    return "\n".join(lines)
