"""Spectra: steps, because a channel is an interval and not a point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tachyfits import Box, Circle, Ellipse, Point, Polygon, Spectrum
from tachyfits.base import either, usage
from tachyfits.plot._figure import LINE_COLOURS, FigureSize, axes_at, page
from tachyfits.plot._labels import (
    broken,
    capitalised,
    coordinate_label,
    set_title,
    shown_unit,
    title_of,
    with_unit,
)
from tachyfits.text import numbers_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Characters of a label in a legend.
_LABEL = 32


def spectrum_figure(
    spectra: Sequence[Spectrum],
    *,
    title: str | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
    figsize: FigureSize = None,
) -> Figure:
    """Draw spectra of one axis and one statistic.

    Parameters
    ----------
    spectra
        One or more.
    title
        None: the object, or else the file.
    labels
        Names in the legend; None: the regions'.
    ax, figsize
        As of `plane_figure`.
    """
    if not spectra:
        raise usage("no spectrum to draw", either("give one or more"))
    if labels is not None and len(labels) != len(spectra):
        raise usage(
            f"invalid labels: expected {len(spectra)}, found {len(labels)}",
            either("give a label for each spectrum", "give --label for each spectrum"),
        )
    with page(ax, figsize, (8.0, 4.8)) as figure:
        axes = axes_at(figure, 111 if ax is None else ax)
        draw_spectra(axes, spectra, labels=labels)
        first = spectra[0]
        set_title(
            axes, title_of(first.header, "", first.source) if title is None else title, loc="left"
        )
    return figure


def draw_spectra(
    axes: Axes, spectra: Sequence[Spectrum], *, labels: Sequence[str] | None = None
) -> None:
    """Draw spectra into axes."""
    from matplotlib import rcParams

    first = spectra[0]
    greatest = float(np.nanmax(np.abs(first.axis.values), initial=0.0))
    unit, factor = shown_unit(first.axis.unit, greatest)
    for number, spectrum in enumerate(spectra):
        label = labels[number] if labels else _region_text(spectrum)
        axes.step(
            spectrum.axis.values * factor,
            spectrum.values,
            where="mid",
            linewidth=0.85 * rcParams["lines.linewidth"],
            # Steps of one channel have no length.
            marker="o" if len(spectrum.values) == 1 else None,
            color=LINE_COLOURS[number % len(LINE_COLOURS)],
            label=broken(label or "every pixel", _LABEL),
        )
    axes.axhline(0.0, color="#999999", linewidth=0.6, zorder=0)
    axes.set_xlabel(coordinate_label(first.axis.name, unit))
    axes.set_ylabel(with_unit(capitalised(first.statistic), first.unit))
    axes.margins(x=0)
    if len(spectra) > 1 or spectra[0].region is not None or any(labels or ()):
        axes.legend(loc="best", fontsize="small")


def _region_text(spectrum: Spectrum) -> str:
    """Return a region in a few characters; its places need no more digits than a plot shows."""
    region = spectrum.region
    if region is None or region.label:
        return "" if region is None else region.label
    if isinstance(region, Polygon):
        return f"polygon of {len(region.vertices)} vertices"
    if not isinstance(region, (Box, Circle, Ellipse, Point)):
        return str(region)
    numbers = ", ".join(f"{value:.4g}" for value in numbers_of(region))
    return f"{type(region).__name__.lower()} {numbers}"
