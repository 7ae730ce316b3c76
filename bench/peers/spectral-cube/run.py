"""spectral-cube: two cubes opened with dask, added, written.

Its other mode takes whole cubes into memory with a mask each, which does not fit beside these; on
small cubes it is as fast.
"""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

from python_runner import Model, Request, serve
from spectral_cube import SpectralCube

warnings.simplefilter("ignore")


def add(request: Request) -> dict[str, object]:
    """Add two cubes."""
    first = SpectralCube.read(request["path"], use_dask=True)
    second = SpectralCube.read(request["second"], use_dask=True)
    (first + second).write(request["output"], overwrite=True)
    return {}


if __name__ == "__main__":
    serve({"add": Model(add)}, lambda: f"spectral-cube {version('spectral-cube')}")
