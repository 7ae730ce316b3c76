"""fitsy: `.data` reads the whole image into a native array."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import fitsy
from python_runner import Model, Request, checksum, serve


def read(request: Request) -> Any:
    """Read the image whole."""
    with fitsy.open(request["path"]) as file:
        image: Any = file[0]
        return image.data


if __name__ == "__main__":
    serve({"read": Model(read, checksum)}, lambda: f"fitsy {fitsy.__version__}")
