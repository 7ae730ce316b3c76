"""Conversion between pixels and world coordinates: sky positions and spectral coordinates.

Pixels are counted from 0 and may be fractional; x is NAXIS1. World coordinates are astropy objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import foreign_errors, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.header.coordinates import Axis, Coordinates, pixel_numbers
from tachyfits.header.spectral_units import Line, converted
from tachyfits.text.units import SPECTRAL, asked_quantity, fits_unit, text_of_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: Steps of Newton's method, each of which doubles the number of correct digits.
_STEPS = 5


def world_of(coordinates: Coordinates, pixels: Sequence[Any]) -> Any:
    """Return the sky position and the spectral coordinate of pixels: see `pixel_to_world`.

    Raises
    ------
    UsageError
        The axes of these pixels have neither.
    """
    import astropy.units as u

    with foreign_errors("invalid pixels", "give numbers from 0, one for each axis: x, y, z"):
        numbers = [np.asarray(pixel, dtype=np.float64) for pixel in pixels]
    if not 1 <= len(numbers) <= coordinates.ndim:
        raise usage(
            f"{coordinates.where}: {len(numbers)} pixel numbers for {coordinates.ndim} axes",
            "give x, y, z: pixels along NAXIS1, NAXIS2, NAXIS3, from 0",
        )
    objects: list[Any] = []
    sky = coordinates.sky
    if sky is not None and max(sky.axes) <= len(numbers):
        at = [numbers[axis - 1] for axis in sky.axes]
        objects.append(sky.positions(*at))
    number = _spectral_number(coordinates)
    if number is not None and coordinates.ndim - number <= len(numbers):
        axis = coordinates.axis(number)
        values = axis.values(numbers[coordinates.ndim - number - 1])
        objects.append(u.Quantity(values, fits_unit(axis.unit, SPECTRAL) or u.one))
    if not objects:
        raise usage(
            f"{coordinates.where}: the first {len(numbers)} axes have no sky position and no "
            "spectral coordinate",
            "give a pixel number for each axis, or see image.wcs",
        )
    return objects[0] if len(objects) == 1 else tuple(objects)


def pixel_of(
    coordinates: Coordinates, shape: Sequence[int], position: Any, spectral: Any, line: Line
) -> tuple[Any, ...]:
    """Return the pixels of a sky position and a spectral coordinate: see `world_to_pixel`.

    Raises
    ------
    UsageError
        The image has no such axes, or its axes do not convert to that unit.
    """
    pixels: list[Any] = [np.nan] * coordinates.ndim
    if position is not None:
        sky = coordinates.sky
        if sky is None:
            raise usage(f"{coordinates.where}: the image has no sky coordinates", "use pixels")
        with foreign_errors(f"invalid sky position {position!r}", "give an astropy SkyCoord"):
            for fits_axis, pixel in zip(sky.axes, sky.pixels_of(position), strict=True):
                pixels[fits_axis - 1] = pixel[()]
    if spectral is not None:
        number = _spectral_number(coordinates)
        if number is None:
            raise usage(f"{coordinates.where}: the image has no spectral axis", "use pixels")
        axis = coordinates.usable_axis(number, shape[number])
        hint = 'give a number with a unit: "120 km/s", or an astropy quantity'
        with foreign_errors(f"invalid spectral coordinate {spectral!r}", hint):
            quantity = asked_quantity(spectral, SPECTRAL, default=axis.unit)
            unit = text_of_unit(quantity.unit)
            target = Line(unit, line.rest, line.convention, line.rest_medium)
            values = np.asarray(quantity.value, dtype=np.float64)
            pixels[axis.number - 1] = _inverse(coordinates, axis, shape[number], values, target)
    return tuple(pixels)


def _spectral_number(coordinates: Coordinates) -> int | None:
    """Return the NumPy number of the spectral axis; None if it has no coordinates."""
    number = coordinates.spectral_axis
    return None if number is None or not coordinates.axis(number).has_coordinate else number


def _inverse(
    coordinates: Coordinates, axis: Axis, length: int, values: NDArray[np.float64], line: Line
) -> Any:
    """Return the pixels of values along an axis, by Newton's method from the nearest pixel."""

    def at(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
        values = axis.values(pixels)
        # A redshift has no unit.
        return values if line.unit is None else converted(axis, coordinates, values, line)

    numbers = pixel_numbers(0, length, 1)
    samples = at(numbers)
    order = np.argsort(samples)
    pixels = np.interp(values, samples[order], numbers[order])
    for _ in range(_STEPS):
        slope = at(pixels + 0.5) - at(pixels - 0.5)
        with np.errstate(invalid="ignore", divide="ignore"):
            pixels = pixels - (at(pixels) - values) / slope
    return pixels[()]
