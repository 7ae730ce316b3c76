"""JSON of results: one form for the command line and the server."""

from __future__ import annotations

import math
from typing import Any

from tachyfits.base.lazy_numpy import np


def plain(value: Any) -> Any:
    """Return a value in JSON types: arrays become lists, complex numbers pairs.

    JSON has neither NaN nor infinities: an undefined number is null, an infinite one is text.

    >>> import numpy as np
    >>> plain({"a": float("nan"), "b": (1, np.float64(0.5)), "c": float("-inf"), "d": 1 + 2j})
    {'a': None, 'b': [1, 0.5], 'c': '-Infinity', 'd': [1.0, 2.0]}
    >>> plain(np.array([1.0, np.inf]))
    [1.0, 'Infinity']
    """
    if hasattr(value, "tolist"):
        # NumPy arrays and scalars. Spectra have many numbers, most of them all finite.
        if value.dtype.kind in "biu" or (value.dtype.kind == "f" and np.isfinite(value).all()):
            return value.tolist()
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return None
        return "Infinity" if value > 0 else "-Infinity"
    return value
