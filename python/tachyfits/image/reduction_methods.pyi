# Written by tools/reference_pages.py from the register of statistics.

from typing import Any

from tachyfits.text.axes import Axis

class ReductionMethods:
    def count(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any: ...
    def count_nan(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any: ...
    def sum(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any: ...
    def mean(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any: ...
    def rms(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any: ...
    def std(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any: ...
    def min(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any: ...
    def max(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any: ...
    def argmin(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any: ...
    def argmax(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any: ...
    def skewness(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any: ...
    def kurtosis(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any: ...
