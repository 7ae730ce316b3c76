"""Whether pixels that are combined lie at the same places: on the sky, and along the spectral axis.

Operators, expressions, masks and planes ask `tell_differences`. Places are compared, not cards: a
thousandth of a pixel, or of a channel, is equal, in any projection, frame and unit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tachyfits._core import TachyfitsError
from tachyfits.base.errors import either, foreign_errors, usage, warn
from tachyfits.base.lazy_numpy import np
from tachyfits.header.coordinates import Axis, Coordinates
from tachyfits.header.region_rasters import directions
from tachyfits.header.sky import Sky
from tachyfits.header.spectral_frames import frame_of
from tachyfits.header.spectral_units import Line, converted
from tachyfits.text.units import SPECTRAL, fits_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Pixels closer than this share of a pixel are at the same place.
TOLERANCE = 1e-3
#: Places along each axis of the sky, and along a spectral axis, that are compared at most.
_ON_SKY, _CHANNELS = 9, 1025

#: Cards that decide where the pixels of an axis are, in the order in which they are named.
_SKY_CARDS = ("CTYPE", "CRVAL", "CRPIX", "CDELT", "CD", "PC", "CROTA", "CUNIT", "RADESYS")
_AXIS_CARDS = ("CTYPE", "CUNIT", "CRVAL", "CRPIX", "CDELT")
#: Conventions of velocities, by CTYPE.
_CONVENTIONS = {"VRAD": "radio", "VOPT": "optical", "FELO": "optical", "VELO": "relativistic"}


@dataclass(frozen=True)
class Grid:
    """Where the pixels of an image, a plane or a spectrum are.

    Attributes
    ----------
    name
        For messages: the file.
    coordinates
        Of its header.
    shape
        In NumPy order, of the axes that the header describes.
    is_placed
        Whether its axes keep their numbers beside others, as those of images do; the axes of a
        plane and of a spectrum are found by what they are.
    is_strict
        Whether a difference is an error.
    axis
        The spectral axis, where it is not that of the header.
    has_channels
        Whether its channels are compared: a mask of one plane is for any channel.
    """

    name: str
    coordinates: Coordinates
    shape: tuple[int, ...]
    is_placed: bool = False
    is_strict: bool = False
    axis: Axis | None = None
    has_channels: bool = True

    def _grid(self) -> Grid:
        return self

    @property
    def sky(self) -> Sky | None:
        """The sky; None without one that can be used."""
        try:
            return self.coordinates.sky
        except TachyfitsError:
            return None

    @property
    def spectral(self) -> Axis | None:
        """The spectral axis; None without one that has coordinates."""
        found = self.coordinates
        if not self.has_channels:
            return None
        if self.axis is not None or found.spectral_axis is None:
            return self.axis
        try:
            axis = found.axis(found.spectral_axis)
        except TachyfitsError:
            return None
        return axis if axis.has_coordinate else None

    def lengths(self, axes: Iterable[int]) -> tuple[int, ...]:
        """Return the numbers of pixels along FITS axes."""
        return tuple(self.shape[len(self.shape) - axis] for axis in axes)


def tell_differences(operands: Iterable[Any], *, strict: bool = False) -> None:
    """Warn of the first difference between the places of pixels that are combined.

    ``operands``: images, planes and spectra; anything else has no places. The first one's are
    those of the result.

    Raises
    ------
    UsageError
        There is a difference, and one of them, or the call, is strict.
    """
    # Their classes are in layers above this one.
    grids = [each._grid() for each in operands if hasattr(type(each), "_grid")]
    # Those without coordinates are at the place of any other.
    for one, other in itertools.combinations(grids, 2):
        found = difference(one, other)
        if found is None:
            continue
        if strict or any(grid.is_strict for grid in grids):
            raise usage(
                f"pixels at different places cannot be combined: {found}",
                "resample one of the images; or allow it: "
                + either("strict=False", "leave --strict out", "leave strict out"),
            )
        warn(
            f"pixels at different places are combined: {found}; the result has the coordinates of "
            "the first"
        )
        return


def difference(one: Grid, other: Grid) -> str | None:
    """Return the first difference between places of the pixels that two grids share; None: none."""
    if one.coordinates is other.coordinates:
        return None
    return _on_sky(one, other) or _along_channels(one, other)


def _on_sky(one: Grid, other: Grid) -> str | None:
    first, second = one.sky, other.sky
    if first is None or second is None:
        return None
    if one.is_placed and other.is_placed and first.axes != second.axes:
        axes = (" and ".join(f"NAXIS{n}" for n in sky.axes) for sky in (first, second))
        return _told(one, other, "the sky is on", *axes)
    lengths = one.lengths(first.axes)
    if lengths != other.lengths(second.axes) or 0 in lengths:
        # Of other sizes, they are not pixel beside pixel.
        return None
    cards = _cards(one, first.axes), _cards(other, second.axes)
    if cards[0] == cards[1]:
        return None
    try:
        away = _apart(first, second, lengths)
    except TachyfitsError:
        # No way leads from one frame to the other, or WCSLIB cannot evaluate one.
        if first.frame == second.frame:
            return _told(one, other, *_named(*cards, _SKY_CARDS))
        return _told(one, other, "the frame of the sky is", first.frame, second.frame)
    if away is None:
        return _told(one, other, *_named(*cards, _SKY_CARDS))
    if away <= TOLERANCE:
        return None
    text = _told(one, other, *_named(*cards, _SKY_CARDS))
    return f"{text}, {away:.3g} pixels apart on the sky"


def _apart(first: Sky, second: Sky, lengths: tuple[int, ...]) -> float | None:
    """Return how far apart the same pixels of two skies are at most, in pixels of the first.

    None where no pixel is on both.
    """
    ends = (np.linspace(0.0, length - 1.0, min(length, _ON_SKY)) for length in lengths)
    x, y = (grid.ravel() for grid in np.meshgrid(*ends))
    places = directions(first, x, y)
    others = _in_frame(directions(second, x, y), second, first)
    with np.errstate(invalid="ignore"):
        steps = [
            np.linalg.norm(directions(first, x + dx, y + dy) - places, axis=1)
            for dx, dy in ((0.5, 0.0), (0.0, 0.5))
        ]
        away = np.linalg.norm(others - places, axis=1) / (2 * np.fmin(*steps))
    away = away[np.isfinite(away)]
    return float(away.max()) if away.size else None


def _in_frame(vectors: NDArray[np.float64], of: Sky, to: Sky) -> NDArray[np.float64]:
    """Return directions in the frame of another sky."""
    if of.frame == to.frame and _same_frame(of, to):
        return vectors
    from astropy.coordinates import CartesianRepresentation, SkyCoord

    with foreign_errors(f"no way from {of.frame} to {to.frame}", "use pixels"):
        at = SkyCoord(CartesianRepresentation(vectors.T), frame=of.astropy_frame)
        there = at.transform_to(to.astropy_frame).represent_as("unitspherical").to_cartesian()
        return np.asarray(there.xyz.value.T)


def _same_frame(one: Sky, other: Sky) -> bool:
    try:
        return bool(one.astropy_frame.is_equivalent_frame(other.astropy_frame))
    except (TachyfitsError, TypeError):
        # Frames that astropy does not have: the names are the same.
        return True


def _along_channels(one: Grid, other: Grid) -> str | None:
    first, second = one.spectral, other.spectral
    if first is None or second is None:
        return None
    if one.is_placed and other.is_placed and first.number != second.number:
        axes = (f"NAXIS{axis.number}" for axis in (first, second))
        return _told(one, other, "the spectral axis is", *axes)
    (count,) = one.lengths([first.number])
    if other.lengths([second.number]) != (count,) or not count:
        return None
    frames = frame_of(one.coordinates), frame_of(other.coordinates)
    if None not in frames and frames[0] != frames[1]:
        return _told(one, other, "SPECSYS =", *frames)
    cards = _cards(one, [first.number]), _cards(other, [second.number])
    pixels = np.unique(np.linspace(0.0, count - 1.0, min(count, _CHANNELS)).round())
    try:
        values = first.values(pixels)
        others = _values_as(first, second, other, pixels)
        widths = first.widths(pixels, 1)
    except TachyfitsError:
        return _told(one, other, *_named(*cards, _AXIS_CARDS))
    with np.errstate(invalid="ignore", divide="ignore"):
        away = np.abs(values - others) / widths
    if not (away > TOLERANCE).any():
        return None
    text = _told(one, other, *_named(*cards, _AXIS_CARDS))
    return f"{text}, {float(np.nanmax(away)):.3g} channels apart"


def _values_as(
    axis: Axis, other: Axis, grid: Grid, pixels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the coordinates of pixels of another axis as those of an axis.

    Raises
    ------
    UsageError
        They cannot be converted.
    """
    values = other.values(pixels)
    if axis.kind == other.kind:
        own, unit = (fits_unit(each.unit, SPECTRAL) for each in (axis, other))
        if axis.unit == other.unit or own is None or unit is None:
            return values
        with foreign_errors("the units cannot be converted", "use channels"):
            return np.asarray(values * float(unit.to(own)))
    line = Line(axis.unit, convention=_CONVENTIONS.get(axis.kind))
    return converted(other, grid.coordinates, values, line)


