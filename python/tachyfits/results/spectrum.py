"""Results with coordinates: a Plane of the sky and a Spectrum.

They hold numbers, a unit and a header, and can write themselves. `tachyfits.plot` draws them,
imported on demand.
"""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import usage
from tachyfits.base.output import write_atomically
from tachyfits.base.upper import upper
from tachyfits.header.alignment import Grid, difference
from tachyfits.header.cards import Header
from tachyfits.header.coordinates import PIXEL, Axis, Coordinates
from tachyfits.results.html import table_html
from tachyfits.results.measured import Measured, both, cut_header, slice_of, with_unit
from tachyfits.text.axes import WorldAxis
from tachyfits.text.regions import Region
from tachyfits.text.sections import Section

if TYPE_CHECKING:
    import matplotlib.figure
    import specutils

    from tachyfits._core import Report


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
            statistic = both(self.statistic, other.statistic)
        header = with_unit(self.header, unit)
        return replace(self, values=values, unit=unit, header=header, statistic=statistic)

    def _grid(self) -> Grid:
        own = self.axis
        axis = Axis(
            1, own.name, own.unit, 0.0, 0.0, 1.0, own.unit, own.unit != PIXEL,
            _evaluate=lambda pixels: _between(own.values, pixels),
        )  # fmt: skip
        return Grid(self.source, Coordinates(self.header, 1), self.shape, axis=axis)

    def _compare(self, other: Measured) -> None:
        """Refuse a spectrum of other channels: its values would be at none of both."""
        found = difference(self._grid(), other._grid())
        if found is not None:
            raise usage(
                f"the spectra lie along different axes: {found}",
                "give spectra of the same channels, or combine their .values",
            )

    def _cut(self, section: Section) -> Spectrum:
        piece = slice_of(section.ranges[0])
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
            upper.write(path, self, overwrite=overwrite)
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
        upper.save_figure(self.plot(title=title), path, overwrite=overwrite)

    def plot(self, *, title: str | None = None) -> matplotlib.figure.Figure:
        """Draw the spectrum as steps, with units on the axes."""
        figure: matplotlib.figure.Figure = upper.spectrum_figure([self], title=title)
        return figure

    def to_specutils(self) -> specutils.Spectrum:
        """Return a spectrum of specutils, with coordinates, rest frequency and ``meta["header"]``.

        Raises
        ------
        UsageError
            specutils is not installed, or astropy does not know a unit.
        """
        found: specutils.Spectrum = upper.specutils_spectrum(self)
        return found

    @classmethod
    def from_specutils(cls, spectrum: Any) -> Spectrum:
        """Return a spectrum of specutils, of one axis, as a `Spectrum`; masked values are NaN.

        Coordinates with equal steps become cards of the header; others are in ``axis`` alone.
        """
        found: Spectrum = upper.spectrum_of(spectrum)
        return found

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


def _between(values: NDArray[np.float64], pixels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values at pixels, also between them, and beyond their ends in steps of the last.

    >>> _between(np.array([1.0, 3.0, 4.0]), np.array([-0.5, 0.5, 2.5]))
    array([0. , 2. , 4.5])
    """
    if len(values) < 2:
        return np.full(pixels.shape, values[0] if len(values) else np.nan)
    first, last = 2 * values[:1] - values[1:2], 2 * values[-1:] - values[-2:-1]
    places = np.arange(-1, len(values) + 1)
    return np.asarray(np.interp(pixels, places, np.concatenate([first, values, last])))
