"""Values in a requested unit: pixels are converted as they are read, before a reduction.

The argument ``unit`` takes a unit of the coordinates, a unit of the values, or both: "km/s", "K",
"K, km/s". A unit that the spectral axis can have is a unit of coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage
from tachyfits.header.brightness import Asked, factor_between, flux_units, setting_of
from tachyfits.header.spectral_units import Line
from tachyfits.image.operators import converted
from tachyfits.text.pixel_units import asked_pixel_unit, pixel_unit, split_units
from tachyfits.text.sections import Section
from tachyfits.text.statistics import STATISTICS, UNITLESS, order_statistic
from tachyfits.text.units import SPECTRAL, asked_unit, text_of_unit

if TYPE_CHECKING:
    from tachyfits.image.image import Image

#: Statistic of a region: the sum of its pixels times their solid angle.
FLUX = "flux"


@dataclass(frozen=True)
class Prepared:
    """Pixels of a reduction, its statistic, and the scale of its results.

    Attributes
    ----------
    pixels
        The image, or an image computed from it.
    unit
        The unit of the result; None without one.
    statistic
        Statistic of the pixels; "sum" for a flux.
    line
        The requested coordinates.
    factor
        Factor of the results: a number, or one number per pixel of the kept axis.
    """

    pixels: Image
    unit: str | None
    statistic: str
    line: Line
    factor: NDArray[np.float64] = field(default_factory=lambda: np.array(1.0))


def prepared(
    image: Image, statistic: str, line: Line, kept: tuple[Section, int] | None = None
) -> Prepared:
    """Return the pixels of a statistic, in the unit of values in ``line.unit``.

    ``kept``: a section, and the axis that the reduction keeps. If all pixels of a result share one
    factor, the results are converted instead of the pixels.

    Raises
    ------
    UsageError
        The pixels cannot be converted to the unit, the statistic has no unit, or the pixels do not
        add up to a flux.
    """
    of_axis = of_values = None
    if line.unit is not None:
        coordinates = image.coordinates
        own = coordinates.axis(coordinates.required_channel_axis()).unit
        of_axis, of_values = split_units(line.unit, (*SPECTRAL, own))
    rest = line.rest
    if of_axis is not None and asked_unit(of_axis, SPECTRAL).is_equivalent("m/s"):
        # This rest frequency belongs to the requested velocities; header velocities have their own.
        rest = rest if image.coordinates.rest_frequency() is None else None
    request = Asked(None, None, rest, line.convention, line.rest_medium)
    name = statistic if isinstance(statistic, str) else ""
    converts = of_values is not None or name == FLUX
    # Without a unit of coordinates, the rest frequency serves the values alone.
    if converts and of_axis is None:
        no_line = Line()
    else:
        no_line = line if of_axis == line.unit else replace(line, unit=of_axis)
    if name == FLUX:
        return flux_of(image, of_values, request, kept, no_line)
    if of_values is None:
        return Prepared(image, None if name in UNITLESS else image.unit, statistic, no_line)
    if name in UNITLESS:
        raise usage(f"the {statistic} of pixels has no unit", f"leave out {of_values!r}")
    pixels, unit, factor = _converted(image, of_values, request, name, kept)
    return Prepared(pixels, unit, statistic, no_line, factor)


def _converted(
    image: Image, unit: str, request: Asked, statistic: str, kept: tuple[Section, int] | None
) -> tuple[Image, str | None, NDArray[np.float64]]:
    """Return pixels in a unit, or unconverted pixels and the factor for the results."""
    # Results can be scaled instead of pixels only if every factor is positive.
    of_name = statistic in STATISTICS or order_statistic(statistic) is not None
    # An expression's pixel type may be too coarse for values in their old unit.
    if kept is not None and of_name and image._formula is None:
        text, factors = factor_between(image.unit, unit, setting_of(image, request))
        factor = _of_results(factors, *kept)
        # NaN is the factor of a channel without a beam: its results are undefined.
        if factor is not None and ((factor > 0) | np.isnan(factor)).all():
            return image, text, factor
    pixels = converted(image, unit, request, "float64")
    return pixels, pixels.unit, np.array(1.0)


def _of_results(
    factors: NDArray[np.float64], where: Section, axis: int
) -> NDArray[np.float64] | None:
    """Return factors along an axis of a section; None if they also vary along other axes."""
    if factors.ndim == 0:
        return factors
    for number, (start, count, step) in enumerate(where.ranges):
        if factors.shape[number] > 1:
            factors = factors.take(start + step * np.arange(count), axis=number)
    if factors.size != factors.shape[axis]:
        return None
    values = factors.reshape(-1)
    return values if values.size > 1 else values.reshape(())


def check_steps(image: Image, section: Section) -> None:
    """Refuse a flux with steps on the sky: the area of skipped pixels would be counted."""
    sizes = zip(section.steps, section.full_shape, strict=True)
    skipped = {number for number, (step, size) in enumerate(sizes) if abs(step) > 1 and size > 1}
    if skipped and skipped & set(image._sky_numbers()):
        raise usage(
            f"{image._where()}: no flux of every n-th pixel of the sky in a selection",
            either(
                "leave the others out first: cutout(section=...)",
                "leave the others out first: tachyfits cutout --section",
                "give a section without steps",
            ),
        )


def flux_of(
    image: Image, wanted: Any, asked: Asked, kept: tuple[Section, int] | None, line: Line
) -> Prepared:
    """Return pixels that add up to a flux."""
    import astropy.units as u

    if kept is not None:
        check_steps(image, kept[0])
    units = flux_units(image.unit)
    if units is None:
        raise usage(
            f"values in {image.unit or 'no unit'} do not add up to a flux",
            "give an image of brightness or flux density (Jy/beam, K, MJy/sr, Jy), or the "
            "statistic sum",
        )
    per_pixel, flux_unit = units
    if wanted is not None:
        target = asked_pixel_unit(wanted)
        flux_unit = text_of_unit(target) or ""
        # Values in Jy add up unconverted; values in Jy/pixel add up to Jy.
        own = pixel_unit(image.unit or "")
        adds_up = own is not None and own.is_equivalent(target, u.spectral_density(1.0 * u.Hz))
        per_pixel = flux_unit if adds_up else text_of_unit(target / u.pix) or ""
    if per_pixel is None:
        return Prepared(image, flux_unit, "sum", line)
    pixels, _, factor = _converted(image, per_pixel, asked, "sum", kept)
    return Prepared(pixels, flux_unit, "sum", line, factor)
