"""Vectors of linear polarisation, of Stokes Q and U averaged over blocks of pixels.

The angle is half that of (Q, U), from north through east, as the IAU has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import foreign_errors
from tachyfits.image.computed import image_of_pixels

if TYPE_CHECKING:
    from tachyfits.header.sky import Sky
    from tachyfits.results.plane import Plane


@dataclass(frozen=True)
class PolarisationVectors:
    """Directions of polarisation over an image.

    Attributes
    ----------
    x, y
        Pixels from 1.
    dx, dy
        The direction in pixels, of length 1: a line without a head.
    angle
        From north through east, degrees.
    intensity
        In ``unit``.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    dx: NDArray[Any]
    dy: NDArray[Any]
    angle: NDArray[Any]
    intensity: NDArray[Any]
    unit: str | None


def polarisation_vectors(
    q: Plane, u: Plane, sky: Sky, step: int, least: float | None = None
) -> PolarisationVectors:
    """Return a vector for each block of pixels: of the means of Q and U in it.

    Parameters
    ----------
    q, u
        Planes of one shape.
    sky
        Their sky, along x and y.
    step
        Pixels along each side of a block.
    least
        Blocks with a lower intensity have no vector.
    """
    means = [_blocks(plane.values, step) for plane in (q, u)]
    intensity: NDArray[Any] = np.hypot(*means)
    angle: NDArray[Any] = np.degrees(np.arctan2(means[1], means[0])) / 2
    rows, columns = np.nonzero(intensity > 0 if least is None else intensity >= max(least, 0.0))
    x, y = (index * step + (step - 1) / 2 for index in (columns, rows))
    intensity, angle = intensity[rows, columns], angle[rows, columns]
    if not len(x):
        return PolarisationVectors(x, y, x, y, angle, intensity, q.unit)
    import astropy.units as units

    with foreign_errors("the vectors have no place on the sky", "show the angle"):
        places = sky.positions(x, y)
        there = places.directional_offset_by(angle * units.deg, min(sky.scales) * units.deg)
        dx, dy = (end - start for end, start in zip(sky.pixels_of(there), (x, y), strict=True))
    length = np.hypot(dx, dy)
    good = np.isfinite(length) & (length > 0)
    x, y, dx, dy, length, angle, intensity = (
        values[good] for values in (x, y, dx, dy, length, angle, intensity)
    )
    return PolarisationVectors(x + 1, y + 1, dx / length, dy / length, angle, intensity, q.unit)


def _blocks(values: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    """Return the means of whole blocks; NaN where a block has no defined pixel."""
    if step == 1:
        return values
    if min(values.shape) < step:
        return np.empty((0, 0))
    image = image_of_pixels(np.ascontiguousarray(values), [], "the plane")
    means: NDArray[np.float64] = image.rebin((step, step)).read()
    return means
