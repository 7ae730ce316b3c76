"""Methods for one-pass statistics: `Image.mean`, `Image.skewness`, ...

The stub file declares them for type checkers; `tools/reference_pages.py` writes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tachyfits.info import Statistic, statistics
from tachyfits.text.axes import Axis

#: Methods whose name differs from their statistic.
_NAMES = {"nan": "count_nan", "min_position": "argmin", "max_position": "argmax"}


class ReductionMethods:
    """Methods that compute a single statistic each by `Image.reduce`."""


def _method(statistic: Statistic, name: str) -> Callable[..., Any]:
    """Build the method of a statistic; all methods share one signature."""

    def method(
        self: Any, axis: Axis | None = None, *, keepdims: bool = False, **options: Any
    ) -> Any:
        return self.reduce(statistic.name, axis, keepdims=keepdims, **options)

    method.__name__ = name
    method.__qualname__ = f"Image.{name}"
    method.__doc__ = (
        f"Return a statistic of the defined pixels; parameters as of `Image.reduce`.\n\n"
        f"``{statistic.name}``: {statistic.meaning}."
    )
    return method


for _statistic in statistics():
    if not _statistic.is_order:
        _name = _NAMES.get(_statistic.name, _statistic.name)
        setattr(ReductionMethods, _name, _method(_statistic, _name))
