"""Factors between units of brightness and flux: per beam, per pixel, per steradian, temperatures.

Every conversion is a multiplication, so values of different channels need a factor each. The
physics is astropy's: brightness temperatures follow Rayleigh and Jeans, flux densities per
wavelength and per frequency follow its spectral equivalencies. This module adds the header: the
solid angles of a beam and of a pixel, and the frequency of a channel.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import listed, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.header.beam import (
    Beam,
    Beams,
    beam_from,
    beam_of,
    beams_of,
    given_beam_hint,
    plane_axes,
)
from tachyfits.header.coordinates import Coordinates
from tachyfits.header.frequency import frequencies
from tachyfits.header.spectral_units import Line
from tachyfits.text.pixel_units import asked_pixel_unit, certain_pixel_unit, pixel_unit, powers_of
from tachyfits.text.units import text_of_unit

if TYPE_CHECKING:
    from astropy.units import UnitBase
    from numpy.typing import NDArray

    from tachyfits.file.image_hdu import ImageHdu
    from tachyfits.text.axes import WorldAxis

    Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """Inputs of a conversion. Each function raises UsageError if the header lacks its input.

    Attributes
    ----------
    beam_area, pixel_area
        Solid angles in steradians, as numbers that broadcast to the values.
    frequency
        Hz, as numbers that broadcast to the values.
    """

    beam_area: Callable[[], Numbers]
    pixel_area: Callable[[], Numbers]
    frequency: Callable[[], Numbers]


@dataclass(frozen=True)
class Asked:
    """The arguments of `Image.to` with these names."""

    frequency: Any = None
    beam: Any = None
    rest: Any = None
    convention: str | None = None
    rest_medium: str | None = None


def factor_between(unit: str | None, wanted: Any, setting: Setting) -> tuple[str, Numbers]:
    """Return a requested unit as header text, and the factors from ``unit`` to it.

    The factors broadcast to the values: a single number if all pixels share it.

    Raises
    ------
    UsageError
        The unit does not exist, ``unit`` cannot be converted to it, or the header lacks an input of
        the conversion.
    """
    own = pixel_unit(unit) if unit else None
    target = wanted if hasattr(wanted, "bases") else asked_pixel_unit(str(wanted), own)
    text = text_of_unit(target) or ""
    # If only the prefix differs, the factor is the same for every meaning.
    is_alike = own is not None and own.is_equivalent(target)
    source = own if own is not None and is_alike else certain_pixel_unit(unit)
    if source.is_equivalent(target):
        return text, np.array(float(source.to(target)))
    factors = _factors(source, target, setting)
    if factors is not None:
        return text, factors
    raise usage(
        f"invalid unit {str(wanted)!r}: expected one like {unit}",
        "give a unit that the values can be converted to",
    )


def _factors(source: UnitBase, target: UnitBase, setting: Setting) -> Numbers | None:
    """Return the factors from one unit to another; None if no physics relates them."""
    import astropy.units as u

    route = _route(source, target)
    if route is None:
        return None
    factor: Numbers = np.array(1.0)
    for power, area in ((route.beam, setting.beam_area), (route.pixel, setting.pixel_area)):
        if power:
            factor = factor * area() ** power
    if route.kelvins:
        # The Rayleigh-Jeans brightness grows with the square of the frequency.
        factor = factor * (_per_kelvin() * setting.frequency() ** 2) ** route.kelvins
    if route.scale is not None:
        return np.asarray(factor * route.scale)
    hertz = setting.frequency() * u.Hz
    ones = np.ones(hertz.shape) * route.ours
    converted = ones.to_value(route.theirs, equivalencies=u.spectral_density(hertz))
    return np.asarray(factor * converted)


@dataclass(frozen=True)
class _Route:
    """Path of a conversion from one unit to another.

    Attributes
    ----------
    beam, pixel, kelvins
        Powers of the solid angles, and of the brightness per kelvin, in the factor.
    ours, theirs
        The remaining units.
    scale
        Factor between the remaining units; None if it depends on the frequency.
    """

    beam: float
    pixel: float
    kelvins: float
    ours: UnitBase
    theirs: UnitBase
    scale: float | None


@functools.lru_cache(maxsize=64)
def _route(source: UnitBase, target: UnitBase) -> _Route | None:
    import astropy.units as u

    # Find the solid angles and temperatures to replace before any header value is required.
    source_angles, ours = _without(source, target)
    target_angles, theirs = _without(target, source)
    # A brightness in kelvins times this is a brightness per steradian.
    kelvins = 0.0 if ours.is_equivalent(theirs) else _power(ours, u.K) - _power(theirs, u.K)
    ours = ours * (u.Jy / u.sr / u.K) ** kelvins
    scale = float(ours.to(theirs)) if ours.is_equivalent(theirs) else None
    if scale is None and not ours.is_equivalent(theirs, u.spectral_density(1.0 * u.Hz)):
        return None
    return _Route(
        source_angles.beam - target_angles.beam,
        source_angles.pixel - target_angles.pixel,
        kelvins,
        ours,
        theirs,
        scale,
    )


@functools.lru_cache(maxsize=1)
def _per_kelvin() -> float:
    """Return the brightness of 1 K at 1 Hz, in Jy/sr."""
    import astropy.units as u

    at_a_hertz = u.brightness_temperature(1 * u.Hz)
    return float((1 * u.K).to_value(u.Jy / u.sr, equivalencies=at_a_hertz))


@dataclass(frozen=True)
class _Angles:
    """Powers of the solid angles that steradians replaced."""

    beam: float
    pixel: float


def _without(unit: UnitBase, beside: UnitBase) -> tuple[_Angles, UnitBase]:
    """Return a unit with steradians for beams and pixels, or cancelled if both units have them."""
    import astropy.units as u

    beam, pixel = _power(unit, u.beam), _power(unit, u.pix)
    plain = unit * u.beam**-beam * u.pix**-pixel
    if (beam, pixel) == (_power(beside, u.beam), _power(beside, u.pix)):
        return _Angles(0, 0), plain
    return _Angles(beam, pixel), plain * u.sr ** (beam + pixel)


def _power(unit: UnitBase, of: UnitBase) -> float:
    """Return the power of a base unit in a unit."""
    return powers_of(unit).get(of, 0.0)


@functools.lru_cache(maxsize=512)
def flux_units(unit: str | None) -> tuple[str | None, str] | None:
    """Return the unit in which pixels add up to a flux, and the unit of the flux.

    The first is None if they add up without conversion. Returns None if the values are not a flux.

    >>> flux_units("Jy/beam"), flux_units("K"), flux_units("mJy"), flux_units("km/s")
    (('Jy pix-1', 'Jy'), ('Jy pix-1', 'Jy'), (None, 'mJy'), None)
    """
    import astropy.units as u

    parsed = pixel_unit(unit) if unit else None
    if parsed is None:
        return None
    if parsed.is_equivalent(u.K):
        return "Jy pix-1", "Jy"
    for angle in (u.dimensionless_unscaled, u.pix, u.beam, u.sr):
        flux = parsed * angle
        if flux.is_equivalent(u.Jy, u.spectral_density(1.0 * u.Hz)):
            per_pixel = text_of_unit(flux / u.pix)
            as_they_are = angle in (u.dimensionless_unscaled, u.pix)
            return None if as_they_are else per_pixel, text_of_unit(flux) or ""
    return None


def setting_of(image: ImageHdu, asked: Asked) -> Setting:
    """Return the conversion inputs for the pixels of an image."""
    return _setting(image.coordinates, image.shape, asked, lambda: beams_of(image), None)


def setting_of_result(
    coordinates: Coordinates, shape: Sequence[int], asked: Asked, channels: WorldAxis | None
) -> Setting:
    """Return the conversion inputs for a plane or a spectrum.

    ``shape``: shape of the image that is written; ``channels``: channels of a spectrum.
    """
    return _setting(coordinates, shape, asked, lambda: beam_of(coordinates), channels)


def _setting(
    coordinates: Coordinates,
    shape: Sequence[int],
    request: Asked,
    beams_in: Callable[[], Beam | Beams | None],
    channels: WorldAxis | None,
) -> Setting:
    def beam_area() -> Numbers:
        if request.beam is not None:
            return _asked_area(request.beam)
        beams = beams_in()
        if beams is None:
            raise _no_beam()
        if isinstance(beams, Beam):
            return np.array(beams.solid_angle)
        undefined = np.flatnonzero(np.isnan(beams.major))
        if undefined.size == beams.major.size:
            raise _no_beam()
        if undefined.size:
            coordinates.cards.warn_once(
                "BEAMS",
                f"{coordinates.where}: channels without a usable beam in the table BEAMS become "
                f"undefined: {listed(undefined.tolist())}",
            )
        return _along(beams.solid_angle, plane_axes(beams, coordinates), len(shape))

    def frequency() -> Numbers:
        line = Line(None, request.rest, request.convention, request.rest_medium)
        hertz, axis = frequencies(coordinates, shape, request.frequency, line, channels)
        return hertz if axis is None else _along(hertz, [axis], len(shape))

    return Setting(beam_area, lambda: _pixel_area(coordinates), frequency)


def _along(numbers: Numbers, axes: list[int], ndim: int) -> Numbers:
    """Return numbers along these NumPy axes of an array, with length 1 along all others."""
    ordered: Numbers = numbers.transpose(np.argsort(axes))
    shape = [1] * ndim
    for axis, length in zip(sorted(axes), ordered.shape, strict=True):
        shape[axis] = length
    return ordered.reshape(shape)


def _asked_area(beam: Any) -> Numbers:
    return np.array(beam_from(beam).solid_angle)


def _no_beam() -> Exception:
    return usage(
        "the unit of the values is per beam, and the header has no usable beam",
        f"give it: {given_beam_hint()}; or correct BMAJ and BMIN",
    )


def _pixel_area(coordinates: Coordinates) -> Numbers:
    """Return the solid angle of the pixel at the reference position."""
    sky = coordinates.sky
    if sky is None:
        raise usage(
            "the unit of the values is per pixel, and the image has no sky coordinates",
            "convert the cube before it is reduced, or correct CTYPE and CDELT",
        )
    (a, b), (c, d) = sky.rows
    return np.array(abs(a * d - b * c) * math.radians(1.0) ** 2)
