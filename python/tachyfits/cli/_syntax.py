"""Syntax of the command line: types of options. `text` parses syntax shared with the server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from tachyfits import info
from tachyfits.text import order_statistic, parse_channels, parse_points, parse_range, parse_section

if TYPE_CHECKING:
    from tachyfits import Region


def parse_regions(text: str) -> list[Region]:
    """Parse a region, or the shapes of a region file; see `tachyfits.regions`."""
    from tachyfits import regions

    return regions(text)


def parse_path(text: str) -> list[tuple[float, float]] | Region:
    """Parse the points of a path, ``x,y x,y ...``, or a line as a region.

    >>> parse_path("10,20 30.5, 40")
    [(10.0, 20.0), (30.5, 40.0)]
    """
    if not re.search("[A-Za-z]{2}", text):
        return parse_points(text)
    from tachyfits import region

    return region(text)


def parse_percentiles(text: str) -> tuple[float, ...]:
    """Parse comma-separated numbers from 0 to 100.

    >>> parse_percentiles("1,50,99.5")
    (1.0, 50.0, 99.5)
    """
    from tachyfits.text import parse_numbers

    percents = parse_numbers(text)
    if percents is None:
        raise ValueError(f"invalid list {text!r}: expected numbers such as 1,50,99")
    if not all(0 <= percent <= 100 for percent in percents):
        raise ValueError(f"{text!r}: percentiles are from 0 to 100")
    return percents


class _Parsed(click.ParamType):  # type: ignore[type-arg,unused-ignore] # generic in new clicks
    """A click type based on a parser that raises ValueError."""

    def __init__(self, name: str, parse: Any) -> None:
        self.name = name
        self._parse = parse

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """Return (text, parsed value)."""
        if isinstance(value, tuple):
            return value
        try:
            return value, self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


#: The statistics of a spectrum, except percentiles.
SPECTRUM_STATISTICS = (*(each.name for each in info.statistics()), "flux")


class StatisticType(click.Choice):  # type: ignore[type-arg,unused-ignore] # as above
    """Option type: one of several names, or a percentile such as "percentile90"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name."""
        if order_statistic(str(value)) is not None:
            return value
        return super().convert(value, param, ctx)


def parse_numbers(text: str) -> tuple[float, ...]:
    """Parse comma-separated finite numbers.

    >>> parse_numbers("1,2.5,-3")
    (1.0, 2.5, -3.0)
    """
    from tachyfits.text import parse_numbers

    numbers = parse_numbers(text)
    if numbers is None:
        raise ValueError(f"invalid values {text!r}: expected numbers such as 1,2.5,10")
    return numbers


def parse_limits(text: str) -> str | tuple[float, float]:
    """Parse limits of the colour map: a method, or two comma-separated numbers.

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


RANGE = _Parsed("range", parse_range)
SECTION = _Parsed("section", parse_section)
CHANNELS = _Parsed("channels", parse_channels)
REGION = _Parsed("region", parse_regions)
PATH = _Parsed("path", parse_path)
LIMITS = _Parsed("limits", parse_limits)
NUMBERS = _Parsed("numbers", parse_numbers)
PERCENTILES = _Parsed("percentiles", parse_percentiles)
