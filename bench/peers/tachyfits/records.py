"""Fortran records: written from one array, and read into one, batch by batch, as programs do."""

from __future__ import annotations

from typing import Any

import fortran_records as common
import numpy as np
from python_runner import Model, Request

from tachyfits import fortran

#: Bytes of a batch that is written, which should be worth starting threads for. All records are read into one array.
BATCH = 16 << 20


def _batch(request: Request) -> int:
    if request["action"] == "read":
        return common.records(request)
    batch = BATCH // (8 * request["elements"])
    return max(1, min(batch, common.records(request)))


def run(request: Request) -> float:
    """Write or read all records, again and again; the seconds of one time."""
    return common.median_seconds(request, "tachyfits", lambda: _once(request))


def _once(request: Request) -> None:
    path, threads = common.path(request, "tachyfits"), request["threads"]
    order = None if request["order"] == "native" else request["order"]
    count = common.records(request)
    if request["action"] == "write":
        values = KEPT[request["elements"], _batch(request)]
        with fortran.create(path, order=order) as file:
            for first in range(0, count, len(values)):
                file.write_records(values[: count - first], threads=threads)
        return
    with fortran.open(path) as file:
        out = KEPT[request["elements"], count]
        file.records(0, count, "f8", out=out, threads=threads)


#: What is written, or read into: it is in memory before the clock starts, as that of gfortran is. Both byte orders take turns
#: in one array, as one of two may lie better in memory.
KEPT: dict[tuple[int, int], np.ndarray] = {}


def prepare(request: Request) -> None:
    """Have the array, or the file, there."""
    common.make(request, "tachyfits")
    elements, batch = request["elements"], _batch(request)
    if (elements, batch) not in KEPT:
        KEPT.clear()
        KEPT[elements, batch] = np.empty((batch, elements))
    KEPT[elements, batch][:] = common.one(request) if request["action"] == "write" else np.nan


def answer(result: Any, request: Request) -> dict[str, Any]:
    """Add up the numbers of the file by NumPy; and those that are read by this program itself."""
    if request["action"] == "read":
        path = common.path(request, "tachyfits")
        last = KEPT[request["elements"], _batch(request)]
        if not np.array_equal(last, np.broadcast_to(common.one(request), last.shape)):
            raise ValueError("the array that was read into holds other numbers")
        own = sum(float(part.sum()) for part in fortran.open(path).batches("f8"))
        if own != 1.5 * request["numbers"]:
            raise ValueError(f"the numbers read add up to {own}")
    return common.answer(request, "tachyfits")


MODELS = {"fortran-records": Model(run, answer, prepare, clock=lambda seconds: seconds)}
