"""A plane of the sky: colours, coordinates, colour bar, beam."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import TachyfitsError
from tachyfits._beam import beam_of
from tachyfits._coordinates import Coordinates
from tachyfits._errors import foreign_errors, usage
from tachyfits._header import Header
from tachyfits._results import Plane
from tachyfits._writer import write_atomically
from tachyfits.plot._figure import new_figure, style, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure

#: A function of arrays, from 0..1 to 0..1.
Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]

STRETCHES = ("linear", "log", "asinh", "sqrt")

#: Pixels without a value.
BLANK_COLOUR = "#d9d9d9"

#: Longest side in inches of the picture itself.
_SIDE = 5.6


def plane_figure(
    plane: Plane,
    *,
    stretch: str = "linear",
    percentile: float | None = None,
    low: float | None = None,
    high: float | None = None,
    colormap: str | Colormap | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a plane with sky coordinates, a colour bar with the unit, and the beam.

    Parameters
    ----------
    plane
        Values of shape (y, x); NaN is drawn grey.
    stretch
        "linear", "log" (a thousandfold), "asinh" or "sqrt": how values become colours.
    percentile
        Cut at this percentile of the values and as much below; None: from min to max.
    low, high
        The values of the first and the last colour, instead of ``percentile``.
    colormap
        A name that matplotlib knows; None: one that suits the values.
    title
        None: the name of the plane and the object.

    Returns
    -------
    matplotlib.figure.Figure
        Pixels without sky coordinates are numbered as in FITS, from 1.
    """
    limits = cuts(plane.values, percentile, low, high)
    rows, columns = plane.shape
    scale = _SIDE / max(rows, columns)
    # Room for labels and the colour bar; a strip of a few rows is drawn at least an inch high.
    width, height = max(columns * scale, 1.0) + 1.9, max(rows * scale, 1.0) + 1.0
    with style():
        figure = new_figure(width, height)
        draw_plane(
            figure, 111, plane, limits=limits, stretch=stretch,
            colormap=colormap_of(colormap, plane), title=title,
        )  # fmt: skip
    return figure


def draw_plane(
    figure: Figure,
    place: Any,
    plane: Plane,
    *,
    limits: tuple[float, float],
    stretch: str = "linear",
    colormap: Colormap,
    title: str | None = None,
) -> Axes:
    """Draw a plane into a place (as of ``Figure.add_subplot``) of a figure.

    ``limits`` are the values of the first and the last colour, in the plane's unit.
    """
    sky = _sky(plane)
    axes = figure.add_subplot(place, projection=sky) if sky else figure.add_subplot(place)
    unit, factor = _shown(plane)
    values = np.ma.masked_invalid(plane.values) * factor
    norm = normalisation(stretch, limits[0] * factor, limits[1] * factor)
    rows, columns = plane.shape
    # wcsaxes counts pixels from 0; a plain axis shows FITS's numbers.
    first = 0.0 if sky else 1.0
    extent = (first - 0.5, first + columns - 0.5, first - 0.5, first + rows - 0.5)
    shown = axes.imshow(
        values, origin="lower", norm=norm, cmap=colormap, extent=extent,
        interpolation="nearest" if max(rows, columns) < 600 else "auto",
        aspect="equal" if 0.05 < rows / columns < 20 else "auto",
    )  # fmt: skip
    for spine in axes.spines.values():
        spine.set_visible(True)
    if sky:
        _label_sky(axes)
    else:
        axes.set_xlabel("x [pixel]")
        axes.set_ylabel("y [pixel]")
    bar = figure.colorbar(shown, ax=axes, pad=0.02, fraction=0.046)
    bar.set_label(with_unit(plane.name or "value", unit))
    _label_colours(bar, norm)
    bar.outline.set_linewidth(0.6)
    axes.set_title(_title(plane) if title is None else title)
    outline = beam_outline(plane.header)
    if outline is not None:
        _draw_beam(axes, outline, (columns, rows), first)
    return axes


def cuts(
    values: NDArray[np.float64], percentile: float | None, low: float | None, high: float | None
) -> tuple[float, float]:
    """Return the values of the first and the last colour.

    >>> cuts(np.arange(101.0), 99, None, None), cuts(np.arange(3.0), None, 0.5, None)
    ((1.0, 99.0), (0.5, 2.0))
    """
    good = values[np.isfinite(values)]
    if good.size == 0:
        first, last = 0.0, 1.0
    elif percentile is None:
        first, last = float(good.min()), float(good.max())
    else:
        if not 50 < percentile <= 100:
            raise usage(f"percentile={percentile} cuts nothing", "use one above 50, up to 100")
        first, last = (float(p) for p in np.percentile(good, [100 - percentile, percentile]))
    first, last = (first if low is None else low), (last if high is None else high)
    if not first <= last:
        raise usage(f"the first colour is at {first}, the last at {last}", "give low < high")
    # Equal values would leave the colours undefined.
    return (first, last) if first < last else (first - 0.5, last + 0.5)


