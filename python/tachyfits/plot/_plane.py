"""A plane of the sky: colours, coordinates, colour bar, contours, beam."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import Header, Plane, TachyfitsError
from tachyfits.base import either, foreign_errors, usage, warn, write_atomically
from tachyfits.header import Coordinates, beam_of
from tachyfits.plot._figure import FigureSize, axes_at, colour_bar, page, style
from tachyfits.plot._kinds import OF_COORDINATES, kind_of
from tachyfits.plot._labels import (
    axis_name,
    capitalised,
    coordinate_label,
    set_title,
    shown_unit,
    title_of,
    with_unit,
)
from tachyfits.plot._limits import limits_of, noise_of, round_values, sample, stretched
from tachyfits.plot._marks import Catalogue, Key, Vectors, draw_keys, draw_points, draw_vectors
from tachyfits.plot._overlays import draw_other, draw_regions, draw_scale_bar, listed_overlays
from tachyfits.text import is_celestial, is_latitude

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure

    #: Contours: whether, how many, or at which values.
    Contours = bool | int | Sequence[float] | None

    #: Drawn over a plane: contours of another one, points, vectors.
    Overlay = Plane | Catalogue | Vectors

#: Pixels without a value: a grey that no colour map here has.
BLANK_COLOUR = "#a6a6a6"

#: Contours of a picture. More are no longer lines beside each other, and take minutes.
_MOST_CONTOURS = 200

#: Colour maps whose lightness says the value, so that people who do not tell hues apart see it.
BRIGHTNESS, VELOCITY, DISPERSION = "inferno", "RdBu_r", "viridis"

#: Names of the values of a plane beside the colour bar.
_VALUES = {
    "moment 0": "Integrated intensity",
    "moment 2": "Dispersion",
    "pixels": "Pixel value",
    "count": "Number of pixels",
    "nan": "Number of undefined pixels",
}

#: Planes that are maps of a line.
_OF_LINES = ("moment 0", "sum", "max")

#: Contours follow the means of blocks, so that this many lie along the longer side.
_CONTOUR_BLOCKS = 200

#: Longest side in inches of the picture itself.
_SIDE = 5.6

#: A picture's longer side may be this many times the shorter before pixels stop being square.
_LONGEST = 20


def plane_figure(
    plane: Plane,
    *,
    cmap: str | Colormap | None = None,
    contours: Contours = None,
    title: str | None = None,
    label: str | None = None,
    scale_bar: Any = False,
    overlay: Overlay | Sequence[Overlay] | None = None,
    overlay_levels: Sequence[float] | int = 5,
    regions: Any = None,
    ax: Axes | None = None,
    figsize: FigureSize = None,
    **colours: Any,
) -> Figure:
    """Draw a plane with sky coordinates, a colour bar with the unit, and the beam.

    Parameters
    ----------
    plane
        Values of shape (y, x); NaN is drawn grey.
    cmap
        A colour map of matplotlib or its name; None: one that suits the values.
    contours
        True: at multiples of the noise or at round values; a number of them, or their values.
    title
        None: the object, or else the file, and the name of the plane.
    label
        Label of the colour bar; None: the name of the values with their unit.
    scale_bar
        True: a bar of a round angle; or its angle, "30arcsec". It needs sky coordinates.
    overlay, overlay_levels
        Another plane of the sky, drawn as contours where its own coordinates put them, and the
        values or the number of these; or the points of a `Catalogue`, or the `Vectors` of a
        polarisation; or a list of them.
    regions
        Regions whose borders are drawn, as `tachyfits.region` takes them: in pixels of the plane,
        or on the sky; one or a list.
    ax
        Axes of a figure of yours to draw in. Plain axes give their place to axes with coordinates
        of the sky; axes of astropy get the coordinates of the plane.
    figsize
        Inches: a width, whose height follows without empty bands, or a width and a height, as
        matplotlib takes them. 3.5 is a column of a journal; letters suit the width.
    **colours
        How values become colours. ``stretch``: "linear", "log", "asinh" or "sqrt". ``limits``:
        "zscale" (of the background and faint sources, as in IRAF and DS9), "minmax", "percentile",
        "percentile99" or two numbers; without it zscale; the percentiles 1 and 99.9 for other
        stretches than linear, 0.1 and 99.9 for maps of a line (moment 0, sum, max), 2 and 98 for
        velocities and dispersions, of the pixels that have one. ``percentile``: limits at this
        percentile and as much below; 99.5 for ``limits="percentile"``. ``low``, ``high``: the value
        of the first and of the last colour, in place of what ``limits`` gives.

    Returns
    -------
    matplotlib.figure.Figure
        Pixels without sky coordinates are numbered as in FITS, from 1. Axes of right ascension
        name the equinox or the system that the header gives.

    Notes
    -----
    A moment that was read from a file is drawn as the moment that BTYPE, HISTORY or BUNIT names.
    """
    drawn = colours_of(plane, cmap, **colours)
    rows, columns = plane.shape
    scale = _SIDE / max(rows, columns)
    # Room for labels and the colour bar; a strip of a few rows is drawn at least an inch high.
    size = max(columns * scale, 1.0) + 1.9, max(rows * scale, 1.0) + 1.0
    with page(ax, figsize, size) as figure:
        draw_plane(
            figure, 111 if ax is None else ax, plane, drawn, title=title, label=label,
            over=Over(contours, scale_bar, overlay, overlay_levels, regions),
        )  # fmt: skip
    return figure


@dataclass(frozen=True)
class Colours:
    """How the values of a picture become colours.

    Attributes
    ----------
    limits
        The values of the first and the last colour, in the unit of the values.
    cmap
        The colour map.
    stretch
        One of `STRETCHES`.
    """

    limits: tuple[float, float]
    cmap: Colormap
    stretch: str = "linear"


def colours_of(
    plane: Plane, cmap: str | Colormap | None = None, *, stretch: str = "linear",
    within: NDArray[np.bool_] | None = None, **limits: Any,
) -> Colours:  # fmt: skip
    """Return how a plane is coloured; ``within``: the pixels that choose the limits."""
    if within is not None:
        plane = replace(plane, values=np.where(within, plane.values, np.nan))
    return Colours(_limits(plane, stretch, **limits), colormap_of(cmap, plane), stretch)


@dataclass(frozen=True)
class Over:
    """Drawings over the pixels of a plane, as `plane_figure` takes them."""

    contours: Contours = None
    scale_bar: Any = False
    overlay: Overlay | Sequence[Overlay] | None = None
    overlay_levels: Sequence[float] | int = 5
    regions: Any = None


def draw_plane(
    figure: Figure,
    place: Any,
    plane: Plane,
    colours: Colours,
    *,
    title: str | None = None,
    label: str | None = None,
    over: Over | None = None,
) -> Axes:
    """Draw a plane into a place of a figure, as `axes_at` takes it."""
    sky, over = sky_of(plane), over or Over()
    overlays = listed_overlays(over.overlay)
    by_sky = [one for one in overlays if not isinstance(one, Catalogue)]
    if sky is None and (over.scale_bar or by_sky):
        raise usage(
            "a scale bar, vectors and contours of another image need sky coordinates, which the "
            "plane lacks",
            "leave them out",
        )
    axes: Axes = axes_at(figure, place, sky)
    limits, colormap = colours.limits, colours.cmap
    unit, factor = shown_unit(plane.unit, max(map(abs, limits)))
    values = np.ma.masked_invalid(plane.values) * factor
    norm = stretched(colours.stretch, plane.values, limits, factor)
    rows, columns = plane.shape
    # wcsaxes counts pixels from 0; a plain axis shows FITS's numbers, or its coordinates.
    x, y = (_Side("", 0.0, 1.0), _Side("", 0.0, 1.0)) if sky else _sides(plane)
    extent = (*x.ends(columns), *y.ends(rows))
    like_pixels = x.step == y.step == 1.0
    shown = axes.imshow(
        values, origin="lower", norm=norm, cmap=colormap, extent=extent,
        interpolation="nearest" if max(rows, columns) < 600 else "auto",
        aspect="equal" if like_pixels and 1 / _LONGEST < rows / columns < _LONGEST else "auto",
    )  # fmt: skip
    for spine in axes.spines.values():
        spine.set_visible(True)
    if sky:
        label_sky(axes, sky, equinox_of(plane))
    else:
        axes.set_xlabel(x.label)
        axes.set_ylabel(y.label)
    draw_contours(axes, values, over.contours, norm, colormap, (x.first, y.first), (x.step, y.step))
    bar = colour_bar(figure, shown, axes, label or with_unit(name_of_values(plane, unit), unit))
    round_ticks(bar, norm)
    kind = kind_of(plane)
    shown_name = "" if kind == "pixels" else kind
    set_title(axes, title_of(plane.header, shown_name, plane.source) if title is None else title)
    outline = beam_outline(plane.header)
    if outline is not None:
        draw_beam(axes, outline, (columns, rows), x.first)
    keys: list[Key] = []
    for one in overlays:
        if isinstance(one, Catalogue):
            draw_points(axes, one, plane, (x.first, y.first), (x.step, y.step))
        elif isinstance(one, Vectors):
            key = draw_vectors(axes, one, columns)
            keys += [] if key is None else [key]
        else:
            draw_other(axes, one, _levels_of(one, over.overlay_levels))
    if over.regions is not None:
        draw_regions(axes, over.regions, plane, (x.first, y.first))
    if keys:
        draw_keys(axes, keys)
    if over.scale_bar:
        draw_scale_bar(axes, sky, columns, over.scale_bar)
    return axes


def _levels_of(plane: Plane, levels: Sequence[float] | int) -> list[float]:
    """Return the values of contours of another plane: those given, or round ones."""
    limits = limits_of(
        plane.values, "percentile99.9", percentile=None, low=None, high=None, stretch="linear",
        of_coordinates=False,
    )  # fmt: skip
    norm = stretched("linear", plane.values, limits)
    return contour_levels(plane.values, levels, norm)


@dataclass(frozen=True)
class _Side:
    """An axis of a picture: its label, the coordinate of its first pixel, and from one to the next.

    Pixels of an axis without coordinates count from 1.
    """

    label: str
    first: float
    step: float

    def ends(self, count: int) -> tuple[float, float]:
        """Return the outer edges of the first and the last pixel."""
        return self.first - self.step / 2, self.first + (count - 0.5) * self.step


def _sides(plane: Plane) -> tuple[_Side, _Side]:
    """Return the axes x and y of a plane that is not of the sky, such as offset and velocity."""
    x, y = _Side(with_unit("x", "pixel"), 1.0, 1.0), _Side(with_unit("y", "pixel"), 1.0, 1.0)
    if plane.kept_axis is not None:
        return x, y
    coordinates = Coordinates(plane.header, 2, plane.source, tell=lambda text: None)
    return _side(coordinates, 1, plane.shape[1]) or x, _side(coordinates, 0, plane.shape[0]) or y


def _side(coordinates: Coordinates, number: int, count: int) -> _Side | None:
    """Return an axis with coordinates at equal steps, by its NumPy number; None for another."""
    try:
        axis = coordinates.world_axis(number, 0, count, 1)
    except TachyfitsError:  # cards that cannot be used
        return None
    steps = np.diff(axis.values)
    if axis.unit == "pixel" or count < 2 or not np.isfinite(axis.values).all():
        return None
    if steps[0] == 0 or not np.allclose(steps, steps[0], rtol=1e-6, atol=0):
        return None
    unit, factor = shown_unit(axis.unit, float(np.abs(axis.values).max()))
    label = coordinate_label(axis.name, unit)
    return _Side(label, factor * float(axis.values[0]), factor * float(steps[0]))


def _limits(plane: Plane, stretch: str, **limits: Any) -> tuple[float, float]:
    """Return the values of the first and the last colour, as `limits_of` takes them.

    The limits of maps of a line show the source, not noise.
    """
    bounds = [limits.get(name) for name in ("limits", "percentile")]
    kind = kind_of(plane)
    if bounds == [None, None] and stretch == "linear" and kind in _OF_LINES:
        limits = limits | {"limits": "percentile99.9"}
    of_coordinates = kind in OF_COORDINATES
    return limits_of(plane.values, stretch=stretch, of_coordinates=of_coordinates, **limits)


def is_velocity_map(plane: Plane) -> bool:
    """Say whether values lie on both sides of a middle: coordinates along the spectral axis."""
    kind = kind_of(plane)
    return kind == "moment 1" or kind.endswith("_coordinate")


def name_of_values(plane: Plane, unit: str) -> str:
    """Return what the values are, for the colour bar."""
    velocity, kind = unit.endswith("m/s"), kind_of(plane)
    if is_velocity_map(plane):
        return "Velocity" if velocity else "Spectral coordinate"
    if kind == "moment 2" and velocity:
        return "Velocity dispersion"
    named = plane.header.get("BTYPE")
    if kind == "pixels" and isinstance(named, str) and named.strip():
        return capitalised(named.strip())
    return _VALUES.get(kind) or capitalised(kind.replace("_", " "))


def equinox_of(plane: Plane) -> str:
    """Return "J2000", "B1950" or "ICRS" of right ascensions, if the header gives it."""
    header = plane.header
    keywords = ("RADESYS", "RADECSYS", "EQUINOX", "EPOCH")
    if all(header.get(keyword) is None for keyword in keywords):
        return ""
    try:
        sky = Coordinates(header, 2 if plane.kept_axis is None else 3, tell=lambda text: None).sky
    except TachyfitsError:  # cards that cannot be used
        return ""
    system = None if sky is None else sky.system
    letter = {"FK5": "J", "FK4": "B", "FK4-NO-E": "B"}.get(system.name) if system else None
    if system is None or letter is None or system.equinox is None:
        return system.name if system is not None and system.name == "ICRS" else ""
    return f"{letter}{system.equinox:.7g}"


def round_ticks(bar: Colorbar, norm: Normalize) -> None:
    """Put round values beside a colour bar, at about equal distances; none overlap."""
    from matplotlib.colors import FuncNorm

    if isinstance(norm, FuncNorm):
        values = round_values(norm)
        bar.set_ticks(
            values, labels=[f"{value:.6g}".replace("-", "\N{MINUS SIGN}") for value in values]
        )
        bar.minorticks_off()


def draw_contours(
    axes: Axes,
    values: Any,
    contours: Contours,
    norm: Normalize,
    colormap: Colormap,
    first: tuple[float, float],
    step: tuple[float, float] = (1.0, 1.0),
) -> None:
    """Draw contours over an image; ``first`` and ``step`` place the centres of its pixels."""
    if contours is None or contours is False or min(values.shape) < 2:
        return
    means, block = _block_means(values.filled(np.nan))
    levels = contour_levels(means, contours, norm)
    if not levels:
        return
    x, y = (
        start + size * (block * np.arange(n) + (block - 1) / 2)
        for start, size, n in zip(first, step, reversed(means.shape), strict=True)
    )
    # Black on maps that are light in the middle, white on dark ones.
    middle = sum(colormap(0.35)[:3]) / 3
    colour = "black" if middle > 0.55 else "white"
    axes.contour(
        x, y, np.ma.masked_invalid(means), levels=levels, colors=colour, linewidths=0.7, alpha=0.85
    )


def _block_means(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return an image averaged over square blocks, and their side: noise has no contours."""
    block = max(1, round(max(values.shape) / _CONTOUR_BLOCKS))
    if block == 1 or min(values.shape) < 2 * block:
        return values, 1
    rows, columns = (length // block for length in values.shape)
    whole = values[: rows * block, : columns * block].reshape(rows, block, columns, block)
    good = np.isfinite(whole)
    count = good.sum(axis=(1, 3))
    total = np.where(good, whole, 0.0).sum(axis=(1, 3))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan), block


