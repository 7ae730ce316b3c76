"""Fits of the spectrum of each pixel, and images without baselines.

The engine fits. This module chooses the pixels and the channels, and converts the numbers to
planes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.progress import Progress
from tachyfits.base.reports import last, reports
from tachyfits.header.spectral_selection import channel_mask
from tachyfits.header.spectral_units import Channels, Line, channels_of
from tachyfits.image.collapse import Collapse
from tachyfits.image.selecting import Selecting
from tachyfits.results.fits import (
    FWHM,
    MOST_ORDER,
    NUMBERS,
    BaselineFits,
    FitAxis,
    FitRequest,
    GaussianFits,
    GaussianMaps,
    noise_of,
    order_of,
    power_unit,
    reference_of,
    squared,
    units_of,
)
from tachyfits.results.plane import Plane
from tachyfits.text.spectral_ranges import AskedChannels

if TYPE_CHECKING:
    from tachyfits._core import Report
    from tachyfits.header.spectral_units import Convention
    from tachyfits.image.image import Image


class Fitting(Selecting):
    """Fits along the spectral axis of an image."""

    def fit_gaussians(
        self,
        n: int = 1,
        *,
        channels: AskedChannels = None,
        baseline: int | None = None,
        noise: Any = None,
        limits: dict[str, tuple[float | None, float | None]] | None = None,
        unit: str | None = None,
        rest: Any = None,
        convention: Convention | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> GaussianFits:
        """Fit Gaussians to the spectrum of each pixel, all in one pass over the pixels.

        The sum of squared residuals is minimised by the method of Levenberg and Marquardt with
        analytic first and second derivatives. Initial values are moments of the residual about its
        highest peak, positive or negative. The first residual is the spectrum less a baseline that
        leaves out channels beyond twice the rms; each further Gaussian starts from the residual of
        the previous fit. Half of the widest Gaussian is tried instead, and the better minimum is
        kept. A fit has converged if the next step would change no parameter by more than a
        ten-millionth of its error, within 100 steps. Results have the same bits for any number of
        threads and any order of the axes in memory.

        Parameters
        ----------
        n
            Number of Gaussians: 1 to 3.
        channels
            Channels to fit, as of `select`: a slice, a range with a unit, or a list of them. None:
            all.
        baseline
            Order, 0 to 5, of a polynomial that is fitted together with the Gaussians. None: no
            baseline, which suits the result of `subtract_baseline`.
        noise
            Standard deviation of a channel, in the unit of the values or as a quantity, for errors
            and chi². None: errors are based on the rms of the residuals.
        limits
            Lowest and highest values by the names "amplitude", "centre" and "fwhm", in the units of
            the results; None for an open end. By default, the centre is between the first and the
            last fitted channel, the width at least one channel and at most their distance. A fit
            whose best value lies beyond a limit fails.
        unit, rest, convention
            As in `moments`.

        Returns
        -------
        GaussianFits
            Maps of shape (y, x), float64: amplitude in the unit of the values, centre and full
            width at half maximum (FWHM) in that of the axis, their standard errors, chi² and flags.
            NaN where a fit failed and outside of regions. NaN and BLANK channels are ignored; a
            spectrum with an infinite channel fails.

        Raises
        ------
        UsageError
            The image is not a cube, or an argument is out of range.

        Examples
        --------
        >>> import numpy as np, tachyfits as tf
        >>> x = np.arange(32.0)[:, None, None]
        >>> line = 3 * np.exp(-4 * np.log(2) * ((x - 12.5) / 6) ** 2) * np.ones((32, 2, 3))
        >>> cards = {"CTYPE3": "FREQ", "CUNIT3": "GHz", "CRPIX3": 1.0, "CRVAL3": 0.0, "CDELT3": 1.0,
        ...          "BUNIT": "K"}
        >>> tf.write("line.fits", line, header=cards, overwrite=True)
        >>> fits = tf.open("line.fits")[0].fit_gaussians()
        >>> fits[0].centre.values.round(6), fits[0].centre.unit, fits[0].integral.unit
        (array([[12.5, 12.5, 12.5],
               [12.5, 12.5, 12.5]]), 'GHz', 'K GHz')
        >>> fits
        <tachyfits GaussianFits: 1 per pixel, 6 of 2 x 3 pixels converged>
        """
        image = self if channels is None else self.select(channels=channels)
        line = Line(unit, rest, convention)
        cube = Collapse.of(image._chosen_pixels(), False, line)
        coordinates = cube.channels()
        axis = FitAxis(coordinates.values, coordinates.widths)
        request = FitRequest.of(n, baseline, noise, limits, cube.unit, axis)
        with reports() as costs:
            arrays = cube.pixels._reducer().fit_gaussians(
                request.n,
                cube.axis,
                np.ascontiguousarray(coordinates.values),
                request.limits,
                cube.ranges,
                **request.options,
                threads=cube.image._threads(threads),
                progress=progress,
            )
        maps = _Maps(cube, coordinates, last(costs))
        units = units_of(cube.unit, coordinates.unit)
        components = []
        for number in range(request.n):
            planes = []
            for place, (name, its_unit) in enumerate(zip(NUMBERS, units, strict=True)):
                values = arrays[number * len(NUMBERS) + place]
                if name.startswith("fwhm"):
                    values = values * FWHM
                title = name.replace("_", " ") if request.n == 1 else f"{name} {number + 1}"
                planes.append(maps.plane(values, title.replace("_", " "), its_unit))
            components.append(GaussianMaps(*planes))
        rest_of = arrays[request.n * len(NUMBERS) :]
        common = maps.common(rest_of, request.noise, 3 * request.n)
        return GaussianFits(**common, components=tuple(components))

    def fit_baseline(
        self,
        order: int = 1,
        *,
        channels: AskedChannels = None,
        noise: Any = None,
        unit: str | None = None,
        rest: Any = None,
        convention: Convention | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> BaselineFits:
        """Fit a polynomial to the spectrum of each pixel, all in one pass over the pixels.

        Parameters
        ----------
        order
            Order of the polynomial: 0 for a constant, 1 for a straight line, up to 9.
        channels
            Channels without lines, as of `fit_gaussians`.
        noise, unit, rest, convention
            As of `fit_gaussians`.

        Returns
        -------
        BaselineFits
            Maps of the coefficients of powers of the distance to the coordinate of the middle
            channel, their errors, the rms of the residuals and flags. NaN where a spectrum has no
            more defined channels than the order, or an infinite channel. With as many channels as
            coefficients, errors and rms are NaN unless ``noise`` is set.

        Examples
        --------
        >>> import tachyfits as tf
        >>> fits = tf.open("cube.fits")[0].fit_baseline(1, unit="km/s")
        >>> fits.baseline[1].values.round(6)[0, :2], fits.baseline[1].unit
        (array([40., 40.]), 'Jy beam-1 s km-1')
        """
        number = order_of(order, MOST_ORDER)
        image = self if channels is None else self.select(channels=channels)
        cube = Collapse.of(image._chosen_pixels(), False, Line(unit, rest, convention))
        coordinates = cube.channels()
        noise = noise_of(noise, cube.unit)
        with reports() as costs:
            arrays = cube.pixels._reducer().fit_baseline(
                number,
                cube.axis,
                np.ascontiguousarray(coordinates.values),
                np.ones(len(coordinates.values), dtype=np.bool_),
                cube.ranges,
                noise=noise,
                threads=cube.image._threads(threads),
                progress=progress,
            )
        return BaselineFits(**_Maps(cube, coordinates, last(costs)).common(arrays, noise, 0))

    def subtract_baseline(self, order: int = 1, *, channels: AskedChannels = None) -> Image:
        """Subtract a polynomial from each spectrum; computed when the result is read or written.

        The polynomial is fitted by least squares to the channels without lines. A spectrum is
        fitted when one of its pixels is first needed, and its coefficients are cached: they take 8
        bytes times the number of coefficients for each pixel of the sky.

        Parameters
        ----------
        order
            Order of the polynomial: 0 for a constant, 1 for a straight line, up to 9.
        channels
            Channels without lines, as of `select`: a slice, a range with a unit, or a list of them.
            None: all.

        Returns
        -------
        Image
            Same shape as this image: float32 for float32 pixels and integers of up to 16 bits,
            float64 for others. Undefined pixels stay undefined. A spectrum with fewer defined
            channels than coefficients, or an infinite channel, becomes NaN. A HISTORY card names
            the channels.

        Raises
        ------
        UsageError
            The image has no spectral axis, or an argument is out of range.

        Examples
        --------
        >>> import tachyfits as tf
        >>> flat = tf.open("cube.fits")[0].subtract_baseline(0, channels=[slice(0, 1), slice(2, 3)])
        >>> flat[:, 0, 0]
        array([-20.,   0.,  20.], dtype=float32)
        >>> flat.write("flat.fits", overwrite=True)
        """
        number = order_of(order, MOST_ORDER)
        coordinates = self.coordinates
        axis = coordinates.required_channel_axis()
        length = self.shape[axis]
        mask = channel_mask(coordinates, axis, length, channels, Line())
        values = channels_of(coordinates, axis, (0, length, 1), Line()).values
        core = self._core_image().subtract_baseline(
            number, axis, np.ascontiguousarray(values), mask
        )
        return self._computed(core, "subtract_baseline", order, channels=channels)


class _Maps:
    """Planes of fit results."""

    def __init__(self, cube: Collapse, channels: Channels, report: Report | None) -> None:
        self.cube = cube
        self.channels = channels
        self.report = report

    def plane(self, values: NDArray[np.float64], name: str, unit: str | None) -> Plane:
        """Return a map."""
        of_pixels = name.startswith("amplitude")
        return self.cube.plane(
            values, name, unit, self.channels, report=self.report, of_pixels=of_pixels,
            is_integral=name.startswith("integral"),
        )  # fmt: skip

    def common(
        self, arrays: list[NDArray[np.float64]], noise: float | None, parameters: int
    ) -> dict[str, Any]:
        """Return the maps that every fit has, from the numbers after those of the Gaussians."""
        *coefficients, norms, counts, flags = arrays
        unit, axis = self.cube.unit, self.channels.unit
        powers, errors = [], []
        for number in range(len(coefficients) // 2):
            its_unit = power_unit(unit, axis, number)
            name = f"baseline {number}"
            powers.append(self.plane(coefficients[2 * number], name, its_unit))
            errors.append(self.plane(coefficients[2 * number + 1], f"{name} error", its_unit))
        free = counts - parameters - len(powers)
        rms = norms / np.sqrt(np.where(free > 0, free, np.nan))
        with np.errstate(over="ignore"):
            chi2 = (norms / (noise or 1.0)) ** 2
        return {
            "baseline": tuple(powers),
            "baseline_errors": tuple(errors),
            "reference": reference_of(self.channels.values),
            "rms": self.plane(rms, "rms", unit),
            "chi2": self.plane(chi2, "chi2", squared(unit, noise)),
            "channels": self.plane(counts, "channels", None),
            "flags": self.plane(flags, "flags", None),
            "report": self.report,
        }
