"""Fits of spectra: Gaussian lines and baselines, as maps of every pixel or of one spectrum.

The engine fits. This module adds names and units to its numbers, and writes them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import either, foreign_errors, usage
from tachyfits.base.upper import upper
from tachyfits.base.whole_numbers import whole_number
from tachyfits.results.plane import Plane
from tachyfits.text.pixel_units import asked_pixel_unit, pixel_unit, product_text
from tachyfits.text.units import text_of_unit, unit_text

if TYPE_CHECKING:
    from tachyfits._core import Report
    from tachyfits.results.spectrum import Spectrum

#: Full width at half maximum of a Gaussian in standard deviations.
FWHM = math.sqrt(8 * math.log(2))

#: Meaning of each flag of a fit.
FLAGS = {
    0: "converged",
    1: "no more defined channels than parameters",
    2: "a channel is infinite",
    3: "the channels do not determine the parameters",
    4: "no convergence in 100 iterations",
    5: "a parameter reached its limit",
}

#: Maximum number of Gaussians, and maximum orders of a baseline with them and alone.
MOST_LINES, MOST_JOINT_ORDER, MOST_ORDER = 3, 5, 9

#: Maximum number of steps of a fit.
ITERATIONS = 100

#: Numbers of a Gaussian, in the engine's order.
NUMBERS = (
    "amplitude", "amplitude_error", "centre", "centre_error", "fwhm", "fwhm_error", "integral",
    "integral_error",
)  # fmt: skip


@public
@dataclass(frozen=True, eq=False)
class GaussianMaps:
    """Maps of one Gaussian: ``amplitude * exp(-4 ln 2 ((x - centre) / fwhm)**2)``.

    Attributes
    ----------
    amplitude, amplitude_error
        The value at the centre, in the unit of the pixels, and its standard error.
    centre, centre_error
        Coordinate of the centre, in the unit of the spectral axis.
    fwhm, fwhm_error
        Full width at half maximum, in the same unit: 2.3548 standard deviations.
    integral, integral_error
        Integral over the axis, as in moment 0; its error includes the covariance of amplitude and
        width.
    """

    amplitude: Plane
    amplitude_error: Plane
    centre: Plane
    centre_error: Plane
    fwhm: Plane
    fwhm_error: Plane
    integral: Plane
    integral_error: Plane


@dataclass(frozen=True, eq=False)
class _Maps:
    """Maps common to all fits."""

    baseline: tuple[Plane, ...]
    baseline_errors: tuple[Plane, ...]
    reference: float
    rms: Plane
    chi2: Plane
    channels: Plane
    flags: Plane
    report: Report | None = field(default=None, repr=False)

    def _named(self) -> dict[str, Plane]:
        """Return the planes by the names of their HDUs."""
        planes = {}
        for power, (plane, error) in enumerate(
            zip(self.baseline, self.baseline_errors, strict=True)
        ):
            planes[f"BASELINE{power}"] = plane
            planes[f"BASELINE{power}_ERROR"] = error
        return planes | {
            "RMS": self.rms, "CHI2": self.chi2, "CHANNELS": self.channels, "FLAGS": self.flags,
        }  # fmt: skip

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        checksum: bool = False,
        sync: bool = False,
    ) -> None:
        """Write every map as an image HDU, named by EXTNAME, such as AMPLITUDE1 and FLAGS.

        Parameters
        ----------
        overwrite, checksum, sync
            As in `tachyfits.write`.

        Examples
        --------
        >>> import tachyfits as tf
        >>> tf.open("cube.fits")[0].fit_baseline(0).write("baseline.fits", overwrite=True)
        >>> [hdu.name for hdu in tf.open("baseline.fits")]
        ['PRIMARY', 'BASELINE0', 'BASELINE0_ERROR', 'RMS', 'CHI2', 'CHANNELS', 'FLAGS']
        """
        planes = [
            replace(plane, header=plane.header.replaced({"EXTNAME": name}))
            for name, plane in self._named().items()
        ]
        upper.write(path, [None, *planes], overwrite=overwrite, checksum=checksum, sync=sync)


@public
@dataclass(frozen=True, eq=False)
class GaussianFits(_Maps, Sequence[GaussianMaps]):
    """Fits of Gaussians to the spectrum of each pixel: a sequence of `GaussianMaps`.

    ``fits[0]`` is the Gaussian of the greatest absolute amplitude in each pixel; the others follow.
    Pixels whose fit failed are NaN in every map except ``channels`` and ``flags``.

    Attributes
    ----------
    baseline, baseline_errors
        Coefficients of the powers 0, 1, ... of the distance to ``reference``, in the unit of the
        pixels per power of the unit of the axis; empty without a baseline.
    reference
        Coordinate of the middle channel.
    rms
        Noise estimated from the residuals: the square root of the sum of their squares over the
        number of channels minus the number of parameters.
    chi2
        Sum of the squared residuals, divided by the squared noise if that was passed; otherwise in
        the squared unit of the pixels.
    channels
        Number of fitted channels.
    flags
        0 where the fit converged, otherwise a key of `GaussianFits.meanings`; NaN outside of
        regions.
    report
        Cost of the fit.
    """

    components: tuple[GaussianMaps, ...] = ()

    #: Meaning of each flag.
    meanings = FLAGS

    def __len__(self) -> int:
        return len(self.components)

    def __getitem__(self, number: Any) -> Any:
        return self.components[number]

    def __iter__(self) -> Iterator[GaussianMaps]:
        return iter(self.components)

    def _named(self) -> dict[str, Plane]:
        return {
            f"{name}{number}".upper(): getattr(maps, name)
            for number, maps in enumerate(self.components, 1)
            for name in NUMBERS
        } | super()._named()

    def __repr__(self) -> str:
        return _text("GaussianFits", f"{len(self)} per pixel", self.flags)


@public
@dataclass(frozen=True, eq=False)
class BaselineFits(_Maps):
    """Fits of polynomials to the spectrum of each pixel; attributes as of `GaussianFits`."""

    #: Meaning of each flag.
    meanings = FLAGS

    def __repr__(self) -> str:
        return _text("BaselineFits", f"order {len(self.baseline) - 1}", self.flags)


def _text(name: str, what: str, flags: Plane) -> str:
    converged = int((flags.values == 0).sum())
    height, width = flags.values.shape
    return f"<tachyfits {name}: {what}, {converged} of {height} x {width} pixels converged>"


@public
@dataclass(frozen=True)
class Gaussian:
    """One Gaussian of a spectrum; attributes as of `GaussianMaps`."""

    amplitude: float
    amplitude_error: float
    centre: float
    centre_error: float
    fwhm: float
    fwhm_error: float
    integral: float
    integral_error: float


@public
@dataclass(frozen=True, eq=False)
class SpectrumFit(Sequence[Gaussian]):
    """A fit of Gaussians to one spectrum: a sequence of `Gaussian`, the highest first.

    Attributes
    ----------
    spectrum
        The fitted spectrum; the numbers have its unit and that of its axis.
    baseline, baseline_errors
        Coefficients of powers of the distance to ``reference``.
    reference
        Coordinate of the middle channel.
    rms, chi2, channels
        As of `GaussianFits`.
    flag
        0 if the fit converged, otherwise a key of `SpectrumFit.meanings`, and all numbers are NaN.
    """

    spectrum: Spectrum
    components: tuple[Gaussian, ...]
    baseline: tuple[float, ...]
    baseline_errors: tuple[float, ...]
    reference: float
    rms: float
    chi2: float
    channels: int
    flag: int

    #: Meaning of each flag.
    meanings = FLAGS

    def __len__(self) -> int:
        return len(self.components)

    def __getitem__(self, number: Any) -> Any:
        return self.components[number]

    def __iter__(self) -> Iterator[Gaussian]:
        return iter(self.components)

    @property
    def model(self) -> Spectrum:
        """Sum of the Gaussians and the baseline on the channels of the spectrum."""
        x = self.spectrum.axis.values
        values = np.zeros(len(x))
        for power, coefficient in enumerate(self.baseline):
            values += coefficient * (x - self.reference) ** power
        for line in self.components:
            offset = (x - line.centre) / line.fwhm
            values += line.amplitude * np.exp(-4 * math.log(2) * offset**2)
        return replace(self.spectrum, values=values, statistic="model")

    def __repr__(self) -> str:
        if self.flag:
            return f"<tachyfits SpectrumFit: {FLAGS[self.flag]}>"
        unit, axis = self.spectrum.unit or "", self.spectrum.axis.unit
        lines = [
            f"{line.amplitude:.4g} +- {line.amplitude_error:.2g} {unit} at {line.centre:.6g} +- "
            f"{line.centre_error:.2g} {axis}, FWHM {line.fwhm:.4g} +- {line.fwhm_error:.2g} {axis}"
            for line in self.components
        ]
        return f"<tachyfits SpectrumFit: {'; '.join(lines)}>"


# Requests to the engine, shared by maps and spectra.


@dataclass(frozen=True)
class FitRequest:
    """A validated request to fit Gaussians to channels with coordinates."""

    n: int
    baseline: int | None
    noise: float | None
    limits: list[tuple[float, float]]

    @staticmethod
    def of(
        n: int, baseline: int | None, noise: Any, limits: Any, unit: str | None, axis: FitAxis
    ) -> FitRequest:
        """Validate the arguments; ``unit`` is the unit of the pixels.

        Raises
        ------
        UsageError
            A number or a limit is out of range.
        """
        count = whole_number(n, least=1)
        if count is None or count > MOST_LINES:
            raise usage(
                f"invalid n {n!r}: expected 1 to {MOST_LINES} Gaussians",
                either("use n=1", "use --gaussians 1"),
            )
        order = None if baseline is None else order_of(baseline, MOST_JOINT_ORDER)
        return FitRequest(count, order, noise_of(noise, unit), _limits(limits, axis))

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of the engine's function."""
        return {"baseline": self.baseline, "noise": self.noise, "iterations": ITERATIONS}


