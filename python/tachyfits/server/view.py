"""View: an image as planes that a viewer shows, whatever the order of its axes.

The axes of the sky are x and y where there are any, else NAXIS1 and NAXIS2; the spectral axis is z.
An image with other orders is reordered lazily. Numbers are the FITS ones: pixels from 1.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits.base.errors import usage

#: Pixels of a tile along each axis.
TILE = 256


class View:
    """Planes of one image."""

    def __init__(self, image: tf.Image) -> None:
        self.image = image
        #: The image with x and y first: shape (..., z, y, x).
        self.cube = image
        names = self._order()
        if names != list(range(1, image.ndim + 1)):
            self.cube = image.reorder(axes=[image.ndim - name for name in reversed(names)])
        #: FITS numbers, in the image itself, of the axes of ``cube``: x first.
        self.axes = tuple(names)

    def _order(self) -> list[int]:
        """Return the FITS numbers of the axes: x and y first, and that of the channels third."""
        image = self.image
        sky = image._coordinates.sky
        first = list(sky.axes) if sky is not None else [1, 2]
        axis = image.channel_axis
        if axis is not None and image.ndim - axis not in first:
            first.append(image.ndim - axis)
        return first + [n for n in range(1, image.ndim + 1) if n not in first]

    @property
    def width(self) -> int:
        """Pixels along x."""
        return self.cube.shape[-1]

    @property
    def height(self) -> int:
        """Pixels along y."""
        return self.cube.shape[-2]

    @property
    def shape(self) -> tuple[int, int]:
        """Pixels of a plane, along y and x."""
        return self.height, self.width

    @property
    def channels(self) -> int:
        """Pixels along z; 1 for an image of two axes."""
        return self.cube.shape[-3] if self.cube.ndim > 2 else 1

    @functools.cached_property
    def levels(self) -> int:
        """Number of levels of tiles: at the last one the plane fits one tile."""
        return 1 + max(0, math.ceil(math.log2(max(self.width, self.height) / TILE)))

    def check_level(self, level: int) -> None:
        """Refuse a level that tiles do not have."""
        if not 0 <= level < self.levels:
            raise usage(
                f"invalid level {level}: expected 0 to {self.levels - 1}", "choose one of these"
            )

    def check_tile(self, level: int, column: int, row: int) -> None:
        """Refuse a tile that a plane does not have."""
        self.check_level(level)
        span = TILE << level
        most = math.ceil(self.width / span), math.ceil(self.height / span)
        if not (0 <= column < most[0] and 0 <= row < most[1]):
            raise usage(
                f"invalid tile ({column}, {row}): expected 0 to {most[0] - 1} and 0 to "
                f"{most[1] - 1} at level {level}",
                "tiles count from the lower left",
            )

    def section(self, channel: int, others: tuple[int, ...] = ()) -> tuple[Any, ...]:
        """Return NumPy's index of a plane of ``cube``: a channel, and pixels of the axes after z.

        ``others`` counts from 1 along the fourth axis, the fifth and so on; 1 where left out.
        """
        wanted = (channel, *others) + (1,) * max(0, self.cube.ndim - 3 - len(others))
        lengths = self.cube.shape[:-2][::-1] or (1,)
        if len(wanted) > len(lengths):
            raise usage(
                f"invalid others: expected at most {len(lengths) - 1} numbers, "
                f"found {len(wanted) - 1}",
                "leave them out",
            )
        for number, (at, length) in enumerate(zip(wanted, lengths, strict=True)):
            if not 1 <= at <= length:
                what = "channel" if number == 0 else f"pixel of axis {number + 3}"
                raise usage(f"invalid {what} {at}: expected 1 to {length}", "choose one of these")
        if self.cube.ndim == 2:
            return ()
        return tuple(slice(at - 1, at) for at in reversed(wanted))

    def tile(
        self, plane: tf.Image, level: int, column: int, row: int, *, preview: bool = False
    ) -> NDArray[np.float32]:
        """Return a tile of a plane: the mean of 2**level pixels each way, rows from the lowest.

        Parameters
        ----------
        plane
            An image whose last two axes are those of the view, others of length 1.
        preview
            Take the first pixel of each block instead of the mean, which reads fewer rows.

        Returns
        -------
        numpy.ndarray
            Shape (rows, columns), at most 256 each. A block is the mean of its defined pixels, NaN
            without any; blocks at the right and upper edge may be incomplete.
        """
        self.check_tile(level, column, row)
        plane = plane._for_pictures() if level else plane
        step = 1 << level
        span = TILE * step
        y = slice(row * span, min((row + 1) * span, self.height))
        x = slice(column * span, min((column + 1) * span, self.width))
        if preview and level:
            y, x = slice(y.start, y.stop, step), slice(x.start, x.stop, step)
        part = plane.cut(section=(*(slice(None),) * (plane.ndim - 2), y, x))
        if level and not preview:
            block = (1,) * (plane.ndim - 2) + (step, step)
            part = part.rebin(block, partial="keep")
        pixels = part.read(dtype=np.float32)
        return pixels.reshape(pixels.shape[-2:])
