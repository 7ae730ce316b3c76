"""Beams: Gaussian kernels on the sky, in pixels, and their effect on BMAJ, BMIN and BPA.

Gaussians are handled as covariance matrices of (east, north) offsets, which add up under
convolution. The header's matrix gives the scale and rotation of the pixel grid.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tachyfits.base.boundary import public
from tachyfits.base.errors import either, foreign_errors, memory_error, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.header.beam_table import beam_rows
from tachyfits.header.coordinates import Coordinates
from tachyfits.text.axes import is_celestial
from tachyfits.text.beams import asked_beam
from tachyfits.text.units import ANGLE, asked_quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tachyfits.file.image_hdu import ImageHdu
    from tachyfits.image.pixels import Pixels


def _covariance(
    major: NDArray[np.float64], minor: NDArray[np.float64], angle: NDArray[np.float64]
) -> NDArray[np.float64]:
    sine, cosine = np.sin(np.radians(angle)), np.cos(np.radians(angle))
    east = major**2 * sine**2 + minor**2 * cosine**2
    north = major**2 * cosine**2 + minor**2 * sine**2
    cross = (major**2 - minor**2) * sine * cosine
    return np.stack([np.stack([east, cross], axis=-1), np.stack([cross, north], axis=-1)], axis=-2)


#: Solid angle in steradians of a Gaussian whose full widths have a product of 1 square degree.
GAUSSIAN_AREA = math.pi / (4 * math.log(2)) * math.radians(1.0) ** 2


@public
@dataclass(frozen=True)
class Beam:
    """An elliptical Gaussian on the sky, as described by a header.

    Attributes
    ----------
    major, minor
        Full widths at half maximum, degrees.
    angle
        Position angle of the major axis from north through east, degrees.
    """

    major: float
    minor: float
    angle: float

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Matrix of squared full widths for (east, north)."""
        return _covariance(np.array(self.major), np.array(self.minor), np.array(self.angle))

    def __str__(self) -> str:
        sizes = f"{3600 * self.major:.6g} x {3600 * self.minor:.6g} arcsec"
        return sizes if self.major == self.minor else f"{sizes} at {self.angle:.4g} deg"

    @classmethod
    def from_covariance(cls, matrix: NDArray[np.float64]) -> Beam:
        """Return the beam of a matrix of squared full widths.

        >>> round(Beam.from_covariance(Beam(3.0, 2.0, 30.0).covariance).angle, 6)
        30.0
        """
        squares, axes = np.linalg.eigh(matrix)
        east, north = axes[:, 1]
        angle = float(np.degrees(np.arctan2(east, north))) % 180.0
        return cls(float(np.sqrt(squares[1])), float(np.sqrt(squares[0])), angle)

    @property
    def area(self) -> float:
        """Product of the full widths, which is proportional to the solid angle."""
        return self.major * self.minor

    @property
    def solid_angle(self) -> float:
        """Solid angle in steradians.

        >>> f"{Beam(1 / 3600, 1 / 3600, 0.0).solid_angle:.4e}"
        '2.6633e-11'
        """
        return self.area * GAUSSIAN_AREA


@public
@dataclass(frozen=True, eq=False)
class Beams:
    """Beams of the channels of a cube, from its table BEAMS.

    Attributes
    ----------
    major, minor
        Full widths at half maximum, degrees: one per channel (channels,), or (polarisations,
        channels); (polarisations,) without an axis of channels. NaN if the table has no beam.
    angle
        Position angles of the major axes from north through east, degrees.
    """

    major: NDArray[np.float64]
    minor: NDArray[np.float64]
    angle: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, ...]:
        """(channels,), (polarisations, channels) or (polarisations,)."""
        return self.major.shape

    @property
    def solid_angle(self) -> NDArray[np.float64]:
        """Solid angles in steradians."""
        return self.major * self.minor * GAUSSIAN_AREA

    @property
    def covariances(self) -> NDArray[np.float64]:
        """Matrices of squared full widths for (east, north): (..., 2, 2)."""
        return _covariance(self.major, self.minor, self.angle)

    def __len__(self) -> int:
        return len(self.major)

    def __getitem__(self, index: Any) -> Beam | Beams:
        parts = [np.asarray(part[index]) for part in (self.major, self.minor, self.angle)]
        if parts[0].ndim:
            return Beams(*parts)
        return Beam(*(float(part) for part in parts))

    def __iter__(self) -> Iterator[Beam | Beams]:
        return (self[index] for index in range(len(self)))

    def grown(self, kernel: NDArray[np.float64]) -> Beams:
        """Return the beams convolved with a kernel of these squared widths (east, north).

        >>> beams = Beams(np.array([3.0, np.nan]), np.array([2.0, np.nan]), np.array([30.0, 0.0]))
        >>> float(beams.grown(np.eye(2) * 16.0)[0].major), beams.grown(np.eye(2))[1].major
        (5.0, nan)
        """
        usable = np.isfinite(self.major)
        own = np.where(usable[..., None, None], self.covariances, 0.0)
        squares, axes = np.linalg.eigh(own + kernel)
        angle = np.degrees(np.arctan2(axes[..., 0, 1], axes[..., 1, 1])) % 180.0
        parts = (np.sqrt(squares[..., 1]), np.sqrt(squares[..., 0]), angle)
        return Beams(*(np.where(usable, part, np.nan) for part in parts))

    @classmethod
    def of_rows(
        cls, rows: Sequence[tuple[int, int | None, float, float, float]], shape: tuple[int, int]
    ) -> Beams:
        """Return the beams of the rows of a table, for (polarisations, channels).

        A row without a polarisation applies to all. If several rows have the same channel, the
        first one counts.
        """
        beams = np.full((3, *shape), np.nan)
        for channel, polarisation, *beam in reversed(rows):
            if channel < shape[1] and (polarisation is None or polarisation < shape[0]):
                among = (
                    slice(None) if polarisation is None else slice(polarisation, polarisation + 1)
                )
                beams[:, among, channel] = np.array(beam)[:, None]
        wrong = ~((beams[0] > 0) & (beams[1] > 0) & np.isfinite(beams).all(axis=0))
        beams[:, wrong] = np.nan
        return cls(*(beams if shape[0] > 1 else beams[:, 0]))


