"""Beams: what a Gaussian kernel on the sky is in pixels, and what it makes of BMAJ, BMIN, BPA.

Gaussians are handled as covariance matrices of (east, north) offsets, which add up under
convolution. The pixel grid's scale and rotation are those of the header's matrix.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import either, foreign_errors, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.header.coordinates import Coordinates, is_celestial
from tachyfits.text.units import ANGLE, asked_quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tachyfits.image.pixels import Pixels


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


def keep_beam_hint() -> str:
    """Return what to do about a beam that cannot follow."""
    return "leave the beam and the unit as they are: " + either("update_beam=False", "--keep-beam")


_KEYWORDS = ("BMAJ", "BMIN", "BPA")

#: AIPS records this in HISTORY instead of BMAJ, BMIN and BPA: degrees.
_AIPS_BEAM = re.compile(
    r"\bCLEAN\s+BMAJ=\s*(?P<BMAJ>\S+)\s+BMIN=\s*(?P<BMIN>\S+)\s+BPA=\s*(?P<BPA>\S+)"
)


def beam_of(coordinates: Coordinates) -> Beam | None:
    """Return the beam of a header: BMAJ, BMIN and BPA, else the last one that AIPS notes.

    None where there is none that can be used; cards that cannot are warned of. Without BMIN the
    beam is round.

    Raises
    ------
    UsageError
        The header says that every channel has a beam of its own (CASAMBM).
    """
    header, cards = coordinates.header, coordinates.cards
    if header.get("CASAMBM") is True:
        raise usage(
            "the channels have different beams (CASAMBM = T), which one kernel cannot update",
            f"smooth channel ranges of one beam, or {keep_beam_hint()}",
        )
    major, minor, angle = (cards.optional(keyword) for keyword in _KEYWORDS)
    minor = major if minor is None and "BMIN" not in header else minor
    # An angle that cannot be read leaves a round beam as it is.
    angle = 0.0 if angle is None and ("BPA" not in header or major == minor) else angle
    stated = _usable(major, minor, angle)
    if stated is not None:
        return stated
    for text in reversed(header.history()):
        found = _AIPS_BEAM.search(text)
        noted = _usable(*(_number(found[name]) for name in _KEYWORDS)) if found else None
        if noted is not None:
            return noted
    return None


def _usable(major: float | None, minor: float | None, angle: float | None) -> Beam | None:
    """Return the beam of three numbers; None where they are none of a beam."""
    if major is None or minor is None or angle is None or not math.isfinite(angle):
        return None
    fine = 0 < major <= 360 and 0 < minor <= 360
    return Beam(float(major), float(minor), float(angle)) if fine else None


def _number(text: str) -> float:
    try:
        return float(text.upper().replace("D", "E"))
    except ValueError:
        return float("nan")


def is_left_behind(image: Pixels, axis: int) -> bool:
    """Say whether a kernel along one axis (NumPy number) changes a beam that cannot follow."""
    coordinates = image._coordinates
    if not is_celestial(coordinates.ctypes[image.ndim - 1 - axis]):
        return False
    return image.header.get("CASAMBM") is True or beam_of(coordinates) is not None


def sky_matrix(
    image: Pixels, hint: str = "give the width of the kernel in pixels"
) -> NDArray[np.float64]:
    """Return the matrix from pixel offsets (x, y) to degrees (east, north); needs a celestial WCS.

    Raises
    ------
    UsageError
        The first two axes are not longitude and latitude.
    """
    sky = image._coordinates.sky
    if sky is None or sky.axes != (1, 2):
        ctypes = image._coordinates.ctypes[:2]
        raise usage(
            "NAXIS1 and NAXIS2 are not sky coordinates (they are "
            f"{', '.join(ctype or 'without CTYPE' for ctype in ctypes) or 'none'})",
            hint,
        )
    return sky.matrix


def pixel_widths(width: Any, image: Pixels) -> tuple[float, float]:
    """Return the full widths in pixels along x and y of a kernel.

    ``width`` is a number of pixels, two of them (x, y), or an angle: an astropy Quantity, or text
    such as "12arcsec". An angle is a round kernel, for which pixels must be square or upright.
    """
    hint = 'give pixels (3.5), pixels along x and y ((3.5, 2)), or an angle ("12arcsec")'
    with foreign_errors(f"invalid width {width!r}", hint):
        if isinstance(width, (int, float)) and not isinstance(width, bool):
            return float(width), float(width)
        if isinstance(width, (tuple, list)):
            x, y = width
            return float(x), float(y)
        degrees = float(asked_quantity(width, ANGLE).to_value("deg"))
    matrix = sky_matrix(image)
    scales = np.hypot(matrix[0], matrix[1])
    skew = abs(float(matrix[:, 0] @ matrix[:, 1])) / float(scales[0] * scales[1])
    if skew > 1e-6:
        raise usage(
            "the pixel axes are not at right angles on the sky, so no round kernel is separable",
            "give the width in pixels",
        )
    return degrees / float(scales[0]), degrees / float(scales[1])


def smoothed_beam(beam: Beam, widths: tuple[float, float], image: Pixels) -> Beam:
    """Return the beam after a kernel of these full widths in pixels along x and y."""
    matrix = sky_matrix(image, keep_beam_hint())
    kernel = matrix @ np.diag(np.square(widths)) @ matrix.T
    return Beam.from_covariance(beam.covariance + kernel)
