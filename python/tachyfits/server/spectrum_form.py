"""The requested form of a spectrum: pixels, statistic, axis, smoothing and binning.

The engine reads, smooths and bins. This module calls these steps in order and converts the axis to
another frame.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from fastapi import Depends, Query
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits.header import Axis, Coordinates, Line, channel_mask, converted
from tachyfits.image import image_of_pixels
from tachyfits.results import with_unit
from tachyfits.server.asked import Asked
from tachyfits.server.errors import RequestError
from tachyfits.server.parameters import Channels, Others, Pol, Region, Statistic
from tachyfits.server.problems import readable_channels
from tachyfits.server.sidecars.spectra import suits_copy
from tachyfits.server.spectral_axis import AskedAxis, AxisForm
from tachyfits.server.view import View
from tachyfits.text import Range, numpy_index, parse_channels, split_units

#: Maximum width of the Gaussian and of a bin, in channels.
MOST_SMOOTH, MOST_BIN = 1000.0, 100_000

#: Exponent of the frequency factor that scales the step of an axis, by its type.
_POWER = {"FREQ": 1, "ENER": 1, "WAVN": 1, "VRAD": 1, "WAVE": -1, "AWAV": -1, "VOPT": -1}

#: Keywords of the axis of a spectrum.
_AXIS_CARDS = ("CTYPE1", "CUNIT1", "CRPIX1", "CRVAL1", "CDELT1", "CD1_1", "PC1_1")

#: Keywords about the velocity of the header's frame.
_OLD_FRAME = ("VELREF", "SSYSOBS", "VELOSYS")


@dataclass(frozen=True)
class SpectrumPixels:
    """The pixels of a spectrum; also part of the cache key."""

    region: str | None
    channels: str | None
    others: str | None
    pol: str | None


@dataclass(frozen=True)
class SpectrumForm:
    """The requested values and coordinates of a spectrum; also part of the cache key.

    Attributes
    ----------
    statistic, weights
        As in `Image.spectrum`.
    axis
        Form of the axis; its unit may be a unit of coordinates, of values, or both.
    smooth
        Full width at half maximum of the Gaussian, in channels; None: no smoothing.
    bin
        Number of channels averaged to one; None: 1.
    """

    statistic: str
    weights: str | None
    axis: AxisForm
    smooth: float | None
    bin: int | None

    @property
    def coordinates(self) -> AxisForm:
        """The form of the coordinates only, without a unit of values."""
        unit = None if self.axis.unit is None else split_units(self.axis.unit)[0]
        return replace(self.axis, unit=unit)

    @property
    def as_read(self) -> SpectrumForm:
        """The same spectrum, neither smoothed nor binned."""
        return replace(self, smooth=None, bin=None)


async def _pixels(
    region: Region, channels: Channels = None, others: Others = None, pol: Pol = None
) -> SpectrumPixels:
    return SpectrumPixels(region, channels, others, pol)


async def _form(
    axis: AskedAxis,
    statistic: Statistic = "mean",
    weights: Annotated[
        str | None,
        Query(pattern="^exact$", description="exact: pixels count by their share in the region."),
    ] = None,
) -> SpectrumForm:
    return SpectrumForm(statistic, weights, axis, None, None)


async def _shown_form(
    form: AskedSpectrum,
    smooth: Annotated[
        float | None,
        Query(gt=0, le=MOST_SMOOTH, allow_inf_nan=False,
              description="Smooth with a Gaussian of this full width at half maximum in channels."),
    ] = None,
    bin_: Annotated[
        int | None,
        Query(alias="bin", ge=1, le=MOST_BIN,
              description="Channels that are averaged to one, after smoothing; channels after the "
              "last whole bin are left out."),
    ] = None,
) -> SpectrumForm:  # fmt: skip
    return replace(form, smooth=smooth, bin=bin_)


AskedPixels = Annotated[SpectrumPixels, Depends(_pixels)]

#: A spectrum without smoothing and binning.
AskedSpectrum = Annotated[SpectrumForm, Depends(_form)]

#: A smoothed and binned spectrum.
ShownSpectrum = Annotated[SpectrumForm, Depends(_shown_form)]


def whole_spectrum(asked: Asked, pixels: SpectrumPixels, form: SpectrumForm) -> tf.Spectrum:
    """Return the spectrum of all complete channels of the file, and cache it."""
    count = readable_channels(asked.view)
    channels = None if count == asked.view.channels else f"1:{count}"
    pixels = replace(pixels, channels=channels)
    key = ("whole spectrum", pixels, form)
    return asked.kept(
        key, lambda: spectrum_of(asked, pixels, form), lambda spectrum: 16 * spectrum.size
    )


def channels_of_text(view: View, axis: AxisForm, text: str | None) -> NDArray[np.bool_]:
    """Return the mask of the channels in the given ranges; None selects all."""
    coordinates, number = view.cube.coordinates, view.channel_axis
    length = view.channels
    if text is None:
        return np.ones(length, dtype=np.bool_)
    try:
        selected = parse_channels(text)
    except tf.TachyfitsError:
        raise
    except ValueError as error:
        raise RequestError(str(error)) from None
    ranges = [
        numpy_index([item], (length,))[0] if isinstance(item, Range) else item
        for item in (selected if isinstance(selected, list) else [selected])
    ]
    line = Line(None, axis.rest, axis.convention)
    return channel_mask(coordinates, number, length, ranges, line)


def spectrum_of(asked: Asked, pixels: SpectrumPixels, form: SpectrumForm) -> tf.Spectrum:
    """Return the spectrum of some pixels in the requested form."""
    view = asked.view
    axis = form.coordinates
    region = view.region(pixels.region)
    words = {"region": region, "channels": pixels.channels, "pol": pixels.pol}
    # A range of velocities refers to the line of the request, without the redshift.
    line = Line(None, axis.rest, axis.convention)
    selection = view.selection(words, others=pixels.others, line=line)
    # Raise errors of the request here, so that they are not taken for errors of the copy.
    selection.resolve(view.cube)
    about = _line_of(view, form)

    def of(cube: tf.Image) -> tf.Spectrum:
        name: Any = form.statistic  # the type only lists common percentiles
        convention: Any = about.convention  # checked by the request, as are the weights
        weights: Any = form.weights
        spectrum = cube.select(selection).spectrum(
            statistic=name, unit=about.unit, rest=about.rest, convention=convention,
            weights=weights,
        )  # fmt: skip
        assert isinstance(spectrum, tf.Spectrum)
        return spectrum

    spectrum = None
    copies = asked.state.sidecars
    if copies.enabled and region is not None and suits_copy(view, region):
        spectrum = copies.spectra(asked.file, view, of)
    if spectrum is None:
        spectrum = of(view.cube)
    factor = axis.factor(view.cube.coordinates)
    if factor != 1.0:
        spectrum = in_frame(spectrum, factor, str(axis.frame))
    return reduced(spectrum, form.smooth, form.bin)


def _line_of(view: View, form: SpectrumForm) -> Line:
    """Return the unit and the line of a spectrum; its rest frequency includes the redshift."""
    line = Line(form.axis.unit, form.axis.rest, form.axis.convention)
    if not form.axis.redshift or view.cube.ndim < 3:
        return line
    at_redshift = form.coordinates.line(view.cube.coordinates, view.channel_axis)
    return replace(line, rest=at_redshift.rest)


def in_frame(spectrum: tf.Spectrum, factor: float, frame: str) -> tf.Spectrum:
    """Convert a spectrum to another frame: its frequencies are multiplied by ``factor``.

    Cards of the axis are scaled if its type allows it; otherwise they are removed, and only the
    coordinates remain.
    """
    coordinates = Coordinates(spectrum.header, 1)
    axis = coordinates.axis(0)
    line = Line(axis.unit)
    values = converted(axis, coordinates, spectrum.axis.values, line, factor)
    header = spectrum.header.replaced({"SPECSYS": frame}, without=_OLD_FRAME)
    power = _POWER.get(axis.kind)
    if power is None or not axis.has_coordinate:
        header = header.replaced({}, without=_AXIS_CARDS)
    else:
        cards: dict[str, Any] = {"CRVAL1": _at(axis, coordinates, factor)}
        for keyword in ("CDELT1", "CD1_1"):
            step = header.get(keyword)
            if step is not None:
                cards[keyword] = step * factor**power
        header = header.replaced(cards)
    return replace(spectrum, axis=replace(spectrum.axis, values=values), header=header)


def _at(axis: Axis, coordinates: Coordinates, factor: float) -> float:
    """Return the coordinate of the reference pixel in the other frame."""
    value = np.array([axis.crval])
    return float(converted(axis, coordinates, value, Line(axis.unit), factor)[0])


def reduced(spectrum: tf.Spectrum, smooth: float | None, count: int | None) -> tf.Spectrum:
    """Smooth a spectrum by a Gaussian, then bin it.

    >>> spectrum = tf.open("cube.fits")[0].spectrum()
    >>> reduced(spectrum, None, 2).axis.values, reduced(spectrum, None, 2).values
    (array([1250.]), array([19.5]))
    """
    if smooth is None and count in (None, 1):
        return spectrum
    cards = [tuple(card) for card in spectrum.header.cards]
    image = image_of_pixels(spectrum.values, cards, spectrum.source)
    if smooth is not None:
        image = image.smooth("gaussian", smooth, axis=0)
    axis = spectrum.axis
    if count is not None and count > 1:
        image = image.rebin([count])
        values = axis.values[: len(axis) // count * count].reshape(-1, count).mean(axis=1)
        is_described = Coordinates(spectrum.header, 1).axis(0).has_coordinate
        axis = image.world_axis("x") if is_described else replace(axis, values=values)
    header = with_unit(image.header, spectrum.unit)
    return replace(spectrum, values=image.read(), axis=axis, header=header)
