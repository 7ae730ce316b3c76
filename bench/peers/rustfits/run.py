"""rustfits: `read()` of an image HDU gives a native array."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import rustfits
from python_runner import Model, Request, checksum, serve


def read(request: Request) -> Any:
    """Read the image whole."""
    with rustfits.FITS(request["path"]) as file:
        return file[0].read()


if __name__ == "__main__":
    serve({"read": Model(read, checksum)}, lambda: f"rustfits {version('rustfits')}")
