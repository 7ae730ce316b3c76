"""Beams: what a Gaussian kernel on the sky is in pixels, and what it makes of BMAJ, BMIN, BPA.

Gaussians are handled as covariance matrices of (east, north) offsets, which add up under
convolution. The pixel grid's scale and rotation come from astropy's WCS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits._errors import usage
from tachyfits._spectral import ctypes_of, is_celestial

if TYPE_CHECKING:
    from tachyfits._pixels import Pixels


@dataclass(frozen=True)
class Beam:
    """An elliptical Gaussian on the sky, as the header gives it.

    Attributes
    ----------
    major, minor
        Full widths at half maximum, degrees.
    angle
        Of the major axis from north through east, degrees.
    """

    major: float
    minor: float
    angle: float

    @property
    def covariance(self) -> NDArray[np.float64]:
        """The matrix of squared full widths for (east, north)."""
        angle = np.radians(self.angle)
        along = np.array([np.sin(angle), np.cos(angle)])
        across = np.array([np.cos(angle), -np.sin(angle)])
        matrix = self.major**2 * np.outer(along, along) + self.minor**2 * np.outer(across, across)
        return np.asarray(matrix, dtype=np.float64)

    @classmethod
    def from_covariance(cls, matrix: NDArray[np.float64]) -> Beam:
        """Return the beam of such a matrix.

        >>> round(Beam.from_covariance(Beam(3.0, 2.0, 30.0).covariance).angle, 6)
        30.0
        """
        squares, axes = np.linalg.eigh(matrix)
        east, north = axes[:, 1]
        angle = float(np.degrees(np.arctan2(east, north))) % 180.0
        return cls(float(np.sqrt(squares[1])), float(np.sqrt(squares[0])), angle)

    @property
    def area(self) -> float:
        """Product of the widths: the solid angle but for a constant."""
        return self.major * self.minor


#: What to do about a beam that cannot follow.
_KEEP = "leave the beam and the unit as they are: update_beam=False, or --keep-beam"


def beam_of(header: Any) -> Beam | None:
    """Return the beam of a header; None when it has none.

    Raises
    ------
    UsageError
        The header says that every channel has a beam of its own (CASAMBM).
    """
    if header.get("CASAMBM") is True:
        raise usage(
            "the channels have beams of their own (CASAMBM = T), which one kernel does not keep "
            "true",
            f"smooth channel ranges of one beam, or {_KEEP}",
        )
    major, minor = header.get("BMAJ"), header.get("BMIN")
    if not isinstance(major, (int, float)) or not isinstance(minor, (int, float)):
        return None
    return Beam(float(major), float(minor), float(header.get("BPA") or 0.0))


def is_left_behind(image: Pixels, axis: int) -> bool:
    """Say whether a kernel along one axis (NumPy number) changes a beam that cannot follow."""
    if image.header.get("BMAJ") is None and image.header.get("CASAMBM") is not True:
        return False
    return is_celestial(ctypes_of(image)[image.ndim - 1 - axis])


def sky_matrix(
    image: Pixels, hint: str = "give the width of the kernel in pixels"
) -> NDArray[np.float64]:
    """Return the matrix from pixel offsets (x, y) to degrees (east, north); needs a celestial WCS.

    Raises
    ------
    UsageError
        The first two axes are not longitude and latitude.
    """
    celestial = image.wcs.celestial if image.wcs.has_celestial else None
    kinds = [str(kind) for kind in image.wcs.axis_type_names[:2]] if image.ndim >= 2 else []
    if celestial is None or image.wcs.wcs.lng not in (0, 1) or image.wcs.wcs.lat not in (0, 1):
        raise usage(
            f"NAXIS1 and NAXIS2 are no sky coordinates (they are {', '.join(kinds) or 'none'})",
            hint,
        )
    matrix = np.asarray(celestial.pixel_scale_matrix, dtype=np.float64)
    # astropy puts longitude first; pixel axes keep the order of the array.
    if image.wcs.wcs.lng == 1:
        matrix = matrix[:, ::-1]
    return matrix


def pixel_widths(width: Any, image: Pixels) -> tuple[float, float]:
    """Return the full widths in pixels along x and y of a kernel.

    ``width`` is a number of pixels, two of them (x, y), or an angle: an astropy Quantity, or text
    such as "12arcsec". An angle is a round kernel, for which pixels must be square or upright.
    """
    if isinstance(width, (int, float)) and not isinstance(width, bool):
        return float(width), float(width)
    if isinstance(width, (tuple, list)):
        if len(width) != 2:
            raise usage(f"{len(width)} widths", "give one in pixels, or one of x and one of y")
        return float(width[0]), float(width[1])
    from astropy import units

    try:
        degrees = float(units.Quantity(width).to_value(units.deg))
    except (TypeError, ValueError, units.UnitConversionError) as error:
        raise usage(
            f"a width of {width!r}: {error}",
            'give pixels (3.5), pixels along x and y ((3.5, 2)), or an angle ("12arcsec")',
        ) from error
    matrix = sky_matrix(image)
    scales = np.hypot(matrix[0], matrix[1])
    skew = abs(float(matrix[:, 0] @ matrix[:, 1])) / float(scales[0] * scales[1])
    if skew > 1e-6:
        raise usage(
            "the pixel axes are not at right angles on the sky: a round kernel is no product",
            "give the width in pixels",
        )
    return degrees / float(scales[0]), degrees / float(scales[1])


def smoothed_beam(beam: Beam, widths: tuple[float, float], image: Pixels) -> Beam:
    """Return the beam after a kernel of these full widths in pixels along x and y."""
    matrix = sky_matrix(image, _KEEP)
    kernel = matrix @ np.diag(np.square(widths)) @ matrix.T
    return Beam.from_covariance(beam.covariance + kernel)
