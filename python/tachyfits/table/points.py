"""Catalogue points: which columns of a table are positions, and the pixels of an image they are in.

Positions on the sky are transformed by astropy from the frame of the catalogue to that of the
image. Proper motions are not applied: points are where the columns say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits._core import UsageError
from tachyfits.base.errors import foreign_errors, usage
from tachyfits.header.sky import Sky
from tachyfits.table.sky import position_columns
from tachyfits.text.sky_regions import frame_name

if TYPE_CHECKING:
    from tachyfits.table.columns import TableColumn
    from tachyfits.table.table import Table

#: The frame of columns that are pixels of the image, from 1.
PIXELS = "pixels"

#: Columns of Galactic positions and of pixels: UCDs, and usual names.
_OTHERS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("galactic", (("pos.galactic.lon", "pos.galactic.lat"), ("pos_gal_lon", "pos_gal_lat"),
                  ("glon", "glat"), ("gal_lon", "gal_lat"))),
    (PIXELS, (("x_image", "y_image"), ("xwin_image", "ywin_image"), ("xcentroid", "ycentroid"))),
)  # fmt: skip

#: Rows that are transformed at a time.
_BLOCK = 1 << 18

#: Points on each side of the image whose distance from its centre bounds that of its pixels.
_SIDE = 65


@dataclass(frozen=True)
class Places:
    """Two columns that are positions.

    Attributes
    ----------
    longitude, latitude
        Names of the columns.
    frame
        A frame of the sky, or "pixels".
    factors
        From the units of the columns to degrees; 1 for pixels.
    equinox
        Of FK5 and FK4, in years; None for that of their names.
    """

    longitude: str
    latitude: str
    frame: str
    factors: tuple[float, float] = (1.0, 1.0)
    equinox: float | None = None


@dataclass(frozen=True)
class Points:
    """The rows whose positions are in an image.

    Attributes
    ----------
    x, y
        Pixels from 1; float64.
    rows
        Numbers of the rows from 0; ascending.
    count
        Rows that the condition has, also those elsewhere.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    rows: NDArray[np.int64]
    count: int

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.x.nbytes + self.y.nbytes + self.rows.nbytes


def places_of(
    table: Table, names: tuple[str, str] | None = None, frame: str | None = None
) -> Places:
    """Return the columns of positions: of these names, else by UCD, else by usual names.

    Parameters
    ----------
    frame
        A frame of the sky or "pixels"; None: that of RADESYS, of the UCDs, else ICRS.

    Raises
    ------
    UsageError
        There are no such columns, or they are not angles.
    """
    if names is not None:
        columns = [_number_column(table, name) for name in names]
        if frame == PIXELS:
            return Places(columns[0].key, columns[1].key, PIXELS)
    if names is None and frame in (None, "galactic", PIXELS):
        places = _other_columns(table, frame)
        if places is not None and (frame is not None or not _has_equatorial(table)):
            return places
    positions = position_columns(table.columns, names)
    keys = positions.longitude.key, positions.latitude.key
    if frame is None:
        ucd = _ucd_of(positions.longitude)
        is_galactic = ucd.startswith(("pos.galactic", "pos_gal")) or keys[0].lower() == "glon"
        frame, equinox = ("galactic", None) if is_galactic else _frame_of_header(table)
        return Places(*keys, frame, positions.factors, equinox)
    return Places(*keys, frame_name(frame), positions.factors)


def _number_column(table: Table, name: str) -> TableColumn:
    """Return a column of one number a row, by its name."""
    alike = (one for one in table.columns if one.name.strip().lower() == name.strip().lower())
    column = next(alike, None)
    if column is None:
        raise usage(f"no column is named {name!r:.100}", "name two columns of the table")
    if column.dtype.kind not in "iuf" or column.shape:
        raise usage(f"column {column.name!r} is not one number a row", "name another")
    return column


def _has_equatorial(table: Table) -> bool:
    try:
        position_columns(table.columns)
    except UsageError:
        return False
    return True


def _other_columns(table: Table, frame: str | None) -> Places | None:
    """Return columns of Galactic positions or pixels by UCD or name; None without any."""
    by_word = {}
    for column in reversed(table.columns):
        by_word[column.name.strip().lower()] = column
        by_word[_ucd_of(column)] = column
    for name, pairs in _OTHERS:
        for first, second in pairs:
            if frame in (None, name) and first in by_word and second in by_word:
                pair = by_word[first].key, by_word[second].key
                if name == PIXELS:
                    return Places(*pair, PIXELS)
                return Places(*pair, name, position_columns(table.columns, pair).factors)
    return None


def _ucd_of(column: TableColumn) -> str:
    return str(dict(column.carried).get("TUCD", "")).lower().partition(";")[0].removesuffix("_main")


def ucd_of(column: TableColumn) -> str | None:
    """Return the UCD of a column, as its header has it."""
    ucd = dict(column.carried).get("TUCD")
    return None if ucd is None else str(ucd)


def _frame_of_header(table: Table) -> tuple[str, float | None]:
    """Return the frame of RADESYS (ICRS without it), and its equinox if that is not the usual one.

    >>> from types import SimpleNamespace
    >>> _frame_of_header(SimpleNamespace(header={"RADESYS": "FK5", "EQUINOX": 1975.0}))
    ('fk5', 1975.0)
    """
    header = table.header
    system = str(header.get("RADESYS") or header.get("RADECSYS") or "").strip().lower()
    equinox = header.get("EQUINOX")
    if system not in ("fk5", "fk4"):
        return "icrs", None
    usual = 2000.0 if system == "fk5" else 1950.0
    is_other = isinstance(equinox, (int, float)) and float(equinox) != usual
    return system, float(equinox) if is_other else None


