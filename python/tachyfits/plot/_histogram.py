"""Histograms of pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from tachyfits.plot._figure import LINE_COLOURS, FigureSize, axes_at, page
from tachyfits.plot._labels import set_title, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Height, as a part of the highest bin, below which a bin is invisible; the part of such bins.
_SEEN, _FEW = 0.01, 0.25


class Counts(Protocol):
    """The histogram to draw, such as `tachyfits.Histogram`."""

    @property
    def counts(self) -> NDArray[np.uint64]:
        """Return the pixels in each bin."""

    @property
    def edges(self) -> NDArray[np.float64]:
        """Return the borders of the bins, one more than bins."""


def histogram_figure(
    histogram: Counts,
    *,
    unit: str | None = None,
    log: bool | None = None,
    title: str = "",
    label: str | None = None,
    ax: Axes | None = None,
    figsize: FigureSize = None,
) -> Figure:
    """Draw a histogram.

    Parameters
    ----------
    histogram
        ``counts`` and ``edges``.
    unit
        Of the pixels.
    log
        Counts on a logarithmic axis. None: where most bins would be too low to be seen.
    title
        Above the plot.
    label
        Of the horizontal axis; None: "Pixel value" with the unit.
    ax, figsize
        As of `plane_figure`.
    """
    with page(ax, figsize, (8.0, 4.8)) as figure:
        axes = axes_at(figure, 111 if ax is None else ax)
        draw_histogram(axes, histogram, unit=unit, log=log)
        if label:
            axes.set_xlabel(label)
        set_title(axes, title, loc="left")
    return figure


def draw_histogram(
    axes: Axes, histogram: Counts, *, unit: str | None = None, log: bool | None = None
) -> None:
    """Draw a histogram into axes."""
    counts = histogram.counts.astype(np.float64)
    axes.stairs(counts, histogram.edges, fill=True, color=LINE_COLOURS[0], alpha=0.85)
    highest = counts.max(initial=0.0)
    if log is None:
        seen, filled = np.count_nonzero(counts > _SEEN * highest), np.count_nonzero(counts)
        log = bool(seen < _FEW * filled)
    if log and highest > 0:
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.7)
    axes.set_xlabel(with_unit("Pixel value", unit))
    axes.set_ylabel("Pixels per bin")
    axes.margins(x=0)
