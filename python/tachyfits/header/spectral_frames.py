"""Spectral reference frames: how a frequency changes with the motion of the observer.

Velocities of frames are astropy's. The direction is the reference position of the image, the place
of the observatory and the time are the header's.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import either, foreign_errors, usage
from tachyfits.text.spectral_ranges import SPECTRAL_FRAMES, SpectralRange

if TYPE_CHECKING:
    from tachyfits.header.coordinates import Coordinates

#: Names of frames in astropy; the observatory itself has none.
_FRAMES = {
    "GEOCENT": "gcrs", "BARYCENT": "icrs", "HELIOCEN": "hcrs", "LSRK": "lsrk", "LSRD": "lsrd",
}  # fmt: skip
#: Frames that AIPS writes after a hyphen in CTYPE, and as VELREF (less 256 for radio velocities),
#: as WCSLIB reads them.
_OF_CTYPE = {"LSR": "LSRK", "HEL": "BARYCENT", "OBS": "TOPOCENT", "GEO": "GEOCENT"}
_OF_VELREF = {1: "LSRK", 2: "BARYCENT", 3: "TOPOCENT", 4: "LSRD", 5: "GEOCENT"}


def frame_of(coordinates: Coordinates) -> str | None:
    """Return the spectral frame of a header: SPECSYS, or as AIPS writes it; None without any."""
    system = coordinates.cards.optional("SPECSYS")
    if system:
        return SPECTRAL_FRAMES.get(str(system).strip().upper(), str(system).strip().upper())
    for ctype in coordinates.ctypes:
        code = ctype.upper()[5:8]
        if ctype.upper()[:4] in ("VELO", "FELO") and code in _OF_CTYPE:
            return _OF_CTYPE[code]
    velref = coordinates.velref
    return None if velref is None else _OF_VELREF.get(velref % 256)


def frequency_factor(coordinates: Coordinates, asked: SpectralRange) -> float:
    """Return the frequency in the frame of a range of a signal of 1 in the frame of the axis.

    Raises
    ------
    UsageError
        The header does not say what the conversion needs.
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
    known = coordinates.frame_factors
    if asked.location is None and (own, to) in known:
        return known[own, to]
    with foreign_errors(f"{where}: {asked} cannot be converted from {own}", "leave the frame out"):
        found = _factor(coordinates, own, to, asked.location)
    if asked.location is None:
        known[own, to] = found
    return found


def _factor(coordinates: Coordinates, own: str, to: str, location: Any) -> float:
    import astropy.units as u
    from astropy.coordinates import ICRS, CartesianDifferential, SkyCoord, SpectralCoord
    from astropy.utils.exceptions import AstropyWarning

    sky = coordinates.sky
    assert sky is not None
    longitude, latitude = sky.position
    target = SkyCoord(longitude * u.deg, latitude * u.deg, frame=sky.astropy_frame).icrs
    target = SkyCoord(target.ra, target.dec, distance=1 * u.Mpc, frame="icrs")
    if {"TOPOCENT", "GEOCENT"} & {own, to}:
        observer = _observatory(coordinates, {own, to}, location)
    else:
        still = CartesianDifferential(*(0, 0, 0) * u.km / u.s)
        origin = ICRS(x=0 * u.km, y=0 * u.km, z=0 * u.km, representation_type="cartesian")
        observer = origin.realize_frame(origin.cartesian.with_differentials(still))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AstropyWarning)
        given = SpectralCoord(1.0 * u.GHz, observer=observer, target=target)
        found = [
            1.0 if name == "TOPOCENT"
            else float(given.with_observer_stationary_relative_to(_FRAMES[name]).to_value(u.GHz))
            for name in (own, to)
        ]  # fmt: skip
    return found[1] / found[0]


def _observatory(coordinates: Coordinates, frames: set[str], location: Any) -> Any:
    """Return the place of the observatory at the time of the observation, by astropy."""
    import astropy.units as u
    from astropy.coordinates import EarthLocation
    from astropy.time import Time

    cards, header = coordinates.cards, coordinates.header
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
    days = next(
        (value for key in ("MJD-AVG", "MJD-OBS") if (value := cards.optional(key)) is not None),
        None,
    )
    date = header.get("DATE-AVG") or header.get("DATE-OBS")
    if days is None and not isinstance(date, str):
        raise usage(
            f"{coordinates.where}: the time of the observation is not in the header (DATE-OBS)",
            "leave the frame out, or add DATE-OBS or MJD-OBS",
        )
    time = Time(date, scale="utc") if days is None else Time(days, format="mjd", scale="utc")
    return location.get_itrs(obstime=time)
