"""Maps that share their colours in one figure, such as channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits import Plane
from tachyfits.base import either, usage
from tachyfits.header import Line, channels_of
from tachyfits.plot._figure import FigureSize, new_figure, size_of, style
from tachyfits.plot._labels import shown_unit, title_of, with_unit
from tachyfits.plot._limits import limits_of, stretched
from tachyfits.plot._overlays import draw_scale_bar
from tachyfits.plot._plane import (
    Colours,
    beam_outline,
    colormap_of,
    draw_beam,
    equinox_of,
    label_sky,
    name_of_values,
    round_ticks,
    sky_of,
)
from tachyfits.text import SPECTRAL, split_units

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tachyfits import Image
    from tachyfits.header import Convention, Medium

#: Side in inches of one map of several, the gap between them, the colour bar, the outer edge.
_MAP, _GAP, _BAR, _EDGE = 1.9, 0.05, 0.12, 0.06

#: The most maps in a figure.
_MOST_MAPS = 100


def channel_figure(
    cube: Image, *, count: int = 16, unit: str | None = None, rest: Any = None,
    convention: Convention | None = None, rest_medium: Medium | None = None, cmap: Any = None,
    title: str | None = None, label: str | None = None, scale_bar: Any = False,
    figsize: FigureSize = None, **colours: Any,
) -> Figure:  # fmt: skip
    """Draw maps of channels with the same colours, each with its coordinate and the beam.

    Parameters
    ----------
    cube
        An image with a spectral axis; `Image.select` chooses channels, or the polarisation.
    count
        The most maps: every n-th channel, for the least n that gives no more maps.
    unit
        Of the coordinate ("km/s"), of the pixels ("K"), or both, as in `Image.spectrum`.
    rest, convention, rest_medium
        As in `Image.moments`.
    cmap, title, label, scale_bar, figsize
        As in `plane_figure`.
    **colours
        As in `plane_figure`, of all maps together.

    Examples
    --------
    >>> import tachyfits as tf
    >>> from tachyfits import plot
    >>> figure = plot.channel_figure(tf.open("cube.fits")[0], count=2, unit="km/s")
    >>> [axes.texts[0].get_text() for axes in figure.axes[:2]]
    ['1 km/s', '2 km/s']
    """
    axis = cube.coordinates.required_channel_axis()
    length = cube.shape[axis]
    if not 1 <= count <= _MOST_MAPS or length == 0:
        raise usage(
            f"invalid number of maps {count} of {length} channels: expected 1 to {_MOST_MAPS}",
            either("give count=", "give --channel-maps N"),
        )
    own = cube.coordinates.axis(axis).unit
    of_axis, of_values = (None, None) if unit is None else split_units(unit, (*SPECTRAL, own))
    line = Line(of_axis, rest, convention, rest_medium)
    of_labels = line if of_axis or of_values is None else Line()
    values: dict[str, Any] = {}
    if of_values is not None:
        values = {"unit": of_values, "rest": rest, "convention": convention,
                  "rest_medium": rest_medium}  # fmt: skip
    planes, labels = [], []
    for channel in _spaced(length, count):
        plane = cube.select(channels=channel).collapse("mean", **values)
        planes.append(replace(plane, name="pixels"))
        coordinate = channels_of(cube.coordinates, axis, (channel, 1, 1), of_labels)
        shown, factor = shown_unit(coordinate.unit, abs(float(coordinate.values[0])))
        number = f"{coordinate.values[0] * factor:.5g}".replace("-", "\N{MINUS SIGN}")
        labels.append(f"{number} {shown}".strip())
    name = title_of(cube.header, "", cube.file.name) if title is None else title
    drawn = shared_colours(planes, cmap, **colours)
    words = Words(name, tuple(labels), label)
    return maps_figure(planes, drawn, words, scale_bar=scale_bar, figsize=figsize)


@dataclass(frozen=True)
class Words:
    """The title of maps, the label of each, and the label of the colour bar (None: its name)."""

    title: str
    of_maps: tuple[str, ...]
    label: str | None = None


def shared_colours(
    planes: Sequence[Plane], cmap: Any = None, *, stretch: str = "linear", **limits: Any
) -> Colours:
    """Return the colours of maps together."""
    together = np.concatenate([plane.values.reshape(-1) for plane in planes])[None]
    if [limits.get(name) for name in ("limits", "percentile")] == [None, None]:
        limits = limits | {"limits": "percentile99.9"}
    return Colours(
        limits_of(together, stretch=stretch, **limits), colormap_of(cmap, planes[0]), stretch
    )


def _spaced(length: int, most: int) -> range:
    """Return at most ``most`` of ``length`` places at one distance, in the middle of them all.

    >>> [list(_spaced(*each)) for each in ((18, 6), (16, 4), (5, 9), (5, 1))]
    [[1, 4, 7, 10, 13, 16], [1, 5, 9, 13], [0, 1, 2, 3, 4], [2]]
    """
    step = math.ceil(length / most)
    spare = (length - 1) % step
    return range(spare // 2, length, step)


def maps_figure(
    planes: Sequence[Plane], colours: Colours, words: Words, *, columns: int | None = None,
    scale_bar: Any = False, figsize: FigureSize = None,
) -> Figure:  # fmt: skip
    """Draw maps of one shape in rows, with one colour bar."""
    from matplotlib.patheffects import withStroke

    rows, across = planes[0].shape[0] / planes[0].shape[1], columns
    if across is None:
        across = math.ceil(math.sqrt(len(planes) * max(rows, 0.25)))
    down = math.ceil(len(planes) / across)
    height = _MAP * min(max(rows, 0.3), 3.0)
    sky, equinox = sky_of(planes[0]), equinox_of(planes[0])
    unit, factor = shown_unit(planes[0].unit, max(map(abs, colours.limits)))
    size = _MAP * across + 1.5, height * down + 1.0
    with style(3.5 if figsize is not None else size[0]):
        (width, whole), fixed = size_of(figsize, size)
        figure = new_figure(width, whole)
        figure.set_layout_engine("none")
        norm = stretched(colours.stretch, planes[0].values, colours.limits, factor)
        around = [withStroke(linewidth=1.8, foreground="black")]
        drawn = []
        for number, (plane, text) in enumerate(zip(planes, words.of_maps, strict=True)):
            place = (down, across, number + 1)
            axes = figure.add_subplot(*place, projection=sky) if sky else figure.add_subplot(*place)
            drawn.append(axes)
            shown = axes.imshow(
                np.ma.masked_invalid(plane.values) * factor, origin="lower", norm=norm,
                cmap=colours.cmap, interpolation="nearest", aspect="auto",
            )  # fmt: skip
            for spine in axes.spines.values():
                spine.set_visible(True)
            axes.text(0.04, 0.96, text.replace("$", r"\$"), transform=axes.transAxes,
                      color="white", fontsize="small", va="top",
                      path_effects=around)  # fmt: skip
            outline = beam_outline(plane.header)
            if outline is not None:
                draw_beam(axes, outline, (plane.shape[1], plane.shape[0]), 0.0)
            # The first of the lowest row has the labels of all.
            _label_map(axes, sky, equinox, labelled=number == (down - 1) * across)
        if scale_bar and sky:
            draw_scale_bar(drawn[0], sky, planes[0].shape[1], scale_bar)
        bar = figure.colorbar(shown, cax=figure.add_axes((0.9, 0.1, 0.03, 0.8)))
        bar.set_label(words.label or with_unit(name_of_values(planes[0], unit), unit))
        round_ticks(bar, norm)
        title = figure.suptitle(words.title.replace("$", r"\$"), va="bottom", ha="center")
        _place(_Grid(figure, drawn, bar.ax, title), (across, down), height / _MAP, fixed)
    return figure


@dataclass(frozen=True)
class _Grid:
    """The parts of a figure of maps."""

    figure: Figure
    maps: Sequence[Any]
    bar: Any
    title: Any


def _place(grid: _Grid, counts: tuple[int, int], ratio: float, fixed: tuple[bool, bool]) -> None:
    """Put maps beside each other, with margins as wide as the letters around them.

    ``counts``: maps along x and y; ``ratio``: height of a map over its width.
    """
    figure, (across, down) = grid.figure, counts
    left, right, low, high = 0.8, 0.9, 0.5, 0.3
    side = _MAP
    for _ in range(3):
        width, height = map(float, figure.get_size_inches())
        gaps = (across - 1) * _GAP, (down - 1) * _GAP
        if fixed[0]:
            side = max((width - left - right - gaps[0]) / across, 0.1)
        if fixed[1]:
            side = min(side, max((height - low - high - gaps[1]) / (down * ratio), 0.1))
        wide, tall = across * side + gaps[0], down * side * ratio + gaps[1]
        width = width if fixed[0] else left + wide + right
        height = height if fixed[1] else low + tall + high
        figure.set_size_inches(width, height)
        for number, axes in enumerate(grid.maps):
            x = left + number % across * (side + _GAP)
            y = low + (down - 1 - number // across) * (side * ratio + _GAP)
            axes.set_position((x / width, y / height, side / width, side * ratio / height))
        grid.bar.set_position(((left + wide + 1.5 * _GAP) / width, low / height,
                               _BAR / width, tall / height))  # fmt: skip
        grid.title.set_position(((left + wide / 2) / width, (low + tall + _GAP) / height))
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
        missing = (_EDGE - box.x0, box.x1 + _EDGE - width, _EDGE - box.y0, box.y1 + _EDGE - height)
        if max(map(abs, missing)) < 0.02:
            return
        left, right = left + missing[0], right + missing[1]
        low, high = low + missing[2], high + missing[3]


def _label_map(axes: Any, sky: Any, equinox: str, *, labelled: bool) -> None:
    """Label the axes of one map of several, or leave ticks alone."""
    if not sky:
        if not labelled:
            axes.set_xticklabels([])
            axes.set_yticklabels([])
        return
    label_sky(axes, sky, equinox)
    for coordinate in axes.coords:
        coordinate.set_ticks(number=3)
        coordinate.set_ticks_visible(labelled)
        coordinate.set_ticklabel(size="small", exclude_overlapping=True)
        if not labelled:
            coordinate.set_ticklabel_visible(False)
            coordinate.set_axislabel("")
            coordinate.set_auto_axislabel(False)
