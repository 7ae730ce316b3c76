"""Polarisation: intensity and angle of the linear polarisation, and vectors, of Stokes Q and U.

The intensity is sqrt(Q² + U²), without a correction for the positive bias due to noise. The angle
is half the angle of (Q, U), from north through east (IAU convention). For several channels, Q and U
are averaged first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import tachyfits as tf
from tachyfits.header import polarisations_of
from tachyfits.image import PolarisationVectors, polarisation_vectors
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
    channel, others = stokes_place(view, name, collapse.others)
    if channel is not None:
        section = view.section(channel, others_of(others))
        return view.cube.cutout(section=(*section, *part)).plane()
    return compute(replace(collapse, others=others, pol=None))


def stokes_place(view: View, name: str, others: str | None) -> tuple[int | None, str | None]:
    """Return where a Stokes parameter is: a pixel along z, or None, and the parameter ``others``.

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
        return pixel, others
    numbers = list(others_of(others)) or [1] * (view.cube.ndim - 3)
    numbers += [1] * (view.cube.ndim - 3 - len(numbers))
    numbers[axis - 3] = pixel
    return None, ",".join(map(str, numbers))


def q_and_u(asked: Asked, collapse: Collapse, step: int) -> tuple[tf.Plane, tf.Plane]:
    """Return the means of Stokes Q and U over channels, for vectors of blocks of pixels.

    Raises
    ------
    TooLarge
        There are too many blocks.
    """
    view = asked.view
    if (view.width // step) * (view.height // step) > _MOST_VECTORS:
        raise TooLarge(f"more than {_MOST_VECTORS} vectors: use a larger step")
    plain = replace(collapse, statistic="mean", threshold=None)
    whole = slice(None), slice(None)
    q, u = (_of_stokes(plain, view, name, lambda one: one.plane(asked), whole) for name in "QU")
    return q, u


def vectors_of(
    asked: Asked, collapse: Collapse, step: int, least: float | None
) -> PolarisationVectors:
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
    q, u = q_and_u(asked, collapse, step)
    return polarisation_vectors(q, u, asked.view.required_sky, step, least)
