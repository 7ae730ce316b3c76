"""Planes: a range of channels collapsed to one plane of the sky.

A plane of up to 256 MiB is computed as a whole and cached. For a larger plane, pixels and tiles of
low levels are computed on request; the higher levels are computed block by block in one pass, in
bounded memory, and cached.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from fastapi import Depends, Query
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits import CompoundRegion, Region, SkyRegion
from tachyfits.base import with_hint
from tachyfits.file import plane_file
from tachyfits.image import extent_on_image, for_pictures, in_pixels, threshold_of_values
from tachyfits.server.asked import Asked
from tachyfits.server.errors import TooLarge
from tachyfits.server.parameters import (
    Channel,
    Channels,
    Convention,
    Others,
    Pol,
    Rest,
    Unit,
    line_of,
)
from tachyfits.server.polarisation import ANGLE, INTENSITY, polarised
from tachyfits.server.view import TILE, View

#: Maximum size of a plane that is computed as a whole and cached, in bytes.
MOST_BYTES = 256 << 20

#: Maximum number of pixels of a level that is computed as a whole, for larger planes.
MOST_PIXELS = 1 << 24

#: Bytes per block of a larger plane, and the limit of concurrent blocks of all requests.
_BLOCK = 16 << 20
_BLOCKS = threading.BoundedSemaphore(4)

Progress = Callable[[int, int], bool | None]
_Levels = dict[int, NDArray[np.float32]]


@dataclass(frozen=True)
class PartOfPlane:
    """A plane, or the part of it around a region.

    Attributes
    ----------
    region
        The region in pixels of the part.
    corner
        NumPy index of the first pixel of the part in the plane.
    """

    image: tf.Image
    region: Region | None
    corner: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Collapse:
    """Parameters of a plane; the statistic is one of the engine, or "moment0" to "moment2"."""

    statistic: str
    channels: str | None = None
    others: str | None = None
    pol: str | None = None
    unit: str | None = None
    rest: str | None = None
    convention: str | None = None
    threshold: float | None = None

    def plane(self, asked: Asked) -> tf.Plane:
        """Return the plane from the cache, or compute it.

        Raises
        ------
        TooLarge
            The plane has too many pixels.
        """
        if is_large(asked.view):
            raise _too_large(asked.view, "give a level, a tile or a region")
        return asked.kept(
            self, lambda: self._computed(asked, progress=asked.progress), _bytes_of_plane
        )

    def part(self, asked: Asked, region: str | None = None) -> PartOfPlane:
        """Return the plane as an image, or the part of it around a region.

        Raises
        ------
        TooLarge
            The part has too many pixels.
        """
        view = asked.view
        selected_region = view.region(region)
        if not is_large(view):
            return PartOfPlane(image_of(self.plane(asked)), selected_region)
        if selected_region is None:
            raise _too_large(view, "give a region")
        (first, left), (last, right) = extent_on_image(view.cube, selected_region)
        if (last + 1 - first) * (right + 1 - left) * 8 > MOST_BYTES:
            raise _too_large(view, "give a smaller region")
        y, x = slice(first, last + 1), slice(left, right + 1)
        part = self._computed(asked, y, x, progress=asked.progress)
        return PartOfPlane(
            image_of(part), _shifted(view, selected_region, left, first), (first, left)
        )

    def pixel(self, asked: Asked, x: int, y: int) -> tuple[float, str | None]:
        """Return the value of a pixel (0-based x and y) and its unit."""
        if is_large(asked.view):
            part = self._computed(asked, slice(y, y + 1), slice(x, x + 1))
            return float(part.values[0, 0]), part.unit
        plane = self.plane(asked)
        return float(plane.values[y, x]), plane.unit

    def sample(self, asked: Asked, step: int) -> NDArray[np.float64]:
        """Return every ``step``-th pixel along x and y."""
        every = slice(None, None, step)
        if is_large(asked.view):
            return self._computed(asked, every, every).values
        return self.plane(asked).values[every, every]

    def level(self, asked: Asked, level: int) -> tf.Image:
        """Return the plane at a zoom level, as an image.

        Raises
        ------
        TooLarge
            The level has too many pixels.
        """
        view = asked.view
        view.check_level(level)
        if not is_large(view):
            return binned(image_of(self.plane(asked)), view, level)
        first = first_level(view)
        if level < first:
            raise _too_large(view, f"use level {first} or a higher one, or tiles")
        pixels = self._levels(asked)[level]
        # Take the header from a binned block that starts at the plane's first pixel.
        step = 1 << level
        corner = self._computed(asked, slice(0, step), slice(0, step))
        return _with_header(pixels, binned(image_of(corner), view, level))

    def tile(
        self, asked: Asked, level: int, column: int, row: int, *, preview: bool
    ) -> NDArray[np.float32]:
        """Return a tile of the plane; see `View.tile`."""
        view = asked.view
        view.check_tile(level, column, row)
        y, x = slice(row * TILE, (row + 1) * TILE), slice(column * TILE, (column + 1) * TILE)
        cached_levels: _Levels | None = asked.found(("levels", self)) if is_large(view) else None
        if cached_levels is not None and level in cached_levels:
            return cached_levels[level][y, x]
        step = 1 << level
        y, x = (slice(part.start * step, part.stop * step) for part in (y, x))
        if is_large(view) and not preview:
            return self._means(asked, y, x, [level], asked.progress)[level]
        if preview:
            y, x = (slice(part.start, part.stop, step) for part in (y, x))
        if is_large(view):
            return self._computed(asked, y, x).values.astype(np.float32)
        pixels = self.plane(asked).values[y, x]
        if preview:
            return pixels.astype(np.float32)
        return _means_of(_with_cards(pixels, ()), view, [level])[level]

    def _levels(self, asked: Asked) -> _Levels:
        """Return the cached levels, or compute them in one pass."""
        view = asked.view
        levels = range(first_level(view), view.levels)
        y, x = slice(0, view.height), slice(0, view.width)
        return asked.kept(
            ("levels", self), lambda: self._means(asked, y, x, levels, asked.progress), _bytes_of
        )

    def _means(
        self,
        asked: Asked,
        y: slice,
        x: slice,
        levels: range | list[int],
        progress: Progress | None,
    ) -> _Levels:
        """Compute levels of a part of the plane, block by block."""
        view = asked.view
        y, x = slice(y.start, min(y.stop, view.height)), slice(x.start, min(x.stop, view.width))
        result = {
            level: np.empty([-(-(part.stop - part.start) >> level) for part in (y, x)], np.float32)
            for level in levels
        }
        blocks = list(_blocks(y, x, 1 << max(levels)))
        for number, (rows, columns) in enumerate(blocks):
            with _BLOCKS:
                within = _share(progress, number, len(blocks))
                part = image_of(self._computed(asked, rows, columns, progress=within))
                top, left = rows.start - y.start, columns.start - x.start
                for level, mean in _means_of(part, view, result).items():
                    above, before = top >> level, left >> level
                    height, width = mean.shape
                    result[level][above : above + height, before : before + width] = mean
        return result

    def _computed(
        self,
        asked: Asked,
        y: slice = slice(None),
        x: slice = slice(None),
        *,
        progress: Progress | None = None,
    ) -> tf.Plane:
        """Compute a part of the plane by the engine."""
        view = asked.view
        if self.statistic in (INTENSITY, ANGLE):
            return polarised(
                self,
                view,
                lambda component: component._computed(asked, y, x, progress=progress),
                y,
                x,
            )
        line = line_of(None, self.rest, self.convention)
        words = {"channels": self.channels, "pol": self.pol}
        selection = view.selection(words, others=self.others, line=line)
        conditions: tuple[Any, ...] = ()
        if self.threshold is not None:
            conditions = (threshold_of_values(view.cube, self.threshold, self.unit),)
        section = (*selection.section, y, x)
        cube = view.cube.select(replace(selection, section=section, where=conditions))
        options: dict[str, Any] = {
            "unit": self.unit,
            "rest": self.rest,
            "convention": self.convention,
            "progress": progress,
        }
        # The endpoints have checked the name.
        name: Any = self.statistic
        if name.startswith("moment"):
            order: Any = int(name.removeprefix("moment"))
            return cube.moment(order, **options)
        return cube.collapse(name, **options)


def is_large(view: View) -> bool:
    """Return whether a float64 plane is too large to be computed as a whole."""
    return view.width * view.height * 8 > MOST_BYTES


def first_level(view: View) -> int:
    """Return the lowest level of a large plane that is computed as a whole."""
    return next(
        level
        for level in range(1, view.levels + 1)
        if level == view.levels - 1 or (view.width >> level) * (view.height >> level) <= MOST_PIXELS
    )


def _too_large(view: View, hint: str) -> TooLarge:
    size = f"{view.width} x {view.height} pixels"
    return TooLarge(with_hint(f"a plane of {size} is too large to be computed as a whole", hint))


def _bytes_of_plane(plane: tf.Plane) -> int:
    return plane.values.nbytes


def _bytes_of(levels: _Levels) -> int:
    return sum(pixels.nbytes for pixels in levels.values())


def _blocks(y: slice, x: slice, step: int) -> Iterator[tuple[slice, slice]]:
    """Yield the blocks of a plane in order; their sides are multiples of ``step`` pixels."""
    wide = max(step, _BLOCK // (8 * step) // step * step)
    tall = max(step, _BLOCK // (8 * min(wide, x.stop - x.start)) // step * step)
    for row in range(y.start, y.stop, tall):
        for column in range(x.start, x.stop, wide):
            yield (
                slice(row, min(row + tall, y.stop)), slice(column, min(column + wide, x.stop)),
            )  # fmt: skip


def _share(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Return a progress function for one of several equal parts."""
    if progress is None:
        return None
    unit = 1 << 20

    def report(done: int, total: int) -> bool | None:
        return progress(number * unit + unit * done // max(1, total), count * unit)

    return report


def _shifted(view: View, region: Region, x: int, y: int) -> Region:
    """Convert a region to the pixels of the part of a view that starts at (x, y), 0-based."""
    if isinstance(region, CompoundRegion):
        parts = tuple((added, _shifted(view, part, x, y)) for added, part in region.parts)
        return replace(region, parts=parts)
    if isinstance(region, SkyRegion):
        return region  # the part has its own sky coordinates
    return in_pixels(view.cube, region).moved((1.0, 1.0), (float(-x), float(-y)))


def binned(plane: tf.Image, view: View, level: int) -> tf.Image:
    """Bin a plane to a zoom level."""
    view.check_level(level)
    if level == 0:
        return plane
    block = (1,) * (plane.ndim - 2) + (1 << level,) * 2
    return for_pictures(plane).rebin(block, partial="keep")


def _means_of(image: tf.Image, view: View, levels: Iterable[int]) -> _Levels:
    """Return levels of an image, and close the image."""
    result = {}
    for level in levels:
        reduced = binned(image, view, level)
        result[level] = reduced.read(dtype=np.float32)
        # A file and its images form a reference cycle: closing frees the memory at once.
        if reduced is not image:
            reduced.file.close()
    image.file.close()
    return result


def image_of(plane: tf.Plane) -> tf.Image:
    """Convert a plane to an image, to cut and bin it."""
    values = np.ascontiguousarray(plane.as_written()[0].reshape(plane.values.shape))
    return _with_cards(values, plane.header.cards, plane.companions)


def _with_header(pixels: NDArray[Any], other: tf.Image) -> tf.Image:
    return _with_cards(pixels, other.header.cards)


def _with_cards(pixels: NDArray[Any], header_cards: Any, companions: bytes = b"") -> tf.Image:
    cards = [(card.keyword, card.value, card.comment) for card in header_cards]
    core = plane_file(np.ascontiguousarray(pixels), cards, companions)
    image = tf.File.computed(core, None)[0]
    assert isinstance(image, tf.Image)
    return image


async def _collapse(
    collapse: Annotated[
        str | None,
        Query(
            max_length=40,
            pattern=r"^(moment[0-2]|[a-ln-z][a-z_]*[0-9.]*|m[a-np-z][a-z_]*)$",
            description="Collapse channels to one plane: sum, mean, max, min, rms, std, median, "
            "max_coordinate, ..., or moment0, moment1, moment2; or linear_polarization and "
            "polarization_angle (degrees, north through east) of the means of Stokes Q and U.",
            examples=["mean"],
        ),
    ] = None,
    channels: Channels = None,
    others: Others = None,
    pol: Pol = None,
    unit: Unit = None,
    rest: Rest = None,
    convention: Convention = None,
    threshold: Annotated[
        float | None,
        Query(allow_inf_nan=False, description="Pixels below it are left out of the plane."),
    ] = None,
) -> Collapse | None:
    if collapse is None:
        return None
    return Collapse(collapse, channels, others, pol, unit, rest, convention, threshold)


#: Parameters to collapse channels; None: do not collapse them.
CollapseAsked = Annotated[Collapse | None, Depends(_collapse)]


@dataclass(frozen=True)
class OnePlane:
    """Parameters of a plane: collapsed channels, or a single channel."""

    collapse: Collapse | None
    channel: int
    others: str | None


async def _one_plane(
    collapse: CollapseAsked, channel: Channel = 1, others: Others = None
) -> OnePlane:
    return OnePlane(collapse, channel, others)


#: A plane: collapsed channels, or a single channel.
PlaneAsked = Annotated[OnePlane, Depends(_one_plane)]
