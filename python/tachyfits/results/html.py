"""HTML of results, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Mapping


def table_html(rows: Mapping[str, object]) -> str:
    """Return names and values as a table for notebooks."""
    lines = (
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table><tbody>{''.join(lines)}</tbody></table>"
