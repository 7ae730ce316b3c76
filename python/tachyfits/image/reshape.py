"""Images in another shape: axes reordered, pixels binned, position-velocity cuts.

Nothing here touches pixels. This module converts axis letters and sky coordinates for the engine,
which returns an image that is computed when it is read or written.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, foreign_errors, usage, warn
from tachyfits.base.whole_numbers import whole_number
from tachyfits.header.photometry import binned_unit
from tachyfits.header.sky import Sky
from tachyfits.image.chosen_regions import is_path, line_points
from tachyfits.image.operations import Operations
from tachyfits.text.axes import axis_number, is_celestial

if TYPE_CHECKING:
    import astropy.coordinates

    from tachyfits.image.image import Image

#: Statistics of the pixels of a block.
BlockStatistic: TypeAlias = Literal["mean", "sum", "median", "min", "max"]
#: Treatments of an incomplete block at the end of an axis.
Remainder: TypeAlias = Literal["drop", "keep"]

#: Largest relative change of the sky scale along a path whose offsets are in degrees.
_SCALE_TOLERANCE = 2e-3
#: Points along a segment of a path at which its length on the sky is measured.
_STEPS = 32


class Reshaping(Operations):
    """Operations on the pixels of one HDU that return an image of another shape."""

    def reorder(
        self, order: str | None = None, *, axes: Sequence[int | str] | None = None
    ) -> Image:
        """Reorder the axes; computed when the result is read, reduced or written.

        Pixels keep their bits, BSCALE, BZERO and BLANK; every keyword of an axis (CTYPE, CRPIX, PC,
        PV, ...) gets its new number. Memory stays bounded for an image of any size.

        Parameters
        ----------
        order
            In FITS order, the new NAXIS1 first: letters, where "zxy" makes z the new x, or numbers
            as in MIRIAD's reorder: "312" is the same.
        axes
            In NumPy order instead, as in `numpy.transpose`: numbers or letters.

        Raises
        ------
        UsageError
            An axis is missing or repeated, or a distortion (SIP, TPV) belongs to axes that would
            move.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> cube.shape, cube.reorder("zxy").shape
        ((3, 4, 5), (4, 5, 3))
        >>> cube.reorder(axes=(1, 2, 0))[0, 0]
        array([ 0., 20., 40.], dtype=float32)
        >>> cube.reorder("zxy").write("spectra.fits", overwrite=True)
        """
        if (order is None) == (axes is None):
            raise usage(
                "give either an order or axes", either('reorder("zxy") or reorder(axes=(1, 2, 0))')
            )
        if order is not None:
            with foreign_errors(f"invalid order {order!r}", 'use letters or numbers: "zxy"'):
                numbers = [_fits_axis(str(name), self.ndim) for name in reversed(order)]
        else:
            with foreign_errors(f"invalid axes {axes!r}", "use one number of each: (1, 2, 0)"):
                numbers = [self._axis_number(axis) for axis in axes or ()]
        return self._computed(self._core_image().reorder(numbers), "reorder", axes=numbers)

    def rebin(
        self,
        block: Sequence[int] | None = None,
        *,
        x: int = 1,
        y: int = 1,
        z: int = 1,
        statistic: BlockStatistic = "mean",
        partial: Remainder = "drop",
    ) -> Image:
        """Combine blocks of pixels; computed when the result is read, reduced or written.

        Coordinates follow: the edge of the first pixel stays in place, CRPIX becomes (CRPIX - 0.5)
        / n + 0.5, and CDELT, CD or PC are multiplied by n.

        Parameters
        ----------
        block
            Block size in pixels along each axis, in NumPy order.
        x, y, z
            Block size along NAXIS1, NAXIS2 and NAXIS3 by name.
        statistic
            "mean", "sum", "median" (the mean of the middle two for an even number), "min" or "max"
            of the defined pixels; NaN for a block without any.
        partial
            Treatment of an incomplete block at the end of an axis: "drop", as in CASA's ia.rebin
            (crop=True) and astropy's block_reduce, or "keep": make a pixel of the rest.

        Returns
        -------
        Image
            float32 for float32 pixels and integers of up to 16 bits, float64 for others and if
            scaling exceeds the range of float32; values are added in float64 in the order of the
            pixels and rounded once. Sums of integers are exact: int64 if all fit, else float64; to
            decide this, 64-bit pixels are read once.

        Raises
        ------
        UsageError
            A block is longer than its axis (unless ``partial="keep"``) or has more than 2^22
            pixels.

        Warns
        -----
        TachyfitsWarning
            The result has no unit: the sum of a brightness (Jy/beam, K, MJy/sr) is not a
            brightness, and the mean of fluxes (Jy/pixel, Jy) is not the flux of the larger pixel.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> cube.rebin(x=2, y=2).shape, cube.rebin((1, 2, 2), partial="keep").shape
        ((3, 2, 2), (3, 2, 3))
        >>> cube.rebin((3, 4, 5), statistic="median")[0, 0, 0]
        np.float32(29.5)
        """
        if partial not in get_args(Remainder):
            raise usage(f"invalid partial {partial!r}", 'use "drop" or "keep"')
        letters = {"x": x, "y": y, "z": z}
        if block is None:
            sizes = [1] * self.ndim
            for letter, size in letters.items():
                if size != 1:
                    sizes[self._axis_number(letter)] = _block_size(size)
        elif any(size != 1 for size in letters.values()):
            raise usage(
                "give either a block or x, y, z", either("rebin((1, 2, 2)) or rebin(x=2, y=2)")
            )
        else:
            with foreign_errors(f"invalid block {block!r}", "give a number for each axis"):
                sizes = [_block_size(size) for size in block]
        core = self._core_image().rebin(sizes, statistic=statistic, keep_partial=partial == "keep")
        core = self._with_unit(core, binned_unit(self.unit, self.coordinates, sizes, statistic))
        return self._computed(core, "rebin", sizes, statistic=statistic, partial=partial)

    def pv(
        self,
        path: Sequence[tuple[float, float]] | NDArray[Any] | astropy.coordinates.SkyCoord | Any,
        *,
        width: int = 1,
        spacing: float = 1.0,
    ) -> Image:
        """Cut along a path through the planes: a position-velocity diagram.

        The path runs through NAXIS1 and NAXIS2; further axes stay, so a cube (z, y, x) becomes an
        image (z, offset). Use `reorder` first for a cube with another axis order. Computed when it
        is read; only rows of pixels near the path are read.

        Parameters
        ----------
        path
            Two or more points: (x, y) in 0-based pixels, integers at the centres of pixels; sky
            coordinates (an astropy SkyCoord of several points); or a line as for
            `tachyfits.region`: "line(1,1,5,4)" in pixels from 1, "icrs; line(10,20,9.96,20.03)".
            The path is straight in pixels between them.
        width
            Number of pixels across the path to average.
        spacing
            Distance between samples in pixels; the first sample is at the beginning of the path.

        Returns
        -------
        Image
            Offset along the path as NAXIS1, CTYPE "OFFSET", from 0: in degrees (CUNIT "deg") if the
            sky scale is the same along the path to 0.2 %, otherwise in pixels, with a warning if
            the image has sky coordinates. A sample is interpolated linearly between the four pixels
            around it. NaN, BLANK and pixels outside the image are ignored, with the other weights
            adding up to 1; NaN without any defined pixel.

        Warns
        -----
        TachyfitsWarning
            The path, with its width, extends beyond the image.

        Raises
        ------
        UsageError
            The path has no length, or does not meet the image.
        FormatError
            A card of the sky coordinates is invalid; the error names it and its value.

        Examples
        --------
        >>> import tachyfits as tf
        >>> cube = tf.open("cube.fits")[0]
        >>> diagram = cube.pv([(0, 0), (4, 3)])
        >>> diagram.shape, diagram.header["CTYPE1"]
        ((3, 6), 'OFFSET')
        >>> diagram[0, :3]
        array([0. , 3.8, 7.6], dtype=float32)
        >>> cube.pv([(0, 1), (4, 1)], width=3).write("pv.fits", overwrite=True)
        """
        pixels = whole_number(width, least=1)
        if pixels is None:
            raise usage(f"invalid width {width!r}: expected a number of pixels from 1", "use 3")
        with foreign_errors(f"invalid spacing {spacing!r}", "give a number of pixels: 0.5"):
            step = float(spacing)
        sky = _sky_plane(self)
        points = _points(self, path, sky)
        _check_path(self, points, pixels)
        scale = None if sky is None else _degrees_per_pixel(points, sky)
        lone = _lone_celestial(self)
        if lone is not None:
            warn(
                f"{self._where()}: the path runs along one of the two axes of the sky: the result "
                f"has no coordinates along the other one, NAXIS{lone}"
            )
        core = self._core_image().cut_along(
            [(x, y) for x, y in points.tolist()],
            width=pixels,
            spacing=step,
            unit=None if scale is None else ("deg", scale),
        )
        return self._computed(core, "pv", points.tolist(), width=width, spacing=spacing)


def _fits_axis(name: str, ndim: int) -> int:
    """Return the NumPy number of an axis from its letter, or its FITS number as a digit."""
    if name.isdecimal() and 1 <= int(name) <= ndim:
        return ndim - int(name)
    return axis_number(name, ndim)


def _block_size(size: Any) -> int:
    number = int(size)
    if number != size or not 1 <= number < 2**63:
        raise usage(f"invalid block of {size!r} pixels", "use integers from 1")
    return number


def _sky_plane(image: Operations) -> Sky | None:
    """Return the sky if its two axes are NAXIS1 and NAXIS2.

    An invalid card is an error: offsets would be wrong, or in another unit.
    """
    sky = image.coordinates.sky
    return sky if sky is not None and sky.axes == (1, 2) else None


def _lone_celestial(image: Operations) -> int | None:
    """Return the FITS axis of the sky whose partner the path removes."""
    ctypes = image.coordinates.ctypes
    celestial = [number for number, ctype in enumerate(ctypes, 1) if is_celestial(ctype)]
    remaining = [number for number in celestial if number > 2]
    return remaining[0] if len(remaining) == 1 else None


def _points(image: Operations, path: Any, sky: Sky | None) -> NDArray[np.float64]:
    """Return the points of a path in 0-based pixels, shape (n, 2)."""
    hint = "give two or more (x, y): [(10, 20), (30, 40)]"
    if is_path(path):
        return line_points(image, path)
    if hasattr(path, "spherical"):
        if sky is None:
            raise usage(
                "NAXIS1 and NAXIS2 have no sky coordinates", "give the path in (0-based) pixels"
            )
        with foreign_errors(
            "the path cannot be placed in the image", "give it in (0-based) pixels"
        ):
            path = np.column_stack([np.atleast_1d(pixel) for pixel in sky.pixels_of(path)])
    with foreign_errors("invalid path", hint):
        points = np.asarray(path, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise usage(f"invalid path of shape {points.shape}: expected a list of points", hint)
    return points


def _check_path(image: Operations, points: NDArray[np.float64], width: int) -> None:
    """Refuse a path that has no length, or does not cross the image."""
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        number = int(np.flatnonzero(~finite)[0]) + 1
        raise usage(
            f"{image._where()}: invalid path: point {number} (from 1) is not on the sky of the "
            "image, or not a number",
            "give another one",
        )
    if len(points) < 2 or (points == points[0]).all():
        raise usage(
            f"{image._where()}: invalid path: expected two different points or more",
            either("give [(10, 20), (30, 40)]", *("give '10,20 30,40'",) * 2),
        )
    if image.ndim < 2:
        return
    height, columns = image.shape[-2:]
    # Include samples across the path, and the neighbour pixels of interpolation.
    margin = width / 2 + 1.0
    low, high = np.array([-margin, -margin]), np.array([columns, height]) - 1 + margin
    if any(_crosses(begin, end, low, high) for begin, end in itertools.pairwise(points)):
        _warn_beyond(image, points, width)
        return
    first = int(either("0", "1", "1"))
    ends = " to ".join(f"({x + first:.7g}, {y + first:.7g})" for x, y in points[[0, -1]].tolist())
    raise usage(
        f"{image._where()}: the path from {ends}, pixels from {first}, does not cross the image of "
        f"{columns} x {height} pixels",
        "give points on the image" + either("", "; see tachyfits info FILE for its place", ""),
    )


def _warn_beyond(image: Operations, points: NDArray[np.float64], width: int) -> None:
    """Warn about a path that leaves the image with its width: samples outside are undefined."""
    steps = np.diff(points, axis=0)
    lengths = np.hypot(*steps.T)[:, None]
    # The direction of a segment without length is 0 / 0.
    with np.errstate(invalid="ignore"):
        across = np.column_stack([-steps[:, 1], steps[:, 0]]) / lengths * (width - 1) / 2
    across = np.nan_to_num(across)
    border = np.concatenate(
        [ends + side for ends in (points[:-1], points[1:]) for side in (across, -across)]
    )
    height, columns = image.shape[-2:]
    # As for regions, the edge of the image itself counts as inside.
    slack = 1e-6
    beyond = (border < -0.5 - slack) | (border > np.array([columns, height]) - 0.5 + slack)
    if beyond.any():
        strip = "the path" if width == 1 else f"the path of {width} pixels' width"
        warn(
            f"{image._where()}: {strip} reaches beyond the image of {columns} x {height} pixels: "
            "there it has no pixels, and samples without any are undefined"
        )


def _crosses(
    begin: NDArray[np.float64],
    end: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> bool:
    """Return whether the segment between two points meets a rectangle."""
    step = end - begin
    still = step == 0
    if ((begin < low) | (begin > high))[still].any():
        return False
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.stack([(low - begin) / step, (high - begin) / step])[:, ~still]
    enters, leaves = at.min(axis=0).max(initial=0.0), at.max(axis=0).min(initial=1.0)
    return bool(enters <= leaves)


def _degrees_per_pixel(points: NDArray[np.float64], sky: Sky) -> float | None:
    """Return the size of a pixel on the sky along a path; None, with a warning, if it varies."""
    scales = []
    where = sky.coordinates.where
    with foreign_errors(f"{where}: the path has no offsets on the sky", "cut in pixels: pv(path)"):
        for begin, end in itertools.pairwise(points):
            length = float(np.hypot(*(end - begin)))
            if length == 0 or not np.isfinite(length):
                continue
            at = begin + np.linspace(0.0, 1.0, _STEPS + 1)[:, None] * (end - begin)
            scales.append(sky.steps(at[:, 0], at[:, 1]) * _STEPS / length)
    if not scales:
        return None
    scale = np.concatenate(scales)
    mean = float(scale.mean())
    spread = float(np.abs(scale - mean).max()) / mean if mean > 0 else np.inf
    if spread <= _SCALE_TOLERANCE:
        return mean
    why = (
        f"the scale on the sky differs by {100 * spread:.2g} % from its mean along the path"
        if np.isfinite(spread)
        else "parts of the path are not on the sky"
    )
    warn(f"{where}: offsets along the path are in pixels: {why}")
    return None
