"""Polarisation: intensity and angle of the linear polarisation, and vectors, of Stokes Q and U.

The intensity is sqrt(Q² + U²), without a correction for the positive bias due to noise. The angle
is half the angle of (Q, U), from north through east (IAU convention). For several channels, Q and U
are averaged first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits.base import foreign_errors
from tachyfits.header import polarisations_of
from tachyfits.image import image_of_pixels
from tachyfits.results import with_unit
from tachyfits.server.errors import RequestError, TooLarge
from tachyfits.server.parameters import others_of
from tachyfits.server.view import View
from tachyfits.text import stokes_name

if TYPE_CHECKING:
    from tachyfits.server.asked import Asked
    from tachyfits.server.planes import Collapse

#: Statistics of a plane that combine the planes of Q and U.
INTENSITY, ANGLE = "linear_polarization", "polarization_angle"

#: Maximum number of vectors of an answer.
_MOST_VECTORS = 50_000


@dataclass(frozen=True)
class Vectors:
    """Directions of polarisation over an image.

    Attributes
    ----------
    x, y
        Pixels from 1.
    dx, dy
        The direction in pixels, as a unit vector; its sign has no meaning.
    angle
        Angle from north through east, degrees.
    intensity
        Polarised intensity in ``unit``.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    dx: NDArray[Any]
    dy: NDArray[Any]
    angle: NDArray[Any]
    intensity: NDArray[Any]
    unit: str | None


def stokes_of(view: View) -> tuple[int, list[str]] | None:
    """Return the STOKES axis of a cube (x is 0, z is 2) and the names of its pixels.

    None if the cube has no STOKES axis, or if its cards are unusable.
    """
    cube = view.cube
    try:
        axis, codes = polarisations_of(cube.coordinates, cube.shape, "")
    except tf.TachyfitsError:
        return None
    return cube.ndim - 1 - axis, [stokes_name(code) for code in codes]


def polarised(
    collapse: Collapse, view: View, compute: Callable[[Collapse], tf.Plane], y: slice, x: slice
) -> tf.Plane:
    """Return the intensity or the angle of the polarisation.

    ``compute`` returns the part (y, x) of the plane of a `Collapse`. Pixels with an intensity below
    the threshold of ``collapse`` are NaN.
    """
    mean_collapse = replace(collapse, statistic="mean", unit=None, threshold=None)
    q, u = (_of_stokes(mean_collapse, view, name, compute, (y, x)) for name in "QU")
    intensity = np.hypot(q.values, u.values)
    values, unit, name = intensity, q.unit, "linear polarization"
    if collapse.statistic == ANGLE:
        values, unit = np.degrees(np.arctan2(u.values, q.values)) / 2, "deg"
        name = "polarization angle"
        # Without polarisation the angle is undefined.
        values = np.where(intensity > 0, values, np.nan)
    if collapse.threshold is not None:
        values = np.where(intensity >= collapse.threshold, values, np.nan)
    result: tf.Plane = replace(
        q, values=values, name=name, unit=unit, header=with_unit(q.header, unit)
    )
    return result


def _of_stokes(
    collapse: Collapse, view: View, name: str,
    compute: Callable[[Collapse], tf.Plane], part: tuple[slice, slice],
) -> tf.Plane:  # fmt: skip
    """Return the plane of one Stokes parameter; ``part`` is the part that ``compute`` returns.

    Raises
    ------
    RequestError
        The image does not have this Stokes parameter.
    """
    stokes = stokes_of(view)
    if stokes is None or name not in stokes[1]:
        stokes_text = f"it has {', '.join(stokes[1])}" if stokes else "it has no STOKES axis"
        raise RequestError(
            f"the image lacks Stokes {name}, which polarisation needs: {stokes_text}"
        )
    axis, names = stokes
    pixel = names.index(name) + 1
    if axis < 2:
        raise RequestError("the STOKES axis is x or y of the image: it has no planes of Q and U")
    if axis == 2:
        section = view.section(pixel, others_of(collapse.others))
        return view.cube.cutout(section=(*section, *part)).plane()
    others = list(others_of(collapse.others)) or [1] * (view.cube.ndim - 3)
    others += [1] * (view.cube.ndim - 3 - len(others))
    others[axis - 3] = pixel
    return compute(replace(collapse, others=",".join(map(str, others)), pol=None))


def vectors_of(asked: Asked, collapse: Collapse, step: int, least: float | None) -> Vectors:
    """Return one vector per block of pixels, from the means of Q and U in the block.

    Parameters
    ----------
    step
        Pixels along each side of a block.
    least
        Minimum intensity; blocks below it have no vector.

    Raises
    ------
    TooLarge
        There are too many blocks.
    """
    view = asked.view
    if (view.width // step) * (view.height // step) > _MOST_VECTORS:
        raise TooLarge(f"more than {_MOST_VECTORS} vectors: use a larger step")
    sky = view.required_sky
    mean_collapse = replace(collapse, statistic="mean", threshold=None)
    full_plane = slice(None), slice(None)
    q, u = (
        _of_stokes(mean_collapse, view, name, lambda component: component.plane(asked), full_plane)
        for name in "QU"
    )
    means = [_blocks(plane.values, step) for plane in (q, u)]
    intensity: NDArray[Any] = np.hypot(*means)
    angle: NDArray[Any] = np.degrees(np.arctan2(means[1], means[0])) / 2
    rows, columns = np.nonzero(intensity > 0 if least is None else intensity >= max(least, 0.0))
    x, y = (index * step + (step - 1) / 2 for index in (columns, rows))
    intensity, angle = intensity[rows, columns], angle[rows, columns]
    if not len(x):
        return Vectors(x, y, x, y, angle, intensity, q.unit)
    import astropy.units as units

    with foreign_errors("the vectors have no place on the sky", "show the angle"):
        positions = sky.positions(x, y)
        tips = positions.directional_offset_by(angle * units.deg, min(sky.scales) * units.deg)
        dx, dy = (end - start for end, start in zip(sky.pixels_of(tips), (x, y), strict=True))
    length = np.hypot(dx, dy)
    valid = np.isfinite(length) & (length > 0)
    x, y, dx, dy, length, angle, intensity = (
        values[valid] for values in (x, y, dx, dy, length, angle, intensity)
    )
    return Vectors(x + 1, y + 1, dx / length, dy / length, angle, intensity, q.unit)


def _blocks(values: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    """Return the means of complete blocks; NaN for a block without defined pixels."""
    if step == 1:
        return values
    if min(values.shape) < step:
        return np.empty((0, 0))
    image = image_of_pixels(np.ascontiguousarray(values), [], "the plane")
    means: NDArray[np.float64] = image.rebin((step, step)).read()
    return means