def contour_levels(
    values: NDArray[np.float64], contours: bool | int | Sequence[float], norm: Normalize
) -> list[float]:
    """Return the values at which contours are drawn, ascending.

    By default they are at 3, 6, 12, ... times the noise above the median if the image is mostly
    background, and otherwise at round values between the limits of the colours.
    """
    if not isinstance(contours, (bool, int, np.integer)):
        levels = sorted({float(level) for level in islice(contours, _MOST_CONTOURS + 1)})
        _check_contours(len(levels))
        if not levels or not np.isfinite(levels).all():
            raise usage(
                "invalid contours: expected finite values",
                either(
                    "give contours=True or a list of values",
                    "give --levels 1,2,3",
                    "give values: 1,2,3",
                ),
            )
        return levels
    if contours is True:
        noise = _noise_levels(values)
        if len(noise) >= 3:
            return noise
    count = 6 if contours is True else int(contours)
    if count < 1:
        raise usage(
            f"invalid contours {count}: expected 1 or more",
            either("give contours=True or a number of them", "leave --contours out"),
        )
    _check_contours(count)
    return round_values(norm, count + 2)[1:-1] if count > 1 else round_values(norm, 3)[1:2]


def _check_contours(count: int) -> None:
    if count > _MOST_CONTOURS:
        raise usage(
            f"invalid contours: expected at most {_MOST_CONTOURS}, found more",
            either("give fewer contours", "give fewer --levels", "give fewer values"),
        )


