"""The spectrum of a region as a request asks for it: pixels, statistic, axis, smoothing and bins.

The engine reads, smooths and bins. This puts its steps in order and moves the axis to another
frame.
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

#: The widest Gaussian and the longest bin, in channels.
MOST_SMOOTH, MOST_BIN = 1000.0, 100_000

#: How a step along an axis changes with the frequency, by its type: in proportion, or inversely.
_POWER = {"FREQ": 1, "ENER": 1, "WAVN": 1, "VRAD": 1, "WAVE": -1, "AWAV": -1, "VOPT": -1}

#: Cards of the axis of a spectrum.
_AXIS_CARDS = ("CTYPE1", "CUNIT1", "CRPIX1", "CRVAL1", "CDELT1", "CD1_1", "PC1_1")

#: Cards about the motion of the frame of the header.
_OLD_FRAME = ("VELREF", "SSYSOBS", "VELOSYS")


@dataclass(frozen=True)
class SpectrumPixels:
    """Pixels that a spectrum is of; also a part of the key in the cache."""

    region: str | None
    channels: str | None
    others: str | None
    pol: str | None


@dataclass(frozen=True)
class SpectrumForm:
    """The numbers of a spectrum and its coordinates; also a part of the key in the cache.

    Attributes
    ----------
    statistic, weights
        As in `Image.spectrum`.
    axis
        Its unit may name one of coordinates, one of values, or both.
    smooth
        Full width at half maximum of a Gaussian in channels; None: no smoothing.
    bin
        Channels that are averaged to one; None: 1.
    """

    statistic: str
    weights: str | None
    axis: AxisForm
    smooth: float | None
    bin: int | None

    @property
    def coordinates(self) -> AxisForm:
        """The form of the coordinates alone."""
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

#: A spectrum as it is read.
AskedSpectrum = Annotated[SpectrumForm, Depends(_form)]

#: A spectrum as it is shown: smoothed and binned.
ShownSpectrum = Annotated[SpectrumForm, Depends(_shown_form)]


def whole_spectrum(asked: Asked, pixels: SpectrumPixels, form: SpectrumForm) -> tf.Spectrum:
    """Return the spectrum of all channels that the file has whole; the cache keeps it."""
    count = readable_channels(asked.view)
    channels = None if count == asked.view.channels else f"1:{count}"
    pixels = replace(pixels, channels=channels)
    key = ("whole spectrum", pixels, form)
    return asked.kept(key, lambda: spectrum_of(asked, pixels, form), lambda found: 16 * found.size)


def channels_of_text(view: View, axis: AxisForm, text: str | None) -> NDArray[np.bool_]:
    """Return which channels of a cube some ranges have; None: all."""
    coordinates, number = view.cube.coordinates, view.channel_axis
    length = view.channels
    if text is None:
        return np.ones(length, dtype=np.bool_)
    try:
        parsed = parse_channels(text)
    except tf.TachyfitsError:
        raise
    except ValueError as error:
        raise RequestError(str(error)) from None
    ranges = [
        numpy_index([item], (length,))[0] if isinstance(item, Range) else item
        for item in (parsed if isinstance(parsed, list) else [parsed])
    ]
    line = Line(None, axis.rest, axis.convention)
    return channel_mask(coordinates, number, length, ranges, line)


def spectrum_of(asked: Asked, pixels: SpectrumPixels, form: SpectrumForm) -> tf.Spectrum:
    """Return the spectrum of some pixels in the requested form."""
    view = asked.view
    axis = form.coordinates
    region = view.region(pixels.region)
    words = {"region": region, "channels": pixels.channels, "pol": pixels.pol}
    # A range of velocities is about the line of the request, whatever the redshift.
    line = Line(None, axis.rest, axis.convention)
    selection = view.selection(words, others=pixels.others, line=line)
    # An error of the request says nothing about the copy of the cube.
    selection.resolve(view.cube)
    about = _line_of(view, form)

    def of(cube: tf.Image) -> tf.Spectrum:
        name: Any = form.statistic  # the request's own check knows every percentile
        convention: Any = about.convention  # and the words of these two
        weights: Any = form.weights
        found = cube.select(selection).spectrum(
            statistic=name, unit=about.unit, rest=about.rest, convention=convention,
            weights=weights,
        )  # fmt: skip
        assert isinstance(found, tf.Spectrum)
        return found

    found = None
    copies = asked.state.sidecars
    if copies.enabled and region is not None and suits_copy(view, region):
        found = copies.spectra(asked.file, view, of)
    if found is None:
        found = of(view.cube)
    factor = axis.factor(view.cube.coordinates)
    if factor != 1.0:
        found = in_frame(found, factor, str(axis.frame))
    return reduced(found, form.smooth, form.bin)


def _line_of(view: View, form: SpectrumForm) -> Line:
    """Return the units and the line of a spectrum: the redshift is part of its rest frequency."""
    line = Line(form.axis.unit, form.axis.rest, form.axis.convention)
    if not form.axis.redshift or view.cube.ndim < 3:
        return line
    at_redshift = form.coordinates.line(view.cube.coordinates, view.channel_axis)
    return replace(line, rest=at_redshift.rest)


def in_frame(spectrum: tf.Spectrum, factor: float, frame: str) -> tf.Spectrum:
    """Return a spectrum with the axis of another frame, whose frequencies are ``factor`` times.

    Cards of the axis follow where its type allows it; the others give way to the coordinates.
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
    """Return the value at the reference pixel in the other frame."""
    value = np.array([axis.crval])
    return float(converted(axis, coordinates, value, Line(axis.unit), factor)[0])


def reduced(spectrum: tf.Spectrum, smooth: float | None, count: int | None) -> tf.Spectrum:
    """Return a spectrum smoothed by a Gaussian, then binned.

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
