"""pyarrow's writer of CSV, which has the columns in memory before the clock starts."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import pyarrow as pa
import pyarrow.csv
from python_runner import Model, Request, serve
from tables import csv_answer, keep, kept


def write(request: Request) -> None:
    """Write the columns."""
    table = pa.table(dict(kept(request)))
    pyarrow.csv.write_csv(table, Path(request["output"]).with_suffix(".csv"))


if __name__ == "__main__":
    serve({"csv": Model(write, csv_answer, prepare=keep)}, lambda: f"pyarrow {pa.__version__}")
