"""Several planes in one figure: channel maps, and moments side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits.base.errors import either, usage
from tachyfits.header.spectral_units import Line, channels_of
from tachyfits.plot._figure import fit, new_figure, style
from tachyfits.plot._labels import shown_unit, title_of, with_unit
from tachyfits.plot._limits import limits_of, stretched
from tachyfits.plot._overlays import draw_scale_bar
from tachyfits.plot._plane import (
    Over,
    _draw_beam,
    _label_sky,
    _name_of_values,
    _sky,
    beam_outline,
    colormap_of,
    draw_plane,
    is_velocity_map,
    round_ticks,
)
from tachyfits.results.plane import Plane
from tachyfits.text.pixel_units import split_units
from tachyfits.text.units import SPECTRAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tachyfits.image.image import Image

#: Side in inches of one map of several.
_MAP = 1.9

#: The most maps in a figure.
_MOST_MAPS = 100


def triptych_figure(
    planes: Sequence[Plane], *, stretch: str = "linear", title: str | None = None,
    scale_bar: Any = False,
) -> Figure:  # fmt: skip
    """Draw planes of the same sky side by side, such as moments 0, 1 and 2, each with its colours.

    Parameters
    ----------
    planes
        Of `Image.moments` or `Image.collapse`.
    stretch
        How values become colours, except those of velocities: as in `plane_figure`.
    title
        None: the object, or else the file.
    scale_bar
        As in `plane_figure`, in the first plane.

    Examples
    --------
    >>> import tachyfits as tf
    >>> from tachyfits import plot
    >>> figure = plot.triptych_figure(tf.open("cube.fits")[0].moments(unit="km/s"))
    >>> len(figure.axes)
    6
    """
    if not planes:
        raise usage("no planes to draw", either("give the planes of cube.moments()"))
    rows, columns = planes[0].shape
    with style():
        figure = new_figure(4.4 * len(planes), 3.4 * min(max(rows / columns, 0.4), 2.0) + 0.9)
        for number, plane in enumerate(planes):
            velocity = is_velocity_map(plane)
            drawn = "linear" if velocity else stretch
            # Velocities have a rule of their own, which percentiles would replace.
            limits = limits_of(
                plane.values, percentile=None if velocity else 99.5, stretch=drawn,
                diverging=velocity,
            )  # fmt: skip
            axes = draw_plane(
                figure, (1, len(planes), number + 1), plane, limits=limits, stretch=drawn,
                colormap=colormap_of(None, plane), title=plane.name.capitalize(),
                over=Over(scale_bar=scale_bar if number == 0 else False),
            )  # fmt: skip
            if number:
                _without_names(axes)
        figure.suptitle(
            (title_of(planes[0].header, "", planes[0].source) if title is None else title)
            .replace("$", r"\$"), fontsize=11,
        )  # fmt: skip
        fit(figure)
    return figure


def _without_names(axes: Any) -> None:
    """Remove the label of the vertical axis, which the first plane has."""
    if hasattr(axes, "coords"):
        axes.coords[1].set_axislabel(" ")
    else:
        axes.set_ylabel("")


def channel_figure(
    cube: Image, *, count: int = 16, unit: str | None = None, rest: Any = None,
    convention: str | None = None, rest_medium: str | None = None, stretch: str = "linear",
    colormap: Any = None, title: str | None = None, scale_bar: Any = False, **limits: Any,
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
    stretch, colormap, title, scale_bar
        As in `plane_figure`.
    **limits
        As in `plane_figure`, of all maps together.

    Examples
    --------
    >>> import tachyfits as tf
    >>> from tachyfits import plot
    >>> figure = plot.channel_figure(tf.open("cube.fits")[0], count=2, unit="km/s")
    >>> [axes.texts[0].get_text() for axes in figure.axes[:2]]
    ['1 km/s', '2 km/s']
    """
    axis = cube._coordinates.required_channel_axis()
    length = cube.shape[axis]
    if not 1 <= count <= _MOST_MAPS or length == 0:
        raise usage(
            f"invalid number of maps {count} of {length} channels: expected 1 to {_MOST_MAPS}",
            either("give count=", "give --channel-maps N"),
        )
    own = cube._coordinates.axis(axis).unit
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
        known = channels_of(cube._coordinates, axis, (channel, 1, 1), of_labels)
        shown, factor = shown_unit(known.unit, abs(float(known.values[0])))
        number = f"{known.values[0] * factor:.5g}".replace("-", "\N{MINUS SIGN}")
        labels.append(f"{number} {shown}".strip())
    together = np.concatenate([plane.values for plane in planes])
    if [limits.get(name) for name in ("limits", "percentile")] == [None, None]:
        limits = limits | {"limits": "percentile99.9"}
    shown_limits = limits_of(together, stretch=stretch, **limits)
    name = title_of(cube.header, "", cube.file.name) if title is None else title
    return _grid(
        planes, labels, shown_limits, stretch, colormap_of(colormap, planes[0]), name, scale_bar
    )


