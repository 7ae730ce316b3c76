"""NumPy with the image in memory in native order: no file, no conversion, only the sum.

The array is made from the file before the clock starts and kept for the next request.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import numpy as np
from python_runner import Model, Request, serve

BLOCK = 2880
TYPES = {8: "u1", 16: "i2", 32: "i4", 64: "i8", -32: "f4", -64: "f8"}
KEPT: dict[str, Any] = {}


def load(path: str) -> Any:
    """Load the primary image as a native array, by NumPy alone."""
    header: dict[str, str] = {}
    with open(path, "rb") as stream:
        while "END" not in header:
            block = stream.read(BLOCK).decode("ascii")
            for at in range(0, BLOCK, 80):
                card = block[at : at + 80]
                header[card[:8].strip()] = card[10:].split("/")[0].strip()
        shape = [int(header[f"NAXIS{n}"]) for n in range(int(header["NAXIS"]), 0, -1)]
        stored = np.dtype(TYPES[int(header["BITPIX"])]).newbyteorder(">")
        array = np.fromfile(stream, stored, count=int(np.prod(shape)))
    return array.byteswap(inplace=True).view(stored.newbyteorder("=")).reshape(shape)


def prepare(request: Request) -> None:
    """Have the array in memory."""
    if request["path"] not in KEPT:
        KEPT.clear()
        KEPT[request["path"]] = load(request["path"])


def total(request: Request) -> dict[str, Any]:
    """Sum it."""
    return {"sum": float(KEPT[request["path"]].sum())}


if __name__ == "__main__":
    serve({"sum": Model(total, prepare=prepare)}, lambda: f"NumPy {np.__version__}")
