"""Regions on the sky: shapes by longitude and latitude in a frame, in degrees.

Shapes only hold numbers and names. `header.region_rasters` finds the pixels inside them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tachyfits.base.boundary import public
from tachyfits.base.errors import foreign_errors, usage
from tachyfits.text.regions import CompoundRegion, Region, annulus, check_radii, like
from tachyfits.text.units import ANGLE, asked_quantity

#: Names of frames in DS9, CASA and common use, and their names in astropy.
FRAMES = {
    "icrs": "icrs", "fk5": "fk5", "j2000": "fk5", "fk4": "fk4", "b1950": "fk4",
    "galactic": "galactic", "ecliptic": "barycentricmeanecliptic", "supergal": "supergalactic",
    "supergalactic": "supergalactic", "wcs": "wcs",
}  # fmt: skip

#: DS9's name for the frame of the image that a region is applied to.
OWN_FRAME = "wcs"

#: Per shape: minimum and maximum number of positions, and number of sizes.
_COUNTS = {
    "ellipse": (1, 1, 2), "box": (1, 1, 2), "polygon": (3, 1 << 20, 0), "range": (2, 2, 0),
    "point": (1, 1, 0), "line": (2, 1 << 20, 0),
}  # fmt: skip

#: Functions that make shapes on the sky.
_MAKERS = "make it by SkyRegion.circle, ellipse, box, annulus, polygon, range, point or line"

#: Forms of a position on the sky.
_CENTRE_HINT = "give an astropy SkyCoord, or (longitude, latitude) in degrees and a frame"


@public
@dataclass(frozen=True)
class SkyRegion(Region):
    """A shape on the sky.

    A circle is a spherical cap: every pixel whose centre is at most the radius away from the
    centre of the circle, on the sphere. Ellipses and boxes likewise use spherical distances and
    directions from their centre. The sides of a polygon are great circles; the sides of a range
    are circles of longitude and latitude.

    Make one by `circle`, `ellipse`, `box`, `annulus`, `polygon`, `range` or `point`, or from text
    by `tachyfits.region`. Positions are an astropy SkyCoord, or (longitude, latitude) in degrees;
    sizes are degrees, a Quantity, or text such as "12arcsec".

    Attributes
    ----------
    shape
        "ellipse" (also of a circle), "box", "polygon", "range", "point" or "line".
    points
        (longitude, latitude) of the centre or of the vertices, degrees.
    sizes
        Semi-axes of an ellipse, width and height of a box, degrees.
    angle
        Direction of the first size, degrees: 0 is along the longitude, 90 is north. It increases
        counter-clockwise on the sky, where longitude increases to the left.
    frame
        "icrs", "fk5", "fk4", "galactic", "supergalactic" or "barycentricmeanecliptic"; "wcs": the
        frame of the image.

    Examples
    --------
    >>> import tachyfits as tf
    >>> region = tf.SkyRegion.circle((9.98, 20.02), "0.015deg")
    >>> tf.open("cube.fits")[0].stats(region=region).count
    21
    """

    shape: str
    points: tuple[tuple[float, float], ...]
    sizes: tuple[float, ...] = ()
    angle: float = 0.0
    frame: str = "icrs"

    def __post_init__(self) -> None:
        """Check the shape and its numbers."""
        if not isinstance(self.shape, str) or self.shape not in _COUNTS:
            raise usage(f"invalid shape {self.shape!r:.60}: expected {', '.join(_COUNTS)}", _MAKERS)
        with foreign_errors(f"invalid {self.shape} on the sky", _MAKERS):
            least, most, sizes = _COUNTS[self.shape]
            pairs = [(float(at), float(lat)) for at, lat in self.points]
            counts = len(pairs), len(self.sizes)
            numbers = [*itertools.chain(*pairs), *map(float, self.sizes), float(self.angle)]
        if not least <= counts[0] <= most or counts[1] != sizes:
            raise usage(
                f"invalid {self.shape} on the sky: found {counts[0]} positions and {counts[1]} "
                "sizes",
                _MAKERS,
            )
        # This comparison also rejects NaN.
        if not all(abs(number) <= 1e6 for number in numbers):
            raise usage(f"{self.shape} on the sky: its numbers are not finite", "give degrees")
        for _, latitude in pairs:
            if abs(latitude) > 90:
                raise usage(
                    f"invalid latitude {latitude!r}: expected degrees from -90 to 90",
                    "give longitude (right ascension) first, latitude (declination) second",
                )
        if any(size < 0 for size in self.sizes):
            raise usage(f"invalid sizes {self.sizes!r}: expected none below 0", "give degrees")
        if not isinstance(self.frame, str) or self.frame not in FRAMES.values():
            raise usage(f"invalid frame {self.frame!r}: expected {', '.join(FRAMES)}", _MAKERS)

    def __str__(self) -> str:
        """Return the shape as text that `tachyfits.region` reads.

        >>> str(SkyRegion.circle((83.6, 22.0), "30arcsec", frame="fk5"))
        'fk5; circle(83.6,22,30")'
        """
        if self.shape == "range":
            (west, south), (east, north) = self.points
            numbers = (west, east, south, north)
            return f"RANGE {' '.join(f'{number:.12g}' for number in numbers)}"
        sizes = self.sizes[:1] if self.is_circle else self.sizes
        words = [f"{number:.12g}" for point in self.points[:6] for number in point]
        words += ["..."] if len(self.points) > 6 else []
        words += [f'{size * 3600:.10g}"' for size in sizes]
        words += [f"{self.angle:.10g}"] if self.angle and not self.is_circle else []
        name = "circle" if self.is_circle else self.shape
        frame = "ecliptic" if self.frame.endswith("ecliptic") else self.frame
        return f"{frame}; {name}({','.join(words)})"

    @property
    def is_circle(self) -> bool:
        """Whether it is an ellipse with equal axes."""
        return self.shape == "ellipse" and self.sizes[0] == self.sizes[1]

    @classmethod
    def circle(cls, centre: Any, radius: Any, *, frame: str = "icrs") -> SkyRegion:
        """Return a circle by its centre and radius."""
        return cls.ellipse(centre, radius, radius, frame=frame)

    @classmethod
    def ellipse(
        cls, centre: Any, semi_x: Any, semi_y: Any, angle: Any = 0.0, *, frame: str = "icrs"
    ) -> SkyRegion:
        """Return an ellipse by its centre, semi-axes and angle."""
        points, name = _points([centre], frame)
        sizes = (degrees(semi_x, "semi-axis"), degrees(semi_y, "semi-axis"))
        return cls("ellipse", points, sizes, degrees(angle, "angle"), name)

    @classmethod
    def box(
        cls, centre: Any, width: Any, height: Any, angle: Any = 0.0, *, frame: str = "icrs"
    ) -> SkyRegion:
        """Return a box by its centre, full sizes and angle."""
        points, name = _points([centre], frame)
        sizes = (degrees(width, "width"), degrees(height, "height"))
        return cls("box", points, sizes, degrees(angle, "angle"), name)

    @classmethod
    def annulus(cls, centre: Any, inner: Any, outer: Any, *, frame: str = "icrs") -> CompoundRegion:
        """Return a ring by its centre and radii."""
        inner_circle, outer_circle = (
            cls.circle(centre, radius, frame=frame) for radius in (inner, outer)
        )
        check_radii(inner_circle.sizes[0], outer_circle.sizes[0])
        return annulus(inner_circle, outer_circle)

    @classmethod
    def polygon(cls, vertices: Any, *, frame: str = "icrs") -> SkyRegion:
        """Return a polygon by three or more vertices: a SkyCoord or a list."""
        points, name = _points(_each(vertices), frame)
        if len(points) < 3:
            raise usage(f"a polygon of {len(points)} vertices", "give three or more")
        return cls("polygon", points, frame=name)

    @classmethod
    def range(
        cls, longitudes: tuple[Any, Any], latitudes: tuple[Any, Any], *, frame: str = "icrs"
    ) -> SkyRegion:
        """Return the sky between two longitudes, eastwards from the first, and two latitudes."""
        with foreign_errors("invalid range", "give (west, east) and (south, north)"):
            west, east = (degrees(longitude, "longitude") for longitude in longitudes)
            south, north = (degrees(latitude, "latitude") for latitude in latitudes)
        return cls("range", ((west, south), (east, north)), frame=frame_name(frame))

    @classmethod
    def line(cls, vertices: Any, *, frame: str = "icrs") -> SkyRegion:
        """Return a line through positions: a path for `Image.pv`, which has no pixels inside."""
        points, name = _points(_each(vertices), frame)
        if len(points) < 2:
            raise usage("a line of one position", "give two or more")
        return cls("line", points, frame=name)

    @classmethod
    def point(cls, position: Any, *, frame: str = "icrs") -> SkyRegion:
        """Return the pixel that contains a position."""
        points, name = _points([position], frame)
        return cls("point", points, frame=name)


def frame_name(name: str) -> str:
    """Return astropy's name of a frame.

    >>> frame_name("J2000"), frame_name("galactic")
    ('fk5', 'galactic')
    """
    frame = FRAMES.get(str(name).strip().lower())
    if frame is None and str(name).lower() not in FRAMES.values():
        raise usage(
            f"invalid frame {name!r}: expected {', '.join(FRAMES)}, image or physical",
            "name the frame of the coordinates: 'icrs; circle(83.6, 22.0, 30\")'",
        )
    return frame or str(name).lower()


def in_own_frame(region: Region) -> Region:
    """Return a copy of a region with its positions in the frame of the image."""
    if isinstance(region, CompoundRegion):
        parts = tuple((added, in_own_frame(part)) for added, part in region.parts)
        return like(CompoundRegion(parts), region)
    if not isinstance(region, SkyRegion):
        return region
    return like(replace(region, frame=OWN_FRAME), region)


def degrees(value: Any, name: str) -> float:
    """Return an angle in degrees from a number, a Quantity, or text such as "12arcsec"."""
    with foreign_errors(f"invalid {name} {value!r:.60}", 'give degrees, or an angle: "12arcsec"'):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        return float(asked_quantity(value, ANGLE, default="deg").to_value("deg"))


def of_skycoord(position: Any) -> tuple[tuple[tuple[float, float], ...], str]:
    """Return the positions of a SkyCoord in degrees, and the frame; FK5 is J2000, FK4 is B1950."""
    with foreign_errors("invalid sky position", _CENTRE_HINT):
        name = position.frame.name
        if name not in FRAMES.values():
            position, name = position.transform_to("icrs"), "icrs"
        elif name in ("fk5", "fk4"):
            # Converts another equinox to J2000 or B1950.
            position = position.transform_to(name, merge_attributes=False)
        spherical = position.spherical
        longitudes = spherical.lon.deg.reshape(-1).tolist()
        latitudes = spherical.lat.deg.reshape(-1).tolist()
    return tuple(zip(longitudes, latitudes, strict=True)), name


def _each(vertices: Any) -> Sequence[Any]:
    if hasattr(vertices, "spherical"):
        return [vertices]
    with foreign_errors("invalid vertices", _CENTRE_HINT):
        return list(vertices)


def _points(positions: Sequence[Any], frame: str) -> tuple[tuple[tuple[float, float], ...], str]:
    """Return positions as numbers, and the name of their frame."""
    result: list[tuple[float, float]] = []
    name = frame_name(frame)
    for position in positions:
        if hasattr(position, "spherical"):
            points, own_frame = of_skycoord(position)
            if result and own_frame != name:
                raise usage("positions of different frames", "give all of them in one frame")
            name = own_frame
            result += points
            continue
        with foreign_errors(f"invalid sky position {position!r}", _CENTRE_HINT):
            longitude, latitude = position
        result.append((degrees(longitude, "longitude"), degrees(latitude, "latitude")))
    return tuple(result), name
