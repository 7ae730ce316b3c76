"""photutils: apertures, and the median of a ring about each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import day
import photutils
from astropy.io import fits
from photutils.aperture import (
    ApertureStats,
    CircularAnnulus,
    CircularAperture,
    aperture_photometry,
)
from python_runner import Model, Request, serve


def photometry(request: Request) -> Any:
    """Measure apertures, each with the background of a ring about it."""
    centres = day.apertures(request)
    with fits.open(request["path"]) as hdus:
        data = hdus[0].data.astype("f8")
    circles = CircularAperture(centres, day.APERTURE)
    level = ApertureStats(data, CircularAnnulus(centres, *day.RING)).median
    sums = aperture_photometry(data, circles, method="exact")["aperture_sum"]
    return sums - level * circles.area


if __name__ == "__main__":
    serve(
        {"day-photometry": Model(photometry, day.right_fluxes)},
        lambda: f"photutils {photutils.__version__}",
    )
