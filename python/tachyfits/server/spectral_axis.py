"""The requested form of the spectral axis: unit, rest frequency, redshift and reference frame.

`tachyfits.header` converts the coordinates. A redshift moves the line that velocities refer to, but
does not change frequencies and wavelengths. A change of frame multiplies frequencies by a factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from fastapi import Depends, Query
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits.header import (
    Channels,
    Coordinates,
    Line,
    channels_of,
    converted,
    frame_of,
    frequency_factor,
    pixel_numbers,
    rest_frequency_of,
)
from tachyfits.server.errors import RequestError
from tachyfits.server.parameters import Convention, Rest, Unit, line_of
from tachyfits.text import SPECTRAL, fits_unit

#: Reference frames that a request can name (Standard, table 27).
FRAMES = ("TOPOCENT", "GEOCENT", "BARYCENT", "HELIOCEN", "LSRK", "LSRD")

#: Maximum redshift: recombination, before which no line was emitted.
MOST_REDSHIFT = 1100.0

Redshift = Annotated[
    float | None,
    Query(
        gt=-1,
        le=MOST_REDSHIFT,
        allow_inf_nan=False,
        description="Redshift of the source: velocities in a requested unit are about the line at "
        "this redshift, the rest frequency / (1 + z). Other coordinates stay as observed.",
    ),
]
Frame = Annotated[
    str | None,
    Query(
        pattern=f"^({'|'.join(FRAMES)})$",
        description="Reference frame of the coordinates; without it the frame of the header.",
    ),
]


@dataclass(frozen=True)
class AxisForm:
    """Requested form of the spectral axis; also part of the cache key.

    Attributes
    ----------
    unit, rest, convention
        As in `tachyfits.header.Line`.
    redshift
        Redshift of the source; None: 0.
    frame
        Reference frame; None: the frame of the header.
    """

    unit: str | None = None
    rest: str | None = None
    convention: str | None = None
    redshift: float | None = None
    frame: str | None = None

    def line(self, coordinates: Coordinates, number: int) -> Line:
        """Return the unit and the line that velocities refer to.

        Parameters
        ----------
        number
            NumPy number of the spectral axis.

        Raises
        ------
        UsageError
            A redshift is given, but neither the request nor the header has a rest frequency.
        """
        line = line_of(self.unit, self.rest, self.convention)
        if not self.redshift or not is_velocity(self.unit):
            return line
        rest_frequency = rest_frequency_of(coordinates.axis(number), coordinates, line)
        return replace(line, rest=f"{float(rest_frequency.value) / (1 + self.redshift)!r} Hz")

    def channels(self, coordinates: Coordinates, number: int, count: int) -> Channels:
        """Return the channels of an axis (by its NumPy number) of ``count`` pixels."""
        line = self.line(coordinates, number)
        channels = channels_of(coordinates, number, (0, count, 1), line)
        factor = self.factor(coordinates)
        if factor == 1.0:
            return channels
        pixels = pixel_numbers(0, count, 1)
        ends = [self.values(coordinates, number, pixels + side) for side in (-0.5, 0.5)]
        return replace(
            channels,
            values=self.values(coordinates, number, pixels),
            widths=np.abs(ends[1] - ends[0]),
            described=None,
        )

    def values(
        self, coordinates: Coordinates, number: int, pixels: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return coordinates at pixels, 0-based and possibly fractional."""
        axis = coordinates.axis(number)
        line = self.line(coordinates, number)
        factor = self.factor(coordinates)
        if line.unit is None:
            if factor == 1.0:
                return axis.values(pixels)
            line = replace(line, unit=axis.unit)
        return converted(axis, coordinates, axis.values(pixels), line, factor)

    def factor(self, coordinates: Coordinates) -> float:
        """Return the factor from frequencies in the header's frame to the requested frame."""
        return 1.0 if self.frame is None else frame_factor(coordinates, self.frame)


def frame_factor(coordinates: Coordinates, frame: str) -> float:
    """Return the factor from frequencies in the header's frame to another frame.

    Raises
    ------
    UsageError
        The header lacks information for the conversion.
    """
    return frequency_factor(coordinates, tf.SpectralRange(None, None, "the axis in", frame=frame))


def spectral_number(cube: tf.Image) -> int:
    """Return the NumPy number of the channel axis of a cube.

    Raises
    ------
    RequestError
        The image has fewer than three axes.
    """
    if cube.ndim < 3:
        raise RequestError("the image has no spectral axis")
    return cube.ndim - 3


def is_velocity(unit: str | None) -> bool:
    """Return whether a unit is a velocity.

    >>> is_velocity("km/s"), is_velocity("GHz"), is_velocity(None)
    (True, False, False)
    """
    parsed = None if unit is None else fits_unit(unit, SPECTRAL)
    return parsed is not None and bool(parsed.is_equivalent("m/s"))


def spectral_facts(
    image: tf.Image, coordinates: Coordinates, number: int, hidden: Callable[[str], str]
) -> dict[str, Any]:
    """Describe the spectral axis of a header, and the frames it can be converted to.

    ``hidden`` replaces paths by IDs.
    """
    axis = coordinates.axis(number)
    return {
        "name": axis.name,
        "unit": axis.unit,
        "is_spectral": axis.is_spectral,
        "is_velocity": is_velocity(axis.unit),
        "rest_hz": coordinates.rest_frequency(),
        "redshift": source_redshift(image),
        "frame": frame_of(coordinates),
        "frames": [_described(coordinates, frame, hidden) for frame in FRAMES]
        if axis.is_spectral
        else [],
    }


def source_redshift(image: tf.Image) -> float | None:
    """Return the redshift of the source from the header (ZSOURCE)."""
    redshift = image.header.get("ZSOURCE")
    is_number = isinstance(redshift, (int, float)) and not isinstance(redshift, bool)
    return redshift if is_number and -1 < redshift <= MOST_REDSHIFT else None


def _described(
    coordinates: Coordinates, frame: str, hidden: Callable[[str], str]
) -> dict[str, Any]:
    """Return the factor of a frame, or the reason why it cannot be computed."""
    try:
        return {"name": frame, "factor": frame_factor(coordinates, frame), "problem": None}
    except tf.TachyfitsError as error:
        problem = hidden(str(error).partition("\nhint: ")[0])
        return {"name": frame, "factor": None, "problem": problem}


async def _axis_form(
    unit: Unit = None,
    rest: Rest = None,
    convention: Convention = None,
    redshift: Redshift = None,
    frame: Frame = None,
) -> AxisForm:
    return AxisForm(unit, rest, convention, redshift, frame)


#: The unit, the rest frequency, the convention, the redshift and the frame.
AskedAxis = Annotated[AxisForm, Depends(_axis_form)]
