"""Regions of an operation, converted to the engine's: in pixels, on the sky, as text, as masks.

An image's coordinates cache the rasters of shapes on the sky, so that each region is rasterised
once for all operations.
"""

from __future__ import annotations

import math
import os
import string
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import either, format_error, usage, warn, with_code
from tachyfits.header.alignment import tell_differences
from tachyfits.header.region_rasters import outline_in_pixels, place, spans_on_sky
from tachyfits.text.axes import counted_axes
from tachyfits.text.region_input import listed_regions, region
from tachyfits.text.regions import (
    CompoundRegion,
    Ends,
    Line,
    MaskRegion,
    PhysicalRegion,
    PixelRegion,
    Point,
    Region,
    as_ds9,
    ends_of,
)
from tachyfits.text.sky_regions import SkyRegion

if TYPE_CHECKING:
    from tachyfits.file.image_hdu import ImageHdu
    from tachyfits.header.sky import Sky

#: For larger planes the file size is compared with the header before regions are placed.
_CLAIM = 1 << 30

#: Maximum number of rasters of shapes on the sky cached per image.
_KEPT = 16


@dataclass(frozen=True)
class ChosenRegions:
    """The regions of an operation.

    Attributes
    ----------
    regions
        The regions in the caller's form; None if every pixel counts.
    cores
        The regions in the engine's form.
    count
        Number of regions in a list; None for a single region.
    """

    regions: list[Region] | None
    cores: list[_core.Region] | None
    count: int | None = None


#: Every pixel.
EVERYTHING = ChosenRegions(None, None)


def chosen_regions(image: ImageHdu, given: Any) -> ChosenRegions:
    """Return the regions of an operation on an image; warn about those that extend beyond it.

    Raises
    ------
    UsageError
        ``given`` is not a region, or needs coordinates that the image lacks.
    """
    if given is None:
        return EVERYTHING
    check_plane(image)
    regions, several = listed_regions(given)
    if not regions:
        raise usage(
            "an empty list of regions",
            either(
                "leave region= out to use every pixel",
                "leave --region out to use every pixel",
                "leave the region out to use every pixel",
            ),
        )
    cores = [core_of(image, item) for item in regions]
    for item, core in zip(regions, cores, strict=True):
        _warn_outside(image, item, core)
    return ChosenRegions(regions, cores, len(regions) if several else None)


