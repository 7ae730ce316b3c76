"""cp: read the whole file, write it whole, nothing in between; and no sharing of blocks on disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

from python_runner import Model, Request, serve


def copy(request: Request) -> dict[str, object]:
    """Copy the input to the output."""
    subprocess.run(["cp", "--reflink=never", request["path"], request["output"]], check=True)
    return {}


def version() -> str:
    """Give the first line of what cp says; FileNotFoundError where it is not GNU's."""
    said = subprocess.run(["cp", "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0]


if __name__ == "__main__":
    serve({"copy": Model(copy)}, version)
