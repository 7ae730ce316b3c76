"""A cube of a rotating disc of neutral hydrogen, whose answers are known.

A thin disc with an exponential surface density and a flat rotation curve, seen at an angle; every
line of sight is a Gaussian line. It is convolved with an elliptical beam, gets noise of that beam,
and is blank (NaN) outside a circle, like a mosaic. The cube is written channel by channel.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tachyfits import Header
from tachyfits.base.output import write_atomically

Floats = NDArray[np.float64]

#: Mass in solar masses of 1 Jy km/s of the 21 cm line at 1 Mpc (Roberts 1962; optically thin).
SOLAR_MASSES_PER_FLUX = 2.356e5

ARCSEC = np.pi / 180 / 3600

#: FITS files consist of blocks of this many bytes.
_BLOCK = 2880


@dataclass(frozen=True)
class Galaxy:
    """Parameters of the model: lengths in kpc, angles in arcsec, speeds in km/s, fluxes in Jy."""

    side: int = 512
    channels: int = 256
    pixel: float = 1.5
    channel_width: float = 2.0
    distance_mpc: float = 6.0
    inclination: float = 50.0  # degrees, 0 is face-on
    position_angle: float = 125.0  # degrees of the receding side, from north through east
    systemic: float = 632.0
    flat_speed: float = 170.0
    turnover: float = 0.8  # the rotation curve is flat beyond some of these
    scale_length: float = 2.5
    edge: float = 10.0  # no gas beyond
    central_density: float = 12.0  # solar masses per square parsec, face-on
    dispersion: float = 9.0
    beam_major: float = 8.0
    beam_minor: float = 6.0
    beam_angle: float = 30.0
    noise: float = 3e-5  # Jy/beam
    field_radius: float = 250.0  # pixels; blank outside
    seed: int = 20260101

    @property
    def kpc_per_pixel(self) -> float:
        """Size of a pixel at the distance of the galaxy."""
        return self.pixel * ARCSEC * self.distance_mpc * 1e3

    @property
    def beam_pixels(self) -> float:
        """Area of the Gaussian beam, in pixels."""
        return (
            float(np.pi)
            * self.beam_major
            * self.beam_minor
            / (4 * float(np.log(2)))
            / self.pixel**2
        )

    @property
    def sine(self) -> float:
        """Sine of the inclination."""
        return float(np.sin(np.deg2rad(self.inclination)))

    @property
    def mass(self) -> float:
        """Mass of hydrogen in solar masses: the integral of the disc out to its edge."""
        x = self.edge / self.scale_length
        whole = 2 * np.pi * self.central_density * (self.scale_length * 1e3) ** 2
        return float(whole * (1 - (1 + x) * np.exp(-x)))

    @property
    def mass_per_flux(self) -> float:
        """Solar masses per Jy km/s at the galaxy's distance."""
        return SOLAR_MASSES_PER_FLUX * self.distance_mpc**2

    @property
    def centre(self) -> float:
        """The middle of the picture, 0-based pixels, the same along x and y."""
        return (self.side - 1) / 2

    @property
    def velocities(self) -> Floats:
        """Velocity of each channel."""
        middle = (self.channels - 1) / 2
        steps = np.arange(self.channels, dtype=np.float64) - middle
        return self.systemic + steps * self.channel_width

    def rotation(self, radius: Floats) -> Floats:
        """Speed of rotation at a radius."""
        return self.flat_speed * (1 - np.exp(-radius / self.turnover))

    def disc(self) -> tuple[Floats, Floats, Floats]:
        """Return radius in kpc, cosine of the azimuth from the receding side, and velocity."""
        offset = np.arange(self.side) - self.centre
        # East is to the left.
        east, north = -offset[None, :] * self.kpc_per_pixel, offset[:, None] * self.kpc_per_pixel
        turn = np.deg2rad(self.position_angle)
        along = north * np.cos(turn) + east * np.sin(turn)
        across = (east * np.cos(turn) - north * np.sin(turn)) / np.cos(np.deg2rad(self.inclination))
        radius = np.hypot(along, across)
        cosine = np.divide(along, radius, out=np.zeros_like(radius), where=radius > 0)
        return radius, cosine, self.systemic + self.rotation(radius) * self.sine * cosine

    def on_major_axis(self, radius: float) -> tuple[float, float]:
        """Return the pixel (x, y), 0-based, on the receding side of the major axis."""
        turn, pixels = np.deg2rad(self.position_angle), radius / self.kpc_per_pixel
        x, y = self.centre - pixels * np.sin(turn), self.centre + pixels * np.cos(turn)
        return float(x), float(y)

    def header(self) -> Header:
        """Return the header of the cube, in SI units and degrees."""
        middle = (self.side + 1) / 2
        cards: list[tuple[str, object, str]] = [
            ("OBJECT", "H I disc", "made by examples.galaxy"),
            ("BUNIT", "Jy/beam", ""),
            ("BMAJ", self.beam_major / 3600, "[deg]"),
            ("BMIN", self.beam_minor / 3600, "[deg]"),
            ("BPA", self.beam_angle, "[deg]"),
            ("RADESYS", "ICRS", ""),
            ("SPECSYS", "BARYCENT", ""),
            ("RESTFRQ", 1420405751.7667, "[Hz] the 21 cm line"),
        ]
        axes = [
            ("RA---SIN", "deg", middle, 202.4696, -self.pixel / 3600),
            ("DEC--SIN", "deg", middle, 47.1952, self.pixel / 3600),
            ("VRAD", "m/s", (self.channels + 1) / 2, self.systemic * 1e3,
             self.channel_width * 1e3),
        ]  # fmt: skip
        for number, values in enumerate(axes, 1):
            names = ("CTYPE", "CUNIT", "CRPIX", "CRVAL", "CDELT")
            cards += [(f"{n}{number}", v, "") for n, v in zip(names, values, strict=True)]
        return Header(cards)


