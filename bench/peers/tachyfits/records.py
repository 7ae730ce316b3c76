"""Fortran records: all written from one array, and all read into one."""

from __future__ import annotations

from typing import Any

import fortran_records as common
import numpy as np
from python_runner import Model, Request

from tachyfits import fortran


def run(request: Request) -> float:
    """Write or read all records, again and again; the seconds of one time."""
    return common.median_seconds(request, "tachyfits", lambda: _once(request))


def _once(request: Request) -> None:
    path, threads = common.path(request, "tachyfits"), request["threads"]
    order = None if request["order"] == "native" else request["order"]
    count = common.records(request)
    values = KEPT[count, request["elements"]]
    if request["action"] == "write":
        with fortran.create(path, order=order) as file:
            file.write_records(values, threads=threads)
        return
    with fortran.open(path) as file:
        file.records(0, count, "f8", out=values, threads=threads)


#: The array that is written, or read into: it is in memory before the clock starts, as gfortran's
#: is. Both byte orders alternate in one array, as one of two may be placed better in memory.
KEPT: dict[tuple[int, int], np.ndarray] = {}


def prepare(request: Request) -> None:
    """Have the array, or the file, there."""
    common.make(request, "tachyfits")
    shape = common.records(request), request["elements"]
    if shape not in KEPT:
        KEPT.clear()
        KEPT[shape] = np.empty(shape)
    KEPT[shape][:] = common.one(request) if request["action"] == "write" else np.nan


def answer(result: Any, request: Request) -> dict[str, Any]:
    """Add up the numbers of the file by NumPy; and those that are read by this program itself."""
    if request["action"] == "read":
        path = common.path(request, "tachyfits")
        last = KEPT[common.records(request), request["elements"]]
        if not np.array_equal(last, np.broadcast_to(common.one(request), last.shape)):
            raise ValueError("the array that was read into holds other numbers")
        own = sum(float(part.sum()) for part in fortran.open(path).batches("f8"))
        if own != 1.5 * request["numbers"]:
            raise ValueError(f"the numbers read add up to {own}")
    return common.answer(request, "tachyfits")


MODELS = {
    "fortran-records": Model(run, answer, prepare, clock=lambda seconds: seconds, size=common.size)
}
