"""Models fitted to times, each with the errors of its parameters: Amdahl's law, and a line.

The errors of the times are the sample standard deviations of their rounds, as in S. Eguchi 2013;
parameters have the errors of the least-squares fit, and chi-squared its degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import curve_fit


@dataclass(frozen=True)
class Fit:
    """A fitted model: name and error of each parameter, chi-squared and degrees of freedom."""

    model: str
    values: dict[str, float]
    errors: dict[str, float]
    chi_squared: float
    freedom: int

    def __call__(self, x: Any) -> Any:
        """Compute the model at `x`."""
        return MODELS[self.model][0](np.asarray(x, float), *self.values.values())


def amdahl(threads: Any, single: float, parallel: float) -> Any:
    """Equation 3 without overhead: the time of `threads`, of which a share P is parallel."""
    return single * ((1 - parallel) + parallel / threads)


def line(size: Any, slope: float, start: float) -> Any:
    """Equations 4 to 7: a time per byte, and one for the start."""
    return slope * size + start


#: Name -> the model, the names of its parameters, and where the search for them begins.
MODELS: dict[str, tuple[Callable[..., Any], tuple[str, ...], Callable[..., list[float]]]] = {
    "amdahl": (amdahl, ("T", "P"), lambda x, y: [float(y[np.argmin(x)]), 0.5]),
    "line": (line, ("slope", "start"), lambda x, y: [float(np.polyfit(x, y, 1)[0]), 0.0]),
}


def fit(
    model: str, x: Sequence[float], times: Sequence[float], errors: Sequence[float]
) -> Fit | None:
    """Fit a model; None without a degree of freedom, or with too few different x.

    An error of 0, of a clock that ticks too slowly, counts as a thousandth of the time.
    """
    function, names, begin = MODELS[model]
    if len(x) <= len(names) or len(set(x)) < len(names):
        return None
    at, y = np.asarray(x, float), np.asarray(times, float)
    sigma = np.maximum(np.asarray(errors, float), y / 1000)
    parameters, covariance = curve_fit(
        function, at, y, p0=begin(at, y), sigma=sigma, absolute_sigma=True
    )
    values = dict(zip(names, map(float, parameters), strict=True))
    spread = dict(zip(names, map(float, np.sqrt(np.diag(covariance))), strict=True))
    squares = float((((y - function(at, *parameters)) / sigma) ** 2).sum())
    return Fit(model, values, spread, squares, len(at) - len(names))
