"""Images of the sky in many projections, for tests of regions and cutouts."""

from __future__ import annotations

from typing import Any

import numpy as np

import tachyfits as tf
from fitsbytes import primary

#: CTYPE pairs, and RADESYS of equatorial ones.
FRAMES = {
    "icrs": ("RA--", "DEC-", "ICRS"),
    "fk5": ("RA--", "DEC-", "FK5"),
    "galactic": ("GLON", "GLAT", ""),
}


def sky_cards(
    projection: str,
    frame: str,
    position: tuple[float, float],
    size: tuple[int, int],
    pixel: float,
    angle: float = 0.0,
    more: list[tuple[str, Any]] | None = None,
) -> list[tuple[str, Any]]:
    """Return cards of an image of (width, height) pixels of some degrees, turned by an angle."""
    longitude, latitude, system = FRAMES[frame]
    cosine, sine = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    cards = [
        ("CTYPE1", f"{longitude}-{projection}"), ("CTYPE2", f"{latitude}-{projection}"),
        ("CUNIT1", "deg"), ("CUNIT2", "deg"), ("CRPIX1", size[0] / 2 + 0.7),
        ("CRPIX2", size[1] / 2 - 0.3), ("CRVAL1", position[0]), ("CRVAL2", position[1]),
        ("CDELT1", -pixel), ("CDELT2", pixel), ("PC1_1", float(cosine)), ("PC1_2", float(-sine)),
        ("PC2_1", float(sine)), ("PC2_2", float(cosine)),
    ]  # fmt: skip
    if system:
        cards.append(("RADESYS", system))
    return list((dict(cards) | dict(more or [])).items())


def sky_image(
    projection: str,
    frame: str = "icrs",
    position: tuple[float, float] = (83.6, 22.0),
    size: tuple[int, int] = (90, 70),
    pixel: float = 0.01,
    angle: float = 0.0,
    more: list[tuple[str, Any]] | None = None,
) -> tf.Image:
    """Return such an image, its pixels numbered from 0."""
    stored = np.arange(size[0] * size[1], dtype="i4").reshape(size[1], size[0])
    cards = sky_cards(projection, frame, position, size, pixel, angle, more)
    image: tf.Image = tf.open(primary(stored, cards))[0]
    return image


#: Projections with what an image of the whole sky, or of much of it, needs.
ALL_SKY: dict[str, dict[str, Any]] = {
    "CAR": {"position": (0.0, 0.0), "size": (180, 90), "pixel": 2.0},
    "AIT": {"position": (10.0, 0.0), "size": (170, 90), "pixel": 2.0},
    "MOL": {"position": (200.0, 0.0), "size": (170, 90), "pixel": 2.0},
    "HPX": {"position": (0.0, 0.0), "size": (186, 98), "pixel": 2.0},
    "ZEA": {"position": (30.0, 90.0), "size": (120, 120), "pixel": 2.0},
    "SIN": {"position": (30.0, 60.0), "size": (70, 70), "pixel": 2.0},
    "TSC": {"position": (0.0, 0.0), "size": (184, 140), "pixel": 2.0},
}
