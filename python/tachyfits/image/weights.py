"""Sums and means weighted by the fraction of each pixel inside a region, as in photutils.

The engine multiplies pixels by their fractions as it reads them: one pass over the boxes around all
regions, which also sums the fractions of defined pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import usage
from tachyfits.header.region_rasters import semi_axes_in_pixels
from tachyfits.image.chosen_regions import ChosenRegions, in_pixels, sky_of
from tachyfits.image.selection import Choice, conflict
from tachyfits.text.regions import (
    Box,
    Circle,
    CompoundRegion,
    Ellipse,
    PixelRegion,
    Point,
    Polygon,
    Region,
)
from tachyfits.text.sky_regions import SkyRegion

if TYPE_CHECKING:
    from tachyfits.base.progress import Progress
    from tachyfits.image.image import Image

#: Weights of pixels: "exact" is the fraction of a pixel inside the region.
Weights: TypeAlias = Literal["exact"]
WEIGHTS = get_args(Weights)
#: Statistics for which weights are defined.
WEIGHTED = ("sum", "mean")


def check_weights(weights: str | None, statistic: str, chosen: ChosenRegions) -> bool:
    """Return whether weights are requested; raise UsageError if they are undefined here."""
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
    choice: Choice,
    pixels: Image,
    statistic: str,
    axes: Sequence[int],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return weighted sums or means along axes for each region of a choice.

    Undefined pixels are ignored; both are NaN without a defined pixel. ``pixels``: pixels of the
    choice, perhaps in another unit.
    """
    run: dict[str, Any] = {"threads": threads, "progress": progress}
    sums, areas = weighted_sums(choice, pixels, axes, **run)
    if statistic == "mean":
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = sums / areas
    return sums


def weighted_sums(
    choice: Choice,
    pixels: Image,
    axes: Sequence[int],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weighted sums of the regions of a choice, and the areas of their defined pixels.

    One pass reads the boxes around all regions. Arrays have a first axis for the regions, and the
    kept axes.
    """
    where, plane = choice.section, (pixels.ndim - 2, pixels.ndim - 1)
    if not set(plane) <= set(axes):
        raise usage("a region needs both of its axes to be reduced", "reduce x and y, too")
    for axis in plane:
        if where.ranges[axis] != (0, pixels.shape[axis], 1):
            raise conflict(pixels, axis, "weights", "section")
    cores = [core_with_shares(pixels, item) for item in choice.regions.regions or ()]
    return pixels._core_image().weighted(
        list(axes),
        pixels._ranges(where),
        regions=cores,
        threads=pixels._threads(threads),
        progress=progress,
    )


def core_with_shares(image: Image, item: Region) -> _core.Region:
    """Return the engine's region of a shape in pixels or a ring, which have pixel fractions."""
    if not isinstance(item, CompoundRegion):
        return _core_of_shape(image, item)
    if [added for added, _ in item.parts] != [True, False]:
        raise usage(f"exact weights need one shape or a ring: {item}", "give the shapes one by one")
    parts = [(added, _core_of_shape(image, part)) for added, part in item.parts]
    return _core.Region.combined(parts)


def _core_of_shape(image: Image, item: Region) -> _core.Region:
    shape = flat(image, item)
    if not isinstance(shape, (Box, Circle, Ellipse, Polygon)):
        what = "a point" if isinstance(shape, Point) else f"a {type(shape).__name__}"
        raise usage(f"{what} has no exact weights", "use a circle, an ellipse, a box or a polygon")
    return shape.to_core()


def flat(image: Image, item: Region) -> PixelRegion:
    """Return a shape in pixels; a shape on the sky is converted with the scale at its centre."""
    if isinstance(item, CompoundRegion):
        raise usage(f"exact weights need one shape or a ring: {item}", "give single shapes")
    if isinstance(item, SkyRegion) and item.shape != "point":
        return semi_axes_in_pixels(item, sky_of(image))
    return in_pixels(image, item)
