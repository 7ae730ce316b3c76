"""Rows by position on the sky: position columns, cones, and nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import either, listed, usage
from tachyfits.text.units import ANGLE, asked_unit, fits_unit

if TYPE_CHECKING:
    from tachyfits.table.columns import Columns, TableColumn

#: UCDs of equatorial positions, in the current standard and in the old one (UCD1).
_UCDS = (("pos.eq.ra", "pos.eq.dec"), ("pos_eq_ra", "pos_eq_dec"))

#: Names of position columns, the most common first.
_NAMES = (
    ("ra", "dec"), ("raj2000", "dej2000"), ("raj2000", "decj2000"), ("_raj2000", "_dej2000"),
    ("ra_icrs", "de_icrs"), ("ra_icrs", "dec_icrs"), ("raicrs", "deicrs"), ("ra_deg", "dec_deg"),
    ("radeg", "decdeg"), ("ramean", "decmean"), ("alpha_j2000", "delta_j2000"),
    ("alphawin_j2000", "deltawin_j2000"), ("alpha", "delta"),
    ("right_ascension", "declination"),
)  # fmt: skip


class PositionColumns(NamedTuple):
    """The columns of a position, and the factors from their units to degrees."""

    longitude: TableColumn
    latitude: TableColumn
    factors: tuple[float, float]


#: Degrees per unit. Hours are hours of right ascension; as a physical unit they would be times.
_FACTORS = {"": 1.0, "deg": 1.0, **dict.fromkeys(("h", "hr", "hour", "hours"), 15.0)}

#: Longitudes and latitudes in degrees; NaN for a row without a position.
Positions: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.float64]]"

#: Latitude of the poles in degrees.
_POLE = 90.0


@dataclass(frozen=True)
class Matches:
    """The nearest row of another table for each row.

    Attributes
    ----------
    index
        Its number, from 0; -1 if no row is within the radius, or the position is undefined.
    separation
        Angle to the nearest row in degrees; NaN if a position is undefined.
    """

    index: NDArray[np.int64]
    separation: NDArray[np.float64]


def position_columns(
    columns: Sequence[TableColumn], names: Sequence[str] | None = None
) -> PositionColumns:
    """Return the position columns: by these names, else by UCD, else by common names.

    Raises
    ------
    UsageError
        No such columns exist, or their units are not angles.
    """
    by_name: dict[str, TableColumn] = {}
    for column in columns:
        by_name.setdefault(column.name.strip().lower(), column)
    pairs = _NAMES if names is None else (_pair(names),)
    ucds = {} if names is not None else _by_ucd(columns)
    pair = next(((ucds[a], ucds[b]) for a, b in _UCDS if a in ucds and b in ucds), None)
    if pair is None:
        pair = next(
            ((by_name[a], by_name[b]) for a, b in pairs if a in by_name and b in by_name), None
        )
    if pair is None:
        how = "of these names" if names is not None else "by UCD or by a usual name"
        raise usage(
            f"no columns of a position {how} among {listed(c.name for c in columns)}",
            either(
                'name them: names=("RA", "DEC")',
                "name them: --cone-columns RA,DEC (match: --positions)",
            ),
        )
    return PositionColumns(*pair, (_factor(pair[0]), _factor(pair[1])))


def _pair(names: Any) -> tuple[str, str]:
    """Return two column names, in lower case."""
    if not isinstance(names, (list, tuple)) or [*map(type, names)] != [str, str]:
        raise usage(
            f"invalid names {names!r}: expected two names of columns",
            either('use names=("RA", "DEC")', "use --cone-columns RA,DEC"),
        )
    return names[0].lower(), names[1].lower()


def _by_ucd(columns: Sequence[TableColumn]) -> dict[str, TableColumn]:
    """Return the columns of positions by their first UCD word; main positions come first."""
    result: dict[str, TableColumn] = {}
    for main in (True, False):
        for column in columns:
            text = str(dict(column.carried).get("TUCD", "")).lower()
            words = text.split(";")
            if ("meta.main" in words or words[0].endswith("_main")) == main:
                result.setdefault(words[0].removesuffix("_main"), column)
    return result


def _factor(column: TableColumn) -> float:
    """Return degrees per unit of a column; without a unit it is in degrees."""
    text = (column.unit or "").strip()
    is_number = column.dtype.kind in "fiu"
    if is_number and text.lower() in _FACTORS:
        return _FACTORS[text.lower()]
    unit = fits_unit(text, ANGLE) if is_number else None
    if unit is None or not unit.is_equivalent(asked_unit("deg")):
        raise usage(
            f"column {column.name!r} in {column.unit!r} of type {column.dtype} is not an angle",
            either(
                'name columns of angles: names=("RA", "DEC")',
                "name columns of angles: --cone-columns RA,DEC",
            ),
        )
    return float(unit.to("deg"))


def cone_condition(
    columns: Sequence[TableColumn],
    cone: tuple[float, float, float],
    names: Sequence[str] | None = None,
) -> str:
    """Return the condition of rows within a cone: longitude, latitude and radius in degrees."""
    position = position_columns(columns, names)
    terms = [
        _term(column, factor)
        for column, factor in zip(
            (position.longitude, position.latitude), position.factors, strict=True
        )
    ]
    longitude, latitude, radius = (f"({number!r})" for number in cone)
    return f"separation({terms[0]}, {terms[1]}, {longitude}, {latitude}) <= {radius}"


def _term(column: TableColumn, factor: float) -> str:
    name = "`" + column.key.replace("`", "``") + "`"
    return name if factor == 1 else f"{name} * {factor!r}"


def positions_of(columns: Columns, found: PositionColumns) -> Positions:
    """Return the positions of rows; NaN if a number is null."""
    longitude, latitude = (
        np.ma.filled(np.ma.asarray(columns[column.key], dtype=np.float64), np.nan) * factor
        for column, factor in zip((found.longitude, found.latitude), found.factors, strict=True)
    )
    return np.ascontiguousarray(longitude), np.ascontiguousarray(latitude)


def in_one_frame(own: Positions, other: Any) -> tuple[Positions, Positions]:
    """Return ICRS positions of rows in the frame of astropy positions, and the latter."""
    from astropy.coordinates import ICRS, SkyCoord

    if not isinstance(other, SkyCoord) or other.ndim != 1:
        raise usage(
            f"invalid positions of type {type(other).__name__}: expected a Table of tachyfits "
            "or a SkyCoord of one axis",
            either("use tachyfits.open(...)[1], or SkyCoord([10.0], [-2.0], unit='deg')"),
        )
    if not other.is_equivalent_frame(ICRS()):
        valid = np.isfinite(own[0]) & np.isfinite(own[1]) & (np.abs(own[1]) <= _POLE)
        longitude, latitude = (np.where(valid, angle, 0.0) for angle in own)
        moved = SkyCoord(longitude, latitude, unit="deg").transform_to(other)
        longitude, latitude = _degrees(moved)
        own = np.where(valid, longitude, np.nan), latitude
    return own, _degrees(other)


def _degrees(positions: Any) -> Positions:
    """Return longitudes and latitudes of astropy in degrees; NaN where masked."""
    angles = positions.spherical
    longitude, latitude = (
        np.ma.filled(np.asanyarray(angle.to_value("deg")), np.nan)
        for angle in (angles.lon, angles.lat)
    )
    return np.ascontiguousarray(longitude), np.ascontiguousarray(latitude)


def nearest(one: Positions, other: Positions, radius: float | None) -> Matches:
    """Return the nearest positions; among equally near ones, the first."""
    index, separation = _core.nearest_positions(one, other)
    if radius is not None:
        index[~(separation <= radius)] = -1
    return Matches(index, separation)
