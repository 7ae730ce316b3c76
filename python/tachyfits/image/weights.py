"""Sums and means with the share of each pixel that is inside a region, as photutils has them.

The engine multiplies pixels by their shares as it reads them: one pass over the box around the
region, and a second one over the same bytes for the shares of the defined pixels of a mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import usage
from tachyfits.header.region_rasters import semi_axes_in_pixels
from tachyfits.image.chosen_regions import ChosenRegions, in_pixels, sky_of
from tachyfits.image.expressions import evaluate
from tachyfits.image.overlaps import overlap
from tachyfits.image.rectangles import slices_of
from tachyfits.image.selection import Choice, conflict
from tachyfits.text.regions import CompoundRegion, PixelRegion, Region
from tachyfits.text.sections import Section
from tachyfits.text.sky_regions import SkyRegion

if TYPE_CHECKING:
    from tachyfits.image.image import Image

#: Ways of weighting pixels: "exact" is the share of a pixel that is inside.
Weights: TypeAlias = Literal["exact"]
WEIGHTS = get_args(Weights)
#: Statistics that weights have a meaning for.
WEIGHTED = ("sum", "mean")


def check_weights(weights: str | None, statistic: str, chosen: ChosenRegions) -> bool:
    """Say whether weights are requested; UsageError where they make no sense."""
    if weights is None:
        return False
    if weights not in WEIGHTS:
        raise usage(f"invalid weights {weights!r}: expected exact", "leave them out for centres")
    if statistic not in WEIGHTED:
        raise usage(
            f"the {statistic} of pixels has no weights", f"use one of {', '.join(WEIGHTED)}"
        )
    if chosen.regions is None:
        raise usage("weights need a region", "give one, or leave the weights out")
    return True


def weighted(
    choice: Choice, pixels: Image, statistic: str, axes: Sequence[int], **run: Any
) -> NDArray[np.float64]:
    """Return weighted sums or means of the regions of a choice along axes, one after the other.

    Undefined pixels are ignored; of nothing, both are NaN. ``pixels``: those of the choice, perhaps
    in another unit. ``run``: threads and progress.
    """
    where = choice.section
    regions = choice.regions.regions or ()
    return np.stack([_of_region(pixels, statistic, axes, where, item, **run) for item in regions])


def _of_region(
    image: Image, statistic: str, axes: Sequence[int], where: Section, item: Region, **run: Any
) -> NDArray[np.float64]:
    height, width = image.shape[-2:]
    if not {image.ndim - 2, image.ndim - 1} <= set(axes):
        raise usage("a region needs both of its axes to be reduced", "reduce x and y, too")
    shares, (y, x) = shares_of(image, item)
    rows, columns = shares.shape
    for axis, first, count, length in (
        (image.ndim - 2, y, rows, height), (image.ndim - 1, x, columns, width),
    ):  # fmt: skip
        if where.ranges[axis] != (0, length, 1):
            raise conflict(image, axis, "weights", "section")
        where = where.replace(axis, (first, count, 1))
    others = [n for n in range(image.ndim) if n not in axes]
    kept = tuple(where.full_shape[n] for n in others)
    if not shares.size:
        return np.full(kept, np.nan)
    names: dict[str, Any] = {"a": image.cutout(section=slices_of(where)), "w": shares}
    options: dict[str, Any] = {"axis": tuple(axes), **run}
    total = evaluate("where(w > 0, a * w, nan)", dtype="float64", **names).reduce("sum", **options)
    if statistic == "mean":
        defined = evaluate("where(isnan(a), 0, w)", dtype="float64", **names)
        with np.errstate(invalid="ignore", divide="ignore"):
            total = total / defined.reduce("sum", **options)
    return np.asarray(total, dtype=np.float64).reshape(kept)


def shares_of(image: Image, item: Region) -> tuple[NDArray[np.float64], tuple[int, int]]:
    """Return the share of each pixel in a region, and the first row and column of these.

    A ring is an outer shape less an inner one that lies in it.
    """
    height, width = image.shape[-2:]
    if not isinstance(item, CompoundRegion):
        return overlap(flat(image, item), height, width)
    if [added for added, _ in item.parts] != [True, False]:
        raise usage(f"exact weights need one shape or a ring: {item}", "give the shapes one by one")
    outer, inner = (flat(image, part) for _, part in item.parts)
    shares, (y, x) = overlap(outer, height, width)
    hole, (row, column) = overlap(inner, height, width)
    if not hole.size:
        return shares, (y, x)
    rows, columns = hole.shape
    top, left = row - y, column - x
    fits = top >= 0 <= left and top + rows <= shares.shape[0] and left + columns <= shares.shape[1]
    part = shares[top : top + rows, left : left + columns]
    # Of a hole inside, no pixel has a greater share, but for rounding.
    if not fits or (hole > part + 1e-3).any():
        raise usage(f"exact weights need a ring whose hole is inside: {item}", "give two shapes")
    part -= hole
    return np.clip(shares, 0.0, 1.0), (y, x)


def flat(image: Image, item: Region) -> PixelRegion:
    """Return a shape in pixels; of a shape on the sky with the scale at its centre."""
    if isinstance(item, CompoundRegion):
        raise usage(f"exact weights need one shape or a ring: {item}", "give single shapes")
    if isinstance(item, SkyRegion) and item.shape != "point":
        return semi_axes_in_pixels(item, sky_of(image))
    return in_pixels(image, item)
