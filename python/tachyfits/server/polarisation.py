"""Polarisation: intensity and angle of the linear polarisation, and vectors, of Stokes Q and U.

The intensity is sqrt(Q² + U²), which noise makes too large: nothing is taken off for it (debiased).
The angle is half that of (Q, U), from north through east, as the IAU has it. Over several channels
Q and U are averaged first.
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

#: Statistics of a plane that are made of two others.
INTENSITY, ANGLE = "linear_polarization", "polarization_angle"

#: Most vectors of an answer.
_MOST_VECTORS = 50_000


@dataclass(frozen=True)
class Vectors:
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


def stokes_of(view: View) -> tuple[int, list[str]] | None:
    """Return the STOKES axis of a cube (2 is z, from x = 0) and the names of its pixels.

    None: it has none, or its cards cannot be used.
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

    ``compute``: gives the part (y, x) of the plane of a `Collapse`. Pixels whose intensity is below
    the threshold of ``collapse`` are undefined.
    """
    plain = replace(collapse, statistic="mean", unit=None, threshold=None)
    q, u = (_of_stokes(plain, view, name, compute, (y, x)) for name in "QU")
    intensity = np.hypot(q.values, u.values)
    values, unit, name = intensity, q.unit, "linear polarization"
    if collapse.statistic == ANGLE:
        values, unit = np.degrees(np.arctan2(u.values, q.values)) / 2, "deg"
        name = "polarization angle"
        # Without any polarisation the angle has no meaning.
        values = np.where(intensity > 0, values, np.nan)
    if collapse.threshold is not None:
        values = np.where(intensity >= collapse.threshold, values, np.nan)
    found: tf.Plane = replace(
        q, values=values, name=name, unit=unit, header=with_unit(q.header, unit)
    )
    return found


def _of_stokes(
    collapse: Collapse, view: View, name: str,
    compute: Callable[[Collapse], tf.Plane], part: tuple[slice, slice],
) -> tf.Plane:  # fmt: skip
    """Return the same plane of one Stokes parameter; ``part`` is what ``compute`` takes of it.

    Raises
    ------
    RequestError
        The image does not have it.
    """
    found = stokes_of(view)
    if found is None or name not in found[1]:
        there = f"it has {', '.join(found[1])}" if found else "it has no STOKES axis"
        raise RequestError(f"the image lacks Stokes {name}, which polarisation needs: {there}")
    axis, names = found
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
    """Return a vector for each block of pixels: of the means of Q and U in it.

    Parameters
    ----------
    step
        Pixels along each side of a block.
    least
        Blocks with a lower intensity have no vector.

    Raises
    ------
    TooLarge
        There are too many blocks.
    """
    view = asked.view
    if (view.width // step) * (view.height // step) > _MOST_VECTORS:
        raise TooLarge(f"more than {_MOST_VECTORS} vectors: use a larger step")
    sky = view.required_sky
    plain = replace(collapse, statistic="mean", threshold=None)
    whole = slice(None), slice(None)
    q, u = (_of_stokes(plain, view, name, lambda one: one.plane(asked), whole) for name in "QU")
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
        places = sky.positions(x, y)
        there = places.directional_offset_by(angle * units.deg, min(sky.scales) * units.deg)
        dx, dy = (end - start for end, start in zip(sky.pixels_of(there), (x, y), strict=True))
    length = np.hypot(dx, dy)
    good = np.isfinite(length) & (length > 0)
    x, y, dx, dy, length, angle, intensity = (
        values[good] for values in (x, y, dx, dy, length, angle, intensity)
    )
    return Vectors(x + 1, y + 1, dx / length, dy / length, angle, intensity, q.unit)


def _blocks(values: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    """Return the means of whole blocks; NaN where a block has no defined pixel."""
    if step == 1:
        return values
    if min(values.shape) < step:
        return np.empty((0, 0))
    image = image_of_pixels(np.ascontiguousarray(values), [], "the plane")
    means: NDArray[np.float64] = image.rebin((step, step)).read()
    return means
