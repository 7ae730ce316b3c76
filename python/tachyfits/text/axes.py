"""Axes: NumPy numbers, FITS letters, and world values along an axis.

This module handles names and numbers. The engine computes spectral coordinates from the header;
astropy computes sky coordinates.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tachyfits.base.boundary import public
from tachyfits.base.errors import either, not_found, usage
from tachyfits.text.units import SPECTRAL, asked_unit

if TYPE_CHECKING:
    import astropy.units
    import numpy as np
    from numpy.typing import NDArray

#: An axis as users name it: a NumPy number, or FITS letters: "x" NAXIS1, "y" NAXIS2, "z" NAXIS3.
Axis = int | str | Sequence[int | str]

#: Spectral types of the FITS Standard (table 25) and of the AIPS convention.
SPECTRAL_TYPES = (
    "FREQ", "ENER", "WAVN", "VRAD", "WAVE", "VOPT", "ZOPT", "AWAV", "VELO", "BETA", "FELO",
)  # fmt: skip

#: CTYPE with an algorithm and an optional distortion (Standard 8.2): "RA---TAN-SIP"; or a frequency
#: of GIPSY, with the definition of velocity and the frame: "FREQ-OHEL".
_CTYPE = re.compile(r"(.{4})-([A-Z0-9]{3}|[OR](?:HEL|LSR))(?:-[A-Z0-9]*)?")
#: Longitudes and latitudes on the sky (GLON, ELAT) and on a body (HPLN, MALT).
_CELESTIAL = re.compile(r"RA|DEC|[A-Z](LON|LAT)|[A-Z]{2}(LN|LT)")


@public
@dataclass(frozen=True)
class WorldAxis:
    """World values of the pixels along one axis.

    Attributes
    ----------
    name
        The CTYPE of the coordinate; "LINEAR" if the header has none, "pixel" for an axis without a
        coordinate.
    unit
        The unit of ``values``: CUNIT, or the Standard's default for the CTYPE; "pixel" otherwise.
    values
        One number per pixel (float64); the numbers of the pixels, counted from 1 as FITS does, when
        ``unit`` is "pixel".
    """

    name: str
    unit: str
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def quantity(self) -> astropy.units.Quantity:
        """The values as an astropy Quantity; dimensionless without a unit.

        Raises
        ------
        UsageError
            astropy does not know the unit.
        """
        import astropy.units as u

        unit = asked_unit(self.unit, SPECTRAL) if self.unit else u.dimensionless_unscaled
        return u.Quantity(self.values, unit)


def coordinate_type(ctype: str) -> tuple[str, str]:
    """Split a CTYPE into the type of the coordinate and the code of its algorithm.

    A type is padded with hyphens to four characters, before a hyphen and a code of three characters
    (Standard 8.2). Any other text is the name of a linear coordinate.

    >>> coordinate_type("RA---TAN-SIP"), coordinate_type("FREQ"), coordinate_type("FREQUENCY")
    (('RA', 'TAN'), ('FREQ', ''), ('FREQUENCY', ''))
    """
    name = ctype.strip()
    match = _CTYPE.fullmatch(name)
    return (match[1].rstrip("-"), match[2]) if match else (name, "")


def is_spectral(ctype: str) -> bool:
    """Return whether a CTYPE names a frequency, wavelength, velocity or energy.

    >>> is_spectral("VELO-LSR"), is_spectral("RA---SIN"), is_spectral("WAVELENGTH")
    (True, False, False)
    """
    return coordinate_type(ctype)[0] in SPECTRAL_TYPES


def is_celestial(ctype: str) -> bool:
    """Return whether a CTYPE names a celestial coordinate.

    >>> [is_celestial(ctype) for ctype in ("DEC--NCP", "GLON-CAR", "HPLN-TAN", "STOKES")]
    [True, True, True, False]
    """
    return _CELESTIAL.fullmatch(coordinate_type(ctype)[0]) is not None


def is_latitude(ctype: str) -> bool:
    """Return whether a celestial CTYPE names a latitude."""
    name = coordinate_type(ctype)[0]
    return name == "DEC" or name.endswith(("LAT", "LT"))


def algorithm_of(ctype: str) -> str:
    """Return the algorithm of a nonlinear CTYPE: "LOG", "TAB", "F2W", ...; "" for other CTYPEs.

    >>> [algorithm_of(ctype) for ctype in ("VOPT-F2W", "WAVE-LOG", "FELO-HEL", "VELO-LSR")]
    ['F2W', 'LOG', 'F2W', '']
    """
    name, code = coordinate_type(ctype)
    if name == "FELO":
        # AIPS: optical velocities of channels that are equally spaced in frequency.
        return "F2W"
    is_code = code in ("LOG", "TAB", "GRI", "GRA") or (len(code) == 3 and code[1] == "2")
    return code if is_code else ""


def counted_axes(ndim: int) -> str:
    """Return a number of axes as text.

    >>> counted_axes(1), counted_axes(3)
    ('1 axis', '3 axes')
    """
    return "1 axis" if ndim == 1 else f"{ndim} axes"


def axis_number(axis: int | str, ndim: int) -> int:
    """Return the NumPy number, 0 to ndim-1, of one axis.

    >>> axis_number("x", 3), axis_number(-1, 3), axis_number("z", 4)
    (2, 2, 1)
    """
    if isinstance(axis, str):
        position = "xyz".find(axis.lower()) if len(axis) == 1 else -1
        if not 0 <= position < ndim:
            raise not_found(
                f"invalid axis {axis!r}: the image has {counted_axes(ndim)}",
                either("use a NumPy number, or ", "use ", "use ")
                + "one of the letters x (NAXIS1), y (NAXIS2), z (NAXIS3)",
            )
        return ndim - 1 - position
    try:
        number = operator.index(axis)
    except TypeError:
        raise usage(f"invalid axis {axis!r}", "use a NumPy number or a letter x, y, z") from None
    if not -ndim <= number < ndim:
        raise not_found(
            f"axis {number} is out of bounds for an image of {counted_axes(ndim)}",
            f"use {-ndim} to {ndim - 1}, or a letter x, y, z",
        )
    return number % ndim


def axis_numbers(axis: Axis | None, ndim: int) -> tuple[int, ...]:
    """Return the NumPy numbers of one or several axes, ascending; None means all.

    >>> axis_numbers("xy", 3), axis_numbers((0, "x"), 3), axis_numbers(None, 2)
    ((1, 2), (0, 2), (0, 1))
    """
    if axis is None:
        return tuple(range(ndim))
    names: Iterable[int | str]
    if isinstance(axis, str):
        names = axis if axis else [axis]
    else:
        names = axis if isinstance(axis, Iterable) else (axis,)
    numbers = sorted(axis_number(name, ndim) for name in names)
    if len(set(numbers)) != len(numbers):
        raise usage(f"axis {axis!r} names an axis twice", "name each axis once")
    return tuple(numbers)
