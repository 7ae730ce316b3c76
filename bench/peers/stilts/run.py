"""STILTS: tables matched by position; the start of its Java machine is in its times."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import day
from python_runner import Model, Request, serve


def match(request: Request) -> dict[str, Any]:
    """Match two catalogues: the nearest row of the second for each row of the first."""
    subprocess.run(
        ["stilts", "tmatch2", f"in1={request['path']}", f"in2={request['second']}", "ifmt1=fits",
         "ifmt2=fits", "matcher=sky", "values1=RA DEC", "values2=RA DEC",
         f"params={request['arcsec']}", "find=best1", "join=1and2", "progress=none",
         f"out={request['output']}", "ofmt=fits-basic"],
        capture_output=True, check=True,
    )  # fmt: skip
    return {}


def version() -> str:
    """Return the version that the program tells."""
    if shutil.which("stilts") is None:
        sys.exit("STILTS is not installed: apt install stilts")
    said = subprocess.run(["stilts", "-version"], capture_output=True, text=True, check=True)
    return next(line.strip() for line in said.stdout.splitlines() if "version" in line.lower())


if __name__ == "__main__":
    serve({"day-match": Model(match, day.right_pairs)}, version)
