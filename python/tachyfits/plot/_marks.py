"""Marks over a plane: the points of a catalogue, and vectors of polarisation.

Positions are those of the viewer: `tachyfits.table.points_of` and
`tachyfits.image.polarisation_vectors` give both.
"""

from __future__ import annotations

import math
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
from tachyfits.interop import VOTABLES, arrow_in_ascii, open_table_file, votable_from_file
from tachyfits.plot._labels import power_of_ten, unit_words
from tachyfits.table import Frame, places_of, points_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

#: Up to this number of points each is a circle, as in the viewer; more are dots.
_CIRCLES = 3000

#: Colours as in the viewer.
_POINTS, _VECTORS = "#ffdf5d", "#7ef0c9"

#: Least and greatest length of a reference vector, as parts of the width of a picture.
_KEY = (0.05, 0.3)

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
        A table, the path of a FITS, VOTable, CSV, Parquet or Arrow file, or columns as
        `tachyfits.write` takes them.
    hdu
        The table of a FITS file or of a VOTable (from 0), by number or name; None: the first.
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
    for noise. A reference vector in the upper right corner tells the intensity of its length.

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
    key
        Draw the reference vector.
    """

    q: Plane
    u: Plane
    step: int = 8
    least: float | None = None
    color: str | None = None
    key: bool = True

    def lines(self) -> NDArray[np.float64]:
        """Return the ends of the vectors in pixels of Q, from 1: of shape (vectors, 2, 2)."""
        return self.measured()[0]

    def measured(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of the vectors as `lines`, and their intensities."""
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
        return np.stack((middle - reach, middle + reach), axis=1), vectors.intensity


@contextmanager
def _opened(table: Any, hdu: int | str | None) -> Iterator[Table]:
    """Give a table as the engine has it; a file is closed afterwards."""
    if isinstance(table, Table):
        yield table
        return
    cards: dict[str, str] = {}
    if isinstance(table, (str, os.PathLike)):
        ending = Path(table).suffix.lower()
        if ending in VOTABLES:
            table, cards = votable_from_file(table, hdu)
        elif ending in _COLUMNAR:
            table = arrow_in_ascii(open_table_file(table).read(None))
        else:
            with tachyfits.open(table) as file:
                yield _chosen(file, hdu)
            return
    stream = BytesIO()
    tachyfits.write(stream, table, cards)
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


@dataclass(frozen=True)
class Key:
    """A reference vector.

    Attributes
    ----------
    length
        In pixels of the picture.
    text
        Its intensity in words.
    color
        Of the vectors, as matplotlib takes it.
    """

    length: float
    text: str
    color: Any


def draw_vectors(axes: Any, vectors: Vectors, columns: int) -> Key | None:
    """Draw vectors where the sky of their planes puts them; return their reference vector, if any.

    ``axes``: of astropy, with a sky; ``columns``: of the picture.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import withStroke

    lines, intensity = vectors.measured()
    color = _color(vectors.color, _VECTORS)
    around = [withStroke(linewidth=1.9, foreground="black", alpha=0.6)]
    transform = axes.get_transform(vectors.q.wcs.celestial)
    drawn = LineCollection(
        list(lines - 1), colors=color, linewidths=0.9, capstyle="butt", transform=transform,
        path_effects=around,
    )  # fmt: skip
    axes.add_collection(drawn, autolim=False)
    if not vectors.key or not len(lines):
        return None
    # The picture may have other pixels than the planes of the vectors.
    ends = (transform - axes.transData).transform((lines - 1).reshape(-1, 2)).reshape(-1, 2, 2)
    length = np.hypot(*(ends[:, 1] - ends[:, 0]).T)
    good = np.isfinite(length) & (intensity > 0)
    scale = float(np.median(length[good] / intensity[good])) if good.any() else 0.0
    value = key_value(float(intensity.max()), scale, columns)
    if not value:
        return None
    return Key(scale * value, intensity_text(value, vectors.q.unit), color)


def key_value(greatest: float, scale: float, columns: int) -> float:
    """Return the intensity of a reference vector: 1, 2 or 5 times a power of ten.

    It is the largest up to the greatest intensity, unless its length is below 5 % or above 30 % of
    the width. It is 0 for intensities that floating-point numbers cannot scale.

    Parameters
    ----------
    greatest
        Intensity of the longest vector.
    scale
        Pixels of a vector of intensity 1.
    columns
        Pixels along the width of the picture.

    >>> key_value(4.1, 8 / 4.1, 60), key_value(4.1, 8 / 4.1, 1000), key_value(4.1, 8 / 4.1, 10)
    (2.0, 50.0, 1.0)
    """
    if not 0 < scale < math.inf:
        return 0.0
    least, most = (part * columns / scale for part in _KEY)
    bound = min(greatest, most)
    if not 1e-300 < bound < 1e300 or not 1e-300 < least < 1e300:
        return 0.0
    value = max(one for one in _round_values(bound) if one <= bound * (1 + 1e-9))
    return value if value >= least else min(one for one in _round_values(least) if one >= least)


def _round_values(value: float) -> list[float]:
    """Return values around one that are 1, 2 or 5 times a power of ten."""
    power = math.floor(math.log10(value))
    return [float(f"{factor}e{power + more}") for more in (-1, 0, 1) for factor in (1, 2, 5)]


def intensity_text(value: float, unit: str | None) -> str:
    """Return a round intensity with its unit, which gets a prefix for few digits.

    >>> intensity_text(10.0, "%"), intensity_text(0.005, "Jy/beam"), intensity_text(1e-5, "K")
    ('10 %', '5 mJy/beam', '10⁻⁵ K')
    """
    words = unit_words(unit)
    if words.startswith("Jy"):
        for prefix, factor in (("", 1.0), ("m", 1e3), ("µ", 1e6), ("n", 1e9)):
            if value * factor >= 0.1:
                value, words = value * factor, f"{prefix}{words}"
                break
    number = f"{value:.4g}" if 1e-3 <= value < 1e4 else power_of_ten(value)
    return f"{number} {words}".strip()


def draw_keys(axes: Axes, keys: Sequence[Key]) -> None:
    """Draw reference vectors below each other into the upper right corner, on a dark ground."""
    from matplotlib.lines import Line2D
    from matplotlib.offsetbox import (
        AnchoredOffsetbox,
        AuxTransformBox,
        HPacker,
        TextArea,
        VPacker,
    )

    rows: list[Artist] = []
    for key in keys:
        line = AuxTransformBox(axes.transData)
        line.add_artist(
            Line2D([0, key.length], [0, 0], color=key.color, linewidth=1.2, solid_capstyle="butt")
        )
        words = TextArea(
            key.text.replace("$", r"\$"), textprops={"color": "white", "fontsize": "small"}
        )
        rows.append(HPacker(pad=0, sep=4, align="center", children=[words, line]))
    box = AnchoredOffsetbox(
        "upper right", pad=0.3, borderpad=0.4, frameon=True,
        child=VPacker(pad=0, sep=2, align="right", children=rows),
    )  # fmt: skip
    box.patch.set(facecolor="black", edgecolor="none", alpha=0.65)
    axes.add_artist(box)


def _color(name: str | None, default: str) -> Any:
    from matplotlib.colors import to_rgba

    hint = 'write "#ff0080" or a name of matplotlib, such as "red"'
    with foreign_errors(f"invalid color {name!r}", hint):
        return to_rgba(default if name is None else name)
