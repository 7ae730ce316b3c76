"""Values in a requested unit: pixels that are converted as they are read, before a reduction.

One argument ``unit`` has the unit of the coordinates, that of the values, or both: "km/s", "K",
"K, km/s". A unit that the spectral axis can have is one of coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tachyfits.base.errors import usage
from tachyfits.header.brightness import Asked, flux_units
from tachyfits.header.spectral_units import Line
from tachyfits.image.operators import converted
from tachyfits.image.reductions import UNITLESS
from tachyfits.text.units import SPECTRAL, asked_unit, split_units, text_of_unit

if TYPE_CHECKING:
    from tachyfits.image.image import Image

#: The statistic of a region that is the sum of its pixels, times their solid angle.
FLUX = "flux"


@dataclass(frozen=True)
class Prepared:
    """Pixels to reduce, and how.

    Attributes
    ----------
    pixels
        The image, or what is computed from it.
    unit
        The unit of the result; None without one.
    statistic
        Of the pixels; "sum" for a flux.
    line
        The requested coordinates.
    """

    pixels: Image
    unit: str | None
    statistic: str
    line: Line


def prepared(image: Image, statistic: str, line: Line) -> Prepared:
    """Return the pixels of a statistic in the unit of values that ``line.unit`` may have.

    Raises
    ------
    UsageError
        The pixels cannot be converted to it, the statistic has no unit, or the pixels do not add up
        to a flux.
    """
    of_axis = of_values = None
    if line.unit is not None:
        own = image._coordinates.axis(image.spectral_axis).unit
        of_axis, of_values = split_units(line.unit, (*SPECTRAL, own))
    asked = Asked(None, None, line.rest, line.convention, line.rest_medium)
    name = statistic if isinstance(statistic, str) else ""
    converts = of_values is not None or name == FLUX
    # Without a unit of coordinates, a rest frequency is there for the values alone.
    left = Line() if converts and of_axis is None else replace(line, unit=of_axis)
    if name == FLUX:
        pixels, unit = _flux_of(image, of_values, asked)
        return Prepared(pixels, unit, "sum", left)
    if of_values is None:
        return Prepared(image, None if name in UNITLESS else image.unit, statistic, left)
    if name in UNITLESS:
        raise usage(f"the {statistic} of pixels has no unit", f"leave out {of_values!r}")
    pixels = converted(image, of_values, asked, "float64")
    return Prepared(pixels, pixels.unit, statistic, left)


def _flux_of(image: Image, wanted: str | None, asked: Asked) -> tuple[Image, str]:
    """Return an image whose pixels add up to a flux, and the unit of that."""
    import astropy.units as u

    units = flux_units(image.unit)
    if units is None:
        raise usage(
            f"values in {image.unit or 'no unit'} do not add up to a flux",
            "give an image of brightness or flux density (Jy/beam, K, MJy/sr, Jy), or the "
            "statistic sum",
        )
    per_pixel, whole = units
    if wanted is not None:
        target = asked_unit(wanted)
        whole = text_of_unit(target) or ""
        per_pixel = (text_of_unit(target / u.pix) or "") if per_pixel else whole
    return image if per_pixel is None else converted(image, per_pixel, asked, "float64"), whole
