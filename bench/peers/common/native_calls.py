"""Peers that are programs of native calls: see calls.h for their words and replies."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from python_runner import Model, Request, Unsupported, serve
from tables import columns_answer

PROGRAM = sys.argv[1]
TABLES = ("columns", "columns-in-chunks", "write-table", "write-in-chunks")
#: Where the program stores columns, so that their fingerprints are worked out outside it.
VALUES = Path(tempfile.gettempdir()) / f"tachyfits-bench-{os.getpid()}.values"


def names_of(request: Request) -> list[str]:
    """Name the columns of a request; none of an image."""
    if request["model"] not in TABLES:
        return []
    names: list[str] = request["pixels"]["selections"][request["columns"]]
    return names


def run(request: Request) -> list[str]:
    """Have the program make its calls; what it prints."""
    output = request["output"] if request["model"].startswith("write") else VALUES
    names = names_of(request)
    words = [request["model"], request["path"], request.get("hdu", 0), request["type"]]
    words += [int(request.get("nulls", False)), request["times"], output, *names]
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode == 5:
        raise Unsupported(done.stderr.strip())
    if done.returncode != 0:
        raise RuntimeError((done.stderr or done.stdout).strip() or f"status {done.returncode}")
    return done.stdout.split()


def answer(said: list[str], request: Request) -> dict[str, Any]:
    """Give sum and bits of pixels, or fingerprints of columns; nothing of a written file."""
    if request["model"] == "image":
        return {"sum": float(said[2]), "bits": int(said[3])}
    if not request["model"].startswith("columns"):
        return {}
    names, types = names_of(request), request["type"].split(",")
    raw = VALUES.read_bytes()
    VALUES.unlink()
    rows = len(raw) // sum(np.dtype(kind).itemsize for kind in types)
    values, at = {}, 0
    for name, kind in zip(names, types, strict=True):
        values[name] = np.frombuffer(raw, kind, rows, at)
        at += values[name].nbytes
    return columns_answer(values, request)


def version() -> str:
    """Give what the program calls itself."""
    done = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> None:
    """Answer requests."""
    clock: Callable[[Any], float] = lambda said: float(said[0])  # noqa: E731
    model = Model(run, answer, clock=clock, worked=lambda said: float(said[1]))
    serve(dict.fromkeys(("image", "write-image", *TABLES), model), version)


if __name__ == "__main__":
    main()
