"""scipy: the cube in memory, one call (or one for each spectrum), results written by astropy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import astropy
import day
import fortran_records as common
import line_fits
import numpy as np
import scipy
import smoothing
from astropy.io import fits
from python_runner import Model, Request, serve
from scipy.io import FortranFile
from scipy.ndimage import convolve1d, gaussian_filter, map_coordinates
from scipy.optimize import curve_fit

#: FITS letter -> index in NumPy's order.
AXES = {"x": 2, "y": 1, "z": 0}


def hanning(request: Request) -> dict[str, object]:
    """Smooth by [1/4, 1/2, 1/4]; `nearest` repeats the sample at the edge."""
    with fits.open(request["path"]) as hdus:
        values = hdus[0].data.astype("f4")
        smooth = convolve1d(values, [0.25, 0.5, 0.25], axis=AXES[request["axis"]], mode="nearest")
        fits.writeto(request["output"], smooth, hdus[0].header)
    return {}


def smooth_sky(request: Request) -> Any:
    """Smooth planes with a Gaussian; where pixels are undefined their weights as well."""
    mode = {"repeat": "nearest", "zero": "constant"}[request["edge"]]
    sigma, radius = smoothing.sigma(request["width"]), smoothing.half_width(request["width"])

    def gaussian(planes: Any) -> Any:
        return np.stack([gaussian_filter(one, sigma, mode=mode, radius=radius) for one in planes])

    with fits.open(request["path"]) as hdus:
        values = hdus[0].data.astype("f4")
    good = np.isfinite(values)
    if good.all():
        return gaussian(values)
    smooth = gaussian(np.where(good, values, np.float32(0)))
    smooth /= gaussian(good.astype("f4"))
    smooth[~good] = np.nan
    return smooth


def fit_lines(request: Request) -> Any:
    """Fit a Gaussian to each spectrum; begin at the highest channel."""
    with fits.open(request["path"]) as hdus:
        values = hdus[0].data.astype("f8")
    x = np.arange(len(values), dtype="f8")
    found = np.full((3, *values.shape[1:]), np.nan)
    for place in np.ndindex(*values.shape[1:]):
        spectrum = values[(slice(None), *place)]
        at = int(spectrum.argmax())
        try:
            best, _ = curve_fit(line_fits.gaussian, x, spectrum, (spectrum[at], at, 4.0))
        except RuntimeError:
            continue
        found[(slice(None), *place)] = best
    return found


def cut(request: Request) -> Any:
    """Cut along a path, channel by channel."""
    with fits.open(request["path"]) as hdus:
        cube = hdus[0].data
        at = day.samples(cube.shape)
        places = [at[..., 1], at[..., 0]]
        return [map_coordinates(plane, places, order=1).mean(axis=0) for plane in cube]


def records(request: Request) -> float:
    """Write or read records one by one, the only way available; return the seconds."""
    return common.median_seconds(request, "scipy", lambda: _records(request))


def _records(request: Request) -> None:
    prefix = common.PREFIX[request["order"]]
    mode = request["action"][0]
    values = common.one(request).astype(f"{prefix}f8")
    with FortranFile(common.path(request, "scipy"), mode, f"{prefix}u4") as file:
        for _ in range(common.records(request)):
            if mode == "w":
                file.write_record(values)
            else:
                file.read_record(f"{prefix}f8")


RECORDS = Model(
    records,
    answer=lambda result, request: common.answer(request, "scipy"),
    prepare=lambda request: common.make(request, "scipy"),
    clock=lambda seconds: seconds,
)

if __name__ == "__main__":
    serve(
        {
            "hanning": Model(hanning),
            "smooth-sky": smoothing.timed(smooth_sky, smoothing.agrees),
            "day-cut": Model(cut, day.right_cut),
            "fit-lines": Model(fit_lines, line_fits.at_minima),
            "fortran-records": RECORDS,
        },
        lambda: f"SciPy {scipy.__version__}, astropy {astropy.__version__}",
    )
