"""spectral-cube: two cubes opened, added, written; in its mode for large cubes and the plain one.

The plain one loads whole cubes into memory, and masks with them. It must not take the memory of the
whole machine, and so has a limit; above that the row is unsupported, not a failure. Channels with
beams of their own are convolved to one by the plain one.
"""

from __future__ import annotations

import functools
import resource
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import day
import numpy as np
import smoothing
from python_runner import Model, Request, Unsupported, serve
from spectral_cube import SpectralCube

warnings.simplefilter("ignore")

#: Share of the memory that is available when the first request comes that may be taken.
SHARE = 0.9


def limit(request: Request) -> None:
    """Have no more memory than there is."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    available = next(int(line.split()[1]) * 1024 for line in lines if line[:13] == "MemAvailable:")
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_DATA, (int(available * SHARE), hard))


def add(request: Request) -> dict[str, object]:
    """Add two cubes."""
    use_dask = request["mode"] == "dask"
    try:
        first, second = (
            SpectralCube.read(request[name], use_dask=use_dask) for name in ("path", "second")
        )
        first.allow_huge_operations = second.allow_huge_operations = True
        (first + second).write(request["output"], overwrite=True)
    except MemoryError as error:
        raise Unsupported(f"not within {SHARE:.0%} of the memory that is there") from error
    return {}


@functools.cache
def client() -> Any:
    """Start two workers of one thread each, which dask then uses."""
    from dask.distributed import Client

    workers = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    workers.run(lambda: SpectralCube)
    return workers


def cluster_stats(request: Request) -> dict[str, object]:
    """Take the statistics of a cube by workers of dask, each value by one pass."""
    cube = SpectralCube.read(request["path"], use_dask=True)
    values = cube.statistics()
    return {
        "count": int(values["npts"]),
        "mean": float(values["mean"].value),
        "std": float(values["sigma"].value),
        "min": float(values["min"].value),
        "max": float(values["max"].value),
    }


def smooth_beams(request: Request) -> Any:
    """Convolve channels to a beam, each by its own kernel."""
    import astropy.units as u
    from radio_beam import Beam

    major, minor, angle = smoothing.asked_beam(request)
    cube = SpectralCube.read(request["path"])
    cube.allow_huge_operations = True
    smooth = cube.convolve_to(Beam(major * u.arcsec, minor * u.arcsec, angle * u.deg))
    return smooth.filled_data[:].value


def read_cube(request: Request) -> Any:
    """Open a cube, which may be large."""
    cube = SpectralCube.read(request["path"])
    cube.allow_huge_operations = True
    return cube


def noise(request: Request) -> float:
    """Measure the noise of two ranges of channels, in kelvins."""
    cube = read_cube(request)
    parts = [cube[part].to("K").filled_data[:].value for part in day.ranges(len(cube))]
    return float(np.nanstd(np.concatenate(parts), dtype="f8"))


def moments(request: Request) -> Any:
    """Take moments of the pixels above a threshold, by velocity."""
    import astropy.units as u

    cube = read_cube(request).with_spectral_unit(
        u.km / u.s, velocity_convention="radio", rest_value=day.REST * u.GHz
    )
    bright = cube.with_mask(cube > day.THRESHOLD * cube.unit)
    integral, mean, variance = (bright.moment(order=order).value for order in (0, 1, 2))
    return [integral, mean, np.sqrt(variance)]


def spectra(request: Request) -> Any:
    """Take the mean spectra of circles, each of the box around it."""
    cube = read_cube(request)
    found = []
    for x, y in day.circles(cube.shape):
        left, low = int(x - day.RADIUS), int(y - day.RADIUS)
        size = int(2 * day.RADIUS) + 3
        rows, columns = np.indices((size, size))
        inside = np.hypot(rows + low - y, columns + left - x) <= day.RADIUS
        part = cube[:, low : low + size, left : left + size].with_mask(inside)
        found.append(part.mean(axis=(1, 2)).value)
    return found


if __name__ == "__main__":
    serve(
        {
            "day-noise": Model(noise, day.right_noise),
            "day-moments": Model(moments, day.right_moments),
            "day-spectra": Model(spectra, day.right_spectra),
            "add": Model(add, prepare=limit),
            "cluster-stats": Model(cluster_stats, prepare=lambda request: client() and None),
            "smooth-beams": smoothing.timed(smooth_beams, smoothing.has_beam),
        },
        lambda: f"spectral-cube {version('spectral-cube')}",
    )
