"""The steps of an astronomer's day: what a user types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import day
import numpy as np
from opened import opened
from python_runner import Model, Request

import tachyfits as tf


def noise(request: Request) -> float:
    """Measure the noise of two ranges of channels, in kelvins."""
    with opened(request) as file:
        empty = file[0].to("K").select(channels=day.ranges(file[0].shape[0]))
        return float(empty.std(threads=request["threads"]))


def moments(request: Request) -> Any:
    """Take moments of the pixels above a threshold, by velocity."""
    with opened(request) as file:
        bright = file[0].select(where=f"{day.THRESHOLD} Jy/beam")
        maps = bright.moments(
            (0, 1, 2), unit="km/s", rest=f"{day.REST} GHz", threads=request["threads"]
        )
        return [plane.values for plane in maps]


def cut(request: Request) -> Any:
    """Cut along a path."""
    with opened(request) as file:
        image = file[0]
        diagram = image.pv(day.path(image.shape), width=day.WIDTH)
        return diagram.read(threads=request["threads"])


def spectra(request: Request) -> Any:
    """Take the mean spectra of circles, all in one pass."""
    with opened(request) as file:
        image = file[0]
        places = [tf.Circle(x, y, day.RADIUS) for x, y in day.circles(image.shape)]
        return [one.values for one in image.spectrum(places, threads=request["threads"])]


def photometry(request: Request) -> Any:
    """Measure apertures, each with the background of a ring about it."""
    with opened(request) as file:
        image = file[0].with_beam(f"{day.BEAM}arcsec")
        places = [tf.Circle(x, y, day.APERTURE) for x, y in day.apertures(request)]
        found = image.photometry(places, background=day.RING, threads=request["threads"])
        # In sums of pixels, by the area of the beam in pixels.
        pixel = 3600 * abs(image.header["CDELT2"])
        return found.flux.value * np.pi / (4 * np.log(2)) * (day.BEAM / pixel) ** 2


def match(request: Request) -> dict[str, Any]:
    """Match two catalogues by the command, its start included."""
    command = [str(Path(sys.executable).with_name("tachyfits")), "match"]
    command += [request["path"], request["second"], "--radius", f"{request['arcsec']}arcsec"]
    subprocess.run([*command, "-o", request["output"]], capture_output=True, check=True)
    return {}


MODELS = {
    "day-noise": Model(noise, day.right_noise),
    "day-moments": Model(moments, day.right_moments),
    "day-cut": Model(cut, day.right_cut),
    "day-spectra": Model(spectra, day.right_spectra),
    "day-photometry": Model(photometry, day.right_fluxes),
    "day-match": Model(match, day.right_pairs),
}
