"""Units of results whose pixels are larger than the pixels of the image.

The mean of Jy/pixel is not per pixel of the result, and the sum of K is not a brightness: such a
unit is dropped, with a warning. A unit may have other factors besides solid angles (km/s).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from tachyfits.base.errors import either, warn
from tachyfits.header.coordinates import Coordinates
from tachyfits.text.pixel_units import pixel_unit, powers_of

#: Units of the flux of a pixel that do not name the pixel: per frequency, per wavelength, of a
#: line, and of photons.
_FLUXES = (
    "Jy", "Jy m s-1", "W m-2", "W m-3", "photon s-1 m-2", "photon s-1 m-3", "photon s-1 m-2 Hz-1",
)  # fmt: skip
#: Factors beside K in units of brightness.
_BESIDE_KELVIN = ("", "m s-1", "Hz", "m")


@functools.lru_cache(maxsize=512)
def amount_of(unit: str | None) -> str:
    """Return the kind of values in a unit: "flux" of a pixel, "brightness" of the sky, or "".

    >>> [amount_of(unit) for unit in ("Jy/pixel", "Jy", "Jy/beam km/s", "K", "counts/arcsec2")]
    ['flux', 'flux', 'brightness', 'brightness', 'brightness']
    >>> amount_of("adu"), amount_of("km/s")
    ('', '')
    """
    import astropy.units as u

    parsed = pixel_unit(unit) if unit else None
    if parsed is None:
        return ""
    powers = powers_of(parsed)
    if powers.get(u.pix) == -1:
        return "flux"
    if powers.get(u.beam) == -1 or powers.get(u.rad) == -2:
        return "brightness"
    if any(parsed.is_equivalent(u.K * u.Unit(other)) for other in _BESIDE_KELVIN):
        return "brightness"
    return "flux" if any(parsed.is_equivalent(flux) for flux in _FLUXES) else ""


def binned_unit(
    unit: str | None, coordinates: Coordinates, blocks: Sequence[int], statistic: str
) -> str | None:
    """Return the unit of a statistic of blocks of pixels; None, with a warning, if it changes.

    ``blocks``: block size in pixels along each NumPy axis.
    """
    spectral = coordinates.spectral_axis
    pixels = math.prod(blocks[axis] for axis in _sky_axes(coordinates))
    channels = 1 if spectral is None else blocks[spectral]
    amount = amount_of(unit)
    if not amount:
        return unit
    if statistic == "sum" and (channels > 1 or (pixels > 1 and amount == "brightness")):
        larger = f"{pixels} pixels" if amount == "brightness" and pixels > 1 else "channels"
        problem = f"the sum of {larger} is not in it"
        hint = either(
            'take the mean, or a flux: spectrum(statistic="flux")',
            "take --statistic mean, or a flux: tachyfits spectrum FILE --statistic flux",
        )
    elif statistic != "sum" and pixels > 1 and amount == "flux":
        problem = f"the {statistic} of {pixels} pixels is not the flux of one that is as large"
        hint = either('add them up: rebin(..., statistic="sum")', "add them up: --statistic sum")
    else:
        return unit
    _warn_of_unit(coordinates, unit, problem, hint)
    return None


def sampled_unit(unit: str | None, coordinates: Coordinates, steps: Sequence[int]) -> str | None:
    """Return the unit of every n-th pixel; None, with a warning, if it changes.

    ``steps``: step in pixels along each NumPy axis.
    """
    if amount_of(unit) != "flux" or all(abs(steps[axis]) <= 1 for axis in _sky_axes(coordinates)):
        return unit
    hint = either('add pixels up: rebin(..., statistic="sum")', "add pixels up: tachyfits rebin")
    problem = "pixels that were left out have a part of the flux"
    _warn_of_unit(coordinates, unit, problem, hint)
    return None


def _sky_axes(coordinates: Coordinates) -> tuple[int, ...]:
    return coordinates.sky_axes(coordinates.channel_axis) if coordinates.ndim > 1 else ()


def _warn_of_unit(coordinates: Coordinates, unit: str | None, problem: str, hint: str) -> None:
    place = f"{coordinates.where}: " if coordinates.where else ""
    warn(f"{place}the result has no unit (BUNIT {unit!r} is left out): {problem}\nhint: {hint}")
