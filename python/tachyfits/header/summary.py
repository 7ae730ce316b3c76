"""Summary of an image's coordinates: for lists of files, statistics and notebooks.

It evaluates linear axes from their cards, so that a list of files rarely imports astropy; WCSLIB
evaluates axes that are not linear, and the sky far from the reference pixel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tachyfits._core import TachyfitsError
from tachyfits.base.boundary import public
from tachyfits.base.lazy_numpy import np
from tachyfits.header.beam import Beam, Beams, beams_of
from tachyfits.header.coordinates import Coordinates
from tachyfits.header.frame_names import SYSTEMS

if TYPE_CHECKING:
    from tachyfits.file.image_hdu import ImageHdu

_T = TypeVar("_T")


@dataclass(frozen=True)
class SkyPosition:
    """The sky at one pixel: the reference pixel, or the centre of the image if that is outside.

    Attributes
    ----------
    longitude, latitude
        Degrees.
    frame
        RADESYS ("ICRS", "FK5", ...) or the system that CTYPE names ("galactic", "HPLN", ...).
    pixel
        The pixel of the position, in FITS order and counted from 1.
    scale
        Degrees from one pixel to the next at the reference pixel, along the two axes in FITS order.
    """

    longitude: float
    latitude: float
    frame: str
    pixel: tuple[float, float]
    scale: tuple[float, float]


@dataclass(frozen=True)
class SpectralExtent:
    """Extent of the spectral axis.

    Attributes
    ----------
    name, unit
        CTYPE and unit of the coordinate.
    first, last
        Coordinates of the first and the last channel.
    step
        Step from one channel to the next; None if it varies.
    """

    name: str
    unit: str
    first: float
    last: float
    step: float | None


@dataclass(frozen=True)
class BeamRange:
    """The range of the channels' beams.

    Attributes
    ----------
    count
        Number of channels, times polarisations, with a usable beam.
    smallest, largest
        Beams with the smallest and the largest solid angle.
    """

    count: int
    smallest: Beam
    largest: Beam


@public
@dataclass(frozen=True)
class CoordinateSummary:
    """Summary of the coordinates of an image.

    Attributes
    ----------
    sky
        Position and scale; None without sky coordinates.
    spectral
        Extent of the spectral axis, or None.
    beam
        Full widths and position angle, degrees; None without a beam.
    beams
        Range of the beams in the table BEAMS; None if all channels have the same beam.
    rest_frequency
        Rest frequency in Hz; None if the header gives none.
    problems
        Invalid cards, each with its value.
    """

    sky: SkyPosition | None
    spectral: SpectralExtent | None
    beam: Beam | None
    rest_frequency: float | None
    problems: tuple[str, ...]
    beams: BeamRange | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as dictionaries, as in JSON."""
        return asdict(self)

    def __str__(self) -> str:
        parts = []
        if self.sky is not None:
            sky = self.sky
            x, y = (f"{pixel:.10g}" for pixel in sky.pixel)
            where = _position_text(sky.longitude, sky.latitude, sky.frame)
            parts += [f"{where} at pixel ({x}, {y})", f"pixels {_angles_text(*sky.scale)}"]
        if self.spectral is not None:
            axis = self.spectral
            parts.append(f"{axis.name} {axis.first:.10g} to {axis.last:.10g} {axis.unit}".rstrip())
        if self.beam is not None:
            beam = self.beam
            parts.append(f"beam {_angles_text(beam.major, beam.minor)} at {beam.angle:.4g} deg")
        if self.beams is not None:
            parts.append(f"beams {self.beams.smallest} to {self.beams.largest}")
        if self.rest_frequency is not None:
            parts.append(f"rest frequency {self.rest_frequency / 1e9:.12g} GHz")
        return "; ".join(parts)


