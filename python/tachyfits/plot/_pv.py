"""A position-velocity diagram: offset along a path by the spectral axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits.base.errors import either, usage
from tachyfits.plot._figure import fit, new_figure, style
from tachyfits.plot._labels import (
    capitalised,
    coordinate_label,
    set_title,
    shown_unit,
    title_of,
    with_unit,
)
from tachyfits.plot._limits import limits_of, stretched
from tachyfits.plot._plane import BRIGHTNESS, draw_contours, named_colormap, round_ticks

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

    from tachyfits.image.image import Image
    from tachyfits.plot._plane import Contours
    from tachyfits.text.axes import WorldAxis

#: Units for degrees, by the largest offset: (up to this many degrees, factor, unit).
_OFFSETS = ((0.05, 3600.0, "arcsec"), (3.0, 60.0, "arcmin"))


def pv_figure(
    diagram: Image,
    *,
    stretch: str = "linear",
    colormap: str | Colormap | None = None,
    contours: Contours = None,
    title: str | None = None,
    **limits: Any,
) -> Figure:
    """Draw a position-velocity diagram with its axes in world units and a colour bar.

    Parameters
    ----------
    diagram
        An image of two axes, (velocity, offset), as `Image.pv` gives it of a cube, and any of one
        pixel.
    stretch, colormap, contours
        As of `plane_figure`.
    title
        None: the object, or else the file.
    **limits
        As of `plane_figure`. Without them linear colours reach from the percentile 0.1 to 99.9: the
        line is the subject, not the noise.

    Returns
    -------
    matplotlib.figure.Figure
        Velocities in m/s are shown in km/s, frequencies in GHz; NaN is drawn grey.
    """
    axis = _axis_of_rows(diagram)
    values = np.asarray(diagram.read(dtype="float64")).reshape(-1, diagram.shape[-1])
    asked = [limits.get(name) for name in ("limits", "percentile")]
    if asked == [None, None] and stretch == "linear":
        limits = limits | {"limits": "percentile99.9"}
    chosen = limits_of(values, stretch=stretch, **limits)
    left, right, offset_label = _offsets(diagram)
    bottom, top, world_label = _world(diagram, axis)
    unit, factor = shown_unit(diagram.unit, max(map(abs, chosen)))
    shown_values = np.ma.masked_invalid(values) * factor
    with style():
        cmap = named_colormap(colormap, BRIGHTNESS)
        figure = new_figure(7.0, 4.6)
        axes = figure.add_subplot(111)
        norm = stretched(stretch, values, chosen, factor)
        shown = axes.imshow(
            shown_values, origin="lower", aspect="auto", norm=norm, cmap=cmap,
            interpolation="nearest", extent=(left, right, bottom, top),
        )  # fmt: skip
        for spine in axes.spines.values():
            spine.set_visible(True)
        rows, columns = values.shape
        steps = (right - left) / columns, (top - bottom) / rows
        first = left + steps[0] / 2, bottom + steps[1] / 2
        draw_contours(axes, shown_values, contours, norm, cmap, first, steps)
        axes.set_xlabel(offset_label)
        axes.set_ylabel(world_label)
        bar = figure.colorbar(shown, ax=axes, pad=0.02)
        kind = str(diagram.header.get("BTYPE") or "").strip()
        bar.set_label(with_unit(capitalised(kind) or "Pixel value", unit))
        round_ticks(bar, norm)
        set_title(axes, title_of(diagram.header, "", diagram.file.name) if title is None else title)
        fit(figure)
    return figure


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
