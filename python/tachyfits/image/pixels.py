"""Pixels: read the pixels of an image HDU.

It converts NumPy indices and types to the engine's terms. `file.image_hdu` reads the header,
`image.image` has the reductions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.cluster import current
from tachyfits.base.errors import either, placing, usage
from tachyfits.base.progress import Progress
from tachyfits.base.upper import upper
from tachyfits.base.whole_numbers import check_threads
from tachyfits.file.image_hdu import ImageHdu
from tachyfits.header.alignment import Grid
from tachyfits.header.spectral_selection import channel_part, channel_slice
from tachyfits.header.spectral_units import Line
from tachyfits.image.chosen_regions import ChosenRegions, chosen_regions, mask_of
from tachyfits.results.measured import as_array
from tachyfits.text.axes import Axis, WorldAxis, axis_number, axis_numbers
from tachyfits.text.indices import is_section, read_indexed, with_new_axes
from tachyfits.text.region_input import Regions
from tachyfits.text.sections import Section, resolve
from tachyfits.text.spectral_ranges import AskedChannels

if TYPE_CHECKING:
    import astropy.units
    import astropy.wcs


class Pixels(ImageHdu):
    """The pixels of one HDU: lazy until indexed or read. `Image` adds the reductions."""

    def _threads(self, threads: int | None) -> int:
        return self._file.threads if threads is None else check_threads(threads)

    # Header information.

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of indexing results: native byte order, float64 if the pixels are scaled or BLANK.

        bool if the image is a comparison or another condition, such as ``cube > 3``.
        """
        return np.dtype(self._core_image().dtype)

    def _grid(self) -> Grid:
        """Return the positions of the pixels, to check images that are combined."""
        return Grid(self._file.name, self.coordinates, self.shape, True, self._file.is_strict)

    @property
    def wcs(self) -> astropy.wcs.WCS:
        """World coordinates as an astropy WCS, with axes in FITS order.

        They agree with `coordinates` and regions: distortions with their tables, and the frame that
        the header names. astropy supports distortions for two axes only: use a plane,
        ``image.collapse("sum").wcs``.

        Raises
        ------
        FormatError
            A card has the wrong type, or there are more than 32 axes.
        UsageError
            WCSLIB or astropy cannot evaluate the cards, or a table that they need is missing.
        """
        return self.coordinates.wcs()

    @property
    def channel_axis(self) -> int | None:
        """NumPy number of the axis of channels; None for an image without one.

        It is the first axis with a spectral CTYPE. Without one it is the axis beside the sky that
        is not STOKES (Faraday depth, time): the first of more than one pixel. If CTYPE names no
        sky, the first two FITS axes are the sky.
        """
        return self.coordinates.channel_axis

    @property
    def spectral_axis(self) -> astropy.units.Quantity:
        """Coordinates of the channels, as an astropy quantity; `channel_axis` is the axis number.

        An axis without its own coordinate is numbered in pixels from 1.

        Raises
        ------
        UsageError
            The image has no axis of channels, or the unit of the axis is unknown.

        Examples
        --------
        >>> import astropy.units as u, tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> cube.spectral_axis, cube.channel_axis
        (<Quantity [1000., 1500., 2000.] m / s>, 0)
        >>> cube[cube.spectral_axis < 1.8 * u.km / u.s].shape
        (2, 4, 5)
        """
        number = self.coordinates.required_channel_axis()
        return self.coordinates.world_axis(number, 0, self.shape[number], 1).quantity

    def world_axis(
        self, axis: int | str | None = None, channels: AskedChannels = None
    ) -> WorldAxis:
        """Return the world values along one axis, in CUNIT; None: along the axis of channels.

        Axes that are not linear (WAVE-LOG, FELO, -TAB) are evaluated by WCSLIB. An axis without its
        own coordinate (a sky axis, or one mixed with another by PC or CD) is numbered in pixels
        from 1 as in FITS, with the unit "pixel".

        Raises
        ------
        FormatError
            A card of the axis is invalid; the error names it and its value.
        """
        coordinates = self.coordinates
        number = coordinates.required_channel_axis() if axis is None else self._axis_number(axis)
        length = self.shape[number]
        if channels is None:
            return coordinates.world_axis(number, 0, length, 1)
        part = channel_part(
            length,
            channels,
            lambda item: channel_slice(coordinates, number, length, item, Line()),
        )
        return coordinates.world_axis(number, *part.ranges)

    def region_mask(self, region: Regions) -> NDArray[np.bool_]:
        """Return a mask of the pixels of a plane in a region, or in any of a list of regions.

        Parameters
        ----------
        region
            A region in pixels or on the sky, or an argument of `tachyfits.region`.

        Returns
        -------
        numpy.ndarray
            bool, of the shape of the last two axes.

        Examples
        --------
        >>> import tachyfits as tf
        >>> mask = tf.open("cube.fits")[0].region_mask("icrs; circle(9.98, 20.02, 40arcsec)")
        >>> mask.shape, int(mask.sum())
        ((4, 5), 4)
        """
        cores = self._chosen(region).cores
        if cores is None:
            raise usage("a mask needs a region", 'give one: "circle(512,480,12)"')
        return mask_of(self, cores)

    # Pixels.

    @property
    def data(self) -> NDArray[Any]:
        """All pixels as a read-only array: `read` under astropy's name.

        Each access reads them again; ``image[10:20]`` reads only its own pixels.
        """
        pixels = self.read()
        pixels.flags.writeable = False
        return pixels

    def __getitem__(self, index: Any) -> Any:
        # The engine reads a few pixels faster than Python resolves the index.
        values = self._core_image().indexed(index, self._file._threads)
        if values is not None:
            return values
        # None means everything elsewhere; as an index it is newaxis.
        return self._indexed(index if isinstance(index, tuple) else (index,))[()]

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self)):
            yield self[index]

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("the pixels are in a file: they cannot become an array without a copy")
        return as_array(self.read(), dtype, None)

    def read(
        self,
        section: Any = None,
        *,
        dtype: Any = None,
        out: NDArray[Any] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[Any]:
        """Read pixels into a native-endian array.

        Parameters
        ----------
        section
            A NumPy index expression, including arrays of integers, masks and newaxis; None:
            everything.
        dtype
            None: `Image.dtype`. "float32" or "float64": physical values (computed in float64,
            rounded once), NaN where blank. "exact": integers with the conventions for unsigned
            types applied, and blank values kept. "raw": the stored values.
        out
            Array to fill and return, of the result's shape and type.

        Raises
        ------
        UsageError
            The section or the type is invalid (a ValueError; an IndexError out of bounds), or a
            finite value is beyond the range of float32.
        FormatError
            The file is too short; its complete parts stay readable.
        IoError
            The file cannot be read.

        Examples
        --------
        >>> import numpy as np, tachyfits as tf
        >>> tf.open("cube.fits")[0].read(np.s_[0, 0], dtype="float64")
        array([0., 1., 2., 3., 4.])
        """
        if isinstance(section, Section):
            return self._read(section, dtype, out, threads, progress)
        index = () if section is None else section
        items = index if isinstance(index, tuple) else (index,)
        return self._indexed(items, dtype, out, threads, progress)

    @placing
    def _indexed(
        self,
        items: tuple[Any, ...],
        dtype: Any = None,
        out: NDArray[Any] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[Any]:
        if is_section(items):
            return self._read(resolve(items, self.shape), dtype, out, threads, progress)

        def read(section: Section) -> NDArray[Any]:
            return self._read(Section(section.ranges), dtype, None, threads, progress)

        if is_section([item for item in items if item is not None]):
            values = with_new_axes(items, self.shape, read)
        else:
            none = read(Section(((0, 0, 1),) * self.ndim))
            values = read_indexed(items, self.shape, none.dtype, read)
        if out is not None:
            _check_out(out, values.shape)
            out[...] = values
        return values if out is None else out

    def _read(
        self,
        section: Section,
        dtype: Any,
        out: NDArray[Any] | None,
        threads: int | None,
        progress: Progress | None,
    ) -> NDArray[Any]:
        target = None
        if out is not None:
            _check_out(out, section.shape)
            # Restore axes of length 1 that integers drop: a view of the same memory.
            target = out[tuple(None if a in section.dropped else slice(None)
                               for a in range(len(section.ranges)))]  # fmt: skip
        name = self._dtype_name(dtype)
        # The engine returns truth values as bytes of 0 and 1.
        logical = name is None and self.dtype == np.bool_
        if logical and target is not None and target.dtype == np.bool_:
            target = target.view(np.uint8)
        pixels = self._core_image().read(
            self._ranges(section),
            dtype=name,
            out=target,
            threads=self._threads(threads),
            progress=progress,
        )
        if out is not None:
            return out
        return (pixels.view(np.bool_) if logical else pixels).reshape(section.shape)

    @placing
    def _chosen(self, region: Any) -> ChosenRegions:
        return chosen_regions(self, region)

    @placing
    def _section(self, section: Any) -> Section:
        return resolve(section, self.shape)

    @placing
    def _axis_number(self, axis: int | str) -> int:
        return axis_number(axis, self.ndim)

    @placing
    def _axis_numbers(self, axis: Axis | None) -> tuple[int, ...]:
        return axis_numbers(axis, self.ndim)

    def _reducer(self) -> _core.Image:
        """Return the object that reduces pixels: the engine's image, or an equivalent."""
        cluster = current()
        if cluster is None:
            return self._core_image()
        return cast("_core.Image", upper.SpreadImage(self, cluster))

    def _ranges(self, section: Section) -> list[tuple[int, int, int]] | None:
        return None if section.is_whole(self.shape) else list(section.ranges)

    def _dtype_name(self, dtype: Any) -> str | None:
        if dtype is None:
            return None
        if isinstance(dtype, str) and dtype in ("exact", "raw"):
            return dtype
        try:
            name = str(np.dtype(dtype).name)
        except TypeError:
            name = str(dtype)
        if name in ("float32", "float64"):
            return name
        if name == str(self.dtype):
            return None
        raise usage(
            f"pixels cannot be read as {dtype!r}",
            either('use "float32", "float64", "exact" or "raw", and .astype() on the result'),
        )


def _check_out(out: NDArray[Any], shape: tuple[int, ...]) -> None:
    if not isinstance(out, np.ndarray):
        raise usage(f"invalid out of type {type(out).__name__}: expected an array", "give one")
    if out.shape != shape:
        raise usage(
            f"invalid out of shape {out.shape}: expected {shape}", "give an array of that shape"
        )
