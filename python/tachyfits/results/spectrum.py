"""Results with coordinates: a Spectrum.

It holds values, a unit and a header, and can be written. `tachyfits.plot` draws it, imported on
demand.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.boundary import public
from tachyfits.base.errors import usage, warn
from tachyfits.base.output import write_atomically
from tachyfits.base.upper import upper
from tachyfits.header.alignment import Grid, difference
from tachyfits.header.cards import Header
from tachyfits.header.coordinates import PIXEL, Axis, Coordinates
from tachyfits.header.spectral_selection import channel_mask
from tachyfits.header.spectral_units import Line
from tachyfits.header.tabulated import Tabulated, tabulated
from tachyfits.results.fits import FitAxis, FitRequest, SpectrumFit, fitted
from tachyfits.results.html import table_html
from tachyfits.results.measured import Measured, both, cut_header, slice_of, with_unit
from tachyfits.text.axes import WorldAxis
from tachyfits.text.regions import Region
from tachyfits.text.sections import Section
from tachyfits.text.spectral_ranges import AskedChannels

if TYPE_CHECKING:
    import matplotlib.figure
    import specutils
    from matplotlib.axes import Axes

    from tachyfits._core import Report


@public
@dataclass(frozen=True, eq=False)
class Spectrum(Measured):
    """Values along the spectral axis: an array with a unit and coordinates.

    Arithmetic, NumPy functions and slices give spectra with the right unit and coordinates;
    comparisons give arrays of bool. Other indices give numbers and arrays. A range with a unit as
    index, ``spectrum["5..15 km/s"]`` or a slice of quantities, gives the channels that it touches.
    ``max``, ``mean`` and the like ignore undefined channels.

    Attributes
    ----------
    axis
        Spectral coordinates, their unit and CTYPE.
    values
        float64, one per channel.
    unit
        Unit of ``values``; None if the file has none.
    statistic
        Statistic of the pixels of a channel.
    region
        The region; None for every pixel.
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

    @property
    def _channels(self) -> WorldAxis:
        return self.axis

    def _changed(self, values: NDArray[Any], unit: str | None, other: Any = None) -> Spectrum:
        statistic = self.statistic
        if other is not None:
            statistic = both(self.statistic, other.statistic)
        header = with_unit(self.header, unit)
        return replace(self, values=values, unit=unit, header=header, statistic=statistic)

    @cached_property
    def _table(self) -> Tabulated | None:
        """Table of coordinates that header cards cannot express, or None."""
        described = Coordinates(self.header, 1).axis(0).has_coordinate
        return None if described or self.axis.unit == PIXEL else tabulated(self.axis, 1)

    @property
    def companions(self) -> bytes:  # type: ignore[override]
        """Table of coordinates, which `write` adds to the file; empty for other spectra."""
        table = self._table
        if table is not None:
            return table.hdu_bytes()
        if self.axis.unit != PIXEL and not Coordinates(self.header, 1).axis(0).has_coordinate:
            warn(
                "the file has no coordinates of the channels: expected a CTYPE of four letters "
                f"for a table of them, found {self.axis.name!r}\n"
                "hint: write a table: the name ends in .csv"
            )
        return b""

    def as_written(self, header: Any = None) -> tuple[NDArray[Any], Any]:
        """Return the array and the header of the image to write, unless ``header`` replaces it."""
        if header is None and self._table is not None:
            header = self.header.replaced(self._table.cards)
        return super().as_written(header)

    def _grid(self) -> Grid:
        own = self.axis
        axis = Axis(
            1, own.name, own.unit, 0.0, 0.0, 1.0, own.unit, own.unit != PIXEL,
            _evaluate=lambda pixels: _between(own.values, pixels),
        )  # fmt: skip
        return Grid(self.source, Coordinates(self.header, 1), self.shape, axis=axis)

    def _compare(self, other: Measured) -> None:
        """Refuse a spectrum with other channels: results would belong to neither."""
        problem = difference(self._grid(), other._grid())
        if problem is not None:
            raise usage(
                f"the spectra lie along different axes: {problem}",
                "give spectra of the same channels, or combine their .values",
            )

    def _cut(self, section: Section) -> Spectrum:
        piece = slice_of(section.ranges[0])
        axis = replace(self.axis, values=self.axis.values[piece])
        header, _ = cut_header(self.header, self.shape, section.ranges)
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

    def fit_gaussians(
        self,
        n: int = 1,
        *,
        channels: AskedChannels = None,
        baseline: int | None = None,
        noise: Any = None,
        limits: dict[str, tuple[float | None, float | None]] | None = None,
    ) -> SpectrumFit:
        """Fit Gaussians, and a baseline with them; parameters as of `Image.fit_gaussians`.

        Returns
        -------
        SpectrumFit
            For each Gaussian, the highest first: the amplitude, centre, full width at half maximum
            and integral with their standard errors, in the units of the spectrum; all NaN if the
            fit failed, with the reason in the flag.

        Examples
        --------
        >>> import numpy as np, tachyfits as tf
        >>> x = np.arange(32.0)
        >>> line = 3 * np.exp(-4 * np.log(2) * ((x - 12.5) / 6) ** 2)
        >>> cards = {"CTYPE1": "FREQ", "CUNIT1": "GHz", "CRPIX1": 1.0, "CDELT1": 1.0, "BUNIT": "K"}
        >>> tf.write("spectrum.fits", line, header=cards, overwrite=True)
        >>> fit = tf.open("spectrum.fits")[0].spectrum().fit_gaussians(noise=0.1)
        >>> round(fit[0].centre, 6), round(fit[0].fwhm, 6), fit.channels
        (12.5, 6.0, 32)
        """
        world = self.axis
        mask = channel_mask(Coordinates(self.header, 1), 0, len(world), channels, Line())
        widths = np.abs(np.gradient(world.values)) if len(world) > 1 else np.ones(1)
        axis = FitAxis(world.values[mask], widths[mask])
        return fitted(self, mask, FitRequest.of(n, baseline, noise, limits, self.unit, axis))

    def png(self, path: str | os.PathLike[str], *, overwrite: bool = True, **options: Any) -> None:
        """Draw the spectrum to a PNG (or SVG or PDF, by the name); options as of `plot`."""
        upper.save_figure(lambda: self.plot(**options), path, overwrite=overwrite)

    def plot(
        self,
        *,
        title: str | None = None,
        label: str | None = None,
        ax: Axes | None = None,
        figsize: float | Sequence[float] | None = None,
    ) -> matplotlib.figure.Figure:
        """Draw the spectrum as steps, with units on the axes.

        Parameters
        ----------
        title
            Title; None: the object, or else the file.
        label
            Name in the legend; None: the region's.
        ax, figsize
            Axes to draw in, or the size of a new figure in inches, as in
            `tachyfits.plot.plane_figure`.
        """
        figure: matplotlib.figure.Figure = upper.spectrum_figure(
            [self], title=title, labels=None if label is None else [label], ax=ax, figsize=figsize
        )
        return figure

    def to_astropy(self) -> specutils.Spectrum:
        """Return a specutils spectrum, with coordinates, rest frequency and ``meta["header"]``.

        Raises
        ------
        UsageError
            specutils is not installed, or astropy does not know a unit.
        """
        result: specutils.Spectrum = upper.specutils_spectrum(self)
        return result

    @classmethod
    def from_specutils(cls, spectrum: Any) -> Spectrum:
        """Return a specutils spectrum, of one axis, as a `Spectrum`; masked values are NaN.

        Coordinates with equal steps become cards of the header; others are only in ``axis``.
        """
        result: Spectrum = upper.spectrum_of(spectrum)
        return result

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
    """Return values at pixels by interpolation, and beyond the ends by the last step.

    >>> _between(np.array([1.0, 3.0, 4.0]), np.array([-0.5, 0.5, 2.5]))
    array([0. , 2. , 4.5])
    """
    if len(values) < 2:
        return np.full(pixels.shape, values[0] if len(values) else np.nan)
    first, last = 2 * values[:1] - values[1:2], 2 * values[-1:] - values[-2:-1]
    places = np.arange(-1, len(values) + 1)
    return np.asarray(np.interp(pixels, places, np.concatenate([first, values, last])))
