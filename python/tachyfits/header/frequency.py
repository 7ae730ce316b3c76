"""Frequency of pixels: the same rules for images, planes, spectra, and files of them.

It comes from the spectral axis, even if the array no longer has it; else OBSFREQ; else the rest
frequency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tachyfits._core import TachyfitsError
from tachyfits.base.errors import either, foreign_errors, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.header.coordinates import Axis, Coordinates
from tachyfits.header.spectral_units import Line, channels_of, converted
from tachyfits.text.axes import is_spectral
from tachyfits.text.units import spectral_quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tachyfits.text.axes import WorldAxis

    Numbers = NDArray[np.float64]

#: Cards of a result without a spectral axis, as in single-dish files: frequency of the values, and
#: width of the combined range, in Hz.
FREQUENCY, WIDTH = "OBSFREQ", "BANDWID"

#: A smaller OBSFREQ is not in Hz: some headers have MHz, or GHz.
_LEAST = 1e6

#: Maximum relative width of a range of frequencies for which a single frequency is exact enough.
_NARROW = 1e-3


def frequencies(
    coordinates: Coordinates,
    shape: Sequence[int],
    given: Any = None,
    line: Line | None = None,
    channels: WorldAxis | None = None,
) -> tuple[Numbers, int | None]:
    """Return the frequencies of an array in Hz, and the NumPy axis along which they vary.

    Parameters
    ----------
    given
        Frequency of all pixels, from the user.
    line
        Rest frequency and convention of velocities, from the user.
    channels
        Coordinates of an array of one axis, which its header may not describe.

    Raises
    ------
    UsageError
        The header has no frequency, or one that is not positive.
    """
    in_hertz = _in_hertz(line)
    hint = "give it: " + either(
        'frequency="115.27 GHz"', "--frequency '115.27 GHz'", "the card RESTFRQ of the file"
    )
    number = coordinates.spectral_axis
    if given is not None:
        with foreign_errors(f"invalid frequency {given!r}", hint):
            hertz, number = np.array(_hertz(given)), None
    elif channels is not None and is_spectral(channels.name):
        axis = _axis(channels)
        hertz, number = converted(axis, coordinates, channels.values, in_hertz), 0
    elif number is not None:
        hertz = channels_of(coordinates, number, (0, shape[number], 1), in_hertz).values
    else:
        hertz = np.array(_of_all(coordinates, in_hertz, hint))
    if not (np.isfinite(hertz) & (hertz > 0)).all():
        raise usage("the conversion needs frequencies above 0", hint)
    return hertz, number


def _in_hertz(line: Line | None) -> Line:
    return Line("Hz") if line is None else replace(line, unit="Hz")


def _hertz(frequency: Any) -> float:
    import astropy.units as u

    quantity = spectral_quantity(frequency)
    return float(quantity.to_value(u.Hz, equivalencies=u.spectral()))


def _axis(channels: WorldAxis) -> Axis:
    """Return the axis of coordinates that do not come from a header."""
    name, unit = channels.name, channels.unit
    return Axis(1, name, unit, 0.0, 0.0, 1.0, unit, has_coordinate=True)


def _of_all(coordinates: Coordinates, line: Line, hint: str) -> float:
    """Return the single frequency of values without a spectral axis, in Hz."""
    stated, problem = _stated(coordinates, line)
    cards, place = coordinates.cards, f"{coordinates.where}: " if coordinates.where else ""
    if stated is not None:
        width = cards.optional(WIDTH) or 0.0
        if abs(width) > _NARROW * stated:
            cards.warn_once(
                WIDTH,
                f"{place}the values combine frequencies over {width:.6g} Hz ({WIDTH}): they are "
                f"converted at {stated:.10g} Hz, with an error of up to "
                f"{100 * abs(width) / stated:.2g} %\nhint: convert them before they are combined: "
                + either('collapse(..., unit="K")', "--unit K", "the parameter unit"),
            )
        return stated
    rest = coordinates.rest_frequency()
    if rest is None:
        raise usage(
            "the conversion depends on the frequency, and the header has neither a spectral "
            "axis nor a rest frequency",
            hint,
        )
    redshift = cards.optional("ZSOURCE")
    if not problem and redshift:
        problem = f"the source has a redshift (ZSOURCE = {redshift:g})"
    if problem:
        cards.warn_once(
            FREQUENCY,
            f"{place}the values are converted at the rest frequency, {rest:.10g} Hz, and "
            f"{problem}\nhint: {hint}",
        )
    return rest


def _stated(coordinates: Coordinates, line: Line) -> tuple[float | None, str]:
    """Return the frequency of a dropped axis, or OBSFREQ; or the reason why it has none."""
    axis, problem = coordinates.dropped_spectral_axis, ""
    if axis is not None:
        try:
            return _of_dropped(coordinates, axis, line), ""
        except TachyfitsError as error:
            reason = str(error).partition("\n")[0]
            problem = f"the {axis.ctype} axis, which the array has no more, has none: {reason}"
    value = coordinates.cards.optional(FREQUENCY)
    if value is None:
        return None, problem
    if value < _LEAST:
        return None, f"{FREQUENCY} = {value:g} is not in hertz"
    return float(value), ""


def _of_dropped(coordinates: Coordinates, axis: Axis, line: Line) -> float:
    """Return the frequency of the only pixel of an axis beyond NAXIS, in Hz."""
    header = coordinates.header
    if not axis.has_coordinate or f"CRVAL{axis.number}" not in header:
        raise usage(axis.problem or f"CRVAL{axis.number} is missing", "add the card")
    # Without CRPIX, take the reference pixel to be the only pixel: the Standard's default of 0
    # makes no sense here.
    pixel = 0.0 if f"CRPIX{axis.number}" in header else axis.crpix - 1.0
    failed = f"the {axis.ctype} axis has no frequency"
    with foreign_errors(failed, "correct its cards"):
        hertz = converted(axis, coordinates, axis.values(np.array([pixel])), line)
    if not (np.isfinite(hertz) & (hertz > 0)).all():
        raise usage(failed, "correct its cards")
    return float(hertz[0])


def frequency_cards(
    coordinates: Coordinates, piece: tuple[int, int, int] | None, line: Line | None = None
) -> dict[str, tuple[float, str]]:
    """Return the cards of a result without the spectral axis: OBSFREQ, and BANDWID if known.

    Parameters
    ----------
    piece
        Channels that the result combines: start, count and step along the spectral axis; None for
        an image without such an axis.
    line
        Rest frequency and convention of velocities, from the user.
    """
    comment = "[Hz] frequency of the values"
    number = coordinates.spectral_axis
    in_hertz = _in_hertz(line)
    if number is None or piece is None:
        hertz, _ = _stated(coordinates, in_hertz)
        return {} if hertz is None else {FREQUENCY: (hertz, comment)}
    try:
        channels = channels_of(coordinates, number, piece, in_hertz)
    except TachyfitsError:
        # Velocities without a rest frequency.
        return {}
    if not channels.values.size or not (channels.values > 0).all():
        return {}
    low, high = float(channels.values.min()), float(channels.values.max())
    cards = {FREQUENCY: ((low + high) / 2, comment)}
    if high > low:
        width = high - low + float(channels.widths.mean())
        cards[WIDTH] = (width, "[Hz] range of frequencies combined")
    return cards
