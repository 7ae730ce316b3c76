"""Parts of an image: the box around a region, channels and polarisations, as sections.

Nothing here reads pixels: a part is a section, and a margin where it reaches beyond the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits.base.errors import either, memory_error, no_overlap, usage
from tachyfits.header.spectral_units import Line
from tachyfits.image.chosen_regions import (
    border_of,
    check_plane,
    core_of,
    in_pixels,
    place_hint,
    region_name,
)
from tachyfits.image.spectra import cube_section
from tachyfits.text.region_input import region
from tachyfits.text.regions import Box, CompoundRegion, PixelRegion, Point, Region
from tachyfits.text.sections import Section
from tachyfits.text.spectral_ranges import AskedChannels

if TYPE_CHECKING:
    from tachyfits.image.pixels import Pixels

#: Regions of more rows have no box.
MOST_ROWS = 1 << 24

#: Treatments of a region that reaches beyond the image, by the names of astropy's Cutout2D.
MODES = ("trim", "partial", "strict")


@dataclass(frozen=True)
class Part:
    """A section of an image, and undefined pixels before and after it along each NumPy axis."""

    section: Section
    margins: tuple[tuple[int, int], ...] = ()


def part_of(
    image: Pixels,
    given: Any,
    channels: AskedChannels,
    section: Any,
    mode: str = "trim",
    line: Line | None = None,
    pol: str | Sequence[str] | None = None,
) -> Part:
    """Return the part of an image that some arguments of `Image.cut` choose."""
    if mode not in MODES:
        raise usage(f"invalid mode {mode!r}: expected {', '.join(MODES)}", "leave it out for trim")
    axis = image.spectral_axis if channels is not None else 0
    where = cube_section(image, section, channels, axis, line, pol)
    if given is None:
        return Part(where)
    check_plane(image)
    item = region(given)
    for axis in (image.ndim - 2, image.ndim - 1):
        if where.ranges[axis] != (0, image.shape[axis], 1):
            raise usage(
                f"both a region and a section cut NAXIS{image.ndim - axis}",
                either(
                    "use section= for other axes",
                    "use --section for other axes",
                    "use section for other axes",
                ),
            )
    if mode == "trim":
        first, last = extent_on_image(image, item)
    else:
        first, last = _around(image, item)
    return _placed(image, where, item, first, last, mode)


def extent_on_image(image: Pixels, item: Region) -> tuple[list[int], list[int]]:
    """Return the first and the last row and column that have pixels of a region on the image.

    Raises
    ------
    NoOverlap
        The region is outside the image.
    """
    height, width = image.shape[-2:]
    core = core_of(image, item)
    _check_rows(image, item)
    rows, columns = core.bounds(height, width) or (None, None)
    if rows is not None and columns is not None:
        return [rows[0], columns[0]], [rows[1], columns[1]]
    # No centre of a pixel is inside: the pixel that has the region in it.
    border = border_of(image, item)
    middle = np.floor(border.mean(axis=0) + 0.5)
    if np.isfinite(middle).all() and (middle >= 0).all() and (middle < (width, height)).all():
        x, y = (int(at) for at in middle)
        return [y, x], [y, x]
    raise no_overlap(
        f"{image._where()}: {region_name(item)} has no pixel on the image of {width} x {height} "
        "pixels",
        place_hint(),
    )


def _check_rows(image: Pixels, item: Region) -> None:
    """Refuse a region of more rows than can be searched for its box in a moment."""
    height = image.shape[-2]
    if height > MOST_ROWS and isinstance(item, PixelRegion):
        *_, low, high = item.ends()
        if not min(high, height) - max(low, 0.0) < MOST_ROWS:
            raise memory_error(
                f"{image._where()}: {region_name(item)}: expected a region of at most {MOST_ROWS} "
                "rows",
                "cut it by a section",
            )


def _around(image: Pixels, item: Region) -> tuple[list[int], list[int]]:
    """Return the first and the last row and column of a region, on the image or not."""
    if isinstance(item, CompoundRegion):
        boxes = [_around(image, part) for added, part in item.parts if added]
        if boxes:
            firsts, lasts = zip(*boxes, strict=True)
            return [min(n) for n in zip(*firsts, strict=True)], [
                max(n) for n in zip(*lasts, strict=True)
            ]
    border = border_of(image, item)
    if not np.isfinite(border).all():
        raise usage(
            f"{image._where()}: parts of {region_name(item)} are not on its sky",
            either('use mode="trim"', "use --mode trim", "use the mode trim"),
        )
    low, high = border.min(axis=0), border.max(axis=0)
    if not (np.abs([low, high]) < 2**40).all():
        raise usage(
            f"{region_name(item)} is too large",
            either('use mode="trim"', "use --mode trim", "use the mode trim"),
        )
    shape = None if hasattr(item, "frame") else in_pixels(image, item)
    if isinstance(shape, Point):
        first = last = np.floor(low + 0.5)
    else:
        # The upper sides of a box do not belong to it.
        first = np.ceil(low)
        last = np.ceil(high) - 1 if isinstance(shape, Box) else np.floor(high)
    if (last < first).any():
        first = last = np.floor((low + high) / 2 + 0.5)
    return [int(at) for at in first[::-1]], [int(at) for at in last[::-1]]


def _placed(
    image: Pixels, where: Section, item: Region, first: list[int], last: list[int], mode: str
) -> Part:
    margins = [(0, 0)] * image.ndim
    for axis, low, high in zip((image.ndim - 2, image.ndim - 1), first, last, strict=True):
        length = image.shape[axis]
        start, end = max(low, 0), min(high + 1, length)
        margins[axis] = (start - low, high + 1 - end)
        if start >= end or (mode == "strict" and margins[axis] != (0, 0)):
            size = f"the image of {image.shape[-1]} x {image.shape[-2]} pixels"
            name = f"{image._where()}: {region_name(item)}"
            if start >= end:
                raise no_overlap(f"{name} lies outside {size}", place_hint())
            raise usage(
                f"{name} reaches beyond {size}",
                either(
                    'mode="trim" takes its pixels on the image, mode="partial" fills with NaN',
                    "--mode trim takes its pixels on the image, --mode partial fills with NaN",
                    "the mode trim takes its pixels on the image, partial fills with NaN",
                ),
            )
        where = where.replace(axis, (start, end - start, 1))
    is_within = all(margin == (0, 0) for margin in margins)
    return Part(where, () if is_within else tuple(margins))


def slices_of(section: Section) -> tuple[slice, ...]:
    """Return the NumPy index of a section, which drops no axis.

    >>> slices_of(Section(((1, 3, 2), (4, 5, -1))))
    (slice(1, 7, 2), slice(4, None, -1))
    """
    ends = ((start, start + count * step, step) for start, count, step in section.ranges)
    return tuple(
        slice(start, stop if stop >= 0 or step > 0 else None, step) for start, stop, step in ends
    )
