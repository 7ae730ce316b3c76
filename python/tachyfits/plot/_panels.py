"""Several results in one figure: planes, diagrams, spectra and histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import Histogram, Image, Plane, Spectrum
from tachyfits.base import either, public, usage
from tachyfits.plot._figure import FigureSize, add_title, axes_at, page, size_of
from tachyfits.plot._histogram import draw_histogram
from tachyfits.plot._kinds import OF_COORDINATES, kind_of
from tachyfits.plot._labels import capitalised, set_title, title_of
from tachyfits.plot._maps import Words, maps_figure, shared_colours
from tachyfits.plot._plane import Over, colours_of, draw_plane, sky_of
from tachyfits.plot._pv import draw_pv
from tachyfits.plot._spectrum import draw_spectra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Inches of a panel without ``figsize``.
_PANEL = 4.2
#: Inches that a panel needs beside others, with its letters and its colour bar.
_LEAST_PANEL = 2.0
#: The most panels of a figure.
_MOST_PANELS = 100
#: Noise of an integrated intensity above which a pixel has a line.
_LINE = 3.0


@public
def figure(
    panels: Sequence[Any],
    *,
    columns: int | None = None,
    title: str | None = None,
    titles: Sequence[str] | None = None,
    shared: bool | None = None,
    scale_bar: Any = False,
    figsize: FigureSize = None,
    cmap: Any = None,
    contours: Any = None,
    label: str | None = None,
    **colours: Any,
) -> Figure:
    """Draw several results as the panels of one figure.

    Parameters
    ----------
    panels
        Planes, images of two axes (a picture, or a diagram of `Image.pv`), spectra (one, or a list
        of those that share axes) and histograms. An image of one spectral axis is a spectrum.
    columns
        Panels in a row; None: all of up to three, else as many as rows, and fewer where a panel
        would have less than 2 inches.
    title
        Above all; None: the object, or else the file, of the first.
    titles
        Above each; None: the names of planes, and the objects of other panels.
    shared
        Planes have the same colours and one colour bar; None: if all panels are planes of one
        shape and of one kind of values in one unit.
    scale_bar
        As in `tachyfits.plot.plane_figure`, in the first plane of the sky.
    figsize
        As in `tachyfits.plot.plane_figure`: 3.5 and 7.1 inches are one and two columns.
    cmap, contours, label, **colours
        As in `tachyfits.plot.plane_figure`, of all planes and diagrams; ``limits``, ``percentile``,
        ``low`` and ``high`` leave velocities alone, unless all planes are. ``label`` is for a
        shared colour bar.

    Returns
    -------
    matplotlib.figure.Figure
        The axes of the panels come first in their order with ``shared``, else each is followed by
        its colour bar.

    Raises
    ------
    UsageError
        The list is empty, or has a panel that no figure can show.

    Notes
    -----
    Colours of moments 1 and 2 beside a moment 0 of the same shape reach over the pixels where
    moment 0 is above 3 times its noise.

    Examples
    --------
    >>> import tachyfits as tf
    >>> cube = tf.open("cube.fits")[0]
    >>> figure = tf.figure([*cube.moments(unit="km/s"), cube.spectrum()], columns=2, figsize=7.1)
    >>> [axes.get_title() for axes in figure.axes if axes.get_title()]
    ['Moment 0', 'Moment 1', 'Moment 2']
    """
    drawn = [_panel(panel) for panel in _listed(panels)]
    if titles is not None and len(titles) != len(drawn):
        raise usage(
            f"invalid titles: expected {len(drawn)}, found {len(titles)}",
            either("give a title for each panel", "give --panel-title for each file"),
        )
    _check_columns(columns)
    whole = _title_of(drawn[0]) if title is None else title
    planes = [panel for panel in drawn if isinstance(panel, Plane)]
    alike = len(planes) == len(drawn) > 1 and _are_alike(planes)
    if shared and not alike:
        raise usage(
            "invalid shared colours: expected planes of one shape and of one kind of values",
            either("leave shared out", "leave --shared out"),
        )
    if alike and shared is not False:
        names = tuple(titles or (_name_of(plane) for plane in planes))
        words = Words(whole, names, label)
        return maps_figure(planes, shared_colours(planes, cmap, **colours), words,
                           columns=columns, scale_bar=scale_bar, figsize=figsize)  # fmt: skip
    within = _with_line(planes)
    of_coordinates = all(kind_of(plane) in OF_COORDINATES for plane in planes)
    across = _columns(columns, len(drawn), figsize)
    down = math.ceil(len(drawn) / across)
    size = (_PANEL * across, 0.85 * _PANEL * down * _height(planes, drawn) + 0.4)
    with page(None, figsize, size, across=across) as result:
        for number, panel in enumerate(drawn):
            named = titles[number] if titles is not None else None
            place = (down, across, number + 1)
            if isinstance(panel, Plane):
                is_coordinate = kind_of(panel) in OF_COORDINATES
                colour_options = {} if is_coordinate and not of_coordinates else colours
                is_masked = is_coordinate and within is not None and within.shape == panel.shape
                mask = within if is_masked else None
                over = Over(contours, scale_bar if panel is planes[0] else False)
                axes = draw_plane(
                    result, place, panel, colours_of(panel, cmap, within=mask, **colour_options),
                    title=_name_of(panel) if named is None else named, over=over,
                )  # fmt: skip
                before = drawn[number - 1] if number % across else None
                if isinstance(before, Plane) and _same_sky(before, panel):
                    _without_name(axes)
            elif isinstance(panel, Image):
                draw_pv(result, place, panel, colours | {"cmap": cmap}, title=named or "",
                        over=Over(contours))  # fmt: skip
            else:
                axes = axes_at(result, place)
                if isinstance(panel, Histogram):
                    draw_histogram(axes, panel)
                else:
                    draw_spectra(axes, panel)
                set_title(axes, named or "", loc="center")
        add_title(result, whole)
    return result


def _listed(panels: Any) -> list[Any]:
    if isinstance(panels, (Plane, Image, Spectrum, Histogram)):
        panels = [panels]
    results = list(panels)
    if not 1 <= len(results) <= _MOST_PANELS:
        raise usage(
            f"invalid panels: expected 1 to {_MOST_PANELS}, found {len(results)}",
            either("give a list of planes, diagrams and spectra", "give the files of the panels"),
        )
    return results


def _panel(given: Any) -> Any:
    """Return a panel: a plane, a diagram as an image, a list of spectra, or a histogram."""
    if isinstance(given, (Plane, Histogram)):
        return given
    if isinstance(given, Spectrum):
        return [given]
    if isinstance(given, (list, tuple)) and given and all(isinstance(s, Spectrum) for s in given):
        return list(given)
    if isinstance(given, Image):
        long = [axis for axis, length in enumerate(given.shape) if length > 1]
        if len(long) == 1 and given.channel_axis == long[0]:
            return [given.spectrum()]
        is_diagram = len(long) == 2 and given.channel_axis in long
        return given if is_diagram and given.channel_axis == long[0] else given.plane()
    raise usage(
        f"invalid panel: expected a plane, an image, a spectrum or a histogram, found "
        f"{type(given).__name__}",
        either("use cube.moment(0), cube.pv(path), cube.spectrum() or image.plane()"),
    )


def _check_columns(columns: int | None) -> None:
    if columns is not None and not 1 <= columns <= _MOST_PANELS:
        raise usage(
            f"invalid columns {columns}: expected 1 to {_MOST_PANELS}",
            either("give columns=2", "give --columns 2"),
        )


def _columns(columns: int | None, count: int, figsize: FigureSize) -> int:
    """Return the number of panels side by side, which letters and colour bars leave room for."""
    usual = count if count <= 3 else math.ceil(math.sqrt(count))
    across = min(usual if columns is None else columns, count)
    if figsize is None:
        return across
    (width, _), _ = size_of(figsize, (1.0, 1.0))
    most = max(int(width / _LEAST_PANEL), 1)
    if columns is not None and across > most:
        raise usage(
            f"{across} panels side by side in {width:g} inches: expected {_LEAST_PANEL:g} inches "
            "for each",
            either(
                f"give columns={most}, or a wider figure: figsize=7.1",
                f"give --columns {most}, or a wider figure: --figsize 7.1",
            ),
        )
    return min(across, most)


def _title_of(panel: Any) -> str:
    if isinstance(panel, Histogram):
        return ""
    first = panel[0] if isinstance(panel, list) else panel
    return title_of(first.header, "", first.file.name if isinstance(first, Image) else first.source)


def _name_of(plane: Plane) -> str:
    kind = kind_of(plane)
    if kind != "pixels":
        return capitalised(kind)
    return title_of(plane.header, "", plane.source)


def _are_alike(planes: Sequence[Plane]) -> bool:
    first = planes[0]
    return all(
        (plane.shape, plane.unit, kind_of(plane)) == (first.shape, first.unit, kind_of(first))
        for plane in planes
    )


def _height(planes: Sequence[Plane], panels: Sequence[Any]) -> float:
    """Return the height of panels over their width."""
    if not planes:
        return 0.7
    rows, columns = planes[0].shape
    return min(max(rows / columns, 0.4), 2.0) if len(planes) == len(panels) else 0.85


def _with_line(planes: Sequence[Plane]) -> NDArray[np.bool_] | None:
    """Return the pixels that have a line, by the first moment 0."""
    intensity = next((plane for plane in planes if kind_of(plane) == "moment 0"), None)
    if intensity is None:
        return None
    good = intensity.values[np.isfinite(intensity.values)]
    if not good.size:
        return None
    # Noise lies on both sides of zero: a map without negative values is masked already.
    below = good[good < 0]
    noise = 1.4826 * float(np.median(-below)) if below.size > 0.02 * good.size else 0.0
    mask: NDArray[np.bool_] = intensity.values > _LINE * noise
    return mask if np.count_nonzero(mask) >= 16 else None


def _same_sky(one: Plane, other: Plane) -> bool:
    return one.shape == other.shape and (sky_of(one) is None) == (sky_of(other) is None)


def _without_name(axes: Any) -> None:
    """Remove the labels of the vertical axis, which the panel before has."""
    if hasattr(axes, "coords"):
        axes.coords[1].set_ticklabel_visible(False)
        axes.coords[1].set_axislabel(" ")
        axes.coords[1].set_auto_axislabel(False)
    else:
        axes.set_ylabel("")
