"""Channels as users name them: slices of pixels, ranges of frequency, wavelength or velocity."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import either, foreign_errors, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.text.units import LIGHT, SPECTRAL, asked_unit, text_of_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Types of one range of channels, and of the argument `channels`, which accepts several.
ChannelRange: TypeAlias = "slice | int | str | SpectralRange | tuple[Any, Any]"
AskedChannels: TypeAlias = "ChannelRange | Sequence[ChannelRange] | NDArray[Any] | None"

#: Names of spectral reference frames (Standard, table 27), and their other spellings.
SPECTRAL_FRAMES = {
    "TOPOCENT": "TOPOCENT", "TOPO": "TOPOCENT", "GEOCENT": "GEOCENT", "GEO": "GEOCENT",
    "BARYCENT": "BARYCENT", "BARY": "BARYCENT", "HELIOCEN": "HELIOCEN", "HELIOCENT": "HELIOCEN",
    "HELIO": "HELIOCEN", "LSRK": "LSRK", "LSR": "LSRK", "LSRD": "LSRD",
}  # fmt: skip

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eEdD][-+]?\d+)?"
#: An optional number and an optional unit.
_END = re.compile(rf"\s*({_NUMBER})?\s*((?:1/|[^\d\s.+-]).*?)?\s*")


#: A BAND of SODA in a list of ranges: prefixed by its name.
_BAND = re.compile(r"\s*BAND\s+(.*)", re.IGNORECASE | re.DOTALL)
#: A bound of an interval (DALI 1.1, section 3.3.4): a finite or infinite number.
_BOUND = re.compile(
    r"(?P<sign>[-+]?)(?:(?P<infinity>inf|infinity)|(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?)",
    re.IGNORECASE,
)


def hint() -> str:
    """Return a hint on the syntax of channels for the interface in use."""
    return either(
        'use channels=slice(40, 90), "100..250 km/s", "230.5..230.6 GHz", a slice of quantities, '
        "or a list of these",
        "use --channels 40:90, '100..250 km/s', '230.5..230.6 GHz' or several with commas between",
        "use 40:90, '100..250 km/s', '230.5..230.6 GHz' or several with commas between",
    )


@public
@dataclass(frozen=True)
class SpectralRange:
    """A range of a spectral axis with a unit: selects every channel whose cell it touches.

    Attributes
    ----------
    low, high
        Ends in ``unit``, in any order; None for an open end. A range of zero length selects the
        channel that contains it.
    unit
        Unit of frequency, wavelength, energy, wave number or velocity: "km/s", "GHz", "Angstrom".
    frame
        The reference frame of the numbers: "LSRK", "BARYCENT", "TOPOCENT", ...; None: the frame of
        the axis, SPECSYS.
    location
        An astropy EarthLocation: the observatory, needed to convert TOPOCENT if the header has no
        OBSGEO-X, OBSGEO-Y, OBSGEO-Z.
    rest, convention, rest_medium
        As in `Image.moments`, for velocities that need them; None: the values of the header.

    Examples
    --------
    >>> import tachyfits as tf
    >>> cube = tf.open("cube.fits")[0]
    >>> cube.select(channels=tf.SpectralRange(1.4, 2.2, "km/s")).spectrum().axis.values
    array([1500., 2000.])
    """

    low: float | None
    high: float | None
    unit: str
    frame: str | None = None
    location: Any = None
    rest: Any = None
    convention: str | None = None
    rest_medium: str | None = None

    def __str__(self) -> str:
        low, high = ("" if end is None else f"{end:.12g}" for end in (self.low, self.high))
        frame = f" {self.frame}" if self.frame else ""
        ends = low if low == high else f"{low}..{high}"
        return f"{ends} {self.unit}{frame}".strip()


def parse_spectral_range(text: str) -> SpectralRange:
    """Parse a range with a unit and an optional frame.

    >>> str(parse_spectral_range("100..250 km/s")), str(parse_spectral_range("230.5GHz..230.6GHz"))
    ('100..250 km/s', '230.5..230.6 GHz')
    >>> parse_spectral_range("..6580 Angstrom BARYCENT").frame, parse_spectral_range("21 cm").high
    ('BARYCENT', 21.0)
    """
    if band := _BAND.fullmatch(text):
        return parse_band(band[1])
    words = text.strip()
    frame = None
    last = words.rpartition(" ")[2].upper()
    if last in SPECTRAL_FRAMES:
        frame, words = SPECTRAL_FRAMES[last], words[: -len(last)].rstrip()
    texts = words.split("..")
    ends = [parsed for end in texts if (parsed := _END.fullmatch(end))]
    units = [end[2] for end in ends if end[2]]
    # "3:5" is a section, not a range with a unit.
    has_unit = units and ":" not in "".join(units)
    if len(texts) > 2 or len(ends) < len(texts) or not has_unit or not any(end[1] for end in ends):
        raise usage(f"invalid channels {text!r}: expected a range with a unit", hint())
    if len(set(units)) > 1:
        raise usage(
            f"invalid channels {text!r}: its ends are in different units", "use one unit for both"
        )
    _check_unit(units[0])
    numbers = [float(end[1].upper().replace("D", "E")) if end[1] else None for end in ends]
    return SpectralRange(numbers[0], numbers[-1], units[0], frame)


def _check_unit(unit: str) -> None:
    """Raise UsageError for a unit that is not spectral, or for an unknown frame after it."""
    first, _, last = unit.rpartition(" ")
    try:
        asked_unit(unit, SPECTRAL)
    except _core.UsageError:
        if not first or not last.isalpha():
            raise
        asked_unit(first, SPECTRAL)
        raise usage(
            f"invalid frame {last!r}: expected {', '.join(sorted(set(SPECTRAL_FRAMES.values())))}",
            "leave it out for the frame of the axis",
        ) from None


def parse_band(text: str, frame: str | None = "BARYCENT") -> SpectralRange:
    """Parse a BAND of SODA: one wavelength or an interval, in metres, in vacuum.

    The result is a range of frequencies: every spectral axis converts to frequency in any medium.

    Parameters
    ----------
    text
        One number, or two in ascending order; "-Inf" and "Inf" are open ends.
    frame
        Frame of the wavelengths; SODA defines the barycentre. None: the frame of the axis.

    Raises
    ------
    UsageError
        The text is not a valid BAND.

    >>> parse_band("0.21 Inf").high, parse_band("+0.5e-6 6e-7").frame
    (1427583133.3333335, 'BARYCENT')
    """
    words = text.split()
    how = "use BAND 0.21 0.22, BAND 0.21 or BAND 0.21 Inf"
    if not 1 <= len(words) <= 2 or not all(map(_BOUND.fullmatch, words)):
        problem = f"invalid BAND {text.strip()!r}: expected one wavelength in metres or two"
        raise usage(problem, how)
    low, high = float(words[0]), float(words[-1])
    if low > high:
        raise usage(f"invalid BAND {text.strip()!r}: expected the shorter wavelength first", how)
    if high <= 0 or low == math.inf:
        raise usage(f"invalid BAND {text.strip()!r}: expected wavelengths above 0", how)
    # Wavelengths are not negative; the frequency of a tiny wavelength overflows.
    highest = LIGHT / low if low > 0 else math.inf
    ends = (
        None if high == math.inf else LIGHT / high,
        None if highest == math.inf else highest,
    )
    # The whole axis is the same in every frame.
    return SpectralRange(*ends, "Hz", None if ends == (None, None) else frame)


def listed_channels(channels: Any) -> list[Any]:
    """Return the ranges in the argument `channels` of an operation: one or several.

    Parameters
    ----------
    channels
        A range, a list of ranges, text with comma-separated ranges, an array of channel numbers,
        or an array of bool with a value for each channel.

    Raises
    ------
    UsageError
        There is no range, or the array has another type.

    >>> listed_channels("1..2 km/s,5..6 km/s"), listed_channels([slice(1, 3), 7])
    (['1..2 km/s', '5..6 km/s'], [slice(1, 3, None), 7])
    >>> import numpy as np
    >>> listed_channels(np.array([False, True, True, False, True]))
    [slice(1, 3, None), slice(4, 5, None)]
    """
    if isinstance(channels, str):
        return list(channels.split(","))
    if isinstance(channels, np.ndarray) and not hasattr(channels, "unit"):
        return _runs(channels)
    if not isinstance(channels, list) or _is_pair_of_quantities(channels):
        return [channels]
    return [item for part in channels for item in listed_channels(part)] or refuse_none()


def _is_pair_of_quantities(items: list[Any]) -> bool:
    """Return whether a list holds the two ends of one range."""
    return any(hasattr(item, "unit") and not isinstance(item, SpectralRange) for item in items)


def refuse_none() -> list[Any]:
    """Raise UsageError for a list without ranges."""
    raise usage("an empty list of channels", "give a range, or leave channels out")


def _runs(channels: NDArray[Any]) -> list[Any]:
    """Return the runs of channels selected by an array of bool or of channel numbers."""
    if channels.ndim != 1 or channels.dtype.kind not in "biu":
        problem = f"invalid channels: an array of {channels.dtype} with the shape {channels.shape}"
        expected = "expected numbers of channels, or a bool for each channel"
        raise usage(f"{problem}: {expected}", hint())
    if channels.dtype.kind != "b":
        return channels.tolist() or refuse_none()
    edges = np.flatnonzero(np.diff(np.concatenate([[False], channels, [False]]).astype(np.int8)))
    runs = edges.reshape(-1, 2).tolist()
    return [slice(first, last) for first, last in runs] or refuse_none()


def asked_channels(channels: Any) -> slice | SpectralRange:
    """Convert one range of channels to a slice of pixels, or to a range with a unit.

    Raises
    ------
    UsageError
        The argument is neither.
    """
    if isinstance(channels, SpectralRange):
        return _checked(channels)
    if isinstance(channels, str):
        return parse_spectral_range(channels)
    if isinstance(channels, slice):
        ends = (channels.start, channels.stop)
        if not any(hasattr(end, "unit") for end in ends):
            return channels
        if channels.step is not None:
            raise usage(
                f"invalid channels {channels!r}: a range in a unit takes every channel",
                "leave the step out",
            )
        return _of_quantities(ends)
    if hasattr(channels, "unit") or isinstance(channels, (tuple, list)):
        with foreign_errors(f"invalid channels {channels!r}", hint()):
            ends = tuple(channels) if getattr(channels, "shape", (2,)) else (channels, channels)
            low, high = ends
        return _of_quantities((low, high))
    try:
        number = operator.index(channels)
    except TypeError:
        raise usage(f"invalid channels {channels!r}: expected a slice or a range", hint()) from None
    return slice(number, number + 1 if number != -1 else None)


def _of_quantities(ends: tuple[Any, Any]) -> SpectralRange:
    """Return the range between two quantities; one of them may be None."""
    units = [end.unit for end in ends if hasattr(end, "unit")]
    if not units or any(end is not None and not hasattr(end, "unit") for end in ends):
        raise usage("invalid channels: expected a unit at both ends", hint())
    with foreign_errors("invalid channels: its ends are in different units", hint()):
        low, high = (None if end is None else float(end.to_value(units[0])) for end in ends)
    return _checked(SpectralRange(low, high, str(text_of_unit(units[0]))))


def _checked(channels: SpectralRange) -> SpectralRange:
    numbers = [end for end in (channels.low, channels.high) if end is not None]
    if not all(map(math.isfinite, numbers)) or (not numbers):
        raise usage(f"invalid channels {channels}: expected finite numbers", hint())
    if channels.frame is not None and channels.frame.upper() not in SPECTRAL_FRAMES:
        raise usage(
            f"invalid frame {channels.frame!r}: expected {', '.join(SPECTRAL_FRAMES)}",
            "leave it out for the frame of the axis",
        )
    return channels