def _noise_levels(values: NDArray[np.float64]) -> list[float]:
    """Return the median and 3, 6, 12, ... times the noise above it, up to the greatest values."""
    good = sample(values)
    if good.size < 16:
        return []
    median, noise = noise_of(good)
    highest = float(np.percentile(good, 99.98))
    levels: list[float] = []
    factor = 3.0
    while noise > 0 and median + factor * noise < highest and len(levels) < 8:
        levels.append(median + factor * noise)
        factor *= 2
    return levels


def colormap_of(name: str | Colormap | None, plane: Plane) -> Colormap:
    """Return a colour map: by name, or the one that suits a plane (velocities: blue to red)."""
    suited = BRIGHTNESS
    if is_velocity_map(plane):
        suited = VELOCITY
    elif kind_of(plane) in ("moment 2", "count", "nan") or "channel" in plane.name:
        suited = DISPERSION
    return named_colormap(name, suited)


def named_colormap(name: str | Colormap | None, default: str) -> Colormap:
    """Return a colour map with grey for NaN: by its name, or the default."""
    with style():
        from matplotlib import colormaps
        from matplotlib.colors import Colormap

        if isinstance(name, Colormap):
            return name
        colormap_name = name or default
        try:
            colormap = colormaps[colormap_name]
        except KeyError:
            import difflib

            close = difflib.get_close_matches(str(colormap_name), list(colormaps), n=3)
            some = " or ".join(close) or "inferno, viridis, gray, cubehelix, RdBu_r"
            raise usage(f"matplotlib has no colour map {colormap_name!r}", f"try {some}") from None
        return colormap.with_extremes(bad=BLANK_COLOUR)


