"""Results with coordinates: a Plane of the sky and a Spectrum.

They hold numbers, a unit and a header, and can write themselves. `tachyfits.plot` draws them,
imported on demand.
"""

from __future__ import annotations

import csv
import html
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import usage
from tachyfits.header.cards import Header
from tachyfits.header.coordinates import Coordinates
from tachyfits.results.measured import Measured, cut_header, with_unit
from tachyfits.text.axes import WorldAxis
from tachyfits.text.regions import Region
from tachyfits.text.sections import Section
from tachyfits.writing.writer import write, write_atomically

if TYPE_CHECKING:
    import astropy.wcs
    import matplotlib.figure

    from tachyfits._core import Report


@dataclass(frozen=True, eq=False)
class Plane(Measured):
    """A picture of the sky made from a cube: an array with a unit and coordinates.

    Arithmetic, NumPy functions and slices give planes with the right unit and coordinates;
    comparisons give arrays of bool. Other indices give numbers and arrays.

    Attributes
    ----------
    values
        float64, shape (y, x).
    unit
        The unit of ``values``, None if the file has none.
    header
        World coordinates of the two axes and the other cards of the cube's header.
    name
        Name of the values: "mean", "moment 1", ...
    kept_axis
        NumPy axis of the collapsed axis, of length 1, in the file that `write` makes and in
        ``header``; None if it is removed.
    report
        Cost of computing it; for planes computed together, of all of them.
    source
        The source file: the title of its picture if the header has no OBJECT.
    """

    values: NDArray[np.float64]
    unit: str | None
    header: Header
    name: str = ""
    kept_axis: int | None = None
    report: Report | None = field(default=None, repr=False, compare=False)
    source: str = field(default="", repr=False, compare=False)

    def _changed(self, values: NDArray[Any], unit: str | None, other: Any = None) -> Plane:
        name = self.name if other is None else _both(self.name, other.name)
        return replace(
            self, values=values, unit=unit, header=with_unit(self.header, unit), name=name
        )

    def _cut(self, section: Section) -> Plane:
        ranges, shape = list(section.ranges), list(self.shape)
        if self.kept_axis is not None:
            ranges.insert(self.kept_axis, (0, 1, 1))
            shape.insert(self.kept_axis, 1)
        values = self.values[tuple(_slice_of(piece) for piece in section.ranges)]
        return replace(self, values=values, header=cut_header(self.header, shape, ranges))

    def as_written(self, header: Any = None) -> tuple[NDArray[Any], Any]:
        """Return the array and the header of the image that is written, unless another is given."""
        values, header = super().as_written(header)
        return values if self.kept_axis is None else np.expand_dims(values, self.kept_axis), header

    def __getstate__(self) -> dict[str, Any]:
        # The cost belongs to the process that computed it.
        return self.__dict__ | {"report": None}

    @property
    def wcs(self) -> astropy.wcs.WCS:
        """World coordinates of the two axes of ``values``, by astropy."""
        kept = self.kept_axis
        world = Coordinates(self.header, 2 if kept is None else 3).wcs()
        if kept is None:
            return world
        # WCS numbers are those of FITS: NAXIS3 is NumPy axis 0 of three.
        return world.sub([number for number in (1, 2, 3) if number != 3 - kept])

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        checksum: bool = False,
        sync: bool = False,
    ) -> None:
        """Write a FITS image (BITPIX -64); the file appears when it is complete.

        Parameters
        ----------
        overwrite, checksum, sync
            As in `tachyfits.write`.

        Examples
        --------
        >>> import tachyfits as tf
        >>> with tf.open("cube.fits") as file:
        ...     file[0].collapse("sum").write("sum.fits", overwrite=True)
        >>> tf.open("sum.fits")[0].shape
        (4, 5)
        """
        write(path, self, overwrite=overwrite, checksum=checksum, sync=sync)

    def png(
        self,
        path: str | os.PathLike[str],
        *,
        stretch: str = "linear",
        limits: str | tuple[float | None, float | None] | None = None,
        percentile: float | None = None,
        low: float | None = None,
        high: float | None = None,
        colormap: str | None = None,
        contours: bool | int | Sequence[float] = False,
        title: str | None = None,
        overwrite: bool = True,
    ) -> None:
        """Draw the plane with axes and a colour bar into a PNG (or SVG or PDF, by the name).

        Parameters
        ----------
        path
            The picture.
        stretch
            Mapping of values to colours: "linear", "log", "asinh" or "sqrt".
        limits, percentile, low, high
            The range of the colour map, as in `tachyfits.plot.plane_figure`: "zscale", "minmax",
            "percentile" or two numbers; None: suitable for the values.
        colormap
            A matplotlib colour map; None: suitable for the values.
        contours
            True, how many, or their values.
        title
            Title instead of the object (or the file) and the name.
        overwrite
            Replace an older picture.
        """
        from tachyfits.plot import save_figure

        figure = self.plot(
            stretch=stretch,
            limits=limits,
            percentile=percentile,
            low=low,
            high=high,
            colormap=colormap,
            contours=contours,
            title=title,
        )
        save_figure(figure, path, overwrite=overwrite)

    def plot(self, **options: Any) -> matplotlib.figure.Figure:
        """Draw the plane with axes and a colour bar; options as of `tachyfits.plot.plane_figure`.

        Examples
        --------
        >>> import tachyfits as tf
        >>> figure = tf.open("cube.fits")[0].collapse("max").plot(stretch="asinh", percentile=99)
        >>> figure.axes[0].get_title()
        'cube: max'
        """
        from tachyfits.plot import plane_figure

        return plane_figure(self, **options)

    def __repr__(self) -> str:
        return f"<tachyfits Plane {self.name!r} {self.shape} [{self.unit or 'no unit'}]>"

    def _repr_html_(self) -> str:
        return table_html({"plane": self.name, "shape (y, x)": self.shape, "unit": self.unit or ""})


