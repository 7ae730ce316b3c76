"""Images of selected pixels, and rectangles cut out of an image.

A selected image keeps a reference to its source. Reductions read the source in one pass, with the
same bits as for the whole image; all other operations use pixels with NaN outside of the selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tachyfits import _core
from tachyfits.base.errors import either, usage, warn
from tachyfits.file.file import File, Recipe
from tachyfits.header.beam import beam_cards, beam_of_part
from tachyfits.header.photometry import sampled_unit
from tachyfits.header.spectral_units import Line
from tachyfits.image.chosen_regions import mask_of
from tachyfits.image.conditions import PIXEL, condition_of, masked
from tachyfits.image.operations import Operations, recomputed
from tachyfits.image.operators import infix
from tachyfits.image.rectangles import Mode, slices_of
from tachyfits.image.selection import Choice, Selection
from tachyfits.text.region_input import OneRegion, Regions
from tachyfits.text.regions import CompoundRegion
from tachyfits.text.sections import Section, resolve
from tachyfits.text.spectral_ranges import AskedChannels

if TYPE_CHECKING:
    from tachyfits.header.spectral_units import Convention, Medium
    from tachyfits.image.image import Image


class Selecting(Operations):
    """Selections and cutouts of the pixels of one HDU."""

    #: Pixels selected from another image; None if the image has its own.
    _choice: Choice | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape in NumPy order (reversed FITS)."""
        return super().shape if self._choice is None else self._choice.section.full_shape

    def select(
        self,
        region: Regions | Selection = None,
        *,
        channels: AskedChannels = None,
        pol: str | Sequence[str] | None = None,
        section: Any = None,
        where: Any = None,
        drop_degenerate: bool = False,
        rest: Any = None,
        convention: Convention | None = None,
        rest_medium: Medium | None = None,
    ) -> Image:
        """Select pixels; every operation of the result uses these alone.

        Pixels keep their places: those outside of a region, or where a condition is false, are
        undefined (NaN) in the result, as in `numpy.ma` and in spectral-cube's ``with_mask``.
        Excluded channels and polarisations are removed from their axes. Use `cutout` to keep only
        the rectangle around the selection. Nothing is read until the result is used, and reductions
        of it are one pass over the pixels of this image, with the same bits.

        Parameters
        ----------
        region
            A region in pixels or on the sky, or an argument of `tachyfits.region`. For a list of
            them, or a file of several, statistics and spectra have a result for each; other
            operations use the pixels that are in any. Or a `Selection`, which has all of these.
        channels
            A slice of the spectral axis, 0-based; or a range with a unit: "100..250 km/s",
            "230.5..230.6 GHz", a slice of quantities, or a `SpectralRange`. A channel belongs to a
            range if its cell touches it. Several ranges are a list, text with commas between, or an
            array of bool with a value for each channel: channels between them are undefined.
        pol
            Polarisations of an image with a STOKES axis by their names: "I", "Q,U", "RR".
        section
            A NumPy index expression for other axes; axes with an integer index stay, with length 1.
        where
            Condition on the pixels. A threshold: a number in the unit of the pixels, a quantity, or
            text with its unit: "5 mJy/beam" and "> 2 K" (values are converted as by `Image.to`);
            pixels of at least that value count. An expression of ``pixel``: "pixel > 3 and pixel <
            10". A mask: an image such as ``cube > 3``, an array or the path of a file, that
            broadcasts to the image (such as a plane); pixels count where it is neither 0 nor
            undefined.
        drop_degenerate
            Drop every remaining axis of length 1: a cube with a STOKES axis then has 3 axes. The
            pixels keep their values; several regions are selected afterwards.
        rest, convention, rest_medium
            As in `moments`, for channels by velocity.

        Returns
        -------
        Image
            With the type of the pixels, or float64 if that type has no NaN.

        Raises
        ------
        UsageError
            Two arguments are about the same axis, or one does not fit the image; or
            ``drop_degenerate`` is combined with a list of regions.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> source = cube.select("circle(2,2,1)", channels=slice(0, 2), where="> 6 Jy/beam")
        >>> source[0]
        array([[nan, nan, nan, nan, nan],
               [nan, nan,  7., nan, nan],
               [nan, 11., nan, nan, nan],
               [nan, nan, nan, nan, nan]], dtype=float32)
        >>> float(source.median()), source.moment(0).values[1, 1:3], source.spectrum().values
        (25.0, array([13000., 17000.]), array([ 9., 26.]))

        The noise of two ranges without lines, in one pass:

        >>> noise = cube.select(channels=["900..1100 m/s", slice(2, 3)])
        >>> noise.shape, noise.stats().count, round(float(noise.std()), 3)
        ((3, 4, 5), 40, 20.815)

        One channel as an image of two axes:

        >>> cube.select(channels=1, drop_degenerate=True).shape
        (4, 5)
        """
        conditions = () if where is None or where is True else (where,)
        line = Line(None, rest, convention, rest_medium)
        selection = _request(Selection(region, channels, pol, section, conditions, line=line))
        if drop_degenerate:
            return self._without_single_axes(selection)
        choice = self._choice
        together = None if choice is None else choice.selection.with_more(selection, choice)
        if choice is None or together is None:
            if not (selection.regions is None and selection.keeps_axes):
                # Cache the coordinates before they are shared, so that regions on the sky are
                # rasterised once.
                _ = self.coordinates
            return _image_of(selection.resolve(self._lasting()))
        resolved = choice.regions if selection.regions is None else None
        return _image_of(together.resolve(choice.image, resolved))

    def _without_single_axes(self, selection: Selection) -> Image:
        """Return a selection of this image without the axes along which it has one pixel."""
        choice = self.select(selection)._chosen_pixels()
        if choice.regions.count is not None:
            raise usage(
                "several regions need every axis of the image",
                either("select them in the result: select(drop_degenerate=True).select(regions)"),
            )
        core = _core_of(choice, drop_degenerate=True)
        return self._computed(core, "select", selection, drop_degenerate=True)

    def _lasting(self) -> Image:
        """Return the same image in an object that stays usable when its file is closed."""
        image: Any = type(self).__new__(type(self))
        image.__dict__.update(self.__dict__, _file=self._file._lasting())
        image._file._hdus[self._index] = image
        return cast("Image", image)

    def _chosen_pixels(self, region: Regions = None) -> Choice:
        """Return the pixels that reductions use: all, or those of a selection."""
        image = self if region is None else self._within(region)
        if image._choice is not None:
            return image._choice
        return whole(cast("Image", image))

    def _within(self, region: Regions) -> Image:
        """Return the pixels in a region, for a single operation."""
        return cast("Image", self) if region is None else self.select(region)

    def cutout(
        self,
        region: OneRegion | Selection | None = None,
        *,
        channels: AskedChannels = None,
        pol: str | Sequence[str] | None = None,
        section: Any = None,
        mode: Mode = "trim",
        drop_degenerate: bool = False,
        rest: Any = None,
        convention: Convention | None = None,
        rest_medium: Medium | None = None,
    ) -> Image:
        """Cut out the rectangle around a region, channels, or both; computed when it is read.

        Pixels keep their type, their bits, BSCALE, BZERO and BLANK, and their world coordinates:
        projections, SIP and TPV distortions and tables of coordinates (-TAB) stay right. Pixels of
        the rectangle outside of the region are kept; `select` excludes them. ``.write()`` writes
        the result to a file.

        Parameters
        ----------
        region
            A region in pixels or on the sky, or an argument of `tachyfits.region`. The rectangle
            has the pixels whose centres are inside, or else the pixel that contains the region.
            None: the regions of a selected image, else the whole plane. Or a `Selection`, with its
            mode.
        channels
            A slice of the spectral axis, or a range with a unit: "100..250 km/s"; see `select`. For
            several ranges, the span from the first to the last is cut out, and the channels between
            them are undefined.
        pol
            Polarisations by name, for an image with a STOKES axis: "I", "Q,U".
        section
            A NumPy index expression for other axes; axes with an integer index stay, with length 1.
        mode
            For a region that extends beyond the image, as in astropy's Cutout2D: "trim" drops the
            part beyond; "partial" fills it with NaN or BLANK (integers without BLANK become
            floats); "strict" refuses it.
        drop_degenerate
            Drop every axis of length 1.
        rest, convention, rest_medium
            As in `moments`, for channels by velocity.

        Raises
        ------
        UsageError
            No pixel of the image is inside, or the coordinates do not support a cutout.

        Examples
        --------
        >>> import numpy as np, tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> part = cube.cutout(tf.Box(2, 2, 2, 2), channels=slice(1, None))
        >>> part.shape, part.header["CRPIX1"], float(part[0, 0, 0])
        ((2, 2, 2), 0.0, 26.0)
        >>> cube.cutout("icrs; circle(9.98, 20.02, 0.015)").shape
        (3, 3, 3)
        >>> cube.cutout(section=np.s_[1:, :, ::2]).write("part.fits", overwrite=True)
        >>> tf.open("part.fits")[0].shape
        (2, 4, 3)
        """
        line = Line(None, rest, convention, rest_medium)
        selection = _request(Selection(region, channels, pol, section, mode=mode, line=line))
        if selection.regions is None:
            selection = replace(selection, regions=self._selected_region())
        choice = selection.resolve(cast("Image", self))
        core = _core_of(choice, drop_degenerate)
        # A plain section pickles without astropy.
        if not choice.margins and not choice.conditions:
            selection = Selection(section=slices_of(choice.section), mode=selection.mode)
        return self._computed(core, "cutout", selection, drop_degenerate=drop_degenerate)

    def _of_each_region(self) -> list[Image]:
        """Return an image for each region of a selected image."""
        choice = self._choice
        if choice is None:
            return []
        return [
            _image_of(replace(choice.selection, regions=item).resolve(choice.image))
            for item in choice.regions.regions or ()
        ]

    def _truths(self) -> Image:
        """Return the image of whether pixels are nonzero, with the same selection."""
        choice = self._choice
        if choice is None:
            return cast("Image", infix(self, "!=", 0))
        truths = masked(choice.image, choice.image, choice.conditions, f"{PIXEL} != 0")
        return _image_of(replace(choice, image=truths, conditions=()))

    def _selected_region(self) -> CompoundRegion | None:
        """Return the union of the regions of a selected image; None without any."""
        choice = self._choice
        if choice is None or choice.regions.regions is None or not choice.keeps_sky:
            return None
        return CompoundRegion(tuple((True, item) for item in choice.regions.regions))


