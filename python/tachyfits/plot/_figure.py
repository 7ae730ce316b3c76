"""Shared by all figures: their style, their size, and writing them to a file."""

from __future__ import annotations

import itertools
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from tachyfits.base import either, usage, write_atomically
from tachyfits.plot._labels import fit_titles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

#: Inches: the width alone, whose height follows, or the width and the height.
FigureSize = float | Sequence[float] | None

#: Endings of picture files.
FORMATS = (".png", ".svg", ".pdf")

#: A dark blue, and the colours of Okabe and Ito that people who do not tell hues apart tell apart.
LINE_COLOURS = ("#1f4e79", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")

_STYLE: dict[Any, Any] = {
    "axes.titlesize": "medium",
    "figure.titlesize": "large",
    "axes.spines.top": False,
    "axes.spines.right": False,
    # "5.12e2 above the axis" would leave arithmetic to the reader.
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 5),
    "axes.formatter.use_mathtext": True,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "legend.frameon": False,
    # Letters in an SVG stay letters, and the same figure gives the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "tachyfits",
    # PDF: TrueType, which editors can change and journals take.
    "pdf.fonttype": 42,
}

#: Inches around the outermost letters.
_MARGIN = 0.06

#: Points of the letters in a panel of some width in inches: 8 in a column of a journal (3.5).
_LETTERS = (7.0, 10.0)
#: Inches of the widest page of a journal: figures up to this width are for print.
_PAGE, _PRINT_DPI, _SCREEN_DPI = 7.2, 300, 150
#: Inches of axes of the sky up to which they have fewer ticks.
_FEW_TICKS = 2.4
#: Least and greatest width or height of a figure, inches.
_SIZES = (1.0, 100.0)
#: The axes that a colour bar is as high as.
_beside: WeakKeyDictionary[Axes, list[Axes]] = WeakKeyDictionary()
#: Titles above all axes of a figure.
_titles: WeakKeyDictionary[Figure, Text] = WeakKeyDictionary()
#: Figures of `new_figure`; others are the user's.
_own: WeakSet[Figure] = WeakSet()


def _letters(width: float) -> float:
    """Return the size of letters, in points, for a panel of a width in inches.

    >>> _letters(3.5), _letters(2.0), _letters(8.0)
    (8.0, 7.25, 10.0)
    """
    return min(max(8.0 + (width - 3.5) / 2, _LETTERS[0]), _LETTERS[1])