def normalisation(stretch: str, low: float, high: float) -> Normalize:
    """Return how values between two cuts become 0 to 1.

    "log" is log(1 + 1000 t) / log(1001), "asinh" is asinh(10 t) / asinh(10), "sqrt" is the square
    root of t, of t from 0 at ``low`` to 1 at ``high``; values outside get the first or last colour.
    """
    from matplotlib.colors import FuncNorm, Normalize

    if stretch not in STRETCHES:
        raise usage(f"there is no stretch {stretch!r}", f"use one of {', '.join(STRETCHES)}")
    if stretch == "linear":
        return Normalize(low, high, clip=True)
    to_colour, to_value = _CURVES[stretch]

    def forward(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return to_colour(np.clip((values - low) / (high - low), 0.0, 1.0))

    def backward(colours: NDArray[np.float64]) -> NDArray[np.float64]:
        return low + (high - low) * to_value(np.clip(colours, 0.0, 1.0))

    return FuncNorm((forward, backward), low, high, clip=True)


#: Each stretch with its inverse, from 0..1 to 0..1.
_CURVES: dict[str, tuple[Curve, Curve]] = {
    "log": (
        lambda t: np.log1p(1000 * t) / np.log(1001),
        lambda c: np.expm1(c * np.log(1001)) / 1000,
    ),
    "asinh": (
        lambda t: np.arcsinh(10 * t) / np.arcsinh(10),
        lambda c: np.sinh(c * np.arcsinh(10)) / 10,
    ),
    "sqrt": (np.sqrt, np.square),
}


def _label_colours(bar: Colorbar, norm: Normalize) -> None:
    """Put the values of a stretched colour bar at equal distances, where none overlap."""
    from matplotlib.colors import FuncNorm

    if isinstance(norm, FuncNorm):
        values = np.asarray(norm.inverse(np.linspace(0.0, 1.0, 8)))
        bar.set_ticks(values.tolist(), labels=[f"{value:.3g}" for value in values])
        bar.minorticks_off()


def _shown(plane: Plane) -> tuple[str | None, float]:
    """Return the unit to draw a plane in, and its factor: fast gas is in km/s."""
    unit = plane.unit or ""
    for metres in ("m/s", "m s-1"):
        if unit == metres or unit.endswith(f" {metres}"):
            return f"{unit.removesuffix(metres)}km/s", 1e-3
    return plane.unit, 1.0


def colormap_of(name: str | Colormap | None, plane: Plane) -> Colormap:
    """Return a colour map: by name, or the one that suits a plane (velocities: blue to red)."""
    with style():
        from matplotlib import colormaps
        from matplotlib.colors import Colormap

        if isinstance(name, Colormap):
            return name
        chosen = name or ("RdBu_r" if plane.name == "moment 1" else "inferno")
        try:
            colormap = colormaps[chosen]
        except KeyError:
            some = "inferno, viridis, gray, cubehelix, RdBu_r"
            raise usage(f"matplotlib has no colour map {chosen!r}", f"try {some}") from None
        return colormap.with_extremes(bad=BLANK_COLOUR)


def save_pixels(
    plane: Plane,
    path: str | os.PathLike[str],
    *,
    stretch: str = "linear",
    percentile: float | None = None,
    low: float | None = None,
    high: float | None = None,
    colormap: str | Colormap | None = None,
    overwrite: bool = False,
) -> None:
    """Write a PNG of the pixels alone, one for one, y upwards; blank ones are transparent.

    Parameters as of `plane_figure`.
    """
    norm = normalisation(stretch, *cuts(plane.values, percentile, low, high))
    colours = colormap_of(colormap, plane)(norm(plane.values), bytes=True)
    colours[~np.isfinite(plane.values)] = 0
    with style():
        from matplotlib.image import imsave

        write_atomically(
            path,
            lambda stream: imsave(stream, colours[::-1], format="png"),
            overwrite=overwrite,
        )


def _sky(plane: Plane) -> Any:
    """Return celestial coordinates of a plane, or None where the header gives none that hold."""
    try:
        world = plane.wcs
        with foreign_errors("the plane has no coordinates", "draw it in pixels"):
            if world.naxis != 2 or not world.has_celestial:
                return None
            # A header may name axes and lack what makes them work.
            rows, columns = plane.shape
            middle = world.pixel_to_world_values((columns - 1) / 2, (rows - 1) / 2)
    except TachyfitsError:
        return None
    return world if np.isfinite(middle).all() else None


def _label_sky(axes: Any) -> None:
    names = {"ra": "right ascension", "dec": "declination", "glon": "Galactic longitude",
             "glat": "Galactic latitude"}  # fmt: skip
    for coordinate in axes.coords:
        ctype = str(coordinate.default_label).lower()
        label = next((text for key, text in names.items() if key in ctype), None)
        position = coordinate.get_axislabel_position
        if callable(position) and label:
            coordinate.set_axislabel(label)
    axes.coords.grid(color="white", alpha=0.18, linewidth=0.5)


def _title(plane: Plane) -> str:
    name = str(plane.header.get("OBJECT") or "").strip()
    return f"{name}: {plane.name}" if name and plane.name else name or plane.name


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


def _draw_beam(
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