def section_of(image: Image, index: Any) -> Section:
    """Return the section of a result's image that an index in world coordinates selects."""
    is_spectrum = image.ndim == 1
    choice = Selection(None if is_spectrum else index, index if is_spectrum else None, mode="trim")
    resolved = choice.resolve(image)
    if resolved.conditions:
        raise usage(
            "invalid index: expected one range of channels, found several",
            either("take them one by one, or select them in the image: select(channels=[...])"),
        )
    return resolved.section


def _request(selection: Selection) -> Selection:
    """Return the selection that was passed in place of a region, else the arguments' selection."""
    request = selection.regions
    if not isinstance(request, Selection):
        return selection
    alone = replace(selection, regions=None, mode=None)
    if alone != Selection():
        raise usage("a Selection has every part of the request", "give it alone")
    return request


def whole(image: Image) -> Choice:
    """Return every pixel of an image as a choice."""
    return Choice(image, Selection(), resolve(None, image.shape))


def _image_of(choice: Choice) -> Image:
    """Return a lazy image of the selected pixels, with NaN elsewhere."""
    source, section = choice.image, choice.section
    selection = Selection(
        choice.selection.regions,
        section=None if section.is_whole(source.shape) else slices_of(section),
        where=choice.conditions,
    )
    recipe: Recipe = (recomputed, (source, "select", (selection,), {}))
    file = File.deferred(lambda: _core_of(choice), source, recipe, "selection")
    # Not file[0], which would compute it.
    image = cast("Image", file._at(0))
    image._choice = choice
    return image


