"""Spectral reference frames: how a frequency changes with the motion of the observer.

Frame velocities come from astropy. The direction is the reference position of the image; the
observatory and the time come from the header.
"""

from __future__ import annotations

import functools
import math
import warnings
from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import either, foreign_errors, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.header.times import BEGIN, MIDDLE, stated_time, time_of
from tachyfits.text.axes import coordinate_type
from tachyfits.text.spectral_ranges import SPECTRAL_FRAMES, SpectralRange

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tachyfits.header.coordinates import Coordinates

#: astropy names of frames; the observatory itself has none.
_FRAMES = {
    "GEOCENT": "gcrs", "BARYCENT": "icrs", "HELIOCEN": "hcrs", "LSRK": "lsrk", "LSRD": "lsrd",
}  # fmt: skip
#: Frames that AIPS writes after a hyphen in CTYPE, and as VELREF (less 256 for radio velocities),
#: interpreted as in WCSLIB.
_OF_CTYPE = {"LSR": "LSRK", "HEL": "BARYCENT", "OBS": "TOPOCENT", "GEO": "GEOCENT"}
_OF_VELREF = {1: "LSRK", 2: "BARYCENT", 3: "TOPOCENT", 4: "LSRD", 5: "GEOCENT"}


def frame_of(coordinates: Coordinates) -> str | None:
    """Return the spectral frame of a header: SPECSYS, or the AIPS form; None if it has neither."""
    system = coordinates.cards.optional("SPECSYS")
    if system:
        return SPECTRAL_FRAMES.get(str(system).strip().upper(), str(system).strip().upper())
    for ctype in coordinates.ctypes:
        name, code = coordinate_type(ctype)
        if name in ("VELO", "FELO") and code in _OF_CTYPE:
            return _OF_CTYPE[code]
    velref = coordinates.velref
    return None if velref is None else _OF_VELREF.get(velref % 256)


def frequency_factor(coordinates: Coordinates, asked: SpectralRange) -> float:
    """Return the factor that converts a frequency from the axis frame to the frame of a range.

    Raises
    ------
    UsageError
        The header lacks the data for the conversion.
    """
    if asked.frame is None:
        return 1.0
    to = SPECTRAL_FRAMES[asked.frame.upper()]
    own = frame_of(coordinates)
    if own == to:
        return 1.0
    where = coordinates.where
    if own is None:
        raise usage(
            f"{where}: the header does not name the frame of its spectral axis (SPECSYS), so "
            f"{asked} cannot be converted",
            "leave the frame out (in place of a BAND: 0.21..0.22 m), or add SPECSYS to the header",
        )
    sky = coordinates.sky
    if own not in (*_FRAMES, "TOPOCENT") or sky is None:
        problem = f"SPECSYS {own!r} is not known" if sky else "the image has no sky coordinates"
        raise usage(
            f"{where}: {asked} cannot be converted: {problem}",
            "leave the frame out, and give the numbers in the frame of the axis",
        )
    cache = coordinates.frame_factors
    if asked.location is None and (own, to) in cache:
        return cache[own, to]
    with foreign_errors(f"{where}: {asked} cannot be converted from {own}", "leave the frame out"):
        factor = _factor(coordinates, own, to, asked.location)
    if asked.location is None:
        cache[own, to] = factor
    return factor


def _factor(coordinates: Coordinates, own: str, to: str, location: Any) -> float:
    import astropy.units as u
    from astropy.coordinates import SkyCoord

    sky = coordinates.sky
    assert sky is not None
    longitude, latitude = sky.position
    frame = sky.astropy_frame
    if frame.name != "icrs":
        place = SkyCoord(longitude * u.deg, latitude * u.deg, frame=frame).icrs
        longitude, latitude = place.ra.deg, place.dec.deg
    if not {"TOPOCENT", "GEOCENT"} & {own, to}:
        return _shift(to, longitude, latitude) / _shift(own, longitude, latitude)
    observer = _observatory(coordinates, {own, to}, location)
    shifts = [
        1.0 if name == "TOPOCENT" else _shift_by_astropy(name, longitude, latitude, observer)
        for name in (own, to)
    ]
    return shifts[1] / shifts[0]


def _shift(frame: str, longitude: float, latitude: float) -> float:
    """Return the frequency, in a frame of constant velocity, of a signal of 1 at the barycentre.

    The velocities are from astropy, which takes tens of milliseconds for each direction.
    """
    x, y = np.radians(longitude), np.radians(latitude)
    direction = np.array([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)])
    beta = float(_velocity(frame) @ direction)
    return math.sqrt((1 + beta) / (1 - beta))


@functools.cache
def _velocity(frame: str) -> NDArray[np.float64]:
    """Return the velocity of a frame in ICRS, relative to light, with the sign of shifts."""
    axes = ((0.0, 0.0), (90.0, 0.0), (0.0, 90.0))
    squares = np.array([_shift_by_astropy(frame, *axis, None) for axis in axes]) ** 2
    return np.asarray((squares - 1) / (squares + 1))


def _shift_by_astropy(frame: str, longitude: float, latitude: float, observer: Any) -> float:
    """Return the frequency in a frame of a signal of 1 for an observer; None: at the barycentre.

    Examples
    --------
    >>> round(_shift_by_astropy("LSRK", 271.0, 30.0, None), 7)  # towards the solar apex: 20 km/s
    0.9999333
    """
    import astropy.units as u
    from astropy.coordinates import ICRS, CartesianDifferential, SkyCoord, SpectralCoord
    from astropy.utils.exceptions import AstropyWarning

    target = SkyCoord(longitude * u.deg, latitude * u.deg, distance=1 * u.Mpc, frame="icrs")
    if observer is None:
        still = CartesianDifferential(*(0, 0, 0) * u.km / u.s)
        origin = ICRS(x=0 * u.km, y=0 * u.km, z=0 * u.km, representation_type="cartesian")
        observer = origin.realize_frame(origin.cartesian.with_differentials(still))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AstropyWarning)
        coordinate = SpectralCoord(1.0 * u.GHz, observer=observer, target=target)
        moved = coordinate.with_observer_stationary_relative_to(_FRAMES[frame])
    return float(moved.to_value(u.GHz))


def _observatory(coordinates: Coordinates, frames: set[str], location: Any) -> Any:
    """Return the position of the observatory at the time of the observation, from astropy."""
    import astropy.units as u
    from astropy.coordinates import EarthLocation

    cards = coordinates.cards
    if location is None:
        metres = [cards.optional(f"OBSGEO-{axis}") for axis in "XYZ"]
        if None not in metres:
            location = EarthLocation.from_geocentric(*metres, unit=u.m)
        elif "TOPOCENT" in frames:
            raise usage(
                f"{coordinates.where}: the place of the observatory is not in the header "
                "(OBSGEO-X, OBSGEO-Y, OBSGEO-Z)",
                either(
                    "give it: tf.SpectralRange(low, high, unit, frame=..., location=EarthLocation)",
                    "leave the frame out, or add these cards: tachyfits header FILE --set",
                    "leave the frame out",
                ),
            )
        else:
            # The frame of the centre of the Earth.
            location = EarthLocation.from_geocentric(0.0, 0.0, 6.4e6, unit=u.m)
    stated = stated_time(cards.optional, (*MIDDLE, *BEGIN))
    if stated is None:
        raise usage(
            f"{coordinates.where}: the time of the observation is not in the header (DATE-OBS)",
            "leave the frame out, or add DATE-OBS or MJD-OBS",
        )
    return location.get_itrs(obstime=time_of(*stated))
