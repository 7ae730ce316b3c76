"""The file of Fortran records that peers write and read: where it is, and what must be in it.

Every record is 0 1 2 3 0 1 2 3 ... in double precision, so that the sum is 1.5 for each number
whatever the length of the records.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())
PREFIX = {"big": ">", "little": "<", "native": "="}


def size(result: object, request: dict[str, Any]) -> int:
    """Count the bytes of the numbers of a run."""
    return 8 * int(request["numbers"])


def records(request: dict[str, Any]) -> int:
    """Count the records."""
    return int(request["numbers"]) // int(request["elements"])


def path(request: dict[str, Any], peer: str) -> Path:
    """Name the file of a peer: no disk takes part, as in the experiment of 2013."""
    return FOLDER / f"tachyfits-bench-{peer}-{request['elements']}-{request['order']}.dat"


def one(request: dict[str, Any]) -> np.ndarray:
    """Make the content of a record, native."""
    return np.arange(request["elements"], dtype="f8") % 4


def make(request: dict[str, Any], peer: str) -> None:
    """Have the file there to be read, and none where one is written."""
    target = path(request, peer)
    target.unlink(missing_ok=True)
    if request["action"] == "read":
        prefix = PREFIX[request["order"]]
        marker = np.array(8 * request["elements"], f"{prefix}i4").tobytes()
        record = marker + one(request).astype(f"{prefix}f8").tobytes() + marker
        target.write_bytes(record * records(request))


def median_seconds(request: dict[str, Any], peer: str, once: Callable[[], object]) -> float:
    """Write or read the file as often as requested; return the median of the seconds.

    A file in memory takes new pages each time. To get those of the first one may take longer than
    all the rest, and has nothing to do with records.
    """
    seconds = []
    for _ in range(request["times"]):
        if request["action"] == "write":
            path(request, peer).unlink(missing_ok=True)
        start = time.perf_counter()
        once()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def answer(request: dict[str, Any], peer: str) -> dict[str, Any]:
    """Add up what is in the file, which is deleted then."""
    target, prefix = path(request, peer), PREFIX[request["order"]]
    form = [("a", f"{prefix}i4"), ("x", f"{prefix}f8", request["elements"]), ("b", f"{prefix}i4")]
    found = np.fromfile(target, np.dtype(form))
    target.unlink()
    length = 8 * request["elements"]
    if (
        len(found) != records(request)
        or np.any(found["a"] != length)
        or np.any(found["b"] != length)
    ):
        raise ValueError("the file has other records")
    return {"sum": float(found["x"].sum())}
