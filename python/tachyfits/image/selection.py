"""Selection of pixels for an operation: regions, channels, polarisations, a section, values.

A `Selection` is a request, in Python values or in text that users type. `resolve` turns it into a
`Choice` of one image: the section to read, the pixels inside it, and the data that the results
need. All conflicts between parts of a request are found here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import either, usage
from tachyfits.header.spectral_frames import frame_of, frequency_factor
from tachyfits.header.spectral_selection import (
    available_states,
    channel_part,
    channel_slice,
    stokes_slice,
)
from tachyfits.header.spectral_units import Channels, Line, channels_of
from tachyfits.image.chosen_regions import EVERYTHING, ChosenRegions, check_plane, mask_of
from tachyfits.image.conditions import ChannelMask, Condition, Mask, condition_of, masked
from tachyfits.image.rectangles import MODES, Margin, rectangle_of, slices_of
from tachyfits.text.fits_sections import Range, numpy_index, parse_channels, parse_section
from tachyfits.text.region_input import region
from tachyfits.text.region_text import parse_region
from tachyfits.text.regions import PixelRegion
from tachyfits.text.sections import Section, slice_range
from tachyfits.text.spectral_ranges import SpectralRange

if TYPE_CHECKING:
    from tachyfits.image.image import Image


#: Parsers of the text of a selection; polarisations are plain names.
READERS: dict[str, Callable[[str], Any]] = {
    "region": parse_region, "section": parse_section, "channels": parse_channels, "pol": str,
}  # fmt: skip


class FrameOfRange(NamedTuple):
    """Conversion of a range of wavelengths or frequencies to the frame of an axis.

    ``factor``: factor of the frequencies; None if the header lacks it, for the ``reason``.
    """

    own: str | None
    factor: float | None
    reason: str = ""


@dataclass(frozen=True)
class Selection:
    """A request for pixels of an image, which `Image.select` and `Image.cutout` take.

    Attributes
    ----------
    regions
        A region, or several, as accepted by `tachyfits.region`. None: the whole plane.
    channels
        As in `Image.select`; or a `Range` of FITS pixels.
    pol
        Names of polarisations.
    section
        A NumPy index expression; or a `Range` for each axis, x first.
    where
        Conditions, which must all be true.
    mode
        None: ignore pixels outside of regions. One of `MODES`: cut the rectangle around a region,
        and treat pixels beyond the image by this mode.
    line
        Rest frequency and convention of channels by velocity.
    channel_axis
        NumPy number of the axis of ``channels``; None: the image's channel axis.
    is_lenient
        Fill gaps in the header by the assumptions of SODA: wavelengths are in the frame of the
        axis, and polarisations that the image lacks are ignored.
    """

    regions: Any = None
    channels: Any = None
    pol: str | Sequence[str] | None = None
    section: Any = None
    where: tuple[Any, ...] = ()
    mode: str | None = None
    line: Line = field(default_factory=Line)
    channel_axis: int | None = None
    is_lenient: bool = False

    @classmethod
    def typed(cls, words: Mapping[str, Any], **more: Any) -> Selection:
        """Return the selection described by text in FITS order: x first, counted from 1.

        Parameters
        ----------
        words
            Text by the names ``region``, ``section``, ``channels`` and ``pol``, as in the command
            line, the HTTP interface and SODA; None is ignored. A value that is not text is already
            parsed.
        **more
            Other attributes.

        Raises
        ------
        UsageError
            A text is invalid. Text of a region never names a file.

        Examples
        --------
        >>> found = Selection.typed({"section": "[2:3,*]", "channels": "BAND 0.21 0.22"})
        >>> found.section[0].first, found.channels.unit
        (2, 'Hz')
        """
        attributes = {}
        for name, text in words.items():
            try:
                attributes[name] = READERS[name](text) if isinstance(text, str) else text
            except _core.TachyfitsError:
                raise
            except ValueError as error:
                raise _core.UsageError(str(error)) from None
        return cls(attributes.pop("region", None), **attributes, **more)

    @property
    def keeps_axes(self) -> bool:
        """Whether every axis of the image stays unchanged."""
        return self.section is None and self.channels is None and self.pol is None

    def resolve(self, image: Image, known: ChosenRegions | None = None) -> Choice:
        """Return the requested pixels of an image.

        Parameters
        ----------
        known
            The regions, if another selection of the image has already resolved them.

        Raises
        ------
        UsageError
            Two parts of the request are about the same axis, or one does not fit the image.
        """
        if self.mode is not None and self.mode not in MODES:
            problem = f"invalid mode {self.mode!r}: expected {', '.join(MODES)}"
            raise usage(problem, "leave it out for trim")
        part = _Part(image, self.section)
        frame: FrameOfRange | None = None
        gaps: tuple[Condition, ...] = ()
        notes = () if self.pol is None else self._cut_states(part, self.pol)
        if self.channels is not None:
            if (axis := self.channel_axis) is None:
                axis = image.coordinates.required_channel_axis()
            frame, gaps = self._cut_channels(part, axis)
        resolved = EVERYTHING
        if self.regions is not None and self.mode is not None:
            check_plane(image)
            part.cut_rectangle(rectangle_of, region(self.regions), self.mode)
        elif self.regions is not None:
            resolved = known or image._chosen(self.regions)
        conditions = (*(condition_of(image, condition) for condition in self.where), *gaps)
        regions: Any = resolved.regions
        if regions is not None and resolved.count is None:
            (regions,) = regions
        return Choice(
            image, replace(self, regions=regions), part.section, part.margins, resolved, conditions,
            frame, notes,
        )  # fmt: skip

    def _cut_states(self, part: _Part, pol: str | Sequence[str]) -> tuple[str, ...]:
        """Cut the axis of polarisations; return notes on assumptions."""
        image = part.image
        find = available_states if self.is_lenient else stokes_slice
        axis, pixels = find(image.coordinates, image.shape, pol)
        part.cut("pol", axis, slice_range(pixels, image.shape[axis]))
        if self.is_lenient and len(range(image.shape[axis])[pixels]) > len(pol):
            return ("POL: not at equal steps of the STOKES axis, so all between are kept",)
        return ()

    def _cut_channels(
        self, part: _Part, axis: int
    ) -> tuple[FrameOfRange | None, tuple[Condition, ...]]:
        """Cut the axis of channels; return the frame of a range, and the mask of several ranges."""
        frames: list[FrameOfRange | None] = []

        def find(item: Any) -> slice:
            piece, frame = self._channels(part.image, axis, item)
            frames.append(frame)
            return piece

        ranges, inside = channel_part(part.image.shape[axis], self.channels, find)
        part.cut("channels", axis, ranges)
        return frames[-1], () if inside is None else (ChannelMask.of(part.image, axis, inside),)

    def _channels(
        self, image: Image, axis: int, channels: Any
    ) -> tuple[slice, FrameOfRange | None]:
        length = image.shape[axis]
        if isinstance(channels, Range):
            name = f"the spectral axis (NAXIS{image.ndim - axis})"
            return channels.to_slice(length, name), None
        frame = None
        coordinates = image.coordinates
        if self.is_lenient and isinstance(channels, SpectralRange):
            if channels.low is None and channels.high is None:
                return slice(None), None
            own = frame_of(coordinates)
            try:
                frame = FrameOfRange(own, frequency_factor(coordinates, channels))
            except _core.UsageError as error:
                channels = SpectralRange(channels.low, channels.high, channels.unit)
                frame = FrameOfRange(own, None, str(error).partition("\nhint: ")[0])
        return channel_slice(coordinates, axis, length, channels, self.line), frame

    def with_more(self, more: Selection, choice: Choice) -> Selection | None:
        """Return this selection followed by another as one; None if no single one does it.

        ``choice``: the pixels of this selection; ``more`` refers to its axes.
        """
        if self.mode is not None or more.mode is not None or self.is_lenient or more.is_lenient:
            return None
        if more.regions is not None and (self.regions is not None or not choice.keeps_sky):
            return None
        if not self.keeps_axes and not (more.keeps_axes and more._is_of_any_shape(choice.image)):
            return None
        # Use slices, to avoid another conversion.
        combined = replace(self, where=(*choice.conditions, *more.where))
        if not self.keeps_axes:
            section = slices_of(choice.section)
            combined = replace(combined, section=section, channels=None, pol=None)
        changes = {
            name: value
            for name in ("regions", "section", "channels", "pol", "channel_axis")
            if (value := getattr(more, name)) is not None
        }
        return replace(combined, **changes, line=more.line)

    def _is_of_any_shape(self, image: Image) -> bool:
        """Return whether no condition is a mask, which fixes the shape."""
        return not any(isinstance(condition_of(image, condition), Mask) for condition in self.where)


class _Part:
    """A section of an image that is cut further; two cuts of one axis are a conflict."""

    def __init__(self, image: Image, section: Any) -> None:
        self.image = image
        self.margins: tuple[Margin, ...] = ()
        index = section
        if isinstance(section, tuple) and section and isinstance(section[0], Range):
            index = numpy_index(section, image.shape)
        # Axes that integers drop from an array stay in an image.
        self.section = Section(image._section(index).ranges)
        self._words = {
            axis: "section"
            for axis, length in enumerate(image.shape)
            if self.section.ranges[axis] != (0, length, 1)
        }

    def cut(self, word: str, axis: int, ranges: tuple[int, int, int]) -> None:
        """Cut an axis; ``word`` names the argument for error messages."""
        if axis in self._words:
            raise conflict(self.image, axis, word, self._words[axis])
        self._words[axis] = word
        self.section = self.section.replace(axis, ranges)

    def cut_rectangle(self, find: Any, item: Any, mode: str) -> None:
        """Cut the rectangle around a region."""
        ndim = self.image.ndim
        for axis in (ndim - 2, ndim - 1):
            if axis in self._words:
                raise conflict(self.image, axis, "region", self._words[axis])
        margins = [(0, 0)] * ndim
        sides = find(self.image, item, mode)
        for axis, (ranges, margin) in zip((ndim - 2, ndim - 1), sides, strict=True):
            self.cut("region", axis, ranges)
            margins[axis] = margin
        if any(margin != (0, 0) for margin in margins):
            self.margins = tuple(margins)


def conflict(image: Image, axis: int, one: str, other: str) -> Exception:
    """Return the error for two arguments that choose pixels of one axis."""
    number = image.ndim - axis
    return usage(
        either(
            f"both {one}= and {other}= cut NAXIS{number} (NumPy axis {axis})",
            f"both --{one} and --{other} cut NAXIS{number}",
            f"both {one} and another parameter choose pixels of NAXIS{number}",
        ),
        either(f"leave one of them out, or cut in two steps: cutout({other}=...)",
               "use one of them", "use one of them"),
    )  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """The pixels of an image that a selection requests.

    Attributes
    ----------
    image
        The image.
    selection
        The request, with regions as objects.
    section
        The section to read.
    margins
        Number of undefined pixels before and after each NumPy axis, or ().
    regions
        Regions; only pixels inside them count.
    conditions
        Further conditions on the pixels.
    frame
        Conversion of a lenient range of channels to the frame of the axis.
    notes
        Notes on assumptions.
    """

    image: Image
    selection: Selection
    section: Section
    margins: tuple[Margin, ...] = ()
    regions: ChosenRegions = EVERYTHING
    conditions: tuple[Condition, ...] = ()
    frame: FrameOfRange | None = None
    notes: tuple[str, ...] = ()

    # Axes by role.

    @property
    def channel_axis(self) -> int:
        """NumPy number of the axis of channels; UsageError if the image has none."""
        return self.image.coordinates.required_channel_axis()

    @property
    def sky_axes(self) -> tuple[int, ...]:
        """NumPy numbers of the sky axes, without the axis of channels."""
        return self.image.coordinates.sky_axes(self.channel_axis)

    @property
    def keeps_sky(self) -> bool:
        """Whether the last two axes are whole, so that regions keep their pixel numbers."""
        sizes = zip(self.section.ranges, self.image.shape, strict=True)
        return all(ranges == (0, length, 1) for ranges, length in [*sizes][-2:])

    @property
    def is_section(self) -> bool:
        """Whether every pixel of the section counts."""
        return self.regions.cores is None and not self.conditions

    def check_single(self, kept: Sequence[int]) -> None:
        """Refuse an image with several values along an axis that is neither sky nor spectral."""
        image = self.image
        ctypes = image.coordinates.ctypes
        for axis, count in enumerate(self.section.full_shape):
            if axis not in kept and count != 1:
                number = image.ndim - axis
                name = ctypes[number - 1] or "no CTYPE"
                is_stokes = axis == image.coordinates.stokes_axis
                raise usage(
                    f"NAXIS{number} ({name}) has {count} values, and they cannot be mixed",
                    either(
                        f"choose one: section= with an integer for NumPy axis {axis}",
                        f"choose one: --section '{one_of_axis(image.ndim, axis)}'",
                        "choose one by others",
                    )
                    + (either(', or pol="I"', ", or --pol I", ", or by pol") * is_stokes),
                )

    def check_sky(self) -> None:
        """Refuse regions of an image whose sky is not on its last two NumPy axes."""
        sky, ndim = self.sky_axes, self.image.ndim
        if self.regions.regions is not None and sky != (ndim - 2, ndim - 1):
            raise usage(
                "a region needs the sky on the first two FITS axes; here the sky is on "
                + ", ".join(f"NAXIS{ndim - number}" for number in reversed(sky)),
                either(
                    "leave region= out, and cut with section=",
                    "leave --region out, and cut with --section",
                    "leave the region out",
                ),
            )

    # Pixels.

    def masked(self, pixels: Image) -> Image:
        """Return pixels of the image, perhaps in another unit, with NaN where conditions fail."""
        return masked(pixels, self.image, self.conditions)

    @functools.cached_property
    def pixels(self) -> Image:
        """The image with NaN where conditions fail; pixels outside of regions are kept."""
        return self.masked(self.image)

    def inside(self, sky: tuple[int, int]) -> tuple[Section, NDArray[np.bool_] | None]:
        """Return the part of the section that regions cover, and a mask of the pixels inside."""
        where, cores = self.section, self.regions.cores
        if cores is None:
            return where, None
        self.check_sky()
        mask = mask_of(self.image, cores)
        rows, columns = (
            np.arange(count) * step + start for start, count, step in (where.ranges[a] for a in sky)
        )
        mask = mask[np.ix_(rows, columns)]
        within = where
        pieces = []
        for axis, hit in zip(sky, (mask.any(axis=1), mask.any(axis=0)), strict=True):
            start, _, step = where.ranges[axis]
            numbers = np.flatnonzero(hit)
            first, count = (int(numbers[0]), int(np.ptp(numbers)) + 1) if numbers.size else (0, 0)
            within = within.replace(axis, (start + first * step, count, step))
            pieces.append(slice(first, first + count))
        return within, mask[tuple(pieces)]

    def channels(self, line: Line) -> Channels:
        """Return the coordinates of the channels."""
        axis = self.channel_axis
        return channels_of(self.image.coordinates, axis, self.section.ranges[axis], line)

    # HISTORY of results.

    def history(self, unit: str | None) -> list[str]:
        """Return the HISTORY notes, besides the section; ``unit``: unit of the pixels."""
        notes = [condition.note(unit) for condition in self.conditions]
        for item in self.regions.regions or ():
            of_pixels = " (from 0)" if isinstance(item, PixelRegion) else ""
            notes.append(f"pixels in {item}{of_pixels}")
        return notes


def one_of_axis(ndim: int, axis: int) -> str:
    """Return the section of the first pixel of one NumPy axis, in command-line syntax.

    >>> one_of_axis(4, 1)
    '*,*,1,*'
    """
    return ",".join("1" if number == axis else "*" for number in reversed(range(ndim)))
