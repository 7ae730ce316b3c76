"""Cube: spectra, planes of the sky and moments of images that have a spectral axis.

`image.spectra` finds the spectral axis, `image.collapse` makes planes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, overload

from tachyfits.base.progress import Progress
from tachyfits.header.spectral_units import Convention, Line, Medium
from tachyfits.image.collapse import Collapse, MomentOrder, Peak, collapse, moments
from tachyfits.image.fitting import Fitting
from tachyfits.image.spectra import picture, spectra
from tachyfits.image.weights import Weights
from tachyfits.results.plane import Plane
from tachyfits.results.spectrum import Spectrum
from tachyfits.text.region_input import OneRegion, Regions
from tachyfits.text.statistic_names import StatisticName

#: Statistics of `Cube.spectrum`.
SpectrumStatistic: TypeAlias = Literal[StatisticName, "flux"]


class Cube(Fitting):
    """Reductions of an image along its spectral axis."""

    @overload
    def spectrum(  # type: ignore[overload-overlap] # text is a sequence, too
        self,
        region: OneRegion | None = None,
        *,
        statistic: SpectrumStatistic = "mean",
        unit: str | None = None,
        rest: Any = None,
        convention: Convention | None = None,
        rest_medium: Medium | None = None,
        weights: Weights | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Spectrum: ...
    @overload
    def spectrum(
        self,
        region: Sequence[OneRegion],
        *,
        statistic: SpectrumStatistic = "mean",
        unit: str | None = None,
        rest: Any = None,
        convention: Convention | None = None,
        rest_medium: Medium | None = None,
        weights: Weights | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> list[Spectrum]: ...
    def spectrum(
        self,
        region: Regions = None,
        *,
        statistic: SpectrumStatistic = "mean",
        unit: str | None = None,
        rest: Any = None,
        convention: Convention | None = None,
        rest_medium: Medium | None = None,
        weights: Weights | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Spectrum | list[Spectrum]:
        """Reduce every channel to a number.

        Parameters
        ----------
        region
            Short for ``select(region).spectrum()``: a region in pixels or on the sky, or an
            argument of `tachyfits.region`; or a list of them (which gives a list of spectra).
        statistic
            A name of `tachyfits.info.statistics`; "median", "mad", "percentile90" (or any other);
            or "flux": the sum of the pixels times their solid angle, in Jy for Jy/beam.
        unit
            Unit of the coordinates ("km/s"), of the values ("K"), or both ("K, km/s"). Values are
            converted by `Image.to`, with the beam and the frequency of each channel, in the same
            pass.
        rest, convention, rest_medium
            As in `moments`.
        weights
            "exact": each pixel is weighted by its fraction inside the region, as in photutils, for
            the statistics sum, mean and flux. None: pixels whose centre is inside. Shapes on the
            sky are converted to shapes in pixels with the scale at their centre.

        Examples
        --------
        >>> import tachyfits as tf
        >>> spectrum = tf.open("cube.fits")[0].spectrum(tf.Box(1, 1, 3, 3))
        >>> spectrum.values, spectrum.axis.values, spectrum.axis.unit
        (array([ 6., 26., 46.]), array([1000., 1500., 2000.]), 'm/s')
        >>> tf.open("cube.fits")[0].spectrum(unit="km/s").axis.values
        array([1. , 1.5, 2. ])
        """
        line = Line(unit, rest, convention, rest_medium)
        choice = self._chosen_pixels(region)
        results = spectra(choice, statistic, weights, line, threads=threads, progress=progress)
        return results[0] if choice.regions.count is None else results

    def collapse(
        self,
        statistic: StatisticName | Peak = "mean",
        *,
        unit: str | None = None,
        rest: Any = None,
        convention: Convention | None = None,
        rest_medium: Medium | None = None,
        keep_axis: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Plane:
        """Collapse the spectral axis: a map of the sky, one statistic per line of sight.

        Parameters
        ----------
        statistic
            A name of `tachyfits.info.statistics`; "median", "mad", "percentile90" (or any other);
            or "max_channel", the number (from 0) of the channel with the maximum, "max_coordinate",
            its coordinate, and likewise "min". The first such channel counts; NaN if no pixel is
            defined.
        unit
            Unit of a coordinate ("km/s"), or of the values of another statistic ("K"), which are
            converted by `Image.to` in the same pass.
        rest, convention, rest_medium
            As in `moments`.
        keep_axis
            Keep the spectral axis, with length 1, in the header and in written files.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> cube.select(channels=slice(0, 2)).collapse("max").values[0]
        array([20., 21., 22., 23., 24.])
        >>> cube.select(tf.Box(1, 0, 3, 1)).collapse("max_coordinate", unit="km/s").values[0]
        array([ 2.,  2.,  2., nan, nan])
        """
        line = Line(unit, rest, convention, rest_medium)
        cube = Collapse.of(self._chosen_pixels(), keep_axis, line, statistic)
        return collapse(cube, statistic, threads, progress)

    def plane(
        self,
        section: Any = None,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Plane:
        """Return the pixels of an image, or of one channel of a cube, to plot or to write.

        Parameters
        ----------
        section
            A NumPy index expression that keeps two axes (others of length 1): ``np.s_[10]`` is a
            channel of a cube. None: everything.

        Examples
        --------
        >>> import numpy as np, tachyfits as tf
        >>> tf.open("cube.fits")[0].plane(np.s_[2, ::-1]).values[0]
        array([55., 56., 57., 58., 59.])
        """
        return picture(self, section, threads, progress)

    def moment(
        self,
        order: MomentOrder,
        *,
        unit: str | None = None,
        rest: Any = None,
        convention: Convention | None = None,
        rest_medium: Medium | None = None,
        keep_axis: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Plane:
        """Return one moment map along the spectral axis; see `moments` for the parameters.

        Examples
        --------
        >>> import tachyfits as tf
        >>> velocity = tf.open("cube.fits")[0].moment(1, unit="km/s")
        >>> velocity.values[0, :2], velocity.unit
        (array([1.83333333, 1.81746032]), 'km s-1')
        """
        line = Line(unit, rest, convention, rest_medium)
        cube = Collapse.of(self._chosen_pixels(), keep_axis, line)
        return moments(cube, [order], threads, progress)[0]

    def moments(
        self,
        orders: Sequence[MomentOrder] = (0, 1, 2),
        *,
        unit: str | None = None,
        rest: Any = None,
        convention: Convention | None = None,
        rest_medium: Medium | None = None,
        keep_axis: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> list[Plane]:
        """Return moment maps along the spectral axis, all computed in one pass over the pixels.

        Moment 0 is the integral: the sum of each pixel times the width of its channel, in the unit
        of the pixels times that of the axis. If the requested coordinates are not equally spaced,
        each channel has its own width, with edges half a channel on either side. Moment 1 is the
        mean coordinate weighted by the pixels, moment 2 the dispersion about it: the square root of
        the weighted mean square (CASA, MIRIAD; spectral-cube gives its square). As in other
        packages, channel widths do not weight these two. NaN and BLANK are ignored. The result is
        NaN if no pixel is defined, if the weights add up to 0, or if negative weights make the mean
        square negative.

        Parameters
        ----------
        orders
            Orders: 0, 1 or 2.
        unit
            Unit of the coordinate: "km/s", "GHz", "um", ..., in any letter case; None: that of the
            header. Also of the pixels ("K"), which are converted by `Image.to`, or both: "K, km/s".
            An axis without a coordinate is counted in pixels from 1, as in FITS.
        rest
            Rest frequency or wavelength with its unit, "230.538 GHz" or a Quantity; None: RESTFRQ
            or RESTWAV (in vacuum). A rest frequency other than the header's gives velocities about
            another line, even if the axis itself is in velocities.
        convention
            "radio", "optical" or "relativistic" velocities; None: those of the axis, or "radio" for
            frequencies and "optical" for wavelengths. A HISTORY card records it. Wavelengths in air
            (AWAV) are converted to vacuum first, by the refractive index of B. Edlén (J. Opt. Soc.
            Am. 43, 339, 1953); reference frames are not converted.
        rest_medium
            Medium of a wavelength in ``rest``: "air" or "vacuum"; None: that of the axis, air for
            AWAV.
        keep_axis
            As in `collapse`.

        Channels of pure noise spoil moments 1 and 2: `select` chooses channels, regions and values,
        in the same pass. Outside of regions the maps are NaN, and only the box around them is read.

        Examples
        --------
        >>> import tachyfits as tf
        >>> for plane in tf.open("cube.fits")[0].moments((0, 1), unit="km/s"):
        ...     print(plane.name, plane.unit, plane.values[0, 0])
        moment 0 Jy beam-1 km s-1 30.0
        moment 1 km s-1 1.8333333333333333
        """
        line = Line(unit, rest, convention, rest_medium)
        cube = Collapse.of(self._chosen_pixels(), keep_axis, line)
        return moments(cube, orders, threads, progress)