# Words of messages.


def _cards(grid: Grid, axes: Iterable[int]) -> dict[str, tuple[str, Any]]:
    """Return the cards of axes: keyword and value, by the keyword with numbers from 1."""
    found: dict[str, tuple[str, Any]] = {}
    same = {number: number for number in range(1, grid.coordinates.ndim + 1)}
    try:
        for keyword, kind, value in grid.coordinates.cards.checked(list(axes)):
            if kind is not None and (kind.is_essential or kind.root in _OF_FRAMES):
                found[keyword] = (kind.renumbered(same) if kind.axes else keyword, value)
    except TachyfitsError:
        return {}
    return found


#: Cards that are not essential to astropy, and say in which frame the sky is.
_OF_FRAMES = ("RADESYS", "RADECSYS", "EQUINOX", "EPOCH")


def _named(
    one: dict[str, tuple[str, Any]], other: dict[str, tuple[str, Any]], roots: tuple[str, ...]
) -> tuple[str, Any, Any]:
    """Return the first card that differs, as `_told` takes it."""

    def place(keyword: str) -> int:
        return next((n for n, root in enumerate(roots) if keyword.startswith(root)), len(roots))

    for keyword in sorted({**one, **other}, key=place):
        (name, value), (named, found) = (cards.get(keyword, ("", None)) for cards in (one, other))
        if value != found:
            return f"{name or named} =", value, found
    return "coordinates", "those", "others"


def _told(one: Grid, other: Grid, what: str, first: Any, second: Any) -> str:
    def said(value: Any) -> str:
        return "absent" if value is None else repr(value) if what.endswith("=") else str(value)

    if one.name == other.name:
        return f"{what} {said(first)} and {said(second)}"
    names = (grid.name or "memory" for grid in (one, other))
    places = (f"{said(at)} in {name}" for at, name in zip((first, second), names, strict=True))
    return f"{what} {' and '.join(places)}"
