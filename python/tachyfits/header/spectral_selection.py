"""Channels that a range of frequency, wavelength or velocity touches; polarisations by name."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from tachyfits.base.errors import either, foreign_errors, no_overlap, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.header.coordinates import Coordinates, pixel_numbers
from tachyfits.header.spectral_frames import frequency_factor
from tachyfits.header.spectral_units import Line, converted
from tachyfits.text.sections import integer, slice_range
from tachyfits.text.spectral_ranges import (
    SpectralRange,
    asked_channels,
    hint,
    listed_channels,
    refuse_none,
)
from tachyfits.text.stokes import stokes_codes, stokes_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

#: Minimum fraction of a channel that overlaps a range: less is rounding.
_TOUCH = 1e-9


class ChannelPart(NamedTuple):
    """Channels of a request with one range or several.

    ``ranges``: start, count and step of the span that covers all of them. ``inside``: mask of the
    axis for several ranges; None: every channel of the span.
    """

    ranges: tuple[int, int, int]
    inside: NDArray[np.bool_] | None = None


def channel_part(length: int, given: Any, find: Callable[[Any], slice]) -> ChannelPart:
    """Return the channels of an axis that the argument ``channels`` of an operation selects.

    Parameters
    ----------
    length
        Number of channels of the axis.
    find
        Function that returns the channels of a single range.

    Raises
    ------
    UsageError
        A range has no channels, or an array of bool does not have one value per channel.
    """
    if getattr(given, "dtype", None) == np.bool_ and given.shape != (length,):
        expected = f"expected {length} of them, one for each channel"
        raise usage(f"invalid channels: {expected}, found the shape {given.shape}", hint())
    pieces = [slice_range(find(item), length) for item in listed_channels(given)]
    if len(pieces) == 1:
        return ChannelPart(pieces[0])
    inside = np.zeros(length, dtype=np.bool_)
    for start, count, step in pieces:
        inside[np.arange(count) * step + start] = True
    if not inside.any():
        refuse_none()
    numbers = np.flatnonzero(inside)
    first, count = int(numbers[0]), int(np.ptp(numbers)) + 1
    return ChannelPart((first, count, 1), None if count == numbers.size else inside)


def channel_slice(
    coordinates: Coordinates, number: int, length: int, given: Any, line: Line
) -> slice:
    """Return the channels of an axis (NumPy number) that a single range selects.

    A channel belongs to a range if its cell, from half a pixel before its centre to half a pixel
    after it, touches it.

    Raises
    ------
    UsageError
        The axis does not convert to that unit, or no channel is in the range.
    """
    request = asked_channels(given)
    if isinstance(request, slice):
        if request is not given:
            # Validate a channel number.
            integer(given, number, length)
        return request
    axis = coordinates.usable_axis(number, length)
    if not axis.has_coordinate:
        name = f"NAXIS{axis.number} ({axis.ctype or 'no CTYPE'})"
        raise usage(
            f"{coordinates.where}: {axis.problem or f'{name} has no coordinates'}: it has no "
            f"channels in {request.unit!r}",
            either(
                "give pixels: channels=slice(40, 90)",
                "give pixels: --channels 40:90",
                "give numbers of channels: 40:90",
            ),
        )
    edges = axis.values(pixel_numbers(0, length + 1, 1) - 0.5)
    factor = frequency_factor(coordinates, request)
    target = Line(
        request.unit, _first(request.rest, line.rest), _first(request.convention, line.convention),
        _first(request.rest_medium, line.rest_medium),
    )  # fmt: skip
    failed = f"{coordinates.where}: the {axis.name} axis has no values in {request.unit!r}"
    with foreign_errors(failed, "give channels in pixels"):
        edges = converted(axis, coordinates, edges, target, factor)
    return _touched(edges, request, f"{coordinates.where}: the {axis.name} axis")


def channel_mask(
    coordinates: Coordinates, number: int, length: int, channels: Any, line: Line
) -> NDArray[np.bool_]:
    """Return a mask of the channels that the argument ``channels`` selects; None: all.

    Raises
    ------
    UsageError
        As of `channel_part` and `channel_slice`.
    """
    if channels is None:
        return np.ones(length, dtype=np.bool_)
    part = channel_part(
        length, channels, lambda item: channel_slice(coordinates, number, length, item, line)
    )
    if part.inside is not None:
        return part.inside
    start, count, step = part.ranges
    mask = np.zeros(length, dtype=np.bool_)
    mask[np.arange(count) * step + start] = True
    return mask


def _first(one: Any, other: Any) -> Any:
    return other if one is None else one


def _touched(edges: Any, request: SpectralRange, axis: str) -> slice:
    low = -np.inf if request.low is None else request.low
    high = np.inf if request.high is None else request.high
    if request.low is not None and request.high is not None:
        low, high = min(low, high), max(low, high)
    with np.errstate(invalid="ignore"):
        below, above = np.minimum(edges[:-1], edges[1:]), np.maximum(edges[:-1], edges[1:])
        slack = _TOUCH * (above - below)
        touches = (above - slack > low) & (below + slack < high)
        if low == high:
            # The border between two channels belongs to the upper one.
            touches = (below - slack <= low) & (low < above - slack)
    channels = np.flatnonzero(touches)
    if not channels.size:
        finite = edges[np.isfinite(edges)]
        runs = (
            f"from {finite.min():.10g} to {finite.max():.10g}" if finite.size else "without values"
        )
        raise no_overlap(
            f"{axis} has no channel in {request}: it runs {runs} {request.unit}",
            either(
                "see image.world_axis(), and check unit, rest and frame",
                "see tachyfits info FILE, and check unit, --rest and frame",
                "see /api/v1/axis, and check unit, rest and frame",
            ),
        )
    return slice(int(channels[0]), int(channels[-1]) + 1)


def polarisations_of(
    coordinates: Coordinates, shape: Sequence[int], given: object
) -> tuple[int, list[float]]:
    """Return the NumPy number of the STOKES axis, and the code of each of its pixels.

    ``given``: the requested polarisations, for the message.

    Raises
    ------
    UsageError
        The image has no such axis.
    """
    number = coordinates.stokes_axis
    if number is None:
        raise usage(
            f"{coordinates.where}: the image has no STOKES axis to choose {given!r} from",
            either("leave pol= out", "leave --pol out", "leave pol out"),
        )
    values: list[float] = (
        coordinates.axis(number).values(pixel_numbers(0, shape[number], 1)).tolist()
    )
    return number, values


def stokes_slice(
    coordinates: Coordinates, shape: Sequence[int], given: str | Sequence[str]
) -> tuple[int, slice]:
    """Return the NumPy number of the STOKES axis, and the pixels of the requested polarisations.

    Raises
    ------
    UsageError
        The axis does not exist, or the polarisations have unequal steps.
    """
    codes = stokes_codes(given)
    number, values = polarisations_of(coordinates, shape, given)
    places = []
    for code in codes:
        numbers = np.flatnonzero(np.abs(np.array(values) - code) < 1e-6)
        if not numbers.size:
            states = ", ".join(map(stokes_name, values))
            raise no_overlap(
                f"{coordinates.where}: the polarisation {stokes_name(code)} is not on the STOKES "
                f"axis, which has {states}",
                "choose one of these",
            )
        places.append(int(numbers[0]))
    places.sort()
    steps = {b - a for a, b in itertools.pairwise(places)}
    if len(steps) > 1 or 0 in steps:
        raise usage(
            f"the polarisations {given!r} are not at equal steps of the STOKES axis",
            "choose them one by one",
        )
    return number, slice(places[0], places[-1] + 1, steps.pop() if steps else 1)


def available_states(
    coordinates: Coordinates, shape: Sequence[int], given: str | Sequence[str]
) -> tuple[int, slice]:
    """Return the same for the requested polarisations that the axis has.

    If their steps are unequal, the pixels between them are included.
    """
    names = [given] if isinstance(given, str) else list(given)
    number, values = polarisations_of(coordinates, shape, given)
    places = [n for n, value in enumerate(values) if stokes_name(value) in names]
    if not places:
        states = ", ".join(map(stokes_name, values))
        raise no_overlap(f"no polarisation of {', '.join(names)}: the dataset has {states}", "")
    steps = {later - earlier for earlier, later in itertools.pairwise(places)}
    return number, slice(places[0], places[-1] + 1, steps.pop() if len(steps) == 1 else 1)
