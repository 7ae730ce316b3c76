"""Lazy polars frames: a query's columns and conditions decide what is read.

A polars predicate is translated as far as the engine selects the same rows or more; polars then
filters the rows itself. Only this module knows polars' serialised expressions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tachyfits.base.optional import needed

if TYPE_CHECKING:
    import polars

    from tachyfits.table.table import Table

#: Minimum rows of a batch: polars requests fewer than keep all cores busy.
_ROWS = 1 << 20

#: Bytes of the rows of a batch under a condition, which selects few of them.
_BYTES = 1 << 30

#: Engine conditions for polars comparisons. In polars NaN is the largest number, so "greater"
#: becomes "not less"; both sides may be rounded, so no condition is strict.
_COMPARISONS = {
    "Lt": "{0} <= {1}", "LtEq": "{0} <= {1}", "Gt": "!({0} < {1})", "GtEq": "!({0} < {1})",
    "Eq": "{0} == {1}",
}  # fmt: skip
_MIRROR = {"Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq", "Eq": "Eq"}


def lazy_frame(table: Table, columns: list[str] | None) -> polars.LazyFrame:
    """Return a lazy frame of a table."""
    pl = needed("polars", "a frame of polars")
    plugins = needed("polars.io.plugins", "a frame of polars")
    scalars = {column.key for column in table.columns if not column.shape}

    def source(
        with_columns: list[str] | None, predicate: Any, n_rows: int | None, batch_size: int | None
    ) -> Iterator[polars.DataFrame]:
        names = columns if with_columns is None else with_columns
        where = None if predicate is None else _condition(predicate, scalars)
        step = max(batch_size or 0, _ROWS)
        if where is not None:
            step = max(step, _BYTES // max(1, table.row_bytes))
        end = len(table) if n_rows is None else min(n_rows, len(table))
        for first in range(0, end, step):
            piece = slice(first, min(first + step, end))
            stream = table.arrow_stream(names or [], rows=step, where=where, within=piece)
            frame: Any = pl.DataFrame(stream)
            yield frame if predicate is None else frame.filter(predicate)

    schema = pl.DataFrame(table.arrow_stream(columns, within=slice(0, 0))).schema
    lazy: polars.LazyFrame = plugins.register_io_source(source, schema=schema, is_pure=True)
    return lazy


def _condition(predicate: Any, columns: set[str]) -> str | None:
    """Return a condition that all rows of a predicate satisfy, or None."""
    try:
        return _condition_of(json.loads(predicate.meta.serialize(format="json")), columns)
    except (KeyError, TypeError, ValueError):
        # Another version of polars, or an expression that it cannot serialise.
        return None


def _condition_of(node: Any, columns: set[str]) -> str | None:
    """Return the condition of a subexpression."""
    kind: str
    content: Any
    kind, content = next(iter(node.items())) if isinstance(node, dict) and node else ("", {})
    if kind == "Function" and "IsBetween" in str(content["function"]):
        value, low, high = (_operand(part, columns) for part in content["input"])
        if value is None or low is None or high is None:
            return None
        return f"(!({value} < {low}) && {value} <= {high})"
    if kind != "BinaryExpr":
        return None
    left, op, right = content["left"], content["op"], content["right"]
    if op in ("And", "LogicalAnd", "Or", "LogicalOr"):
        sides = [_condition_of(side, columns) for side in (left, right)]
        parts = [part for part in sides if part is not None]
        if op.endswith("And") and parts:
            return f"({' && '.join(parts)})"
        return f"({' || '.join(parts)})" if len(parts) == 2 else None
    if "Literal" in left:
        left, op, right = right, _MIRROR.get(op, ""), left
    first, second = _operand(left, columns), _operand(right, columns)
    pattern = _COMPARISONS.get(op)
    if pattern is None or first is None or second is None or ("'" in second and op != "Eq"):
        return None
    return pattern.format(first, second)


def _operand(node: Any, columns: set[str]) -> str | None:
    """Return a column or a constant in the engine's syntax."""
    if "Column" in node:
        name = node["Column"]
        return f"`{name}`" if name in columns and "`" not in name else None
    if "Literal" not in node:
        return None
    value = node["Literal"]
    while isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    if isinstance(value, str):
        plain = value.isascii() and value.isprintable() and not set(value) & set("'\"\\")
        return f"'{value}'" if plain and value else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return repr(value)
