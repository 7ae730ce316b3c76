"""Directions of pixels by interpolation, where the sky of an image is smooth.

A patch is a cell with samples of its directions from WCSLIB, which extend half a cell beyond it.
Unit vectors of every projection are analytic functions of the pixels, except for folds at the edges
of facets and longitudes. Differences of a high order show both: if they are at the level of
rounding, the polynomial through the samples represents the sky.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tachyfits.base.lazy_numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tachyfits.header.sky import Sky

    Vectors = NDArray[np.float64]

#: Maximum difference between samples of a patch (radians); rounding alone makes 3e-13.
_MOST_DIFFERENCE = 1e-12
#: Twice the maximum error of interpolated directions (radians): a fold in a patch moves them by
#: half of the difference that it makes.
INTERPOLATION_ERROR = _MOST_DIFFERENCE


@dataclass(frozen=True)
class Patches:
    """Cells whose directions are interpolated.

    Attributes
    ----------
    cells
        First pixels (x, y) of the cells, shape (n, 2).
    size
        Pixels along a side.
    samples
        Directions at equal steps from half a cell before to half a cell after: (n, 3, y, x).
    """

    cells: NDArray[np.int64]
    size: int
    samples: Vectors

    def some(self, chosen: NDArray[np.bool_]) -> Patches:
        """Return a subset of the patches."""
        return Patches(self.cells[chosen], self.size, self.samples[chosen])

    def middles(self, part: int) -> tuple[Vectors, Vectors]:
        """Return directions of the middles of parts of this size: (n, y, x, 3), and their radii.

        Radii, shape (n, 1, 1), are upper bounds of the angle from the middle to the corners,
        estimated from the samples.
        """
        weights = _weights(self.size, self._count, part)
        vectors = np.moveaxis(weights @ self.samples @ weights.T, 1, -1)
        step = 2 * self.size / (self._count - 1)
        radius = np.zeros(len(self.samples))
        for axis in (2, 3):
            steps = np.linalg.norm(np.diff(self.samples, axis=axis), axis=1)
            radius += steps.max(axis=(1, 2)) / step * part / 2
        return vectors, radius[:, None, None]

    def pixels(
        self, numbers: NDArray[np.intp], x: NDArray[np.intp], y: NDArray[np.intp], part: int
    ) -> Vectors:
        """Return directions of the pixels of parts: (n, y, x, 3).

        ``numbers``: patches; ``x`` and ``y``: parts within each patch.
        """
        weights = _weights(self.size, self._count, 1).reshape(-1, 1, part, self._count)
        lines = weights[y] @ self.samples[numbers]
        return np.moveaxis(lines @ weights[x].swapaxes(-1, -2), 1, -1)

    @property
    def _count(self) -> int:
        return int(self.samples.shape[-1])


def has_patches(sky: Sky) -> bool:
    """Return whether an image can be interpolated: its sky needs no lookup tables."""
    wcs = sky.wcs
    tables = (wcs.cpdis1, wcs.cpdis2, wcs.det2im1, wcs.det2im2)
    return not any(table is not None for table in tables) and not wcs.wcs.tab


def are_smooth(samples: Vectors) -> NDArray[np.bool_]:
    """Return for which patches, samples of shape (n, 3, y, x), the directions are a polynomial."""
    count = samples.shape[-1]
    # A fold cancels in at most one of two neighbouring differences.
    signs = np.array([(-1.0) ** k * math.comb(count - 2, k) for k in range(count - 1)])
    differ = np.array([[*signs, 0.0], [0.0, *signs]])
    with np.errstate(invalid="ignore"):
        along = np.abs(samples @ differ.T).max(axis=(1, 2, 3))
        across = np.abs(differ @ samples).max(axis=(1, 2, 3))
        # NaN, off the sky, is not smooth.
        return np.asarray((along <= _MOST_DIFFERENCE) & (across <= _MOST_DIFFERENCE))


@functools.lru_cache(maxsize=16)
def _weights(size: int, count: int, step: int) -> Vectors:
    """Return Lagrange weights of the samples at the middles of steps through a cell: (n, count).

    >>> _weights(8, 3, 4).tolist()
    [[0.15625, 0.9375, -0.09375], [-0.09375, 0.9375, 0.15625]]
    """
    at = np.arange(step / 2, size, step)
    places = (at / size + 0.5) / 2 * (count - 1)
    numbers = np.arange(count)
    weights = np.ones((len(at), count))
    for sample in range(count):
        for other in numbers[numbers != sample]:
            weights[:, sample] *= (places - other) / (sample - other)
    return weights