@dataclass(frozen=True, eq=False)
class Spectrum(Measured):
    """Values along the spectral axis: an array with a unit and coordinates.

    Arithmetic, NumPy functions and slices give spectra with the right unit and coordinates;
    comparisons give arrays of bool. Other indices give numbers and arrays.

    Attributes
    ----------
    axis
        The spectral values, their unit and CTYPE.
    values
        float64, one per channel.
    unit
        The unit of ``values``, None if the file has none.
    statistic
        Statistic of the pixels of a channel.
    region
        The region, None for every pixel.
    header
        World coordinates of the spectral axis and the other cards of the cube's header.
    report
        Cost of computing it, and the spectra that were computed with it.
    source
        The source file: the title of its picture if the header has no OBJECT.
    """

    axis: WorldAxis
    values: NDArray[np.float64]
    unit: str | None
    statistic: str
    region: Region | None
    header: Header
    report: Report | None = field(default=None, repr=False, compare=False)
    source: str = field(default="", repr=False, compare=False)

    def _changed(self, values: NDArray[Any], unit: str | None, other: Any = None) -> Spectrum:
        statistic = self.statistic
        if other is not None:
            self._check_axis(other.axis)
            statistic = _both(self.statistic, other.statistic)
        header = with_unit(self.header, unit)
        return replace(self, values=values, unit=unit, header=header, statistic=statistic)

    def _check_axis(self, other: WorldAxis) -> None:
        """Raise UsageError for channels that differ by more than a thousandth of their width."""
        own = self.axis
        width = np.abs(np.diff(own.values)).min(initial=np.inf)
        same = (own.name, own.unit) == (other.name, other.unit)
        if not same or not np.allclose(own.values, other.values, rtol=1e-9, atol=width * 1e-3):
            raise usage(
                f"the spectra lie along different axes: {own.name} [{own.unit}] and "
                f"{other.name} [{other.unit}], or other channels of it",
                "give spectra of the same channels, or combine their .values",
            )

    def _cut(self, section: Section) -> Spectrum:
        piece = _slice_of(section.ranges[0])
        axis = replace(self.axis, values=self.axis.values[piece])
        header = cut_header(self.header, self.shape, section.ranges)
        return replace(self, axis=axis, values=self.values[piece], header=header)

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the spectrum; the file appears when it is complete.

        A name that ends in .fits gives a FITS image of one axis (BITPIX -64), any other a CSV table
        of two columns, with names and units in its first line.

        Examples
        --------
        >>> import tachyfits as tf
        >>> tf.open("cube.fits")[0].spectrum().write("spectrum.fits", overwrite=True)
        >>> tf.open("spectrum.fits")[0].world_axis("x").values
        array([1000., 1500., 2000.])
        """
        if Path(path).suffix.lower() in (".fits", ".fit", ".fts"):
            write(path, self, overwrite=overwrite)
            return
        text = self.csv()
        write_atomically(path, lambda s: s.write(text.encode()), overwrite=overwrite)

    def csv(self) -> str:
        """Return the table of two columns as CSV text."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(
            [f"{self.axis.name} [{self.axis.unit}]", f"{self.statistic} [{self.unit or ''}]"]
        )
        for coordinate, value in zip(self.axis.values, self.values, strict=True):
            writer.writerow([repr(float(coordinate)), repr(float(value))])
        return stream.getvalue()

    def png(
        self, path: str | os.PathLike[str], *, title: str | None = None, overwrite: bool = True
    ) -> None:
        """Draw the spectrum into a PNG (or SVG or PDF, by the name)."""
        from tachyfits.plot import save_figure

        save_figure(self.plot(title=title), path, overwrite=overwrite)

    def plot(self, *, title: str | None = None) -> matplotlib.figure.Figure:
        """Draw the spectrum as steps, with units on the axes."""
        from tachyfits.plot import spectrum_figure

        return spectrum_figure([self], title=title)

    def __repr__(self) -> str:
        return (
            f"<tachyfits Spectrum {self.statistic} of {len(self)} channels "
            f"[{self.unit or 'no unit'}] along {self.axis.name} [{self.axis.unit}]>"
        )

    def _repr_html_(self) -> str:
        return table_html(
            {
                "spectrum": self.statistic,
                "channels": len(self),
                "unit": self.unit or "",
                "axis": f"{self.axis.name} [{self.axis.unit}]",
                "region": self.region or "every pixel",
            }
        )


def _both(one: str, other: str) -> str:
    """Return what a result of two is called."""
    return one if other in one.split(", ") else f"{one}, {other}"


def _slice_of(pixels: tuple[int, int, int]) -> slice:
    """Return a range of pixels as a slice."""
    start, count, step = pixels
    stop = start + count * step
    return slice(start, None if stop < 0 else stop, step)


def table_html(rows: Mapping[str, object]) -> str:
    """Return names and values as a table for notebooks."""
    lines = (
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table><tbody>{''.join(lines)}</tbody></table>"
