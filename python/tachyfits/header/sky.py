"""The sky of a header: its two celestial axes, and conversion between pixels and positions.

Regions, cuts, paths, pictures and the server get positions from `Sky`, so that distortions, the
frame and the limits of a projection are the same for all of them. WCSLIB evaluates, through
astropy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import either, foreign_errors, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.header.frame_names import SkySystem, sky_system
from tachyfits.text.axes import coordinate_type, is_celestial, is_latitude
from tachyfits.text.units import ANGLE, axis_unit_text, fits_unit

if TYPE_CHECKING:
    import astropy.wcs
    from numpy.typing import NDArray

    from tachyfits.header.coordinates import Coordinates

    Values = NDArray[np.float64]

#: Projections whose longitude is linear in the pixel: a full turn is the same position again.
_CYLINDERS = ("CYP", "CEA", "CAR", "MER")


@dataclass(frozen=True)
class Sky:
    """The two celestial axes.

    Attributes
    ----------
    longitude, latitude
        Numbers of the FITS axes, from 1.
    position
        Longitude and latitude of the reference pixel, degrees.
    pixel
        The reference pixel: along the lower axis and along the higher one, counted from 1.
    rows
        Degrees east and degrees north per pixel of the lower and the higher axis, at the reference
        pixel.
    system
        Frame named by RADESYS and EQUINOX, or by CTYPE.
    """

    longitude: int
    latitude: int
    position: tuple[float, float]
    pixel: tuple[float, float]
    rows: tuple[tuple[float, float], tuple[float, float]]
    system: SkySystem
    coordinates: Coordinates = field(repr=False, compare=False)

    @property
    def frame(self) -> str:
        """Name of the frame: RADESYS, or the system that CTYPE names ("galactic", "HPLN")."""
        return self.system.name

    @property
    def axes(self) -> tuple[int, int]:
        """FITS axes, the lower one first."""
        return min(self.longitude, self.latitude), max(self.longitude, self.latitude)

    @property
    def scales(self) -> tuple[float, float]:
        """Degrees from one pixel to the next along the lower and the higher axis."""
        east, north = self.rows
        return math.hypot(east[0], north[0]), math.hypot(east[1], north[1])

    @cached_property
    def matrix(self) -> Values:
        """``rows`` as an array."""
        return np.array(self.rows)

    @cached_property
    def wcs(self) -> astropy.wcs.WCS:
        """World coordinates of the two axes alone, as an astropy WCS."""
        return self.coordinates.wcs(self.axes)

    @cached_property
    def rotations(self) -> dict[str, Values]:
        """Rotation matrices from other frames, by name; a cache of `header.region_rasters`."""
        return {}

    @cached_property
    def astropy_frame(self) -> Any:
        """Frame of the two axes in astropy.

        Raises
        ------
        UsageError
            RADESYS names no known system.
        """
        from tachyfits.header.sky_frames import frame_of

        problem = f"{self.coordinates.where}: the frame of its sky, {self.frame!r}, is unknown"
        hint = "use pixels, or correct RADESYS: " + either(
            'editor[0].header["RADESYS"] = "ICRS", in tachyfits.edit(path)',
            "tachyfits header FILE --set RADESYS=ICRS",
            "the card RADESYS of the file",
        )
        with foreign_errors(problem, hint):
            return frame_of(self.system, self.wcs)

    def degrees(self, x: Any, y: Any) -> tuple[Values, Values]:
        """Return longitude and latitude of 0-based pixels; NaN where the image has no sky.

        ``x`` is along the lower axis, ``y`` along the higher one.
        """
        wcs = self.wcs
        with foreign_errors(f"{self.coordinates.where}: no sky coordinates", "use pixels"):
            world = wcs.all_pix2world(np.asarray(x, float), np.asarray(y, float), 0)
            longitude, latitude = (
                np.asarray(world[n] * _factor(wcs, n)) for n in (wcs.wcs.lng, wcs.wcs.lat)
            )
        return longitude, latitude

    def positions(self, x: Any, y: Any) -> Any:
        """Return the `SkyCoord` of 0-based pixels, in the frame of the image."""
        import astropy.units as u
        from astropy.coordinates import SkyCoord

        frame = self.astropy_frame
        longitude, latitude = self.degrees(x, y)
        with foreign_errors(f"{self.coordinates.where}: no sky position", "use pixels"):
            return SkyCoord(longitude[()] * u.deg, latitude[()] * u.deg, frame=frame)

    def steps(self, x: Any, y: Any) -> Values:
        """Return the angle from each of the 0-based pixels to the next, in degrees."""
        from astropy.coordinates import angular_separation

        longitude, latitude = (np.radians(angle) for angle in self.degrees(x, y))
        angles = angular_separation(longitude[:-1], latitude[:-1], longitude[1:], latitude[1:])
        return np.asarray(np.degrees(angles))

    def pixels(self, longitude: Any, latitude: Any) -> tuple[Values, Values]:
        """Return the 0-based pixels of degrees in the frame of the image; NaN off its sky.

        On a cylindrical map, which may extend beyond half a turn from its reference, return the
        pixel nearest to the centre of the image.
        """
        from tachyfits.header.sky_inverse import refined

        wcs = self.wcs
        where = f"{self.coordinates.where}: a position cannot be placed"
        with foreign_errors(where, "use pixels"):
            world: list[Any] = [None, None]
            for n, degrees in ((wcs.wcs.lng, longitude), (wcs.wcs.lat, latitude)):
                world[n] = np.asarray(degrees, float) / _factor(wcs, n)
            result = wcs.all_world2pix(*world, 0, quiet=True)
            x, y = (np.asarray(at, dtype=np.float64) for at in result)
            position = np.asarray(longitude, dtype=np.float64), np.asarray(latitude, float)
            x, y = refined(self.degrees, (x, y), position, min(self.scales))
        turn, centre = self._turn, self._centre
        if turn is None or centre is None:
            return x, y
        along = (centre[0] - x) * turn[0] + (centre[1] - y) * turn[1]
        turns = np.round(along / (turn[0] ** 2 + turn[1] ** 2))
        return x + turns * turn[0], y + turns * turn[1]

    def pixels_of(self, position: Any) -> tuple[Values, Values]:
        """Return the 0-based pixels of a `SkyCoord` in any frame."""
        at = position.transform_to(self.astropy_frame).spherical
        return self.pixels(at.lon.deg, at.lat.deg)

    @cached_property
    def _turn(self) -> tuple[float, float] | None:
        """Pixels of a full turn on a cylindrical map; None on others."""
        ctype = self.coordinates.ctypes[self.longitude - 1]
        if coordinate_type(ctype)[1] not in _CYLINDERS:
            return None
        x, y = np.linalg.solve(self.matrix, [360.0, 0.0]).tolist()
        return x, y

    @cached_property
    def _centre(self) -> tuple[float, float] | None:
        """Centre of the image, 0-based; None for a header without axis lengths."""
        lengths = [self.coordinates.header.get(f"NAXIS{axis}") for axis in self.axes]
        if not all(isinstance(length, int) and length > 0 for length in lengths):
            return None
        return (lengths[0] - 1) / 2, (lengths[1] - 1) / 2


def _factor(wcs: Any, number: int) -> float:
    """Return a world axis unit in degrees; linear axes keep the unit of the header."""
    unit = wcs.wcs.cunit[number]
    return 1.0 if str(unit) in ("deg", "") else float(unit.to(ANGLE[0]))


def sky_of(coordinates: Coordinates) -> Sky | None:
    """Return the two celestial axes of a header, or None.

    Raises
    ------
    FormatError
        A card of their coordinates has the wrong type.
    UsageError
        The coordinates depend on the pixels of another axis.
    """
    ctypes = coordinates.ctypes
    numbers = [n for n, ctype in enumerate(ctypes, 1) if is_celestial(ctype)]
    latitudes = [n for n in numbers if is_latitude(ctypes[n - 1])]
    if len(numbers) != 2 or len(latitudes) != 1:
        return None
    latitude = latitudes[0]
    longitude = numbers[0] if numbers[1] == latitude else numbers[1]
    cards = coordinates.cards
    system = coordinates.system
    assert system is not None
    if cards.has_plate:
        return _sky_of_plate(coordinates, system)
    pixel = (cards.number(f"CRPIX{numbers[0]}", 0.0), cards.number(f"CRPIX{numbers[1]}", 0.0))
    factors = {n: _degrees(coordinates, n) for n in numbers}
    position = (
        cards.number(f"CRVAL{longitude}", 0.0) * factors[longitude],
        cards.number(f"CRVAL{latitude}", 0.0) * factors[latitude],
    )
    rows = {n: cards.matrix(n) for n in numbers}
    for n, row in rows.items():
        others = [column for column in row if column not in numbers]
        if others:
            keyword = cards.matrix_keyword(n, others[0])
            raise usage(
                f"{coordinates.place}the sky coordinates depend on the pixels of NAXIS{others[0]} "
                f"({keyword} = {coordinates.header.get(keyword)!r})",
                "use pixels",
            )
    cards.turn(rows, longitude, latitude)
    lower, higher = numbers
    east, north = (
        (rows[n].get(lower, 0.0) * factors[n], rows[n].get(higher, 0.0) * factors[n])
        for n in (longitude, latitude)
    )
    if not _spans_a_plane(east, north):
        empty = [n for n in numbers if not any(rows[n].values())]
        keyword = f"CDELT{(empty or numbers)[0]}"
        raise cards.invalid(keyword, coordinates.header.get(keyword), "axes that span the sky")
    return Sky(longitude, latitude, position, pixel, (east, north), system, coordinates)


def _sky_of_plate(coordinates: Coordinates, system: SkySystem) -> Sky:
    """Return the sky of a plate, with the scale and position of its linear part in WCSLIB."""
    wcs = coordinates.wcs((1, 2))
    (x, y), (right_ascension, declination) = wcs.wcs.crpix, wcs.wcs.crval
    east, north = wcs.pixel_scale_matrix.tolist()
    return Sky(
        1, 2, (float(right_ascension), float(declination)), (float(x), float(y)),
        ((east[0], east[1]), (north[0], north[1])), system, coordinates,
    )  # fmt: skip


def _degrees(coordinates: Coordinates, axis: int) -> float:
    """Return the factor from the unit of a celestial axis to degrees."""
    text = coordinates.cards.text(f"CUNIT{axis}")
    factors = {"": 1.0, "deg": 1.0, "arcmin": 1 / 60, "arcsec": 1 / 3600, "rad": 180 / math.pi}
    name = axis_unit_text(text)
    if name in factors:
        return factors[name]
    unit = fits_unit(text, ANGLE)
    if unit is None or not unit.is_equivalent(ANGLE[0]):
        raise coordinates.cards.invalid(f"CUNIT{axis}", text, "a unit of angles")
    return float(unit.to(ANGLE[0]))


def _spans_a_plane(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether the rows of a matrix are finite and linearly independent.

    >>> _spans_a_plane((1e-4, 0.0), (0.0, 1e-4)), _spans_a_plane((1.0, 2.0), (2.0, 4.0))
    (True, False)
    """
    sizes = [abs(number) for number in (*one, *other)]
    largest = max(sizes)
    if not (all(map(math.isfinite, sizes)) and largest > 0):
        return False
    (a, b), (c, d) = ([number / largest for number in row] for row in (one, other))
    return abs(a * d - b * c) > 1e-12


def system_of(coordinates: Coordinates) -> SkySystem | None:
    """Return the frame of the first longitude among the axes; None without a longitude."""
    for ctype in coordinates.ctypes:
        if is_celestial(ctype) and not is_latitude(ctype):
            return sky_system(coordinate_type(ctype)[0], coordinates.cards)
    return None
