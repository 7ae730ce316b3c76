"""The demo's results beside the truth: what was put in, what came out, and how far they may differ.

Results of the engine are compared exactly with the pixels that were written; results with noise may
differ by as much as the noise explains.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tachyfits as tf

from .galaxy import Galaxy, Truth
from .measure import Measured, Plan

#: How many times the expected error of a measurement may be.
SIGMAS = 5.0


@dataclass(frozen=True)
class Line:
    """One result beside the truth."""

    name: str
    truth: float
    found: float
    allowed: float
    unit: str
    cost: str

    @property
    def holds(self) -> bool:
        """Whether the difference is within what is allowed."""
        return abs(self.found - self.truth) <= self.allowed

    def row(self) -> tuple[str, ...]:
        """Return the line as cells of a table."""
        return (
            self.name,
            f"{self.truth:.8g}",
            f"{self.found:.8g}",
            f"{self.found - self.truth:+.2g}",
            f"{self.allowed:.2g}",
            self.unit,
            "ok" if self.holds else "WRONG",
            self.cost,
        )


HEADING = ("result", "truth", "found", "difference", "allowed", "unit", "", "cost")

#: Position at which the rotation is measured: radius in kpc on the receding major axis.
PLACE_KPC = 5.0


def galaxy_plan(galaxy: Galaxy) -> Plan:
    """Look at the disc as a whole, and at one place on its receding side."""
    x, y = galaxy.on_major_axis(PLACE_KPC)
    middle = galaxy.channels // 2
    reach = 1.02 * galaxy.flat_speed * galaxy.sine + 4 * galaxy.dispersion
    half = int(np.ceil(reach / galaxy.channel_width))
    quarter = galaxy.side // 4
    inner = slice(quarter, galaxy.side - quarter)
    return Plan(
        regions=[tf.Circle(x, y, 4), tf.Circle(galaxy.centre, galaxy.centre, galaxy.field_radius)],
        channels=slice(middle - half, middle + half),
        section=None,
        cutout=np.s_[middle - half : middle + half : 2, inner, inner],
    )


def compare(image: tf.Image, truth: Truth, plan: Plan, found: Measured, folder: Path) -> list[Line]:
    """Return every result beside the truth."""
    return [
        *_pixels(truth, found),
        _noise(image, truth.galaxy, plan, found),
        *_disc(truth.galaxy, found),
        _picture(truth, plan, found),
        _rotation(truth.galaxy, plan, found),
        *_cutout(image, plan, found, folder),
    ]


def _pixels(truth: Truth, found: Measured) -> list[Line]:
    """Compare the pixels as they were written: exact, the sum to the last digits of float64."""
    stats, cost = found.stats, found.cost("statistics")
    assert stats is not None
    total = float(truth.sum)
    return [
        Line("pixels with a value", truth.count, stats.count, 0, "", cost),
        Line("blank pixels", truth.nan, stats.nan, 0, "", cost),
        Line("sum", total, stats.sum, abs(total) * 1e-13, "Jy/beam", cost),
        Line("least", truth.min, stats.min, 0, "Jy/beam", cost),
        Line("greatest", truth.max, stats.max, 0, "Jy/beam", cost),
    ]


def _noise(image: tf.Image, galaxy: Galaxy, plan: Plan, found: Measured) -> Line:
    """Compare the scatter of channels without emission. Noise of a beam has one value per beam."""
    quiet = slice(0, plan.channels.start // 2)
    free = found.run("noise", lambda: image.select(section=np.s_[quiet]).stats())
    independent = free.count / galaxy.beam_pixels
    allowed = SIGMAS * galaxy.noise / np.sqrt(2 * independent)
    return Line("noise", galaxy.noise, free.std, allowed, "Jy/beam", found.cost("noise"))


def _disc(galaxy: Galaxy, found: Measured) -> list[Line]:
    """Mass and velocity of the disc, and the velocity at one place of it, from spectra."""
    place, disc = found.spectra
    assert isinstance(disc.region, tf.PixelRegion)
    cost, velocity = found.cost("spectrum"), disc.axis.values / 1e3
    pixels = int(disc.region.mask(galaxy.side, galaxy.side).sum())
    flux = disc.values * pixels / galaxy.beam_pixels * galaxy.channel_width
    # The sum over beams of correlated noise: that of white noise before the beam.
    white = galaxy.noise * np.sqrt(2 * galaxy.beam_pixels * pixels) / galaxy.beam_pixels
    per_channel = white * galaxy.channel_width
    total_error = per_channel * np.sqrt(galaxy.channels)
    speed_error = per_channel * np.sqrt(((velocity - galaxy.systemic) ** 2).sum()) / flux.sum()
    line = np.abs(velocity - galaxy.systemic - galaxy.flat_speed * galaxy.sine) < 45
    there = float((place.values * velocity)[line].sum() / place.values[line].sum())
    rotation = float(galaxy.rotation(np.array(PLACE_KPC)))
    expected = galaxy.systemic + rotation * galaxy.sine
    return [
        Line("mass of hydrogen", galaxy.mass, flux.sum() * galaxy.mass_per_flux,
             SIGMAS * total_error * galaxy.mass_per_flux + 1e-3 * galaxy.mass, "Msun", cost),
        Line("systemic velocity", galaxy.systemic, (flux * velocity).sum() / flux.sum(),
             SIGMAS * speed_error, "km/s", cost),
        # The beam mixes in gas beside the major axis, which is slower.
        Line(f"velocity at {PLACE_KPC:g} kpc", expected, there, 2.0, "km/s", cost),
    ]  # fmt: skip


def _picture(truth: Truth, plan: Plan, found: Measured) -> Line:
    """Compare the mean of the channels minus the model without noise: it must be noise."""
    galaxy, mean = truth.galaxy, found.mean
    assert mean is not None
    count = len(range(galaxy.channels)[plan.channels])
    difference = mean.values - truth.model
    good = np.isfinite(difference)
    assert (good == np.isfinite(truth.model)).all()
    expected = galaxy.noise / np.sqrt(count)
    allowed = SIGMAS * expected / np.sqrt(2 * good.sum() / galaxy.beam_pixels)
    scatter = float(np.sqrt((difference[good] ** 2).mean()))
    name = f"scatter of mean of {count} channels"
    return Line(name, expected, scatter, allowed, "Jy/beam", found.cost("image"))


def _rotation(galaxy: Galaxy, plan: Plan, found: Measured) -> Line:
    """Speed of rotation from the velocity field, along the major axis at 3 to 5 kpc."""
    radius, cosine, _ = galaxy.disc()
    chosen = (radius > 3) & (radius < 5) & (np.abs(cosine) > np.cos(np.deg2rad(20)))
    field = found.moments[1].values / 1e3
    speed = (field[chosen] - galaxy.systemic) / (galaxy.sine * cosine[chosen])
    expected = float(galaxy.rotation(radius[chosen]).mean())
    # Noise of one pixel's mean velocity, over the beams in the sector; and 1 % for the beam.
    velocity = galaxy.velocities[plan.channels] - galaxy.systemic
    line = found.moments[0].values[chosen] / 1e3 / galaxy.channel_width
    one = galaxy.noise * np.sqrt((velocity**2).sum()) / np.median(line) / galaxy.sine
    allowed = SIGMAS * one / np.sqrt(chosen.sum() / galaxy.beam_pixels) + 0.01 * expected
    cost = found.cost("moment 1")
    return Line("rotation at 3 to 5 kpc", expected, float(speed.mean()), allowed, "km/s", cost)


def _cutout(image: tf.Image, plan: Plan, found: Measured, folder: Path) -> list[Line]:
    """Compare the cutout's pixels and the place on the sky of its first one."""
    cost = found.cost("cutout")
    with tf.open(folder / "cutout.fits") as file:
        inside, outside = file[0].stats(), image.select(section=plan.cutout).stats()
        here = file[0].wcs.pixel_to_world_values(0, 0, 0)
    z, y, x = (piece.start for piece in plan.cutout)
    there = image.wcs.pixel_to_world_values(x, y, z)
    return [
        Line("sum of the cutout", outside.sum, inside.sum, 0, "Jy/beam", cost),
        Line("its right ascension", float(there[0]), float(here[0]), 1e-9, "deg", cost),
        Line("its declination", float(there[1]), float(here[1]), 1e-9, "deg", cost),
        Line("its velocity", float(there[2]), float(here[2]), 1e-6, "m/s", cost),
    ]
