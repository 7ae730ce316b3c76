"""Rectangles around regions: rows and columns of an image, and margins beyond it.

Nothing here reads pixels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from tachyfits.base.errors import either, memory_error, no_overlap, usage
from tachyfits.image.chosen_regions import (
    border_of,
    core_of,
    in_pixels,
    place_hint,
    region_name,
)
from tachyfits.text.regions import Box, CompoundRegion, PixelRegion, Point, Region
from tachyfits.text.sections import Section

if TYPE_CHECKING:
    from tachyfits.image.pixels import Pixels

#: Maximum number of rows of a region whose box is searched.
MOST_ROWS = 1 << 24

#: Treatments of a region that extends beyond the image, by the names of astropy's Cutout2D.
Mode: TypeAlias = Literal["trim", "partial", "strict"]
MODES = get_args(Mode)

#: Number of undefined pixels before and after an image, along one axis.
Margin = tuple[int, int]


def rectangle_of(
    image: Pixels, item: Region, mode: str
) -> list[tuple[tuple[int, int, int], Margin]]:
    """Return the rectangle around a region: along y and x, the pixels on the image and a margin."""
    first, last = (extent_on_image if mode == "trim" else _around)(image, item)
    sides = []
    for low, high, length in zip(first, last, image.shape[-2:], strict=True):
        start, end = max(low, 0), min(high + 1, length)
        sides.append(((start, end - start, 1), (start - low, high + 1 - end)))
    size = f"the image of {image.shape[-1]} x {image.shape[-2]} pixels"
    name = f"{image._where()}: {region_name(item)}"
    if any(count <= 0 for (_, count, _), _ in sides):
        raise no_overlap(f"{name} lies outside {size}", place_hint())
    if mode == "strict" and any(margin != (0, 0) for _, margin in sides):
        raise usage(
            f"{name} reaches beyond {size}",
            either(
                'mode="trim" takes its pixels on the image, mode="partial" fills with NaN',
                "--mode trim takes its pixels on the image, --mode partial fills with NaN",
                "the mode trim takes its pixels on the image, partial fills with NaN",
            ),
        )
    return sides


def extent_on_image(image: Pixels, item: Region) -> tuple[list[int], list[int]]:
    """Return the first and last row and column with pixels of a region on the image.

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
    # No pixel centre is inside: take the pixel that contains the region.
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
    """Refuse a region with too many rows to search quickly for its box."""
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
    """Return the first and last row and column of a region, on the image or not."""
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
        # The upper sides of a box are exclusive.
        first = np.ceil(low)
        last = np.ceil(high) - 1 if isinstance(shape, Box) else np.floor(high)
    if (last < first).any():
        first = last = np.floor((low + high) / 2 + 0.5)
    return [int(at) for at in first[::-1]], [int(at) for at in last[::-1]]


def slices_of(section: Section) -> tuple[slice, ...]:
    """Return the NumPy index of a section, which drops no axis.

    >>> slices_of(Section(((1, 3, 2), (4, 5, -1))))
    (slice(1, 7, 2), slice(4, None, -1))
    """
    ends = ((start, start + count * step, step) for start, count, step in section.ranges)
    return tuple(
        slice(start, stop if stop >= 0 or step > 0 else None, step) for start, stop, step in ends
    )
