"""Image: reductions of the pixels of one HDU, and results made from them.

It converts user input (NumPy indices, axis letters, regions) to the engine's terms, and results
back; every loop over pixels is in the compiled module. `image.pixels` reads; `image.cube` makes
spectra, planes and moments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsFloat, overload

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import UsageTypeError, either, foreign_errors, usage, with_hint
from tachyfits.base.hints import no_attribute
from tachyfits.base.optional import SERVER, needed
from tachyfits.base.progress import Progress
from tachyfits.base.upper import upper
from tachyfits.base.whole_numbers import whole_number
from tachyfits.image.array_functions import array_function, array_ufunc
from tachyfits.image.brightness import FLUX
from tachyfits.image.cube import Cube, SpectrumStatistic
from tachyfits.image.flux import AskedFlux, fluxes
from tachyfits.image.measuring import Measuring
from tachyfits.image.operators import Operators
from tachyfits.image.photometry import Apertures
from tachyfits.image.reduction_methods import ReductionMethods
from tachyfits.image.reductions import finished, reduced_arrays
from tachyfits.image.reshape import Reshaping
from tachyfits.image.weights import check_weights, weighted
from tachyfits.results.html import table_html
from tachyfits.results.quantities import number_in
from tachyfits.results.viewer import Viewer
from tachyfits.text.axes import Axis
from tachyfits.text.region_input import OneRegion, Regions
from tachyfits.text.regions import kept_shape
from tachyfits.text.statistics import STANDARD_STATISTICS, order_statistic

if TYPE_CHECKING:
    import dask.array
    import spectral_cube
    import xarray

    from tachyfits.image.weights import Weights

#: Default number of bins of a histogram.
_BINS = 256


def _whole_bins(low: float, high: float) -> tuple[float, float, int]:
    """Return the limits and the number of bins of whole width for the integers in a range.

    >>> _whole_bins(0.0, 20.0), _whole_bins(-3.0, 1000.0), _whole_bins(0.2, 0.4)
    ((-0.5, 20.5, 21), (-3.5, 1000.5, 251), (0.2, 0.4, 256))
    """
    first, last = math.ceil(low), math.floor(high)
    # Beyond 2**52 float64 has no halves.
    if first > last or max(abs(first), abs(last)) >= 2**52:
        return low, high, _BINS
    width = -(-(last - first + 1) // _BINS)
    count = -(-(last - first + 1) // width)
    return first - 0.5, first - 0.5 + count * width, count


def _range_of(states: Sequence[_core.Stats]) -> tuple[float, float]:
    """Return the range of the pixels of all regions, for the bins of a histogram."""
    good = [state for state in states if state.count]
    if not good:
        return 0.0, 1.0
    low, high = min(state.min for state in good), max(state.max for state in good)
    if not np.isfinite([low, high]).all():
        raise usage(
            f"the pixels range from {low} to {high}: bins of equal width cannot cover this range",
            either("give range=(low, high)", "give --range LOW HIGH", "give low and high"),
        )
    # As in NumPy if all values are equal.
    return (low, high) if low < high else (low - 0.5, high + 0.5)


@public
class Image(ReductionMethods, Operators, Cube, Measuring, Apertures, Reshaping):
    """Pixels of one HDU: lazy until indexed, reduced or written.

    Axes are in NumPy order, indices 0-based; a section is a NumPy index expression (``np.s_``).
    NaN and BLANK pixels are ignored by every reduction, and counted. Results are in the unit of
    the pixels, float64, and do not depend on the number of threads.

    NumPy's reductions accept images (``numpy.mean(image, axis=0)``) and run in the engine in one
    pass. Like the methods they ignore NaN and BLANK, so ``numpy.mean`` behaves as
    ``numpy.nanmean``. Other NumPy functions read all pixels first and treat NaN as in an array.

    Every operation takes ``threads`` (None: the file's default; 0: one per core) and ``progress``,
    a function that is called with (bytes done, total bytes) and stops the work by returning False.

    The arrays of random groups are one image, whose first axis counts the groups;
    `group_parameters` returns the parameters of each group.

    Examples
    --------
    >>> import tachyfits as tf
    >>> cube = tf.open("cube.fits")[0]
    >>> cube[0, 1:3, ::2]
    array([[ 5.,  7.,  9.],
           [10., 12., 14.]], dtype=float32)
    >>> cube.max(axis="z").shape, cube.select(channels=1).stats().count
    ((4, 5), 20)
    """

    _data_kind = "image"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            is_array = hasattr(np.ndarray, name)
            hint = either(f"an image is read first: image.read().{name}") if is_array else ""
            message = no_attribute("Image", name, hint, dir(type(self)))
            raise AttributeError(message, name=name, obj=self)

    if not TYPE_CHECKING:

        def __setitem__(self, index: Any, values: Any) -> None:
            problem = "an image of a file cannot be changed in place"
            hint = either("with tf.edit(path) as editor: editor[0].pixels[...] = values")
            raise UsageTypeError(with_hint(problem, hint))

    def __repr__(self) -> str:
        if self._problem() is not None:
            return f"<tachyfits Image unknown, HDU {self.index} of {self.file.name}>"
        unit = f" [{self.unit}]" if self.unit else ""
        name = f" {self.name!r}" if self.name else ""
        where = f"HDU {self.index}{name} of {self.file.name}"
        return f"<tachyfits Image {self.shape} {self.dtype}{unit}, {where}>"

    def _repr_html_(self) -> str:
        rows = {
            "file": self.file.name,
            "HDU": f"{self.index} {self.name}",
            "shape (NumPy order)": str(self.shape),
            "type": f"{self.dtype} (BITPIX {self.bitpix})",
            "unit": self.unit or "",
            "coordinates": str(self.coordinates),
            "bytes": f"{self.data_bytes:,}",
        }
        return table_html(rows)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Apply a NumPy function to images, in the engine if it can."""
        return array_function(function, args, options)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a NumPy ufunc or one of its methods; return an image if the engine supports it."""
        return array_ufunc(ufunc, method, inputs, options)

    def to_spectral_cube(self) -> spectral_cube.SpectralCube:
        """Return a spectral-cube cube on dask, which reads pixels when they are needed.

        Raises
        ------
        UsageError
            spectral-cube is not installed.
        """
        cube: spectral_cube.SpectralCube = upper.spectral_cube_of(self)
        return cube

    @classmethod
    def from_spectral_cube(cls, cube: Any) -> Image:
        """Return a spectral-cube cube as an image in memory, with the beams of its channels."""
        image: Image = upper.image_of_cube(cube)
        return image

    def to_dask(self, chunks: Any = "auto") -> dask.array.Array:
        """Return a dask array whose chunks are read when they are needed. Reads no pixel.

        Parameters
        ----------
        chunks
            "auto": whole rows, planes or tiles of about ``array.chunk-size`` of dask's
            configuration (128 MiB). Otherwise as in dask.

        Returns
        -------
        dask.array.Array
            Of the image's shape and type, in native byte order. Each task carries the path or URL,
            the version of the file and the HDU; each process opens the file once. If the image
            comes from a stream, tasks stay in this process.

        Raises
        ------
        UsageError
            dask is not installed.
        IoError
            When a task runs: the file has changed since the array was created.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> pixels = cube.to_dask(chunks=(1, 4, 5))
        >>> pixels.numblocks, float(pixels[1:].max().compute())
        ((3, 1, 1), 59.0)
        """
        array: dask.array.Array = upper.dask_array(self, chunks)
        return array

    def to_xarray(self) -> xarray.DataArray:
        """Return an xarray array whose pixels are read when a part of it is needed.

        Axes are named after CTYPE in lower case, the sky axes "y" and "x", and have their
        coordinates and units; ``attrs`` has the unit of the pixels and the cards. ``.chunk()``
        converts it to dask.

        Raises
        ------
        UsageError
            xarray is not installed.
        """
        array: xarray.DataArray = upper.data_array(self)
        return array

    @classmethod
    def from_xarray(cls, array: Any) -> Image:
        """Return an xarray array as an image in memory.

        Cards in its ``attrs``, from `to_xarray`, are updated if it is a section of that array.

        Raises
        ------
        UsageError
            The array is not of real numbers, or not a section of the array that its cards describe.
        """
        image: Image = upper.image_of_data_array(array)
        return image

    def view(self, *, height: int = 720, address: str | None = None) -> Viewer:
        """Show the image in the viewer page, as a widget in the output of a notebook's cell.

        One server on a thread of this process serves the viewed files on the loopback address, to
        clients with the token of the link. Widgets are for JupyterLab, Jupyter Notebook and VS
        Code. The browser must reach the server: if the kernel runs on another machine, use
        ``address``, or forward the port.

        Parameters
        ----------
        height
            Height of the page in screen pixels.
        address
            Address of the server for the browser if the kernel runs on another machine; ``{port}``
            is replaced by the port: ``"/user/me/proxy/{port}/"`` of jupyter-server-proxy.

        Returns
        -------
        Viewer
            The widget. ``regions`` are the regions of the page in 0-based pixels, and can be set;
            ``spectra`` are their spectra, as from `spectrum`; ``pixel`` and ``position`` are the
            last clicked place, in 0-based pixels and as a `SkyCoord`.

        Raises
        ------
        UsageError
            The image is not from a file on this machine, or the extra ``notebook`` is missing.

        Examples
        --------
        >>> import tachyfits as tf
        >>> viewer = tf.open("cube.fits")[0].view()
        >>> viewer.regions = ["circle(2,2,1)"]
        >>> viewer.regions, viewer.spectra[0].values.shape
        ([Circle(x=1.0, y=1.0, radius=1.0)], (3,))
        """
        for library in (*SERVER, "anywidget"):
            needed(library, "the viewer in notebooks", extra="notebook")
        viewer: Viewer = upper.viewer(self, height, address)
        return viewer

    # Reductions.

    @overload
    def stats(  # type: ignore[overload-overlap] # text is a sequence, too
        self,
        region: OneRegion | None = None,
        *,
        axis: None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> _core.Stats: ...
    @overload
    def stats(
        self,
        region: Sequence[OneRegion],
        *,
        axis: None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> list[_core.Stats]: ...
    @overload
    def stats(
        self,
        region: Regions = None,
        *,
        axis: Axis,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> dict[str, NDArray[Any]]: ...
    def stats(
        self,
        region: Regions = None,
        *,
        axis: Axis | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> _core.Stats | list[_core.Stats] | dict[str, NDArray[Any]]:
        """Return count, nan, sum, mean, rms, std, min and max in one pass.

        Parameters
        ----------
        region
            Short for ``select(region).stats()``: a region of the sky plane, or a list of them, in
            every plane.
        axis
            None: one `Stats` (a list of them for a list of regions); its positions of min and max
            are indices of this image. Axes to reduce, as numbers or letters: a dictionary of
            arrays by name, whose shape is that of the kept axes.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> stats = cube.stats()
        >>> stats.count, stats.nan, stats.mean, stats.max_position
        (60, 0, 29.5, (2, 3, 4))
        >>> cube.stats(axis="xy")["max"]
        array([19., 39., 59.])
        """
        image = self._within(region)
        if axis is not None:
            return reduced_arrays(
                image, STANDARD_STATISTICS, axis, threads=threads, progress=progress
            )
        # Count the regions before the pixels are read: the file may be closed meanwhile.
        count = image._chosen_pixels().regions.count
        states = image._states(threads, progress)
        return states[0] if count is None else states

    def _states(
        self, threads: int | None = None, progress: Progress | None = None
    ) -> list[_core.Stats]:
        """Return the statistics of each region, or of the whole image as a single item."""
        choice = self._chosen_pixels()
        pixels = choice.pixels
        return pixels._reducer().stats(
            pixels._ranges(choice.section),
            regions=choice.regions.cores,
            threads=pixels._threads(threads),
            progress=progress,
        )

    def reduce(
        self,
        statistic: SpectrumStatistic,
        axis: Axis | None = None,
        *,
        weights: Weights | None = None,
        ddof: int = 0,
        keepdims: bool = False,
        dtype: Any = None,
        out: NDArray[Any] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Reduce axes by a statistic of `tachyfits.info.statistics`, by its name.

        Parameters
        ----------
        statistic
            Name such as "mean", "std" (about the mean), "nan" (the number of undefined pixels) or
            "percentile90". Or "flux", over the axes of the sky, in the unit that `flux` returns.
        axis
            Axes to reduce, as NumPy numbers or FITS letters ("xy"); None: all. If the image was
            selected by regions, both sky axes (the last two) must be reduced; for a list of regions
            the result has a first axis.
        weights
            "exact", for "sum" and "mean" of regions: each pixel is weighted by its fraction inside,
            as in `spectrum`.
        ddof
            The divisor of "std" is count - ddof.
        keepdims
            Keep the reduced axes, with length 1.
        dtype, out
            Type of the result, and an array for it, as in NumPy.

        Returns
        -------
        numpy.ndarray or NumPy scalar
            Its shape is that of the kept axes. NaN if no pixel is defined.
        """
        run: dict[str, Any] = {"threads": threads, "progress": progress}
        choice = self._chosen_pixels()
        if isinstance(statistic, str) and statistic == FLUX:
            request = AskedFlux(None, weights=weights, keepdims=keepdims)
            flux, _ = fluxes(choice, self._axis_numbers(axis), request, **run)
            return finished(flux, dtype, out)
        if check_weights(weights, statistic, choice.regions):
            axes = self._axis_numbers(axis)
            values = weighted(choice, choice.pixels, statistic, axes, **run)
            shape = kept_shape(choice.section, axes, choice.regions.count, keepdims)
            return finished(values.reshape(shape), dtype, out)
        order = order_statistic(statistic) if isinstance(statistic, str) else None
        if order is not None:
            return finished(self._order([order], axis, keepdims, **run)[0], dtype, out)
        names = (statistic,)
        arrays = reduced_arrays(self, names, axis, ddof=ddof, keepdims=keepdims, **run)
        return finished(arrays[statistic], dtype, out)

    def std(self, axis: Axis | None = None, *, ddof: int = 0, **options: Any) -> Any:
        """Return the standard deviation about the mean, divisor count - ddof; see `reduce`."""
        return self.reduce("std", axis, ddof=ddof, **options)

    def var(
        self, axis: Axis | None = None, *, dtype: Any = None, out: Any = None, **options: Any
    ) -> Any:
        """Return the variance: the square of `std`, with the same parameters."""
        return finished(np.square(np.asarray(self.std(axis, **options))), dtype, out)

    def argmax(self, axis: Axis | None = None, **options: Any) -> Any:
        """Return the index of the first maximum along an axis; see `argmin`."""
        return self.reduce("max_position", axis, **options)

    def argmin(self, axis: Axis | None = None, **options: Any) -> Any:
        """Return the index of the first minimum along an axis; None: in the flattened image.

        See `reduce` for the parameters. -1 if no pixel is defined.

        Examples
        --------
        >>> import numpy as np, tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> int(cube.argmax()), cube.argmin(axis="z")[0]
        (59, array([0, 0, 0, 0, 0]))
        """
        return self.reduce("min_position", axis, **options)

    def any(self, axis: Axis | None = None, **options: Any) -> Any:
        """Return whether any pixel is nonzero; NaN counts as nonzero. Parameters as of `reduce`.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> bool((cube > 58).any()), (cube > 58).any(axis="xy")
        (True, array([False, False,  True]))
        """
        values = np.asarray(self._truths().reduce("max", axis, **options))
        return np.equal(values, 1)[()]

    def all(self, axis: Axis | None = None, **options: Any) -> Any:
        """Return whether every pixel is nonzero; parameters as of `reduce`."""
        values = np.asarray(self._truths().reduce("min", axis, **options))
        return np.not_equal(values, 0)[()]

    def histogram(
        self,
        bins: int | None = None,
        range: Sequence[SupportsFloat] | None = None,  # noqa: A002 - NumPy's name for it
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> _core.Histogram:
        """Count pixels in equal bins.

        Parameters
        ----------
        bins
            Number of bins. None: 256; for integers at most 256 of an integer width, with edges
            halfway between integers, so that each bin covers equally many of them.
        range
            (low, high), both included, numbers or quantities. None: from min to max, which costs
            another pass.

        A pixel inside several regions counts once.

        Returns
        -------
        Histogram
            ``counts``, ``edges`` (bins + 1), and the numbers of pixels ``below``, ``above`` and
            ``nan``.

        Examples
        --------
        >>> import tachyfits as tf
        >>> tf.open("cube.fits")[0].histogram(bins=3).counts
        array([20, 20, 20], dtype=uint64)
        """
        choice = self._chosen_pixels()
        pixels = choice.pixels
        count = _BINS if bins is None else whole_number(bins, least=1)
        if count is None:
            raise usage(
                f"invalid bins {bins!r}: expected a number of bins", "give an integer, 1 or more"
            )
        if range is None:
            low, high = _range_of(self._states(threads, progress))
        else:
            with foreign_errors(f"invalid range {range!r}", "give two numbers: (low, high)"):
                first, last = range
            low, high = (number_in(end, choice.image.unit, "range") for end in (first, last))
        if bins is None and pixels.dtype.kind in "iu":
            low, high, count = _whole_bins(low, high)
        return pixels._reducer().histogram(
            low,
            high,
            count,
            pixels._ranges(choice.section),
            regions=choice.regions.cores,
            threads=pixels._threads(threads),
            progress=progress,
        )


def statistics_of_regions(image: Image, progress: Progress | None = None) -> list[_core.Stats]:
    """Return the statistics of each region of a selected image, or of all pixels as one item."""
    return image._states(progress=progress)
