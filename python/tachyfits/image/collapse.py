"""Cubes collapsed along the spectral axis: statistics, peaks and moments as planes of the sky.

The engine loops over pixels. This module chooses the section, passes the coordinates of the
channels, and gives the results their shape, unit and header.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import either, usage
from tachyfits.base.reports import last, reports
from tachyfits.base.whole_numbers import whole_number
from tachyfits.header.cards import Header
from tachyfits.header.coordinates import DOPPLER_TYPES
from tachyfits.header.photometry import sampled_unit
from tachyfits.header.spectral_units import Channels, Line
from tachyfits.image.brightness import prepared
from tachyfits.image.reductions import reduced
from tachyfits.image.spectra import (
    OTHER_REST,
    dropped_frequency,
    result_header,
    result_tables,
)
from tachyfits.results.plane import Plane
from tachyfits.text.axes import counted_axes
from tachyfits.text.pixel_units import product_text
from tachyfits.text.sections import Section
from tachyfits.text.statistics import UNITLESS

if TYPE_CHECKING:
    from tachyfits.base.progress import Progress
    from tachyfits.image.image import Image
    from tachyfits.image.selection import Choice

#: Results of `Image.collapse` besides the statistics: the channel of an extreme, as a number from 0
#: or as its coordinate.
Peak: TypeAlias = Literal["max_channel", "max_coordinate", "min_channel", "min_coordinate"]
PEAKS = get_args(Peak)

#: Order of a moment.
MomentOrder: TypeAlias = Literal[0, 1, 2]
ORDERS = get_args(MomentOrder)

#: Name of a number of channels in the FITS Standard (table 5).
CHANNEL_UNIT = "chan"


@dataclass(frozen=True)
class Collapse:
    """A cube, its spectral and sky axes, and the pixels that are collapsed.

    ``pixels``: the image to read, either the cube or the cube masked by conditions. ``within``: the
    part of the section to read. ``inside``: a mask of the pixels that count (None: all).
    """

    choice: Choice
    pixels: Image
    axis: int
    sky: tuple[int, int]
    within: Section
    inside: NDArray[np.bool_] | None
    keep_axis: bool
    #: Unit of the statistic, or None.
    unit: str | None
    #: Requested coordinates.
    line: Line

    @staticmethod
    def of(choice: Choice, keep_axis: bool, line: Line, statistic: str = "sum") -> Collapse:
        """Choose the axes; raise UsageError if they do not form a plane."""
        image, where = choice.image, choice.section
        axis, sky = choice.channel_axis, choice.sky_axes
        if len(sky) != 2:
            raise usage(f"an image of {counted_axes(image.ndim)} is not a cube", "use a cube")
        choice.check_single((axis, *sky))
        pair = (sky[0], sky[1])
        within, inside = choice.inside(pair)
        ready = prepared(image, statistic, line)
        unit = sampled_unit(ready.unit, image.coordinates, where.steps)
        pixels = choice.masked(ready.pixels)
        return Collapse(choice, pixels, axis, pair, within, inside, keep_axis, unit, ready.line)

    @property
    def image(self) -> Image:
        """Cube to collapse."""
        return self.choice.image

    @property
    def where(self) -> Section:
        """Section whose sky the planes cover."""
        return self.choice.section

    @property
    def ranges(self) -> list[tuple[int, int, int]]:
        """Pixels to read: one (start, count, step) per NumPy axis."""
        return list(self.within.ranges)

    def channels(self) -> Channels:
        """Return the coordinates of the channels."""
        return self.choice.channels(self.line)

    def reduced(
        self, statistic: str, threads: int | None, progress: Progress | None
    ) -> NDArray[Any]:
        """Return a statistic of every line of sight, in the type that the engine returns."""
        # The file's thread count also applies to images computed from it.
        threads = self.image._threads(threads)
        return reduced(
            self.pixels, statistic, [self.axis], self.within, threads=threads, progress=progress
        )

    def plane(
        self,
        values: NDArray[Any],
        name: str,
        unit: str | None,
        channels: Channels | None = None,
        *,
        report: _core.Report | None,
        of_pixels: bool = False,
        is_integral: bool = False,
    ) -> Plane:
        """Return a plane with shape (y, x), unit and coordinates; NaN outside of regions.

        ``of_pixels``: the values are of the quantity of the pixels (BTYPE), not a coordinate or a
        channel number. ``is_integral``: the values are integrals of the pixels.
        """
        shape = (self.where.full_shape[self.sky[0]], self.where.full_shape[self.sky[1]])
        inner = tuple(self.within.full_shape[axis] for axis in self.sky)
        plane: NDArray[np.float64] = np.asarray(values, dtype=np.float64).reshape(inner)
        if self.inside is not None:
            corner = [
                _index_within(self.where.ranges[axis], self.within.ranges[axis])
                for axis in self.sky
            ]
            full: NDArray[np.float64] = np.full(shape, np.nan)
            (y, x), (height, width) = corner, inner
            full[y : y + height, x : x + width] = np.where(self.inside, plane, np.nan)
            plane = full
        header = self._header(
            name, unit, channels, of_pixels=of_pixels, of_brightness=of_pixels or is_integral
        )
        # NumPy axes of the values, in their order.
        axes = sorted((*self.sky, self.axis))
        kept_axis = axes.index(self.axis) if self.keep_axis else None
        collapsed = (self.axis,) if self.keep_axis else ()
        tables = result_tables(self.image, self.where, self.sky, collapsed)
        return Plane(plane, unit, header, name, kept_axis, report, self.image.file.name, tables)

    @property
    def _keeps_velocities(self) -> bool:
        """Whether the result keeps the header's velocities, which refer to its rest frequency."""
        coordinates = self.image.coordinates
        is_velocity = coordinates.axis(self.axis).kind in DOPPLER_TYPES
        return self.keep_axis and is_velocity and coordinates.rest_frequency() is not None

    def _header(
        self,
        name: str,
        unit: str | None,
        channels: Channels | None,
        *,
        of_pixels: bool,
        of_brightness: bool,
    ) -> Header:
        collapsed = (self.axis,) if self.keep_axis else ()
        header = result_header(
            self.image, self.where, self.sky, collapsed, same_quantity=of_pixels, with_tables=True
        )
        changes: dict[str, Any] = {"BUNIT": (unit, "")} if unit else {}
        if name.startswith("moment "):
            changes["BTYPE"] = (name, "kind of the pixels")
        if channels is not None and channels.rest_hz is not None and not self._keeps_velocities:
            changes["RESTFRQ"] = (channels.rest_hz, "[Hz] rest frequency")
        if of_brightness:
            changes |= dropped_frequency(self.image, self.where, self.sky, self.line)
        untrue = (*(() if unit else ("BUNIT",)), *(OTHER_REST if "RESTFRQ" in changes else ()))
        header = header.replaced(changes, without=untrue)
        start, count, step = self.where.ranges[self.axis]
        last = start + (count - 1) * step
        notes = [
            f"tachyfits {_core.__version__}: {name} along NAXIS{self.image.ndim - self.axis} of "
            f"HDU {self.image.index}, pixels {start + 1} to {last + 1} by {step} (1-based)"
        ]
        if channels is not None and channels.note:
            notes.append(f"coordinates in {channels.unit}: {channels.note}")
        if self.pixels.unit != self.image.unit:
            notes.append(f"pixels converted from {self.image.unit} to {self.pixels.unit}")
        notes += self.choice.history(self.pixels.unit)
        return Header([*header.cards, *(("HISTORY", note, "") for note in notes)])


