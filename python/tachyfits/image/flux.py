"""Flux of regions: the sum of pixels times their solid angle, for images of any number of axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage
from tachyfits.header.brightness import Asked
from tachyfits.header.spectral_units import Line
from tachyfits.image.brightness import check_steps, flux_of
from tachyfits.image.selecting import Selecting
from tachyfits.image.selection import Choice
from tachyfits.image.weights import check_weights, weighted_sums
from tachyfits.text.pixel_units import certain_pixel_unit
from tachyfits.text.regions import kept_shape

if TYPE_CHECKING:
    from astropy.units import Quantity

    from tachyfits.base.progress import Progress
    from tachyfits.image.image import Image
    from tachyfits.image.weights import Weights
    from tachyfits.text.axes import Axis
    from tachyfits.text.region_input import Regions


class Flux(Selecting):
    """The flux of an image, or of regions of it."""

    def flux(
        self,
        region: Regions = None,
        *,
        unit: Any = None,
        frequency: Any = None,
        beam: Any = None,
        weights: Weights | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Quantity:
        """Return the flux: the sum of the pixels times their solid angle, as a quantity.

        Parameters
        ----------
        region
            Short for ``select(region).flux()``: a region, or an argument of `tachyfits.region`; or
            a list of them, or a file of several (the result then has a first axis for them).
        unit
            Unit of the flux; None: Jy for Jy/beam and K, MJy for MJy/sr, and so on.
        frequency, beam
            As in `Image.to`, where the unit of the pixels needs them.
        weights
            "exact": each pixel is weighted by its fraction inside the region, as in `spectrum`.

        Returns
        -------
        astropy.units.Quantity
            Its shape is that of the axes other than the sky: one number for an image, one per
            channel for a cube. Undefined pixels are ignored; NaN if no pixel is defined.

        Raises
        ------
        UsageError
            The pixels do not add up to a flux (km/s), or the header lacks the beam or the sky.

        Examples
        --------
        >>> import tachyfits as tf
        >>> image = tf.open("cube.fits")[0].cutout(channels=0)
        >>> image.with_beam("36arcsec").flux("circle(2,2,1)").round(4)
        <Quantity [26.4763] Jy>
        """
        request = AskedFlux(unit, Asked(frequency, beam), weights)
        choice = self._chosen_pixels(region)
        axes = choice.image._sky_numbers()
        values, text = fluxes(choice, axes, request, threads=threads, progress=progress)
        import astropy.units as u

        return u.Quantity(values, certain_pixel_unit(text))

    def _sky_numbers(self) -> tuple[int, ...]:
        """Return the NumPy numbers of the sky axes; of the last two if the image has no sky."""
        sky = self.coordinates.sky
        axes = (1, 2) if sky is None else sky.axes
        return tuple(sorted(self.ndim - axis for axis in axes if axis <= self.ndim))


@dataclass(frozen=True)
class AskedFlux:
    """A request for fluxes: the unit, its beam and frequency, and the pixel weights."""

    unit: Any
    asked: Asked = field(default_factory=Asked)
    weights: Weights | None = None
    keepdims: bool = False


def fluxes(
    choice: Choice, axes: Sequence[int], asked: AskedFlux, **run: Any
) -> tuple[NDArray[np.float64], str]:
    """Return the fluxes along the kept axes, shaped as by `Image.reduce`, and their unit.

    ``run``: threads and progress.
    """
    values, _, unit = fluxes_and_areas(choice, axes, asked, **run)
    return values, unit


def fluxes_and_areas(
    choice: Choice, axes: Sequence[int], asked: AskedFlux, **run: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """Return the fluxes as `fluxes` does, the areas of their defined pixels, and the unit."""
    image, where = choice.image, choice.section
    sky = image._sky_numbers()
    several = [n for n in axes if n not in sky and where.full_shape[n] != 1]
    if len(sky) < 2 or not set(sky) <= set(axes) or several:
        names = ", ".join(f"NAXIS{image.ndim - number}" for number in reversed(axes))
        raise usage(
            f"{image._where()}: a flux is a sum over the two axes of the sky alone, not over "
            f"{names}",
            either(
                'use axis="xy", or spectrum(statistic="flux") for each channel',
                "use spectrum --statistic flux for each channel",
                "use the statistic flux of a spectrum",
            ),
        )
    check_steps(image, where)
    others = [number for number in range(image.ndim) if number not in axes]
    # With at most one other axis, the results are scaled by channel; otherwise the pixels are.
    channels = (where, others[0] if others else 0) if len(others) < 2 else None
    ready = flux_of(image, asked.unit, asked.asked, channels, Line())
    pixels = choice.masked(ready.pixels)
    if check_weights(asked.weights, "sum", choice.regions):
        sums, areas = weighted_sums(choice, pixels, axes, **run)
    else:
        totals = pixels._reducer().reduce(
            ["sum", "count"],
            list(axes),
            pixels._ranges(where),
            regions=choice.regions.cores,
            threads=pixels._threads(run.get("threads")),
            progress=run.get("progress"),
        )
        sums, areas = totals["sum"], totals["count"]
    shape = kept_shape(where, axes, choice.regions.count, asked.keepdims)
    values = np.asarray(sums, dtype=np.float64) * ready.factor
    areas = np.asarray(areas, dtype=np.float64).reshape(shape)
    return values.reshape(shape), areas, ready.unit or ""


def flux_values(image: Image, axis: Axis | None, **run: Any) -> tuple[NDArray[np.float64], str]:
    """Return fluxes over an axis and their unit; ``run``: threads and progress."""
    return fluxes(image._chosen_pixels(), image._axis_numbers(axis), AskedFlux(None), **run)