def _core_of(choice: Choice, drop_degenerate: bool = False) -> _core.FitsFile:
    """Return the pixels of a choice as the engine's file, computed when it is read."""
    conditions = choice.conditions
    if (cores := choice.regions.cores) is not None:
        inside = mask_of(choice.image, cores).astype(np.uint8)
        conditions = (*conditions, condition_of(choice.image, inside))
    image = masked(choice.image, choice.image, conditions)
    where = Choice(image, choice.selection, choice.section, choice.margins)
    core = cut(where, drop_degenerate)
    notes = [("HISTORY", f"tachyfits: {note}", "") for note in choice.history(image.unit)]
    return core.hdu(0).image().with_cards(notes) if notes else core


def cut(choice: Choice, drop_degenerate: bool = False) -> _core.FitsFile:
    """Return the section of a choice, and its margins, as the engine's file."""
    image, section = choice.image, choice.section
    sides = zip(section.full_shape, choice.margins or ((0, 0),) * image.ndim, strict=True)
    single = [axis for axis, (count, margin) in enumerate(sides) if count + sum(margin) == 1]
    if len(single) == image.ndim:
        # A FITS image needs at least one axis.
        single.pop()
    core = image._core_image().cut(
        list(section.ranges),
        margins=list(choice.margins),
        drop_axes=single if drop_degenerate else (),
    )
    core = _with_beam_of_polarisation(choice, core)
    return image._with_unit(core, sampled_unit(image.unit, image.coordinates, section.steps))


def _with_beam_of_polarisation(choice: Choice, core: _core.FitsFile) -> _core.FitsFile:
    """Return a cut of an image without channels, with the beam of its polarisation.

    The engine renumbers the rows of the table BEAMS by channels, which are on NAXIS3.
    """
    image, where = choice.image, choice.section
    stokes = image.coordinates.stokes_axis
    if image.channel_axis is not None or stokes is None or image._core_image().beams() is None:
        return core
    is_whole = where.ranges[stokes] == (0, image.shape[stokes], 1)
    beam = None if is_whole else beam_of_part(image, where.ranges)
    if beam is not None:
        return core.hdu(0).image().with_cards(beam_cards(beam), ["CASAMBM"])
    if not is_whole:
        warn(
            f"{image._where()}: the beams of these polarisations (table BEAMS) are left out\n"
            "hint: cut them one by one"
        )
        return core.hdu(0).image().with_cards([], ["CASAMBM"])
    return core


def choice_of(image: Image) -> Choice:
    """Return the pixels that reductions of an image use, and their source image."""
    return image._chosen_pixels()
