"""Results with coordinates: a Plane of the sky and a Spectrum.

They hold numbers, a unit and a header, and write themselves. Plots are made by `tachyfits.plot`,
imported when asked for.
"""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits._axes import WorldAxis
from tachyfits._header import Header
from tachyfits._regions import Region
from tachyfits._writer import write_atomically, write_image

if TYPE_CHECKING:
    import astropy.wcs


@dataclass(frozen=True)
class Plane:
    """A picture of the sky made from a cube.

    Attributes
    ----------
    values
        float64, shape (y, x).
    unit
        The unit of ``values``, None when the file names none.
    header
        World coordinates of the two axes and what else the cube's header says.
    name
        What the values are: "mean", "moment 1", ...
    """

    values: NDArray[np.float64]
    unit: str | None
    header: Header
    name: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values, (y, x)."""
        return self.values.shape

    @property
    def wcs(self) -> astropy.wcs.WCS:
        """World coordinates, by astropy."""
        return world_coordinates(self.header)

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a FITS image (BITPIX -64); the file appears when it is complete.

        Examples
        --------
        >>> import tachyfits as tf
        >>> with tf.open("cube.fits") as file:
        ...     file[0].image("sum").write("sum.fits", overwrite=True)
        >>> tf.open("sum.fits")[0].shape
        (4, 5)
        """
        write_image(path, self.values, self.header, overwrite=overwrite)

    def png(
        self,
        path: str | os.PathLike[str],
        *,
        stretch: str = "linear",
        percentile: float | None = None,
        low: float | None = None,
        high: float | None = None,
        colormap: str | None = None,
        title: str | None = None,
        overwrite: bool = True,
    ) -> None:
        """Draw the plane with axes and a colour bar into a PNG (or SVG or PDF, by the name).

        Parameters
        ----------
        path
            The picture.
        stretch
            "linear", "log", "asinh" or "sqrt": how values become colours.
        percentile
            Cut at this percentile of the values and as much below; None: from min to max.
        low, high
            The values of the first and the last colour, instead of ``percentile``.
        colormap
            A name that matplotlib knows.
        title
            Instead of the name and the object.
        overwrite
            Replace an older picture.
        """
        from tachyfits.plot import plane_figure, save_figure

        figure = plane_figure(
            self,
            stretch=stretch,
            percentile=percentile,
            low=low,
            high=high,
            colormap=colormap,
            title=title,
        )
        save_figure(figure, path, overwrite=overwrite)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return as_array(self.values, dtype, copy)

    def __repr__(self) -> str:
        return f"<tachyfits Plane {self.name!r} {self.shape} [{self.unit or 'no unit'}]>"


@dataclass(frozen=True)
class Spectrum:
    """Values along the spectral axis.

    Attributes
    ----------
    axis
        The spectral values, their unit and CTYPE.
    values
        float64, one per channel.
    unit
        The unit of ``values``, None when the file names none.
    statistic
        What was done with the pixels of a channel.
    region
        The region, None for every pixel.
    header
        Of the cube.
    """

    axis: WorldAxis
    values: NDArray[np.float64]
    unit: str | None
    statistic: str
    region: Region | None
    header: Header

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a table of two columns as CSV, names and units in the first line."""
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
        from tachyfits.plot import save_figure, spectrum_figure

        save_figure(spectrum_figure([self], title=title), path, overwrite=overwrite)

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return as_array(self.values, dtype, copy)

    def __repr__(self) -> str:
        return (
            f"<tachyfits Spectrum {self.statistic} of {len(self)} channels "
            f"[{self.unit or 'no unit'}] along {self.axis.name} [{self.axis.unit}]>"
        )


def as_array(values: NDArray[Any], dtype: Any, copy: bool | None) -> NDArray[Any]:
    """Follow NumPy's protocol of conversion (``__array__``) for values already in memory."""
    array = values if dtype is None else values.astype(dtype, copy=False)
    if copy is False and array is not values:
        raise ValueError("a conversion to another type cannot be made without a copy")
    return array.copy() if copy else array


def world_coordinates(header: Header) -> astropy.wcs.WCS:
    """Return astropy's world coordinates of a header, without its notes on repaired keywords."""
    import warnings

    from astropy.wcs import WCS, FITSFixedWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FITSFixedWarning)
        return WCS(header.to_astropy())
