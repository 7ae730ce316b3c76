"""CFITSIO's speed.c, unmodified: run as a whole each time, the time of one table taken from it.

It prints times in milliseconds. All its values are 0.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

from astropy.io import fits
from python_runner import Model, Request, serve

#: Model -> the line that has its time, and the HDU of its table.
LINES = {
    "write-binary": (r"Write .* bintable", 1),
    "write-ascii": (r"Write .* asctable", 2),
    "read-binary": (r"Read back BINTABLE", 1),
    "read-ascii": (r"Read back ASCII Table", 2),
}
#: The file that it leaves.
LEFT = "speedcc.fit"


def run(request: Request) -> tuple[float, dict[str, Any]]:
    """Run the program in the scratch folder; the seconds that it says, and the table's rows."""
    line, hdu = LINES[request["model"]]
    said = subprocess.run(
        [sys.argv[1]], cwd=request["scratch"], check=True, capture_output=True, text=True
    )
    found = re.search(line + r".*?MB/ *([0-9.]+)s", said.stdout)
    if found is None:
        raise ValueError(f"speed says nothing of {request['model']}: {said.stdout!r}")
    path = Path(request["scratch"], LEFT)
    with fits.open(path) as hdus:
        table = hdus[hdu].data
        if any(table[name].any() for name in table.names):
            raise ValueError("a value is not 0")
        rows = len(table)
    path.unlink()
    return float(found.group(1)), {"rows": rows}


def version() -> str:
    """Say which program it is; FileNotFoundError where it was not built."""
    size = Path(sys.argv[1]).stat().st_size
    return f"speed.c of CFITSIO's examples, {size} bytes"


if __name__ == "__main__":
    model = Model(run, answer=lambda result, request: result[1], clock=lambda result: result[0])
    serve(dict.fromkeys(LINES, model), version)
