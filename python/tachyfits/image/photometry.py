"""Aperture photometry: background-subtracted fluxes of regions of an image, with errors.

The engine sums. This module finds the background of each region and the noise of its sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, foreign_errors, usage
from tachyfits.header.brightness import Asked, factor_between, setting_of
from tachyfits.header.spectral_units import Line
from tachyfits.image.brightness import flux_of
from tachyfits.image.flux import AskedFlux, Flux, fluxes_and_areas
from tachyfits.image.order_statistics import order_arrays
from tachyfits.image.selection import Choice
from tachyfits.image.weights import flat
from tachyfits.results.aperture import Photometry
from tachyfits.text.pixel_units import certain_pixel_unit
from tachyfits.text.region_input import listed_regions
from tachyfits.text.regions import Circle, CompoundRegion, Region, annulus, check_radii

if TYPE_CHECKING:
    from tachyfits.image.image import Image
    from tachyfits.image.weights import Weights
    from tachyfits.text.region_input import Regions

#: Spellings of AB magnitudes.
AB = ("mag(AB)", "ABmag", "AB")

#: Standard deviation of normal noise in units of its median absolute deviation.
_OF_MAD = 1.482602218505602


@dataclass(frozen=True)
class _Scale:
    """Scale of an image's pixels: factor to flux and pixels per beam.

    Attributes
    ----------
    own
        Factor from pixel values to fluxes.
    beam
        Pixels per beam; 1 without a beam, or if the beam is smaller than a pixel.
    """

    own: float
    beam: float


class Apertures(Flux):
    """Photometry of an image by regions."""

    def photometry(
        self,
        region: Regions,
        *,
        background: Any = None,
        noise: Any = None,
        unit: Any = None,
        frequency: Any = None,
        beam: Any = None,
        weights: Weights | None = "exact",
        threads: int | None = None,
    ) -> Photometry:
        """Measure the flux of regions of an image, with a background and an error.

        Parameters
        ----------
        region
            A region, or an argument of `tachyfits.region`; a list of them, or a file of several.
        background
            Area in which the background of each region is measured: a pair of radii in pixels, for
            a ring about the centre of the region's bounding box; or a region, or a list with one
            for each. The median of its pixels is subtracted from every pixel. None: no background
            is subtracted.
        noise
            Standard deviation of a pixel, in the unit of the pixels or as a quantity. None: 1.4826
            median absolute deviations of the pixels of the background; without a background, errors
            are NaN.
        unit
            Unit of the flux: "mJy", or "mag(AB)". None: as of `flux`.
        frequency, beam
            As in `Image.to`.
        weights
            "exact": each pixel is weighted by its fraction inside the region. None: pixels whose
            centre is inside.

        Returns
        -------
        Photometry
            Arrays with one value for each region. Undefined pixels are ignored; NaN without any
            defined pixel, and for the magnitude of a flux that is not positive.

        Raises
        ------
        UsageError
            The image has more than two axes, or its pixels do not add up to a flux.

        Notes
        -----
        The variance of a sum is noise² (A + π A² / 2 N), where A is the area in pixels and N the
        number of pixels of the background; the second term is the variance of the background's
        median, and is 0 without a background. photutils has the first term. In an image with a beam
        of n pixels, noise is correlated within the beam: the variance is multiplied by n if n is
        more than 1.

        Examples
        --------
        >>> import tachyfits as tf
        >>> image = tf.open("cube.fits")[0].cutout(channels=0).with_beam("36arcsec")
        >>> found = image.photometry("circle(3,2,1)", noise="0.1 Jy/beam", unit="mJy")
        >>> found.flux.round(1), found.area.round(3)
        (<Quantity [19408.1] mJy>, array([3.142]))
        """
        choice = self._plane_of_image()._within(region)._chosen_pixels()
        setting = Asked(frequency, beam)
        is_magnitude = isinstance(unit, str) and unit.replace(" ", "") in AB
        target_unit = "Jy" if is_magnitude else unit
        scale = _scale(choice, target_unit, setting)
        axes = tuple(range(choice.image.ndim))
        request = AskedFlux(target_unit, setting, weights)
        values, areas, text = fluxes_and_areas(choice, axes, request, threads=threads)
        area = np.atleast_1d(areas).reshape(-1)
        regions = list(choice.regions.regions or ())
        level, spread, count = _backgrounds(choice.image, regions, background, threads)
        own = _noise(noise, choice.image)
        flux = np.atleast_1d(values).reshape(-1) - np.nan_to_num(level) * area * scale.own
        if background is not None:
            flux[np.isnan(level)] = np.nan
        sigma = spread if own is None else np.full(len(regions), own)
        of_level = np.zeros(len(regions))
        np.divide(math.pi * area**2, 2 * count, out=of_level, where=count > 0)
        error = sigma * scale.own * np.sqrt((area + of_level) * scale.beam)
        return Photometry.of(
            regions, flux, error, certain_pixel_unit(text), area, level, sigma,
            choice.image.unit, is_magnitude,
        )  # fmt: skip

    def _plane_of_image(self) -> Image:
        """Return the image; raise UsageError unless it has exactly one plane."""
        sky = self._sky_numbers()
        if len(sky) < 2 or any(n not in sky and length != 1 for n, length in enumerate(self.shape)):
            raise usage(
                f"{self._where()}: photometry is of one plane, and the image has the shape "
                f"{self.shape}",
                either(
                    "choose a channel: image.select(channels=10), or use spectrum(statistic="
                    '"flux")',
                    "choose a channel: --channels 10",
                ),
            )
        image: Any = self
        return image  # type: ignore[no-any-return]


def _scale(choice: Choice, unit: Any, request: Asked) -> _Scale:
    """Return the scale of an image whose pixels all have the same factor."""
    image = choice.image
    ready = flux_of(image, unit, request, (choice.section, 0), Line())
    own = float(np.ravel(ready.factor)[0])
    if ready.pixels is not image:
        # If the pixels themselves are converted, the factor refers to the new unit.
        own *= _factor(image.unit, ready.pixels.unit, image, request)
    pixels = 1.0
    if request.beam is not None or image.header.get("BMAJ") is not None:
        setting = setting_of(image, request)
        pixels = float(np.ravel(setting.beam_area() / setting.pixel_area())[0])
    return _Scale(own, max(pixels, 1.0))


def _factor(unit: str | None, target: str | None, image: Image, request: Asked) -> float:
    """Return the factor between two units of the pixels of one plane."""
    return float(np.ravel(factor_between(unit, target, setting_of(image, request))[1])[0])


def _backgrounds(
    image: Image, regions: list[Region], background: Any, threads: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the median, the noise and the number of pixels of each background."""
    undefined = np.full(len(regions), np.nan)
    if background is None:
        return undefined, undefined.copy(), np.zeros(len(regions))
    rings = _rings(image, regions, background)
    part = image._within(rings)
    numbers = order_arrays(part, ["median", "mad", "count"], None, threads=threads)
    level, spread, count = (np.reshape(each, -1) for each in numbers)
    return level, spread * _OF_MAD, np.nan_to_num(count)


