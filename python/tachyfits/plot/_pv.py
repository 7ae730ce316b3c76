"""A position-velocity diagram: offset along a path by the spectral axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits import TachyfitsError
from tachyfits.base import either, usage
from tachyfits.header import Coordinates, beam_of
from tachyfits.plot._figure import FigureSize, axes_at, colour_bar, page
from tachyfits.plot._labels import (
    capitalised,
    coordinate_label,
    set_title,
    shown_unit,
    title_of,
    with_unit,
)
from tachyfits.plot._limits import limits_of, stretched
from tachyfits.plot._overlays import draw_angle
from tachyfits.plot._plane import (
    BRIGHTNESS,
    Colours,
    Over,
    draw_contours,
    named_colormap,
    round_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tachyfits import Image, WorldAxis
    from tachyfits.plot._plane import Contours

#: Units for degrees, by the largest offset: (up to this many degrees, factor, unit).
_OFFSETS = ((0.05, 3600.0, "arcsec"), (3.0, 60.0, "arcmin"))
#: Minor axis over major axis from which a beam has the same width along any path.
_ROUND = 0.8


def pv_figure(
    diagram: Image,
    *,
    cmap: str | Colormap | None = None,
    contours: Contours = None,
    title: str | None = None,
    label: str | None = None,
    scale_bar: Any = False,
    ax: Axes | None = None,
    figsize: FigureSize = None,
    **colours: Any,
) -> Figure:
    """Draw a position-velocity diagram with its axes in world units and a colour bar.

    Parameters
    ----------
    diagram
        An image of two axes, (velocity, offset), as `Image.pv` gives it of a cube, and any of one
        pixel.
    cmap, contours, label, ax, figsize
        As of `plane_figure`.
    title
        None: the object, or else the file.
    scale_bar
        As of `plane_figure`, along the path. It needs offsets that are angles.
    **colours
        As of `plane_figure`. Without limits linear colours reach from the percentile 0.1 to 99.9:
        the line is the subject, not the noise.

    Returns
    -------
    matplotlib.figure.Figure
        Velocities in m/s are shown in km/s, frequencies in GHz; NaN is drawn grey. The ellipse in
        the corner is as wide as the beam and as high as a channel, if the beam is nearly round (its
        width along the path is unknown otherwise).
    """
    with page(ax, figsize, (7.4, 4.8)) as figure:
        draw_pv(
            figure, 111 if ax is None else ax, diagram, colours | {"cmap": cmap}, title=title,
            label=label, over=Over(contours, scale_bar),
        )  # fmt: skip
    return figure


def _colours_of(
    values: NDArray[np.float64], *, cmap: str | Colormap | None = None, stretch: str = "linear",
    **limits: Any,
) -> Colours:  # fmt: skip
    bounds = [limits.get(name) for name in ("limits", "percentile")]
    if bounds == [None, None] and stretch == "linear":
        limits = limits | {"limits": "percentile99.9"}
    colour_limits = limits_of(values, stretch=stretch, **limits)
    return Colours(colour_limits, named_colormap(cmap, BRIGHTNESS), stretch)


def draw_pv(
    figure: Figure, place: Any, diagram: Image, colours: dict[str, Any], *,
    title: str | None = None, label: str | None = None, over: Over | None = None,
) -> Axes:  # fmt: skip
    """Draw a diagram into a place of a figure; ``colours``: as `pv_figure` takes them."""
    axis, over = _axis_of_rows(diagram), over or Over()
    values = np.asarray(diagram.read(dtype="float64")).reshape(-1, diagram.shape[-1])
    drawn = _colours_of(values, **colours)
    left, right, offset_label = _offsets(diagram)
    bottom, top, world_label = _world(diagram, axis)
    unit, factor = shown_unit(diagram.unit, max(map(abs, drawn.limits)))
    shown_values = np.ma.masked_invalid(values) * factor
    axes: Axes = axes_at(figure, place)
    norm = stretched(drawn.stretch, values, drawn.limits, factor)
    shown = axes.imshow(
        shown_values, origin="lower", aspect="auto", norm=norm, cmap=drawn.cmap,
        interpolation="nearest", extent=(left, right, bottom, top),
    )  # fmt: skip
    for spine in axes.spines.values():
        spine.set_visible(True)
    rows, columns = values.shape
    steps = (right - left) / columns, (top - bottom) / rows
    first = left + steps[0] / 2, bottom + steps[1] / 2
    draw_contours(axes, shown_values, over.contours, norm, drawn.cmap, first, steps)
    axes.set_xlabel(offset_label)
    axes.set_ylabel(world_label)
    kind = str(diagram.header.get("BTYPE") or "").strip()
    named = label or with_unit(capitalised(kind) or "Pixel value", unit)
    round_ticks(colour_bar(figure, shown, axes, named), norm)
    set_title(axes, title_of(diagram.header, "", diagram.file.name) if title is None else title)
    _draw_resolution(axes, diagram, (right - left) / columns, abs(steps[1]))
    if over.scale_bar:
        draw_angle(axes, columns, _degrees(diagram, needed=True) * 3600, over.scale_bar)
    return axes


def _degrees(diagram: Image, *, needed: bool = False) -> float:
    """Return the degrees from one offset to the next; 0 if offsets are not angles."""
    axis = diagram.world_axis("x")
    if axis.unit == "deg" and len(axis.values) > 1:
        return abs(float(axis.values[1] - axis.values[0]))
    if needed:
        raise usage(
            "a scale bar needs offsets that are angles, which the diagram lacks", "leave it out"
        )
    return 0.0


def _draw_resolution(axes: Axes, diagram: Image, column: float, row: float) -> None:
    """Draw an ellipse of the beam by a channel into the lower left corner.

    ``column``, ``row``: a pixel in units of the axes.
    """
    from matplotlib.patches import Ellipse

    step = _degrees(diagram)
    try:
        beam = beam_of(Coordinates(diagram.header, 2, tell=lambda text: None)) if step else None
    except TachyfitsError:  # cards that cannot be used, or a beam for each channel
        return
    if beam is None or beam.minor < _ROUND * beam.major:
        return
    width = (beam.major * beam.minor) ** 0.5 / step * abs(column)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    if width > 0.25 * abs(right - left):
        return
    x = left + np.sign(right - left) * (0.04 * abs(right - left) + width / 2)
    y = low + np.sign(high - low) * (0.05 * abs(high - low) + row / 2)
    axes.add_patch(
        Ellipse((float(x), float(y)), width, row, facecolor="white", edgecolor="black",
                linewidth=0.6, alpha=0.9)
    )  # fmt: skip


def _axis_of_rows(diagram: Image) -> int:
    """Return the NumPy number of the axis along the rows of the picture."""
    long = [axis for axis, length in enumerate(diagram.shape[:-1]) if length != 1]
    if diagram.ndim < 2 or len(long) > 1:
        lengths = " x ".join(map(str, reversed(diagram.shape)))
        raise usage(
            f"cannot draw a diagram of {lengths} pixels: expected two axes",
            "draw a cut of a cube" + either("", ": leave --png out"),
        )
    return long[0] if long else diagram.ndim - 2


def _edges(axis: WorldAxis) -> tuple[float, float]:
    """Return the world values of the outer edges of the first and the last pixel."""
    values = axis.values
    step = values[1] - values[0] if len(values) > 1 else 1.0
    return float(values[0] - step / 2), float(values[-1] + step / 2)


def _offsets(diagram: Image) -> tuple[float, float, str]:
    axis = diagram.world_axis("x")
    left, right = _edges(axis)
    unit = axis.unit or "pixel"
    if unit == "deg":
        largest = max(abs(left), abs(right))
        for most, factor, shown in _OFFSETS:
            if largest <= most:
                left, right, unit = factor * left, factor * right, shown
                break
    return left, right, with_unit("Offset", unit)


def _world(diagram: Image, number: int) -> tuple[float, float, str]:
    axis = diagram.world_axis(number)
    unit, factor = shown_unit(axis.unit, float(np.nanmax(np.abs(axis.values), initial=0.0)))
    bottom, top = _edges(axis)
    return factor * bottom, factor * top, coordinate_label(axis.name, unit)
