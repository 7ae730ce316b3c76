"""Cubes in, cubes out, and what reduces a cube to images or numbers: what a user types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from line_fits import at_minima
from opened import opened
from python_runner import Model, Request
from smoothing import agrees, asked_beam, has_beam, timed

import tachyfits as tf


def hanning(request: Request) -> dict[str, Any]:
    """Smooth along one axis; the sample at the edge is repeated."""
    with opened(request) as file:
        smooth = file[0].smooth("hanning", axis=request["axis"])
        smooth.write(request["output"], threads=request["threads"])
    return {}


def smooth_sky(request: Request) -> Any:
    """Smooth planes with a Gaussian, by one thread."""
    with opened(request) as file:
        return (
            file[0]
            .smooth_sky(request["width"], edge=request["edge"], update_beam=False)
            .read(threads=1)
        )


def smooth_beams(request: Request) -> Any:
    """Smooth channels to a beam, each by its own kernel, by one thread."""
    major, minor, angle = asked_beam(request)
    with opened(request) as file:
        beam = f"{major}arcsec, {minor}arcsec, {angle}deg"
        return file[0].smooth(beam=beam, edge="zero").read(threads=1)


def fit_lines(request: Request) -> Any:
    """Fit a Gaussian to each spectrum."""
    with opened(request) as file:
        (maps,) = file[0].fit_gaussians(threads=request["threads"])
        return maps, file[0].world_axis("z").values


def in_channels(result: Any, request: Request) -> dict[str, bool]:
    """Check the maps, whose centres and widths are coordinates."""
    maps, axis = result
    step = axis[1] - axis[0]
    width = maps.fwhm.values / abs(step) / np.sqrt(8 * np.log(2))
    centre = (maps.centre.values - axis[0]) / step
    return at_minima(np.stack([maps.amplitude.values, centre, width]), request)


def region_spectrum(request: Request) -> Any:
    """Take the spectrum of a circle: in pixels and Jy/beam, or on the sky, by velocity and in K."""
    with opened(request) as file:
        image = file[0]
        y, x = (length // 2 for length in image.shape[1:])
        if request["form"] == "pixels":
            radius = request["arcsec"] / 3600 / image.header["CDELT2"]
            return image.spectrum(tf.Circle(x, y, radius), threads=request["threads"])
        at, _ = image.coordinates.pixel_to_world(x, y, 0)
        # Of all channels.
        circle = tf.SkyRegion.circle(at, f"{request['arcsec']} arcsec")
        chosen = image.select(circle, channels="-1e5..1e5 km/s", rest="100 GHz")
        return chosen.spectrum(rest="100 GHz", unit="K", threads=request["threads"])


def right_spectrum(spectrum: Any, request: Request) -> dict[str, Any]:
    """Check the first and the last channel by NumPy; pixels at the border count for little."""
    import astropy.units as u
    from astropy.io import fits

    with fits.open(request["path"]) as hdus:
        header, cube = hdus[0].header, hdus[0].data
        y, x = np.indices(cube.shape[1:])
        away = np.hypot(y - cube.shape[1] // 2, x - cube.shape[2] // 2)
        inside = away * header["CDELT2"] * 3600 <= request["arcsec"]
        agrees = len(spectrum.values) == len(cube)
        for channel in (0, len(cube) - 1):
            right = float(cube[channel][inside].mean(dtype="f8"))
            if request["form"] == "sky":
                area = np.pi / (4 * np.log(2)) * header["BMAJ"] * header["BMIN"] * u.deg**2
                hertz = (header["CRVAL3"] + channel * header["CDELT3"]) * u.Hz
                right = (right * u.Jy / area).to_value(u.K, u.brightness_temperature(hertz))
            agrees = agrees and abs(spectrum.values[channel] / right - 1) < 1e-3
    return {"agrees": bool(agrees)}


def add(request: Request) -> dict[str, Any]:
    """Add two cubes."""
    with opened(request) as first, tf.open(request["second"]) as second:
        both = tf.evaluate("a + b", a=first[0], b=second[0])
        both.write(request["output"], threads=request["threads"])
    return {}


def pipeline(request: Request) -> dict[str, Any]:
    """Read the cube, measure it, add it to another, smooth it along x, y and z: one after another.

    Each file that is written takes the place of the one before it.
    """
    with opened(request) as file:
        file[0].read(threads=request["threads"])
        file[0].stats(threads=request["threads"])
    add(request)
    for axis in "xyz":
        Path(request["output"]).unlink()
        hanning({**request, "axis": axis})
    return {}


def reorder(request: Request) -> dict[str, Any]:
    """Write the cube with its axes in another order."""
    with opened(request) as file:
        file[0].reorder(request["order"]).write(request["output"], threads=request["threads"])
    return {}


def moments(request: Request) -> list[Any]:
    """Make the maps of moments 0, 1 and 2 in one pass."""
    with opened(request) as file:
        return list(file[0].moments((0, 1, 2), threads=request["threads"]))


def save(maps: list[Any], request: Request) -> dict[str, Any]:
    """Put maps where the harness can compare them."""
    with open(request["output"], "wb") as stream:
        np.save(stream, np.stack([plane.values for plane in maps]))
    return {}


def median(request: Request) -> dict[str, Any]:
    """Find the exact median of the whole cube."""
    with opened(request) as file:
        return {"median": float(file[0].median(threads=request["threads"]))}


#: Latest file of `keep`: its path and its bytes.
KEPT: dict[str, bytes] = {}


def keep(request: Request) -> None:
    """Have the file's bytes in memory where there shall be no reading."""
    wanted = request.get("storage") == "memory"
    if not wanted or request["path"] not in KEPT:
        KEPT.clear()
    if wanted and not KEPT:
        KEPT[request["path"]] = Path(request["path"]).read_bytes()


def robust_rms(request: Request) -> tuple[Any, Any]:
    """Find the robust rms of every plane, `repeat` times over; what that cost."""
    with tf.open(KEPT[request["path"]]) if KEPT else opened(request) as file, tf.reports() as costs:
        # The engine repeats what it computes of each plane: users have no such option.
        found = (
            file[0]
            ._core_image()
            .robust_rms(
                True,
                repeat=request["repeat"],
                buffering=request["buffering"],
                threads=request["threads"],
            )
        )
    return found, costs[-1]


MODELS = {
    "hanning": Model(hanning),
    "smooth-sky": timed(smooth_sky, agrees),
    "smooth-beams": timed(smooth_beams, has_beam),
    "fit-lines": Model(fit_lines, in_channels),
    "region-spectrum": Model(region_spectrum, right_spectrum),
    "add": Model(add),
    "pipeline": Model(pipeline),
    "reorder": Model(reorder),
    "moments": Model(moments, save),
    "median": Model(median),
    "robust-rms": Model(
        robust_rms,
        answer=lambda result, request: {"robust-rms": result[0].tolist()},
        prepare=keep,
        hidden=lambda result: result[1].hidden_fraction,
    ),
}
