"""Axes: NumPy numbers and FITS letters, which axis is the spectral one, and world values along it.

It knows names and numbers. The header's arithmetic is the engine's, and sky coordinates are
astropy's.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tachyfits.base.boundary import public
from tachyfits.base.errors import either, not_found, usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: An axis as people name it: a NumPy number, or FITS letters: "x" NAXIS1, "y" NAXIS2, "z" NAXIS3.
Axis = int | str | Sequence[int | str]

#: Spectral types of the FITS Standard (table 25) and of the AIPS convention.
SPECTRAL_TYPES = (
    "FREQ", "ENER", "WAVN", "VRAD", "WAVE", "VOPT", "ZOPT", "AWAV", "VELO", "BETA", "FELO",
)  # fmt: skip

#: Longitudes whose frame astropy does not know, or takes for ICRS.
NAMED_SKIES = ("ELON", "SLON", "HLON")


@public
@dataclass(frozen=True)
class WorldAxis:
    """World values of the pixels along one axis.

    Attributes
    ----------
    name
        The CTYPE of the coordinate; "LINEAR" where the header gives none, "pixel" for an axis
        without a coordinate.
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


def spectral_axis(ctypes: Sequence[str]) -> int:
    """Return the NumPy number of the spectral axis; ``ctypes`` are CTYPE1, CTYPE2, ...

    The first axis of a spectral type; without one NAXIS3, as cubes have it.

    >>> spectral_axis(["RA---SIN", "DEC--SIN", "STOKES", "FREQ"])
    0
    >>> spectral_axis(["", "", ""])
    0
    """
    ndim = len(ctypes)
    for number, ctype in enumerate(ctypes):
        if ctype.strip().upper()[:4] in SPECTRAL_TYPES:
            return ndim - 1 - number
    if ndim < 3:
        raise usage(
            f"the image has {counted_axes(ndim)} and no spectral one",
            "spectra, moments and collapsed images need a cube, or a CTYPE such as FREQ or VRAD",
        )
    return ndim - 3


def counted_axes(ndim: int) -> str:
    """Return a number of axes in words.

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
