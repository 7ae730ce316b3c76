"""The sky in astropy: its frames, and world coordinates in the frame that the header names.

astropy treats ecliptic axes as equatorial because of their RADESYS, has no frame for the Sun and
most planets, and returns NaN for maps that extend beyond half a turn. This module is imported when
the sky of a header is used.
"""

from __future__ import annotations

from typing import Any

import astropy.units as u
import numpy as np
from astropy.coordinates import (
    FK4,
    FK5,
    ICRS,
    ITRS,
    Attribute,
    BarycentricMeanEcliptic,
    BaseCoordinateFrame,
    ConvertError,
    FK4NoETerms,
    FunctionTransform,
    Galactic,
    SkyCoord,
    SphericalRepresentation,
    Supergalactic,
    frame_transform_graph,
)
from astropy.time import Time
from astropy.wcs import WCS
from astropy.wcs.utils import wcs_to_celestial_frame

from tachyfits.header.frame_names import SkySystem
from tachyfits.text.axes import coordinate_type

#: Projections whose longitude is linear in the pixel: they may extend beyond half a turn.
_CYLINDERS = ("CYP", "CEA", "CAR", "MER")
#: Equatorial systems whose ecliptic counterpart astropy has.
_EQUATORS = ("", "ICRS", "FK5")


class HeaderFrame(BaseCoordinateFrame):  # type: ignore[misc] # Any, without astropy's types
    """Longitude and latitude of a system that has no frame in astropy.

    `ImageCoordinates.pixel_to_world` returns a `SkyCoord` in this frame, and `world_to_pixel`
    accepts it: positions of the Sun (HPLN, HGLN, CRLN, ...), of planets and of other systems that a
    CTYPE names. Positions cannot be converted to another system.

    Attributes
    ----------
    system
        CTYPE of the longitude without its projection, "HPLN"; "GAPPT" for positions of the date,
        and the names of ecliptic systems that astropy lacks.
    """

    default_representation = SphericalRepresentation
    system = Attribute(default="", doc="its name: HPLN, GAPPT, ...")


@frame_transform_graph.transform(FunctionTransform, HeaderFrame, HeaderFrame)  # type: ignore[untyped-decorator]
def _same_system(position: Any, frame: Any) -> Any:
    if position.system != frame.system:
        raise ConvertError(f"cannot convert positions of {position.system} to {frame.system}")
    return frame.realize_frame(position.data)


def frame_of(system: SkySystem, wcs: WCS) -> Any:
    """Return the astropy frame of a system, or a `HeaderFrame` if astropy has none.

    Packages may add frames to astropy, as sunpy does for the Sun.

    Raises
    ------
    ValueError
        RADESYS names no known system.
    """
    if system.problem:
        raise ValueError(system.problem)
    name, year = system.name, system.equinox
    if name == "ecliptic" and system.equator not in _EQUATORS:
        return HeaderFrame(system=f"ecliptic of {system.equator}")
    if name == "ecliptic":
        year = year if system.equator == "FK5" and year is not None else 2000.0
        return BarycentricMeanEcliptic(equinox=Time(year, format="jyear"))
    if name == "TLON":
        # The default representation is Cartesian.
        return ITRS(representation_type=SphericalRepresentation, obstime=wcs.wcs.dateobs or None)
    if name in ("FK4", "FK4-NO-E"):
        return (FK4 if name == "FK4" else FK4NoETerms)(equinox=Time(year, format="byear"))
    if name == "FK5":
        return FK5(equinox=Time(year, format="jyear"))
    plain = {"ICRS": ICRS, "galactic": Galactic, "supergalactic": Supergalactic}
    if name in plain:
        return plain[name]()
    registered = _registered(wcs) if name.endswith("LN") else None
    # A frame without positions is falsy.
    return HeaderFrame(system=name) if registered is None else registered


def _registered(wcs: WCS) -> Any:
    """Return the frame that a package has registered for a body, or None."""
    try:
        frame = wcs_to_celestial_frame(wcs)
    except (ValueError, TypeError, NotImplementedError):
        # No package knows the frame, or its class rejects the header's data on the body.
        return None
    # For some planets, whose headers give their radii, astropy has geodetic frames.
    is_spherical = issubclass(frame.representation_type, SphericalRepresentation)
    return frame if is_spherical else None


class SkyWCS(WCS):  # type: ignore[misc] # Any, without astropy's types
    """World coordinates whose positions are in the frame that the header names.

    Cylindrical maps extend beyond half a turn from their reference, and end at their poles.
    """

    _sky_system: SkySystem | None = None

    @property
    def world_axis_object_components(self) -> Any:
        """Object attribute for each axis; see astropy."""
        longitude, latitude = self.wcs.lng, self.wcs.lat
        if longitude < 0 or self._sky_system is None:
            return super().world_axis_object_components
        # astropy raises errors for some planets, whose frames are defined here.
        components: list[Any] = [None, None] if self.naxis == 2 else self._others()
        units = [u.Unit(self.wcs.cunit[n]) for n in (longitude, latitude)]
        components[longitude] = ("celestial", 0, lambda at: at.spherical.lon.to_value(units[0]))
        components[latitude] = ("celestial", 1, lambda at: at.spherical.lat.to_value(units[1]))
        return components

    def _others(self) -> list[Any]:
        return list(super().world_axis_object_components)

    @property
    def world_axis_object_classes(self) -> Any:
        """Constructors of these objects; see astropy."""
        if self.wcs.lng < 0 or self._sky_system is None:
            return super().world_axis_object_classes
        names = {name for name, _, _ in self.world_axis_object_components}
        classes = {} if self.naxis == 2 else super().world_axis_object_classes
        selected = {k: v for k, v in classes.items() if k in names}
        units = tuple(u.Unit(self.wcs.cunit[n]) for n in (self.wcs.lng, self.wcs.lat))
        frame = frame_of(self._sky_system, self)
        selected["celestial"] = (SkyCoord, (), {"frame": frame, "unit": units})
        return selected

    def wcs_pix2world(self, *args: Any, **options: Any) -> Any:
        """Return world coordinates without distortions; see astropy."""
        return self._array_converter(self._linear_pix2world, "output", *args, **options)

    def _all_pix2world(self, pixels: Any, origin: int) -> Any:
        if self._projection not in _CYLINDERS:
            return super()._all_pix2world(pixels, origin)
        flat = self.pix2foc(pixels, origin) if self.has_distortion else pixels
        return self._linear_pix2world(flat, origin)

    def _linear_pix2world(self, pixels: Any, origin: int) -> Any:
        projection = self._projection
        if projection in _CYLINDERS:
            # Copies of a WCS lose this setting. x is linear, so WCSLIB needs no limit.
            self.wcs.bounds_check(False, False)
        result = self.wcs.p2s(pixels, origin)
        if projection == "CAR":
            # Without limits, WCSLIB would continue beyond the poles.
            result["world"][np.abs(result["theta"]) > 90.0 + 1e-9] = np.nan
        return result["world"]

    @property
    def _projection(self) -> str:
        ctypes, longitude = self.wcs.ctype, self.wcs.lng
        return coordinate_type(str(ctypes[longitude]))[1] if longitude >= 0 else ""