def keep_beam_hint() -> str:
    """Return advice for a beam that cannot be updated."""
    return "leave the beam and the unit as they are: " + either("update_beam=False", "--keep-beam")


def given_beam_hint() -> str:
    """Return advice on how to pass a beam that replaces the header's."""
    return either(
        'image.with_beam("15arcsec")', "--beam 15arcsec", "BMAJ, BMIN and BPA of the file"
    )


#: Cards of an image with a single beam.
BEAM_KEYWORDS = ("BMAJ", "BMIN", "BPA")

#: Maximum number of beams (channels times polarisations) to read: headers may claim any number.
_MOST_BEAMS = 1 << 22

#: Beam in degrees in the HISTORY of AIPS, which writes no BMAJ, BMIN and BPA.
_AIPS_BEAM = re.compile(
    r"\bCLEAN\s+BMAJ=\s*(?P<BMAJ>\S+)\s+BMIN=\s*(?P<BMIN>\S+)\s+BPA=\s*(?P<BPA>\S+)"
)


def beam_of(coordinates: Coordinates) -> Beam | None:
    """Return the beam of a header: BMAJ, BMIN and BPA, or else the last one in AIPS's HISTORY.

    None without a usable beam; invalid cards give a warning. Without BMIN the beam is round.

    Raises
    ------
    UsageError
        The header says that every channel has its own beam (CASAMBM).
    """
    header, cards = coordinates.header, coordinates.cards
    if header.get("CASAMBM") is True:
        raise usage(
            "the channels have different beams (CASAMBM = T), which one kernel cannot update",
            either('smooth them to one: smooth(beam="common")', "smooth them to one: --beam common")
            + f"; or {keep_beam_hint()}",
        )
    major, minor, angle = (cards.optional(keyword) for keyword in BEAM_KEYWORDS)
    minor = major if minor is None and "BMIN" not in header else minor
    # A round beam does not need its angle, so an invalid angle does not matter.
    angle = 0.0 if angle is None and ("BPA" not in header or major == minor) else angle
    stated = _usable(major, minor, angle)
    if stated is not None:
        return stated
    for text in reversed(header.history()):
        match = _AIPS_BEAM.search(text)
        noted = _usable(*(_number(match[name]) for name in BEAM_KEYWORDS)) if match else None
        if noted is not None:
            return noted
    return None


def beam_from(given: Any) -> Beam:
    """Return the beam of a user's argument: a `Beam`, or any form that `asked_beam` parses."""
    return given if isinstance(given, Beam) else Beam(*asked_beam(given))


def beam_cards(beam: Beam) -> list[tuple[str, Any, str]]:
    """Return the cards of a beam."""
    return [("BMAJ", beam.major, ""), ("BMIN", beam.minor, ""), ("BPA", beam.angle, "")]


def plane_axes(beams: Beams, coordinates: Coordinates) -> list[int]:
    """Return the NumPy axes along which beams vary: polarisations, channels, or both."""
    channels, stokes = coordinates.channel_axis, coordinates.stokes_axis
    axes = [stokes, channels] if beams.major.ndim == 2 or channels is None else [channels]
    return [axis for axis in axes if axis is not None]


