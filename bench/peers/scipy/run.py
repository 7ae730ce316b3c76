"""scipy: the cube in memory, one call, and the result written by astropy."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import astropy
import scipy
from astropy.io import fits
from python_runner import Model, Request, serve
from scipy.ndimage import convolve1d

#: FITS letter -> index in NumPy's order.
AXES = {"x": 2, "y": 1, "z": 0}


def hanning(request: Request) -> dict[str, object]:
    """Smooth by [1/4, 1/2, 1/4]; `nearest` repeats the sample at the edge."""
    with fits.open(request["path"]) as hdus:
        values = hdus[0].data.astype("f4")
        smooth = convolve1d(values, [0.25, 0.5, 0.25], axis=AXES[request["axis"]], mode="nearest")
        fits.writeto(request["output"], smooth, hdus[0].header)
    return {}


if __name__ == "__main__":
    serve(
        {"hanning": Model(hanning)},
        lambda: f"SciPy {scipy.__version__}, astropy {astropy.__version__}",
    )
