"""Pixels of positions, more exact than WCSLIB's inverse.

WCSLIB inverts polynomials (TPV, TNX) by iterations that may end at another position or fail,
astropy inverts SIP to 1e-4 pixel, and the quadrilateralised cube (CSC) has an inverse of three
digits. Newton's method from there converges to the pixel of the requested position, or reports that
there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tachyfits.base.lazy_numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    #: Function from pixels to longitude and latitude, degrees.
    Forward = Callable[[Values, Values], tuple[Values, Values]]

#: Errors in pixels: below the first the result is exact; above the second the position has no
#: pixel.
_CLOSE, _WRONG = 1e-9, 1e-3
_STEPS = 30


def refined(
    forward: Forward, pixels: tuple[Values, Values], position: tuple[Values, Values], scale: float
) -> tuple[Values, Values]:
    """Return the pixels of positions (degrees) from approximate pixels; NaN where there are none.

    ``scale``: degrees per pixel.
    """
    shape = np.broadcast_shapes(pixels[0].shape, position[0].shape)
    x, y, longitude, latitude = (
        np.broadcast_to(part, shape).astype(np.float64).reshape(-1) for part in (*pixels, *position)
    )
    with np.errstate(all="ignore"):
        off = np.hypot(*_offset(forward(x, y), longitude, latitude)) / scale
        active = np.flatnonzero(off > _CLOSE)
        for _ in range(_STEPS):
            if not active.size:
                break
            at, to = (x[active], y[active]), (longitude[active], latitude[active])
            step = _step(forward, at, to)
            moved = at[0] - step[0], at[1] - step[1]
            distance = np.hypot(*_offset(forward(*moved), *to)) / scale
            # Reject a step that leaves the sky or meets an edge of the map.
            good = np.isfinite(distance)
            accepted = active[good]
            x[accepted], y[accepted], off[accepted] = moved[0][good], moved[1][good], distance[good]
            active = accepted[distance[good] > _CLOSE]
    lost = off > _WRONG
    x[lost], y[lost] = np.nan, np.nan
    return x.reshape(shape), y.reshape(shape)


def _step(
    forward: Forward, at: tuple[Values, Values], position: tuple[Values, Values]
) -> tuple[Values, Values]:
    """Return Newton's step from pixels; derivatives are differences over a pixel."""
    x, y = at
    east, north = _offset(forward(x, y), *position)
    a, c, b, d = np.zeros((4, len(x)))
    for side in (0.5, -0.5):
        sign = 2 * side
        along_x, along_y = _offset(forward(x + side, y), *position)
        a, c = a + sign * along_x, c + sign * along_y
        along_x, along_y = _offset(forward(x, y + side), *position)
        b, d = b + sign * along_x, d + sign * along_y
    determinant = a * d - b * c
    return (d * east - b * north) / determinant, (a * north - c * east) / determinant


def _offset(
    at: tuple[Values, Values], longitude: Values, latitude: Values
) -> tuple[Values, Values]:
    """Return the offsets east and north from given positions, in degrees."""
    around = (at[0] - longitude + 180.0) % 360.0 - 180.0
    return around * np.cos(np.radians(latitude)), at[1] - latitude
