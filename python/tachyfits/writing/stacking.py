"""Lists of numbers and arrays as one array, with their units and masks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import listed, usage
from tachyfits.table.cells import with_numpys_mask


def stacked(items: Sequence[Any]) -> tuple[NDArray[Any], Any]:
    """Return numbers, arrays of one shape, or lists of them as one array, and its unit or None.

    They are stacked along a new first axis. The result is a NumPy array, masked if any item is
    masked. Astropy quantities are converted to the unit of the first one (integers stay integers).

    Raises
    ------
    UsageError
        They have different shapes, or incompatible units.

    Examples
    --------
    >>> stacked([np.array([1, 2]), np.array([3, 4])])
    (array([[1, 2],
           [3, 4]]), None)
    """
    if _has_one_shape(items):
        return np.asarray(items), None
    parts = [_with_unit(item) for item in items]
    unit = parts[0][1] if parts else None
    arrays = [_converted(array, own, unit) for array, own in parts]
    try:
        if any(np.ma.isMaskedArray(array) for array in arrays):
            return np.ma.stack(arrays), unit
        return np.asarray(arrays), unit
    except ValueError:
        shapes = sorted({np.shape(array) for array in arrays})
        raise usage(
            f"arrays have different shapes: {listed(shapes)}",
            "give arrays of one shape; several HDUs are pairs, [(array, header or None), ...]",
        ) from None


def _has_one_shape(items: Sequence[Any]) -> bool:
    """Return whether these are numbers, or nested lists of equal length, without any array.

    There may be very many of them; they have neither units nor masks.
    """
    kinds = set(map(type, items))
    if not any(issubclass(kind, (list, tuple, np.ndarray)) for kind in kinds):
        return True
    if not kinds <= {list, tuple} or len(set(map(len, items))) > 1:
        return False
    return _has_one_shape(list(chain.from_iterable(items)))


def _with_unit(item: Any) -> tuple[Any, Any]:
    """Return the numbers of an array, as a NumPy array, and its unit."""
    if isinstance(item, (list, tuple)):
        return stacked(item)
    unit = getattr(item, "unit", None)
    array = with_numpys_mask(item)
    if np.ma.isMaskedArray(array):
        mask = np.ma.getmaskarray(array)
        return np.ma.MaskedArray(np.asarray(np.ma.getdata(array)), mask=mask), unit
    return (array if unit is None else np.asarray(array)), unit


def _converted(array: Any, own: Any, target: Any) -> Any:
    """Return numbers converted from one unit to another."""
    if own == target:
        return array
    if own is None or target is None:
        problem = "some have no unit"
    else:
        from astropy.units import UnitConversionError

        try:
            numbers = own.to(target, np.ma.getdata(array))
        except UnitConversionError as error:
            problem = str(error)
        else:
            is_masked = np.ma.isMaskedArray(array)
            return np.ma.MaskedArray(numbers, np.ma.getmaskarray(array)) if is_masked else numbers
    raise usage(f"arrays have different units: {problem}", "give all of them one unit")
