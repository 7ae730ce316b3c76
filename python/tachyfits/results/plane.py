"""Results with coordinates: a Plane of the sky.

It holds values, a unit and a header, and can be written. `tachyfits.plot` draws it, imported on
demand.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.boundary import public
from tachyfits.base.errors import usage
from tachyfits.base.upper import upper
from tachyfits.file.companions import companion_hdus
from tachyfits.header.alignment import Grid
from tachyfits.header.cards import Header
from tachyfits.header.coordinates import Coordinates
from tachyfits.header.photometry import sampled_unit
from tachyfits.results.html import table_html
from tachyfits.results.measured import Measured, both, cut_header, slice_of, with_unit
from tachyfits.text.sections import Section

if TYPE_CHECKING:
    import astropy.nddata
    import astropy.wcs
    import matplotlib.figure
    import spectral_cube
    from typing_extensions import Unpack

    from tachyfits._core import Report
    from tachyfits.file.hdu import Hdu


class PictureOptions(TypedDict, total=False):
    """Keyword arguments of `Plane.plot` and `Plane.png`; see `tachyfits.plot.plane_figure`."""

    cmap: Any
    contours: Any
    title: str | None
    label: str | None
    scale_bar: Any
    overlay: Any
    overlay_levels: Any
    regions: Any
    ax: Any
    figsize: Any
    stretch: Literal["linear", "log", "asinh", "sqrt"]
    limits: Any
    percentile: float | None
    low: float | None
    high: float | None


@public
@dataclass(frozen=True, eq=False)
class Plane(Measured):
    """A picture of the sky from a cube: an array with a unit and coordinates.

    Arithmetic, NumPy functions and slices give planes with the right unit and coordinates;
    comparisons give arrays of bool. Other indices give numbers and arrays: ``plane[3, 4]``; a
    SkyCoord gives the value of the pixel at that position, NaN beyond the plane. A region as index,
    or its text, gives the rectangle around it. ``max``, ``mean`` and the like ignore undefined
    pixels.

    Attributes
    ----------
    values
        float64, shape (y, x).
    unit
        Unit of ``values``; None if the file has none.
    header
        World coordinates of the two axes and the other cards of the cube's header.
    name
        Name of the values: "mean", "moment 1", ...
    kept_axis
        NumPy axis of the collapsed axis, with length 1, in written files and in ``header``; None if
        it is removed.
    report
        Cost of computing it; for planes computed together, of all of them.
    source
        The source file: the title of its picture if the header has no OBJECT.
    companions
        HDUs that the coordinates need, which `write` adds to the file: tables of -TAB axes, and
        corrections of pixels (CPDIS, D2IM). Empty for other planes.
    """

    values: NDArray[np.float64]
    unit: str | None
    header: Header
    name: str = ""
    kept_axis: int | None = None
    report: Report | None = field(default=None, repr=False, compare=False)
    source: str = field(default="", repr=False, compare=False)
    companions: bytes = field(default=b"", repr=False, compare=False)

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

    @property
    def _kept(self) -> int | None:
        return self.kept_axis

    def __getitem__(self, index: Any) -> Any:
        if hasattr(index, "spherical"):
            return self._at(index)
        return super().__getitem__(index)

    def _at(self, position: Any) -> Any:
        """Return the values of the pixels at positions on the sky; NaN beyond the plane."""
        x, y = (
            np.floor(np.asarray(at) + 0.5)
            for at in self.to_image().coordinates.world_to_pixel(position)[:2]
        )
        height, width = self.shape
        with np.errstate(invalid="ignore"):
            inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        columns, rows = (np.where(inside, at, 0).astype(np.intp) for at in (x, y))
        return np.where(inside, self.values[rows, columns], np.nan)[()]

    def _cut(self, section: Section) -> Plane:
        ranges, shape = list(section.ranges), list(self.shape)
        if self.kept_axis is not None:
            ranges.insert(self.kept_axis, (0, 1, 1))
            shape.insert(self.kept_axis, 1)
        values = self.values[tuple(slice_of(piece) for piece in section.ranges)]
        header, companions = cut_header(self.header, shape, ranges, self.companions)
        steps = [step for _, _, step in ranges]
        unit = sampled_unit(self.unit, Coordinates(self.header, len(shape)), steps)
        return replace(
            self, values=values, unit=unit, header=with_unit(header, unit), companions=companions
        )

    def as_written(self, header: Any = None) -> tuple[NDArray[Any], Any]:
        """Return the array and the header of the image to write, unless ``header`` replaces it."""
        values, header = super().as_written(header)
        return values if self.kept_axis is None else np.expand_dims(values, self.kept_axis), header

    def _world(self, ndim: int) -> Coordinates:
        return Coordinates(self.header, ndim, self.source, self._companion)

    def _companion(self, name: str, version: int) -> Hdu:
        for hdu in companion_hdus(self.companions, self.source):
            if (hdu.name.upper(), hdu.version) == (name.upper(), version):
                return hdu
        raise usage(
            f"the coordinates need the HDU {name!r} of version {version}, which is not there",
            "take the plane from the image again, or use pixels",
        )

    @property
    def wcs(self) -> astropy.wcs.WCS:
        """World coordinates of the two axes of ``values``, as an astropy WCS."""
        kept_axis = self.kept_axis
        world = self._world(2 if kept_axis is None else 3).wcs()
        if kept_axis is None:
            return world
        # WCS numbers are FITS numbers: NAXIS3 is NumPy axis 0 of three.
        return world.sub([number for number in (1, 2, 3) if number != 3 - kept_axis])

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
        overwrite: bool = True,
        **options: Unpack[PictureOptions],
    ) -> None:
        """Draw the plane with axes and a colour bar to a PNG (or SVG or PDF, by the name).

        Parameters
        ----------
        path
            File name of the picture.
        overwrite
            Replace an existing picture.
        **options
            As in `tachyfits.plot.plane_figure`: ``cmap``, ``contours``, ``title``, ``figsize``,
            ``stretch``, ``limits``, ...
        """
        upper.save_figure(lambda: self.plot(**options), path, overwrite=overwrite)

    def plot(self, **options: Unpack[PictureOptions]) -> matplotlib.figure.Figure:
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

    def to_astropy(self) -> astropy.nddata.CCDData:
        """Return an astropy CCDData: unit, coordinates, header, and a mask of undefined pixels.

        Examples
        --------
        >>> import tachyfits as tf
        >>> data = tf.open("cube.fits")[0].collapse("max").to_astropy()
        >>> data.unit, tf.Plane.from_nddata(data).values[0, 0]
        (Unit("Jy / beam"), np.float64(40.0))
        """
        data: astropy.nddata.CCDData = upper.ccd_data(self)
        return data

    @classmethod
    def from_nddata(cls, data: Any) -> Plane:
        """Return an astropy CCDData or NDData, of two axes, as a plane; masked pixels are NaN."""
        plane: Plane = upper.plane_of(data)
        return plane

    def to_projection(self) -> spectral_cube.Projection:
        """Return a spectral-cube projection: values, unit, coordinates and beam.

        Raises
        ------
        UsageError
            spectral-cube is not installed.
        """
        projection: spectral_cube.Projection = upper.projection_of(self)
        return projection

    @classmethod
    def from_projection(cls, projection: Any) -> Plane:
        """Return a spectral-cube projection or slice as a plane."""
        plane: Plane = upper.plane_of_projection(projection)
        return plane

    def __repr__(self) -> str:
        return f"<tachyfits Plane {self.name!r} {self.shape} [{self.unit or 'no unit'}]>"

    def _repr_html_(self) -> str:
        return table_html({"plane": self.name, "shape (y, x)": self.shape, "unit": self.unit or ""})
