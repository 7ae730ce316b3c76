"""Sections, channels, rows and records as users write them: counted from 1, x first.

Only this module translates them into NumPy's convention: 0-based, slowest axis first, half-open.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tachyfits.base.errors import usage
from tachyfits.text.axes import counted_axes

if TYPE_CHECKING:
    from tachyfits.text.spectral_ranges import SpectralRange

_RANGE = re.compile(
    r"(?:(?P<all>-?\*)|(?P<first>\d{0,99})(?P<colon>:(?P<last>\d{0,99}))?)(?::(?P<step>\d{1,99}))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Range:
    """Pixels of one axis in CFITSIO's syntax: 1-based, both ends included, descending allowed.

    ``first`` and ``last`` are None for an open end.
    """

    first: int | None
    last: int | None
    step: int
    backwards: bool = False

    def to_slice(self, length: int, where: str, what: str = "pixel") -> slice:
        """Return NumPy's slice of ``length`` pixels, rows, ...; check that the ends exist.

        ``where`` and ``what`` name the axis and its items in messages.
        """
        first, last = self.first, self.last
        for number in (first, last):
            if number is not None and not 1 <= number <= length:
                there = f"the {what}s 1 to {length}" if length else f"no {what}s"
                raise usage(
                    f"{where} has {there}; found {number}",
                    f"{what}s are counted from 1, both ends included: '*' selects all",
                )
        if first is None and last is None:
            return slice(None, None, -self.step if self.backwards else self.step)
        first = first or 1
        if last is None or first <= last:
            return slice(first - 1, last, self.step)
        stop = last - 2
        return slice(first - 1, stop if stop >= 0 else None, -self.step)


def parse_range(text: str) -> Range:
    """Parse ``a:b``, ``a:b:step``, ``a``, ``*``, ``-*`` or ``*:step``; an end may be left out.

    >>> parse_range("5:50:2"), parse_range("5:")
    (Range(first=5, last=50, step=2, backwards=False), Range(first=5, last=None, step=1, backwards=False))
    >>> parse_range("1:10").to_slice(20, "NAXIS1"), parse_range("3:1").to_slice(20, "NAXIS1")
    (slice(0, 10, 1), slice(2, None, -1))
    """  # noqa: E501 - a doctest
    match = _RANGE.fullmatch(re.sub(r"\s*:\s*", ":", text.strip()))
    step = int(match["step"] or 1) if match else 0
    if match is None or step == 0 or not (match["all"] or match["first"] or match["colon"]):
        raise ValueError(f"invalid range {text!r}: use 1:100, 5:50:2, 5:, 7 or *")
    if match["all"]:
        return Range(None, None, step, match["all"] == "-*")
    first, last = (int(match[end]) if match[end] else None for end in ("first", "last"))
    return Range(first, last if match["colon"] else first, step)


def parse_channels(text: str) -> Range | SpectralRange | list[Range | SpectralRange]:
    """Parse a range of pixels or a range with a unit; comma-separated ranges give a list.

    >>> parse_channels("5:50").last, str(parse_channels("100..250 km/s"))
    (50, '100..250 km/s')
    >>> [item.first for item in parse_channels("10:40,80:120")]
    [10, 80]
    """
    ranges = [_one_range(part) for part in text.split(",")]
    return ranges if len(ranges) > 1 else ranges[0]


def _one_range(text: str) -> Range | SpectralRange:
    """Parse a range of pixels or a range with a unit."""
    if not re.search("[A-Za-z]", text):
        return parse_range(text)
    from tachyfits.text.spectral_ranges import parse_spectral_range

    return parse_spectral_range(text)


def parse_section(text: str) -> tuple[Range, ...]:
    """Parse ``[1:100,*,5:50:2]``: one range per axis, x first; brackets are optional."""
    body = text.strip()
    if body.startswith("[") and body.endswith("]"):
        body = body[1:-1]
    return tuple(parse_range(part) for part in body.split(","))


def numpy_index(section: Sequence[Range], shape: Sequence[int]) -> tuple[slice, ...]:
    """Return the NumPy index of a section of an image with a (NumPy) shape.

    Axes without a range are selected completely.

    >>> numpy_index(parse_section("[2:3,*]"), (7, 5, 4))
    (slice(None, None, None), slice(None, None, 1), slice(1, 3, 1))
    """
    if len(section) > len(shape):
        raise usage(
            f"the section has {len(section)} ranges, the image {counted_axes(len(shape))}",
            "give one range per axis, x (NAXIS1) first",
        )
    lengths = list(reversed(shape))
    slices = [
        piece.to_slice(length, f"NAXIS{number}")
        for number, (piece, length) in enumerate(zip(section, lengths, strict=False), 1)
    ]
    slices += [slice(None)] * (len(shape) - len(section))
    return tuple(reversed(slices))


def fits_position(
    index: Sequence[int] | None, section: Sequence[slice], shape: Sequence[int]
) -> list[int] | None:
    """Convert a NumPy index within a section to a pixel of the image: x first, counted from 1.

    Axes after the last one of the section are selected completely.

    >>> fits_position((2, 4), (slice(0, 9, 2),), (9, 10)), fits_position((0,), (slice(8, None, -1),), (9,))
    ([5, 5], [9])
    """  # noqa: E501 - a doctest
    if index is None:
        return None
    slices = [*section, *[slice(None)] * (len(shape) - len(section))]
    axes = zip(index, slices, shape, strict=True)
    return [range(length)[piece][offset] + 1 for offset, piece, length in axes][::-1]


def parse_points(text: str) -> list[tuple[float, float]]:
    """Parse the points of a path, ``x,y x,y ...``, without a change of convention.

    >>> parse_points("10,20 30.5, 40")
    [(10.0, 20.0), (30.5, 40.0)]
    """
    try:
        numbers = [float(word) for word in re.split(r"[\s,]+", text.strip())]
    except ValueError:
        numbers = []
    if len(numbers) < 4 or len(numbers) % 2 or not all(map(math.isfinite, numbers)):
        raise ValueError(f"invalid path {text!r}: give two or more points, '10,20 30,40'")
    return list(zip(numbers[::2], numbers[1::2], strict=True))
