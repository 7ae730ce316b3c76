"""Shared by the Python peers for smoothing planes: weights, checks, a clock.

Rows are y, columns x. Beyond the edges the last pixel is repeated, or pixels are 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from python_runner import Model, Request

#: How far single precision may be off, in units of the planes' extent.
TOLERANCE = 2e-6
#: Number of pixels checked along each axis of the first and the last plane.
LOOKED_AT = 5


def half_width(width: float) -> int:
    """How many neighbours on either side have weights: 4 standard deviations."""
    return int(np.ceil(4 * sigma(width)))


def sigma(width: float) -> float:
    """Return the standard deviation of a Gaussian of this full width at half maximum."""
    return width / float(np.sqrt(8 * np.log(2)))


def timed(smooth: Callable[[Request], Any], check: Callable[[Any, Request], bool]) -> Model:
    """Make a model of an operation whose processor seconds count, and whose result is checked."""

    def run(request: Request) -> tuple[float, Any]:
        before = time.process_time()
        result = smooth(request)
        return time.process_time() - before, result

    return Model(
        run,
        answer=lambda result, request: {"agrees": check(result[1], request)},
        clock=lambda result: result[0],
    )


def agrees(smooth: Any, request: Request) -> bool:
    """Check corners, edges and pixels between them by the definition, in double precision."""
    from astropy.io import fits

    offsets = np.arange(-half_width(request["width"]), half_width(request["width"]) + 1)
    factors = np.exp(-0.5 * (offsets / sigma(request["width"])) ** 2)
    weights = np.outer(factors, factors)
    with fits.open(request["path"]) as hdus:
        for plane in (0, -1):
            pixels = hdus[0].data[plane].astype("f8")
            extent = np.nanmax(np.abs(pixels))
            for y in np.linspace(0, pixels.shape[0] - 1, LOOKED_AT, dtype=int):
                for x in np.linspace(0, pixels.shape[1] - 1, LOOKED_AT, dtype=int):
                    right = smoothed(pixels, weights, offsets, (y, x), request["edge"])
                    found = float(smooth[plane][y, x])
                    both = np.isnan(found) and np.isnan(right)
                    if not both and not abs(found - right) <= TOLERANCE * extent:
                        return False
    return True


def smoothed(pixels: Any, weights: Any, offsets: Any, place: tuple[int, int], edge: str) -> float:
    """Return the weighted mean of the defined pixels, NaN if the pixel itself is NaN."""
    if np.isnan(pixels[place]):
        return float("nan")
    rows, columns = (index + offsets for index in place)
    near = pixels[
        np.ix_(rows.clip(0, pixels.shape[0] - 1), columns.clip(0, pixels.shape[1] - 1))
    ].copy()
    if edge == "zero":
        outside = np.logical_or.outer(
            (rows < 0) | (rows >= pixels.shape[0]), (columns < 0) | (columns >= pixels.shape[1])
        )
        near[outside] = 0.0
    good = ~np.isnan(near)
    return float((weights[good] * near[good]).sum() / weights[good].sum())


def asked_beam(request: Request) -> tuple[float, float, float]:
    """Return the axes of the target beam in arcsec, and its angle."""
    major, _, minor, _ = request["beam"].split()
    return float(major), float(minor), 35.0


def squares(major: float, minor: float, angle: float) -> Any:
    """Return the squared widths of a beam as a matrix (east, north)."""
    sine, cosine = np.sin(np.radians(angle)), np.cos(np.radians(angle))
    turned = np.array([[sine, cosine], [cosine, -sine]])
    return turned @ np.diag([major**2, minor**2]) @ turned.T


def has_beam(smooth: Any, request: Request) -> bool:
    """Check pixels of the first and the last channel by the definition, far from the edges.

    The kernel is the Gaussian whose squared widths are those of the target less those of the
    channel; values per beam grow by the ratio of the areas.
    """
    from astropy.io import fits

    target = asked_beam(request)
    with fits.open(request["path"]) as hdus:
        table, pixel = hdus["BEAMS"].data, 3600 * hdus[0].header["CDELT2"]
        for channel in (0, -1):
            pixels = hdus[0].data[channel].astype("f8")
            beam = [float(table[name][channel]) for name in ("BMAJ", "BMIN", "BPA")]
            # x is to the west.
            kernel = (squares(*target) - squares(*beam)) / pixel**2 / (8 * np.log(2))
            half = int(6 * np.sqrt(max(kernel[0, 0], kernel[1, 1])))
            y, x = np.mgrid[-half : half + 1, -half : half + 1]
            inverse = np.linalg.inv(kernel)
            weights = np.exp(
                -0.5 * (inverse[0, 0] * x * x - 2 * inverse[0, 1] * x * y + inverse[1, 1] * y * y)
            )
            weights *= target[0] * target[1] / (beam[0] * beam[1]) / weights.sum()
            inside = np.linspace(half, pixels.shape[0] - 1 - half, LOOKED_AT, dtype=int)
            extent = np.abs(pixels).max() * target[0] * target[1] / (beam[0] * beam[1])
            for row in inside:
                for column in inside:
                    near = pixels[row - half : row + half + 1, column - half : column + half + 1]
                    found = float(smooth[channel][row, column])
                    if not abs(found - (weights * near).sum()) <= TOLERANCE * extent:
                        return False
    return True