def beams_of(
    image: ImageHdu, coordinates: Coordinates | None = None, otherwise: str = ""
) -> Beam | Beams | None:
    """Return the beam of an image, or the beams of its channels from a table BEAMS.

    ``coordinates``: coordinates of the header; None: those that report the image's warnings.
    ``otherwise``: further advice for the error if the table is missing.

    Raises
    ------
    UsageError
        The header says that there is a table (CASAMBM), but the file has none.
    """
    coordinates = image.coordinates if coordinates is None else coordinates
    announced = coordinates.header.get("CASAMBM") is True
    rows = beam_rows(image) if announced or "BMAJ" not in coordinates.header else None
    if rows is None:
        if announced:
            raise usage(
                "the header says that every channel has a beam of its own (CASAMBM = T), and the "
                "file has no table BEAMS",
                otherwise or f"give one beam: {given_beam_hint()}",
            )
        return beam_of(coordinates)
    stokes = coordinates.stokes_axis
    polarisations = 1 if stokes is None else image.shape[stokes]
    axis = coordinates.channel_axis
    channels = 1 if axis is None else image.shape[axis]
    if polarisations * channels > _MOST_BEAMS:
        raise memory_error(
            f"beams of {polarisations * channels} channels are too many: expected at most "
            f"{_MOST_BEAMS}",
            "take fewer channels",
        )
    beams = Beams.of_rows(rows, (polarisations, channels))
    if beams.major.size != 1:
        of_polarisations = axis is None and beams.major.ndim == 2
        return beams[:, 0] if of_polarisations else beams
    only = (beams.major.item(), beams.minor.item(), beams.angle.item())
    return _usable(*only)


def beam_of_part(image: ImageHdu, ranges: Sequence[tuple[int, int, int]]) -> Beam | None:
    """Return the beam of a section's single plane, from the table BEAMS.

    ``ranges``: (start, count, step) along each NumPy axis. None without a table, if planes have
    several beams, and if the table has no beam of the plane.

    Raises
    ------
    UsageError
        The table is invalid.
    """
    beams = beams_of(image)
    if not isinstance(beams, Beams):
        return beams
    pieces = [ranges[axis] for axis in plane_axes(beams, image.coordinates)]
    if any(count != 1 for _, count, _ in pieces):
        return None
    beam = beams[tuple(start for start, _, _ in pieces)]
    return _usable(beam.major, beam.minor, beam.angle) if isinstance(beam, Beam) else None


def _usable(major: float | None, minor: float | None, angle: float | None) -> Beam | None:
    """Return the beam of three numbers; None if they do not describe a beam."""
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
    """Return whether a kernel along one axis changes the beam and cannot update it."""
    coordinates = image.coordinates
    if not is_celestial(coordinates.ctypes[image.ndim - 1 - axis]):
        return False
    return image.header.get("CASAMBM") is True or beam_of(coordinates) is not None


def check_sky_plane(image: Pixels) -> None:
    """Refuse an image whose sky is not on its first two axes; without a sky, any plane is accepted.

    Raises
    ------
    UsageError
        The sky is on other axes.
    """
    if image.ndim < 2:
        raise usage(
            f"{image._where()}: an image of one axis has no planes to smooth",
            either("use smooth(axis=0)", "leave out --sky and name --axis x"),
        )
    ctypes = enumerate(image.coordinates.ctypes, 1)
    celestial = [number for number, ctype in ctypes if is_celestial(ctype)]
    if len(celestial) == 2 and celestial != [1, 2]:
        raise usage(
            f"{image._where()}: the sky is on NAXIS{celestial[0]} and NAXIS{celestial[1]}, and "
            "planes of NAXIS1 and NAXIS2 are smoothed",
            "reorder the axes first" + either(": image.reorder()", ": tachyfits reorder", ""),
        )


def sky_matrix(
    image: Pixels, hint: str = "give the width of the kernel in pixels"
) -> NDArray[np.float64]:
    """Return the matrix from pixel offsets (x, y) to degrees (east, north); needs a celestial WCS.

    Raises
    ------
    UsageError
        The first two axes are not longitude and latitude.
    """
    check_sky_plane(image)
    sky = image.coordinates.sky
    if sky is None or sky.axes != (1, 2):
        ctypes = image.coordinates.ctypes[:2]
        raise usage(
            "NAXIS1 and NAXIS2 are not sky coordinates (they are "
            f"{', '.join(ctype or 'without CTYPE' for ctype in ctypes) or 'none'})",
            hint,
        )
    return sky.matrix


def pixel_widths(width: Any, image: Pixels) -> tuple[float, float]:
    """Return the full widths of a kernel in pixels along x and y.

    ``width`` is a number of pixels, a pair of them (x, y), or an angle: an astropy Quantity, or
    text such as "12arcsec". An angle is a round kernel, for which pixels must be square or upright.
    """
    hint = either(
        'give pixels (3.5), pixels along x and y ((3.5, 2)), or an angle ("12arcsec")',
        "give pixels (3.5), pixels along x and y (3.5,2), or an angle (12arcsec)",
    )
    if isinstance(width, (tuple, list)) and len(width) != 2:
        raise usage(f"invalid width {width!r}: expected one or two numbers", hint)
    with foreign_errors(f"invalid width {width!r}", hint):
        if isinstance(width, (int, float, np.number)) and not isinstance(width, bool):
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


def sky_kernel(widths: tuple[float, float], image: Pixels) -> NDArray[np.float64]:
    """Return the squared widths (east, north) of a kernel with full widths in pixels (x, y)."""
    matrix = sky_matrix(image, keep_beam_hint())
    return np.asarray(matrix @ np.diag(np.square(widths)) @ matrix.T)