@contextmanager
def style(width: float = 8.0) -> Iterator[None]:
    """Draw in the project's style, leaving the user's settings alone.

    ``width``: of a panel, in inches; letters and lines suit it.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise usage(
            f"pictures need matplotlib ({error})", "install it: pip install 'tachyfits[plot]'"
        ) from error
    letters = _letters(width)
    sizes: dict[Any, Any] = {"font.size": letters} | {
        name: size * letters / 10.0
        for name, size in (
            *(("axes.linewidth", 0.8), ("lines.linewidth", 1.3)),
            *((f"{axis}tick.major.{part}", size) for axis in "xy"
              for part, size in (("size", 3.5), ("width", 0.8))),
        )
    }  # fmt: skip
    with matplotlib.rc_context(_STYLE | sizes):
        yield


@contextmanager
def page(
    ax: Axes | None, figsize: FigureSize, size: tuple[float, float], *, across: int = 1
) -> Iterator[Figure]:
    """Give the figure to draw in: the one of the user's axes, or a new one that is fitted.

    Parameters
    ----------
    ax
        Axes of the user, whose figure and settings stay as they are.
    figsize
        Width, or width and height, of a new figure.
    size
        Width and height without ``figsize``.
    across
        Panels side by side, whose width the letters suit.
    """
    if ax is not None:
        if figsize is not None:
            raise usage(
                "both ax and figsize are given: expected one of them",
                either("give figsize to the figure that the axes are in"),
            )
        yield ax.figure  # type: ignore[misc] # a part of a figure is drawn in as a figure is
        return
    (width, height), fixed = size_of(figsize, size)
    with style(width / across):
        figure = new_figure(width, height)
        yield figure
        fit(figure, fixed)


def size_of(
    figsize: FigureSize, size: tuple[float, float]
) -> tuple[tuple[float, float], tuple[bool, bool]]:
    """Return the width and the height of a figure, and which of them stay."""
    if figsize is None:
        return size, (False, False)
    lengths = figsize if isinstance(figsize, (Sequence, tuple)) else [figsize]
    try:
        # A range may be of any length.
        inches = [float(one) for one in itertools.islice(lengths, 3)]
    except (TypeError, ValueError):
        inches = []
    if len(inches) not in (1, 2) or not all(_SIZES[0] <= one <= _SIZES[1] for one in inches):
        raise usage(
            f"invalid figsize {figsize!r}: expected a width, or a width and a height, of "
            f"{_SIZES[0]:g} to {_SIZES[1]:g} inches",
            either("give figsize=3.5 or figsize=(7, 4)", "give --figsize 3.5 or --figsize 7,4"),
        )
    if len(inches) == 2:
        return (inches[0], inches[1]), (True, True)
    return (inches[0], size[1] * inches[0] / size[0]), (True, False)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure that belongs to no window, sizes in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(  # type: ignore[union-attr, call-arg]
        w_pad=0.03, h_pad=0.03, wspace=0.02, hspace=0.02
    )
    FigureCanvasAgg(figure)
    _own.add(figure)
    return figure


def axes_at(figure: Figure, place: Any, sky: Any = None) -> Any:
    """Return axes at a place: as of ``add_subplot``, or axes of the user.

    Parameters
    ----------
    figure
        The figure that the place is in.
    place
        A number, a tuple, a part of a grid, or axes.
    sky
        Coordinates of the sky, by astropy. Plain axes of the user give their place to new ones.
    """
    from matplotlib.axes import Axes

    projection = {} if sky is None else {"projection": sky}
    if not isinstance(place, Axes):
        where = place if isinstance(place, tuple) else (place,)
        return figure.add_subplot(*where, **projection)
    if sky is None:
        return place
    if hasattr(place, "reset_wcs"):
        place.reset_wcs(sky)
        return place
    spec, box = place.get_subplotspec(), place.get_position()
    place.remove()
    if spec is None:
        return figure.add_axes(box.bounds, **projection)
    return figure.add_subplot(spec, **projection)


def colour_bar(figure: Figure, shown: Any, axes: Any, label: str) -> Colorbar:
    """Draw a colour bar with its label beside axes (one or a list), as high as they are.

    Beside axes of the user it is a part of these, so that it follows any layout.
    """
    if figure not in _own:
        parent = axes[-1] if isinstance(axes, list) else axes
        bar = figure.colorbar(shown, cax=parent.inset_axes((1.02, 0.0, 0.045, 1.0)))
    else:
        parents = axes if isinstance(axes, list) else [axes]
        bar = figure.colorbar(shown, ax=axes, pad=0.02, fraction=0.046)
        _beside[bar.ax] = parents
    bar.set_label(label)
    bar.outline.set_linewidth(0.6)
    return bar


def fit(figure: Figure, fixed: tuple[bool, bool] = (False, False)) -> None:
    """Break long titles, and leave as much room around the axes as their letters need.

    Layouts of matplotlib leave too little room beside axes of a fixed aspect and of sky
    coordinates, and too much where the aspect is not that of the figure. This measures where the
    letters really are. ``fixed``: whether the width and the height of the figure stay.
    """
    fit_titles(figure)
    for _ in range(5):
        figure.draw_without_rendering()
        _fit_bars(figure)
        _fit_ticks(figure)
        width, height = map(float, figure.get_size_inches())
        box = _place_title(figure, height)
        spare = [box.x0 - _MARGIN, width - box.x1 - _MARGIN,
                 box.y0 - _MARGIN, height - box.y1 - _MARGIN]  # fmt: skip
        changes = []
        for along, bands in enumerate(_inner_bands(figure)):
            low, high = spare[2 * along : 2 * along + 2]
            if all(fixed):
                # Room to spare may be due to the aspect.
                low, high = min(low, 0.0), min(high, 0.0)
            if fixed[along] or not bands:
                changes.append((low, high, 0.0))
                continue
            # Axes are in the middle of their cells: the outer halves of bands are room at the ends.
            ends = bands if along == 0 else bands[::-1]
            changes.append((low - ends[0] / 2, high - ends[-1] / 2, math.fsum(bands)))
        if all(abs(change) < 0.03 for each in changes for change in each):
            return
        _give_room(figure, changes, fixed)
    figure.draw_without_rendering()
    _fit_bars(figure)
    _shrink_labels(figure)


def add_title(figure: Figure, text: str) -> None:
    """Write a title above all axes; `fit` places it."""
    if text:
        title = figure.suptitle(text.replace("$", r"\$"), y=0.5, va="bottom")
        title.set_in_layout(False)
        _titles[figure] = title


def _place_title(figure: Figure, height: float) -> Any:
    """Put the title above the axes; return the box of all that is drawn, in inches."""
    box = figure.get_tightbbox()
    title = _titles.get(figure)
    if title is None:
        return box
    title.set_y((box.y1 + 0.05) / height)
    own = title.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
    return box.union([box, own])


def _fit_ticks(figure: Figure) -> None:
    """Give sky coordinates as many ticks as their axes have room for."""
    width, height = figure.get_size_inches()
    for axes in figure.axes:
        if not hasattr(axes, "coords"):
            continue
        box = axes.get_position()
        for coordinate, inches in zip(
            axes.coords, (box.width * width, box.height * height), strict=False
        ):
            if inches < _FEW_TICKS:
                coordinate.set_ticks(number=3 if inches < 1.2 else 4 if inches < 1.8 else 5)


def _give_room(
    figure: Figure, changes: Sequence[tuple[float, float, float]], fixed: tuple[bool, bool]
) -> None:
    """Take inches away at the ends and between the axes, along x and y; add negative ones."""
    engine = figure.get_layout_engine()
    rect = (engine.get().get("rect") if engine else None) or (0.0, 0.0, 1.0, 1.0)
    size = list(map(float, figure.get_size_inches()))
    new_size, new_rect = [], [0.0] * 4
    for along, (low, high, band) in enumerate(changes):
        first, length = rect[along] * size[along], rect[along + 2] * size[along]
        if fixed[along]:
            # Axes give the room that letters beyond the edges need.
            first, length, new = first - low, length + low + high, size[along]
        else:
            first, length = first - low, length - band
            new = size[along] - low - high - band
        new_size.append(max(new, 0.5))
        new_rect[along], new_rect[along + 2] = first / new_size[-1], length / new_size[-1]
    figure.set_size_inches(new_size[0], new_size[1])
    if engine is not None:
        engine.set(rect=tuple(new_rect))  # type: ignore[call-arg] # of the constrained layout


def _inner_bands(figure: Figure) -> tuple[list[float], list[float]]:
    """Return the inches that no axes of a column use, and of a row, in their order."""
    size = figure.get_size_inches()
    bands: list[dict[Any, list[float]]] = [defaultdict(list), defaultdict(list)]
    for axes in figure.axes:
        spec = axes.get_subplotspec()
        if spec is None or axes in _beside:
            continue
        cell, drawn = axes.get_position(original=True), axes.get_position()
        for along, spans in ((0, spec.colspan), (1, spec.rowspan)):
            whole = cell.width - drawn.width if along == 0 else cell.height - drawn.height
            bands[along][spans.start].append(max(0.0, whole) * float(size[along]))
    columns, rows = ([min(groups[key]) for key in sorted(groups)] for groups in bands)
    return columns, rows


def _fit_bars(figure: Figure) -> None:
    """Make colour bars as high as the axes beside them, whose aspect may be fixed."""
    for bar, parents in _beside.items():
        if bar.figure is figure:
            bar.set_box_aspect(None)
            bar.set_axes_locator(_Beside(parents))


def _shrink_labels(figure: Figure) -> None:
    """Make the letters of labels of colour bars smaller where the figure is not high enough."""
    figure.draw_without_rendering()
    for bar in _beside:
        if bar.figure is not figure:
            continue
        label = bar.yaxis.label
        box = label.get_window_extent()
        middle = (box.y0 + box.y1) / 2
        room = 2 * (min(middle, figure.bbox.height - middle) - _MARGIN * figure.dpi)
        if box.height > room > 0:
            label.set_fontsize(label.get_fontsize() * room / box.height)


@dataclass(frozen=True)
class _Beside:
    """The place of a colour bar: where the layout puts it, as high as some axes."""

    parents: Sequence[Axes]

    def __call__(self, axes: Any, renderer: object) -> Bbox:
        own = axes.get_position(original=True)
        boxes = [parent.get_position() for parent in self.parents]
        low, high = min(box.y0 for box in boxes), max(box.y1 for box in boxes)
        place: Bbox = own.from_extents(own.x0, low, own.x1, high)
        return place


def save_figure(
    figure: Figure | Callable[[], Figure],
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    **options: Any,
) -> None:
    """Write a figure as PNG, SVG or PDF, by the name; the file appears when it is complete.

    A function that draws the figure is called after the name was checked.

    Figures up to 7.2 inches wide, the page of a journal, have 300 pixels an inch, others 150;
    ``dpi`` and other options are for ``Figure.savefig``.

    Raises
    ------
    UsageError
        The name ends in none of them.
    IoError
        The file exists and ``overwrite`` is false.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise usage(
            f"{os.fspath(path)}: unknown picture format",
            f"end it in one of {' '.join(FORMATS)}",
        )
    if callable(figure):
        figure = figure()
    if options.get("dpi") is None:
        options["dpi"] = _PRINT_DPI if figure.get_figwidth() <= _PAGE else _SCREEN_DPI
    # A date in the file would make two runs differ.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
    with style():
        write_atomically(
            path,
            lambda stream: figure.savefig(stream, format=suffix[1:], metadata=metadata, **options),
            overwrite=overwrite,
        )
