"""The main job on a cube: statistics, spectra, pictures, a cutout; each with what it cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import tachyfits as tf

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """One operation that was done: its name, seconds and bytes read."""

    name: str
    seconds: float
    bytes: int

    def cost(self) -> str:
        """Return seconds and GB/s as text."""
        rate = f"{self.bytes / self.seconds / 1e9:6.2f} GB/s" if self.bytes else ""
        return f"{self.seconds:7.3f} s  {rate}".rstrip()


@dataclass
class Plan:
    """Where to look in a cube: the same job is done on every cube."""

    regions: list[tf.Region]
    channels: slice  # of the picture and the moments
    section: Any  # one value of every axis that is neither sky nor spectral
    cutout: Any


@dataclass
class Measured:
    """Everything that was found, and what it cost."""

    steps: list[Step] = field(default_factory=list)
    stats: tf.Stats | None = None
    histogram: tf.Histogram | None = None
    spectra: list[tf.Spectrum] = field(default_factory=list)
    mean: tf.Plane | None = None
    picture: tf.Plane | None = None  # of an image that has no channels
    moments: dict[int, tf.Plane] = field(default_factory=dict)

    def run(self, name: str, work: Callable[[], T]) -> T:
        """Do one operation and note what it cost."""
        started = time.perf_counter()
        with tf.reports() as reports:
            result = work()
        seconds = time.perf_counter() - started
        self.steps.append(Step(name, seconds, reports[-1].bytes if reports else 0))
        return result

    def cost(self, name: str) -> str:
        """Return what the step of that name cost."""
        return next(step.cost() for step in self.steps if step.name == name)


def has_channels(image: tf.Image) -> bool:
    """Say whether there is a spectral axis to collapse."""
    return image.channel_axis is not None and sum(length > 1 for length in image.shape) > 2


def general_plan(image: tf.Image) -> Plan:
    """Look at the middle of any cube or picture."""
    height, width = image.shape[-2:] if image.ndim > 1 else (1, image.shape[-1])
    radius = max(min(height, width) / 16, 0.5)
    middle = tuple(_middle(length) for length in image.shape)
    if not has_channels(image):
        return Plan([], slice(None), None, middle)
    spectral = image.channel_axis
    assert spectral is not None
    section: list[Any] = [slice(None)] * image.ndim
    for axis in _other_axes(image):
        section[axis] = slice(0, 1)
    whole = section == [slice(None)] * image.ndim
    on_the_sky = spectral < image.ndim - 2
    circle = tf.Circle((width - 1) // 2, (height - 1) // 2, radius)
    return Plan(
        [circle] if on_the_sky else [],
        _middle(image.shape[spectral]),
        None if whole else tuple(section),
        middle,
    )


def _middle(length: int) -> slice:
    """Return the middle half of an axis; all of a short one."""
    return slice(length // 4, length - length // 4)


def _other_axes(image: tf.Image) -> list[int]:
    """Return the axes that are neither sky nor spectral and have several values."""
    spectral = image.channel_axis
    kept = {spectral, *image.coordinates.sky_axes(spectral)}
    return [axis for axis in range(image.ndim) if axis not in kept and image.shape[axis] > 1]


def measure(image: tf.Image, plan: Plan, folder: Path) -> Measured:
    """Do the job, cutout included (``folder``/cutout.fits)."""
    found = Measured()
    found.stats = found.run("statistics", image.stats)
    found.histogram = found.run("histogram", lambda: image.histogram(400))
    if has_channels(image):
        _measure_channels(image, plan, found)
    elif image.ndim > 1:
        found.picture = found.run("picture", image.plane)
    found.run(
        "cutout",
        lambda: image.cutout(section=plan.cutout).write(folder / "cutout.fits", overwrite=True),
    )
    return found


def _measure_channels(image: tf.Image, plan: Plan, found: Measured) -> None:
    section, channels = plan.section, plan.channels
    if plan.regions:
        found.spectra = found.run(
            "spectrum", lambda: image.select(section=section).spectrum(plan.regions)
        )
    else:
        found.spectra = [found.run("spectrum", lambda: image.select(section=section).spectrum())]
    found.mean = found.run(
        "image", lambda: image.select(channels=channels, section=section).collapse("mean")
    )
    for order in (0, 1):
        found.moments[order] = found.run(
            f"moment {order}",
            lambda order=order: image.select(channels=channels, section=section).moment(order),  # type: ignore[misc]
        )


def bright(plane: tf.Plane, where: tf.Plane, limit: float) -> tf.Plane:
    """Return a plane with the pixels blanked at which another one is not above a limit."""
    with np.errstate(invalid="ignore"):
        values = np.where(where.values > limit, plane.values, np.nan)
    return tf.Plane(values, plane.unit, plane.header, plane.name)
