"""Flux of regions: sums of pixels times their solid angle, of images of any number of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage
from tachyfits.header.brightness import Asked
from tachyfits.header.spectral_units import Line
from tachyfits.image.brightness import flux_of
from tachyfits.image.pixels import Pixels
from tachyfits.text.pixel_units import certain_pixel_unit
from tachyfits.text.region_input import listed_regions
from tachyfits.text.regions import kept_shape

if TYPE_CHECKING:
    from astropy.units import Quantity

    from tachyfits.base.progress import Progress
    from tachyfits.image.image import Image
    from tachyfits.text.axes import Axis
    from tachyfits.text.region_input import Regions


class Flux(Pixels):
    """The flux of an image, or of regions of it."""

    def flux(
        self,
        region: Regions = None,
        *,
        section: Any = None,
        unit: Any = None,
        frequency: Any = None,
        beam: Any = None,
        weights: str | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Quantity:
        """Return the flux: the sum of the pixels times their solid angle, as a quantity.

        Parameters
        ----------
        region
            A region, or what `tachyfits.region` makes one of; or a list of them, or a file of
            several (the result then has a first axis for them). None: every pixel.
        section
            A NumPy index expression; None: everything.
        unit
            Unit of the flux; None: Jy for Jy/beam and K, MJy for MJy/sr, and so on.
        frequency, beam
            As in `Image.to`, where the unit of the pixels needs them.
        weights
            "exact": each pixel counts by its share inside the region, as in `spectrum`.

        Returns
        -------
        astropy.units.Quantity
            Of the shape of the axes that are not of the sky: one number of an image, one for each
            channel of a cube. Undefined pixels are left out; NaN where no pixel is defined.

        Raises
        ------
        UsageError
            The pixels do not add up to a flux (km/s), or the header lacks the beam or the sky.

        Examples
        --------
        >>> import numpy as np, tachyfits as tf
        >>> image = tf.open("cube.fits")[0].cut(section=np.s_[0])
        >>> image.with_beam("36arcsec").flux("circle(2,2,1)").round(4)
        <Quantity [26.4763] Jy>
        """
        axes = self._sky_numbers()
        values, text = fluxes(
            cast("Image", self), axes, section=section, region=region, unit=unit,
            asked=Asked(frequency, beam), weights=weights, threads=threads, progress=progress,
        )  # fmt: skip
        import astropy.units as u

        return u.Quantity(values, certain_pixel_unit(text))

    def _sky_numbers(self) -> tuple[int, ...]:
        """Return the NumPy numbers of the axes of the sky; without one, the last two."""
        sky = self._coordinates.sky
        axes = (1, 2) if sky is None else sky.axes
        return tuple(sorted(self.ndim - axis for axis in axes if axis <= self.ndim))


def fluxes(
    image: Image,
    axis: Axis | None,
    *,
    section: Any = None,
    region: Regions = None,
    unit: Any = None,
    asked: Asked | None = None,
    weights: str | None = None,
    keepdims: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[NDArray[np.float64], str]:
    """Return the fluxes of the axes that are kept, as `Image.reduce`, and their unit."""
    where, axes = image._section(section), image._axis_numbers(axis)
    sky = image._sky_numbers()
    several = [n for n in axes if n not in sky and where.full_shape[n] != 1]
    if len(sky) < 2 or not set(sky) <= set(axes) or several:
        found = ", ".join(f"NAXIS{image.ndim - number}" for number in reversed(axes))
        raise usage(
            f"{image._where()}: a flux is a sum over the two axes of the sky alone, not over "
            f"{found}",
            either(
                'use axis="xy", or spectrum(statistic="flux") for each channel',
                "use spectrum --statistic flux for each channel",
                "use the statistic flux of a spectrum",
            ),
        )
    others = [number for number in range(image.ndim) if number not in axes]
    # Of one axis, results get the factor of their channel; else pixels do.
    kept = (where, others[0] if others else 0) if len(others) < 2 else None
    ready = flux_of(image, unit, asked or Asked(), kept, Line())
    options: dict[str, Any] = {"threads": threads, "progress": progress, "weights": weights}
    regions, is_list = (None, False) if region is None else listed_regions(region)
    sums = ready.pixels.reduce("sum", axes, section=where, region=regions, **options)
    values = np.asarray(sums, dtype=np.float64) * ready.factor
    count = len(regions or ()) if is_list else None
    return values.reshape(kept_shape(where, axes, count, keepdims)), ready.unit or ""
