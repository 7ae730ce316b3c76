"""Reductions of measured values, as methods of NumPy arrays; undefined values are ignored."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: A NumPy axis, several, or None: all of them.
ArrayAxis: TypeAlias = "int | tuple[int, ...] | None"


class ArrayMethods:
    """Reductions of arrays that ignore NaN, like the reductions of images.

    A result has the unit of the values, and is a number, or an array of the axes that ``axis`` does
    not name (NumPy's numbers: 0 is y of a plane). It is NaN if no value is defined. NumPy's
    functions call these methods: ``numpy.max(plane)`` ignores NaN.
    """

    values: NDArray[np.float64]

    def max(self, axis: ArrayAxis = None, out: Any = None, **options: Any) -> Any:
        """Return the greatest defined value.

        Parameters
        ----------
        axis
            Axis or axes to reduce, as NumPy numbers; None: all.
        out, **options
            As in NumPy, including ``keepdims``.

        Examples
        --------
        >>> import tachyfits as tf
        >>> plane = tf.open("cube.fits")[0].select("circle(2,2,1)").collapse("mean")
        >>> float(plane.max()), float(plane.mean()), int(plane.count())
        (31.0, 26.0, 5)
        >>> plane.max(axis=0)
        array([25., 31., 27., nan, nan])
        """
        return self._extreme(np.fmax, axis, out, options)

    def min(self, axis: ArrayAxis = None, out: Any = None, **options: Any) -> Any:
        """Return the least defined value; parameters as of `max`."""
        return self._extreme(np.fmin, axis, out, options)

    def sum(
        self, axis: ArrayAxis = None, dtype: Any = None, out: Any = None, **options: Any
    ) -> Any:
        """Return the sum of the defined values; parameters as of `max`."""
        sums = np.nansum(self.values, axis=axis, dtype=dtype, **options)
        return _given(np.where(self.count(axis, **options) > 0, sums, np.nan), out)

    def mean(
        self, axis: ArrayAxis = None, dtype: Any = None, out: Any = None, **options: Any
    ) -> Any:
        """Return the mean of the defined values; parameters as of `max`."""
        return self._quiet(np.nanmean, axis, out, dtype=dtype, **options)

    def std(
        self,
        axis: ArrayAxis = None,
        dtype: Any = None,
        out: Any = None,
        ddof: int = 0,
        **options: Any,
    ) -> Any:
        """Return the standard deviation about the mean; the divisor is count - ddof."""
        return self._quiet(np.nanstd, axis, out, dtype=dtype, ddof=ddof, **options)

    def var(
        self,
        axis: ArrayAxis = None,
        dtype: Any = None,
        out: Any = None,
        ddof: int = 0,
        **options: Any,
    ) -> Any:
        """Return the variance, the square of `std`, in the square of the unit."""
        return self._quiet(np.nanvar, axis, out, dtype=dtype, ddof=ddof, **options)

    def median(self, axis: ArrayAxis = None, **options: Any) -> Any:
        """Return the median of the defined values; parameters as of `max`."""
        return self._quiet(np.nanmedian, axis, None, **options)

    def count(self, axis: ArrayAxis = None, **options: Any) -> Any:
        """Return the number of defined values; parameters as of `max`."""
        return np.sum(~np.isnan(self.values), axis=axis, **options)

    def argmax(self, axis: int | None = None, out: Any = None, **options: Any) -> Any:
        """Return the index of the first greatest value; see `argmin`."""
        return self._place(np.fmax, axis, out, options)

    def argmin(self, axis: int | None = None, out: Any = None, **options: Any) -> Any:
        """Return the index of the first least value along an axis; None: of the flattened array.

        -1 if no value is defined, as for images. `numpy.unravel_index` gives the pixel.

        Examples
        --------
        >>> import numpy as np, tachyfits as tf
        >>> plane = tf.open("cube.fits")[0].plane(np.s_[1])
        >>> plane.argmin(), np.unravel_index(plane.argmax(), plane.shape)
        (np.int64(0), (np.int64(3), np.int64(4)))
        """
        return self._place(np.fmin, axis, out, options)

    def _extreme(self, ufunc: np.ufunc, axis: ArrayAxis, out: Any, options: dict[str, Any]) -> Any:
        # fmax and fmin give NaN only if all values are NaN.
        return _given(ufunc.reduce(self.values, axis=axis, initial=np.nan, **options), out)

    def _quiet(
        self, function: Callable[..., Any], axis: ArrayAxis, out: Any, **options: Any
    ) -> Any:
        """Return a result of NumPy, without warnings about all-NaN input."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return _given(function(self.values, axis=axis, **options), out)

    def _place(self, ufunc: np.ufunc, axis: int | None, out: Any, options: dict[str, Any]) -> Any:
        extremes = ufunc.reduce(self.values, axis=axis, initial=np.nan, keepdims=True)
        hits = self.values == extremes
        places = np.argmax(hits, axis=axis, **options)
        return _given(np.where(np.any(hits, axis=axis, **options), places, -1), out)


def _given(values: Any, out: Any) -> Any:
    """Return a result as NumPy does: a scalar, an array, or ``out`` if it is an array."""
    if out is None:
        return np.asarray(values)[()]
    np.copyto(out, values)
    return out
