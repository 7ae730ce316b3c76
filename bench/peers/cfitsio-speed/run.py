"""CFITSIO's speed.c, unmodified: run as a whole each time, the time of one step taken from it.

It prints times in milliseconds, and the processor's share of them. All its values are 0.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

from astropy.io import fits
from python_runner import Model, Request, serve

#: Model -> the line that has its time, and the HDU of what it writes or reads.
LINES = {
    "write-raw": (r"RAW fwrite", 0),
    "read-raw": (r"RAW fread", 0),
    "write-image": (r"Write .* image", 0),
    "read-image": (r"Read back image", 0),
    "write-binary": (r"Write .* bintable", 1),
    "write-ascii": (r"Write .* asctable", 2),
    "read-binary": (r"Read back BINTABLE", 1),
    "read-ascii": (r"Read back ASCII Table", 2),
}
#: The file that it leaves.
LEFT = "speedcc.fit"


@dataclass(frozen=True)
class Step:
    """A step of the program: what it says of it, and how many rows the file has."""

    megabytes: float
    seconds: float
    percent: float
    rows: int


def run(request: Request) -> Step:
    """Run the program in the scratch folder; what it says of the step, and the rows of its HDU."""
    line, hdu = LINES[request["model"]]
    said = subprocess.run(
        [sys.argv[1]], cwd=request["scratch"], check=True, capture_output=True, text=True
    )
    found = re.search(line + r".*? ([0-9.]+)MB/ *([0-9.]+)s\( *([0-9]+)\)", said.stdout)
    if found is None:
        raise ValueError(f"speed says nothing of {request['model']}: {said.stdout!r}")
    path = Path(request["scratch"], LEFT)
    with fits.open(path) as hdus:
        data = hdus[hdu].data
        if any(data[name].any() for name in data.names) if hdu else data.any():
            raise ValueError("a value is not 0")
        rows = len(data)
    path.unlink()
    return Step(*map(float, found.groups()), rows)


def version() -> str:
    """Say which program it is; FileNotFoundError where it was not built."""
    size = Path(sys.argv[1]).stat().st_size
    return f"speed.c of CFITSIO's examples, {size} bytes"


if __name__ == "__main__":
    model = Model(
        run,
        answer=lambda step, request: {"rows": step.rows},
        clock=lambda step: step.seconds,
        worked=lambda step: step.seconds * step.percent / 100,
        size=lambda step, request: round(step.megabytes * 1e6),
    )
    serve(dict.fromkeys(LINES, model), version)