def save_pixels(
    plane: Plane,
    path: str | os.PathLike[str],
    *,
    cmap: str | Colormap | None = None,
    overwrite: bool = False,
    **colours: Any,
) -> None:
    """Write a PNG of the pixels alone, one for one, y upwards; blank ones are transparent.

    Parameters as of `plane_figure`.
    """
    drawn = colours_of(plane, cmap, **colours)
    norm = stretched(drawn.stretch, plane.values, drawn.limits)
    pixels = drawn.cmap(norm(plane.values), bytes=True)
    pixels[~np.isfinite(plane.values)] = 0
    with style():
        from matplotlib.image import imsave

        write_atomically(
            path,
            lambda stream: imsave(stream, pixels[::-1], format="png"),
            overwrite=overwrite,
        )


def sky_of(plane: Plane) -> Any:
    """Return celestial coordinates of a plane, or None where the header gives none that hold."""
    try:
        world = plane.wcs
        with foreign_errors("the plane has no coordinates", "draw it in pixels"):
            if world.naxis != 2 or not world.has_celestial:
                return None
            # A header may name axes and lack what makes them work.
            rows, columns = plane.shape
            middle = world.pixel_to_world_values((columns - 1) / 2, (rows - 1) / 2)
            # RADESYS may name a frame that is not known.
            world.world_axis_object_classes  # noqa: B018
    except TachyfitsError as error:
        place = f"{plane.source}: " if plane.source else ""
        warn(f"{place}axes are drawn in pixels: {str(error).partition(chr(10))[0]}")
        return None
    return world if np.isfinite(middle).all() else None


