"""What every figure shares: its style, its units, and how it becomes a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tachyfits._errors import usage
from tachyfits._writer import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Endings of picture files.
FORMATS = (".png", ".svg", ".pdf")

#: Two colours that differ in lightness too, for people who do not tell hues apart.
LINE_COLOURS = ("#1f4e79", "#d1662a", "#3d8b57", "#8a5aa8", "#b8a02f", "#5b6770")

_STYLE: dict[Any, Any] = {
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "legend.frameon": False,
    "savefig.dpi": 150,
    # Letters in an SVG stay letters, and the same figure gives the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "tachyfits",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the house's style, leaving the user's settings alone."""
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


def save_figure(
    figure: Figure, path: str | os.PathLike[str], *, overwrite: bool = False, **options: Any
) -> None:
    """Write a figure as PNG, SVG or PDF, by the name; the file appears when it is complete.

    Raises
    ------
    UsageError
        The name ends in none of them.
    FitsIoError
        The file exists and ``overwrite`` is false.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise usage(
            f"{os.fspath(path)}: no picture format goes by that name",
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


def with_unit(name: str, unit: str | None) -> str:
    """Return an axis label: the name, and the unit as a FITS header writes it.

    >>> with_unit("mean", "Jy/beam"), with_unit("count", None)
    ('mean [Jy/beam]', 'count')
    """
    label = f"{name} [{unit}]" if unit else name
    # A dollar would begin mathematics.
    return label.replace("$", r"\$")
