"""Shared by all figures: their style, their size, and writing them to a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import usage
from tachyfits.base.output import write_atomically
from tachyfits.plot._labels import fit_titles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Endings of picture files.
FORMATS = (".png", ".svg", ".pdf")

#: A dark blue, and the colours of Okabe and Ito that people who do not tell hues apart tell apart.
LINE_COLOURS = ("#1f4e79", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")

_STYLE: dict[Any, Any] = {
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    # "5.12e2 above the axis" would leave arithmetic to the reader.
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 5),
    "axes.formatter.use_mathtext": True,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "legend.frameon": False,
    "savefig.dpi": 150,
    # Letters in an SVG stay letters, and the same figure gives the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "tachyfits",
    # PDF: TrueType, which editors can change and journals take.
    "pdf.fonttype": 42,
}

#: Inches around the outermost letters.
_MARGIN = 0.06


@contextmanager
def style() -> Iterator[None]:
    """Draw in the project's style, leaving the user's settings alone."""
    try:
        import matplotlib
    except ImportError as error:
        raise usage(
            f"pictures need matplotlib ({error})", "install it: pip install 'tachyfits[plot]'"
        ) from error
    with matplotlib.rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure that belongs to no window, sizes in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def fit(figure: Figure) -> None:
    """Break long titles, and enlarge the figure until nothing on it is cut at an edge.

    Layouts of matplotlib leave too little room beside axes of a fixed aspect and of sky
    coordinates. This measures where the letters really are.
    """
    fit_titles(figure)
    for _ in range(3):
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
        width, height = map(float, figure.get_size_inches())
        missing = (
            max(0.0, _MARGIN - box.x0) + max(0.0, box.x1 + _MARGIN - width),
            max(0.0, _MARGIN - box.y0) + max(0.0, box.y1 + _MARGIN - height),
        )
        if max(missing) < 0.01:
            return
        _give_room(figure, (box.x0, box.y0, width - box.x1, height - box.y1))


def _give_room(figure: Figure, spare: tuple[float, float, float, float]) -> None:
    """Enlarge a figure on the sides (left, bottom, right, top) where less than nothing is spare."""
    left, bottom, right, top = (max(0.0, _MARGIN - inches) for inches in spare)
    width, height = map(float, figure.get_size_inches())
    engine = figure.get_layout_engine()
    new_width, new_height = width + left + right, height + bottom + top
    figure.set_size_inches(new_width, new_height)
    if engine is None:
        return
    x, y, w, h = engine.get().get("rect") or (0.0, 0.0, 1.0, 1.0)
    engine.set(
        rect=(  # type: ignore[call-arg] # of the constrained layout
            (x * width + left) / new_width,
            (y * height + bottom) / new_height,
            w * width / new_width,
            h * height / new_height,
        )
    )


def save_figure(
    figure: Figure, path: str | os.PathLike[str], *, overwrite: bool = False, **options: Any
) -> None:
    """Write a figure as PNG, SVG or PDF, by the name; the file appears when it is complete.

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
    # A date in the file would make two runs differ.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
    with style():
        write_atomically(
            path,
            lambda stream: figure.savefig(stream, format=suffix[1:], metadata=metadata, **options),
            overwrite=overwrite,
        )
