"""Conversion to polars frames; polars is imported on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import usage
from tachyfits.base.optional import needed
from tachyfits.table.columns import Columns

if TYPE_CHECKING:
    import polars


def polars_frame(columns: Columns) -> polars.DataFrame:
    """Return a polars DataFrame, through Arrow."""
    frame: polars.DataFrame = needed("polars", "a polars DataFrame").from_arrow(columns.to_arrow())
    return frame


def refuse_objects(name: str, data: Any) -> None:
    """Refuse a polars column of Python objects: Arrow would receive their addresses.

    ``name``: column name; a frame knows the names of its columns.
    """
    if type(data).__module__.partition(".")[0] == "polars":
        kinds = data.schema if hasattr(data, "schema") else {name: getattr(data, "dtype", None)}
        odd = [name for name, kind in kinds.items() if str(kind) == "Object"]
        if odd:
            raise usage(
                f"column {odd[0]!r}: FITS has no type for polars' Object",
                "cast it to numbers, truth values, text, or lists of these",
            )
