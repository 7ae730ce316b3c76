"""Results with coordinates: a Plane of the sky and a Spectrum.

They hold numbers, a unit and a header, and can write themselves. `tachyfits.plot` draws them,
imported on demand.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.upper import upper
from tachyfits.header.alignment import Grid
from tachyfits.header.cards import Header
from tachyfits.header.coordinates import Coordinates
from tachyfits.results.html import table_html
from tachyfits.results.measured import Measured, both, cut_header, slice_of, with_unit
from tachyfits.text.sections import Section

if TYPE_CHECKING:
    import astropy.nddata
    import astropy.wcs
    import matplotlib.figure
    import spectral_cube

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
        name = self.name if other is None else both(self.name, other.name)
        return replace(
            self, values=values, unit=unit, header=with_unit(self.header, unit), name=name
        )

    def _grid(self) -> Grid:
        shape = list(self.shape)
        if self.kept_axis is not None:
            shape.insert(self.kept_axis, 1)
        return Grid(self.source, Coordinates(self.header, len(shape)), tuple(shape))

    def _cut(self, section: Section) -> Plane:
        ranges, shape = list(section.ranges), list(self.shape)
        if self.kept_axis is not None:
            ranges.insert(self.kept_axis, (0, 1, 1))
            shape.insert(self.kept_axis, 1)
        values = self.values[tuple(slice_of(piece) for piece in section.ranges)]
        return replace(self, values=values, header=cut_header(self.header, shape, ranges))

    def as_written(self, header: Any = None) -> tuple[NDArray[Any], Any]:
        """Return the array and the header of the image that is written, unless another is given."""
        values, header = super().as_written(header)
        return values if self.kept_axis is None else np.expand_dims(values, self.kept_axis), header

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
        upper.write(path, self, overwrite=overwrite, checksum=checksum, sync=sync)

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
        upper.save_figure(figure, path, overwrite=overwrite)

    def plot(self, **options: Any) -> matplotlib.figure.Figure:
        """Draw the plane with axes and a colour bar; options as of `tachyfits.plot.plane_figure`.

        Examples
        --------
        >>> import tachyfits as tf
        >>> figure = tf.open("cube.fits")[0].collapse("max").plot(stretch="asinh", percentile=99)
        >>> figure.axes[0].get_title()
        'cube: max'
        """
        figure: matplotlib.figure.Figure = upper.plane_figure(self, **options)
        return figure

    def to_ccddata(self) -> astropy.nddata.CCDData:
        """Return CCDData of astropy: unit, coordinates, header, and a mask of undefined pixels.

        Examples
        --------
        >>> import tachyfits as tf
        >>> data = tf.open("cube.fits")[0].collapse("max").to_ccddata()
        >>> data.unit, tf.Plane.from_nddata(data).values[0, 0]
        (Unit("Jy / beam"), np.float64(40.0))
        """
        data: astropy.nddata.CCDData = upper.ccd_data(self)
        return data

    @classmethod
    def from_nddata(cls, data: Any) -> Plane:
        """Return CCDData or NDData of astropy, of two axes, as a plane; masked pixels are NaN."""
        plane: Plane = upper.plane_of(data)
        return plane

    def to_projection(self) -> spectral_cube.Projection:
        """Return a projection of spectral-cube: values, unit, coordinates and beam.

        Raises
        ------
        UsageError
            spectral-cube is not installed.
        """
        projection: spectral_cube.Projection = upper.projection_of(self)
        return projection

    @classmethod
    def from_projection(cls, projection: Any) -> Plane:
        """Return a projection or a slice of spectral-cube as a plane."""
        plane: Plane = upper.plane_of_projection(projection)
        return plane

    def __repr__(self) -> str:
        return f"<tachyfits Plane {self.name!r} {self.shape} [{self.unit or 'no unit'}]>"

    def _repr_html_(self) -> str:
        return table_html({"plane": self.name, "shape (y, x)": self.shape, "unit": self.unit or ""})
