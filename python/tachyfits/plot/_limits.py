"""Which values get the first and the last colour, and how those between become colours.

The arithmetic of zscale is astropy's (IRAF's algorithm). Large images are sampled on a grid of
at most four million pixels, so that limits take bounded memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base import either, usage

if TYPE_CHECKING:
    from matplotlib.colors import Normalize

    #: A method by name, or the two values.
    Limits = str | tuple[float | None, float | None] | None

#: A function of arrays, from 0..1 to 0..1.
Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]

STRETCHES = ("linear", "log", "asinh", "sqrt")

#: Methods that choose the limits.
LIMITS = ("zscale", "minmax", "percentile")

#: The percentile at which "percentile" cuts without a number, and as much below.
PERCENTILE = 99.5

#: Most pixels that zscale, percentiles and medians look at.
_SAMPLE = 4_000_000

#: Percentiles that stretched colours reach from and to, unless limits are given.
_STRETCHED = {"log": (1.0, 99.9), "asinh": (1.0, 99.9), "sqrt": (1.0, 99.5)}

#: The same for velocities, whose noise in a few pixels is unbounded.
_VELOCITIES = (2.0, 98.0)

#: Standard deviations that the background has below its median, and velocities around theirs.
_BELOW, _AROUND = 1.5, 3.5

#: Share of the pixels up to which velocities far from the median count as noise.
_FEW = 0.06

#: Depths of "log" and "asinh": the least and the greatest.
_DEPTHS = {"log": (3.0, 1000.0), "asinh": (10.0, 1000.0)}

#: Colour (0 to 1) of the median: with "log" not above it, with "asinh" not below it.
_MEDIAN_COLOURS = {"log": 0.35, "asinh": 0.2}


def sample(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the finite values of an image, at most four million of them, spread evenly over it."""
    flat = values.reshape(-1)
    step = -(-flat.size // _SAMPLE)
    # A step that divides the row length would sample a few columns only.
    while step > 1 and math.gcd(step, values.shape[-1]) > 1:
        step += 1
    flat = flat[::step]
    return flat[np.isfinite(flat)]


def limits_of(
    values: NDArray[np.float64],
    limits: Limits = None,
    *,
    percentile: float | None = None,
    low: float | None = None,
    high: float | None = None,
    stretch: str = "linear",
    of_coordinates: bool = False,
) -> tuple[float, float]:
    """Return the values of the first and the last colour.

    Parameters
    ----------
    values
        An image; NaN and infinities are left out.
    limits
        "zscale", "minmax", "percentile", or two numbers. None: zscale for linear colours, the
        percentiles 1 and 99.9 for other stretches (from a little below the median where most of
        the image is background); those of most pixels for ``of_coordinates``.
    percentile
        Cut at this percentile and as much below: 99 reaches from 1 to 99 ("percentile99" says
        the same).
    low, high
        Values of the first and the last colour, instead of the chosen ones.
    stretch
        What the colours will be.
    of_coordinates
        The values are coordinates or widths of a line, such as velocities: the percentiles 2 and
        98, without few pixels of noise far from the others.

    >>> limits_of(np.arange(101.0), percentile=99), limits_of(np.arange(3.0), "minmax")
    ((1.0, 99.0), (0.0, 2.0))
    >>> limits_of(np.arange(101.0), (10, 20)), limits_of(np.arange(101.0), "minmax", low=50)
    ((10.0, 20.0), (50.0, 100.0))
    """
    if isinstance(limits, str):
        limits, named = _method(limits)
        if percentile is not None and (limits != "percentile" or named is not None):
            raise _both()
        percentile = named if percentile is None else percentile
    elif limits is not None:
        if percentile is not None:
            raise _both()
        of_both = _two(limits)
        low, high = (of_both[n] if one is None else one for n, one in enumerate((low, high)))
    elif percentile is not None:
        limits = "percentile"
    if percentile is not None and not 50 < percentile <= 100:
        raise usage(
            f"invalid percentile {percentile:g}: expected one above 50, up to 100",
            "limits are at this percentile and the same share at the lower end",
        )
    first: float = 0.0
    last: float = 1.0
    if low is None or high is None:
        first, last = _chosen(values, limits, percentile, stretch, of_coordinates)
    if low is not None:
        first = float(low)
    if high is not None:
        last = float(high)
    if not first <= last or not math.isfinite(first) or not math.isfinite(last):
        if (low is None) != (high is None) and math.isfinite(first) and math.isfinite(last):
            # The given one lies beyond the chosen one: keep the given one.
            return _beyond(values, low, high)
        raise usage(
            f"invalid limits {first:g} and {last:g}: expected two numbers, the smaller first",
            "give " + either("low < high", "--low below --high", "low below high"),
        )
    # Equal values would leave the colours undefined.
    return (first, last) if first < last else (first - 0.5, last + 0.5)


def _beyond(
    values: NDArray[np.float64], low: float | None, high: float | None
) -> tuple[float, float]:
    least, greatest = _minmax(values)
    if low is not None:
        return low, max(greatest, low + (abs(low) or 1.0))
    assert high is not None
    return min(least, high - (abs(high) or 1.0)), high


def _two(limits: Any) -> tuple[float | None, float | None]:
    try:
        first, last = limits
        return (
            None if first is None else float(first),
            None if last is None else float(last),
        )
    except (TypeError, ValueError):
        raise _invalid(limits) from None


def _invalid(limits: object) -> Exception:
    return usage(
        f"invalid limits {limits!r}: expected zscale, minmax, percentile or two numbers",
        either(
            'give limits="zscale", "minmax", "percentile", "percentile99.5" or (low, high)',
            "give --limits zscale, minmax, percentile, percentile99.5 or LOW,HIGH",
            "give zscale, minmax, percentile or percentile99.5",
        ),
    )


def _both() -> Exception:
    return usage("both limits and a percentile are given: expected one of them", "leave one out")


def _method(limits: str) -> tuple[str, float | None]:
    """Return the method of a name, and the percentage that may be in it."""
    name = limits.strip().lower()
    if name in LIMITS:
        return name, None
    if name.startswith("percentile"):
        try:
            return "percentile", float(name.removeprefix("percentile"))
        except ValueError:
            pass
    raise _invalid(limits)


def _chosen(
    values: NDArray[np.float64],
    limits: object,
    percentile: float | None,
    stretch: str,
    of_coordinates: bool,
) -> tuple[float, float]:
    if limits == "minmax":
        return _minmax(values)
    good = sample(values)
    if good.size == 0:
        return 0.0, 1.0
    if limits == "percentile":
        cut = PERCENTILE if percentile is None else float(percentile)
        return _percentiles(good, 100 - cut, cut)
    if limits is None and of_coordinates:
        middle, sigma = noise_of(good)
        first, last = _percentiles(good, *_VELOCITIES)
        # Few pixels far from the others are noise; many are a source in front of something larger.
        if np.count_nonzero(np.abs(good - middle) > _AROUND * sigma) < _FEW * good.size:
            first = max(first, middle - _AROUND * sigma)
            last = min(last, middle + _AROUND * sigma)
        return (first, last) if first < last else _minmax(values)
    if limits is None and stretch in _STRETCHED:
        first, last = _percentiles(good, *_STRETCHED[stretch])
        middle, sigma = noise_of(good)
        # Of a background that fills the image the noise below the median needs few colours.
        first = max(first, middle - _BELOW * sigma) if sigma > 0 else first
    else:
        first, last = zscale(good)
    return (first, last) if first < last else _minmax(values)


def noise_of(good: NDArray[np.float64]) -> tuple[float, float]:
    """Return the median of finite values, and the standard deviation that their MAD stands for."""
    middle = float(np.median(good))
    return middle, 1.4826 * float(np.median(np.abs(good - middle)))


def _percentiles(good: NDArray[np.float64], first: float, last: float) -> tuple[float, float]:
    low, high = np.percentile(good, [first, last])
    return float(low), float(high)


def _minmax(values: NDArray[np.float64]) -> tuple[float, float]:
    good = np.isfinite(values)
    if not good.any():
        return 0.0, 1.0
    least = np.min(values, where=good, initial=np.inf)
    return float(least), float(np.max(values, where=good, initial=-np.inf))


def zscale(good: NDArray[np.float64]) -> tuple[float, float]:
    """Return the limits of IRAF's zscale of finite values: of the background and faint sources."""
    from astropy.visualization import ZScaleInterval

    if good.size < 5:
        return float(good.min()), float(good.max())
    first, last = ZScaleInterval().get_limits(good)
    return float(first), float(last)


def stretched(
    stretch: str, values: NDArray[np.float64], limits: tuple[float, float], factor: float = 1.0
) -> Normalize:
    """Return how the values of an image between two limits become 0 to 1.

    "log" compresses as much as keeps the median in the darker third: a background close to the
    upper limit would otherwise take up nearly all colours. "asinh" compresses as much as lifts
    the median out of the dark.

    Parameters
    ----------
    stretch
        One of `STRETCHES`.
    values, limits
        The image, and the values of the first and the last colour.
    factor
        From the image's unit to the one that is shown.
    """
    low, high = limits
    return normalisation(
        stretch, low * factor, high * factor, depth=_depth(stretch, values, limits)
    )


def _depth(stretch: str, values: NDArray[np.float64], limits: tuple[float, float]) -> float | None:
    if stretch not in _DEPTHS:
        return None
    good = sample(values)
    low, high = limits
    median = (float(np.median(good)) - low) / (high - low) if good.size else 0.0
    least, most = _DEPTHS[stretch]
    median_colour = _MEDIAN_COLOURS[stretch]
    if median <= 0:
        return most if stretch == "log" else least
    # The colour of the median grows with the depth: halve the interval that it is right in.
    for _ in range(40):
        depth = math.sqrt(least * most)
        if float(_curves(depth)[stretch][0](np.array([median]))[0]) > median_colour:
            most = depth
        else:
            least = depth
    return least


def normalisation(
    stretch: str, low: float, high: float, *, depth: float | None = None
) -> Normalize:
    """Return how values between two limits become 0 to 1.

    "log" is log(1 + depth t) / log(1 + depth), "asinh" is asinh(depth t) / asinh(depth), "sqrt"
    is the square root of t, of t from 0 at ``low`` to 1 at ``high``; values outside get the first
    or last colour. Without a depth it is 1000 for "log" and 10 for "asinh".
    """
    from matplotlib.colors import FuncNorm, Normalize

    if stretch not in STRETCHES:
        raise usage(
            f"invalid stretch {stretch!r}: expected {', '.join(STRETCHES)}",
            f"use one of {', '.join(STRETCHES)}",
        )
    if stretch == "linear":
        return Normalize(low, high, clip=True)
    to_colour, to_value = _curves(depth)[stretch]

    def forward(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return to_colour(np.clip((values - low) / (high - low), 0.0, 1.0))

    def backward(colours: NDArray[np.float64]) -> NDArray[np.float64]:
        return low + (high - low) * to_value(np.clip(colours, 0.0, 1.0))

    return FuncNorm((forward, backward), low, high, clip=True)


def _curves(depth: float | None) -> dict[str, tuple[Curve, Curve]]:
    """Return each stretch with its inverse, from 0..1 to 0..1."""
    a, b = depth or 1000.0, depth or 10.0
    return {
        "log": (
            lambda t: np.log1p(a * t) / np.log1p(a),
            lambda c: np.expm1(c * np.log1p(a)) / a,
        ),
        "asinh": (
            lambda t: np.arcsinh(b * t) / np.arcsinh(b),
            lambda c: np.sinh(c * np.arcsinh(b)) / b,
        ),
        "sqrt": (np.sqrt, np.square),
    }


def round_values(norm: Normalize, count: int = 7) -> list[float]:
    """Return about ``count`` round values whose colours are spread evenly.

    >>> round_values(normalisation("linear", 0.0, 97.0), 5)
    [0.0, 20.0, 50.0, 80.0, 95.0]
    """
    low, high = float(norm.vmin or 0.0), float(norm.vmax or 0.0)
    gap = 1.0 / (count - 1)
    pairs: list[tuple[float, float]] = []
    for fraction in np.linspace(0.0, 1.0, count):
        value = float(np.asarray(norm.inverse(np.array([fraction])))[0])
        near = _roundest(norm, value, fraction, 0.45 * gap, low, high)
        if near is not None and all(abs(near[1] - colour) > 0.5 * gap for _, colour in pairs):
            pairs.append(near)
    return [value for value, _ in pairs]


def _roundest(
    norm: Normalize, value: float, wanted: float, slack: float, low: float, high: float
) -> tuple[float, float] | None:
    """Return the value of the fewest digits whose colour is near one, and its colour."""
    width = high - low
    exponent = math.floor(math.log10(max(abs(low), abs(high), width)))
    for power in range(exponent, exponent - 12, -1):
        for mantissa in (5, 2, 1):
            step = mantissa * 10.0**power
            # Sums of powers of ten are exact to the printed digits.
            near = float(f"{round(value / step) * step:.10g}")
            two_digits = 10.0 ** (math.floor(math.log10(abs(near))) - 1) if near else 0.0
            if not low <= near <= high or (step < two_digits and step < width / 20):
                continue
            colour = float(np.asarray(norm(np.array([near])))[0])
            if abs(colour - wanted) <= slack:
                return near, colour
    return None