@dataclass
class Truth:
    """True values of the cube that was written, from the model and from its pixels."""

    galaxy: Galaxy
    count: int = 0
    nan: int = 0
    sum: np.longdouble = field(default_factory=lambda: np.longdouble(0))
    min: float = np.inf
    max: float = -np.inf
    model: Floats = field(
        default_factory=lambda: np.zeros((0, 0))
    )  # mean of some channels, noise-free

    def add(self, plane: NDArray[np.float32]) -> None:
        """Count the pixels of one channel, as they are written."""
        good = plane[np.isfinite(plane)]
        self.count += good.size
        self.nan += plane.size - good.size
        self.sum += good.sum(dtype=np.longdouble)
        self.min, self.max = min(self.min, float(good.min())), max(self.max, float(good.max()))


def write_galaxy(
    galaxy: Galaxy,
    path: str | os.PathLike[str],
    *,
    model_range: slice,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> Truth:
    """Write the cube (BITPIX -32) and return what is known of it.

    Parameters
    ----------
    galaxy
        What to make.
    path
        The file; an older one is replaced.
    model_range
        Channels whose mean without noise is kept in ``Truth.model``.
    progress
        Called with (bytes done, bytes in all).
    """
    truth = Truth(galaxy)
    shape = (galaxy.channels, galaxy.side, galaxy.side)
    wanted = range(galaxy.channels)[model_range]
    mean = np.zeros(shape[1:])

    def produce(stream: BinaryIO) -> None:
        stream.write(_header_block(galaxy.header(), -32, shape))
        total = 4 * int(np.prod(shape))
        for channel, (model, noise) in enumerate(_channels(galaxy)):
            if channel in wanted:
                np.add(mean, model / len(wanted), out=mean)
            plane = (model + noise).astype(np.float32)
            plane[_outside(galaxy)] = np.nan
            truth.add(plane)
            stream.write(plane.astype(">f4").tobytes())
            progress(4 * plane.size * (channel + 1), total)
        stream.write(_padding(total))

    write_atomically(path, produce, overwrite=True)
    mean[_outside(galaxy)] = np.nan
    truth.model = mean
    return truth


def _outside(galaxy: Galaxy) -> NDArray[np.bool_]:
    offset = np.arange(galaxy.side) - galaxy.centre
    outside: NDArray[np.bool_] = np.hypot(offset[None, :], offset[:, None]) > galaxy.field_radius
    return outside


def _channels(galaxy: Galaxy) -> Iterator[tuple[Floats, Floats]]:
    """Give (model, noise) of each channel in Jy/beam."""
    radius, _, velocity = galaxy.disc()
    density = galaxy.central_density * np.exp(-radius / galaxy.scale_length)
    density[radius > galaxy.edge] = 0
    area = (galaxy.kpc_per_pixel * 1e3) ** 2 / np.cos(np.deg2rad(galaxy.inclination))
    # Jy km/s of each pixel, then Jy/beam once the beam has area 1.
    flux = density * area / galaxy.mass_per_flux * galaxy.beam_pixels
    transfer = _beam_transfer(galaxy)
    # The root of the sum of the squares of the beam's samples, by Parseval's theorem.
    full = np.fft.irfft2(transfer, s=radius.shape)
    white = galaxy.noise / np.sqrt((full**2).sum())
    random = np.random.default_rng(galaxy.seed)
    norm = 1 / (galaxy.dispersion * np.sqrt(2 * np.pi))
    for centre in galaxy.velocities:
        line = flux * norm * np.exp(-0.5 * ((centre - velocity) / galaxy.dispersion) ** 2)
        noise = random.standard_normal(radius.shape) * white
        yield _convolved(line, transfer), _convolved(noise, transfer)


def _convolved(plane: Floats, transfer: Floats) -> Floats:
    convolved: Floats = np.fft.irfft2(np.fft.rfft2(plane) * transfer, s=plane.shape)
    return convolved


def _beam_transfer(galaxy: Galaxy) -> Floats:
    """Return the Fourier transform of the beam of unit area, for real planes."""
    sigma = np.array([galaxy.beam_major, galaxy.beam_minor]) / galaxy.pixel / np.sqrt(8 * np.log(2))
    x, y = np.fft.rfftfreq(galaxy.side)[None, :], np.fft.fftfreq(galaxy.side)[:, None]
    turn = np.deg2rad(galaxy.beam_angle)
    # The major axis points from north (y) to east (-x).
    along, across = y * np.cos(turn) - x * np.sin(turn), x * np.cos(turn) + y * np.sin(turn)
    transfer: Floats = np.exp(-2 * np.pi**2 * ((sigma[0] * along) ** 2 + (sigma[1] * across) ** 2))
    return transfer


def _header_block(header: Header, bitpix: int, shape: Sequence[int]) -> bytes:
    """Return the header of a primary image, mandatory cards first, padded to whole blocks.

    Parameters
    ----------
    header
        The other cards.
    bitpix
        Type of the pixels.
    shape
        In NumPy order.
    """
    from astropy.io import fits

    cards = fits.Header()
    cards.append(("SIMPLE", True, "FITS Standard 4.0"))
    cards.append(("BITPIX", bitpix, "bits per pixel; negative: floating point"))
    cards.append(("NAXIS", len(shape), "number of axes"))
    for number, length in enumerate(reversed(shape), 1):
        cards.append((f"NAXIS{number}", length))
    cards.extend(header.to_astropy(), unique=False, update=False)
    return bytes(cards.tostring(sep="", endcard=True, padding=True).encode("ascii"))


def _padding(data_bytes: int) -> bytes:
    """Return the zeros that pad the last block of data."""
    return bytes(-data_bytes % _BLOCK)