def _position_text(longitude: float, latitude: float, frame: str) -> str:
    """Return a position in the usual notation of its frame.

    >>> _position_text(150.0, -2.5, "ICRS"), _position_text(30.25, 1.5, "galactic")
    ('10:00:00.00 -02:30:00.0 (ICRS)', '30.25, +1.5 deg (galactic)')
    """
    if frame not in SYSTEMS or not abs(latitude) <= 90:
        return f"{longitude:.8g}, {latitude:+.8g} deg ({frame})"
    hours = _sexagesimal(longitude % 360 / 15, 2)
    sign = "-" if latitude < 0 else "+"
    return f"{hours} {sign}{_sexagesimal(abs(latitude), 1)} ({frame})"


def _sexagesimal(value: float, digits: int) -> str:
    """Return hours or degrees, minutes and seconds; seconds never round up to 60."""
    units = round(value * 3600 * 10**digits)
    seconds, fraction = divmod(units, 10**digits)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}.{fraction:0{digits}}"


def _angles_text(one: float, other: float) -> str:
    """Return two angles, in degrees, as text in a suitable unit.

    >>> _angles_text(1e-3, 1e-3), _angles_text(0.5, 1.5)
    ('3.6 x 3.6 arcsec', '0.5 x 1.5 deg')
    """
    most = max(one, other)
    factor, unit = (3600, "arcsec") if most < 1 / 30 else (60, "arcmin") if most < 1 else (1, "deg")
    return f"{one * factor:.5g} x {other * factor:.5g} {unit}"


def summary_of(image: ImageHdu) -> CoordinateSummary:
    """Return the summary of an image, as far as its cards allow."""
    problems: list[str] = []
    coordinates = Coordinates(
        image.header, image.ndim, companion=image._companion, tell=problems.append
    )

    def known(part: Callable[[], _T]) -> _T | None:
        try:
            return part()
        except TachyfitsError as error:
            problems.append(str(error).partition("\nhint")[0])
            return None

    sky = known(lambda: _sky_of(coordinates, image.shape))
    spectral = known(lambda: _spectral_of(coordinates, image.shape))
    beams = known(lambda: beams_of(image, coordinates))
    beam = beams if isinstance(beams, Beam) else None
    rest = known(coordinates.rest_frequency)
    several = _range_of(beams) if isinstance(beams, Beams) else None
    unique = tuple(dict.fromkeys(problems))
    return CoordinateSummary(sky, spectral, beam, rest, unique, several)


def _range_of(beams: Beams) -> BeamRange | None:
    areas = beams.solid_angle.reshape(-1)
    usable = np.isfinite(areas)
    if not usable.any():
        return None
    flat = Beams(*(part.reshape(-1) for part in (beams.major, beams.minor, beams.angle)))
    ends = [flat[int(place)] for place in (np.nanargmin(areas), np.nanargmax(areas))]
    return BeamRange(int(usable.sum()), cast(Beam, ends[0]), cast(Beam, ends[1]))


def _sky_of(coordinates: Coordinates, shape: tuple[int, ...]) -> SkyPosition | None:
    sky = coordinates.sky
    if sky is None:
        return None
    if sky.system.problem:
        coordinates.cards.warn_once("RADESYS", sky.system.problem)
    lengths = [shape[len(shape) - axis] for axis in sky.axes]
    inside = all(0.5 <= at <= n + 0.5 for at, n in zip(sky.pixel, lengths, strict=True))
    if inside or 0 in lengths:
        position, pixel = sky.position, sky.pixel
    else:
        pixel = ((lengths[0] + 1) / 2, (lengths[1] + 1) / 2)
        longitude, latitude = sky.degrees(pixel[0] - 1.0, pixel[1] - 1.0)
        position = (float(longitude), float(latitude))
    return SkyPosition(position[0] % 360.0, position[1], sky.frame, pixel, sky.scales)


def _spectral_of(coordinates: Coordinates, shape: tuple[int, ...]) -> SpectralExtent | None:
    number = coordinates.channel_axis
    if number is None:
        return None
    axis = coordinates.usable_axis(number, shape[number])
    if not axis.has_coordinate or shape[number] == 0:
        return None
    first, last = axis.ends(shape[number])
    step = axis.cdelt if axis.is_linear else None
    return SpectralExtent(axis.name, axis.unit, first, last, step)
