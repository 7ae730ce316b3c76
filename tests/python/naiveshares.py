"""Shares of pixels in shapes by NumPy: the slow twin of the engine's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import Circle, Ellipse, PixelRegion

Array = NDArray[np.float64]


def overlap(shape: PixelRegion, height: int, width: int) -> tuple[Array, tuple[int, int]]:
    """Return the share of each pixel that is in a shape, and the first row and column of these.

    >>> shares, corner = overlap(Circle(5.0, 5.0, 2.5), 11, 11)
    >>> corner, bool(np.isclose(shares.sum(), np.pi * 2.5**2))
    ((3, 3), True)
    """
    lowest, highest = _box_around(shape)
    low = np.clip(np.floor(lowest + 0.5), 0, (width, height)).astype(int)
    high = np.clip(np.floor(highest + 0.5) + 1, 0, (width, height)).astype(int)
    columns, rows = (max(0, int(n)) for n in high - low)
    x, y = low[0] + np.arange(columns), low[1] + np.arange(rows)
    if isinstance(shape, (Circle, Ellipse)):
        shares = _of_ellipse(shape, x, y)
    else:
        shares = _of_polygon(shape.outline(), x, y)
    return np.clip(shares, 0.0, 1.0), (int(low[1]), int(low[0]))


def _axes_of(shape: Circle | Ellipse) -> tuple[float, float, float]:
    """Return the semi-axes of an ellipse, and its angle in radians."""
    if isinstance(shape, Circle):
        return shape.radius, shape.radius, 0.0
    return shape.semi_x, shape.semi_y, float(np.deg2rad(shape.angle_degrees))


def _box_around(shape: PixelRegion) -> tuple[Array, Array]:
    """Return the lowest and the highest (x, y) of a shape."""
    if not isinstance(shape, (Circle, Ellipse)):
        border = shape.outline()
        return border.min(axis=0), border.max(axis=0)
    a, b, angle = _axes_of(shape)
    cosine, sine = np.cos(angle), np.sin(angle)
    half = np.array([np.hypot(a * cosine, b * sine), np.hypot(a * sine, b * cosine)])
    centre = np.array([shape.x, shape.y])
    return centre - half, centre + half


def _of_ellipse(shape: Circle | Ellipse, x: Any, y: Any) -> Array:
    """Return the shares of an ellipse: areas of pixels in its own units, where it is a circle."""
    a, b, angle = _axes_of(shape)
    if a <= 0 or b <= 0:
        return np.zeros((len(y), len(x)))
    cosine, sine = np.cos(angle), np.sin(angle)
    dx, dy = np.meshgrid(x - shape.x, y - shape.y)
    corners = []
    for side_x, side_y in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)):
        u, v = dx + side_x, dy + side_y
        corners.append(((u * cosine + v * sine) / a, (v * cosine - u * sine) / b))
    total = np.zeros(dx.shape)
    for begin, end in zip(corners, [*corners[1:], corners[0]], strict=True):
        total += _in_unit_circle(begin, end)
    return total * (a * b)


def _in_unit_circle(p: tuple[Array, Array], q: tuple[Array, Array]) -> Array:
    """Return the area between the origin and the way from p to q that is in the unit circle."""
    dx, dy = q[0] - p[0], q[1] - p[1]
    square = dx * dx + dy * dy
    along = p[0] * dx + p[1] * dy
    beyond = p[0] * p[0] + p[1] * p[1] - 1.0
    root = along * along - square * beyond
    crosses = root > 0
    step = np.sqrt(np.where(crosses, root, 0.0))
    enters = np.clip(np.where(crosses, (-along - step) / square, 0.0), 0.0, 1.0)
    leaves = np.clip(np.where(crosses, (-along + step) / square, 0.0), 0.0, 1.0)
    one, other = _on_the_way(p, q, enters), _on_the_way(p, q, leaves)
    triangle = 0.5 * (one[0] * other[1] - one[1] * other[0])
    return _sector(p, one) + triangle + _sector(other, q)


def _on_the_way(p: tuple[Array, Array], q: tuple[Array, Array], part: Array) -> tuple[Array, Array]:
    """Return the point after a part of the way from p to q.

    Its end is q itself, not p + (q - p): beside the centre a rounding error is a wide angle.
    """
    x, y = (np.where(part < 1, a + part * (b - a), b) for a, b in zip(p, q, strict=True))
    return x, y


def _sector(p: tuple[Array, Array], q: tuple[Array, Array]) -> Array:
    """Return the signed area of the sector of the unit circle between two directions."""
    return np.asarray(0.5 * np.arctan2(p[0] * q[1] - p[1] * q[0], p[0] * q[0] + p[1] * q[1]))


def _of_polygon(corners: Array, x: Any, y: Any) -> Array:
    """Return the shares of a simple polygon, given as a closed line."""
    total = np.zeros((len(y), len(x)))
    if not total.size:
        return total
    for (x0, y0), (x1, y1) in zip(corners[:-1].tolist(), corners[1:].tolist(), strict=True):
        if x0 == x1:
            continue
        low, high = min(x0, x1), max(x0, x1)
        begin = np.maximum(x - 0.5, low)
        end = np.minimum(x + 0.5, high)
        met = end > begin
        begin, end = begin[met], end[met]
        slope = (y1 - y0) / (x1 - x0)
        # Height of the side above the lower edge of each pixel, where it enters and leaves.
        floor = (y - 0.5)[:, None]
        one, other = (y0 + slope * (at - x0) - floor for at in (begin, end))
        total[:, met] += np.copysign(1.0, x0 - x1) * (end - begin) * _mean_clipped(one, other)
    return np.abs(total)


def _mean_clipped(one: Array, other: Array) -> Array:
    """Return the mean of a number that goes from one value to another, clipped to 0 and 1.

    The parts between 0 and 1 and above 1 have their share of the way, which is exact however short
    the way is: integrals of both values would cancel where a side is nearly level.
    """
    low, high = np.minimum(one, other), np.maximum(one, other)
    level = high == low
    way = np.where(level, 1.0, high - low)
    begin, end = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    above = np.maximum(high - np.maximum(low, 1.0), 0.0)
    return np.where(level, begin, ((end - begin) * (begin + end) / 2 + above) / way)
