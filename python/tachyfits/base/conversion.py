"""Conversion of values to another type, and which of them convert exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def converted(
    values: NDArray[Any], wanted: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return numbers in another type, and a mask of those that convert exactly.

    Rounding of floats to other floats is allowed: only values that become infinite are not exact.

    >>> converted(np.array([1.0, 2.5, 300.0]), np.dtype("u1"))[1]
    array([ True, False, False])
    >>> converted(np.array([2**53 + 1, -1]), np.dtype("f8"))[1]
    array([False,  True])
    >>> converted(np.array([0.1, 1e300]), np.dtype("f4"))[1]
    array([ True, False])
    """
    kind = values.dtype.kind
    if kind == "c" and wanted.kind != "c":
        return np.zeros(values.shape, wanted), np.zeros(values.shape, bool)
    with np.errstate(all="ignore"):
        result = values.astype(wanted)
        plain = result.real if wanted.kind == "c" and kind != "c" else result
        if wanted.kind in "fc" and kind in "fc":
            return result, np.isfinite(result) | ~np.isfinite(values)
        exact = plain.astype(values.dtype) == values
    if wanted.kind in "iu" and kind in "iu":
        # An integer may survive the round trip although its sign changed on the way.
        exact &= (result < 0) == (values < 0)
    elif wanted.kind in "iu":
        # A float beyond the integers may become the greatest integer, and round back to itself.
        exact &= values < float(int(np.iinfo(wanted).max) + 1)
    elif kind in "iu":
        exact &= plain < float(int(np.iinfo(values.dtype).max) + 1)
    return result, exact
