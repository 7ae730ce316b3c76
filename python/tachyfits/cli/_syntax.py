"""Syntax of the command line: sections, channels and paths, in FITS coordinates.

Translated here, and only here, into NumPy's: 0-based, slowest axis first, half-open.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from tachyfits.base.errors import usage
from tachyfits.text.statistics import order_statistic

if TYPE_CHECKING:
    from tachyfits.text.regions import Region
    from tachyfits.text.spectral_ranges import SpectralRange

_RANGE = re.compile(r"(?:(?P<all>-?\*)|(?P<first>\d+)(?::(?P<last>\d+))?)(?::(?P<step>\d+))?")


@dataclass(frozen=True)
class Range:
    """Pixels of one axis as CFITSIO writes them: 1-based, both ends inside, downwards too.

    ``first`` and ``last`` are None for all of the axis.
    """

    first: int | None
    last: int | None
    step: int
    backwards: bool = False

    def to_slice(self, length: int, axis_name: str) -> slice:
        """Return NumPy's slice of an axis of ``length`` pixels, refusing pixels outside it."""
        first, last = self.first, self.last
        if first is None or last is None:
            return slice(None, None, -self.step if self.backwards else self.step)
        for pixel in (first, last):
            if not 1 <= pixel <= length:
                raise usage(
                    f"{axis_name} has the pixels 1 to {length}; {pixel} is outside",
                    "pixels are counted from 1, both ends included: '*' selects all",
                )
        if first <= last:
            return slice(first - 1, last, self.step)
        stop = last - 2
        return slice(first - 1, stop if stop >= 0 else None, -self.step)


def parse_range(text: str) -> Range:
    """Read ``a:b``, ``a:b:step``, ``a``, ``*``, ``-*`` or ``*:step``.

    >>> parse_range("5:50:2"), parse_range("*")
    (Range(first=5, last=50, step=2, backwards=False), Range(first=None, last=None, step=1, backwards=False))
    >>> parse_range("1:10").to_slice(20, "NAXIS1"), parse_range("3:1").to_slice(20, "NAXIS1")
    (slice(0, 10, 1), slice(2, None, -1))
    """  # noqa: E501 - a doctest
    match = _RANGE.fullmatch("".join(text.split()))
    step = int(match["step"] or 1) if match else 0
    if match is None or step == 0:
        raise ValueError(f"invalid range of pixels {text!r}: use 1:100, 5:50:2, 7 or *")
    if match["all"]:
        return Range(None, None, step, match["all"] == "-*")
    first = int(match["first"])
    return Range(first, int(match["last"] or first), step)


def parse_channels(text: str) -> Range | SpectralRange:
    """Read a range of pixels, or one with a unit.

    >>> parse_channels("5:50").last, str(parse_channels("100..250 km/s"))
    (50, '100..250 km/s')
    """
    if not re.search("[A-Za-z]", text):
        return parse_range(text)
    from tachyfits.text.spectral_ranges import parse_spectral_range

    return parse_spectral_range(text)


def parse_region(text: str) -> Region:
    """Read a region; see `tachyfits.region`."""
    from tachyfits.text.region_input import region

    return region(text)


def parse_section(text: str) -> tuple[Range, ...]:
    """Read ``[1:100,*,5:50:2]``: a range per axis, x first; the brackets may be left out."""
    body = text.strip()
    if body.startswith("[") and body.endswith("]"):
        body = body[1:-1]
    return tuple(parse_range(part) for part in body.split(","))


def numpy_index(section: Sequence[Range], shape: Sequence[int]) -> tuple[slice, ...]:
    """Return NumPy's index of a section of an image of that (NumPy) shape.

    Axes that are not named are taken whole.

    >>> numpy_index(parse_section("[2:3,*]"), (7, 5, 4))
    (slice(None, None, None), slice(None, None, 1), slice(1, 3, 1))
    """
    if len(section) > len(shape):
        raise usage(
            f"the section has {len(section)} ranges, the image {len(shape)} axes",
            "give one range per axis, x (NAXIS1) first",
        )
    lengths = list(reversed(shape))
    slices = [
        piece.to_slice(length, f"NAXIS{number}")
        for number, (piece, length) in enumerate(zip(section, lengths, strict=False), 1)
    ]
    slices += [slice(None)] * (len(shape) - len(section))
    return tuple(reversed(slices))


def parse_path(text: str) -> list[tuple[float, float]] | Region:
    """Read the points of a path, ``x,y x,y ...``, as they are written; or a line as a region.

    >>> parse_path("10,20 30.5, 40")
    [(10.0, 20.0), (30.5, 40.0)]
    """
    if re.search("[A-Za-z]{2}", text):
        return parse_region(text)
    try:
        numbers = [float(word) for word in re.split(r"[\s,]+", text.strip())]
    except ValueError:
        numbers = []
    if len(numbers) < 4 or len(numbers) % 2:
        raise ValueError(f"invalid path {text!r}: give two or more points, '10,20 30,40'")
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def parse_percentiles(text: str) -> tuple[float, ...]:
    """Parse numbers from 0 to 100 with commas between.

    >>> parse_percentiles("1,50,99.5")
    (1.0, 50.0, 99.5)
    """
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"invalid list {text!r}: expected numbers such as 1,50,99") from None
    if not all(0 <= percent <= 100 for percent in found):
        raise ValueError(f"{text!r}: percentiles are from 0 to 100")
    return found


class _Parsed(click.ParamType):  # type: ignore[type-arg,unused-ignore] # generic in new clicks
    """A click type made of a function that raises ValueError."""

    def __init__(self, name: str, parse: Any) -> None:
        self.name = name
        self._parse = parse

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """Return (the text, what it means)."""
        if isinstance(value, tuple):
            return value
        try:
            return value, self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class StatisticType(click.Choice):  # type: ignore[type-arg,unused-ignore] # as above
    """One of some names, or a percentile: "percentile90"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name."""
        if order_statistic(str(value)) is not None:
            return value
        return super().convert(value, param, ctx)


def parse_numbers(text: str) -> tuple[float, ...]:
    """Parse finite numbers with commas between.

    >>> parse_numbers("1,2.5,-3")
    (1.0, 2.5, -3.0)
    """
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(map(math.isfinite, found)):
        raise ValueError(f"invalid values {text!r}: expected numbers such as 1,2.5,10")
    return found


def parse_limits(text: str) -> str | tuple[float, float]:
    """Read the limits of colours: a method, or two numbers with a comma between.

    >>> parse_limits("zscale"), parse_limits("percentile99"), parse_limits("-1,2.5")
    ('zscale', 'percentile99', (-1.0, 2.5))
    """
    name = text.strip().lower()
    if re.fullmatch(r"zscale|minmax|percentile([\d.]+)?", name):
        return name
    try:
        low, high = parse_numbers(text)
    except ValueError:
        raise ValueError(
            f"invalid limits {text!r}: expected zscale, minmax, percentile, percentile99 or "
            "LOW,HIGH"
        ) from None
    return low, high


SECTION = _Parsed("section", parse_section)
CHANNELS = _Parsed("channels", parse_channels)
REGION = _Parsed("region", parse_region)
PATH = _Parsed("path", parse_path)
LIMITS = _Parsed("limits", parse_limits)
NUMBERS = _Parsed("numbers", parse_numbers)
PERCENTILES = _Parsed("percentiles", parse_percentiles)
