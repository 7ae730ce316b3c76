"""The Fortran program, started for every request; it times itself, from open to close."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import fortran_records as common
from python_runner import Model, Request, serve

PROGRAM = sys.argv[1]


def run(request: Request) -> list[str]:
    """Have one file written or read; the seconds that the program says, and what it found."""
    pixels = request["pixels"]
    if pixels["type"] != "f4":
        raise ValueError(f"the program knows 32-bit floats, not {pixels['type']}")
    depth, height, width = pixels["shape"]
    operation = request["axis"] if request["model"] == "hanning" else request["model"]
    words = [operation, request["output"], pixels["offset"], width, height, depth, request["path"]]
    if operation == "add":
        words.append(request["second"])
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout.strip():
        raise RuntimeError((done.stderr or done.stdout).strip() or f"status {done.returncode}")
    return done.stdout.split()


def answer(said: list[str], request: Request) -> dict[str, Any]:
    """Give the bits of what was read, or statistics; nothing of a file that was written."""
    if request["model"] == "read":
        return {"bits": int(said[1])}
    if request["model"] != "stats":
        return {}
    total, squares, least, most = map(float, said[1:])
    count = math.prod(request["pixels"]["shape"])
    mean, square = total / count, squares / count
    return {
        "count": count,
        "sum": total,
        "mean": mean,
        "rms": math.sqrt(square),
        "std": math.sqrt(square - mean**2),
        "min": least,
        "max": most,
    }


def records(request: Request) -> tuple[float, float]:
    """Have records written or read; the seconds, and the sum, that the program says."""
    program = Path(PROGRAM).with_name("records")
    order = request["order"] if request["order"] == "native" else f"{request['order']}_endian"
    path = common.path(request, "gfortran")
    words = [request["action"], path, order, request["elements"], common.records(request)]
    words.append(request["times"])
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=True)
    seconds, total = map(float, done.stdout.split())
    if total != 1.5 * request["numbers"]:
        raise ValueError(f"the program's sum is {total}")
    return seconds, total


def version() -> str:
    """Give what the compiler called itself."""
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    return f"{said.stdout.strip()} -O3 -march=native"


RECORDS = Model(
    records,
    answer=lambda result, request: common.answer(request, "gfortran"),
    prepare=lambda request: common.make(request, "gfortran"),
    clock=lambda result: result[0],
    size=common.size,
)
MODEL = Model(run, answer, clock=lambda said: float(said[0]))

if __name__ == "__main__":
    models = dict.fromkeys(("read", "stats", "hanning", "add"), MODEL)
    serve({**models, "fortran-records": RECORDS}, version)
