"""Kernels that smooth beams to a target beam, by deconvolution, in pixels.

Squared widths of Gaussians add up under convolution, as matrices; the kernel of a beam is the
difference between the matrices of the target and of the beam (radio_beam and MIRIAD solve the same
equations for axes and angles).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tachyfits.base.errors import either, listed, usage, warn
from tachyfits.base.lazy_numpy import np
from tachyfits.base.optional import needed
from tachyfits.header.beam import (
    Beam,
    Beams,
    beam_from,
    beams_of,
    plane_axes,
    sky_kernel,
    sky_matrix,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tachyfits.image.pixels import Pixels

#: Argument for the smallest beam that every channel can have.
COMMON = "common"

#: A target whose squared width is smaller by less than this fraction equals the beam.
_EQUAL = 1e-9


@dataclass(frozen=True)
class Convolution:
    """Kernels that smooth planes to a target beam.

    Attributes
    ----------
    axes
        NumPy axes along which the kernels vary; empty for a single kernel.
    widths
        Squared full widths in pixels, as matrices: (xx, xy, yy) of each kernel.
    ratios
        Solid angle of the target divided by that of the beam; NaN for a plane without a beam.
    beam
        Target beam.
    """

    axes: list[int]
    widths: NDArray[np.float64]
    ratios: NDArray[np.float64]
    beam: Beam

    @property
    def is_upright(self) -> bool:
        """Whether a single kernel separates into Gaussians along x and y, wide enough to sample."""
        if self.axes:
            return False
        xx, xy, yy = self.widths[0]
        return bool(abs(xy) <= 1e-9 * max(xx, yy) and min(xx, yy) >= 4.0)


def common_beam(image: Pixels) -> Beam:
    """Return the smallest beam that every channel can be smoothed to.

    Raises
    ------
    UsageError
        The header has no beam, or radio_beam, which computes the result, is not installed.
    """
    beams = _known_beams(image)
    if isinstance(beams, Beam):
        return beams
    import astropy.units as u

    radio_beam = needed("radio_beam", "the common beam of channels")
    usable = np.isfinite(beams.major)
    axes = [axis[usable] * u.deg for axis in (beams.major, beams.minor, beams.angle)]
    common = radio_beam.Beams(*axes).common_beam()
    return Beam(
        float(common.major.to_value(u.deg)),
        float(common.minor.to_value(u.deg)),
        float(common.pa.to_value(u.deg)) % 180.0,
    )


def convolution(image: Pixels, target: Any) -> Convolution:
    """Return the kernels that smooth the beams of an image to a target.

    Parameters
    ----------
    target
        Any beam that `beam_from` accepts, or "common".

    Raises
    ------
    UsageError
        The header has no beam or no sky, or the target is smaller than a beam.
    """
    beams = _known_beams(image)
    is_common = isinstance(target, str) and target.strip().lower() == COMMON
    beam = common_beam(image) if is_common else beam_from(target)
    coordinates = image.coordinates
    if isinstance(beams, Beam):
        axes: list[int] = []
        beams = Beams(*(np.array([x]) for x in (beams.major, beams.minor, beams.angle)))
    else:
        axes = plane_axes(beams, coordinates)
    usable = np.isfinite(beams.major).reshape(-1)
    _warn_of_undefined(image, usable)
    matrices = beam.covariance - beams.covariances.reshape(-1, 2, 2)
    matrices[~usable] = 0.0
    squares, directions = np.linalg.eigh(matrices)
    missing = squares[:, 0] < -_EQUAL * beam.major**2
    if missing.any():
        raise _too_small(beam, beams, int(np.flatnonzero(missing)[0]), len(usable) > 1)
    # Rounding leaves a small width if the beams are equal.
    squares[squares < _EQUAL * beam.major**2] = 0.0
    matrices = np.einsum("nij,nj,nkj->nik", directions, squares, directions)
    to_pixels = np.linalg.inv(sky_matrix(image, _own_beam_hint()))
    kernels = to_pixels @ matrices @ to_pixels.T
    widths = np.stack([kernels[:, 0, 0], kernels[:, 0, 1], kernels[:, 1, 1]], axis=1)
    ratios = beam.area / (beams.major * beams.minor).reshape(-1)
    return Convolution(axes, widths, ratios, beam)


@dataclass(frozen=True)
class Grown:
    """Beams of an image after smoothing with one kernel for all planes.

    Attributes
    ----------
    axes
        NumPy axes along which the scales vary; empty for a single scale.
    scales
        Factors of the values. Values per beam: ratio of the solid angles (squared for values per
        beam squared), NaN if a channel has no beam. Other values: 1.
    beam
        New beam of all channels; None if channels have different beams.
    rows
        New beams of the rows of the table BEAMS: major and minor axis and angle, degrees.
    """

    axes: list[int]
    scales: list[float]
    beam: Beam | None
    rows: list[tuple[float, float, float]]


def grown_beams(
    image: Pixels, beams: Beam | Beams, widths: tuple[float, float], power: float
) -> Grown:
    """Return beams convolved with a kernel of these full widths in pixels along x and y.

    ``power``: power of the beam's solid angle in the unit of the values, negative for per beam.
    """
    kernel = sky_kernel(widths, image)
    if isinstance(beams, Beam):
        new = Beam.from_covariance(beams.covariance + kernel)
        return Grown([], [(new.area / beams.area) ** -power], new, [])
    axes: list[int] = []
    scales = np.ones(1)
    if power:
        after = beams.grown(kernel)
        axes = plane_axes(beams, image.coordinates)
        ratios = after.solid_angle / beams.solid_angle
        scales = ratios.reshape(-1) ** -power
        _warn_of_undefined(image, np.isfinite(scales))
    rows = [row[2:] for row in image._core_image().beams() or ()]
    if not rows:
        raise usage(
            f"{image._where()}: the units of the table BEAMS are not written as the Standard does, "
            "so it cannot be updated",
            either(
                "state them, TUNITn = 'arcsec'; or smooth to one beam: smooth(beam=\"common\")",
                "state them: tachyfits header FILE --hdu BEAMS --set TUNIT1=arcsec (TUNITn); or "
                "smooth to one beam: --beam common",
            ),
        )
    numbered = [(place, None, *row) for place, row in enumerate(rows)]
    each = Beams.of_rows(numbered, (1, len(rows))).grown(kernel)
    parameters = np.stack([each.major, each.minor, each.angle], axis=1)
    # A row without a usable beam stays unchanged.
    parameters = np.where(np.isfinite(parameters), parameters, np.array(rows))
    return Grown(axes, scales.tolist(), None, [tuple(row) for row in parameters.tolist()])


def _warn_of_undefined(image: Pixels, usable: NDArray[np.bool_]) -> None:
    """Warn about channels without a beam."""
    if not usable.all():
        warn(
            f"{image._where()}: channels without a usable beam become undefined: "
            + listed(np.flatnonzero(~usable).tolist())
        )


def _known_beams(image: Pixels) -> Beam | Beams:
    beams = beams_of(image)
    if beams is None:
        raise usage(
            f"{image._where()}: the header has no usable beam (BMAJ, BMIN, BPA, a table BEAMS, or "
            "HISTORY of AIPS)",
            f"give it first: {_own_beam_hint()}",
        )
    if isinstance(beams, Beams) and not np.isfinite(beams.major).any():
        raise usage(
            f"{image._where()}: no channel has a usable beam in the table BEAMS",
            f"give one beam: {_own_beam_hint()}",
        )
    return beams


def _own_beam_hint() -> str:
    """Return advice on adding a beam to an image, for when the argument ``beam`` is the target."""
    return either(
        'image.with_beam("15arcsec")',
        "tachyfits header FILE --set BMAJ=0.004 --set BMIN=0.004 --set BPA=0 (degrees)",
        "BMAJ, BMIN and BPA of the file",
    )


def _too_small(target: Beam, beams: Beams, plane: int, several: bool) -> Exception:
    own = Beam(*(float(x.reshape(-1)[plane]) for x in (beams.major, beams.minor, beams.angle)))
    of = f" of channel {plane % beams.major.shape[-1]} (from 0)" if several else ""
    return usage(
        f"the target beam {target} is smaller than the beam {own}{of} in some direction",
        'give a larger one, or "common" for the smallest that fits all channels',
    )