@dataclass(frozen=True)
class Frame:
    """The pixels of an image, and its sky; None: the image has none along x and y."""

    width: int
    height: int
    sky: Sky | None

    @property
    def required_sky(self) -> Sky:
        """The sky of x and y.

        Raises
        ------
        UsageError
            They are not the axes of the sky.
        """
        if self.sky is None or self.sky.axes != (1, 2):
            raise usage("the image has no sky coordinates along x and y", "use pixels")
        return self.sky


def points_of(
    frame: Frame,
    table: Table,
    places: Places,
    where: str | None = None,
    proceed: Callable[[], None] = lambda: None,
) -> Points:
    """Return the rows of a condition whose positions are in an image, and their pixels.

    A row is in the image if the pixel that has its position is. ``proceed`` is called before each
    block of rows, and raises to stop.

    Raises
    ------
    UsageError
        The image has no sky.
    """
    rows = None if where is None else table.where(where)
    count = len(table) if rows is None else len(rows)
    sky = None if places.frame == PIXELS else frame.required_sky
    near = None if sky is None else _Near.of(frame, sky)
    parts = []
    for start in range(0, count, _BLOCK):
        proceed()
        stop = min(start + _BLOCK, count)
        numbers = np.arange(start, stop) if rows is None else rows[start:stop]
        columns = table.read([places.longitude, places.latitude], rows=numbers)
        first, second = (
            np.ma.filled(np.ma.asarray(columns[name], dtype=np.float64), np.nan) * factor
            for name, factor in zip(
                (places.longitude, places.latitude), places.factors, strict=True
            )
        )
        mask = np.isfinite(first) & np.isfinite(second)
        if sky is not None:
            mask &= np.abs(second) <= 90
        numbers, first, second = numbers[mask], first[mask], second[mask]
        if sky is not None and near is not None:
            numbers, first, second = _pixels(sky, near, places, numbers, first, second)
        inside = (first >= 0.5) & (first < frame.width + 0.5)
        inside &= (second >= 0.5) & (second < frame.height + 0.5)
        parts.append((first[inside], second[inside], numbers[inside].astype(np.int64)))
    if not parts:
        return Points(np.empty(0), np.empty(0), np.empty(0, np.int64), 0)
    x, y, row_numbers = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Points(x, y, row_numbers, count)


def cone_of(frame: Frame) -> tuple[float, float, float]:
    """Return a cone of ICRS that has the image: its centre and radius in degrees.

    Raises
    ------
    UsageError
        The image has no sky, or it is larger than 60 degrees.
    """
    near = _Near.of(frame, frame.required_sky)
    if near.radius is None:
        raise usage(
            "the image is too large for a cone: expected a radius below 60 degrees",
            "cut a part out",
        )
    centre = near.centre.icrs
    return round(float(centre.ra.deg), 6), round(float(centre.dec.deg), 6), round(near.radius, 6)


@dataclass(frozen=True)
class _Near:
    """The centre of an image, and an angle within which all its pixels are; None: any."""

    centre: Any
    radius: float | None

    @classmethod
    def of(cls, frame: Frame, sky: Sky) -> _Near:
        """Return them: the pixel farthest from the centre is at the border."""
        x = np.linspace(-0.5, frame.width - 0.5, _SIDE)
        y = np.linspace(-0.5, frame.height - 0.5, _SIDE)
        edges = [(x, x * 0 - 0.5), (x, x * 0 + y[-1]), (y * 0 - 0.5, y), (y * 0 + x[-1], y)]
        border = sky.positions(*(np.concatenate(at) for at in zip(*edges, strict=True)))
        centre = sky.positions((frame.width - 1) / 2, (frame.height - 1) / 2)
        far = centre.separation(border).deg
        # Beyond, a map of much of the sky may have more than one border.
        radius = float(far.max()) * 1.05 if np.isfinite(far).all() and far.max() < 60 else None
        return cls(centre, radius)


def _pixels(
    sky: Sky, near: _Near, places: Places, rows: NDArray[Any],
    longitude: NDArray[np.float64], latitude: NDArray[np.float64],
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:  # fmt: skip
    """Return the rows near an image, and the pixels of their positions, from 1."""
    from astropy.coordinates import SkyCoord

    with foreign_errors("the positions have no place in this image", "name other columns"):
        frame = sky.astropy_frame
        positions = SkyCoord(longitude, latitude, unit="deg", frame=_frame_of(places))
        # Merged, an equinox of the catalogue would become that of the image.
        there = positions.transform_to(frame, merge_attributes=False).spherical
        world = SkyCoord(there, frame=frame)
        if near.radius is not None:
            close = near.centre.separation(world).deg <= near.radius
            rows, world = rows[close], world[close]
        if not len(rows):
            return rows, np.empty(0), np.empty(0)
        x, y = sky.pixels_of(world)
    return rows, np.asarray(x) + 1, np.asarray(y) + 1


def _frame_of(places: Places) -> Any:
    """Return the frame of the columns, by astropy."""
    if places.equinox is None:
        return places.frame
    from astropy.coordinates import FK4, FK5
    from astropy.time import Time

    frame, form = (FK5, "jyear") if places.frame == "fk5" else (FK4, "byear")
    return frame(equinox=Time(places.equinox, format=form))