def label_sky(axes: Any, world: Any, equinox: str = "") -> None:
    """Name the axes of the sky in full; Galactic and other degrees are decimal, as people use."""
    for coordinate, ctype in zip(axes.coords, world.wcs.ctype, strict=True):
        is_equatorial = str(ctype).startswith(("RA", "DEC"))
        name = axis_name(str(ctype))
        coordinate.set_axislabel(f"{name} ({equinox})" if equinox and is_equatorial else name)
        if coordinate.coord_type == "scalar" and is_celestial(str(ctype)):
            # Of a sky that astropy does not know.
            coordinate.set_coord_type("latitude" if is_latitude(str(ctype)) else "longitude")
        if not is_equatorial and coordinate.coord_type != "scalar":
            coordinate.set_format_unit("deg", decimal=True, show_decimal_unit=True)
        coordinate.set_ticklabel(exclude_overlapping=True)
    axes.coords.grid(color="white", alpha=0.18, linewidth=0.5)


def beam_outline(header: Header) -> NDArray[np.float64] | None:
    """Return the half-power beam as a closed line of (x, y) offsets in pixels; None without one.

    BMAJ and BMIN are full widths in degrees; BPA is counted from north through east, as the sky
    coordinates of the header put north and east on the picture.
    """
    coordinates = Coordinates(header, 3)
    try:
        beam, sky = beam_of(coordinates), coordinates.sky
    except TachyfitsError:  # cards that cannot be used, or a beam for each channel
        return None
    if beam is None or sky is None or sky.axes != (1, 2):
        return None
    # Columns of the matrix: degrees per pixel; its inverse gives pixels per degree.
    east, north = np.linalg.inv(sky.matrix).T
    major, minor, angle = beam.major, beam.minor, beam.angle
    turn = np.deg2rad(angle)
    along = north * np.cos(turn) + east * np.sin(turn)
    across = east * np.cos(turn) - north * np.sin(turn)
    phase = np.linspace(0, 2 * np.pi, 91)[:, None]
    outline: NDArray[np.float64] = (
        np.cos(phase) * along * major / 2 + np.sin(phase) * across * minor / 2
    )
    return outline


def draw_beam(
    axes: Axes, outline: NDArray[np.float64], size: tuple[int, int], first: float
) -> None:
    """Draw the beam into the lower left corner."""
    from matplotlib.patches import Polygon

    half = np.abs(outline).max(axis=0)
    if (2 * half > size).any():
        return
    margin = 0.03 * max(size) + 1
    centre = half + margin + first
    axes.add_patch(
        Polygon(outline + centre, closed=True, facecolor="white", edgecolor="black",
                linewidth=0.8, alpha=0.9)
    )  # fmt: skip
