"""Check that pixels to be combined have the same positions, on the sky and along the spectral axis.

Operators, expressions, masks and planes call `tell_differences`. It compares positions, not cards:
differences below a thousandth of a pixel or a channel are ignored, in any projection, frame and
unit.
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

#: Pixels closer than this fraction of a pixel have the same position.
TOLERANCE = 1e-3
#: Maximum number of positions compared along each sky axis, and along a spectral axis.
_ON_SKY, _CHANNELS = 9, 1025

#: Cards that determine pixel positions along an axis, in the order in which messages name them.
_SKY_CARDS = ("CTYPE", "CRVAL", "CRPIX", "CDELT", "CD", "PC", "CROTA", "CUNIT", "RADESYS")
_AXIS_CARDS = ("CTYPE", "CUNIT", "CRVAL", "CRPIX", "CDELT")
#: Conventions of velocities, by CTYPE.
_CONVENTIONS = {"VRAD": "radio", "VOPT": "optical", "FELO": "optical", "VELO": "relativistic"}


@dataclass(frozen=True)
class Grid:
    """Positions of the pixels of an image, a plane or a spectrum.

    Attributes
    ----------
    name
        File name for messages.
    coordinates
        Coordinates of the header.
    shape
        Shape of the axes that the header describes, in NumPy order.
    is_placed
        Whether axes match by number, as for images; axes of planes and spectra match by role.
    is_strict
        Whether a difference is an error.
    axis
        Spectral axis, if it is not the header's.
    has_channels
        Whether to compare channels; a mask of a single plane applies to any channel.
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
        """Sky of the header; None if it has no usable sky."""
        try:
            return self.coordinates.sky
        except TachyfitsError:
            return None

    @property
    def spectral(self) -> Axis | None:
        """Spectral axis; None if it has no coordinates."""
        coordinates = self.coordinates
        if not self.has_channels:
            return None
        if self.axis is not None or coordinates.spectral_axis is None:
            return self.axis
        try:
            axis = coordinates.axis(coordinates.spectral_axis)
        except TachyfitsError:
            return None
        return axis if axis.has_coordinate else None

    def lengths(self, axes: Iterable[int]) -> tuple[int, ...]:
        """Return the lengths of FITS axes in pixels."""
        return tuple(self.shape[len(self.shape) - axis] for axis in axes)


def tell_differences(operands: Iterable[Any], *, strict: bool = False) -> None:
    """Warn about the first difference between the positions of pixels that are combined.

    ``operands``: images, planes and spectra; other objects have no positions. The result has the
    positions of the first operand.

    Raises
    ------
    UsageError
        Positions differ, and an operand, or the call, is strict.
    """
    # Classes with `_grid` are in layers above this one.
    grids = [each._grid() for each in operands if hasattr(type(each), "_grid")]
    # Grids without coordinates match any other.
    for first, second in itertools.combinations(grids, 2):
        problem = difference(first, second)
        if problem is None:
            continue
        if strict or any(grid.is_strict for grid in grids):
            raise usage(
                f"pixels at different places cannot be combined: {problem}",
                "resample one of the images; or allow it: "
                + either("strict=False", "leave --strict out", "leave strict out"),
            )
        warn(
            f"pixels at different places are combined: {problem}; the result has the "
            "coordinates of the first"
        )
        return


def difference(one: Grid, other: Grid) -> str | None:
    """Return the first difference between the positions of pixels that two grids share, or None."""
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
        # Images of different sizes have no common pixel grid.
        return None
    cards = _cards(one, first.axes), _cards(other, second.axes)
    if cards[0] == cards[1]:
        return None
    try:
        away = _apart(first, second, lengths)
    except TachyfitsError:
        # astropy has no conversion between the frames, or WCSLIB cannot evaluate one of them.
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
    """Return the largest distance of equal pixels on two skies, in pixels of the first.

    None if no pixel is on both skies.
    """
    ends = (np.linspace(0.0, length - 1.0, min(length, _ON_SKY)) for length in lengths)
    x, y = (grid.ravel() for grid in np.meshgrid(*ends))
    places = directions(first, x, y)
    vectors = _in_frame(directions(second, x, y), second, first)
    with np.errstate(invalid="ignore"):
        steps = [
            np.linalg.norm(directions(first, x + dx, y + dy) - places, axis=1)
            for dx, dy in ((0.5, 0.0), (0.0, 0.5))
        ]
        away = np.linalg.norm(vectors - places, axis=1) / (2 * np.fmin(*steps))
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
        # astropy lacks these frames, and their names are equal.
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
        compared = _values_as(first, second, other, pixels)
        widths = first.widths(pixels, 1)
    except TachyfitsError:
        return _told(one, other, *_named(*cards, _AXIS_CARDS))
    with np.errstate(invalid="ignore", divide="ignore"):
        away = np.abs(values - compared) / widths
    if not (away > TOLERANCE).any():
        return None
    text = _told(one, other, *_named(*cards, _AXIS_CARDS))
    return f"{text}, {float(np.nanmax(away)):.3g} channels apart"


def _values_as(
    axis: Axis, other: Axis, grid: Grid, pixels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return coordinates of pixels of ``other``, converted to the coordinate of ``axis``.

    Raises
    ------
    UsageError
        The coordinates are not convertible.
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


# Message texts.


def _cards(grid: Grid, axes: Iterable[int]) -> dict[str, tuple[str, Any]]:
    """Return keyword and value of the cards of axes, by keyword with numbers from 1."""
    cards: dict[str, tuple[str, Any]] = {}
    numbers = {number: number for number in range(1, grid.coordinates.ndim + 1)}
    try:
        for keyword, kind, value in grid.coordinates.cards.checked(list(axes)):
            if kind is not None and (kind.is_essential or kind.root in _OF_FRAMES):
                cards[keyword] = (kind.renumbered(numbers) if kind.axes else keyword, value)
    except TachyfitsError:
        return {}
    return cards


#: Cards of the sky's frame, which astropy does not count as essential.
_OF_FRAMES = ("RADESYS", "RADECSYS", "EQUINOX", "EPOCH")


def _named(
    one: dict[str, tuple[str, Any]], other: dict[str, tuple[str, Any]], roots: tuple[str, ...]
) -> tuple[str, Any, Any]:
    """Return the first card that differs, in the form that `_told` expects."""

    def place(keyword: str) -> int:
        return next((n for n, root in enumerate(roots) if keyword.startswith(root)), len(roots))

    for keyword in sorted({**one, **other}, key=place):
        (name, value), (other_name, other_value) = (
            cards.get(keyword, ("", None)) for cards in (one, other)
        )
        if value != other_value:
            return f"{name or other_name} =", value, other_value
    return "coordinates", "those", "others"


def _told(one: Grid, other: Grid, what: str, first: Any, second: Any) -> str:
    def said(value: Any) -> str:
        return "absent" if value is None else repr(value) if what.endswith("=") else str(value)

    if one.name == other.name:
        return f"{what} {said(first)} and {said(second)}"
    names = (grid.name or "memory" for grid in (one, other))
    places = (f"{said(at)} in {name}" for at, name in zip((first, second), names, strict=True))
    return f"{what} {' and '.join(places)}"
