"""Operations: images computed from images, when they are read or written.

Nothing here touches pixels: each method asks the engine for a lazy image and returns it as an
`Image` of a `File` that is not on disk. It can be indexed, reduced, used in further operations, and
written, box by box, in one pass over the bytes of its inputs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import either, foreign_errors, usage, warn
from tachyfits.base.progress import Progress
from tachyfits.base.upper import upper
from tachyfits.base.whole_numbers import whole_number
from tachyfits.file.file import File
from tachyfits.header.beam import (
    Beam,
    beam_cards,
    beam_from,
    beams_of,
    check_sky_plane,
    is_left_behind,
    keep_beam_hint,
    pixel_widths,
)
from tachyfits.header.convolution import Grown, common_beam, convolution, grown_beams
from tachyfits.header.photometry import amount_of, sampled_unit
from tachyfits.image.pixels import Pixels
from tachyfits.text.pixel_units import beam_power

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tachyfits.base.output import ImageOptions
    from tachyfits.image.image import Image


class Operations(Pixels):
    """Operations on the pixels of one HDU that return an image."""

    def smooth(
        self,
        kernel: str | Sequence[float] | NDArray[Any] = "hanning",
        width: float | None = None,
        *,
        axis: int | str | None = None,
        beam: Any = None,
        edge: str = "repeat",
        blanks: str = "renormalise",
        fill: bool = False,
        every: int = 1,
    ) -> Image:
        """Smooth along one axis, or to a beam; computed when the result is read or written.

        Parameters
        ----------
        beam
            Beam of the result, instead of a kernel along an axis. "15arcsec" or another beam as of
            `Image.to`, or "common", the smallest beam that all channels can have (by radio_beam).
            Every plane is smoothed with the Gaussian that takes its own beam, from the header or
            the table BEAMS, to this beam; the kernel is cut at 6 standard deviations for float32, 8
            for float64, where the rest is below the rounding of the results. Values per beam are
            multiplied by the ratio of the solid angles, values per beam squared by its square. A
            plane that already has the beam stays unchanged.
        kernel
            "hanning" (weights 1/4, 1/2, 1/4), "boxcar", "gaussian" (cut at 4 standard deviations),
            or an odd number of weights, from the lowest index to the highest, which are not
            normalised.
        width
            Width of a boxcar, an odd number of pixels; full width at half maximum of a Gaussian in
            pixels.
        axis
            A NumPy number or a FITS letter: "x", "y", "z". None: the axis of channels,
            `Image.channel_axis`; an error if the image has none.
        edge
            Values of pixels beyond the ends: "repeat", the last pixel (MIRIAD, SciPy's "nearest");
            "pair", mirror images about the centre of the last pixel, so that Hanning gives the
            mean of the last pair (CASA); "zero" (NEMO); "blank", undefined pixels; "keep": pixels
            whose neighbours would lie beyond keep their values.
        blanks
            Treatment of NaN and BLANK: "renormalise", the weights of the defined pixels alone
            (spectral-cube, astropy); "propagate", the result is NaN (SciPy); "zero" (CASA, MIRIAD).
        fill
            Also compute undefined pixels from defined neighbours; otherwise they stay undefined.
        every
            Keep the results of the first pixel and every n-th after it (decimation).

        Returns
        -------
        Image
            With the same axes (except for ``every``) and unit. float32 for float32 pixels and
            integers of up to 16 bits, float64 for others; each value is a sum in float64 in the
            order of the weights, rounded once.

        Warns
        -----
        TachyfitsWarning
            The axis is a sky axis and the header has a beam: beam and values per beam stay
            unchanged; `smooth_sky` updates both. Channels without a usable beam become undefined.

        Raises
        ------
        UsageError
            ``beam`` is smaller than the beam of a channel, or the header has no beam or no sky.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> cube.smooth("hanning", axis="z")[:, 0, 0]
        array([ 5., 20., 35.], dtype=float32)
        >>> cube.smooth("hanning", axis="x", edge="pair").write("smooth.fits", overwrite=True)
        """
        if beam is not None:
            if (kernel, width, axis, every) != ("hanning", None, None, 1):
                raise usage("beam= takes no kernel, width, axis or every", "smooth in two steps")
            return self._smooth_to_beam(beam, edge=edge, blanks=blanks, fill=fill)
        number = (
            self.coordinates.required_channel_axis() if axis is None else self._axis_number(axis)
        )
        if whole_number(every, least=1) is None:
            raise usage(f"invalid every {every!r}: expected a number of pixels from 1", "use 2")
        with foreign_errors("invalid kernel", "give a name, or an odd number of weights; pixels"):
            if isinstance(kernel, str):
                weights = _core.smoothing_weights(kernel, None if width is None else float(width))
            else:
                weights = np.ascontiguousarray(kernel, dtype=np.float64).reshape(-1)
        core = self._core_image().smooth(
            number, weights, edge=edge, blanks=blanks, fill=fill, every=every
        )
        steps = [every if axis == number else 1 for axis in range(self.ndim)]
        core = self._with_unit(core, sampled_unit(self.unit, self.coordinates, steps))
        if is_left_behind(self, number):
            warn(
                f"{self._file.name}: smoothing along one axis of the sky leaves the beam (BMAJ, "
                "BMIN, BPA) and values per beam as they were; a Gaussian on the sky "
                f"({either('smooth_sky()', '--sky')}) has them follow"
            )
        options = {"edge": edge, "blanks": blanks, "fill": fill, "every": every}
        return self._computed(core, "smooth", weights, axis=number, **options)

    def _smooth_to_beam(self, target: Any, **options: Any) -> Image:
        kernels = convolution(self, target)
        scales = kernels.ratios ** -self._beam_power()
        scales[np.isnan(kernels.ratios)] = np.nan
        if kernels.is_upright:
            xx, _, yy = kernels.widths[0]
            x, y = (_upright_weights(square) for square in (xx, yy))
            core = self._core_image().smooth_planes(x, y, scales=scales.tolist(), **options)
        else:
            core = self._core_image().smooth_beams(
                kernels.axes, kernels.widths.tolist(), scales.tolist(), **options
            )
        core = core.hdu(0).image().with_cards(beam_cards(kernels.beam), ["CASAMBM"])
        return self._computed(core, "smooth", beam=kernels.beam, **options)

    def _beam_power(self) -> float:
        """Return the power of the beam in the unit of the pixels; 0 with a warning if unknown."""
        power = beam_power(self.unit)
        if power is None:
            warn(
                f"{self._where()}: the unit {self.unit!r} of the values (BUNIT) is unknown: they "
                "are not rescaled to the new beam"
            )
        return power or 0.0

    def common_beam(self) -> Beam:
        """Return the smallest beam that every channel can be smoothed to, by radio_beam.

        For an image with a single beam, this is that beam.

        Raises
        ------
        UsageError
            The header has no beam, or radio_beam is not installed.
        """
        return common_beam(self)

    def smooth_sky(
        self,
        width: Any,
        *,
        update_beam: bool = True,
        edge: str = "repeat",
        blanks: str = "renormalise",
        fill: bool = False,
    ) -> Image:
        """Smooth every plane with a Gaussian; computed when the result is read or written.

        Parameters
        ----------
        width
            Full width at half maximum: a number of pixels, a pair for x and y, or an angle for a
            round kernel ("12arcsec", an astropy Quantity). Cut at 4 standard deviations.
        update_beam
            Update the beam of the header (BMAJ, BMIN, BPA), or the beams of all channels in the
            table BEAMS, and multiply values per beam by the ratio of the beams' areas (per beam
            squared by its square), including values that ``edge="keep"`` leaves unsmoothed.
        edge, blanks, fill
            As in `smooth`; undefined pixels are renormalised in two dimensions.

        Raises
        ------
        UsageError
            An angle without sky coordinates in NAXIS1 and NAXIS2; a sky on other axes.

        Warns
        -----
        TachyfitsWarning
            Values per beam of an image without a usable beam, and values in an unknown unit, stay
            unchanged; those of a channel without a beam become undefined.

        Examples
        --------
        >>> import tachyfits as tf
        >>> smooth = tf.open("cube.fits")[0].smooth_sky(2.0)
        >>> smooth.shape, round(float(smooth[0, 1, 1]), 3)
        ((3, 4, 5), 6.183)
        """
        check_sky_plane(self)
        widths = pixel_widths(width, self)
        x, y = (_core.smoothing_weights("gaussian", pixels) for pixels in widths)
        old = beams_of(self, otherwise=keep_beam_hint()) if update_beam else None
        options: dict[str, Any] = {"edge": edge, "blanks": blanks, "fill": fill}
        grown: Grown | None = None
        if old is not None:
            grown = grown_beams(self, old, widths, self._beam_power())
        elif update_beam and beam_power(self.unit) != 0:
            warn(
                f"{self._where()}: values in {self.unit!r} were not rescaled: the header has no "
                "usable beam (BMAJ, BMIN, BPA, or HISTORY of AIPS)"
            )
        axes, scales = ([], [1.0]) if grown is None else (grown.axes, grown.scales)
        core = self._core_image().smooth_planes(x, y, axes=axes, scales=scales, **options)
        if grown is not None and grown.beam is not None:
            core = core.hdu(0).image().with_cards(beam_cards(grown.beam))
        elif grown is not None:
            core = core.hdu(0).image().with_channel_beams(grown.rows)
        return self._computed(core, "smooth_sky", width, update_beam=update_beam, **options)

    def with_beam(self, beam: Any) -> Image:
        """Return the same pixels with another beam in the header (BMAJ, BMIN, BPA).

        Values stay unchanged. A table of beams by channel (BEAMS) is dropped.

        Parameters
        ----------
        beam
            As in `Image.to`.

        Examples
        --------
        >>> import tachyfits as tf
        >>> image = tf.open("cube.fits")[0].with_beam("36arcsec")
        >>> image.beam, image.to("Jy/pixel").unit
        (Beam(major=0.01, minor=0.01, angle=0.0), 'Jy pix-1')
        """
        new_beam = beam_from(beam)
        core = self._core_image().with_cards(beam_cards(new_beam), ["CASAMBM"])
        return self._computed(core, "with_beam", new_beam)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        compress: Any = None,
        overwrite: bool = False,
        checksum: bool = False,
        sync: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
        **options: Unpack[ImageOptions],
    ) -> None:
        """Write the image as the primary array of a new FITS file.

        The file appears under its name when it is complete; after an error, a full disk or a kill
        an existing file of that name is unchanged. Memory stays bounded for an image of any size.

        Parameters
        ----------
        path
            The new file; "-" for standard output.
        compress
            Compress in tiles: "rice", "gzip", "hcompress" or a `Compression`. Floats are quantised
            unless the codec keeps every bit. The image is then an extension, as the Standard
            requires.
        overwrite
            Replace an existing file.
        checksum
            Write DATASUM and CHECKSUM, computed during the write.
        sync
            Return only when the file would survive a power failure.
        dtype
            Type of the pixels ("int16", "uint16", "float64", ...); None: their own, bit for bit.
            Values are rounded to the nearest integer (ties to even), and refused if they do not
            fit.
        scaling
            (BSCALE, BZERO) for integer types: stored = (value - BZERO) / BSCALE.
        blank
            BLANK for integer types; NaN becomes BLANK.
        drop_degenerate
            Leave out every axis of length 1, as `cutout` does: a cube with one polarisation gets
            3 axes.

        Raises
        ------
        IoError
            The file exists and ``overwrite`` is false, or reading or writing fails.
        UsageError
            A value does not fit the pixels.

        Warns
        -----
        TachyfitsWarning
            Values were rounded; it names the largest error.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> cube.write("short.fits", dtype="int16", scaling=(0.5, 0.0), blank=-1, overwrite=True)
        >>> float(tf.open("short.fits")[0].max())
        59.0
        """
        upper.write_new(
            path, self, compress=compress, overwrite=overwrite, checksum=checksum, sync=sync,
            threads=self._threads(threads), progress=progress, **options,
        )  # fmt: skip

    def _with_unit(self, core: _core.FitsFile, unit: str | None) -> _core.FitsFile:
        """Return a computed image, without BUNIT if ``unit`` is None and this image has a unit."""
        if unit is not None or self.unit is None:
            return core
        note = f"tachyfits: the result is not in the unit of the pixels, {self.unit}"
        return core.hdu(0).image().with_cards([("HISTORY", note, "")], ["BUNIT"])

    def _for_pictures(self) -> Image:
        """Return the same pixels without a unit that depends on the pixel size, for previews."""
        if amount_of(self.unit) != "flux":
            return cast("Image", self)
        core = self._core_image().with_cards([], ["BUNIT"])
        return self._computed(core, "_for_pictures")

    def _with_channels(self, axis: int, inside: NDArray[np.bool_]) -> Image:
        """Return the image with NaN in the other channels, which are not read."""
        core = self._core_image().with_channels(axis, inside)
        return self._computed(core, "_with_channels", axis, inside)

    def _computed(self, core: _core.FitsFile, method: str, *args: Any, **kwargs: Any) -> Image:
        """Return the image that the engine computes; it pickles as the method call."""
        recipe = (recomputed, (self, method, args, kwargs))
        source = self._file
        file = File.computed(
            core, recipe, threads=source.threads, strict=source.is_strict,
            buffering=source.buffering,
        )  # fmt: skip
        image: Image = file[0]
        return image


def _upright_weights(square: float) -> NDArray[np.float64]:
    """Return a Gaussian of this squared full width in pixels, cut at 8 standard deviations."""
    sigma = math.sqrt(square / (8 * math.log(2)))
    half = math.floor(8 * sigma)
    offsets = np.arange(-half, half + 1)
    weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def recomputed(image: Operations, method: str, args: Any, kwargs: Any) -> Any:
    """Unpickle the file of a computed image: call the method again."""
    return getattr(image, method)(*args, **kwargs).file


def for_pictures(image: Operations) -> Image:
    """Return the same pixels without a unit that depends on the pixel size, for previews."""
    return image._for_pictures()
