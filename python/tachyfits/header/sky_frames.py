"""Frames of the sky, by astropy, and world coordinates that name those that astropy takes for ICRS.

WCSLIB gives ecliptic axes a RADESYS, of their equator, and astropy makes it their frame; it has no
frame for supergalactic ones. This module is imported when coordinates of such axes are used.
"""

from __future__ import annotations

import math
from typing import Any

import astropy.units as u
from astropy.coordinates import BarycentricMeanEcliptic, SkyCoord, Supergalactic
from astropy.time import Time
from astropy.wcs import WCS
from astropy.wcs.utils import wcs_to_celestial_frame

from tachyfits.text.axes import NAMED_SKIES

#: Systems of the equator for which astropy has the ecliptic.
_SYSTEMS = ("", "ICRS", "FK5")


class NamedWCS(WCS):  # type: ignore[misc] # Any, without astropy's types
    """World coordinates whose positions are in the frame that their CTYPE names."""

    @property
    def world_axis_object_components(self) -> Any:
        """Which part of which object each axis is: see astropy."""
        found = list(super().world_axis_object_components)
        longitude, latitude = (self.wcs.cunit[n] for n in (self.wcs.lng, self.wcs.lat))
        found[self.wcs.lng] = ("celestial", 0, lambda at: at.spherical.lon.to_value(longitude))
        found[self.wcs.lat] = ("celestial", 1, lambda at: at.spherical.lat.to_value(latitude))
        return found

    @property
    def world_axis_object_classes(self) -> Any:
        """How each of these objects is made: see astropy."""
        names = {name for name, _, _ in self.world_axis_object_components}
        found = {k: v for k, v in super().world_axis_object_classes.items() if k in names}
        units = tuple(u.Unit(self.wcs.cunit[n]) for n in (self.wcs.lng, self.wcs.lat))
        found["celestial"] = (SkyCoord, (), {"frame": frame_of(self), "unit": units})
        return found


def frame_of(wcs: WCS) -> Any:
    """Return the frame of the celestial axes.

    Raises
    ------
    ValueError
        astropy has none.
    """
    name = wcs.wcs.ctype[wcs.wcs.lng][:4]
    if name not in NAMED_SKIES:
        return wcs_to_celestial_frame(wcs)
    if name == "SLON":
        return Supergalactic()
    system, equinox = wcs.wcs.radesys, wcs.wcs.equinox
    if name == "ELON" and system in _SYSTEMS:
        known = system == "FK5" and math.isfinite(equinox)
        return BarycentricMeanEcliptic(equinox=Time(equinox if known else 2000.0, format="jyear"))
    raise ValueError(f"astropy has no frame for {name} of {system or 'no RADESYS'}")
