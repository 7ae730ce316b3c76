"""torchfits: `table.read` gives an Arrow table; each column becomes a NumPy array, by Arrow."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import torchfits.table
from python_runner import Model, Request, serve
from tables import chosen, columns_answer


def read(request: Request) -> Any:
    """Read the columns, one batch of rows or more."""
    table = torchfits.table.read(
        request["path"],
        columns=chosen(request),
        batch_size=request["batch"],
        mmap=request["mmap"],
        apply_fits_nulls=False,
    )
    return {name: table[name].to_numpy() for name in table.column_names}


if __name__ == "__main__":
    serve(
        {"columns": Model(read, columns_answer)},
        lambda: f"torchfits {version('torchfits')}, pyarrow {version('pyarrow')}",
    )
