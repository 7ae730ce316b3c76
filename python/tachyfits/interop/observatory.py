"""Location of the observatory, for the times of a table.

The Standard (Sect. 9.2.3) has one location for a table, OBSGEO-X, OBSGEO-Y and OBSGEO-Z, in cards
or in columns, and TRPOSn assigns it to a column. astropy's times have one location, or one each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import usage
from tachyfits.table.columns import TableColumn
from tachyfits.table.values import ColumnData, column_data
from tachyfits.text.units import fits_unit

#: Keywords of the geocentric location in metres, or names of columns with a location per row.
PLACE = ("OBSGEO-X", "OBSGEO-Y", "OBSGEO-Z")

#: Value of TRPOSn and TREFPOS for times measured at the observatory.
THERE = "TOPOCENTER"


def location_of(times: Any) -> NDArray[np.float64] | None:
    """Return x, y and z in metres of an astropy Time; a single location if all rows agree."""
    location = getattr(times, "location", None)
    if location is None or not location.size:
        return None
    metres = np.stack([np.asarray(part.to_value("m")) for part in location.geocentric])
    flat = metres.reshape(3, -1)
    if np.array_equal(flat, np.broadcast_to(flat[:, :1], flat.shape), equal_nan=True):
        return flat[:, 0]
    return np.broadcast_to(metres, (3, *times.shape))


def differs_by_row(location: NDArray[np.float64] | None) -> bool:
    """Return whether a location of `location_of` differs by row."""
    return location is not None and location.ndim > 1


def with_places(
    columns: Sequence[ColumnData], theirs: Sequence[TableColumn] | None = None
) -> list[ColumnData]:
    """Return columns, with columns of the observatory's location added if they are needed.

    ``theirs``: columns of the table that gets these rows, which may have the location in columns,
    one per row or one per element; None for a new table, which has it in columns if it differs by
    row.

    Raises
    ------
    UsageError
        The times have different locations.
    """
    located = [(column, column.location) for column in columns if column.location is not None]
    if not located:
        return list(columns)
    first, location = located[0]
    for column, place in located:
        if not np.array_equal(location, place, equal_nan=True):
            raise usage(
                f"the times of the columns {first.name!r} and {column.name!r} are of two "
                "locations: a table has one (OBSGEO-X, OBSGEO-Y, OBSGEO-Z)",
                "write them to two tables, or remove the location from one of them",
            )
    if theirs is None:
        shapes = {name: location.shape[2:] for name in PLACE if differs_by_row(location)}
    else:
        shapes = {column.name: column.shape for column in theirs}
    ours = {column.name for column in columns}
    added = []
    for name, metres in zip(PLACE, location, strict=True):
        if name in shapes and name not in ours:
            added.append(column_data(name, _by_row(metres, first.rows, shapes[name]), unit="m"))
    return [*columns, *added]


def _by_row(metres: NDArray[np.float64], rows: int, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a location of all rows, of each row, or of each element, as cells of a shape."""
    if metres.ndim > 1:
        each = metres.reshape(rows, -1)
        if shape or not np.array_equal(each, np.broadcast_to(each[:, :1], each.shape)):
            return metres
        metres = each[:, 0]
    # A location of a row applies to all its elements.
    return np.broadcast_to(metres.reshape(-1, *(1,) * len(shape)), (rows, *shape))


def check_position(column: ColumnData, position: Any, where: str) -> None:
    """Raise UsageError if times with a location would go where another position is stated."""
    if position is not None and str(position).strip().upper() != THERE:
        raise usage(
            f"column {column.name!r}: times with a location, where {where} say that they are of "
            f"{position!r} (TRPOSn, TREFPOS), not of {THERE!r}",
            "correct the header, or give the times without a location",
        )


def in_metres(values: Any, unit: str | None) -> Any:
    """Return lengths in metres, unchanged without a unit; None if they are not lengths."""
    parsed = fits_unit(unit or "m")
    is_number = isinstance(values, np.ndarray) and values.dtype.kind in "iuf"
    if parsed is None or not is_number or not parsed.is_equivalent("m"):
        return None
    return values if parsed == "m" else parsed.to("m", np.ma.filled(values.astype(float), np.nan))


def place_columns(columns: Sequence[ColumnData]) -> dict[str, Any]:
    """Return the columns with the observatory's location, in metres by name."""
    if all(column.location is None for column in columns):
        # The unit needs astropy, which takes long to import.
        return {}
    place = [column for column in columns if column.name in PLACE]
    return {column.name: in_metres(column.values, column.unit) for column in place}


def check_place(column: ColumnData, name: str, metres: Any, reference: Any, where: str) -> None:
    """Raise UsageError for times at another location; an array has a location per row."""
    row = ""
    if np.asarray(reference).dtype.kind in "iuf":
        # An array with fewer axes applies to all elements of a row.
        axes = max(np.ndim(reference), np.ndim(metres))
        ours, theirs = (
            each.reshape(each.shape + (1,) * (axes - each.ndim))
            for each in map(np.asarray, (metres, reference))
        )
        ours, theirs = np.broadcast_arrays(ours, theirs)
        # Units other than metres, and decimals in a card, round the last digits.
        odd = np.argwhere(~np.isclose(theirs, ours, rtol=1e-12, atol=0, equal_nan=True))
        if not len(odd):
            return
        row = f", row {odd[0][0]} (0-based)" if axes else ""
        metres, reference = ours[tuple(odd[0])], theirs[tuple(odd[0])]
    raise usage(
        f"column {column.name!r}{row}: times at {name} {metres}, where {where} say {reference}",
        "all times of a row share one location: remove cards and columns with another one, or "
        "write the times to another table",
    )