@dataclass(frozen=True)
class FitAxis:
    """Coordinates and widths of the channels of a fit."""

    values: NDArray[np.float64]
    widths: NDArray[np.float64]


def order_of(order: Any, most: int) -> int:
    """Return the order of a baseline; UsageError if it is invalid."""
    number = whole_number(order, least=0)
    if number is None or number > most:
        raise usage(f"invalid order {order!r} of a baseline: expected 0 to {most}", "use 0 or 1")
    return number


def noise_of(noise: Any, unit: str | None) -> float | None:
    """Return the noise of a channel in the unit of the pixels."""
    if noise is None:
        return None
    hint = "give a number in the unit of the pixels, or a quantity"
    with foreign_errors(f"invalid noise {noise!r}", hint):
        if getattr(noise, "unit", None) is not None:
            noise = noise.to_value(asked_pixel_unit(unit or ""))
        number = float(noise)
    if not (0 < number < math.inf):
        raise usage(f"invalid noise {noise!r}: expected a number above 0", hint)
    return number


def _limits(limits: Any, axis: FitAxis) -> list[tuple[float, float]]:
    """Return the limits of amplitudes, centres and standard deviations."""
    low, high = float(axis.values.min()), float(axis.values.max())
    least = float(np.min(axis.widths))
    bounds = {
        "amplitude": (-math.inf, math.inf),
        "centre": (low, high),
        "fwhm": (least, max(high - low, least)),
    }
    hint = either(
        'use limits={"fwhm": (2, 20), "amplitude": (0, None)}', "use --fwhm 2,20 --amplitude 0,1"
    )
    with foreign_errors(f"invalid limits {limits!r}", hint):
        requests = dict(limits or {})
        for name, (lowest, highest) in bounds.items():
            start, end = requests.pop(name, (None, None))
            bounds[name] = (
                lowest if start is None else float(start),
                highest if end is None else float(end),
            )  # fmt: skip
    if requests:
        raise usage(
            f"invalid limit of {next(iter(requests))!r}: expected {', '.join(bounds)}", hint
        )
    for name, (start, end) in bounds.items():
        if not start <= end or (name == "fwhm" and not start > 0):
            raise usage(
                f"invalid limits of {name}: expected low <= high"
                f"{', above 0' * (name == 'fwhm')}, found {start:g} and {end:g}",
                hint,
            )
    return [
        bounds["amplitude"], bounds["centre"], (bounds["fwhm"][0] / FWHM, bounds["fwhm"][1] / FWHM),
    ]  # fmt: skip


