"""Marks over a plane: the points of a catalogue, and vectors of polarisation.

Positions are those of the viewer: `tachyfits.table.points_of` and
`tachyfits.image.polarisation_vectors` give both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import tachyfits
from tachyfits import Image, Plane, Table
from tachyfits.base import either, foreign_errors, usage
from tachyfits.image import image_of_array, polarisation_vectors
from tachyfits.interop import arrow_in_ascii, open_table_file
from tachyfits.table import Frame, places_of, points_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Up to this number of points each is a circle, as in the viewer; more are dots.
_CIRCLES = 3000

#: Colours as in the viewer.
_POINTS, _VECTORS = "#ffdf5d", "#7ef0c9"

#: Endings of tables of other formats than FITS.
_COLUMNAR = (".csv", ".parquet", ".arrow", ".feather")


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Points of a table over a plane: ``plane.plot(overlay=Catalogue("stars.fits"))``.

    Up to 3000 points are circles, more are dots. Rows without a position in the plane are left out;
    proper motions are not applied.

    Attributes
    ----------
    table
        A table, the path of a FITS, CSV, Parquet or Arrow file, or columns as `tachyfits.write`
        takes them.
    hdu
        The table of a FITS file, by number or name; None: the first.
    columns
        The columns of longitude and latitude, or of x and y; None: by UCD, or by a usual name.
    frame
        "icrs", "fk5", "fk4", "galactic", "supergalactic", "ecliptic", or "pixels" (of the plane,
        from 1); None: the frame of RADESYS, else ICRS.
    where
        A condition of rows, as in `Table.read`.
    color
        A colour of matplotlib; None: yellow.

    Examples
    --------
    >>> import tachyfits as tf
    >>> from tachyfits.plot import Catalogue
    >>> stars = Catalogue({"X": [2.0, 4.0], "Y": [1.0, 3.0]}, columns=("X", "Y"), frame="pixels")
    >>> figure = tf.open("cube.fits")[0].collapse("max").plot(overlay=stars)
    >>> len(figure.axes[0].lines[0].get_xdata())
    2
    """

    table: Any
    hdu: int | str | None = None
    columns: Sequence[str] | None = None
    frame: str | None = None
    where: str | None = None
    color: str | None = None

    def pixels(self, frame: Frame) -> NDArray[np.float64]:
        """Return the points in an image: x and y of each, from 1."""
        names = self.columns
        if names is not None and (isinstance(names, str) or len(names) != 2):
            raise usage(
                f"invalid columns {names!r}: expected two names",
                either('give columns=("RA", "DEC")', "give --catalogue-columns RA,DEC"),
            )
        with _opened(self.table, self.hdu) as table:
            pair = None if names is None else (names[0], names[1])
            places = places_of(table, pair, self.frame)
            points = points_of(frame, table, places, self.where)
        return np.column_stack((points.x, points.y))


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of linear polarisation over a plane: ``plane.plot(overlay=Vectors(q, u))``.

    Each is in the direction of the means of Q and U in a block of pixels, and as long as their
    intensity in proportion; the longest has the length of a block. The intensity has no correction
    for noise.

    Attributes
    ----------
    q, u
        Planes of Stokes Q and U with the same sky: ``cube.select(pol="Q").collapse("mean")``.
    step
        Pixels along each side of a block.
    least
        Blocks with a lower intensity have no vector; None: all have one.
    color
        A colour of matplotlib; None: a light green.
    """

    q: Plane
    u: Plane
    step: int = 8
    least: float | None = None
    color: str | None = None

    def lines(self) -> NDArray[np.float64]:
        """Return the ends of the vectors in pixels of Q, from 1: of shape (vectors, 2, 2)."""
        if self.q.shape != self.u.shape:
            raise usage(
                f"invalid u: expected the shape of q, {self.q.shape}, found {self.u.shape}",
                either("take both planes from one cube", "take both files from one cube"),
            )
        if self.step < 1:
            raise usage(f"invalid step {self.step}: expected 1 or more", either("give step=8"))
        frame = frame_of(self.q)
        vectors = polarisation_vectors(self.q, self.u, frame.required_sky, self.step, self.least)
        middle = np.column_stack((vectors.x, vectors.y))
        direction = np.column_stack((vectors.dx, vectors.dy))
        half = self.step / 2 * vectors.intensity / (np.max(vectors.intensity, initial=0.0) or 1.0)
        reach = direction * half[:, None]
        return np.stack((middle - reach, middle + reach), axis=1)


@contextmanager
def _opened(table: Any, hdu: int | str | None) -> Iterator[Table]:
    """Give a table as the engine has it; a file is closed afterwards."""
    if isinstance(table, Table):
        yield table
        return
    if isinstance(table, (str, os.PathLike)):
        if Path(table).suffix.lower() not in _COLUMNAR:
            with tachyfits.open(table) as file:
                yield _chosen(file, hdu)
            return
        table = arrow_in_ascii(open_table_file(table).read(None))
    stream = BytesIO()
    tachyfits.write(stream, table)
    with tachyfits.open(stream.getvalue()) as file:
        yield _chosen(file, None)


def _chosen(file: tachyfits.File, hdu: int | str | None) -> Table:
    candidates = list(file) if hdu is None else [file[hdu]]
    for candidate in candidates:
        if isinstance(candidate, Table):
            return candidate
    problem = "no HDU is a table" if hdu is None else f"HDU {hdu} is not a table"
    raise usage(f"{file.name}: {problem}", f"see the list of HDUs: tachyfits info {file.name}")


def image_of(plane: Plane) -> Image:
    """Return a plane as an image, which has coordinates."""
    values, header = plane.as_written()
    return image_of_array(np.ascontiguousarray(values), header, plane.companions)


def frame_of(plane: Plane) -> Frame:
    """Return the pixels and the sky of a plane."""
    rows, columns = plane.shape
    return Frame(columns, rows, image_of(plane).coordinates.sky)


def draw_points(
    axes: Axes, catalogue: Catalogue, plane: Plane, first: tuple[float, float],
    step: tuple[float, float],
) -> None:  # fmt: skip
    """Draw the points of a catalogue.

    ``first``, ``step``: where the axes have the centre of the first pixel, and from one to the
    next.
    """
    from matplotlib.patheffects import withStroke

    points = (catalogue.pixels(frame_of(plane)) - 1) * step + first
    color = _color(catalogue.color, _POINTS)
    look: dict[str, Any] = {
        "marker": "o", "markersize": 1.0, "markeredgewidth": 0.0, "color": color,
        "rasterized": True,
    }  # fmt: skip
    if len(points) <= _CIRCLES:
        look = {
            "marker": "o", "markersize": 4.0, "markerfacecolor": "none", "markeredgecolor": color,
            "markeredgewidth": 0.8,
            "path_effects": [withStroke(linewidth=1.8, foreground="black", alpha=0.6)],
        }  # fmt: skip
    axes.plot(*points.T, linestyle="none", scalex=False, scaley=False, **look)


def draw_vectors(axes: Any, vectors: Vectors) -> None:
    """Draw vectors where the sky of their planes puts them; ``axes``: of astropy, with a sky."""
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import withStroke

    lines = vectors.lines() - 1
    drawn = LineCollection(
        list(lines), colors=_color(vectors.color, _VECTORS), linewidths=0.9, capstyle="butt",
        transform=axes.get_transform(vectors.q.wcs.celestial),
        path_effects=[withStroke(linewidth=1.9, foreground="black", alpha=0.6)],
    )  # fmt: skip
    axes.add_collection(drawn, autolim=False)


def _color(name: str | None, default: str) -> Any:
    from matplotlib.colors import to_rgba

    hint = 'write "#ff0080" or a name of matplotlib, such as "red"'
    with foreign_errors(f"invalid color {name!r}", hint):
        return to_rgba(default if name is None else name)