def _rings(image: Image, regions: list[Region], background: Any) -> list[Region]:
    """Return the background region of each region."""
    is_pair = isinstance(background, (tuple, list)) and len(background) == 2
    if is_pair and all(isinstance(each, (int, float, np.number)) for each in background):
        inner, outer = (float(radius) for radius in background)
        check_radii(inner, outer)
        if inner < 0:
            raise usage(
                f"invalid radius {inner:g} of a background", "give radii in pixels: (8, 12)"
            )
        rings: list[Region] = []
        for item in regions:
            if isinstance(item, CompoundRegion):
                raise usage(
                    f"a ring needs one shape inside: {item}",
                    either(
                        "give the background as a region: background=tachyfits.region(...)",
                        "give the background as a region: --background 'annulus(...)'",
                    ),
                )
            left, right, low, high = flat(image, item).ends()
            x, y = (left + right) / 2, (low + high) / 2
            outside = Circle(x, y, outer)
            rings.append(annulus(Circle(x, y, inner), outside) if inner else outside)
        return rings
    areas, _ = listed_regions(background)
    if len(areas) == 1:
        areas = areas * len(regions)
    if len(areas) != len(regions):
        raise usage(
            f"{len(areas)} backgrounds for {len(regions)} regions: expected one, or one for each",
            either(
                "give a pair of radii in pixels: background=(8, 12)",
                "give a pair of radii in pixels: --background 8,12",
            ),
        )
    return list(areas)


def _noise(noise: Any, image: Image) -> float | None:
    """Return the noise of a pixel in the unit of the pixels."""
    if noise is None:
        return None
    hint = 'give a number in the unit of the pixels, or with its unit: "0.2 mJy/beam"'
    with foreign_errors(f"invalid noise {noise!r}", hint):
        if isinstance(noise, str):
            number, _, text = noise.strip().partition(" ")
            noise = float(number)
            if text:
                noise *= _factor(text, image.unit, image, Asked())
        elif getattr(noise, "unit", None) is not None:
            noise = noise.to_value(certain_pixel_unit(image.unit))
        value = float(noise)
    if not 0 <= value < math.inf:
        raise usage(f"invalid noise {noise!r}: expected a number from 0", hint)
    return value