def reference_of(values: NDArray[np.float64]) -> float:
    """Return the reference coordinate of the coefficients, that of the middle channel."""
    return float(values[len(values) // 2])


def power_unit(unit: str | None, axis: str, power: int) -> str | None:
    """Return the unit of pixels per power of the axis unit, as written in a header.

    >>> power_unit("Jy/beam", "km/s", 1), power_unit("K", "km/s", 0), power_unit(None, "Hz", 2)
    ('Jy beam-1 s km-1', 'K', 'Hz-2')
    """
    if not power:
        return unit
    of_axis = pixel_unit(axis)
    if of_axis is None:
        return None
    try:
        text = unit_text(of_axis**-power)
    except ValueError:
        return None
    return product_text(unit, text)


def units_of(unit: str | None, axis: str) -> list[str | None]:
    """Return the units of `NUMBERS`."""
    integral = product_text(unit, axis)
    return [unit, unit, axis, axis, axis, axis, integral, integral]


def squared(unit: str | None, noise: float | None) -> str | None:
    """Return the unit of chi²: "" if the noise is set."""
    if noise is not None or not unit:
        return None
    own = pixel_unit(unit)
    return None if own is None else text_of_unit(own**2)


def fitted(spectrum: Spectrum, used: NDArray[np.bool_], request: FitRequest) -> SpectrumFit:
    """Fit Gaussians to the channels of a spectrum where ``used`` is true."""
    x = np.ascontiguousarray(spectrum.axis.values[used])
    values = np.ascontiguousarray(spectrum.values[used], dtype=np.float64)
    row = _core.fit_spectra(values, request.n, x, request.limits, **request.options)
    numbers = [float(number) for number in row]
    lines = []
    for _ in range(request.n):
        of_line, numbers = numbers[: len(NUMBERS)], numbers[len(NUMBERS) :]
        of_line[4] *= FWHM
        of_line[5] *= FWHM
        lines.append(Gaussian(*of_line))
    norm, count, flag = numbers[-3:]
    parameters = 3 * request.n + (len(numbers) - 3) // 2
    free = count - parameters
    return SpectrumFit(
        spectrum, tuple(lines), tuple(numbers[:-3:2]), tuple(numbers[1:-3:2]), reference_of(x),
        norm / math.sqrt(free) if free > 0 else math.nan, (norm / (request.noise or 1.0)) ** 2,
        int(count), int(flag),
    )  # fmt: skip
