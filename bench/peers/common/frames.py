"""A query of polars: three columns of the rows for which the condition of an input holds."""

from __future__ import annotations

from typing import Any

from tables import rows_answer

COLUMNS = ["ID", "RA", "DEC"]

#: The ID of the first row.
FIRST = 10**12


def query(frame: Any, request: dict[str, Any]) -> Any:
    """Filter a frame, lazy or not, and select its columns."""
    import polars as pl

    condition = request["pixels"]["condition"]
    (low, limit), (same, value) = condition["below"], condition["equal"]
    return frame.filter((pl.col(low) < limit) & (pl.col(same) == value)).select(COLUMNS)


def answer(identifiers: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Give how many rows were selected, and the fingerprint of their numbers."""
    return rows_answer(identifiers - FIRST, request)


def length(table: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Give the number of rows."""
    return {"rows": len(table)}
