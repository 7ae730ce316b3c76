"""Tables: reading rows and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachyfits.base.rooms import interface

if TYPE_CHECKING:
    from tachyfits.table.columns import columns_of
    from tachyfits.table.display import columns_of_text, own_digits
    from tachyfits.table.part import Part
    from tachyfits.table.points import (
        Frame,
        Places,
        Points,
        cone_of,
        places_of,
        points_of,
        ucd_of,
    )
    from tachyfits.table.rows import resolve_rows
    from tachyfits.table.sky import cone_condition

__getattr__ = interface(
    __name__,
    {
        "columns": ("columns_of",),
        "display": ("columns_of_text", "own_digits"),
        "part": ("Part",),
        "points": ("Frame", "Places", "Points", "cone_of", "places_of", "points_of", "ucd_of"),
        "rows": ("resolve_rows",),
        "sky": ("cone_condition",),
    },
)