def check_plane(image: ImageHdu) -> None:
    """Refuse an image without a plane, or whose header claims far more pixels than the file has."""
    if image.ndim < 2:
        raise with_code(
            usage(
                f"{image._where()}: a region needs NAXIS1 and NAXIS2, and the image has "
                f"{counted_axes(image.ndim)}",
                either("use section=", "use --section", "leave the region out"),
            ),
            "region",
        )
    pixels = math.prod(image.shape[-2:])
    hdu = image._hdu()
    size = pixels * (abs(image.bitpix) // 8)
    if pixels > _CLAIM and hdu.data_bytes_present < min(size // 1024, hdu.data_bytes):
        raise format_error(
            f"{image._where()}: expected {size} bytes for a plane of {image.shape[-1]} x "
            f"{image.shape[-2]} pixels, found {hdu.data_bytes_present}",
            "the file is truncated: fetch it again, or read a section within the remaining pixels",
            "data-missing",
        )


def core_of(image: ImageHdu, item: Region) -> _core.Region:
    """Return the engine's form of a region of an image."""
    if isinstance(item, SkyRegion):
        return _core_on_sky(image, item)
    if isinstance(item, CompoundRegion):
        parts = [(added, core_of(image, part)) for added, part in item.parts]
        return _core.Region.combined(parts)
    if isinstance(item, MaskRegion) and item.grid is not None:
        tell_differences((image, replace(item.grid, has_channels=False)))
    if isinstance(item, MaskRegion) and item.pixels.shape != tuple(image.shape[-2:]):
        raise usage(
            f"invalid mask of shape {item.pixels.shape}: expected {tuple(image.shape[-2:])}, "
            "the shape of a plane",
            "give a mask with a pixel for each pixel of a plane",
        )
    return in_pixels(image, item).to_core()


def in_pixels(image: ImageHdu, item: Region) -> PixelRegion:
    """Return a region that is a single shape in pixels; points on the sky are converted."""
    if isinstance(item, PhysicalRegion):
        return item.region.moved(*_from_physical(image))
    if isinstance(item, SkyRegion) and item.shape == "point":
        ((x, y),) = outline_in_pixels(item, sky_of(image)).tolist()
        if not np.isfinite([x, y]).all():
            raise usage(f"{item} is not on the image", "give another position")
        return Point(x, y)
    if type(item) in (Region, PixelRegion) or not isinstance(item, PixelRegion):
        raise usage(f"invalid region {item!r:.100}: expected a shape", "use tf.Circle, tf.Box, ...")
    return item


def sky_of(image: ImageHdu) -> Sky:
    """Return the sky coordinates of the first two axes.

    Raises
    ------
    UsageError
        The first two axes are not the axes of the sky.
    """
    sky = image.coordinates.sky
    if sky is None or sky.axes != (1, 2):
        ctypes = [ctype or "without CTYPE" for ctype in image.coordinates.ctypes[:2]]
        raise usage(
            f"{image._where()}: a region on the sky needs sky coordinates on NAXIS1 and NAXIS2, "
            f"which are {' and '.join(ctypes) or 'missing'}",
            "give the region in pixels"
            + either("; or reorder the axes: image.reorder()", "; or use tachyfits reorder"),
        )
    return sky


def _core_on_sky(image: ImageHdu, item: SkyRegion) -> _core.Region:
    if item.shape == "line":
        raise usage(
            "a line has no pixels inside: it is a path for a position-velocity cut",
            "use a polygon",
        )
    if item.shape == "point":
        return in_pixels(image, item).to_core()
    cache: dict[SkyRegion, _core.Region] = image.coordinates.rasters
    if item not in cache:
        sky = sky_of(image)
        height, width = image.shape[-2:]
        spans = spans_on_sky(place(item, sky), sky, height, width)
        if len(cache) >= _KEPT:
            cache.pop(next(iter(cache)))
        cache[item] = _core.Region.of_spans(np.ascontiguousarray(spans))
    return cache[item]


def _from_physical(image: ImageHdu) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return scale and offset from physical pixels (from 1) to image pixels (from 0)."""
    cards = image.coordinates.cards
    for letter in string.ascii_uppercase:
        # DS9 also prefers these cards to LTV and LTM.
        if str(image.header.get(f"WCSNAME{letter}")).strip().upper() == "PHYSICAL":
            return _from_alternate(image, letter)
    scales, shifts = [], []
    for number in (1, 2):
        if image.header.get(f"LTM{number}_{number}", 1.0) == 0:
            raise cards.invalid(f"LTM{number}_{number}", 0.0, "a scale other than 0")
        for other in {1, 2} - {number}:
            if image.header.get(f"LTM{number}_{other}", 0.0) not in (0, 0.0):
                raise usage(
                    f"{image._where()}: LTM{number}_{other} turns the physical pixels",
                    "give the region in image pixels or on the sky",
                )
        scales.append(cards.number(f"LTM{number}_{number}", 1.0))
        shifts.append(cards.number(f"LTV{number}", 0.0) - 1.0)
    return (scales[0], scales[1]), (shifts[0], shifts[1])


def _from_alternate(
    image: ImageHdu, letter: str
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return scale and offset of alternate coordinates, in which CIAO writes physical pixels."""
    cards, header = image.coordinates.cards, image.header
    scales, shifts = [], []
    for number in (1, 2):
        for root in ("CD", "PC"):
            turn = f"{root}{number}_{3 - number}{letter}"
            if header.get(turn, 0) != 0:
                raise cards.invalid(turn, header.get(turn), "0: they turn the physical pixels")
        cd = f"CD{number}_{number}{letter}"
        increment = cd if cd in header else f"CDELT{number}{letter}"
        names = [f"CRPIX{number}{letter}", f"CRVAL{number}{letter}", increment]
        values = [header.get(*pair) for pair in zip(names, (0.0, 0.0, 1.0), strict=True)]
        for name, value in zip(names, values, strict=True):
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                raise cards.invalid(name, value, "a number")
        pixel, at, step = values
        if step == 0:
            raise cards.invalid(increment, step, "an increment other than 0")
        scales.append(1.0 / step)
        shifts.append(pixel - at / step - 1.0)
    return (scales[0], scales[1]), (shifts[0], shifts[1])


def border_of(image: ImageHdu, item: Region) -> NDArray[np.float64]:
    """Return points along the border of a region in 0-based pixels, shape (n, 2)."""
    if isinstance(item, CompoundRegion):
        borders = [border_of(image, part) for added, part in item.parts if added]
        return np.concatenate(borders) if borders else np.full((1, 2), np.nan)
    if isinstance(item, SkyRegion):
        return outline_in_pixels(item, sky_of(image))
    return in_pixels(image, item).outline()


def _warn_outside(image: ImageHdu, item: Region, core: _core.Region) -> None:
    """Warn about a region with no pixel, or only some of its pixels, on the image."""
    height, width = image.shape[-2:]
    with np.errstate(all="ignore"):
        left, right, low, high = _ends(image, item)
    if math.isnan(left):
        # None on the other half of the sky, or all around the image.
        if core.bounds(height, width) is None:
            _warn_of(item, "lies outside", width, height)
        return
    # The edge of the image, half a pixel beyond the outer centres, counts as inside.
    least, slack = -0.5, 1e-6
    sides = ((left, right, width - 0.5), (low, high, height - 0.5))
    if any(last - slack < least or first + slack > most for first, last, most in sides):
        _warn_of(item, "lies outside", width, height)
    elif any(first + slack < least or last - slack > most for first, last, most in sides):
        _warn_of(item, "reaches beyond", width, height)


def _ends(image: ImageHdu, item: Region) -> Ends:
    """Return the limits of x and of y along the border of a region."""
    if isinstance(item, PixelRegion):
        return item.ends()
    if isinstance(item, CompoundRegion):
        parts = [_ends(image, part) for added, part in item.parts if added]
        if parts and not any(math.isnan(ends[0]) for ends in parts):
            left, right, low, high = zip(*parts, strict=True)
            return min(left), max(right), min(low), max(high)
    return ends_of(border_of(image, item))


def _warn_of(item: Region, where: str, width: int, height: int) -> None:
    subject = f"{region_name(item)} {where} the image of {width} x {height} pixels"
    if where == "lies outside":
        warn(f"{subject}: no pixel is in it; {place_hint()}")
    else:
        warn(f"{subject}: only its pixels on the image count")


def region_name(item: Region) -> str:
    """Return the name of a region for messages: the object, or DS9 text on the command line."""
    return either(str(item), as_ds9(item), as_ds9(item))


def place_hint() -> str:
    """Return advice for a region that is not on an image."""
    return either(
        "check its frame and its place: image.coordinates",
        "check its frame and its place: tachyfits info FILE",
        "check its frame and its place: /api/v1/dataset has the coordinates of the image",
    )


def mask_of(image: ImageHdu, regions: Sequence[_core.Region]) -> NDArray[np.bool_]:
    """Return a mask of the plane's pixels that are in any of the regions."""
    height, width = image.shape[-2:]
    masks = (item.mask(height, width) for item in regions)
    mask = next(masks)
    for other in masks:
        mask |= other
    return mask


def is_path(given: Any) -> bool:
    """Return whether a path is text, a file or a region, not an array of points."""
    is_foreign = type(given).__module__.partition(".")[0] == "regions"
    return is_foreign or isinstance(given, (str, os.PathLike, Region))


def line_points(image: ImageHdu, given: Any) -> NDArray[np.float64]:
    """Return the points of a line in 0-based pixels, shape (n, 2).

    Raises
    ------
    UsageError
        The region is not a line, or parts of it are not on the sky of the image.
    """
    item = region(given)
    name = repr(given) if isinstance(given, str) else region_name(item)
    if not (isinstance(item, Line) or (isinstance(item, SkyRegion) and item.shape == "line")):
        raise usage(
            f"invalid path {name}: expected a line",
            either(
                'give points, or "icrs; line(10, 20, 10.1, 20.1)"',
                "use --path 'icrs; line(...)'",
                "give points as '10,20 30,40', or 'icrs; line(10,20,10.1,20.1)'",
            ),
        )
    points = border_of(image, item)
    if not np.isfinite(points).all():
        raise usage(f"invalid path {name}: it is not on the image", "give another line")
    return points
