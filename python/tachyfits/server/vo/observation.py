"""Observations: position, time and wavelengths of a dataset, in the terms of ObsCore.

All numbers are computed from headers. Unknown numbers are None and never match a query.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import tachyfits as tf
from tachyfits import Beam, SpectralRange
from tachyfits.base import foreign_errors
from tachyfits.header import (
    Coordinates,
    Line,
    Sky,
    converted,
    frequency_factor,
    pixel_numbers,
    polarisations_of,
)
from tachyfits.server.view import View
from tachyfits.server.vo.times import exposure_of, times_of
from tachyfits.text import LIGHT, pixel_unit, stokes_name

#: Number of points along each side of an image to measure its footprint.
_POINTS = 16
_ARCSEC = 3600.0

#: Units of fluxes: per frequency, integrated or per wavelength; per area; optionally per velocity.
_FLUXES = tuple(
    f"{flux}{area}{line}"
    for flux in ("Jy", "W m-2", "W m-3")
    for area in ("", " beam-1", " pix-1", " sr-1")
    for line in ("", " m s-1")
)


@dataclass(frozen=True)
class Observation:
    """Description of a dataset by ObsCore, in the units of its columns.

    ``corners``: longitude and latitude of the corners of the image, ICRS. ``barycentric``: whether
    ``em_min`` and ``em_max`` are barycentric; else they are in the frame of the axis.
    """

    dataproduct_type: str
    target_name: str | None
    obs_title: str | None
    s_ra: float | None
    s_dec: float | None
    s_fov: float | None
    corners: tuple[tuple[float, float], ...] | None
    s_resolution: float | None
    s_xel1: int
    s_xel2: int
    t_min: float | None
    t_max: float | None
    t_exptime: float | None
    em_min: float | None
    em_max: float | None
    em_xel: int | None
    em_res_power: float | None
    barycentric: bool
    o_ucd: str | None
    pol_states: tuple[str, ...]
    facility_name: str | None
    instrument_name: str | None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Observation:
        """Return an observation from the result of `as_dict`."""
        corners = values["corners"] and tuple((x, y) for x, y in values["corners"])
        return cls(**{**values, "corners": corners, "pol_states": tuple(values["pol_states"])})

    @property
    def region(self) -> str | None:
        """The corners as a polygon of DALI, counter-clockwise seen from inside the sphere."""
        if self.corners is None:
            return None
        return " ".join(f"{number:.10g}" for corner in self.corners for number in corner)


def observation_of(view: View) -> Observation:
    """Return the description of an image from its header."""
    header, cube = view.image.header, view.cube
    coordinates = cube.coordinates
    sky = _known(lambda: _sky(coordinates, view.width, view.height)) or _Footprint()
    band = _known(lambda: _band(coordinates, cube.shape)) or _Band()
    times = _known(lambda: times_of(header))
    states = _known(lambda: polarisations_of(coordinates, cube.shape, "")[1]) or []
    beam = _known(lambda: view.image.beam)
    return Observation(
        dataproduct_type="cube" if view.channels > 1 else "image",
        target_name=_text(header.get("OBJECT")),
        obs_title=_text(header.get("TITLE")),
        s_ra=sky.longitude,
        s_dec=sky.latitude,
        s_fov=sky.diameter,
        corners=sky.corners,
        s_resolution=_ARCSEC * math.sqrt(beam.major * beam.minor)
        if isinstance(beam, Beam)
        else None,
        s_xel1=view.width,
        s_xel2=view.height,
        t_min=times[0] if times else None,
        t_max=times[1] if times else None,
        t_exptime=exposure_of(header),
        em_min=band.low,
        em_max=band.high,
        em_xel=band.count,
        em_res_power=band.power,
        barycentric=band.barycentric,
        o_ucd=_ucd(view.image.unit),
        pol_states=tuple(
            name for value in states if not (name := stokes_name(value)).lstrip("-").isdigit()
        ),
        facility_name=_text(header.get("TELESCOP") or header.get("OBSERVAT")),
        instrument_name=_text(header.get("INSTRUME")),
    )


@dataclass(frozen=True)
class _Footprint:
    longitude: float | None = None
    latitude: float | None = None
    diameter: float | None = None
    corners: tuple[tuple[float, float], ...] | None = None


@dataclass(frozen=True)
class _Band:
    low: float | None = None
    high: float | None = None
    count: int | None = None
    power: float | None = None
    barycentric: bool = False


def _known(part: Any) -> Any:
    """Call a function and return its result; None if the header has errors."""
    try:
        return part()
    except tf.TachyfitsError:
        return None


def _text(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None


def _sky(coordinates: Coordinates, width: int, height: int) -> _Footprint:
    """Return the centre and corners of the image and the diameter of its circle (ICRS, degrees)."""
    sky = coordinates.sky
    if sky is None:
        return _Footprint()
    x0, x1, y0, y1 = -0.5, width - 0.5, -0.5, height - 0.5
    along = np.linspace(0.0, 1.0, _POINTS, endpoint=False)
    x = np.concatenate([x0 + (x1 - x0) * along, np.full(_POINTS, x1),
                        x1 - (x1 - x0) * along, np.full(_POINTS, x0), [(x0 + x1) / 2]])  # fmt: skip
    y = np.concatenate([np.full(_POINTS, y0), y0 + (y1 - y0) * along,
                        np.full(_POINTS, y1), y1 - (y1 - y0) * along, [(y0 + y1) / 2]])  # fmt: skip
    with foreign_errors("the footprint cannot be evaluated", "correct the header"):
        longitudes, latitudes = _icrs(sky, x, y)
        if not np.isfinite([longitudes[-1], latitudes[-1]]).all():
            return _Footprint()
        centre = float(longitudes[-1]), float(latitudes[-1])
        if not (np.isfinite(longitudes).all() and np.isfinite(latitudes).all()):
            # Corners are outside the projection: use the whole sky as the footprint.
            return _Footprint(*centre, 360.0)
    (lon, lat), (lon0, lat0) = np.radians([longitudes, latitudes]), np.radians(centre)
    # Chords are accurate for small angles.
    directions = np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    chord = float(np.linalg.norm(directions[:, :-1] - directions[:, -1:], axis=0).max())
    radius = math.degrees(2 * math.asin(min(1.0, chord / 2)))
    # The position angles of two corners give the orientation.
    lon, lat = lon[: 2 * _POINTS : _POINTS] - lon0, lat[: 2 * _POINTS : _POINTS]
    north = np.sin(lat) * np.cos(lat0) - np.cos(lat) * np.sin(lat0) * np.cos(lon)
    angles = np.arctan2(np.sin(lon) * np.cos(lat), north)
    corners = [(float(longitudes[n]), float(latitudes[n])) for n in range(0, 4 * _POINTS, _POINTS)]
    # Position angles increase from north to east: counter-clockwise seen from inside.
    if math.sin(float(angles[1] - angles[0])) < 0:
        corners.reverse()
    return _Footprint(*centre, 2 * radius, tuple(corners))


def _icrs(sky: Sky, x: Any, y: Any) -> tuple[Any, Any]:
    """Return the longitudes and latitudes of pixels (ICRS, degrees)."""
    longitudes, latitudes = sky.degrees(x, y)
    if sky.astropy_frame.name == "icrs":
        return longitudes % 360.0, latitudes
    from astropy import units as u
    from astropy.coordinates import SkyCoord

    positions = SkyCoord(longitudes * u.deg, latitudes * u.deg, frame=sky.astropy_frame).icrs
    return positions.ra.deg, positions.dec.deg


def _band(coordinates: Coordinates, shape: tuple[int, ...]) -> _Band:
    """Return the vacuum wavelengths of the spectral axis, barycentric if they can be converted."""
    number = coordinates.spectral_axis
    if number is None:
        return _Band()
    count = shape[number]
    axis = coordinates.usable_axis(number, count)
    if not axis.has_coordinate:
        return _Band()
    factor, barycentric = 1.0, True
    try:
        factor = frequency_factor(coordinates, SpectralRange(1.0, None, "Hz", "BARYCENT"))
    except tf.UsageError:
        barycentric = False
    edges = axis.values(pixel_numbers(0, count + 1, 1) - 0.5)
    with foreign_errors("the spectral axis has no wavelengths", "correct the header"):
        hertz = converted(axis, coordinates, edges, Line("Hz"), factor)
        waves = LIGHT / hertz
    if not np.isfinite(waves).all() or not (waves > 0).all():
        return _Band()
    widths = np.abs(np.diff(waves))
    power = float(np.median(waves[:-1])) / float(np.median(widths)) if widths.all() else None
    return _Band(float(waves.min()), float(waves.max()), count, power, barycentric)


@functools.lru_cache(maxsize=512)
def _ucd(text: str | None) -> str | None:
    """Return the UCD of the pixels from their unit: a flux density or a temperature, else None.

    >>> [_ucd(text) for text in ("MJY/SR", "nJy", "10**-20 erg/s/cm**2", "KELVIN", "erg", None)]
    ['phot.flux.density', 'phot.flux.density', 'phot.flux.density', 'phys.temperature', None, None]
    """
    # In capitals the prefix is ambiguous; it does not matter here.
    unprefixed = re.sub(r"\b[A-Z]?JY\b", "Jy", text or "", flags=re.IGNORECASE)
    unit = pixel_unit(unprefixed) if unprefixed.strip() else None
    if unit is None:
        return None
    if unit.is_equivalent("K"):
        return "phys.temperature"
    return "phot.flux.density" if any(map(unit.is_equivalent, _FLUXES)) else None
