"""View: an image as a stack of planes for the viewer, for any order of its axes.

The celestial axes are x and y, or NAXIS1 and NAXIS2 if there are none; the spectral axis is z. An
image with another axis order is reordered lazily. An image with a single axis, such as a spectrum,
becomes a cube of one pixel per channel. Pixels are counted from 1, as in FITS.

Pixels are shown even if their coordinates are unusable: a distortion that cannot be binned, or a
card whose value is not a number, is listed in `View.problems` and is only an error if a position is
needed.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits import Region, WorldAxis
from tachyfits.base import usage
from tachyfits.file import stored_table
from tachyfits.header import Line, Sky
from tachyfits.image import (
    ChannelMask,
    Choice,
    Selection,
    cut_with_margins,
    extent_on_image,
    for_pictures,
    image_of_pixels,
    masked,
    with_cards,
)
from tachyfits.server.decoding import tile_bytes
from tachyfits.server.errors import RequestError, TooLarge
from tachyfits.server.parameters import others_of
from tachyfits.server.settings import GIBIBYTE
from tachyfits.table import Frame
from tachyfits.text import Range, numpy_index, parse_region

_T = TypeVar("_T")

#: Pixels of a tile along each axis.
TILE = 256

#: Maximum number of pixels of an image with one axis, which is read as a whole.
_MOST_OF_LINE = 1 << 22

#: Keywords of the first axis, to be renamed for the third axis.
_OF_LINE = re.compile(
    r"(?P<root>CTYPE|CUNIT|CRPIX|CRVAL|CDELT|CNAME|CRDER|CSYER|PV|PS)1(?P<rest>(?:_\d+)?[A-Z]?)"
    r"|(?P<matrix>PC|CD)1_1(?P<letter>[A-Z]?)"
)

#: Valid keywords and texts for a new header.
_PLAIN, _PRINTABLE = re.compile("(?!CONTINUE|COMMENT|HISTORY)[A-Z0-9_-]{1,8}"), re.compile("[ -~]*")

#: Prefixes of keywords that describe the pixels; all others may describe coordinates.
_OF_PIXELS = (
    "SIMPLE", "XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "EXTEND", "BSCALE", "BZERO",
    "BLANK", "BUNIT",
)  # fmt: skip


class View:
    """View of one image as planes.

    Attributes
    ----------
    image
        The image in the file.
    cube
        The reordered image, of shape (..., z, y, x). It has no coordinates if they cannot be
        reordered.
    axes
        FITS axis numbers in ``image`` of the axes of ``cube``: x first.
    problems
        Reasons why coordinates cannot be used or pixels cannot be read.
    """

    def __init__(self, image: tf.Image) -> None:
        self.image = image
        self.problems: list[str] = []
        self._is_unplaced = False
        if image.ndim == 1:
            self.cube = _cube_of_line(image)
            self.axes: tuple[int, ...] = (2, 3, 1)
            return
        self.axes = tuple(self._tried(self._order) or range(1, image.ndim + 1))
        self.cube = image
        if not self._is_in_order:
            self.cube = (
                self._tried(lambda: self._reordered(image))
                or self._tried(lambda: self._reordered(self._bare))
                or image
            )
            if self.cube is image:
                self.axes = tuple(range(1, image.ndim + 1))
        # Whether reordering dropped the coordinates of the image.
        self._is_unplaced = bool(self.problems) and self.cube is not image

    def _tried(self, call: Callable[[], _T]) -> _T | None:
        """Call a function and return its result; record the problem and return None on failure."""
        try:
            return call()
        except tf.TachyfitsError as error:
            problem = str(error).partition("\nhint: ")[0]
            if problem not in self.problems:
                self.problems.append(problem)
            return None

    @property
    def _is_in_order(self) -> bool:
        return self.axes == tuple(range(1, self.image.ndim + 1))

    def _reordered(self, image: tf.Image) -> tf.Image:
        return image.reorder(axes=[image.ndim - name for name in reversed(self.axes)])

    @functools.cached_property
    def _bare(self) -> tf.Image:
        """The image of the file without coordinates.

        Raises
        ------
        FormatError
            The file is truncated.
        """
        return _without_coordinates(self.image)

    @functools.cached_property
    def _pixels(self) -> tf.Image | None:
        """The cube without coordinates; None for a truncated file."""
        if self.image.ndim == 1:
            return _without_coordinates(self.cube)
        try:
            return self._bare if self._is_in_order else self._reordered(self._bare)
        except tf.TachyfitsError:
            return None

    def plane(self, channel: int, others: tuple[int, ...] = ()) -> tf.Image:
        """Return a plane without coordinates, so that it can always be cut and binned."""
        section = self.section(channel, others)
        if self._pixels is not None:
            return self._pixels.cutout(section=section)
        return _without_coordinates(self.cube.cutout(section=section))

    @property
    def channel_axis(self) -> int:
        """NumPy number of z.

        Raises
        ------
        UsageError
            The image has two axes.
        """
        if self.cube.ndim < 3:
            raise usage("the image has no spectral axis", "leave out the channels")
        return self.cube.ndim - 3

    def selection(
        self,
        words: Mapping[str, Any],
        *,
        channel: int | None = None,
        others: str | None = None,
        line: Line | None = None,
    ) -> Selection:
        """Convert parameters of a request to a selection on the axes of the cube.

        Parameters
        ----------
        words
            Parameters as in `Selection.typed`, without a section.
        channel
            One channel, counted from 1; None: all channels.
        others
            Pixels along the axes after z. None: the first pixel of each axis, except along a
            STOKES axis selected by ``pol``.
        line
            Rest frequency and convention, for channels given by velocity.
        """
        ndim = self.cube.ndim
        section = list(self.section(channel or 1, others_of(others)))
        if channel is None and ndim > 2:
            section[-1] = slice(None)
        elif channel is not None and words.get("channels") is not None:
            raise RequestError("both channel and channels are given: use one of them")
        stokes = self.cube.coordinates.stokes_axis
        is_named = words.get("pol") is not None and others is None
        if is_named and stokes is not None and stokes < ndim - 2:
            section[stokes] = slice(None)
        axis = None if words.get("channels") is None else self.channel_axis
        return Selection.typed(
            words, section=tuple(section), line=line or Line(), channel_axis=axis
        )

    def region(self, text: str | None) -> Region | None:
        """Parse a region and check that it overlaps the image.

        Raises
        ------
        NoOverlap
            The region is outside the image.
        """
        region = None if text is None else parse_region(text)
        if region is not None and self.cube.ndim >= 2:
            extent_on_image(self.cube, region)
        return region

    @property
    def frame(self) -> Frame:
        """The pixels of a plane, and the sky that x and y have."""
        return Frame(self.width, self.height, self.cube.coordinates.sky)

    @property
    def required_sky(self) -> Sky:
        """The sky of x and y; an error if they are not the axes of the sky."""
        return self.frame.required_sky

    def cutout(self, choice: Choice) -> tf.Image:
        """Return a lazy cutout of the cube as an image with the axes of the file.

        Raises
        ------
        TooLarge
            The cutout with its margins is larger than the image, and larger than 1 GiB.
        """
        image, ndim = self.image, self.cube.ndim
        margins = choice.margins or ((0, 0),) * ndim
        sides = zip(choice.section.full_shape, margins, strict=True)
        pixels = math.prod(count + sum(margin) for count, margin in sides)
        item = image.dtype.itemsize
        if choice.margins and pixels * item > max(GIBIBYTE, image.size * item):
            raise TooLarge("the part with its margins has more bytes than the image; use trim")
        image = self._of_channels(choice)
        ranges, around = [(0, 1, 1)] * ndim, [(0, 0)] * ndim
        for axis, image_axis in enumerate(self._places):
            ranges[image_axis], around[image_axis] = choice.section.ranges[axis], margins[axis]
        if image.ndim == 1:
            ranges, around = ranges[:1], around[:1]
        return cut_with_margins(image, ranges, around if choice.margins else ())

    def _of_channels(self, choice: Choice) -> tf.Image:
        """Return the image of the file with NaN in channels excluded by a choice of the cube.

        ``choice``: a rectangle; its conditions only concern channels.
        """
        masks = [
            ChannelMask.of(self.image, self._places[condition.axis], condition.inside)
            for condition in choice.conditions
            if isinstance(condition, ChannelMask)
        ]
        return masked(self.image, self.image, masks)

    def section_of_file(self, section: Sequence[Range]) -> tuple[slice, ...]:
        """Convert a section on the axes of the file to a NumPy index of the cube."""
        index = numpy_index(section, self.image.shape)
        index += (slice(None),) * (self.cube.ndim - self.image.ndim)
        return tuple(index[axis] for axis in self._places)

    @property
    def _places(self) -> list[int]:
        """For each NumPy axis of the cube, the NumPy axis of the image.

        For an image with a single axis, axes 1 and 2 do not exist in the image.
        """
        ndim = self.cube.ndim
        if self.image.ndim == 1:
            return list(range(ndim))
        return [ndim - self.axes[ndim - 1 - axis] for axis in range(ndim)]

    def check_placed(self) -> None:
        """Raise UsageError if the coordinates could not be reordered with the axes."""
        if self._is_unplaced:
            raise usage(self.problems[-1], "use the endpoint cutout, which keeps the order of axes")

    @functools.cached_property
    def sky(self) -> Sky | None:
        """The sky of the cube; None if it has none or its cards are unusable."""

        def usable() -> Sky | None:
            sky = self.cube.coordinates.sky
            return sky if sky is None or sky.wcs is not None else None

        return self._tried(usable)

    def spectral(self, channel: int) -> WorldAxis | None:
        """Return the coordinate of a channel; None if it has none or its cards are unusable."""
        if self.cube.ndim < 3:
            return None
        try:
            return self.cube.world_axis(self.cube.ndim - 3, slice(channel - 1, channel))
        except tf.TachyfitsError:
            return None

    def _order(self) -> list[int]:
        """Return the FITS numbers of the axes: x, y, the channel axis, then the others."""
        image = self.image
        sky = image.coordinates.sky
        first = list(sky.axes) if sky is not None else [1, 2]
        axis = image.channel_axis
        if axis is not None and image.ndim - axis not in first:
            first.append(image.ndim - axis)
        return first + [n for n in range(1, image.ndim + 1) if n not in first]

    @functools.cached_property
    def tile_bytes(self) -> int:
        """Bytes of a decoded tile of the file; 0 if the image is not tile-compressed."""
        return tile_bytes(self.image)

    @property
    def width(self) -> int:
        """Pixels along x."""
        return self.cube.shape[-1]

    @property
    def height(self) -> int:
        """Pixels along y."""
        return self.cube.shape[-2]

    @property
    def shape(self) -> tuple[int, int]:
        """Pixels of a plane, along y and x."""
        return self.height, self.width

    @property
    def channels(self) -> int:
        """Pixels along z; 1 for an image of two axes."""
        return self.cube.shape[-3] if self.cube.ndim > 2 else 1

    @functools.cached_property
    def levels(self) -> int:
        """Number of zoom levels: at the last one the plane fits into one tile."""
        return 1 + max(0, math.ceil(math.log2(max(self.width, self.height) / TILE)))

    def check_level(self, level: int) -> None:
        """Raise UsageError for an invalid zoom level."""
        if not 0 <= level < self.levels:
            raise usage(
                f"invalid level {level}: expected 0 to {self.levels - 1}", "choose one of these"
            )

    def check_tile(self, level: int, column: int, row: int) -> None:
        """Raise UsageError for a tile outside the plane."""
        self.check_level(level)
        span = TILE << level
        counts = math.ceil(self.width / span), math.ceil(self.height / span)
        if not (0 <= column < counts[0] and 0 <= row < counts[1]):
            raise usage(
                f"invalid tile ({column}, {row}): expected 0 to {counts[0] - 1} and 0 to "
                f"{counts[1] - 1} at level {level}",
                "tiles count from the lower left",
            )

    def section(self, channel: int, others: tuple[int, ...] = ()) -> tuple[Any, ...]:
        """Return the NumPy index of a plane of ``cube``: a channel, and pixels of the axes after z.

        ``others``: 1-based pixels along the fourth axis, the fifth and so on; 1 by default.
        """
        pixels = (channel, *others) + (1,) * max(0, self.cube.ndim - 3 - len(others))
        lengths = self.cube.shape[:-2][::-1] or (1,)
        if len(pixels) > len(lengths):
            raise usage(
                f"invalid others: expected at most {len(lengths) - 1} numbers, "
                f"found {len(pixels) - 1}",
                "leave them out",
            )
        for number, (pixel, length) in enumerate(zip(pixels, lengths, strict=True)):
            if not 1 <= pixel <= length:
                axis_name = "channel" if number == 0 else f"pixel of axis {number + 3}"
                raise usage(
                    f"invalid {axis_name} {pixel}: expected 1 to {length}", "choose one of these"
                )
        if self.cube.ndim == 2:
            return ()
        return tuple(slice(pixel - 1, pixel) for pixel in reversed(pixels))

    def tile(
        self, plane: tf.Image, level: int, column: int, row: int, *, preview: bool = False
    ) -> NDArray[np.float32]:
        """Return a tile of a plane: the mean of 2**level pixels each way, rows from the lowest.

        Parameters
        ----------
        plane
            An image whose last two axes are those of the view; its other axes have length 1.
        preview
            Return the first pixel of each block instead of the mean, to read fewer rows.

        Returns
        -------
        numpy.ndarray
            Shape (rows, columns), at most 256 each. A value is the mean of the defined pixels of a
            block, or NaN; blocks at the right and upper edge may be incomplete.
        """
        self.check_tile(level, column, row)
        plane = for_pictures(plane) if level else plane
        step = 1 << level
        span = TILE * step
        y = slice(row * span, min((row + 1) * span, self.height))
        x = slice(column * span, min((column + 1) * span, self.width))
        if preview and level:
            y, x = slice(y.start, y.stop, step), slice(x.start, x.stop, step)
        part = plane.cutout(section=(*(slice(None),) * (plane.ndim - 2), y, x))
        if level and not preview:
            block = (1,) * (plane.ndim - 2) + (step, step)
            part = part.rebin(block, partial="keep")
        pixels = part.read(dtype=np.float32)
        return pixels.reshape(pixels.shape[-2:])


def _without_coordinates(image: tf.Image) -> tf.Image:
    """Return an image with only the cards that describe its pixels."""
    keywords = dict.fromkeys(card.keyword for card in image.header.cards)
    removed = [name for name in keywords if name and not name.startswith(_OF_PIXELS)]
    return with_cards(image, [], removed)


def _cube_of_line(image: tf.Image) -> tf.Image:
    """Convert an image with one axis to a cube of shape (n, 1, 1).

    Raises
    ------
    TooLarge
        The image has more than 2^22 pixels.
    """
    if image.size > _MOST_OF_LINE:
        raise TooLarge(f"an image of one axis with {image.size} pixels: at most {_MOST_OF_LINE}")
    cards = []
    for card in image.header.cards:
        name = card.keyword
        if match := _OF_LINE.fullmatch(name):
            name = f"{match['root']}3{match['rest']}"
            if match["matrix"]:
                name = f"{match['matrix']}3_3{match['letter']}"
        elif name != "BUNIT" and (name.startswith(_OF_PIXELS) or not _PLAIN.fullmatch(name)):
            continue  # the new image gets its own card
        # Skip cards that are invalid in a new header; none of them describes coordinates.
        if isinstance(card.value, (bool, int, float)) or _PRINTABLE.fullmatch(str(card.value)):
            cards.append((name, card.value, ""))
    # Read the available part of a truncated file.
    count = image.size
    if stored_table(image) is None:
        count = min(count, image.data_bytes_present * 8 // abs(image.bitpix))
    pixels = np.ascontiguousarray(image.read(slice(0, max(1, count))).reshape(-1, 1, 1))
    return image_of_pixels(pixels, cards, image.file.name)
