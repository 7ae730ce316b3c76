"""Rows of two tables side by side, matched by their positions on the sky."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import either, usage
from tachyfits.table.columns import Columns, TableColumn, Values
from tachyfits.table.ragged import Ragged
from tachyfits.table.sky import Positions

#: Rows of the first table in a join: those with a match, or all.
KINDS = ("inner", "left")

#: Matches of a row in a join: the nearest one, or all within the radius.
MATCHES = ("nearest", "all")


@dataclass(frozen=True)
class Pairs:
    """Matching rows of two tables, in the order of the first table.

    Attributes
    ----------
    left
        Row numbers of the first table, ascending.
    right
        Row numbers of the second table; -1 without a match.
    separation
        Angles in degrees; NaN without a match.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    separation: NDArray[np.float64]


def pairs_of(
    one: Positions, other: Positions, radius: float | None, kind: str, matches: str
) -> Pairs:
    """Return the pairs of a join; the radius is in degrees."""
    for name, value, choices in (("kind", kind, KINDS), ("matches", matches, MATCHES)):
        if value not in choices:
            raise usage(
                f"invalid {name} {value!r}: expected {' or '.join(map(repr, choices))}",
                either(f"use {name}={choices[0]!r}", f"use --{name} {choices[0]}"),
            )
    if matches == "all" and radius is None:
        raise usage(
            "invalid radius None: expected an angle for matches='all'",
            either('give a radius: "1arcsec"', "give --radius 1arcsec"),
        )
    if matches == "all" and radius is not None:
        pairs = Pairs(*_core.matching_positions(one, other, radius))
    else:
        partners, separation = _core.nearest_positions(one, other, radius)
        matched = np.flatnonzero(partners >= 0)
        pairs = Pairs(matched, partners[matched], separation[matched])
    return pairs if kind == "inner" else _with_every_row(pairs, len(one[0]))


def _with_every_row(pairs: Pairs, count: int) -> Pairs:
    """Add the unmatched rows of the first table to the pairs."""
    alone = np.setdiff1d(np.arange(count), pairs.left)
    rows = np.concatenate([pairs.left, alone])
    right = np.concatenate([pairs.right, np.full(len(alone), -1)])
    separation = np.concatenate([pairs.separation, np.full(len(alone), np.nan)])
    order = np.argsort(rows, kind="stable")
    return Pairs(rows[order], right[order], separation[order])


def side_by_side(left: Columns, right: Columns, pairs: Pairs) -> Columns:
    """Return the columns of both tables and the separation.

    ``right`` has one row for each matched pair. A column name of the second table that the first
    table also has gets the suffix "_2".
    """
    arrays: dict[str, Values] = dict(left.items())
    info = dict(left.info)
    partner = pairs.right >= 0
    for key, values in right.items():
        name = _free_name(key, "_2", tuple(arrays))
        arrays[name] = values if partner.all() else _spread(values, partner)
        if key in right.info:
            column = right.info[key]
            info[name] = replace(
                column, number=len(info), key=name, name=column.name if name == key else name
            )
    name = _free_name("SEPARATION", "_2", tuple(arrays))
    arrays[name] = pairs.separation
    info[name] = TableColumn(len(info), name, name, "D", np.dtype(np.float64), unit="deg")
    return Columns(arrays, info, meta=left.meta, comments=left.comments)


def _free_name(name: str, suffix: str, names: Sequence[str]) -> str:
    """Append the suffix to the name until no column has it, in any case."""
    used = {existing.strip().upper() for existing in names}
    while name.strip().upper() in used:
        name += suffix
    return name


def _spread(values: Values, partner: NDArray[np.bool_]) -> Values:
    """Return values at the matched rows, and undefined values at the others."""
    if isinstance(values, Ragged):
        lengths = np.zeros(len(partner), np.int64)
        lengths[partner] = values.lengths
        compact = values.compact()
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return Ragged(offsets, compact.values, cell_shape=compact.cell_shape)
    shape = (len(partner), *values.shape[1:])
    result: Any
    if values.dtype.kind in "fc" and not np.ma.isMaskedArray(values):
        result = np.full(shape, np.nan, values.dtype)
    else:
        result = np.ma.array(np.zeros(shape, values.dtype), mask=True)
    result[partner] = values
    return result  # type: ignore[no-any-return]