def _index_within(outer: tuple[int, int, int], inner: tuple[int, int, int]) -> int:
    """Return the index in ``outer`` at which ``inner`` begins; both have the same step."""
    return (inner[0] - outer[0]) // outer[2]


def collapse(
    cube: Collapse, statistic: str, threads: int | None, progress: Progress | None
) -> Plane:
    """Compute the plane of one statistic, or of one of `PEAKS`."""
    if statistic not in PEAKS:
        if cube.line != Line():
            raise usage(
                f"the {statistic} of pixels has their unit",
                either(
                    "unit=, rest= and convention= are for coordinates: max_coordinate, moments",
                    "--unit, --rest and --convention are for coordinates: max_coordinate, moments",
                    "unit, rest and convention are for coordinates: max_coordinate, moments",
                ),
            )
        with reports() as costs:
            values = cube.reduced(statistic, threads, progress)
        of_pixels = statistic not in UNITLESS
        return cube.plane(values, statistic, cube.unit, report=last(costs), of_pixels=of_pixels)
    if cube.pixels.unit != cube.image.unit:
        raise usage(f"{statistic} is not in the unit of pixels", f"leave out {cube.unit!r}")
    extreme, _, what = statistic.partition("_")
    channels = cube.channels() if what == "coordinate" else None
    with reports() as costs:
        position = cube.reduced(f"{extreme}_position", threads, progress).reshape(-1)
    start, count, step = cube.where.ranges[cube.axis]
    coordinates = np.arange(count) * step + start if channels is None else channels.values
    values = np.full(position.shape, np.nan)
    values[position >= 0] = coordinates[position[position >= 0]]
    unit = CHANNEL_UNIT if channels is None else channels.unit
    name = statistic if channels is not None else f"{statistic} (from 0)"
    return cube.plane(values, name, unit, channels, report=last(costs))


def moments(
    cube: Collapse,
    orders: Sequence[int],
    threads: int | None,
    progress: Progress | None,
) -> list[Plane]:
    """Compute moment maps in one pass."""
    valid: list[int] = []
    for order in orders if np.iterable(orders) else [None]:
        # Stop at the first invalid order: a range may be long.
        number = whole_number(order)
        if number is None or number not in ORDERS:
            raise usage(f"invalid moments {orders!r}: expected some of 0, 1 and 2", "use (0, 1, 2)")
        valid.append(number)
    channels = cube.channels()
    with reports() as costs:
        arrays = cube.pixels._reducer().moments(
            valid,
            cube.axis,
            np.ascontiguousarray(channels.values),
            cube.ranges,
            widths=np.ascontiguousarray(channels.widths),
            threads=cube.image._threads(threads),
            progress=progress,
        )
    integral = product_text(cube.unit, channels.unit)
    units = [channels.unit if order else integral for order in valid]
    return [
        cube.plane(
            values, f"moment {order}", unit, channels, report=last(costs), is_integral=order == 0
        )
        for order, values, unit in zip(valid, arrays, units, strict=True)
    ]
