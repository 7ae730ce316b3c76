"""A position-velocity diagram: offset along a path by the spectral axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tachyfits._errors import usage
from tachyfits.plot._figure import new_figure, style, with_unit
from tachyfits.plot._plane import BLANK_COLOUR, cuts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tachyfits._axes import WorldAxis
    from tachyfits._image import Image

#: What degrees are shown in, by the largest offset: arcseconds up to so many degrees.
_ARCSECONDS_UP_TO = 0.1


def pv_figure(
    diagram: Image,
    *,
    percentile: float | None = None,
    low: float | None = None,
    high: float | None = None,
    colormap: str = "inferno",
    title: str | None = None,
) -> Figure:
    """Draw a position-velocity diagram with its axes in world units and a colour bar.

    Parameters
    ----------
    diagram
        An image of two axes, (velocity, offset), as `Image.pv` gives it of a cube.
    percentile
        Cut at this percentile of the values and as much below; None: from min to max.
    low, high
        The values of the first and the last colour, instead of ``percentile``.
    colormap
        A name that matplotlib knows.
    title
        None: the object.

    Returns
    -------
    matplotlib.figure.Figure
        Velocities in m/s are shown in km/s, frequencies in GHz; NaN is drawn grey.
    """
    if diagram.ndim != 2:
        raise usage(f"an image of {diagram.ndim} axes is no diagram", "draw a cut of a cube")
    values = np.asarray(diagram.read(dtype="float64"))
    first, last = cuts(values, percentile, low, high)
    left, right, offset_label = _offsets(diagram)
    bottom, top, world_label = _world(diagram)
    with style():
        from matplotlib import colormaps

        if colormap not in colormaps:
            raise usage(f"matplotlib has no colour map {colormap!r}", "try inferno or viridis")
        figure = new_figure(7.0, 4.6)
        axes = figure.add_subplot(111)
        shown = axes.imshow(
            np.ma.masked_invalid(values), origin="lower", aspect="auto", vmin=first, vmax=last,
            cmap=colormaps[colormap].with_extremes(bad=BLANK_COLOUR), interpolation="nearest",
            extent=(left, right, bottom, top),
        )  # fmt: skip
        axes.set_xlabel(offset_label)
        axes.set_ylabel(world_label)
        bar = figure.colorbar(shown, ax=axes, pad=0.02)
        bar.set_label(with_unit("value", diagram.unit))
        axes.set_title(str(diagram.header.get("OBJECT") or "") if title is None else title)
    return figure


def _edges(axis: WorldAxis) -> tuple[float, float]:
    """Return the world values of the outer edges of the first and the last pixel."""
    values = axis.values
    step = values[1] - values[0] if len(values) > 1 else 1.0
    return float(values[0] - step / 2), float(values[-1] + step / 2)


def _offsets(diagram: Image) -> tuple[float, float, str]:
    axis = diagram.world_axis("x")
    left, right = _edges(axis)
    unit = axis.unit or "pixel"
    if unit == "deg" and max(abs(left), abs(right)) <= _ARCSECONDS_UP_TO:
        left, right, unit = 3600 * left, 3600 * right, "arcsec"
    return left, right, with_unit("offset", unit)


def _world(diagram: Image) -> tuple[float, float, str]:
    axis = diagram.world_axis("y")
    factor, shown = {"m/s": (1e-3, "km/s"), "m s-1": (1e-3, "km s-1"), "Hz": (1e-9, "GHz")}.get(
        axis.unit, (1.0, axis.unit)
    )
    bottom, top = _edges(axis)
    return factor * bottom, factor * top, with_unit(axis.name, shown)
