"""Rows by position on the sky: which columns hold it, cones, and nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, listed, usage
from tachyfits.text.units import ANGLE, asked_unit, fits_unit

if TYPE_CHECKING:
    import astropy.coordinates

    from tachyfits.table.columns import Columns, TableColumn

#: UCDs of equatorial positions, of the present standard and of the old one (UCD1).
_UCDS = (("pos.eq.ra", "pos.eq.dec"), ("pos_eq_ra", "pos_eq_dec"))

#: Names of positions, the most usual first.
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


@dataclass(frozen=True)
class Matches:
    """The nearest row of another table for each row.

    Attributes
    ----------
    index
        Its number, from 0; -1 where none is within the radius, or the position is undefined.
    separation
        The angle to the nearest row, degrees; NaN where a position is undefined.
    """

    index: NDArray[np.int64]
    separation: NDArray[np.float64]


def position_columns(
    columns: Sequence[TableColumn], names: Sequence[str] | None = None
) -> PositionColumns:
    """Return the columns of a position: of these names, else by UCD, else by usual names.

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
    found = next(((ucds[a], ucds[b]) for a, b in _UCDS if a in ucds and b in ucds), None)
    if found is None:
        found = next(
            ((by_name[a], by_name[b]) for a, b in pairs if a in by_name and b in by_name), None
        )
    if found is None:
        named = "of these names" if names is not None else "by UCD or by a usual name"
        raise usage(
            f"no columns of a position {named} among {listed(c.name for c in columns)}",
            either(
                'name them: names=("RA", "DEC")',
                "name them: --cone-columns RA,DEC (match: --positions)",
            ),
        )
    return PositionColumns(*found, (_factor(found[0]), _factor(found[1])))


def _pair(names: Any) -> tuple[str, str]:
    """Return two names of columns, in lower case."""
    if not isinstance(names, (list, tuple)) or [*map(type, names)] != [str, str]:
        raise usage(
            f"invalid names {names!r}: expected two names of columns",
            either('use names=("RA", "DEC")', "use --cone-columns RA,DEC"),
        )
    return names[0].lower(), names[1].lower()


def _by_ucd(columns: Sequence[TableColumn]) -> dict[str, TableColumn]:
    """Return the columns of positions by their first UCD word; main positions come first."""
    found: dict[str, TableColumn] = {}
    for main in (True, False):
        for column in columns:
            text = str(dict(column.carried).get("TUCD", "")).lower()
            words = text.split(";")
            if ("meta.main" in words or words[0].endswith("_main")) == main:
                found.setdefault(words[0].removesuffix("_main"), column)
    return found


def _factor(column: TableColumn) -> float:
    """Return degrees per unit of a column; one without a unit is in degrees."""
    text = (column.unit or "").strip()
    is_number = column.dtype.kind in "fiu"
    if is_number and (not text or text.lower() in ("h", "hr", "hour", "hours")):
        # Hours of right ascension; as a unit they would be times.
        return 15.0 if text else 1.0
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
    found = position_columns(columns, names)
    terms = [
        _term(column, factor)
        for column, factor in zip((found.longitude, found.latitude), found.factors, strict=True)
    ]
    longitude, latitude, radius = (f"({number!r})" for number in cone)
    return f"separation({terms[0]}, {terms[1]}, {longitude}, {latitude}) <= {radius}"


def _term(column: TableColumn, factor: float) -> str:
    name = "`" + column.key.replace("`", "``") + "`"
    return name if factor == 1 else f"{name} * {factor!r}"


def coordinates_of(
    columns: Columns, found: PositionColumns
) -> tuple[astropy.coordinates.SkyCoord, NDArray[np.bool_]]:
    """Return the positions of rows, and which rows have one; those of others are 0."""
    from astropy.coordinates import SkyCoord

    angles = [
        np.ma.filled(np.ma.asarray(columns[column.key], dtype=np.float64), np.nan) * factor
        for column, factor in zip((found.longitude, found.latitude), found.factors, strict=True)
    ]
    known = np.isfinite(angles[0]) & np.isfinite(angles[1]) & (np.abs(angles[1]) <= 90)
    longitude, latitude = (np.where(known, angle, 0.0) for angle in angles)
    return SkyCoord(longitude, latitude, unit="deg"), known


def known_positions(
    positions: Any,
) -> tuple[astropy.coordinates.SkyCoord, NDArray[np.bool_]]:
    """Return positions of astropy, and which of them are known."""
    from astropy.coordinates import SkyCoord

    if not isinstance(positions, SkyCoord) or positions.ndim != 1:
        raise usage(
            f"invalid positions of type {type(positions).__name__}: expected a Table of tachyfits "
            "or a SkyCoord of one axis",
            either("use tachyfits.open(...)[1], or SkyCoord([10.0], [-2.0], unit='deg')"),
        )
    known = np.isfinite(positions.spherical.lon) & np.isfinite(positions.spherical.lat)
    return positions, np.ma.filled(known, False)


def nearest(one: Any, other: Any, radius: float | None) -> Matches:
    """Return the nearest positions, by astropy's match_coordinates_sky.

    ``one`` and ``other``: positions and which of them are known, as of `coordinates_of`.
    """
    from astropy.coordinates import match_coordinates_sky

    (positions, known), (others, there) = one, other
    index = np.full(len(positions), -1, dtype=np.int64)
    separation = np.full(len(positions), np.nan)
    if known.any() and there.any():
        found, angles, _ = match_coordinates_sky(positions[known], others[there])
        index[known] = np.flatnonzero(there)[found]
        separation[known] = angles.to_value("deg")
    if radius is not None:
        index[~(separation <= radius)] = -1
    return Matches(index, separation)