def _spaced(length: int, most: int) -> range:
    """Return at most ``most`` of ``length`` places at one distance, in the middle of them all.

    >>> [list(_spaced(*each)) for each in ((18, 6), (16, 4), (5, 9), (5, 1))]
    [[1, 4, 7, 10, 13, 16], [1, 5, 9, 13], [0, 1, 2, 3, 4], [2]]
    """
    step = math.ceil(length / most)
    spare = (length - 1) % step
    return range(spare // 2, length, step)


def _grid(
    planes: Sequence[Plane], labels: Sequence[str], limits: tuple[float, float], stretch: str,
    colormap: Any, title: str, scale_bar: Any,
) -> Figure:  # fmt: skip
    """Draw maps in rows, with one colour bar."""
    from matplotlib.patheffects import withStroke

    rows, columns = planes[0].shape
    across = math.ceil(math.sqrt(len(planes) * max(rows / columns, 0.25)))
    down = math.ceil(len(planes) / across)
    height = _MAP * min(max(rows / columns, 0.3), 3.0)
    sky = _sky(planes[0])
    unit, factor = shown_unit(planes[0].unit, max(map(abs, limits)))
    with style():
        figure = new_figure(_MAP * across + 1.7, height * down + 1.0)
        norm = stretched(stretch, planes[0].values, limits, factor)
        around = [withStroke(linewidth=2.5, foreground="black")]
        drawn = []
        for number, (plane, label) in enumerate(zip(planes, labels, strict=True)):
            place = (down, across, number + 1)
            axes = figure.add_subplot(*place, projection=sky) if sky else figure.add_subplot(*place)
            drawn.append(axes)
            shown = axes.imshow(
                np.ma.masked_invalid(plane.values) * factor, origin="lower", norm=norm,
                cmap=colormap, interpolation="nearest",
            )  # fmt: skip
            axes.text(0.04, 0.95, label, transform=axes.transAxes, color="white", fontsize=8,
                      va="top", path_effects=around)  # fmt: skip
            outline = beam_outline(plane.header)
            if outline is not None:
                _draw_beam(axes, outline, (columns, rows), 0.0)
            # The first of the lowest row has the labels of all.
            _label_map(axes, sky, labelled=number == (down - 1) * across)
        if scale_bar and sky:
            draw_scale_bar(drawn[0], sky, (rows, columns), scale_bar)
        bar = figure.colorbar(shown, ax=drawn, pad=0.02, fraction=0.03, aspect=40)
        bar.set_label(with_unit(_name_of_values(planes[0], unit), unit))
        round_ticks(bar, norm)
        figure.suptitle(title.replace("$", r"\$"), fontsize=11)
        fit(figure)
    return figure


def _label_map(axes: Any, sky: Any, *, labelled: bool) -> None:
    """Label the axes of one map of several, or leave ticks alone."""
    if not sky:
        if not labelled:
            axes.set_xticklabels([])
            axes.set_yticklabels([])
        return
    _label_sky(axes, sky)
    for coordinate in axes.coords:
        coordinate.set_ticks(number=3)
        coordinate.set_ticks_visible(labelled)
        coordinate.set_ticklabel(size=8, exclude_overlapping=True)
        if not labelled:
            coordinate.set_ticklabel_visible(False)
            coordinate.set_axislabel("")
            coordinate.set_auto_axislabel(False)
