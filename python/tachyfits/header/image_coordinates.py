"""World coordinates of an image, from its header, its shape and its companion tables.

The class is public; `header.coordinates` works from a header alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tachyfits.base.boundary import public
from tachyfits.header.coordinates import Coordinates
from tachyfits.header.summary import CoordinateSummary, summary_of

if TYPE_CHECKING:
    from tachyfits.file.image_hdu import ImageHdu
    from tachyfits.header.spectral_units import Convention, Medium


@public
class ImageCoordinates(Coordinates):
    """World coordinates of an image, returned by `Image.coordinates`.

    Pixels are counted from 0 and may be fractional; integers are at their centres. Axes are NumPy
    numbers (`channel_axis`, `stokes_axis`), except ``sky.axes``, which are FITS numbers.

    ``print(image.coordinates)`` prints `summary`. `Image.wcs` is the same for astropy.
    """

    def __init__(self, image: ImageHdu) -> None:
        where, companion = image._where(), image._companion
        super().__init__(image.header, image.ndim, where, companion)
        self._image = image

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the image in NumPy order."""
        return self._image.shape

    @property
    def summary(self) -> CoordinateSummary:
        """Sky position, pixel scale, spectral range, beam and rest frequency.

        Invalid cards are listed in its ``problems``: this never fails, and never warns.

        Examples
        --------
        >>> import tachyfits as tf
        >>> spectral = tf.open("cube.fits")[0].coordinates.summary.spectral
        >>> spectral.name, spectral.first, spectral.unit
        ('VRAD', 1000.0, 'm/s')
        """
        return summary_of(self._image)

    def pixel_to_world(self, *pixels: Any) -> Any:
        """Return the sky position and the spectral coordinate of pixels.

        Parameters
        ----------
        pixels
            x, y, z: numbers or arrays of pixels along NAXIS1, NAXIS2, NAXIS3, counted from 0,
            integers at their centres.

        Returns
        -------
        SkyCoord, Quantity, or a pair of them
            The position on the sky, in the frame of the image, and the spectral coordinate, in the
            unit of the axis, for the axes that have a pixel number. `world_to_pixel` accepts both.
            For a system without a frame in astropy (HPLN of the Sun, planets), the frame is a
            `HeaderFrame`. NaN where the image has no sky.

        Raises
        ------
        UsageError
            These axes have no coordinates, RADESYS names no known system, or the distortion needs
            an HDU that is missing.

        Examples
        --------
        >>> import tachyfits as tf
        >>> position, velocity = tf.open("cube.fits")[0].coordinates.pixel_to_world(0, 0, 2)
        >>> position.to_string(), velocity
        ('10 20', <Quantity 2000. m / s>)
        """
        from tachyfits.header.places import world_of

        return world_of(self, pixels)

    def world_to_pixel(
        self,
        position: Any = None,
        spectral: Any = None,
        *,
        rest: Any = None,
        convention: Convention | None = None,
        rest_medium: Medium | None = None,
    ) -> tuple[Any, ...]:
        """Return the pixel of a sky position and of a frequency, wavelength or velocity.

        The inverse of `pixel_to_world`.

        Parameters
        ----------
        position
            An astropy SkyCoord in any frame, with one or more positions; for the Sun and planets in
            the frame that `pixel_to_world` returns.
        spectral
            Text with a unit ("120 km/s"), an astropy quantity, or numbers in the unit of the axis.
        rest, convention, rest_medium
            As in `Image.moments`, if a velocity needs them.

        Returns
        -------
        tuple
            A number, or an array, for each axis in FITS order: x, y, z. Counted from 0, integers at
            the centres of pixels; it may be outside the image. NaN for axes that are not requested,
            and for positions that are not on the projection.

        Raises
        ------
        UsageError
            The image has no such axes, or its axes do not convert to that unit.

        Examples
        --------
        >>> import tachyfits as tf
        >>> coordinates = tf.open("cube.fits")[0].coordinates
        >>> position, velocity = coordinates.pixel_to_world(3, 1, 2)
        >>> pixel = coordinates.world_to_pixel(position.galactic, velocity)
        >>> [round(float(number), 9) for number in pixel]
        [3.0, 1.0, 2.0]
        >>> float(coordinates.world_to_pixel(spectral="1.25 km/s")[2])
        0.5
        """
        from tachyfits.header.places import pixel_of
        from tachyfits.header.spectral_units import Line

        line = Line(None, rest, convention, rest_medium)
        return pixel_of(self, self.shape, position, spectral, line)

    def __str__(self) -> str:
        return str(self.summary)

    def __repr__(self) -> str:
        return f"<ImageCoordinates of {self.where}: {self}>"
