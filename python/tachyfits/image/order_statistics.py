"""Order statistics of an image: median, median absolute deviation, percentiles, robust rms.

It converts the arguments; the selection is in the compiled module, exact and in bounded memory for
an image of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tachyfits.base.errors import usage
from tachyfits.base.progress import Progress
from tachyfits.image.selecting import Selecting, whole
from tachyfits.text.axes import Axis
from tachyfits.text.regions import kept_shape

if TYPE_CHECKING:
    from tachyfits.image.image import Image


class OrderStatistics(Selecting):
    """Order statistics of the pixels of one HDU."""

    def median(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Return the exact median of the defined pixels.

        Parameters
        ----------
        axis
            Axes to reduce, as NumPy numbers or FITS letters ("z": a median image, "xy": a spectrum
            of medians); None: all. If the image was selected by regions, both sky axes (the last
            two) must be reduced; for a list of regions the result has a first axis.
        keepdims
            Keep the reduced axes, with length 1.

        Returns
        -------
        numpy.ndarray or NumPy scalar
            float64 with the shape of the kept axes, in the unit of the pixels; NaN if no pixel is
            defined. NaN and BLANK pixels are ignored; -0.0 counts as 0.0.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> float(cube.median()), cube.median(axis="xy"), cube.median(axis="z").shape
        (29.5, array([ 9.5, 29.5, 49.5]), (4, 5))
        """
        values = self._order(["median"], axis, keepdims, threads=threads, progress=progress)
        return values[0][()]

    def mad(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Return the exact median absolute deviation: the median of the distances to the median.

        It is not scaled: times 1.4826 it estimates the standard deviation of normal noise.
        Parameters and result as of `median`; NaN if the median is infinite.

        Examples
        --------
        >>> import tachyfits as tf
        >>> tf.open("cube.fits")[0].mad(axis="xy")
        array([5., 5., 5.])
        """
        return self._order(["mad"], axis, keepdims, threads=threads, progress=progress)[0][()]

    def percentile(
        self,
        q: ArrayLike,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Return exact percentiles of the defined pixels, interpolated linearly as in NumPy.

        At most 10 000 at a time.

        Parameters
        ----------
        q
            From 0 (the minimum) to 100 (the maximum): a number, or an array of them, whose axes
            come first in the result.

        Other parameters and the result are as of `median`. Several percentiles of all pixels
        usually cost one pass for every eight of them.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> cube.percentile([0, 50, 99])
        array([ 0.  , 29.5 , 58.41])
        >>> cube.percentile(25, axis="z")[0]
        array([10., 11., 12., 13., 14.])
        """
        requested = np.asarray(q, dtype=np.float64)
        if not requested.size:
            raise usage(
                "invalid percentiles: expected one or more", "give one or more, from 0 to 100"
            )
        percents = [float(percent) for percent in requested.flat]
        values = self._order(percents, axis, keepdims, threads=threads, progress=progress)
        return np.stack(values).reshape((*requested.shape, *values[0].shape))[()]

    def robust_rms(
        self,
        *,
        per_plane: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Return the width of the noise in the histogram of the pixels, insensitive to sources.

        A histogram of about 30 pixels per cell is rebuilt, up to 20 times, until the peak about its
        fullest cell is 10 to 50 cells wide at half its height. The result is the standard deviation
        of the pixels within three half widths of the peak, and at most the standard deviation of
        all pixels. `ObitFArrayRMS` of Obit does the same.

        Parameters
        ----------
        per_plane
            Return one value per plane of the last two axes; otherwise one value for all pixels.
        threads, progress
            As in `median`. Planes of more than 128 MiB, and a single plane, are not held in memory
            but read again for each histogram.

        Returns
        -------
        numpy.ndarray or NumPy scalar
            float64 in the unit of the pixels, with the shape of the other axes. NaN if a plane has
            fewer than five defined pixels, an infinite one, or no peak.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> round(float(cube.robust_rms()), 6), cube.robust_rms(per_plane=True).shape
        (17.318102, (3,))
        """
        if per_plane and self.ndim < 2:
            raise usage("an image of one axis has no planes", "leave per_plane out")
        choice = self._chosen_pixels()
        if choice.regions.count is not None:
            run: dict[str, Any] = {"threads": threads, "progress": progress}
            images = self._of_each_region()
            return np.stack([image.robust_rms(per_plane=per_plane, **run) for image in images])
        if choice.regions.cores is not None:
            # The engine has no histogram of a region: pixels outside become NaN in the image
            # itself.
            choice = whole(cast("Image", self))
        pixels = choice.pixels
        values = pixels._reducer().robust_rms(
            per_plane,
            pixels._ranges(choice.section),
            buffering=pixels.file.buffering,
            threads=pixels._threads(threads),
            progress=progress,
        )
        axes = self._axis_numbers("xy" if per_plane else None)
        return values.reshape(kept_shape(choice.section, axes, None))[()]

    def _order(
        self,
        statistics: Sequence[str | float],
        axis: Axis | None,
        keepdims: bool = False,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> list[NDArray[np.float64]]:
        """Compute order statistics, and give the results the documented shape."""
        axes = self._axis_numbers(axis)
        choice = self._chosen_pixels()
        pixels = choice.pixels
        arrays = pixels._reducer().order(
            list(statistics),
            list(axes),
            pixels._ranges(choice.section),
            regions=choice.regions.cores,
            buffering=pixels.file.buffering,
            threads=pixels._threads(threads),
            progress=progress,
        )
        shape = kept_shape(choice.section, axes, choice.regions.count, keepdims)
        return [array.reshape(shape) for array in arrays]


def order_arrays(
    image: OrderStatistics, statistics: Sequence[str | float], axis: Axis | None, **run: Any
) -> list[NDArray[np.float64]]:
    """Return several order statistics from one pass; ``run``: threads and progress."""
    return image._order(statistics, axis, **run)
